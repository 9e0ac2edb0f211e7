"""What to train on, read piece by piece: files, globs, URLs, tables, archives, open streams, JSON lines, or texts from
an iterable.

Every input yields stretches: texts that may be split apart from each other, with the place that a later run would go on
from. Nothing is read twice, and no more is held than a stretch, however large the input.
"""

from __future__ import annotations

import errno
import glob
import hashlib
import io
import itertools
import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..disk import places_are_free
from ..errors import located_utf8_error, shortened, shown
from ..files.json_lines import LONG, Lines, pieces_at, text_of_line
from ..files.options import by_name, check_kind
from ..files.parts import LARGEST_REST, next_cut, read_part
from ..files.readers import IS_NULL, kept_rows, member_text
from ..files.remote import is_url
from ..files.sources import AnySource, PathSource, Reader, StreamSource
from ..files.suffixes import documents_of
from ..files.tables import Batch, TableSource
from ..files.tars import TarSource
from ..native import job
from ..native.pattern import Pattern
from ..native.text import mend_surrogates, to_utf8

CHUNK = 1 << 20
"""Bytes read at a time, and of a stretch where the text has places to cut."""

_CHUNKS = 2  # of a FilePart: what Python does for a part is half as much as with one


def largest_part() -> int:
    """Bytes of a FilePart, at most."""
    return _CHUNKS * CHUNK + LARGEST_REST


_MANY = 1 << 12  # texts of one stretch, when they are short
_LONGEST_NAME = 255  # of a file, on nearly all systems
_TEXTS = "to train on texts in memory pass iter(texts)"


class Place(NamedTuple):
    """Where reading stands: the number of inputs done, and of bytes (for an iterable: texts) of the next one. crc: the
    CRC-32 of those bytes, which identifies a file that was changed only behind them."""

    input: int = 0
    offset: int = 0
    line: int = 0
    crc: int = 0


class Stretch(NamedTuple):
    """Texts of one input. `texts`: documents, or parts of one that may be split apart. ends: the document ends too.
    after: the place behind them, None where no run could go on."""

    texts: list[Any]
    size: int  # bytes read for them
    name: str
    offset: int  # where in the input the first one begins
    after: Place | None
    ends: bool


class FilePart:
    """A part of a text that lies in a file, and is read when it is counted, by the thread that counts it."""

    __slots__ = ("_file", "_size", "_start")

    def __init__(self, file: _OpenFile, start: int, size: int) -> None:
        self._file, self._start, self._size = file, start, size

    def read(self, buffer: memoryview) -> memoryview:
        """The bytes, in the buffer, which has largest_part()."""
        buffer = buffer[: self._size]
        try:
            read_part(self._file.fd, self._start, buffer)
        except OSError as error:
            raise type(error)(error.errno, error.strerror, self._file.name) from None  # reading names no file
        return buffer


class _OpenFile:
    """A file that stays open as long as one of its parts is to be read."""

    def __init__(self, fd: int, name: str) -> None:
        self.fd, self.name = os.dup(fd), name

    def __del__(self) -> None:
        os.close(self.fd)


@dataclass(frozen=True)
class How:
    """How inputs become texts. cuts: a text may be cut where `special` and this pattern allow it; None: nowhere. sums:
    places have their CRC-32. aside: texts may be FilePart. column, nulls: of tables, as for encode_file."""

    documents: str | None = None
    key: str = "text"
    errors: str = "strict"
    special: Any = None
    cuts: Pattern | None = None
    sums: bool = False
    aside: bool = False
    column: str | None = None
    nulls: str = "error"

    def __post_init__(self) -> None:
        check_kind(self.documents, self.errors)


def open_inputs(sources: Any) -> list[AnyInput]:
    """The inputs that `sources` names. Files are looked at now, all of them, so that none turns out to be missing when
    hours of work are done.

    A str or a path names a file, also by URL, or, with * ? or [, files; a list holds paths, open binary streams,
    sources of streamtok.files and texts as bytes.
    bytes are one text. Any other iterable gives texts, str or bytes.

    Raises TypeError for what is none of these, FileNotFoundError where a glob matches nothing, OSError naming the first
    file that cannot be read.
    """
    if isinstance(sources, (str, os.PathLike, AnySource)) or hasattr(sources, "read"):
        sources = [sources]
    if isinstance(sources, (bytes, bytearray, memoryview)):
        return [TextsInput([sources])]
    if not isinstance(sources, (list, tuple)):
        if not isinstance(sources, Iterable):
            raise TypeError(
                f"sources is of type {type(sources).__name__}: give paths, open binary files, or an iterable of texts"
            )
        return [TextsInput(sources)]
    if not sources:
        raise ValueError("there is nothing to train on: sources is empty")
    inputs = list(itertools.chain.from_iterable(map(_open, sources)))
    _look_at([each for each in inputs if not isinstance(each, TextsInput)])
    return inputs


