"""Finds out whether another program opened a file while this process writes it, on Linux, by a lease (fcntl(2)).

The system gives a write lease only where nobody else has the file open. A program that opens or cuts the file later
waits until the lease is given back, and the holder can ask whether one waits. A thread sleeps until then and gives the
lease back at once, so that others wait for less than a millisecond. A lease that still holds proves that nobody else
has written to the file.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import struct
import threading
from collections.abc import Iterable
from typing import Any

from .. import disk
from ..native.steps import Task, Threads, put

# Of <fcntl.h>, and not in Python's module: who gets the signal, and that it is a thread.
_F_SETOWN_EX = 15
_F_OWNER_TID = 0

# File systems that only this machine writes to. On others a program elsewhere could write, and no lease tells of it.
_LOCAL = {b"bcachefs", b"btrfs", b"ext2", b"ext3", b"ext4", b"f2fs", b"overlay", b"ramfs", b"tmpfs", b"xfs", b"zfs"}


def take(file: disk.File) -> Lease:
    """A lease on `file`. There is none on other systems, on a network's file system, or where another program has the
    file open."""
    lease = Lease(file)
    try:
        lease.begin()
    except BaseException:
        lease.end()
        raise
    return lease


class Lease:
    """A lease on an open file: `begin`, and `end` before the file is closed. Keep it where `end` will be called before
    `begin` is: from then on a thread may hold it."""

    def __init__(self, file: disk.File) -> None:
        self._fd, self._path = file.fd, file.path
        self._is_held = self._is_over = False
        self._is_begun = _thread.allocate_lock()
        self._threads, self._ident = Threads(1), 0
        self._task: Task[None] | None = None

    def begin(self) -> None:
        """Take the lease, if the system gives it."""
        if not hasattr(disk.fcntl, "F_SETLEASE") or _file_system(self._path) not in _LOCAL:
            return
        self._is_begun.acquire()
        try:
            put(self, "_task", self._threads.do, self._watch)
        except RuntimeError:  # no more threads are to be had
            return
        self._is_begun.acquire()  # the thread gives it back

    def _watch(self) -> None:
        # The signal is blocked in this thread, and sent to no other: no handler of the program sees it.
        signals: Any = {signal.SIGIO}
        try:
            signal.pthread_sigmask(signal.SIG_BLOCK, signals)
            self._ident = threading.get_ident()  # from now on the signal may be sent
            disk.fcntl.fcntl(self._fd, _F_SETOWN_EX, struct.pack("ii", _F_OWNER_TID, threading.get_native_id()))
            disk.fcntl.fcntl(self._fd, disk.fcntl.F_SETLEASE, disk.fcntl.F_WRLCK)
            self._is_held = True
        except OSError:
            return
        finally:
            self._is_begun.release()
        while not self._is_over:
            signal.sigwait(signals)
            self.holds()

    def holds(self) -> bool:
        """Whether nobody else opened the file so far. Where somebody did, the lease is given back."""
        if self._is_held and disk.fcntl.fcntl(self._fd, disk.fcntl.F_GETLEASE) != disk.fcntl.F_WRLCK:
            self._give_back()
        return self._is_held

    def settle(self) -> bool:
        """Whether nobody else opened the file so far. Then nobody can, until `end`: others wait."""
        self._is_over = True
        if self._task is not None:
            if self._ident and not self._task.is_done:
                signal.pthread_kill(self._ident, signal.SIGIO)
            self._threads.end()
        return self.holds()

    def end(self) -> None:
        """Give the lease back."""
        if self.settle():
            self._give_back()

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, *exc: object) -> None:
        self.end()

    def _give_back(self) -> None:
        self._is_held = False
        with contextlib.suppress(OSError):
            disk.fcntl.fcntl(self._fd, disk.fcntl.F_SETLEASE, disk.fcntl.F_UNLCK)


def _file_system(path: str) -> bytes | None:
    """The kind of file system that `path`, without links, lies on; None where the system does not say."""
    try:
        with open("/proc/self/mountinfo", "rb") as mounts:
            return kind_at(path, kinds_of(mounts))
    except (OSError, IndexError):
        return None


def kinds_of(mounts: Iterable[bytes]) -> dict[bytes, bytes]:
    """Places where something is mounted -> the kind of file system, from the lines of /proc/self/mountinfo."""
    kinds = {}
    for mount in mounts:  # a later one lies over an earlier one of the same place
        before, _, after = mount.partition(b" - ")
        kinds[_without_escapes(before.split(b" ")[4])] = after.split(b" ")[0]
    return kinds


def kind_at(path: str, kinds: dict[bytes, bytes]) -> bytes | None:
    """The kind of the file system that holds `path`."""
    place = os.fsencode(path)
    while place not in kinds and place != os.path.dirname(place):
        place = os.path.dirname(place)
    return kinds.get(place)


def _without_escapes(place: bytes) -> bytes:
    for escape, byte in ((b"\\040", b" "), (b"\\011", b"\t"), (b"\\012", b"\n"), (b"\\134", b"\\")):
        place = place.replace(escape, byte)
    return place
