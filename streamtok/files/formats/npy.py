"""npy: what numpy.load reads, a row of ids."""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy as np

from .base import STORED, Format
from .reading import Tokenized, beside, no_file

_HEADER_BYTES = 128  # room for any 64-bit count; numpy asks for a multiple of 64


class Writer(Format):
    """See the module."""

    name = "npy"
    header_bytes = _HEADER_BYTES
    can_index = True

    def header(self, dtype: str, count: int) -> bytes:
        text = f"{{'descr': '{STORED[dtype].str}', 'fortran_order': False, 'shape': ({count},), }}"
        room = _HEADER_BYTES - 10
        return b"\x93NUMPY\x01\x00" + room.to_bytes(2, "little") + text.ljust(room - 1).encode("ascii") + b"\n"


def read_header(file: BinaryIO) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and dtype of an .npy file, which is read up to its first number. Raises ValueError for another file."""
    try:
        version = np.lib.format.read_magic(file)
        newer = np.lib.format.read_array_header_2_0
        shape, _, dtype = (np.lib.format.read_array_header_1_0 if version == (1, 0) else newer)(file)
    except OSError:
        raise
    except Exception as error:  # numpy runs Python's own tokenizer and parser on the header, with all their errors
        raise ValueError(str(error)) from None
    return shape, dtype


def is_one(path: str) -> bool:
    """Whether its name says so."""
    return path.lower().endswith(".npy")


def read(path: str, dtype: str | None) -> Tokenized:
    """Ids behind numpy's header, and their ends in `<path>.ends`."""
    with open(path, "rb") as file:
        try:
            shape, held = read_header(file)
        except ValueError as error:
            raise no_file(path, ".npy file", str(error)) from None
        at = file.tell()
    name = {stored: name for name, stored in STORED.items()}.get(held)
    if len(shape) != 1 or name is None:
        raise no_file(path, "row of ids", f"it holds {held} of shape {shape}")
    return beside(path, "npy", name, at, shape[0])
