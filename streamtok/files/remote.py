"""Files that fsspec opens, by URL: http(s)://, s3://, gs://, memory:// and others. Blocks of them are read ahead.

fsspec is imported when the first of them is opened.
"""

from __future__ import annotations

import errno
import io
import os
import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from ..errors import shortened
from ..native.steps import Threads, after_all
from .sources import AnySource, PathSource, SourceError, hash_ends

if TYPE_CHECKING:
    from ..native.steps import Task

_BLOCK = 4 << 20  # bytes asked for at once: so much that a request's way there and back is a small part of it
_AHEAD = 4  # blocks on their way while one is being read

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(::[A-Za-z][A-Za-z0-9+.-]+)*://\S*")  # one letter is a drive of Windows


def is_url(path: str) -> bool:
    """Whether a path names a file that fsspec opens, and not one of this machine's."""
    return _URL.fullmatch(path) is not None and not os.path.exists(path)


def file_at(path: str | bytes | os.PathLike[str]) -> PathSource:
    """The file with this path or URL."""
    return RemoteSource(path) if is_url(os.fsdecode(path)) else PathSource(path)


class InFile(AnySource):
    """A source that lies in the file with this path or URL, and is read in a way of its own. Name, size and place are
    those of the file."""

    def __init__(self, path: str | bytes | os.PathLike[str]) -> None:
        self._file = file_at(path)
        self.name = self.label = self._file.name

    @property
    def size(self) -> int | None:
        """As PathSource.size, of the whole file."""
        return self._file.size

    def fingerprint(self) -> dict[str, Any] | None:
        """As PathSource.fingerprint."""
        return self._file.fingerprint()

    def bytes_on_disk(self) -> int:
        """As PathSource.bytes_on_disk."""
        return self._file.bytes_on_disk()

    def where(self) -> str:
        """The path, for check_apart()."""
        return self._file.where()


class RemoteSource(PathSource):
    """A file by its URL; .gz, .xz and .zst are decompressed. One that its server does not give in parts, or whose size
    it does not say, is read once, as a pipe is."""

    is_local = False

    def __init__(self, path: str | bytes | os.PathLike[str]) -> None:
        super().__init__(path)
        self.suffix = os.path.splitext(re.split(r"[?#]", self.path)[0])[1].lower()
        self._opened: tuple[Any, str] | None = None
        self._facts: dict[str, Any] | None = None
        self._is_in_parts = False

    def look(self) -> dict[str, Any]:
        """As PathSource.look, with the entity tag where there is one."""
        self._facts, self._is_in_parts = self._ask()
        return self._facts

    def _ask(self) -> tuple[dict[str, Any], bool]:
        files, path = self._files()
        info = self._try(lambda: files.info(path))
        if info.get("type") == "directory":
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), self.path)
        size = info.get("size")
        tag = next(
            (str(info[key]) for key in ("ETag", "etag", "md5Hash", "content_md5", "Content-MD5") if info.get(key)), ""
        )
        in_parts = size is not None and info.get("partial") is not False
        if in_parts and re.match("https?:", path):
            in_parts = self._gives_parts(files, path, size)
        return {"name": self.name, "size": size or 0, "mtime_ns": _time_of(info), "etag": tag}, in_parts

    def _gives_parts(self, files: Any, path: str, size: int) -> bool:
        """Whether a server of HTTP, most of which do not say so, gives a part of a file when it is asked for one."""
        if size < 2:
            return True
        try:
            with files.open(path, "rb", block_size=1, size=size, cache_type="none") as file:
                file.seek(size - 1)
                return len(file.read(1)) == 1
        except Exception:  # ValueError of fsspec; whatever else is wrong will be met again
            return False

    def fingerprint(self) -> dict[str, Any] | None:
        """As PathSource.fingerprint."""
        found = self.look()
        if not self.is_regular:
            return None
        with self.open_raw() as file:
            return {**found, "sha256": hash_ends(file, 0, found["size"], self.name)}

    @property
    def is_regular(self) -> bool:
        """Whether its size is known, and any part of it can be asked for. Call fingerprint() or look() first."""
        return self._is_in_parts

    @property
    def size(self) -> int | None:
        """As PathSource.size."""
        return self._facts["size"] if self._facts is not None and self._is_in_parts else None

    def bytes_on_disk(self) -> int:
        """As PathSource.bytes_on_disk."""
        try:
            return int(self.look()["size"])
        except OSError:
            return 0

    def open_raw(self) -> io.FileIO:
        """The file, open for reading as it lies there."""
        files, path = self._files()
        if self._facts is None:
            self.look()
        assert self._facts is not None
        if self._is_in_parts:
            return cast("io.FileIO", Blocks(self, files, path, self._facts["size"]))
        return cast("io.FileIO", self._try(lambda: files.open(path, "rb", block_size=0)))

    def check_same(self, raw: Any, read: int, wanted: int | None) -> None:
        """As PathSource.check_same."""
        if not self._is_in_parts:
            return
        now, _ = self._ask()
        if now != self._facts or read != wanted:
            raise SourceError(
                errno.ESTALE, "the file changed while it was read; encode a copy that nobody writes to", self.path
            )

    def part(self, files: Any, path: str, begin: int, end: int) -> bytes:
        """The bytes begin .. end - 1 of the file."""
        data: bytes = self._try(lambda: files.cat_file(path, begin, end))
        if len(data) != end - begin:
            raise SourceError(
                errno.EIO, f"{end - begin} bytes from byte {begin} on were asked for, and {len(data)} came", self.path
            )
        return data

    def _files(self) -> tuple[Any, str]:
        if self._opened is None:
            try:
                import fsspec.core
            except ImportError:
                raise ImportError(
                    "reading files by URL needs the fsspec package: pip install 'streamtok[fsspec]'"
                ) from None
            self._opened = self._try(lambda: fsspec.core.url_to_fs(self.path))
        return self._opened

    def _try(self, action: Any) -> Any:
        """The result; what goes wrong is an OSError that names the file."""
        try:
            return action()
        except (SourceError, ImportError):
            raise
        except FileNotFoundError:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.path) from None
        except Exception as error:  # each file system has errors of its own
            reason = shortened(" ".join(str(error).split()) or type(error).__name__)
            raise SourceError(
                getattr(error, "errno", None) or errno.EIO, f"it cannot be read: {reason}", self.path
            ) from error


