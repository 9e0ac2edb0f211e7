"""The few operating system calls that a safe output takes.

Each call that a real disk can refuse is a name of this module, looked up when it is used: a test replaces
one (`os_write`, `os_fsync`, `os_ftruncate`, `os_replace`, `os_unlink`) and every write of the package
meets the failure.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import Any

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows has no advisory locks of this kind
    fcntl = None

os_open = os.open
os_write = os.write
os_fsync = os.fsync
os_ftruncate = os.ftruncate
os_replace = os.replace
os_unlink = os.unlink
os_fadvise: Any = getattr(os, "posix_fadvise", None)


def open_readwrite(path: str) -> int:
    """Open `path` for reading and writing, made when missing, its content kept; returns the descriptor."""
    return os_open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)


def open_locked(path: str) -> int:
    """`open_readwrite`, held by this process alone.

    Raises BlockingIOError while another process holds the file.
    """
    while True:
        fd = open_readwrite(path)
        try:
            _lock(fd, path)
            if _is_still(fd, path):
                return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)


def _lock(fd: int, path: str) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            raise BlockingIOError(
                errno.EWOULDBLOCK, "another process is writing this file; wait for it or choose another target", path
            ) from None
        # A file system without locks: two writers at once are then the caller's to avoid.


def _is_still(fd: int, path: str) -> bool:
    """Whether `path` names the file behind `fd`: its last holder may have renamed it before we had the lock."""
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except FileNotFoundError:
        return False


def write_all(fd: int, data: Any) -> None:
    """Write every byte of the buffer `data`: one os.write may take only a part."""
    view = memoryview(data).cast("B")
    while view:
        written = os_write(fd, view)
        if written <= 0:
            raise OSError(errno.EIO, "the operating system took no bytes and named no error")
        view = view[written:]


def sync(fd: int) -> None:
    """Return once what was written to `fd` would survive a power cut."""
    if fcntl is not None and hasattr(fcntl, "F_FULLFSYNC"):  # macOS: fsync stops at the drive's own cache
        try:
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
            return
        except OSError:
            pass  # not every file system there knows it
    os_fsync(fd)


def let_go(fd: int) -> None:
    """Begin to put what was written to `fd` on the disk, without waiting, and give back the memory in which the system
    keeps what is there already: what comes next is written to memory that is warm, not to more and more of it."""
    if os_fadvise is not None:
        try:
            os_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        except OSError:
            pass  # a file system that takes no advice


def sync_directory(path: str) -> None:
    """Make the names in the directory of `path` survive a power cut (Windows does so by itself)."""
    if os.name == "nt":
        return
    fd = os_open(os.path.dirname(path) or ".", os.O_RDONLY)
    try:
        os_fsync(fd)
    finally:
        os.close(fd)


def truncate(fd: int, size: int) -> None:
    """Cut `fd` to `size` bytes and go on writing there."""
    os_ftruncate(fd, size)
    os.lseek(fd, size, os.SEEK_SET)


def copy_mode(path: str, fd: int) -> None:
    """Give `fd` the permissions of `path` where that exists: what was private stays so when it is replaced."""
    if hasattr(os, "fchmod") and os.path.exists(path):
        os.fchmod(fd, stat.S_IMODE(os.stat(path).st_mode))


def rename(path: str, target: str) -> None:
    """Put `path` in the place of `target`, whole or not at all."""
    os_replace(path, target)


def remove(path: str) -> None:
    """Remove `path`; a missing file is none of our business."""
    try:
        os_unlink(path)
    except FileNotFoundError:
        pass
