"""llmc: the files of llm.c and modded-nanogpt. 256 int32 of header, then uint16 ids (version 1) or uint32 ids (version
7)."""

from __future__ import annotations

import os

import numpy as np

from .base import STORED, Format
from .reading import Tokenized, beside, mapped, no_file

_HEADER_INTS = 256
_HEADER_BYTES = 4 * _HEADER_INTS

_KINDS = {"uint16": (20240520, 1), "uint32": (20240801, 7)}  # magic number and version


class Writer(Format):
    """See the module. The count in the header is an int32."""

    name = "llmc"
    header_bytes = _HEADER_BYTES
    most_ids = (1 << 31) - 1
    can_index = True

    def header(self, dtype: str, count: int) -> bytes:
        header = np.zeros(_HEADER_INTS, "<i4")
        header[:2] = _KINDS[dtype]
        header[2] = count
        return header.tobytes()


def is_one(path: str) -> bool:
    """Whether the file begins as this format does, and has the size that it tells."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        begin, size = file.read(12), file.seek(0, 2)
    if len(begin) < 12:
        return False
    magic, version, count = np.frombuffer(begin, "<i4").tolist()
    return any(
        kind == (magic, version) and size == _HEADER_BYTES + count * STORED[name].itemsize
        for name, kind in _KINDS.items()
    )


def read(path: str, dtype: str | None) -> Tokenized:
    """Ids behind the header, and their ends in `<path>.ends`."""
    magic, version, count = mapped(path, "<i4", 0, _HEADER_INTS)[:3].tolist()
    for name, kind in _KINDS.items():
        if kind == (magic, version) and count >= 0:
            return beside(path, "llmc", name, _HEADER_BYTES, count)
    raise no_file(path, "file of llm.c", f"it begins with {magic}, {version}, {count}")
