"""bin: the ids, little-endian, and nothing else. With the ends of documents in `<dst>.ends` where that is asked for."""

from __future__ import annotations

import os

from .base import Format
from .reading import Tokenized, beside


class Writer(Format):
    """See the module."""

    name = "bin"
    can_index = True


def is_one(path: str) -> bool:
    """Whether there is a file of ends beside it."""
    return os.path.exists(f"{path}.ends")


def read(path: str, dtype: str | None) -> Tokenized:
    """Ids, and their ends in `<path>.ends`."""
    return beside(path, "bin", dtype, 0, None)
