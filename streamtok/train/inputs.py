"""What to train on, read piece by piece: files, globs, URLs, tables, archives, open streams, JSON lines, or texts from
an iterable.

Every input yields stretches: texts that may be split apart from each other, with the place that a later run would go on
from. Nothing is read twice, and no more is held than a stretch, however large the input.
"""

from __future__ import annotations

import errno
import hashlib
import io
import itertools
import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..errors import shortened, shown
from ..files.named import matching
from ..files.options import by_name, check_kind
from ..files.parts import LARGEST_REST, cut_parts, is_divisible, read_part
from ..files.readers import READERS, DocumentReader
from ..files.reading import Chunk, Explain, Reading
from ..files.sources import AnySource, PathSource, Reader, StreamSource
from ..files.suffixes import documents_of
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
        return [SourceInput(source)]
    if isinstance(source, (bytes, bytearray, memoryview)):
        return [TextsInput([source])]
    if hasattr(source, "read"):
        if isinstance(source, io.TextIOBase):
            name = shortened(str(getattr(source, "name", "the stream")))
            raise TypeError(f"{name} is open as text: open it in binary mode ('rb')")
        return [SourceInput(StreamSource(source))]
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(f"a source of type {type(source).__name__}: give a path, an open binary file, or bytes")
    path = os.fsdecode(source)
    paths = matching(path)
    if not paths:
        raise FileNotFoundError(errno.ENOENT, _for_no_path("no file matches this pattern", path), path)
    return [SourceInput(by_name(PathSource(each))) for each in paths]


def _look_at(inputs: list[SourceInput]) -> None:
    """Raises the OSError of the first file that cannot be read, and says how many more there are."""
    failed: list[OSError] = []
    for each in inputs:
        try:
            each.look()
        except OSError as error:
            failed.append(error)
        except ValueError as error:
            if each.source.has_rows:
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


class _Collector(Reading):
    """Takes the documents of a source that is read to train on. `taken` has the stretches of what was read last. A
    place in a table or an archive counts its rows."""

    def __init__(self, source: AnySource, kind: str, index: int, start: Place, how: How, *, is_pipe: bool) -> None:
        rows = start.offset if source.has_rows else 0
        self.stand(source, kind, 0 if source.has_rows else start.offset, rows or start.line)
        self.key, self.errors, self.part, self.takes_parts = how.key, how.errors, CHUNK, how.cuts is not None
        self.taken: list[Stretch] = []
        self.how, self._index, self._has_rows = how, index, source.has_rows
        # A text that is not cut is taken as it comes; a run can be resumed only behind it, and behind a pipe.
        self._is_whole = kind == "text" and not how.cuts
        self._is_lost = self._is_whole or is_pipe
        self._texts: list[Any] = []
        self._held: bytearray | None = None  # what was fed of a document that has not ended
        self._begin = self.offset  # of what is not in a stretch yet
        self._summed, self._crc = self.offset, start.crc
        self._read: list[memoryview] = []  # what is not summed yet

    def step(self, documents: DocumentReader, chunk: Any) -> None:
        """The reader takes what it has read, None at the end. Raises ValueError naming the place."""
        self.taken = []
        if self.how.sums and isinstance(chunk, (bytes, memoryview)):
            if self.kind != "text" or self._held is not None:
                self._sum(sum(map(len, self._read)))  # the next place lies in this chunk, or behind it
            self._read.append(memoryview(chunk))
        try:
            documents.end() if chunk is None else documents.feed(chunk)
        except ValueError as error:
            raise self.located(error) from None

    def last(self) -> Stretch:
        """What ends the source."""
        return self._stretch(Place(self._index + 1), True)

    def take(self, n: int) -> None:
        """As Reading.take. What was taken is a stretch, if no document is open."""
        super().take(n)
        if self._held is None:
            self._sum(self.offset - self._summed)
            offset = (self.line,) if self._has_rows else (self.offset, self.line, self._crc)
            place = Place(self._index, *offset)
            self.taken.append(self._stretch(None if self._is_lost else place, self.kind != "text"))

    def _stretch(self, after: Place | None, ends: bool) -> Stretch:
        texts, size, begin = self._texts, self.offset - self._begin, self._begin
        self._texts, self._begin = [], self.offset
        if self._has_rows:
            name = self.place_of(self.line - 1) if len(texts) == 1 else self.name
            return Stretch(texts, size, name, 0, after, ends)
        return Stretch(texts, size, self.name, begin, after, ends)

    def _sum(self, count: int) -> None:
        """Add so many more bytes to the CRC-32."""
        while count > 0 and self._read:
            chunk = self._read.pop(0)
            part, rest = chunk[:count], chunk[count:]
            self._crc, count = zlib.crc32(part, self._crc), count - len(part)
            self._summed += len(part)
            if rest:
                self._read.insert(0, rest)

    def encode_batch(self, texts: Any, lines: Iterable[int]) -> None:
        self._texts += texts if isinstance(texts, list) else map(memoryview, texts)

    def feed_part(self, part: str | Chunk) -> None:
        if self._is_whole:
            self._texts.append(part)
            return
        self._held = bytearray() if self._held is None else self._held
        self._held += mend_surrogates(part).encode() if isinstance(part, str) else part

    def flush(self) -> None:
        self._texts.append(memoryview(self._held or b""))
        self._held = None

    def close_document(self) -> None:
        self.flush()
        self.is_open = False

    def cuts(self, data: Chunk) -> list[int]:
        """One, near the end."""
        return job.cuts(data, len(data), self.how.special, None, self.how.cuts)

    def encode_part(self, part: Any, explain: Explain) -> None:
        self._texts.append(part)

    def count_document(self) -> None:
        self.flush()  # an empty end


