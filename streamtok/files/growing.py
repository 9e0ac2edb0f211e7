"""A file that grows while a run lasts, held by this process alone, and what is known about other programs that touch
it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import disk
from ..disk import lease
from ..native.checksum import crc32, joined_crc32
from .in_order import Ends

# After so many bytes the system is told to drop what it has written to the disk. From half a megabyte to 8 MB the rate
# is the same; 16 MB take more memory than is warm (docs/experiments.md).
_LET_GO_EVERY = 8 << 20

_BUFFER_ENDS = 1 << 13  # 64 KiB: a write costs little beside the documents that end there
_READ_ENDS = 1 << 16  # at a time
_END_BYTES = 8


State = tuple[int, int]
"""How many bytes were written to a file, and their CRC-32."""


class Growing:
    """The file `path`, which grows for the output `target`.

    open it, go on from a state, write behind that, and at the end check it; rename it, or discard it.

    Attributes:
        header_bytes: in front of what is written; they do not count in any state.
        size, crc: bytes that were written, and their CRC-32.
    """

    def __init__(self, path: str, target: str, header_bytes: int = 0, keeps_pages: bool = False) -> None:
        """keeps_pages: the system keeps what is written in its cache, because it is read again soon."""
        self.path, self._target, self._keeps_pages = path, target, keeps_pages
        self.header_bytes, self.size, self.crc = header_bytes, 0, 0
        self._unadvised = 0  # bytes written since the system was told to drop pages
        self._file: disk.File | None = None
        self._lease: lease.Lease | None = None

    @property
    def file(self) -> disk.File:
        """The open file."""
        assert self._file is not None
        return self._file

    @property
    def is_open(self) -> bool:
        """Whether the file is ours, and no other process's."""
        return self._file is not None

    def open(self) -> None:
        """Open the file, with what an earlier run left in it.

        Raises BlockingIOError while another process writes it, PermissionError where it is a link or another user's.
        """
        self._file = disk.open_locked(self.path, self._target)
        self._file.copy_mode(self._target)
        self._lease = lease.Lease(self._file)
        self._lease.begin()  # before any of it is read: from now on another writer is noticed

    def go_on(self, size: int, crc: int) -> None:
        """Cut the file back to so many bytes, which have this CRC-32, and write behind them."""
        self.file.truncate(self.header_bytes + size)
        self.size, self.crc = size, crc

    def put_header(self, header: bytes) -> None:
        """Write the header; what comes next has to go on from a state."""
        self.file.seek(0)
        self.file.write(header)

    def flush(self) -> State:
        """Write what is held to the operating system; returns the state behind it."""
        return self.size, self.crc

    def write(self, block: Any, crc: int | None = None) -> None:
        """Write the bytes of a buffer behind those before. crc: their CRC-32, where it is known."""
        self.file.write(block)
        self.crc = crc32(block, self.crc) if crc is None else joined_crc32(self.crc, crc, len(block))
        self.size += len(block)
        self._unadvised += len(block)
        if self._unadvised >= _LET_GO_EVERY and not self._keeps_pages:
            if self.is_ours():  # otherwise check() reads the file back
                self._unadvised = 0
                self.file.let_go()

    def is_ours(self) -> bool:
        """Whether it is sure that no other program has written to the file."""
        return self._lease is not None and self._lease.holds()

    def check(self, header: bytes = b"") -> None:
        """Raises OSError unless the file has the size of what was written and, where another program may have written
        to it, its CRC-32. From now on until close(), others wait where there is a lease."""
        is_ours = self._lease is not None and self._lease.settle()
        crc = joined_crc32(crc32(header), self.crc, self.size)
        disk.check_whole(self.file, len(header) + self.size, None if is_ours else crc)

    def rename(self) -> None:
        """Put the file in the place of the target, and close it."""
        if os.name == "nt":
            self.close()  # an open file cannot be renamed there
        disk.rename(self.path, self._target)
        disk.sync_directory(self._target)
        self.close()

    def discard(self) -> None:
        """Remove the file, and close it."""
        if not self.file.is_in_place():
            return  # another program's file has the name now
        if os.name == "nt":
            self.close()
        disk.remove(self.path)  # before the lock goes with the descriptor
        self.close()

    def close(self) -> None:
        """Close the file; it stays on the disk."""
        if self._lease is not None:
            self._lease.end()
            self._lease = None
        if self._file is not None:
            file, self._file = self._file, None
            file.close()


class EndsFile(Growing):
    """Where documents end, in ids from the beginning of the output: uint64, little-endian, and nothing else."""

    def __init__(self, path: str, target: str) -> None:
        super().__init__(path, target)
        self.count = 0
        self._waiting: list[Ends] = []
        self._held = 0

    def append(self, ends: Ends) -> None:
        """Take the next ends."""
        self._waiting.append(ends)
        self._held += len(ends)
        self.count += len(ends)
        if self._held >= _BUFFER_ENDS:
            self.flush()

    def flush(self) -> State:
        if self._waiting:
            block = b"".join(ends.astype("<u8", copy=False).tobytes() for ends in self._waiting)
            self._waiting, self._held = [], 0
            self.write(block)
        return super().flush()

    def go_on(self, size: int, crc: int) -> None:
        super().go_on(size, crc)
        self.count = size // _END_BYTES

    def blocks(self) -> Iterator[Ends]:
        """All ends, block by block."""
        for at in range(0, self.count, _READ_ENDS):
            self.file.seek(at * _END_BYTES)
            yield np.frombuffer(self.file.read_all(min(_READ_ENDS, self.count - at) * _END_BYTES), "<u8")
