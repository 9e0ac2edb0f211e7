"""Where text comes from: files, compressed files, open streams; each can say whether it is still the same."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from io import FileIO
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, cast

from ..errors import shortened
from .members import SUFFIXES, DamagedError, Members

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .._protocols import Readable, Source

# Bytes at both ends that are hashed: enough to notice another file, and quick for a file of any size.
_HASHED_BYTES = 64 << 10

# After a read of so many bytes, the system is asked to read ahead.
_WORTH_ADVISING = 1 << 20

_advise: Any = getattr(os, "posix_fadvise", None)

_Made = TypeVar("_Made")
_C = TypeVar("_C", bound="Closing")


class SourceError(OSError):
    """A source cannot be read to its end, or is no longer the file that it was."""


class AnySource:
    """A source of text, from which documents are read.

    Attributes:
        name: of the file; its suffix says what it holds.
        label: what messages call it, with the number of a line or a row.
        begins_file: whether its first byte is the first of a file, where a byte order mark may stand.
        nulls: what a null in a table is: "error", "skip" or "empty".
        carry: names of passthrough columns.
        has_rows: whether it gives rows or members, and not bytes.
    """

    name: str
    label: str
    begins_file = True
    nulls = "error"
    carry: tuple[str, ...] = ()
    has_rows = False

    @property
    def size(self) -> int | None:
        """Bytes on the disk, None when not known beforehand. Call fingerprint() first."""
        raise NotImplementedError

    def fingerprint(self) -> dict[str, Any] | None:
        """What tells this source from another; None for one that cannot be read twice. Raises OSError."""
        raise NotImplementedError

    def checked_kind(self, kind: str) -> str:
        """The kind of documents that are read of it where `kind` is asked for. Raises ValueError for what cannot be."""
        return kind

    def adopt(self, column: str | None, key: str, nulls: str) -> None:
        """Sets the options of the caller that concern a table: its column, and what a null in it means."""

    def types_of(self, names: Sequence[str]) -> list[Any]:
        """The Arrow types of its passthrough columns; an empty list for a source that is no table."""
        return []

    def place_of(self, line: int) -> str:
        """What messages call a line of it, counted from 0."""
        return f"{shortened(self.label)}, line {line + 1}"

    def bytes_on_disk(self) -> int:
        """Its size before fingerprint(); 0 when not known."""
        raise NotImplementedError

    def where(self) -> str | int | None:
        """The path, or the descriptor, of the file, for check_apart(); None where there is no file."""
        raise NotImplementedError

    def open(self, offset: int = 0, line: int = 0) -> Reader:
        """Open for reading from byte `offset` of the decompressed text, behind `line` lines or rows."""
        raise NotImplementedError

    def check_unchanged(self, reader: Reader) -> None:
        """Raise SourceError when what `reader` read to its end is not what was first seen."""
        raise NotImplementedError


def make_sources(src: Source | Sequence[Source]) -> list[AnySource]:
    """The sources that `src` names: a path, an open binary stream, a source, or a list of them.

    Raises TypeError for anything else, ValueError for an empty list.
    """
    if not isinstance(src, (list, tuple)):
        return [_make_source(src)]  # type: ignore[arg-type]
    if not src:
        raise ValueError("src is an empty list: name at least one file to encode")
    return [_make_source(each) for each in src]


def _make_source(src: Source) -> AnySource:
    if isinstance(src, AnySource):
        return src
    if isinstance(src, (str, bytes, os.PathLike)):
        return PathSource(src)
    if hasattr(src, "read"):
        return StreamSource(cast("Readable", src))
    raise TypeError(
        f"src is of type {type(src).__name__}: give a path, a list of paths, or a stream open in binary mode"
    )


def hash_ends(file: BinaryIO | FileIO, begin: int, size: int, name: str) -> str:
    """The sha256 of the first and last 64 KB of `size` bytes of a file. Raises OSError with this name."""
    digest = hashlib.sha256()
    try:
        file.seek(begin)
        digest.update(file.read(min(size, _HASHED_BYTES)))
        file.seek(begin + max(size - _HASHED_BYTES, 0))
        digest.update(file.read(_HASHED_BYTES))
    except OSError as error:
        error.filename = error.filename or name  # reading names no file in its errors
        raise
    return digest.hexdigest()


class PathSource(AnySource):
    """A file by its path; .gz, .xz and .zst are decompressed."""

    is_local = True

    def __init__(self, path: str | bytes | os.PathLike[str]) -> None:
        self.path = os.fsdecode(path)
        self.name = self.label = self.path
        self.suffix = os.path.splitext(self.path)[1].lower()
        self._seen: os.stat_result | None = None

    def look(self) -> dict[str, Any]:
        """Name, size and time of the file, to compare with later. Raises OSError when it is missing."""
        self._seen = os.stat(self.path)
        return {"name": self.name, "size": self._seen.st_size, "mtime_ns": self._seen.st_mtime_ns}

    def fingerprint(self) -> dict[str, Any] | None:
        """What tells this file from another; None for a pipe or a device, which cannot be read twice.

        Raises OSError when the file is missing or unreadable.
        """
        found = self.look()
        if not self.is_regular and self._seen is not None and not stat.S_ISDIR(self._seen.st_mode):
            return None
        with self.open_raw() as file:
            return {**found, "sha256": hash_ends(file, 0, found["size"], self.name)}

    @property
    def is_regular(self) -> bool:
        """Whether it is known to be neither pipe nor folder nor device. Call fingerprint() or look() first."""
        return self._seen is not None and stat.S_ISREG(self._seen.st_mode)

    def bytes_on_disk(self) -> int:
        """The same before fingerprint(); 0 when not known."""
        try:
            return os.stat(self.path).st_size
        except OSError:
            return 0  # opening it raises the error

    def where(self) -> str:
        """The path, for check_apart()."""
        return self.path

    @property
    def size(self) -> int | None:
        """Bytes on the disk, None when not known beforehand. Call fingerprint() first."""
        return self._seen.st_size if self._seen is not None and self.is_regular else None

    def open_raw(self) -> FileIO:
        """The file, open for reading as it lies on the disk."""
        return open(self.path, "rb", buffering=0)

    def opened(self, make: Callable[[FileIO], _Made]) -> _Made:
        """make(the file, open for reading as it lies on the disk). The file is closed if that raises."""
        raw = self.open_raw()
        try:
            return make(raw)
        except BaseException:
            raw.close()
            raise

    def open(self, offset: int = 0, line: int = 0) -> Reader:
        """Open for reading from byte `offset` of the decompressed text."""

        def reader(raw: FileIO) -> Reader:
            made = Reader(raw, self.name, _decompressor(self.suffix, raw))
            made.skip(offset)
            return made

        return self.opened(reader)

    def check_unchanged(self, reader: Reader) -> None:
        """Raise SourceError when the file behind `reader`, read to its end, is not the one first seen."""
        self.check_same(reader.raw, reader.position(), self.size)

    def check_same(self, raw: BinaryIO | FileIO, read: int, wanted: int | None) -> None:
        """The same for an open file of which `read` bytes were read, and `wanted` were to be read."""
        seen, now = self._seen, os.fstat(raw.fileno())
        if seen is None or not self.is_regular:
            return
        if (now.st_size, now.st_mtime_ns) != (seen.st_size, seen.st_mtime_ns) or read != wanted:
            raise SourceError(
                errno.ESTALE,
                f"the file changed while it was read: it had {seen.st_size} bytes at the start, has "
                f"{now.st_size} now, and {read} were read; encode a copy that nobody writes to",
                self.path,
            )


class StreamSource(AnySource):
    """An open binary stream, read from where it stands; never closed, never decompressed."""

    def __init__(self, stream: Readable) -> None:
        self.stream = cast("BinaryIO", stream)  # what it lacks is asked for where it is needed
        name = getattr(stream, "name", None)
        self.name = self.label = name if isinstance(name, str) else "<stream>"
        self._size: int | None = None
        self._begin: int | None = None

    @property
    def size(self) -> int | None:
        """As PathSource.size."""
        return self._size

    def fingerprint(self) -> dict[str, Any] | None:
        """As PathSource.fingerprint; None when the stream cannot seek."""
        try:
            if not self.stream.seekable():
                return None
            self._begin = self.stream.tell()
            self._size = self.stream.seek(0, os.SEEK_END) - self._begin
            digest = hash_ends(self.stream, self._begin, self._size, self.name)
            self.stream.seek(self._begin)
        except (AttributeError, OSError, TypeError):
            return None
        return {"name": self.name, "size": self._size, "mtime_ns": self._modified(), "sha256": digest}

    def _modified(self) -> int:
        try:
            return os.fstat(self.stream.fileno()).st_mtime_ns
        except (AttributeError, OSError):
            return 0  # a stream in memory

    def bytes_on_disk(self) -> int:
        """As PathSource.bytes_on_disk."""
        try:
            return os.fstat(self.stream.fileno()).st_size
        except (AttributeError, OSError):
            return 0

    def where(self) -> int | None:
        """The descriptor of the file, for check_apart(); None where the stream is no file."""
        try:
            return self.stream.fileno()
        except (AttributeError, OSError, ValueError):
            return None

    def open(self, offset: int = 0, line: int = 0) -> Reader:
        """Read on from `offset` bytes behind where the stream stood when it was given."""
        if self._begin is not None:
            self.stream.seek(self._begin + offset)
        return Reader(self.stream, self.name, None, owned=False, begin=self._begin or 0)

    def check_unchanged(self, reader: Reader) -> None:
        """Raise SourceError when the stream did not end at the size that it had before."""
        if self.size is not None and reader.position() != self.size:
            raise SourceError(
                errno.ESTALE,
                f"the stream changed while it was read: {self.size} bytes were there at the start, "
                f"{reader.position()} were read",
                self.name,
            )


class Closing:
    """What a `with` closes at its end."""

    def close(self) -> None:
        """Close what was opened here."""
        raise NotImplementedError

    def __enter__(self: _C) -> _C:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class Reader(Closing):
    """An open source. `read` gives text, `position` says how far the file on the disk is read."""

    def __init__(
        self, raw: BinaryIO | FileIO, name: str, unpacked: Members | None, *, owned: bool = True, begin: int = 0
    ) -> None:
        self.raw, self.name = raw, name
        # Of a pipe, take what is there now: read(n) would wait until there are n bytes.
        self._read_some = getattr(raw, "read1", raw.read) if unpacked is None else unpacked.read
        self._read_portion = None if unpacked is None else unpacked.some
        self.is_plain = unpacked is None
        self._fill: Callable[[memoryview], int | None] | None = None
        if unpacked is None and owned:
            self._fill = getattr(raw, "readinto", None)
        self._owned = owned
        self._begin = begin
        self._read = 0  # bytes of a stream that cannot tell

    def read(self, n: int) -> bytes:
        """At most `n` bytes of text, b"" at the end. Raises SourceError for damaged compressed data."""
        return self._read_by(self._read_some, n)

    def read_portion(self, n: int) -> bytes:
        """The same of a compressed file, as soon as there are any: what comes before a damage is not lost with it."""
        assert self._read_portion is not None
        return self._read_by(self._read_portion, n)

    def _read_by(self, read: Callable[[int], Any], n: int) -> bytes:
        try:
            chunk = read(n)
        except DamagedError as error:
            raise SourceError(errno.EBADMSG, str(error), self.name) from None
        except OSError as error:
            raise OSError(error.errno, error.strerror, self.name) from None  # reading names no file in its errors
        if not isinstance(chunk, bytes):
            chunk = self._to_bytes(chunk)
        self._read += len(chunk)
        return chunk

    def read_into(self, buffer: memoryview) -> int:
        """The same into memory that is there: at most len(buffer) bytes; returns how many."""
        if self._fill is None:
            chunk = self.read(len(buffer))
            buffer[: len(chunk)] = chunk
            return len(chunk)
        if _advise is not None and len(buffer) >= _WORTH_ADVISING:
            self._ask_for(len(buffer))
        try:
            count = self._fill(buffer)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self.name) from None
        if count is None:
            raise self._nothing_now()
        self._read += count
        return count

    def _ask_for(self, size: int) -> None:
        """Ask the system to read ahead while this is encoded: by default it reads too little ahead to keep the disk
        busy."""
        try:
            _advise(self.raw.fileno(), self.raw.tell(), 2 * size, os.POSIX_FADV_WILLNEED)
        except OSError:
            pass  # a pipe, say

    def _to_bytes(self, chunk: bytes | bytearray | memoryview | str | None) -> bytes:
        if chunk is None:
            raise self._nothing_now()
        if isinstance(chunk, str):
            raise TypeError(f"{shortened(self.name)}: the stream gives str; open it in binary mode ('rb')")
        return bytes(chunk)

    def _nothing_now(self) -> BlockingIOError:
        return BlockingIOError(errno.EAGAIN, "the stream does not block and has no data now", self.name)

    def skip(self, n: int) -> None:
        """Pass over `n` bytes of text: a seek where that is possible, else read and drop."""
        if self.is_plain:
            if n:  # a pipe is at its beginning already and cannot be told to be
                self.raw.seek(n)
            return
        while n:
            chunk = self.read(min(n, 1 << 20))
            if not chunk:
                raise SourceError(errno.ESTALE, f"the text ends {n} bytes before the point to resume from", self.name)
            n -= len(chunk)

    def position(self) -> int:
        """Bytes of the file on the disk read so far (compressed bytes, for a compressed file)."""
        try:
            position: int = self.raw.tell()
        except (AttributeError, OSError):
            return self._read
        return position - self._begin

    def close(self) -> None:
        """Close what was opened here."""
        if self._owned:
            self.raw.close()


def _decompressor(suffix: str, raw: BinaryIO | FileIO) -> Members | None:
    """An object whose read(n) gives the text in `raw`, None for a plain file."""
    return Members(raw, suffix) if suffix in SUFFIXES else None
