"""megatron: ids in NAME.bin and the index NAME.idx of Megatron-LM's IndexedDataset, version 1.

A document is a sequence, and an empty one is a document without a sequence, as preprocess_data.py writes them.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .base import STORED, Facts, Format, lengths, with_suffix
from .reading import Tokenized, bounded, flat, mapped, no_file

if TYPE_CHECKING:
    from ..._protocols import Encoding
    from ...disk import File

_MAGIC = b"MMIDIDX\x00\x00"
_HEADER = struct.Struct("<9sQBQQ")  # magic, version, dtype, sequences, documents and one more
_CODES = {"int32": 4, "uint16": 8}
_MOST_FOR_UINT16 = 65_500  # Megatron takes uint16 for a vocabulary that is smaller


class Writer(Format):
    """See the module."""

    name = "megatron"
    dtypes = ("uint16", "int32")
    wants_ends = True

    def _automatic(self, encoding: Encoding, fitting: list[str]) -> str:
        return "uint16" if encoding.max_token_value + 1 < _MOST_FOR_UINT16 else "int32"

    def check_target(self, target: str) -> None:
        with_suffix(target, self.name, ".bin", "and its index NAME.idx")

    def sides(self, target: str) -> list[str]:
        return [_index_of(target)]

    def write_side(self, index: int, file: File, facts: Facts) -> None:
        sequences = sum(int(np.count_nonzero(each)) for each in lengths(facts))
        code = _CODES[facts.dtype]
        file.write(_HEADER.pack(_MAGIC, 1, code, sequences, facts.documents + 1))
        for each in _lengths(facts):
            file.write(each.astype("<i4"))
        size = STORED[facts.dtype].itemsize
        begin = 0
        for each in _lengths(facts):
            ends = begin + np.cumsum(each)
            file.write((ends - each) * size)
            begin = int(ends[-1])
        file.write(np.zeros(1, "<i8"))
        done = 0
        for sizes in lengths(facts):
            documents = done + np.cumsum(sizes > 0, dtype="<i8")
            file.write(documents)
            done = int(documents[-1])


def _lengths(facts: Facts) -> Iterator[np.ndarray[Any, np.dtype[np.int64]]]:
    """How many ids each sequence has. Raises ValueError for one that an int32 does not hold."""
    for each in lengths(facts):
        found = each[each > 0].astype("<i8")
        if len(found) and found.max() > np.iinfo(np.int32).max:
            raise ValueError(f"a document of {found.max()} ids is longer than Megatron's index can tell: split it")
        if len(found):
            yield found


def _index_of(target: str) -> str:
    return with_suffix(target, "megatron", ".bin", "and its index NAME.idx") + ".idx"


def is_one(path: str) -> bool:
    """Whether its name and the index beside it say so."""
    stem, suffix = os.path.splitext(path)
    return suffix.lower() == ".bin" and os.path.exists(stem + ".idx")


def read(path: str, dtype: str | None) -> Tokenized:
    """Ids, and from the index their dtype and documents. Sequences have to lie behind each other in the ids."""
    name = _index_of(path)
    what = "index of Megatron"
    header = mapped(name, "u1", 0, _HEADER.size).tobytes()
    magic, version, code, sequences, documents = _HEADER.unpack(header)
    if (magic, version) != (_MAGIC, 1):
        raise no_file(name, what, f"it begins with {header[:17]!r}")
    found = {code: name for name, code in _CODES.items()}.get(code)
    if found is None:
        raise no_file(name, what, f"its ids have the dtype {code}, and only 4 (int32) and 8 (uint16) are ids")
    sizes = mapped(name, "<i4", _HEADER.size, sequences)
    at = _HEADER.size + 4 * sequences
    pointers = mapped(name, "<i8", at, sequences)
    places = mapped(name, "<i8", at + 8 * sequences, documents)
    if len(sizes) and int(sizes.min()) < 0:
        raise no_file(name, what, "a sequence has less than no ids")
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
    if not np.array_equal(ends[:-1] * STORED[found].itemsize, pointers):
        raise no_file(name, what, "its sequences do not lie behind each other, as they do in what is written here")
    if not len(places) or places[0] != 0 or places[-1] != sequences:
        raise no_file(name, what, "its documents do not cover its sequences")
    bounded(name, what, places, sequences)
    return flat(path, "megatron", found, 0, None, ends[places[1:]].astype(np.uint64))
