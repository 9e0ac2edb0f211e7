"""Files that the package writes, and reads back: opened without a trap, written whole, named in every error.

A file beside an output may have been put there by somebody else: a link to another file, a pipe that nobody writes to,
a file that another user can change. So each is opened by one of the functions here, which look at the file that was
opened, not at its name.

Each call of the operating system is a name of this module, looked up when it is used: a test replaces one (`os_write`,
`os_fsync`, `os_ftruncate`, `os_replace`, `os_unlink` and so on) and every file of the package meets the failure.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import stat
from collections.abc import Callable

from ..native.steps import at_once

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

fcntl: Any
msvcrt: Any = None
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None
    with contextlib.suppress(ImportError):
        import msvcrt

os_open = os.open
os_read = os.read
os_write = os.write
os_fsync = os.fsync
os_ftruncate = os.ftruncate
os_close = os.close
os_replace = os.replace
os_unlink = os.unlink
os_fadvise: Any = getattr(os, "posix_fadvise", None)
os_readv: Any = getattr(os, "readv", None)
os_preadv: Any = getattr(os, "preadv", None)

# Do not follow a link, do not wait for the other end of a pipe, do not let a terminal become the process's own.
_SAFELY = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)

_FAR = 1 << 43  # an offset, 8 TiB, that no file of ours reaches and every system can seek to

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH

# Bytes read back at a time: they stay in the second-level cache until their checksum is made.
_READ_AT_ONCE = 256 << 10


places_are_free = os_preadv is not None
"""Whether this system reads at a place that the call names (Windows does not)."""


class File:
    """An open file. Whatever the system refuses is an OSError that names it."""

    def __init__(self, fd: int, path: str) -> None:
        self.fd, self.path = fd, path
        self.written = 0  # bytes, by write()

    def write(self, data: Any) -> None:
        """Write every byte of the buffer: one os.write may take only a part."""
        view = memoryview(data).cast("B")
        with named(self.path):
            while view:
                taken = os_write(self.fd, view)
                if taken <= 0:
                    raise OSError(errno.EIO, "the operating system took no bytes and named no error")
                self.written += taken
                view = view[taken:]

    def read(self, size: int) -> bytes:
        """At most `size` bytes from where the file stands; none at its end."""
        with named(self.path):
            return os_read(self.fd, size)

    def read_all(self, size: int) -> bytes:
        """`size` bytes, fewer only where the file ends before."""
        parts = []
        while size and (part := self.read(min(size, 1 << 30))):
            parts.append(part)
            size -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def read_into(self, buffer: memoryview) -> int:
        """The same into memory that is there; returns how many."""
        if os_readv is None:
            data = self.read(len(buffer))
            buffer[: len(data)] = data
            return len(data)
        with named(self.path):
            return int(os_readv(self.fd, [buffer]))

    def seek(self, at: int) -> None:
        """Read or write on from byte `at`."""
        with named(self.path):
            os.lseek(self.fd, at, os.SEEK_SET)

    def truncate(self, size: int) -> None:
        """Cut the file to `size` bytes and go on writing there."""
        with named(self.path):
            os_ftruncate(self.fd, size)
        self.seek(size)

    def size(self) -> int:
        """Bytes."""
        return os.fstat(self.fd).st_size

    def state(self) -> tuple[int, int, int]:
        """Bytes, and the times that a change of the file moves (on Windows they may move later)."""
        found = os.fstat(self.fd)
        return (found.st_size, 0, 0) if os.name == "nt" else (found.st_size, found.st_mtime_ns, found.st_ctime_ns)

    def sync(self) -> None:
        """Return once what was written would survive a power cut."""
        with named(self.path):
            if fcntl is not None and hasattr(fcntl, "F_FULLFSYNC"):  # macOS: fsync stops at the drive's own cache
                try:
                    fcntl.fcntl(self.fd, fcntl.F_FULLFSYNC)
                    return
                except OSError:
                    pass  # not every file system there knows it
            os_fsync(self.fd)

    def let_go(self) -> None:
        """Tell the system to begin writing to the disk, without waiting, and to drop from its cache what is on the disk
        already: later writes then reuse warm memory instead of more and more fresh memory."""
        if os_fadvise is not None:
            try:
                os_fadvise(self.fd, 0, 0, os.POSIX_FADV_DONTNEED)
            except OSError:
                pass  # the file system does not support it

    def is_in_place(self) -> bool:
        """Whether it is still the file of its name: it may have been removed or replaced."""
        try:
            return os.path.samestat(os.fstat(self.fd), os.lstat(self.path))
        except FileNotFoundError:
            return False

    def copy_mode(self, other: str) -> None:
        """Give it the permissions of `other` where that exists: a private file stays private when it is replaced."""
        if hasattr(os, "fchmod"):
            with contextlib.suppress(FileNotFoundError):
                mode = stat.S_IMODE(os.stat(other).st_mode)
                with named(self.path):
                    os.fchmod(self.fd, mode)

    def close(self) -> None:
        """Close it; a second call does nothing."""
        if self.fd >= 0:
            with named(self.path):
                at_once((setattr, self, "fd", -1), (os_close, self.fd))

    def __enter__(self) -> File:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __del__(self) -> None:
        """Where an exception has lost it, the lock of a file is not held for ever."""
        if getattr(self, "fd", -1) >= 0:
            with contextlib.suppress(OSError):
                self.close()


class named:
    """A context in which an OSError that names no file gets the name of this one."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError) and error.filename is None:
            error.filename = self._path