def _open(source: Any) -> list[AnyInput]:
    if isinstance(source, AnySource):
        return [_input_of(source)]
    if isinstance(source, (bytes, bytearray, memoryview)):
        return [TextsInput([source])]
    if hasattr(source, "read"):
        if isinstance(source, io.TextIOBase):
            name = shortened(str(getattr(source, "name", "the stream")))
            raise TypeError(f"{name} is open as text: open it in binary mode ('rb')")
        return [FileInput(StreamSource(source))]
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(f"a source of type {type(source).__name__}: give a path, an open binary file, or bytes")
    path = os.fsdecode(source)
    paths = matching(path)
    if not paths:
        raise FileNotFoundError(errno.ENOENT, _for_no_path("no file matches this pattern", path), path)
    return [_input_of(by_name(PathSource(each))) for each in paths]


def _input_of(source: AnySource) -> FileInput | RowsInput:
    return RowsInput(source) if isinstance(source, (TableSource, TarSource)) else FileInput(source)


def matching(path: str) -> list[str]:
    """The files that a glob stands for; the path itself where it is none, is a URL, or names a file."""
    if is_url(path) or not any(character in path for character in "*?[") or os.path.exists(path):
        return [path]
    return sorted(each for each in glob.glob(path, recursive=True) if not os.path.isdir(each))


def _look_at(inputs: list[FileInput | RowsInput]) -> None:
    """Raises the OSError of the first file that cannot be read, and says how many more there are."""
    failed: list[OSError] = []
    for each in inputs:
        try:
            each.look()
        except OSError as error:
            failed.append(error)
        except ValueError as error:
            if isinstance(each, RowsInput):
                raise
            # a NUL, which no path can hold
            raise ValueError(f"{_TEXTS}; {shown(each.name)} is no path: {error}") from None
    if failed:
        first = failed[0]
        reason = first.strerror or "it cannot be read"
        if len(failed) > 1:
            reason += f" (and {len(failed) - 1} more of {len(inputs)} files cannot be read)"
        if isinstance(first, FileNotFoundError) or first.errno == errno.ENAMETOOLONG:
            reason = _for_no_path(reason, str(first.filename))
        elif isinstance(first, IsADirectoryError):
            reason += "; for the files in it write a glob, as 'folder/**/*.txt'"
        raise type(first)(first.errno, reason, first.filename)


def _for_no_path(reason: str, path: str) -> str:
    """What to write where a text was given for a path: first where it looks like one, behind the reason where not."""
    if len(path.split()) > 1 or len(path) > _LONGEST_NAME:
        return f"{_TEXTS}; as a path: {reason}"
    return f"{reason}; {_TEXTS}"


class _SourceInput:
    """A source of streamtok.files."""

    def __init__(self, source: AnySource) -> None:
        self.source = source
        self.name = source.name
        self.fingerprint: dict[str, Any] | None = None

    def where(self) -> str | int | None:
        """As that of its source."""
        return self.source.where()

    def look(self) -> None:
        self.fingerprint = self.source.fingerprint()

    @property
    def size(self) -> int | None:
        """Bytes on the disk, None where that is not known."""
        return self.source.size


