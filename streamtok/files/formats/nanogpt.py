"""nanogpt: uint16 ids and nothing else, as nanoGPT's train.py maps them."""

from __future__ import annotations

from .base import Format
from .reading import Tokenized, beside


class Writer(Format):
    """See the module."""

    name = "nanogpt"
    dtypes = ("uint16",)
    can_index = True


def is_one(path: str) -> bool:
    """Nothing tells it from `bin`."""
    return False


def read(path: str, dtype: str | None) -> Tokenized:
    """Ids, and their ends in `<path>.ends`."""
    return beside(path, "nanogpt", "uint16", 0, None)
