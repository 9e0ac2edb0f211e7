"""The encoding that a spec, or an option of the command, names."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

from ..registry import get_encoding
from ..tables import is_path

if TYPE_CHECKING:
    from ..core import Encoding


def load_path(path: str) -> Encoding:
    """The encoding of a file or a folder: a model's, or what `streamtok train` wrote.

    Raises VocabularyError, OSError.
    """
    if path.endswith(".tiktoken") or os.path.isfile(os.path.join(path, "training.json")):
        from ..train import load

        return load(path)
    from ..core import Encoding

    return Encoding.from_file(path)


@functools.lru_cache(maxsize=4)
def load_encoding(name: str, base: str) -> Encoding:
    """The encoding of this name, or of the path that it is, which starts at `base`; the same object at each call.

    Raises ValueError for an unknown name, VocabularyError, OSError.
    """
    path = os.path.join(base, name)
    return load_path(path) if is_path(name) or os.path.isdir(path) else get_encoding(name)