class FileInput(_SourceInput):
    """A file, a range of one, or an open binary stream."""

    def stretches(self, index: int, start: Place, how: How) -> Iterator[tuple[Stretch, int]]:
        """The stretches from `start` on, each with how far the file on the disk is read."""
        kind = self.source.checked_kind(how.documents or documents_of(self.name))
        with self.source.open(start.offset) as reader:
            if kind == "text" and how.aside and how.cuts and reader.is_plain and self.is_regular and not how.sums:
                for stretch in self._parts_aside(reader, index, start, how):
                    yield stretch, reader.position()
                    start = stretch.after or start
            chunks = _chunks(reader)
            if kind == "text":
                found = self._parts(chunks, index, start, how)
            else:
                found = self._lines(chunks, index, start, how, kind)
            for stretch in found:
                # A pipe cannot be read again from a place inside it: the next run begins it anew.
                within = stretch.after is not None and stretch.after.input == index
                lost = within and self.fingerprint is None
                yield stretch._replace(after=None) if lost else stretch, reader.position()
            self.source.check_unchanged(reader)

    @property
    def is_regular(self) -> bool:
        """Whether any part of the file can be read at any time."""
        source = self.source
        return places_are_free and isinstance(source, PathSource) and source.is_local and source.size is not None

    def _parts_aside(self, reader: Reader, index: int, start: Place, how: How) -> Iterator[Stretch]:
        """Parts of a long text, up to where no more of them can be cut off; reading goes on there."""
        at, end = start.offset, self.source.size or 0
        file = _OpenFile(reader.raw.fileno(), self.name)
        names, size = (how.special, None), _CHUNKS * CHUNK
        while end - at > 2 * size and (cut := next_cut(file.fd, at, size, names, how.cuts)) is not None:
            part = FilePart(file, at, cut - at)
            reader.raw.seek(cut)
            yield Stretch([part], cut - at, self.name, at, Place(index, cut), False)
            at = cut

    def begins_as(self, place: Place) -> bool:
        """Whether the file, up to this place inside it, is the one that was read when the place was noted."""
        crc, left = 0, place.offset
        with self.source.open() as reader:
            while left and (chunk := reader.read(min(left, CHUNK))):
                crc, left = zlib.crc32(chunk, crc), left - len(chunk)
        return not left and crc == place.crc

    def _parts(self, chunks: Iterator[bytes], index: int, start: Place, how: How) -> Iterator[Stretch]:
        held: list[bytes] = []
        offset, crc = start.offset, start.crc
        for chunk in chunks:
            if not how.cuts:
                yield Stretch([chunk], len(chunk), self.name, offset, None, False)
                offset += len(chunk)
                continue
            # Cuts are looked for near the end of the last read, with a margin; without a cut, reading goes on.
            data = held.pop() + chunk if held and len(held[-1]) < CHUNK else chunk
            cuts = job.cuts(data, len(data), how.special, None, how.cuts)
            if not cuts:
                held.append(data)
                continue
            part = b"".join([*held, data[: cuts[-1]]]) if held else memoryview(data)[: cuts[-1]]
            crc = zlib.crc32(part, crc) if how.sums else 0
            yield Stretch([part], len(part), self.name, offset, Place(index, offset + len(part), 0, crc), False)
            offset += len(part)
            held = [data[cuts[-1] :]]
        rest = b"".join(held)
        yield Stretch([rest], len(rest), self.name, offset, Place(index + 1), True)

    def _lines(self, chunks: Iterator[bytes], index: int, start: Place, how: How, kind: str) -> Iterator[Stretch]:
        offset, line, crc = start.offset, start.line, start.crc
        lines = Lines()
        ahead = crc  # of all that was read
        for chunk in chunks:
            found = lines.feed(chunk)
            if not found:
                ahead = zlib.crc32(chunk, ahead) if how.sums else 0
                continue
            first, whole, size = found
            if how.sums:
                end = chunk.rindex(b"\n") + 1
                crc = zlib.crc32(memoryview(chunk)[:end], ahead)
                ahead = zlib.crc32(memoryview(chunk)[end:], crc)
            count = 1 + len(whole)
            texts = self._texts([first, *([each] for each in whole)], line, how, kind)
            del chunk, found, first, whole
            after = Place(index, offset + size, line + count, crc)
            yield Stretch(texts, size, self.name, offset, after, True)
            offset, line = offset + size, line + count
        rest = lines.end()
        size = sum(map(len, rest))
        if kind == "lines":
            texts = [b"".join(rest)] if rest else []  # a "\r" at its end is text: no "\n" came
        else:
            texts = self._texts([rest], line, how, kind)
        yield Stretch(texts, size, self.name, offset, Place(index + 1), True)

    def _texts(self, lines: list[list[bytes]], first: int, how: How, kind: str) -> list[Any]:
        """Texts of lines, which are in the pieces that they came in."""
        if kind == "lines":
            return [b"".join(parts).removesuffix(b"\r") for parts in lines]
        texts: list[Any] = []
        for number, parts in enumerate(lines, first):
            try:
                text = _json_text(parts, number, how)
            except UnicodeDecodeError as error:
                raise located_utf8_error(error, f"in {shortened(self.name)}, line {number + 1}") from None
            except ValueError as error:
                raise ValueError(f"{shortened(self.name)}, line {number + 1}: {error}") from None
            if text is not None:
                texts.append(text)
        return texts


def _json_text(parts: list[bytes], number: int, how: How) -> str | memoryview | None:
    """The text of a JSON line, as UTF-8 if it is too long to be held twice; None for a blank line."""
    if sum(map(len, parts)) <= LONG:
        return text_of_line(how.key, b"".join(parts), how.errors, is_first=number == 0)
    pieces = pieces_at(how.key, parts, how.errors, is_first=number == 0)
    if pieces is None:
        return None
    text = bytearray()
    for piece in pieces:
        text += mend_surrogates(piece).encode()
    return memoryview(text)


def _chunks(reader: Reader) -> Iterator[bytes]:
    while chunk := reader.read(CHUNK):
        yield chunk


