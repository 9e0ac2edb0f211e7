"""Parts of a large plain file, which the threads that encode them read themselves.

The calling thread says where the parts end, for which it reads a few KB in front of each end. All else of a part is
the work of one thread: its bytes, its ids as they lie in the output, and their checksum.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import disk
from ..native import job
from ..native.encode import Coder
from ..native.part import Part
from .in_order import Block, Buffers, Emission, Idle
from .sources import AnySource, PathSource, Reader, SourceError

if TYPE_CHECKING:
    from .._protocols import NamePair

_WORTH_IT = 4  # parts for each thread: with fewer, what waits at both ends takes longer than is gained

# Parts are up to so many times as large as what a thread is handed of other sources: what Python does for a part is
# half as much then.
_LARGEST = 2

# Bytes searched for a cut, first and then: they are read twice.
_WINDOWS = (1 << 12, 1 << 16)

LARGEST_REST = 1 << 8
"""Bytes on both sides of what is searched; names of special tokens that are longer leave fewer cuts."""


def next_cut(file: int, start: int, size: int, names: NamePair, by: Any) -> int | None:
    """Where a part of about `size` bytes, no more than LARGEST_REST more, may end that begins at byte `start` of an
    open file; None where there is no such place in it. names, by: as for job.cuts."""
    for window in (*_WINDOWS, size):
        first = max(start, start + size - window - LARGEST_REST)
        data = os.pread(file, start + size + LARGEST_REST - first, first)
        cuts = job.cuts(data, len(data), *names, by)
        if cuts and first + cuts[-1] > start:
            return first + cuts[-1]
    return None


def cut_parts(
    source: AnySource, reader: Reader, at: int, size: int, names: NamePair, by: Any
) -> Iterator[tuple[int, int]]:
    """(start, end) of parts of a large file from byte `at` on, up to where no more of them can be cut off; the reader
    stands behind each. names, by: as for job.cuts."""
    file, last = reader.raw.fileno(), (source.size or 0) - 2 * size
    while at < last and (cut := next_cut(file, at, size, names, by)) is not None:
        reader.raw.seek(cut)
        yield at, cut
        at = cut


def is_divisible(source: AnySource, reader: Reader) -> bool:
    """Whether any part of the file that is open can be read at any time."""
    is_file = isinstance(source, PathSource) and source.is_local and source.size is not None
    return is_file and reader.is_plain and disk.places_are_free


def read_part(file: int, start: int, buffer: memoryview) -> None:
    """Fills the buffer with what is at byte `start` of an open file. Raises SourceError where the file ends before."""
    while buffer:
        count = disk.os_preadv(file, [buffer], start)
        if not count:
            raise SourceError(errno.ESTALE, "the file became shorter while it was read")
        start, buffer = start + count, buffer[count:]


class Parts:
    """Makes the parts of files, of about `size` bytes each, for an output with ids of this dtype. least: bytes of a
    part where the file has no more than a few for each thread."""

    def __init__(self, coder: Coder, matchers: NamePair, least: int, dtype: np.dtype[Any]) -> None:
        self._coder, self._matchers, self._dtype = coder, matchers, dtype
        self.size = self._least = least
        self._texts = Buffers()
        self._idle = Idle()  # Part objects whose ids were written

    def are_worth_it(self, source: AnySource, reader: Reader, offset: int, num_threads: int) -> bool:
        """Whether the rest of a source is a plain file long enough for all threads. If so, its parts have the size that
        gives each thread enough of them."""
        if sys.byteorder != "little" or not is_divisible(source, reader):
            return False
        size = min(((source.size or 0) - offset) // (_WORTH_IT * num_threads), _LARGEST * self._least)
        if size < self._least:
            return False
        self.size = size
        return True

    def encode(self, name: str, file: int, start: int, size: int) -> Emission:
        """The ids of a part of the open file `file`, which has this name. Any thread may call it."""
        text = self._texts.lend(self.size + LARGEST_REST)[:size]
        with disk.named(name):
            read_part(file, start, text)
        part: Part | None = self._idle.take()
        if part is None:
            part = Part()
        part.encode(self._coder, text, *self._matchers, self._dtype.itemsize)
        if not part.count:
            return Emission(Block(np.empty(0, self._dtype), 0))
        ids = np.frombuffer(memoryview(part), self._dtype)
        self._idle.expect(part, ids)
        return Emission(Block(ids, part.crc))
