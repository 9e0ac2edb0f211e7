"""How much device memory a slice of text takes, and how large a slice may be."""

from __future__ import annotations

import math

from ._engine import _ALL_ROOM
from ._errors import DeviceMemoryError

DEFAULT_SLICE = 1 << 30
"""Bytes of text encoded at once without a limit: the device is busy long before."""

LEAST_SLICE = 1 << 18


def bytes_for(id_bytes: int) -> int:
    """Device memory for a byte of text in a slice, at most.

    1 as it came and 1.02 as laid out with marks; 0.3 where pieces start and the like; 4 a slot (_engine.py); the lists
    of atoms at 8 an entry when the usual room was too small, and as much as the first of them again; 0.05 huge pieces.
    Ids: room for 2/3 a byte, and for one a byte where that was too small, while the first is still there.
    """
    return math.ceil(6.4 + 8 * (sum(_ALL_ROOM) + _ALL_ROOM[0]) + 1.67 * id_bytes)


def slice_for(limit: int | None, tables: int, id_bytes: int) -> int:
    """Bytes of text that may be encoded at once. Raises DeviceMemoryError where the limit leaves room for too few."""
    if limit is None:
        return DEFAULT_SLICE
    least = tables + LEAST_SLICE * bytes_for(id_bytes)
    if limit < least:
        raise DeviceMemoryError(
            f"memory_limit={limit} is too small: the tables take {tables} bytes and the smallest slice of text "
            f"{least - tables}; write memory_limit={least} or more"
        )
    return min(DEFAULT_SLICE, (limit - tables) // bytes_for(id_bytes))