class RowsInput(_SourceInput):
    """A table or an archive, whose rows or members are texts. An offset in it counts these."""

    def begins_as(self, place: Place) -> bool:
        """As FileInput.begins_as: a file that was changed is another one."""
        return False

    def stretches(self, index: int, start: Place, how: How) -> Iterator[tuple[Stretch, int]]:
        """As FileInput.stretches."""
        self.source.adopt(how.column, how.key, how.nulls)
        with self.source.open(0, start.offset) as opened:
            reader: Any = opened
            while batch := reader.read_batch():
                texts, behind = self._texts(batch, how)
                begin = size = 0
                read = reader.position()
                for at, text in enumerate(texts):
                    size += len(text)
                    if size >= CHUNK or at + 1 - begin == _MANY:
                        after = Place(index, batch.row + at + 1) if how.nulls != "skip" else None
                        yield Stretch(texts[begin : at + 1], size, self.name, batch.row + begin, after, True), read
                        begin, size = at + 1, 0
                done = Place(index, behind)
                yield Stretch(texts[begin:], size, self.name, batch.row + begin, done, True), read
            self.source.check_unchanged(opened)
            yield Stretch([], 0, self.name, 0, Place(index + 1), True), reader.position()

    def _texts(self, batch: Any, how: How) -> tuple[list[Any], int]:
        """The texts of a batch, and how many rows lie in front of what follows it."""
        at = batch.row
        try:
            if isinstance(batch, Batch):
                kept, _, rows = kept_rows(batch.texts, self.source.nulls)
                if self.source.nulls == "error" and len(rows) < batch.texts.rows:
                    at += len(rows)
                    raise ValueError(IS_NULL)
                return [memoryview(kept[i]) for i in range(len(kept))], batch.row + batch.texts.rows
            texts: list[Any] = batch.texts
            if batch.is_json:
                texts = []
                for member in batch.texts:
                    texts.append(member_text(how.key, member, how.errors))
                    at += 1
            return texts, batch.row + len(texts)
        except UnicodeDecodeError as error:
            raise located_utf8_error(error, f"in {self.source.place_of(at)}") from None
        except ValueError as error:
            raise ValueError(f"{self.source.place_of(at)}: {error}") from None


class TextsInput:
    """Texts from an iterable, each a document. A later run is given the same ones, and passes over what was done."""

    name = "<texts>"

    def __init__(self, texts: Iterable[Any]) -> None:
        self.texts = texts

    def where(self) -> None:
        """In no file."""

    @property
    def size(self) -> int | None:
        """Bytes of the text that was given as bytes; None for an iterable, which is read once."""
        return sum(map(len, self.texts)) if isinstance(self.texts, list) else None

    @property
    def fingerprint(self) -> dict[str, Any] | None:
        """What tells one text from another; of an iterable, which would have to be read for that, nothing is known."""
        if not isinstance(self.texts, list):
            return None
        (text,) = self.texts
        return {"name": "<bytes>", "size": len(text), "sha256": hashlib.sha256(text).hexdigest()}

    def stretches(self, index: int, start: Place, how: How) -> Iterator[tuple[Stretch, int]]:
        done = read = 0
        batch: list[Any] = []
        size = 0
        for number, text in enumerate(self.texts):
            if number < start.offset:
                continue
            data = _checked(text, number)
            done = number + 1
            if how.cuts and len(data) > CHUNK:
                if batch:
                    read += size
                    yield Stretch(batch, size, self.name, number - len(batch), Place(index, number), True), read
                    batch, size = [], 0
                for stretch in _cut_text(data, number, index, how):
                    read += stretch.size
                    yield stretch, read
                continue
            batch.append(data)
            size += len(data)
            if size >= CHUNK or len(batch) == _MANY:
                read += size
                yield Stretch(batch, size, self.name, done - len(batch), Place(index, done), True), read
                batch, size = [], 0
        yield Stretch(batch, size, self.name, max(done - len(batch), 0), Place(index + 1), True), read + size


def _cut_text(data: Any, number: int, index: int, how: How) -> Iterator[Stretch]:
    """A long text in parts. A run cannot be resumed inside it, and begins it anew."""
    data = to_utf8(data) if isinstance(data, str) else data
    view, at = memoryview(data), 0
    for cut in [*job.cuts(data, CHUNK, how.special, None, how.cuts), len(data)]:
        after = Place(index, number + 1) if cut == len(data) else None
        yield Stretch([view[at:cut]], cut - at, f"text {number} of the iterable", at, after, after is not None)
        at = cut


def _checked(text: Any, number: int) -> Any:
    if isinstance(text, (str, bytes)):
        return text
    if isinstance(text, (bytearray, memoryview)):
        return bytes(text)
    raise TypeError(f"text {number} of the iterable is of type {type(text).__name__}: texts are str or bytes")


AnyInput = FileInput | RowsInput | TextsInput