class SourceInput:
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

    def begins_as(self, place: Place) -> bool:
        """Whether the file, up to this place inside it, is the one that was read when the place was noted. A table or
        an archive that was changed is another one."""
        if self.source.has_rows:
            return False
        crc, left = 0, place.offset
        with self.source.open() as reader:
            while left and (chunk := reader.read(min(left, CHUNK))):
                crc, left = zlib.crc32(chunk, crc), left - len(chunk)
        return not left and crc == place.crc

    def stretches(self, index: int, start: Place, how: How) -> Iterator[tuple[Stretch, int]]:
        """The stretches from `start` on, each with how far the file on the disk is read."""
        source = self.source
        source.adopt(how.column, how.key, how.nulls)
        kind = source.checked_kind(how.documents or documents_of(self.name))
        found = _Collector(source, kind, index, start, how, is_pipe=self.fingerprint is None)
        documents = READERS[kind](found)
        documents.begin()
        with source.open(found.offset, found.line) as reader:
            if kind == "text" and how.aside and how.cuts and not how.sums and is_divisible(source, reader):
                yield from self._parts_aside(reader, found)
            while chunk := documents.read(reader, CHUNK):
                found.step(documents, chunk)
                yield from ((stretch, reader.position()) for stretch in found.taken)
            source.check_unchanged(reader)
            found.step(documents, None)
            yield from ((stretch, reader.position()) for stretch in [*found.taken, found.last()])

    def _parts_aside(self, reader: Reader, found: _Collector) -> Iterator[tuple[Stretch, int]]:
        """Parts of a long text, up to where no more of them can be cut off; reading goes on there."""
        file, how = _OpenFile(reader.raw.fileno(), self.name), found.how
        names, size = (how.special, None), _CHUNKS * CHUNK
        for at, end in cut_parts(self.source, reader, found.offset, size, names, how.cuts):
            found.taken = []
            found.encode_part(FilePart(file, at, end - at), found.explain(()))
            found.take(end - at)
            yield found.taken[0], reader.position()


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


AnyInput = SourceInput | TextsInput
