"""Tables in the user's cache folder: build, find and remove them. For bundled encodings they hold all frequent words,
and for models from files all that loading makes.

The tables in the package hold the most frequent 100,000 to 200,000 words of each vocabulary, what a wheel has room for.
Those that this module builds hold all 410,000 to 517,000, and make encoding some percent faster (figures are in
docs/performance.md). A model loads from its tables in some milliseconds, with frequent words (docs/models.md). Ids do
not depend on any of them. Nothing builds them but `build`, the command `streamtok tables` and
`Encoding.from_file(path, cache=True)`. Once they are there, every process uses them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from typing import Any

from .bundled import builder, mapped
from .errors import shown
from .registry import ENCODING_CONSTRUCTORS, _Bundled

SUFFIXES = (".json", ".model", ".tiktoken", ".gguf", ".stm", ".txt")
"""Of files of models: a name that ends so is a path."""


def is_path(name: str) -> bool:
    """Whether a name is a path of a model: it has the form of one, or there is a folder of that name."""
    return "/" in name or os.sep in name or name.endswith(SUFFIXES) or os.path.isdir(name)


def vocabularies(names: Iterable[str] = ()) -> list[str]:
    """The bundled vocabularies that these names stand for, each once.

    Args:
        names: names of bundled encodings or vocabularies; all vocabularies where there is none.

    Raises:
        ValueError: a name that is neither.
    """
    found: dict[str, None] = {}
    for name in names or mapped.WORDS:
        recipe = ENCODING_CONSTRUCTORS.get(name)
        vocabulary = recipe.vocabulary if isinstance(recipe, _Bundled) else name
        if vocabulary not in mapped.WORDS:
            known = ", ".join(other for other, made in ENCODING_CONSTRUCTORS.items() if isinstance(made, _Bundled))
            seen = f"{shown(name)} is no bundled encoding, so it has no prebuilt tables"
            raise ValueError(f"{seen}: write some of {known}, or the path of a model's file")
        found[vocabulary] = None
    return list(found)


def _parted(names: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The vocabularies and the paths that these names stand for; all vocabularies where there is none."""
    paths = [name for name in names if is_path(name)]
    others = [name for name in names if name not in paths]
    return vocabularies(others) if others or not names else [], paths


def build(*names: str) -> dict[str, str]:
    """Builds the tables of these encodings, or of all bundled ones, where good ones are not there yet: 0.5 to 1 s and
    about 110 MB of memory each. Encodings that are open go on with what they have.

    Args:
        names: names of bundled encodings or vocabularies, and paths as Encoding.from_file() takes them; all bundled
            vocabularies where there is none.

    Returns:
        {vocabulary or path: path of the tables}. gpt2 shares the vocabulary r50k_base, p50k_edit shares p50k_base,
            o200k_harmony shares o200k_base.

    Raises:
        ValueError: a name that is no bundled encoding; VocabularyError: a file that does not load.
        OSError: the folder cannot be written; TimeoutError: another process has been building for a minute.
    """
    bundled, paths = _parted(names)
    made = {}
    for name in bundled:
        path = builder.build(name)
        if path is None:
            raise TimeoutError(f"another process is building the tables of {name}; try again later")
        made[name] = path
    for path in paths:
        from .model_files import cached

        made[path] = cached.build(path)
    return made


def remove(*names: str) -> list[str]:
    """Removes the tables of these encodings, or all tables, those of other versions too, and returns their paths.
    Processes that use them keep them until they end. A process that is building them at the moment goes on.

    Args:
        names: names of bundled encodings or vocabularies, and paths of models; the tables of all, and of all models,
            where there is none.

    Raises:
        ValueError: a name that is no bundled encoding.
        OSError: a file cannot be removed; or one of a model cannot be read, so that its tables are not known.
    """
    bundled, paths = _parted(names)
    listed = [path for name in bundled for path in builder.done_with(name)]
    if paths or not names:
        from .model_files import cached

        listed += cached.done_with() if not names else [path for model in paths for path in cached.done_with(model)]
    removed = []
    for path in listed:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
            removed.append(path)
    return removed


def status() -> dict[str, Any]:
    """What is there, as a dictionary that json can write.

    Returns:
        `use`: what STREAMTOK_TABLES asks for ("found" or "package"). `folder`: where the tables lie; None where
            the user has no such folder. `built`: {vocabulary: bytes of its file}. `models`: {path of the tables of a
            model: [path of the model that they were built from, None if unknown, bytes]}.
    """
    try:
        folder = mapped.tables_folder()
    except OSError:
        return {"use": mapped.choice(), "folder": None, "built": {}, "models": {}}
    built = {}
    for name in mapped.WORDS:
        try:
            built[name] = os.stat(mapped.cached_file(name)).st_size
        except OSError:
            continue
    return {"use": mapped.choice(), "folder": folder, "built": built, "models": _models(folder)}


def _models(folder: str) -> dict[str, list[Any]]:
    try:
        listed = any(name.startswith("model-") for name in os.listdir(folder))
    except OSError:
        listed = False
    if not listed:  # what reads them takes long to import
        return {}
    from .model_files import cached

    found = {}
    for path in cached.done_with():
        with contextlib.suppress(OSError):
            if path.endswith(".tables"):
                found[path] = [cached.source_of(path), os.stat(path).st_size]
    return found
