"""The encoding that a name stands for: that of an encoding, of a model, or of a file."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

from .errors import shortened
from .model import MODEL_TO_ENCODING, encoding_name_for_model
from .registry import ENCODING_CONSTRUCTORS, get_encoding, list_encoding_names
from .tables import SUFFIXES, is_path

if TYPE_CHECKING:
    from .core import Encoding


@functools.lru_cache(maxsize=4)
def load_encoding(name: str, base: str) -> Encoding:
    """The encoding of this name; the same object at each call.

    Args:
        name: a path, which starts at `base`; a name of list_encoding_names(); that of a model of OpenAI's; or that of a
            published model in the Hub's cache, as "Qwen/Qwen3-8B". Nothing is downloaded.

    Raises:
        ValueError: an unknown name.
        VocabularyError: a file that is damaged, or that says what is not supported.
        OSError: there is no such file and no such model, or the file cannot be read.
    """
    path = os.path.join(base, name)
    if is_path(name) or os.path.isdir(path):
        from .model_files.pretrained import cached_folder, is_repository

        is_published = "/" in name and is_repository(name) and not name.endswith(SUFFIXES)
        return load_path(cached_folder(name) if is_published and not os.path.exists(path) else path)
    is_known = name in ENCODING_CONSTRUCTORS or name in list_encoding_names()  # which looks for plugins
    return get_encoding(name if is_known else _name_of_model(name))


def _name_of_model(name: str) -> str:
    try:
        return encoding_name_for_model(name)
    except KeyError:
        raise ValueError(f"Unknown encoding {shortened(name)}: {_advice(name)}") from None


def _advice(name: str) -> str:
    import difflib

    names = list_encoding_names()
    every = [*names, *MODEL_TO_ENCODING]
    near = [each for each in names if each.startswith(name)] if name else []
    near = near or difflib.get_close_matches(name, every, n=1, cutoff=0.7)
    return f"did you mean {' or '.join(near)}?" if near else f"write one of {', '.join(names)}"


def load_path(path: str) -> Encoding:
    """The encoding of a file or a folder: a model's, or what `streamtok train` wrote.

    Raises VocabularyError, OSError.
    """
    if path.endswith(".tiktoken") or os.path.isfile(os.path.join(path, "training.json")):
        from .train import load

        return load(path)
    from .core import Encoding

    return Encoding.from_file(path)
