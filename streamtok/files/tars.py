"""Tar archives, as WebDataset writes them: each member with a certain extension is a document."""

from __future__ import annotations

import errno
import os
import tarfile
from collections import deque
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

from ..errors import shortened
from .remote import InFile
from .sources import Closing, Reader, SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator

SUFFIXES = (".tar", ".tgz", ".tar.gz", ".tar.xz", ".tar.zst")
"""What the names of archives end in."""

_BATCH_BYTES = 1 << 20  # of members that are encoded in one call
_BATCH = 1 << 12  # members, for the same
_BLOCK = 512  # bytes of a block of a tar file
_TAIL = 1 << 16  # bytes that are kept of what was read: more than tarfile reads at once, 20 blocks
_NAMES = 1 << 16  # members whose names are kept for messages

# A member of more bytes is refused if it is also so many times as large as the whole archive: texts are packed to a
# twentieth at best, and what gzip has packed to less is one text again and again.
_LARGE = 16 << 20
_TIMES = 64


class Members(NamedTuple):
    """Members of an archive. row: the number of the first one, counted from the first one that is a document. objects:
    with columns to carry, the .json member of the same sample for each; None where a sample has none."""

    texts: list[bytes]
    row: int
    is_json: bool
    objects: list[bytes | None] | None = None


class TarSource(InFile):
    """The members of a tar archive with one extension, a document each; it may be compressed (.gz, .xz, .zst).

    Args:
        path: of the archive.
        column: the extension, all that stands behind the first dot of a member's name: "txt", also where None is given
            here and by the caller's `column`; of "json" and names that end in ".json" the string at `key` of the object
            in the member is the document.
    """

    has_rows = True

    def __init__(self, path: str | bytes | os.PathLike[str], column: str | None = None) -> None:
        super().__init__(path)
        if self._file.suffix == ".tgz":
            self._file.suffix = ".gz"
        self._column = column
        self.column = column or "txt"
        self._names: deque[tuple[int, str]] = deque(maxlen=_NAMES)

    def adopt(self, column: str | None, key: str, nulls: str) -> None:
        """As AnySource.adopt."""
        self.column = self._column or column or "txt"

    def checked_kind(self, kind: str) -> str:
        """As AnySource.checked_kind: whatever is asked for."""
        return "tar"

    def place_of(self, line: int) -> str:
        """The member, by its name where that is still known."""
        name = next((name for number, name in self._names if number == line), f"number {line}")
        return f"{shortened(self.label)}, member {shortened(name)}"

    def open(self, offset: int = 0, line: int = 0) -> Reader:
        """Open for reading from document `line` on: what lies in front of it is read and dropped."""
        return cast("Reader", OpenTar(self, self._file.open(), line))

    def check_unchanged(self, reader: Reader) -> None:
        """Raise SourceError when the archive, read to its end, is not the one first seen."""
        self._file.check_unchanged(reader)

    def note(self, row: int, name: str) -> None:
        """This document has this name."""
        self._names.append((row, name))


class OpenTar(Closing):
    """An open archive: `read_batch` gives members, `position` says how far the file is read."""

    is_plain = False

    def __init__(self, source: TarSource, reader: Reader, row: int) -> None:
        self._source, self._reader, self._skip = source, reader, row
        self.raw = reader.raw
        self._tail, self._behind = b"", 0  # what was read last, and where it ends
        self._is_json = source.column.rpartition(".")[2] == "json"
        self._found = self._texts()

    def read(self, n: int) -> bytes:
        """Bytes of the archive, for tarfile."""
        parts = []
        while n and (part := self._reader.read(n)):
            parts.append(part)
            n -= len(part)
        data = b"".join(parts)
        self._tail, self._behind = (self._tail + data)[-_TAIL:], self._behind + len(data)
        return data

    def read_batch(self) -> Members | None:
        """The next members; None at the end."""
        texts: list[bytes] = []
        objects: list[bytes | None] = []
        size, first = 0, 0
        for row, text, beside in self._found:
            first = first if texts else row
            texts.append(text)
            objects.append(beside)
            size += len(text) + len(beside or b"")
            if size >= _BATCH_BYTES or len(texts) >= _BATCH:
                break
        carries = bool(self._source.carry) and not self._is_json
        return Members(texts, first, self._is_json, objects if carries else None) if texts else None

    def _texts(self) -> Iterator[tuple[int, bytes, bytes | None]]:
        """Number, text and, with columns to carry, the .json member of each document's sample: the members that stand
        behind each other and have one name up to its first dot."""
        if not self._source.carry or self._is_json:
            for row, _, text in self._members(self._source.column):
                yield row, text, None
            return
        sample, beside = "", None
        waiting: list[tuple[int, bytes]] = []
        for row, name, data in self._members(self._source.column, "json"):
            if name != sample:
                yield from ((number, text, beside) for number, text in waiting)
                sample, beside, waiting = name, None, []
            if row is None:
                beside = data
            else:
                waiting.append((row, data))
        yield from ((number, text, beside) for number, text in waiting)

    def _members(self, column: str, beside: str = "") -> Iterator[tuple[Any, str, bytes]]:
        """Number, name of the sample and content of the members with the extension `column`, and with `beside` those
        without a number."""
        row = 0
        try:
            with tarfile.open(fileobj=cast("BinaryIO", self), mode="r|") as archive:
                for member in archive:
                    cast("Any", archive).members = []  # else all are kept
                    self._check_member(member)
                    stem, _, extension = os.path.basename(member.name).partition(".")
                    if not member.isfile() or extension not in (column, beside or column):
                        continue
                    sample = os.path.join(os.path.dirname(member.name), stem)
                    number = row if extension == column else None
                    if number is not None and number >= self._skip:
                        self._source.note(row, member.name)
                    if number is None or number >= self._skip:
                        self._check_size(member)
                        yield number, sample, cast("Any", archive.extractfile(member)).read()
                    row += number is not None
        except (tarfile.TarError, UnicodeError, ValueError, OverflowError) as error:
            raise self._damaged(str(error) or "it is no tar archive") from None
        # tarfile takes the end of the file, and a header that is damaged, for the end of the archive.
        at = archive.offset - (self._behind - len(self._tail))
        if self._tail[at : at + _BLOCK] != bytes(_BLOCK):
            raise self._damaged(f"at byte {archive.offset} is neither a member nor the end: it is cut off, or damaged")
        while self._reader.read(1 << 20):
            pass

    def _check_member(self, member: tarfile.TarInfo) -> None:
        if member.size < 0:
            raise self._damaged(f"member {shortened(member.name)} has a size of {member.size} bytes")
        if member.issparse():
            raise self._damaged(
                f"member {shortened(member.name)} is a sparse file, of which holes are not in the archive: pack it "
                "without --sparse"
            )

    def _check_size(self, member: tarfile.TarInfo) -> None:
        packed = self._source.bytes_on_disk() if member.size > _LARGE else 0
        if 0 < _TIMES * packed < member.size:
            raise self._damaged(
                f"member {shortened(member.name)} has {member.size} bytes, and the whole archive {packed}: a member is "
                f"held in memory, and one of more than {_LARGE >> 20} MB is read if it is at most {_TIMES} times as "
                "large as the archive; unpack it first"
            )

    def _damaged(self, reason: str) -> SourceError:
        return SourceError(errno.EBADMSG, f"the archive cannot be read: {shortened(reason)}", self._source.name)

    def position(self) -> int:
        """Bytes of the file read so far."""
        return self._reader.position()

    def close(self) -> None:
        """Close the file."""
        self._reader.close()
