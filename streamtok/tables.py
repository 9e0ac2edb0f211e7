"""Tables with all frequent words, in the user's cache folder: build, find and remove them.

The tables in the package hold the most frequent 100,000 to 200,000 words of each vocabulary, what a wheel has room for.
Those that this module builds hold all 410,000 to 517,000, and make encoding some percent faster (figures are in
docs/performance.md); ids do not depend on them. Nothing builds them but `build` and the command `streamtok tables`.
Once they are there, every process uses them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from typing import Any

from .bundled import builder, mapped
from .errors import shown
from .registry import ENCODING_CONSTRUCTORS, _Bundled


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
            raise ValueError(f"{seen}: write some of {known}")
        found[vocabulary] = None
    return list(found)


def build(*names: str) -> dict[str, str]:
    """Builds the tables of these encodings, or of all bundled ones, where good ones are not there yet: 0.5 to 0.7 s and
    about 110 MB of memory each. Encodings that are open go on with what they have.

    Args:
        names: names of bundled encodings or vocabularies; all where there is none.

    Returns:
        {vocabulary: path}. gpt2 shares the vocabulary r50k_base, p50k_edit shares p50k_base, o200k_harmony shares
            o200k_base.

    Raises:
        ValueError: a name that is no bundled encoding.
        OSError: the folder cannot be written; TimeoutError: another process has been building for a minute.
    """
    made = {}
    for name in vocabularies(names):
        path = builder.build(name)
        if path is None:
            raise TimeoutError(f"another process is building the tables of {name}; try again later")
        made[name] = path
    return made


def remove(*names: str) -> list[str]:
    """Removes the tables of these encodings, or of all, those of other versions too, and returns their paths. Processes
    that use them keep them until they end. A process that is building them at the moment goes on.

    Args:
        names: names of bundled encodings or vocabularies; all where there is none.

    Raises:
        ValueError: a name that is no bundled encoding.
        OSError: a file cannot be removed.
    """
    removed = []
    for name in vocabularies(names):
        for path in builder.done_with(name):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
                removed.append(path)
    return removed


def status() -> dict[str, Any]:
    """What is there, as a dictionary that json can write.

    Returns:
        `use`: what STREAMTOK_TABLES asks for ("found" or "package"). `folder`: where the tables lie; None where
            the user has no such folder. `built`: {vocabulary: bytes of its file}.
    """
    try:
        folder = mapped.tables_folder()
    except OSError:
        return {"use": mapped.choice(), "folder": None, "built": {}}
    built = {}
    for name in mapped.WORDS:
        try:
            built[name] = os.stat(mapped.cached_file(name)).st_size
        except OSError:
            continue
    return {"use": mapped.choice(), "folder": folder, "built": built}
