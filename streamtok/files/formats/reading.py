"""What the readers of formats share. A length in a file is compared with the file before it is used."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...errors import shortened
from ...native.checksum import crc32
from .base import STORED

Array = np.ndarray[Any, np.dtype[Any]]


def checksum(documents: Tokenized) -> int:
    """The CRC-32 of all ids behind each other, as they lie in an unfinished file."""
    crc = 0
    for ids in documents:
        crc = crc32(np.ascontiguousarray(ids, STORED[documents.dtype]), crc)
    return crc


class Tokenized:
    """Documents of ids in a file that encode_file, or the program whose format it is, has written.

    `len()` is the number of documents, `[i]` the ids of one as an array that is mapped from the file where that is
    possible. Nothing is read before it is asked for. A file must not be cut while it is open here.

    Attributes:
        path: of the file or folder.
        format: its name, as for encode_file.
        dtype: "uint16", "uint32" or "int32".
        ends: behind how many ids of all each document ends, uint64.
        ids: all ids behind each other, where the file has them so; else None.
        carried: names of the columns beside the ids.
    """

    def __init__(
        self,
        path: str,
        format: str,
        dtype: str,
        ends: Array,
        take: Callable[[int], Array],
        ids: Array | None = None,
        carried: Sequence[str] = (),
        columns: Callable[[int, int], Any] | None = None,
    ) -> None:
        self.path, self.format, self.dtype, self.ends, self.ids = path, format, dtype, ends, ids
        self.carried = tuple(carried)
        self._take, self._columns = take, columns

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, i: int) -> Array:
        at = i + len(self) if i < 0 else i
        if not 0 <= at < len(self):
            raise IndexError(f"there is no document {i}: the file has {len(self)}")
        return self._take(at)

    def with_columns(self, carried: Sequence[str], columns: Callable[[int, int], Any]) -> Tokenized:
        """The same with columns beside the ids; returns itself."""
        self.carried, self._columns = tuple(carried), columns
        return self

    def columns(self, begin: int = 0, end: int | None = None) -> Any:
        """The passthrough columns of the documents begin .. end - 1: a pyarrow.Table. Raises ValueError where the file
        is damaged, or has none."""
        end = len(self) if end is None else min(end, len(self))
        if not self.carried or self._columns is None:
            raise ValueError(f"{shortened(self.path)} has no columns beside the ids")
        if not 0 <= begin <= end:
            raise ValueError(f"there are no documents from {begin} to {end}: the file has {len(self)}")
        return self._columns(begin, end)

    def values(self, i: int) -> dict[str, Any]:
        """What document i carries: a value for each name in `carried`."""
        at = i + len(self) if i < 0 else i
        if not 0 <= at < len(self):
            raise IndexError(f"there is no document {i}: the file has {len(self)}")
        return dict(self.columns(at, at + 1).to_pylist()[0]) if self.carried else {}

    def __iter__(self) -> Iterator[Array]:
        return map(self._take, range(len(self)))

    def __repr__(self) -> str:
        return f"<{len(self)} documents in {shortened(self.path)}, {self.format}, {self.dtype}>"


def no_file(path: str, what: str, why: str) -> ValueError:
    """The error for a file that is not what it was taken for."""
    return ValueError(f"{shortened(path)}: this is no {what}: {why}")


def mapped(path: str, dtype: Any, offset: int, count: int | None) -> Array:
    """`count` numbers from byte `offset` of a file on, mapped; None for as many as there are.

    Raises ValueError where the file has fewer, or for None no whole number of them.
    """
    item, size = np.dtype(dtype), os.path.getsize(path)
    if count is None:
        count, rest = divmod(max(size - offset, 0), item.itemsize)
        if rest or size < offset:
            raise no_file(path, "whole file", f"its {size} bytes end inside a number of {item.itemsize}")
    if count < 0 or offset + count * item.itemsize > size:
        raise no_file(
            path, "whole file", f"{count} numbers of {item.itemsize} bytes from byte {offset} on, and it has {size}"
        )
    return np.memmap(path, item, "r", offset, (count,)) if count else np.empty(0, item)


def bounded(path: str, what: str, ends: Array, most: int) -> None:
    """Raises ValueError unless the numbers grow from 0 or more to no more than `most`, or are equal."""
    before, step = 0, 1 << 20
    for at in range(0, len(ends), step):
        block = ends[at : at + step]
        if int(block[0]) < before or bool((block[1:] < block[:-1]).any()):
            raise no_file(path, what, "an end lies in front of the one before it")
        before = int(block[-1])
    if before > most:
        raise no_file(path, what, f"a document ends at {before}, and there are {most}")


def ends_in(path: str) -> Array:
    """A file of ends: uint64, little-endian, and nothing else."""
    return mapped(path, "<u8", 0, None)


def flat(path: str, format: str, dtype: str | None, offset: int, count: int | None, ends: Array) -> Tokenized:
    """Documents that lie behind each other in one file, and cover its ids. dtype: None where only the ends can tell."""
    if dtype is None:
        dtype = _dtype_by_size(path, os.path.getsize(path) - offset, ends)
    ids = mapped(path, STORED[dtype], offset, count)
    if count is not None and offset + ids.nbytes != os.path.getsize(path):
        raise no_file(path, "whole file", f"its header tells {count} ids, and more is there")
    last = int(ends[-1]) if len(ends) else 0
    bounded(path, f"file of {len(ids)} ids in documents", ends, len(ids))
    if last != len(ids):
        raise no_file(path, "file of documents", f"they end at id {last}, and there are {len(ids)}")

    def take(i: int) -> Array:
        return ids[int(ends[i - 1]) if i else 0 : int(ends[i])]

    return Tokenized(path, format, dtype, ends, take, ids)


def grouped(
    path: str,
    format: str,
    dtype: str,
    lengths: Sequence[Array],
    take: Callable[[int, int], Array],
    carried: Sequence[str] = (),
    columns: Callable[[int, int], Any] | None = None,
) -> Tokenized:
    """Documents in several files, or groups of one. lengths: how many ids each has, group by group. take(group, i):
    those of one. carried, columns: as for Tokenized."""
    firsts = np.cumsum([0, *map(len, lengths)])
    sizes = np.concatenate([np.empty(0, np.int64), *lengths])

    def take_one(i: int) -> Array:
        group = int(np.searchsorted(firsts, i, "right")) - 1
        return take(group, i - int(firsts[group]))

    ends = np.cumsum(sizes).astype(np.uint64)
    return Tokenized(path, format, dtype, ends, take_one, carried=carried, columns=columns)


def _dtype_by_size(path: str, size: int, ends: Array) -> str:
    count = int(ends[-1]) if len(ends) else 0
    for name in ("uint16", "uint32"):
        if count * STORED[name].itemsize == size:
            return name
    raise no_file(path, "file of these documents", f"it has {size} bytes, and they end behind {count} ids")


def beside(path: str, format: str, dtype: str | None, offset: int, count: int | None) -> Tokenized:
    """The same where the ends are in `<path>.ends`; without that file, all ids are one document."""
    try:
        ends = ends_in(f"{path}.ends")
    except FileNotFoundError:
        if dtype is None:
            raise ValueError(
                f"{shortened(path)}: nothing tells how wide the ids are: write dtype='uint16' or dtype='uint32'"
            ) from None
        ids = mapped(path, STORED[dtype], offset, count)
        ends = np.array([len(ids)] if len(ids) else [], np.uint64)
    return flat(path, format, dtype, offset, count, ends)
