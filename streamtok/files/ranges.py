"""A part of a plain file: the lines that begin in a range of its bytes. Ranges that meet have each line once."""

from __future__ import annotations

import os
from io import FileIO
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from ..errors import shown
from .members import SUFFIXES
from .remote import InFile
from .sources import Reader, hash_ends

if TYPE_CHECKING:
    from collections.abc import Callable

_BLOCK = 64 << 10  # bytes looked through at once for the end of a line


class RangeSource(InFile):
    r"""The lines of a plain file whose first byte is one of the bytes begin .. end - 1: a source for
    documents="lines" or "jsonl".

    A line belongs to the range in which it begins, whole, so the lines of a file are those of its ranges 0 .. a,
    a .. b, b .. None, in order, wherever a and b are. A range in which no line begins has none. Lines end with "\n".

    Args:
        path: of the file, which is not compressed.
        begin: the first byte of the range.
        end: the byte behind the range; None: the end of the file.

    Raises:
        ValueError: begin is negative or above end; the file is compressed.
    """

    def __init__(self, path: str | bytes | os.PathLike[str], begin: int = 0, end: int | None = None) -> None:
        super().__init__(path)
        if self._file.suffix in SUFFIXES:
            raise ValueError(
                f"{shown(self._file.name)} is compressed, and has no place to begin at but its first byte: "
                "give its path, to read it whole"
            )
        if begin < 0 or (end is not None and end < begin):
            raise ValueError(
                f"there is no range of bytes from {shown(begin)} to {shown(end)}: begin is 0 or more, end not below it"
            )
        self.begin, self.end = begin, end
        if begin:
            self.label = f"{self.name} from byte {begin}"
        self.begins_file = not begin
        self._lines: tuple[int, int] | None = None  # where the lines begin and end

    def fingerprint(self) -> dict[str, Any] | None:
        """As PathSource.fingerprint, with the range; the hash is that of the range alone."""
        found = self._file.look()
        if not self._file.is_regular:
            raise ValueError(f"{shown(self.name)} is no regular file: only such a file has ranges of bytes")
        with self._file.open_raw() as raw:
            first, behind = self._bounds(raw)
            digest = hash_ends(raw, first, behind - first, self.name)
        return {**found, "sha256": digest, "range": [self.begin, self.end]}

    def checked_kind(self, kind: str) -> str:
        """As AnySource.checked_kind: a range has lines, and is no text."""
        if kind == "text":
            raise ValueError(
                f"{self.label} is a range of bytes, which has lines: write documents='lines' or documents='jsonl'"
            )
        return kind

    def bytes_on_disk(self) -> int:
        """As PathSource.bytes_on_disk, of the range alone."""
        size = self._file.bytes_on_disk()
        return max(0, min(size, size if self.end is None else self.end) - self.begin)

    @property
    def size(self) -> int | None:
        """Bytes of the lines, None when not known beforehand. Call fingerprint() first."""
        return None if self._lines is None else self._lines[1] - self._lines[0]

    def open(self, offset: int = 0, line: int = 0) -> Reader:
        """Open for reading from byte `offset` of the lines."""

        def reader(raw: FileIO) -> Reader:
            made = Reader(cast("BinaryIO", _Window(raw, *self._bounds(raw))), self.name, None)
            made.skip(offset)
            return made

        return self._file.opened(reader)

    def check_unchanged(self, reader: Reader) -> None:
        """Raise SourceError when the file behind `reader`, read to the end of the range, is not the one first seen."""
        self._file.check_same(cast("_Window", reader.raw).raw, reader.position(), self.size)

    def _bounds(self, raw: BinaryIO | FileIO) -> tuple[int, int]:
        """Where the first line of the range begins, and where the first one behind it does. Looked up once: a file that
        changes is found by its size and time."""
        if self._lines is None:
            size = raw.seek(0, os.SEEK_END)
            end = size if self.end is None else min(self.end, size)
            first = line_at(raw, min(self.begin, size), size)
            self._lines = first, max(first, line_at(raw, end, size))
        return self._lines


def line_at(raw: BinaryIO | FileIO, at: int, size: int) -> int:
    """Where the first line begins that begins at byte `at` or behind it; the size of the file where none does."""
    if at == 0:
        return 0
    at -= 1  # a line break there makes the line begin right behind
    raw.seek(at)
    while block := raw.read(_BLOCK):
        found = block.find(b"\n")
        if found >= 0:
            return at + found + 1
        at += len(block)
    return size


class _Window:
    """The bytes first .. behind - 1 of an open file, as a file of its own."""

    def __init__(self, raw: BinaryIO | FileIO, first: int, behind: int) -> None:
        self.raw, self._first, self._behind = raw, first, behind
        self.close: Callable[[], None] = raw.close
        raw.seek(first)

    def tell(self) -> int:
        return self.raw.tell() - self._first

    def seek(self, at: int) -> int:
        return self.raw.seek(self._first + at) - self._first

    def read(self, n: int) -> bytes:
        return cast("bytes", self.raw.read(max(0, min(n, self._behind - self.raw.tell()))))
