"""Readers: each makes documents of the bytes of a kind of source, in bounded memory.

"text": a source is a document. "lines": a line is one; "\\n" or "\\r\\n" ends it and is no part of it, an empty line is
an empty document. "jsonl": the string at `key` in the object on each line is one; blank lines are none. "table" and
"tar": a row, and a member, is one, of a source that says so itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .in_order import Buffers
from .json_lines import BLANK, LONG, Lines, pieces_at, record_at, record_of_line, text_in, text_of_line
from .reading import Chunk, Reading
from .sources import Reader

if TYPE_CHECKING:
    from ..native.arrow import Column
    from ..native.texts import Texts

BATCH = 1 << 14  # documents encoded at once: what is kept about each is small beside the text
_MOST_HELD = 1 << 16  # a text without a cut for longer than this goes through the stream, which holds less


class DocumentReader:
    """How the source that `run` reads becomes documents. One object serves all sources of a kind, one after the other.

    begin: a source begins, at run.offset. read: its next bytes. feed: take them. end: it ends, and with it the document
    that it is in.
    """

    def __init__(self, run: Reading) -> None:
        self.run = run

    def begin(self) -> None:
        raise NotImplementedError

    def read(self, reader: Reader, size: int) -> Chunk:
        return reader.read(size)

    def feed(self, chunk: Chunk) -> None:
        raise NotImplementedError

    def end(self) -> None:
        raise NotImplementedError

    @property
    def stands_at_cut(self) -> bool:
        """Whether the text behind run.offset encodes independently of what is in front of it, so that other threads may
        take its parts."""
        return False

    def forget_ahead(self) -> None:
        """What was read behind run.offset is read again."""


class TextReader(DocumentReader):
    """A source is a document. Where its parts may be taken apart from each other, it is cut into slices, where the two
    sides encode independently. The stream takes over where there is no such place for long, and where an earlier run
    left it with pending text."""

    def __init__(self, run: Reading) -> None:
        super().__init__(run)
        self._buffers = Buffers()

    def begin(self) -> None:
        self._shares = self.run.takes_parts
        self._apart = self.run.begins_at_cut  # whether the next text encodes independently of all text before
        self._tail: list[Chunk] = []  # chunks read, not taken yet: they lie behind the last cut
        # Memory in which the tail lies, and right behind it the chunk that was read last.
        self._whole: memoryview | None = None

    @property
    def stands_at_cut(self) -> bool:
        return self._shares and self._apart

    def forget_ahead(self) -> None:
        self._tail, self._whole = [], None

    def read(self, reader: Reader, size: int) -> Chunk:
        """Behind the tail, so that both are one text: together no more than `size` bytes, which a device takes at once,
        unless the tail alone is half of that."""
        if not self._shares or not self._apart:
            return reader.read(size)
        held = sum(map(len, self._tail))
        whole = self._buffers.lend(held + max(size - held, (size + 1) // 2))
        self._tail = list(_laid_out(self._tail, whole))
        count = reader.read_into(whole[held:])
        self._whole = whole[: held + count]
        return whole[held : held + count]

    def feed(self, chunk: Chunk) -> None:
        whole, self._whole = self._whole, None
        if not self._shares:
            self.run.feed_part(chunk)
            self.run.take(len(chunk))
        elif self._apart:
            chunks = [*self._tail, chunk]
            self._feed_parts(chunks, b"".join(chunks) if whole is None else whole)
        else:
            self._leave_stream(chunk)

    def _feed_parts(self, chunks: list[Chunk], data: Chunk) -> None:
        """data: the chunks, joined."""
        cuts = self.run.cuts(data)
        if not cuts and len(data) > _MOST_HELD:
            self._feed_uncut(chunks, data)
            return
        explain = self.run.explain(chunks)
        for a, b in itertools.pairwise([0, *cuts]):
            self.run.encode_part(memoryview(data)[a:b], explain)
            self.run.take(b - a)
        self._tail = _behind(chunks, cuts[-1]) if cuts else chunks

    def _feed_uncut(self, chunks: list[Chunk], data: Chunk) -> None:
        size = self.run.encode_certain(data, self.run.explain(chunks))
        if size:
            self.run.take(size)
            self._tail = _behind(chunks, size)
            return
        self.run.enter_stream(self.run.offset)
        for chunk in chunks:
            self.run.feed_part(chunk)
        self._apart, self._tail = False, []
        self.run.take(len(data))

    def _leave_stream(self, chunk: Chunk) -> None:
        """Up to the first cut the text belongs to what the stream holds."""
        cuts = self.run.cuts(chunk)
        end = cuts[0] if cuts else len(chunk)
        try:
            self.run.feed_part(chunk[:end])
        except ValueError:
            self.run.feed_part(chunk)  # raises the error with the offset in the whole text, as with one thread
            raise
        if not cuts:
            self.run.take(end)
            return
        self.run.flush()
        self.run.take(end)
        self._apart = True
        self._feed_parts([chunk[end:]], chunk[end:])

    def end(self) -> None:
        if not self.stands_at_cut:
            self.run.close_document()
            return
        rest = b"".join(self._tail)
        self.run.encode_part(rest, self.run.explain(self._tail, final=True))
        self.run.take(len(rest))
        self._tail = []
        self.run.count_document()


def _laid_out(chunks: list[Chunk], buffer: memoryview) -> Iterator[memoryview]:
    """The chunks, copied to the beginning of the buffer."""
    at = 0
    for chunk in chunks:
        buffer[at : at + len(chunk)] = chunk
        yield buffer[at : at + len(chunk)]
        at += len(chunk)


def _behind(chunks: list[Chunk], at: int) -> list[Any]:
    """What is left of the joined chunks behind byte `at`, in the chunks that it came in."""
    starts = itertools.accumulate(map(len, chunks), initial=0)
    return [chunk[max(at - start, 0) :] for start, chunk in zip(starts, chunks) if start + len(chunk) > at]


class LineReader(DocumentReader):
    r"""A line is a document. A line of any length is streamed; only a "\r" that may begin "\r\n" is held back. On
    several threads, the lines of a chunk are the work of one."""

    def begin(self) -> None:
        self._held = b""

    def feed(self, chunk: Chunk) -> None:
        text = self._held + bytes(chunk)  # bytes() of bytes is no copy, and neither is what is joined with b""
        *lines, rest = text.split(b"\n")
        taken = len(text) - len(rest)
        if b"\r" in text:
            lines = [line[:-1] if line.endswith(b"\r") else line for line in lines]
        if self.run.is_open and lines:
            self.run.feed_part(lines.pop(0))
            self.run.close_document()
            self.run.line += 1
        for at in range(0, len(lines), BATCH):
            batch = lines[at : at + BATCH]
            self.run.encode_batch(batch, itertools.count(self.run.line))
            self.run.line += len(batch)
        self.run.take(taken)
        self._held = b"\r" if rest.endswith(b"\r") else b""
        self._feed_part(rest[:-1] if self._held else rest)

    def _feed_part(self, part: bytes) -> None:
        if part:
            self.run.is_open = True
            self.run.feed_part(part)
            self.run.take(len(part))

    def end(self) -> None:
        self._feed_part(self._held)  # no "\n" came, so it is text
        self._held = b""
        if self.run.is_open:
            self.run.close_document()


class JsonReader(DocumentReader):
    """The string at `key` of the object on a line is a document. One line is held in memory at a time."""

    def begin(self) -> None:
        self._lines = Lines()

    def feed(self, chunk: Chunk) -> None:
        found = self._lines.feed(bytes(chunk))
        if found:
            first, whole, size = found
            self._encode_line(first)
            self._encode_lines(whole)
            self.run.take(size)

    def end(self) -> None:
        rest = self._lines.end()
        size = sum(map(len, rest))
        self._encode_line(rest)
        self.run.take(size)

    def _encode_line(self, parts: list[bytes]) -> None:
        if sum(map(len, parts)) > LONG:
            self._encode_long(parts)
        else:
            self._encode_lines([b"".join(parts)])

    def _encode_lines(self, lines: list[bytes]) -> None:
        run = self.run
        for at in range(0, len(lines), BATCH):
            numbers: list[int] = []
            texts: list[str] = []
            records: list[Any] = []  # with columns to carry
            for line in lines[at : at + BATCH]:
                if len(line) > LONG:
                    self._encode_batch(texts, numbers, records)
                    numbers, texts, records = [], [], []
                    self._encode_long([line])
                    continue
                is_first = run.line == 0 and run.begins_file
                if run.passthrough is None:
                    text = text_of_line(run.key, line, run.errors, is_first=is_first)
                else:
                    text = self._text_beside(line, is_first, records)
                if text is not None:
                    texts.append(text)
                    numbers.append(run.line)
                run.line += 1
            self._encode_batch(texts, numbers, records)

    def _text_beside(self, line: bytes, is_first: bool, records: list[Any]) -> str | None:
        """The text of a line; its object is put to the records."""
        run = self.run
        record = record_of_line(line, run.errors, is_first=is_first)
        if record is BLANK:
            return None
        text = text_in(run.key, record)
        records.append(record)
        return text

    def _encode_batch(self, texts: list[Any], numbers: list[int], records: list[Any]) -> None:
        self.run.encode_batch(texts, numbers)
        self.run.pass_objects(records, numbers)

    def _encode_long(self, parts: list[bytes]) -> None:
        run = self.run
        is_first = run.line == 0 and run.begins_file
        carried: dict[str, Any] = {} if run.passthrough is None else dict.fromkeys(run.passthrough.passthrough.names)
        pieces = pieces_at(run.key, parts, run.errors, is_first=is_first, carried=carried)
        if pieces is not None:
            for piece in pieces:
                run.feed_part(piece)
            run.close_document()
            run.pass_objects([carried], [run.line])
        run.line += 1


# ==== Sources of rows ====


_IS_NULL = "the text is null; nulls='skip' passes over such rows, nulls='empty' makes them empty documents"


def _kept_rows(found: Column, nulls: str) -> tuple[Texts, Any, Any]:
    """The rows of a column that are documents: texts, their sizes in bytes, and which rows these are (int64). With
    nulls="error" those in front of the first null: there are fewer than the column has, then."""
    texts, sizes, rows = found.texts, np.empty(found.rows, np.int64), np.arange(found.rows)
    texts.facts(sizes, np.empty(found.rows, np.int64))
    if not found.null_count or nulls == "empty":
        return texts, sizes, rows
    bits = np.frombuffer(found.nulls or b"", np.uint8)
    there = np.flatnonzero(np.unpackbits(bits, count=found.rows, bitorder="little"))
    if nulls == "error":
        first = int(np.argmax(np.append(there, -1) != np.arange(len(there) + 1)))
        return texts.part(0, first), sizes[:first], rows[:first]
    spans = np.stack([there, np.zeros(len(there), np.int64), sizes[there]], axis=1)
    return texts.cut(np.ascontiguousarray(spans).ravel()), sizes[there], there


class _RowReader(DocumentReader):
    """A source gives batches of documents, and none of them goes on in the next one."""

    def begin(self) -> None:
        pass

    def read(self, reader: Any, size: int) -> Any:
        return reader.read_batch()

    def end(self) -> None:
        pass


class TableReader(_RowReader):
    """A row of a table is a document. run.line counts rows, whatever becomes of those that are null."""

    def feed(self, batch: Any) -> None:
        texts, sizes, there = _kept_rows(batch.texts, self.run.nulls)
        self._encode(texts, sizes, batch.row + there)
        if self.run.nulls == "error" and len(there) < batch.texts.rows:
            raise ValueError(_IS_NULL)
        self.run.line = batch.row
        if batch.passthrough is not None and self.run.passthrough is not None:
            self.run.passthrough.rows(
                batch.passthrough.take(there) if len(there) < batch.texts.rows else batch.passthrough
            )
        self.run.line = batch.row + batch.texts.rows

    def _encode(self, texts: Any, sizes: Any, numbers: Any) -> None:
        """Rows as documents, a part of a text's size at a time."""
        run = self.run
        ends = np.cumsum(sizes)
        at, done = 0, 0
        while at < len(sizes):
            behind = min(at + BATCH, int(np.searchsorted(ends, done + run.part)) + 1, len(sizes))
            run.encode_batch(texts.part(at, behind), numbers[at:behind])
            run.line = int(numbers[behind - 1]) + 1
            run.take(int(ends[behind - 1]) - done)
            at, done = behind, int(ends[behind - 1])