# ==== Opening ====


def open_plain(path: str) -> File:
    """Open a file of the package for reading, through links if there are any."""
    with named(path):
        return File(os_open(path, os.O_RDONLY | _SAFELY & ~getattr(os, "O_NOFOLLOW", 0)), path)


def open_read(path: str, *, steady: bool = False) -> File:
    """Open for reading what this user, or the administrator, wrote at an earlier time. steady: and that no other user
    can change.

    Raises PermissionError for a link, for what is no regular file, and for a file of another user; FileNotFoundError.
    """
    file = File(_open(path, os.O_RDONLY), path)
    _check(file, _OTHERS_WRITE if steady else 0, is_read=True)
    return file


def open_new(path: str, like: str | None = None, mode: int = 0o666) -> File:
    """Make a file that was not there, for reading and writing. like: with the permissions of that file if it exists,
    from the first moment on; else `mode`, less what the umask takes.

    Raises FileExistsError where anything has this name, a link too.
    """
    with contextlib.suppress(OSError):
        mode = mode if like is None else stat.S_IMODE(os.stat(like).st_mode) & 0o777
    file = File(_open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode), path)
    if like is not None:
        try:
            file.copy_mode(like)
        except BaseException:
            file.close()
            remove(path)
            raise
    return file


def open_own(path: str, like: str | None = None) -> File:
    """Open for reading and writing what this user wrote at an earlier time, or `open_new`.

    Raises PermissionError for a link, a file with a second name, what is no regular file, and a file of another user.
    """
    while True:
        try:
            file = File(_open(path, os.O_RDWR), path)
        except FileNotFoundError:
            try:
                return open_new(path, like)
            except FileExistsError:
                continue  # another process made it meanwhile
        _check(file, 0, is_read=False)
        return file


def open_locked(path: str, like: str | None = None) -> File:
    """`open_own`, held by this process alone. Raises BlockingIOError while another process holds the file."""
    while True:
        file = open_own(path, like)
        try:
            _lock(file)
            if file.is_in_place():  # its last holder may have renamed it before we had the lock
                return file
        except BaseException:
            file.close()
            raise
        file.close()


def _open(path: str, flags: int, mode: int = 0) -> int:
    try:
        if not hasattr(os, "O_NOFOLLOW") and os.path.islink(path):
            raise OSError(errno.ELOOP, "a link", path)
        with named(path):
            return os_open(path, flags | _SAFELY, mode)
    except BlockingIOError:
        raise _busy(path) from None  # it has a lease on it (lease.py)
    except OSError as error:
        if isinstance(error, FileExistsError) or not os.path.islink(path):
            raise
        raise _refused(path, "this is a link, and might lead to any file") from None


def _check(file: File, bits: int, is_read: bool) -> None:
    """Close the file and raise PermissionError unless it is one that this user wrote. bits: of its mode, not to be set.
    is_read: nothing is written to it, so that it may be the administrator's, and have other names."""
    found = os.fstat(file.fd)
    reason = None
    if not stat.S_ISREG(found.st_mode):
        reason = "this is no regular file"
    elif hasattr(os, "geteuid") and not _is_ours(found, is_read, file.path):
        reason = f"this belongs to another user ({found.st_uid})"
    elif hasattr(os, "geteuid") and found.st_mode & bits:
        reason = "other users can write to this file"
    elif not is_read and found.st_nlink > 1:
        reason = f"this file has {found.st_nlink} names (hard links), and would change under all of them"
    if reason is not None:
        file.close()
        raise _refused(file.path, reason)


def _refused(path: str, reason: str) -> PermissionError:
    advice = "streamtok did not make it so; remove it, or name another output"
    return PermissionError(errno.EPERM, f"{reason}: {advice}", path)


def _is_ours(found: os.stat_result, is_read: bool, path: str) -> bool:
    if found.st_uid == os.geteuid() or (is_read and found.st_uid == 0):
        return True
    # Some file systems give all files to one user, whoever makes them (a network's that trusts no administrator).
    probe = f"{path}.{os.urandom(4).hex()}.probe"
    try:
        with open_new(probe) as file:
            return os.fstat(file.fd).st_uid == found.st_uid
    except OSError:
        return False
    finally:
        with contextlib.suppress(OSError):
            remove(probe)


