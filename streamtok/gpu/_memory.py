"""How much device memory a slice of text takes, and how large a slice may be."""

from __future__ import annotations

import math

from ..errors import shown
from ._engine import ALL_SHARES, SMALLER, USUAL_SHARES
from ._errors import DeviceMemoryError

DEFAULT_SLICE = 1 << 30
"""Bytes of text encoded at once where there is no limit: far fewer keep the device busy."""

LEAST_SLICE = 1 << 18
"""Bytes of text that a limit must leave room for, beside the tables and the words learned (_words.py), which are a
part of them."""


def bytes_for(id_bytes: int, has_form: bool = False) -> int:
    """Device memory for a byte of text in a slice, at most.

    1 as it came and 1.02 as laid out with marks; 0.48 where pieces start and the like, huge pieces among it; 4 a slot
    (_engine.py); the lists of atoms at 8 an entry, the usual ones or those that hold all that there can be; and an id a
    byte, though text has one for three or more and gets room for two for three at first. has_form: texts may be put
    together anew in a normal form (_repair.py), which takes one more.
    """
    usual, all_there_is = (8 * sum(map(sum, shares)) for shares in (USUAL_SHARES, ALL_SHARES))
    return math.ceil(6.5 + has_form + max(usual, all_there_is / SMALLER) + id_bytes)


def slice_for(limit: int | None, tables: int, id_bytes: int, has_form: bool = False) -> int:
    """Bytes of text that may be encoded at once. Raises DeviceMemoryError where the limit leaves room for too few."""
    if limit is None:
        return DEFAULT_SLICE
    least = tables + LEAST_SLICE * bytes_for(id_bytes, has_form)
    if limit < least:
        raise DeviceMemoryError(
            f"memory_limit={shown(limit)} is too small: the tables take {tables} bytes and the smallest slice of text "
            f"{least - tables}; write memory_limit={least} or more"
        )
    return min(DEFAULT_SLICE, (limit - tables) // bytes_for(id_bytes, has_form))