class TarReader(_RowReader):
    """A member of an archive is a document, or the string at the key of the object in it. run.line counts documents."""

    def feed(self, batch: Any) -> None:
        run = self.run
        texts: list[Any] = []
        records: list[Any] = []
        objects = itertools.repeat(None) if batch.objects is None else batch.objects
        for at, (member, beside) in enumerate(zip(batch.texts, objects)):
            try:
                record = self._record(member if batch.is_json else beside)
                texts.append(text_in(run.key, record) if batch.is_json else member)
                records.append(record)
            except ValueError:
                run.encode_batch(texts, range(batch.row, batch.row + at))
                run.line = batch.row + at
                raise
        numbers = range(batch.row, batch.row + len(texts))
        run.encode_batch(texts, numbers)
        run.pass_objects(records, numbers)
        run.line = batch.row + len(texts)
        run.take(sum(map(len, batch.texts)))

    def _record(self, member: bytes | None) -> Any:
        if member is None:
            return None
        record = record_at(member.decode("utf-8", self.run.errors))
        if not isinstance(record, dict):
            raise ValueError(f"the .json member holds a JSON {type(record).__name__}, an object is needed")
        return record


READERS: dict[str, type[DocumentReader]] = {
    "text": TextReader,
    "lines": LineReader,
    "jsonl": JsonReader,
    "table": TableReader,
    "tar": TarReader,
}