def _lock(file: File) -> None:
    try:
        _take_lock(file)
    except BlockingIOError:
        gc.collect()  # an exception may have left a file of this process behind, in a cycle of objects
        _take_lock(file)


def _take_lock(file: File) -> None:
    try:
        if fcntl is not None:
            fcntl.flock(file.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        elif msvcrt is not None:
            _lock_far_byte(file)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            raise _busy(file.path) from None
        # A file system without locks: the caller has to avoid two writers.


def _lock_far_byte(file: File) -> None:
    """Lock the file on Windows, where a lock is on bytes, which nobody else can then read or write: so on one that no
    file has. The system lifts it when the file is closed."""
    at = os.lseek(file.fd, 0, os.SEEK_CUR)
    os.lseek(file.fd, _FAR, os.SEEK_SET)
    try:
        msvcrt.locking(file.fd, msvcrt.LK_NBLCK, 1)
    finally:
        os.lseek(file.fd, at, os.SEEK_SET)


def _busy(path: str) -> BlockingIOError:
    reason = "another process is writing this file; wait for it or choose another target"
    return BlockingIOError(errno.EWOULDBLOCK, reason, path)


def is_fixed(file: File) -> bool:
    """Whether only the administrator can change it in place, and this process is not the administrator's. Then it may
    be mapped: reading a mapped file that was cut kills the process, and one that is overwritten gives other bytes."""
    if not hasattr(os, "geteuid") or os.geteuid() == 0:
        return False
    found = os.fstat(file.fd)
    effective = os.access in os.supports_effective_ids
    return (
        found.st_uid == 0
        and not found.st_mode & _OTHERS_WRITE
        and not os.access(file.path, os.W_OK, effective_ids=effective)
    )


# ==== Names ====


def sync_directory(path: str) -> None:
    """Make the names in the directory of `path` survive a power cut (Windows does so by itself)."""
    if os.name == "nt":
        return
    with named(path):
        fd = os_open(os.path.dirname(path) or ".", os.O_RDONLY)
    try:
        with named(path):
            os_fsync(fd)
    finally:
        with named(path):
            os_close(fd)


def rename(path: str, target: str) -> None:
    """Put `path` in the place of `target`, whole or not at all."""
    with named(path):
        os_replace(path, target)


def remove(path: str) -> None:
    """Remove `path`; a missing file is no error."""
    try:
        with named(path):
            os_unlink(path)
    except FileNotFoundError:
        pass


def replace(path: str, write: Callable[[File], object], *, durable: bool = False, mode: int | None = None) -> None:
    """write(file), then puts the file in the place of `path`, with `mode`, or the permissions of the one that was
    there. durable: return once it would survive a power cut.

    Raises OSError that names the file, and then leaves nothing behind.
    """
    partial = f"{path}.{os.getpid()}-{os.urandom(4).hex()}.partial"
    file = None
    try:
        file = open_new(partial, path) if mode is None else open_new(partial, mode=mode)
        write(file)
        if durable:
            file.sync()
        check_whole(file, file.written)
        if os.name == "nt":
            file.close()  # an open file cannot be renamed there
        rename(partial, path)
        file.close()
    except BaseException:
        with contextlib.suppress(OSError):
            if file is not None:
                file.close()
        with contextlib.suppress(OSError):
            remove(partial)
        raise
    if durable:
        sync_directory(path)


def check_whole(file: File, size: int, crc: int | None = None) -> None:
    """Raises OSError unless the file still has its name, this size, and bytes with this CRC-32, if one is given.

    Give one where any program of this user may have written to the file (lease.py knows). The times of a file tell
    nothing about that: they are as coarse as the system's clock ticks, and what is written here moves them too. They do
    tell of a change while the file is read.
    """
    if not file.is_in_place():
        raise changed(file.path, "somebody removed or replaced it")
    if file.size() != size:
        raise changed(file.path, f"it has {file.size()} bytes, and {size} were written")
    if crc is not None:
        before = file.state()
        file.seek(0)
        if checksum(file, size) != (0, crc):
            raise changed(file.path, "its bytes are not those that were written")
        if file.state() != before:
            raise changed(file.path, "somebody wrote to it while it was read back")


def changed(path: str, what: str) -> OSError:
    """The error for a file that another program changed while it was written."""
    return OSError(errno.ESTALE, f"another program changed this unfinished file ({what}), so it was put nowhere", path)


def checksum(file: File, size: int, crc: int = 0) -> tuple[int, int]:
    """Read `size` bytes on from where the file stands; returns how many were missing, and `crc` with those that were
    there."""
    from ..native.checksum import crc32  # `import streamtok` needs this module, but not that one

    buffer = memoryview(bytearray(min(size, _READ_AT_ONCE)))
    while size:
        count = file.read_into(buffer[: min(size, len(buffer))])
        if not count:
            break
        crc = crc32(buffer[:count], crc)
        size -= count
    return size, crc