def _time_of(info: dict[str, Any]) -> int:
    """The time of the last change in ns, as far as the file system says; another number where it gives text."""
    for key in ("mtime", "LastModified", "last_modified", "Last-Modified", "updated", "created"):
        value: Any = info.get(key)
        if isinstance(value, (int, float)):
            return int(value * 1e9)
        if hasattr(value, "timestamp"):
            return int(value.timestamp() * 1e9)
    return 0


class _Block:
    """A block to be read, unless it is dropped before that."""

    def __init__(self, read: Callable[[int, int], bytes], begin: int, end: int) -> None:
        self._read, self._begin, self._end = read, begin, end
        self.is_wanted = True
        self.task: Task[bytes] | None = None

    def __call__(self) -> bytes:
        return self._read(self._begin, self._end) if self.is_wanted else b""


class Blocks(io.RawIOBase):
    """A remote file, open for reading; what comes next is on its way while a block is read in order."""

    def __init__(self, source: RemoteSource, files: Any, path: str, size: int) -> None:
        self._source, self._files, self._path, self._size = source, files, path, size
        self._at = self._behind = 0
        self._blocks: dict[int, _Block] = {}
        self._threads = Threads(_AHEAD)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = max(0, offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence])
        return self._at

    def readinto(self, buffer: Any) -> int:
        buffer = memoryview(buffer).cast("B")
        at, end = self._at, min(self._size, self._at + len(buffer))
        ahead = _AHEAD if at == self._behind else 0  # another place is asked for: what follows it may not be
        while at < end:
            number = at // _BLOCK
            block = self._block(number, ahead)
            first = at - number * _BLOCK
            part = memoryview(block)[first : first + end - at]
            done = at - self._at
            buffer[done : done + len(part)] = part
            at += len(part)
        done = max(at - self._at, 0)
        self._behind = at
        self._at = at
        return done

    def _block(self, number: int, ahead: int) -> bytes:
        last = min(number + ahead, (self._size - 1) // _BLOCK)
        for old in [each for each in self._blocks if not number <= each <= number + _AHEAD]:
            self._blocks[old].is_wanted = False
            del self._blocks[old]
        for each in range(number, last + 1):
            if each not in self._blocks:
                begin, end = each * _BLOCK, min(self._size, (each + 1) * _BLOCK)
                block = _Block(partial(self._source.part, self._files, self._path), begin, end)
                block.task = self._threads.do(block)
                self._blocks[each] = block
        task = self._blocks[number].task
        assert task is not None
        return task.result()

    def close(self) -> None:
        """Drops what was not asked for yet. What is on its way comes, and is dropped then."""
        # In this order: nothing is asked of threads that have ended.
        after_all(super().close, self._threads.drop, self._blocks.clear)
