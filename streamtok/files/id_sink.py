"""Ids into `<target>.partial`, in the target's own layout, with a running checksum."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from .. import disk
from ..disk import lease
from ..disk.outputs import files_of
from ..errors import shown
from ..native.checksum import crc32, joined_crc32
from .in_order import Ids
from .journal import Mark

_NPY_HEADER_BYTES = 128  # room for any 64-bit count; numpy asks for a multiple of 64
_BUFFER_IDS = 1 << 18  # 1 MiB of uint32: the writes are large, the memory is not

# After so many bytes the system is told to drop what it has written to the disk. From half a megabyte to 8 MB the rate
# is the same; 16 MB take more memory than is warm (docs/experiments.md).
_LET_GO_EVERY = 8 << 20


def npy_header(dtype: np.dtype[Any], count: int) -> bytes:
    """The header of a one-dimensional .npy file, always _NPY_HEADER_BYTES long."""
    text = f"{{'descr': '{dtype.str}', 'fortran_order': False, 'shape': ({count},), }}"
    room = _NPY_HEADER_BYTES - 10
    return b"\x93NUMPY\x01\x00" + room.to_bytes(2, "little") + text.ljust(room - 1).encode("ascii") + b"\n"


class Block(NamedTuple):
    """Ids as they lie in the file, and the CRC-32 of their bytes."""

    data: np.ndarray[Any, Any]
    crc: int


class IdSink:
    """The unfinished output of one run.

    `append` takes ids as they come, `sync` puts them on the disk, `finish` makes the target of them. Until then
    the target is as it was before.
    """

    def __init__(self, target: str, format: str, dtype: np.dtype[Any]) -> None:
        if format not in ("bin", "npy"):
            raise ValueError(f"format={shown(format)} is unknown: write 'bin' or 'npy'")
        self.target = target
        self.partial = files_of(target)[1]
        self.ids = 0
        self.crc = 0
        self.format, self.dtype = format, dtype
        self._header_bytes = _NPY_HEADER_BYTES if format == "npy" else 0
        self._buffer: np.ndarray[Any, np.dtype[Any]] = np.empty(_BUFFER_IDS, dtype=dtype)
        self._used = 0
        self._unadvised = 0  # bytes written since the system was told to drop pages
        self._file: disk.File | None = None
        self._lease: lease.Lease | None = None
        self.has_earlier_ids = False  # whether an earlier run left some in the unfinished file

    @property
    def _open_file(self) -> disk.File:
        assert self._file is not None
        return self._file

    def open(self) -> None:
        """Open the unfinished file, with what an earlier run left in it.

        Raises BlockingIOError while another process writes it, PermissionError where it is a link or another user's.
        """
        self._file = disk.open_locked(self.partial, self.target)
        self._file.copy_mode(self.target)
        self._lease = lease.take(self._file)  # before any of it is read: from now on another writer is noticed
        self.has_earlier_ids = self._file.size() > self._header_bytes

    def start(self) -> None:
        """Begin with no ids; what an earlier run left is dropped."""
        self._open_file.truncate(0)
        self._open_file.write(self._header(0))
        disk.sync_directory(self.partial)

    def last_whole(self, marks: Iterable[Mark]) -> Mark | None:
        """The last of `marks` whose ids are all there and have its checksum, by one pass over the file."""
        best, ids, crc = None, 0, 0
        self._open_file.seek(self._header_bytes)
        for mark in marks:
            if mark.ids < ids:
                continue  # not of this run
            missing, crc = disk.checksum(self._open_file, (mark.ids - ids) * self.dtype.itemsize, crc)
            if missing:
                break
            ids = mark.ids
            if crc == mark.crc:
                best = mark
        return best

    def is_finished(self, mark: Mark) -> bool:
        """Whether the target holds exactly the ids of `mark` and nothing unfinished lies beside it."""
        size = self._header_bytes + mark.ids * self.dtype.itemsize
        if os.path.exists(self.partial) or not os.path.exists(self.target) or os.path.getsize(self.target) != size:
            return False
        with disk.open_plain(self.target) as file:
            if file.read_all(self._header_bytes) != self._header(mark.ids):
                return False
            return disk.checksum(file, size - self._header_bytes, 0) == (0, mark.crc)

    def _header(self, count: int) -> bytes:
        return npy_header(self.dtype, count) if self._header_bytes else b""

    def go_on(self, mark: Mark) -> None:
        """Cut the file back to the ids of `mark` and append behind them."""
        self._open_file.truncate(self._header_bytes + mark.ids * self.dtype.itemsize)
        self.ids, self.crc = mark.ids, mark.crc

    def prepare(self, ids: Ids) -> Ids | Block:
        """uint32 ids, all of which fit the dtype of the file, converted so that append() has little to do. Any thread
        may call it."""
        if len(ids) < _BUFFER_IDS // 4:
            return ids
        data = ids.astype(self.dtype, copy=False)
        return Block(data, crc32(data.data.cast("B")))

    def append(self, ids: Ids | Block) -> None:
        """Append ids, or the result of prepare()."""
        ids = ids if isinstance(ids, Block) else self.prepare(ids)
        if isinstance(ids, Block):  # large enough to be written by itself
            self.flush()
            self._write(ids.data.data.cast("B"))
            self.crc = joined_crc32(self.crc, ids.crc, ids.data.nbytes)
            self.ids += len(ids.data)
            return
        done, count = 0, len(ids)
        while done < count:
            if self._used == _BUFFER_IDS:
                self.flush()
            take = min(count - done, _BUFFER_IDS - self._used)
            self._buffer[self._used : self._used + take] = ids[done : done + take]
            self._used += take
            done += take
        self.ids += count

    def place(self, count: int, crc: int) -> int:
        """Take so many ids with this checksum of their bytes, which write_at() will write: at the place that is
        returned, behind all that were taken before. flush() was called."""
        at, size = self.end, count * self.dtype.itemsize
        self.crc = joined_crc32(self.crc, crc, size)
        self.ids += count
        return at

    @property
    def end(self) -> int:
        """Where in the file the next ids go."""
        return self._header_bytes + self.ids * self.dtype.itemsize

    def write_at(self, at: int, data: Any) -> None:
        """Write ids at the place that they were given. Any thread may call it."""
        self._open_file.write_at(at, data)
        if at // _LET_GO_EVERY != (at + len(data)) // _LET_GO_EVERY and self._is_ours():
            self._open_file.let_go()

    def go_behind(self) -> None:
        """append() again, behind what was written at places."""
        self._open_file.seek(self.end)

    def flush(self) -> None:
        """Write what is buffered to the operating system."""
        if self._used:
            block = self._buffer[: self._used].data.cast("B")
            self._write(block)
            self.crc = crc32(block, self.crc)
            self._used = 0

    def _write(self, block: memoryview) -> None:
        self._open_file.write(block)
        self._unadvised += len(block)
        if self._unadvised >= _LET_GO_EVERY and self._is_ours():  # otherwise finish() reads the file back
            self._unadvised = 0
            self._open_file.let_go()

    def _is_ours(self) -> bool:
        """Whether it is sure that no other program has written to the file."""
        return self._lease is not None and self._lease.holds()

    def sync(self) -> None:
        """Return once every id that was flushed before would survive a power cut. Another thread may append."""
        self._open_file.sync()

    def finish(self) -> None:
        """Put the finished file in the target's place; sync() was called before."""
        file = self._open_file
        if self._header_bytes:
            file.seek(0)
            file.write(self._header(self.ids))
            file.sync()
        header, size = crc32(self._header(self.ids)), self.ids * self.dtype.itemsize
        is_ours = self._lease is not None and self._lease.settle()
        disk.check_whole(file, self._header_bytes + size, None if is_ours else joined_crc32(header, self.crc, size))
        if os.name == "nt":
            self.close()  # an open file cannot be renamed there
        disk.rename(self.partial, self.target)
        disk.sync_directory(self.target)
        self.close()

    def discard(self) -> None:
        """Remove the unfinished file."""
        if not self._open_file.is_in_place():
            return  # another program's file has the name now
        if os.name == "nt":
            self.close()
        disk.remove(self.partial)  # before the lock goes with the descriptor
        self.close()

    @property
    def is_open(self) -> bool:
        """Whether the unfinished file is ours, and no other process's."""
        return self._file is not None

    def close(self) -> None:
        """Close the unfinished file; it stays on the disk."""
        if self._lease is not None:
            self._lease.end()
            self._lease = None
        if self._file is not None:
            file, self._file = self._file, None
            file.close()
