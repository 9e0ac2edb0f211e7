"""Cuts the bytes of sources into documents and encodes each one by itself, in bounded memory.

"text": a source is a document. "lines": a line is one; "\n" or "\r\n" ends it and is no part of it, an empty line is
an empty document. "jsonl": the string at `key` in the object on each line is one; blank lines are none.
"""

from __future__ import annotations

import itertools
import json
import weakref
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from . import _job
from .batch import encode_many_aside
from .device import DeviceCoder
from .errors import shortened, shown
from .pipeline import Emit, Ids, Pipeline, Prepare
from .sources import PathSource, Reader, StreamSource

Tick = Callable[["Documents", Reader], object]

_BATCH = 1 << 14  # documents encoded at once: what is kept about each is small beside the text
_PART = 1 << 20  # bytes of a text that a thread encodes at once
_MOST_HELD = 1 << 16  # a text without a cut for longer than this goes through the stream, which holds less
_NO_IDS: Ids = np.empty(0, dtype=np.uint32)


# A device has three texts under way at once, each on a thread that copies it and waits; a fourth has the ids of the one
# before in hand.
_DEVICE_THREADS = 4


class Device(NamedTuple):
    """Where ids are made, and how many bytes of text at once suit it."""

    name: str
    chunk: int


@dataclass(frozen=True)
class Options:
    """What decides the ids of an output, apart from the encoding and the sources."""

    documents: str = "text"
    key: str = "text"
    append_eot: bool = False
    allowed_special: Set[str] | str = frozenset()
    disallowed_special: Set[str] | str = frozenset()
    errors: str = "strict"

    def __post_init__(self) -> None:
        if self.documents not in _KINDS:
            known = ", ".join(map(repr, _KINDS))
            raise ValueError(f"documents={shown(self.documents)} is unknown: write one of {known}")
        if self.errors not in ("strict", "replace", "ignore"):
            raise ValueError(f"errors={shown(self.errors)} is unknown: write 'strict', 'replace' or 'ignore'")
        for name in ("allowed_special", "disallowed_special"):
            value = getattr(self, name)
            if isinstance(value, str) and value != "all":
                raise ValueError(f"{name}={shown(value)} is one string: write a set of names, or 'all'")
            object.__setattr__(self, name, value if value == "all" else frozenset(value))

    def as_json(self) -> dict[str, Any]:
        """These options as a journal keeps them."""
        record = {name: getattr(self, name) for name in ("documents", "append_eot", "errors")}
        for name in ("allowed_special", "disallowed_special"):
            names = getattr(self, name)
            record[name] = names if names == "all" else sorted(names)
        return {**record, "key": self.key if self.documents == "jsonl" else None}


class Documents:
    """One stream encoder over many documents: `begin`, `feed` ..., `end` for each source.

    Ids leave through `emit`, a callable that takes a uint32 array and keeps no reference to it; with several threads
    they may leave late, but in order: `settle` waits for all of them. After an error the object is of no more use.
    """

    def __init__(
        self,
        encoding: Any,
        emit: Emit,
        options: Options,
        num_threads: int = 1,
        device: Device | None = None,
        prepare: Prepare | None = None,
    ) -> None:
        self.pipeline = Pipeline(emit, num_threads if device is None else max(num_threads, _DEVICE_THREADS), prepare)
        self._part = _PART if device is None else device.chunk
        self.options = options
        self._specials = {
            "allowed_special": options.allowed_special,
            "disallowed_special": options.disallowed_special,
            "errors": options.errors,
        }
        self.stream = encoding.stream_encoder(**self._specials)
        core = encoding._coder_for(options.errors)
        self._coder = core if device is None else DeviceCoder(encoding, device.name, options.errors)
        self._core = core
        self._matchers = encoding._matchers_for(options.allowed_special, options.disallowed_special)
        self.documents = 0  # ended
        self.text_bytes = 0  # taken, over all sources
        self.begin("<text>")
        self._eot = _eot_ids(encoding) if options.append_eot else _NO_IDS

    def begin(self, name: str, *, offset: int = 0, line: int = 0, is_open: bool = False) -> None:
        """Start on a source, from where an earlier run stood if it did."""
        self.name, self.offset, self.line, self.is_open = name, offset, line, is_open

    def encode_source(self, source: PathSource | StreamSource, chunk_size: int, tick: Tick | None = None) -> None:
        """Read `source` from `self.offset` to its end; tick(self, reader) follows each chunk."""
        with source.open(self.offset) as reader:
            while chunk := self._read(reader, chunk_size):
                self.feed(chunk)
                if tick is not None:
                    tick(self, reader)
            source.check_unchanged(reader)
        self.end()

    def _read(self, reader: Reader, size: int) -> Any:
        return reader.read(size)

    def feed(self, chunk: Any) -> None:
        """Take the next bytes of the source.

        Raises UnicodeDecodeError or ValueError naming the source (and the line) for text that is refused.
        """
        self._checked(self._feed, chunk)

    def end(self) -> None:
        """The source ends, and with it the document that it is in."""
        self._checked(self._end)

    def settle(self) -> None:
        """Wait until the ids of all that was taken have left. Raises as feed() does."""
        self._checked(self.pipeline.drain)

    def _checked(self, step: Callable[..., None], *arguments: Any) -> None:
        try:
            step(*arguments)
        except ValueError as error:
            located = self._located(error)
            try:
                self.pipeline.drain()  # text in front of it may be refused, too: the first error is the one to tell
            except ValueError as earlier:
                located = self._located(earlier)
            raise located from None

    def _feed(self, chunk: Any) -> None:
        raise NotImplementedError

    def _end(self) -> None:
        raise NotImplementedError

    def state(self, offset: int) -> bytes:
        """What the stream needs to go on from `offset` of the source."""
        return self.stream.getstate()  # type: ignore[no-any-return]

    def _take(self, n: int) -> None:
        """Count `n` bytes of the source as done: a later run need not see them again."""
        self.offset += n
        self.text_bytes += n

    def _close_document(self) -> None:
        self.pipeline.put(self.stream.flush())
        self._count_document()

    def _count_document(self) -> None:
        if len(self._eot):
            self.pipeline.put(self._eot)
        self.documents += 1
        self.is_open = False

    def _encode_batch(self, texts: list[Any], lines: Iterable[int]) -> None:
        """Encode whole documents at once, several times as fast as one by one; `lines` are where they stand."""
        name = self.name

        def explain() -> None:
            self.name = name
            for self.line, text in zip(lines, texts):  # which one is it?
                self.stream.reset()
                self.stream.feed(text)
                self.stream.flush()

        self.pipeline.submit(lambda: self._batch_ids(texts), explain)
        self.documents += len(texts)

    def _batch_ids(self, texts: list[Any]) -> Ids:
        ids, indptr = encode_many_aside(self._coder, texts, *self._matchers)
        return np.insert(ids, indptr[1:], self._eot[0]) if len(self._eot) else ids

    def _located(self, error: ValueError) -> ValueError:
        name = shortened(self.name)
        where = name if self.options.documents == "text" else f"{name}, line {self.line + 1}"
        if isinstance(error, UnicodeDecodeError):
            hint = f"{error.reason} (in {where}; errors='replace' puts U+FFFD in the place of such bytes)"
            return UnicodeDecodeError(error.encoding, error.object, error.start, error.end, hint)
        return ValueError(f"{where}: {error}")


def _eot_ids(encoding: Any) -> Ids:
    try:
        return np.array([encoding.eot_token], dtype=np.uint32)
    except KeyError:
        raise ValueError(
            f"append_eot=True, but the encoding {shown(encoding.name)} has no <|endoftext|> token to append: "
            "leave append_eot out or choose another encoding"
        ) from None


class Rooms:
    """Memory for chunks, which goes to another chunk once nobody looks at it any more: fresh memory takes the system
    longer to give than a disk to fill."""

    def __init__(self) -> None:
        self._idle: list[Any] = []

    def lend(self, size: int) -> memoryview:
        """`size` bytes, for as long as there is a memoryview of them."""
        room = self._idle.pop() if self._idle else None
        if room is None or len(room) < size:
            room = np.empty(size, np.uint8)
        lent: Any = room[:size]  # an array of its own: memoryviews hold on to it, and so to the room
        weakref.finalize(lent, self._idle.append, room).atexit = False
        return memoryview(lent)


class TextDocuments(Documents):
    """A source is a document. On several threads it is encoded in parts, cut where the two sides encode apart; the
    stream takes over where there is no such place for long, and where an earlier run left it with text pending."""

    def __init__(self, *arguments: Any) -> None:
        self._rooms = Rooms()
        super().__init__(*arguments)

    def begin(self, name: str, **where: Any) -> None:
        super().begin(name, **where)
        self._shares = self.pipeline.num_threads > 1 and self._core.has_cuts
        self._apart = self.offset == 0  # what comes next encodes apart from all that was taken
        self._tail: list[Any] = []  # chunks read, not taken yet: they lie behind the last cut
        self._whole: Any = None  # memory in which the tail lies, and right behind it the chunk that was read last
        if self._shares and self._apart:
            self.stream.reset()

    def state(self, offset: int) -> bytes:
        if self._shares and self._apart:
            self._enter_stream(offset)
        return super().state(offset)

    def _enter_stream(self, offset: int) -> None:
        """Bring the stream to a cut: it has seen so much text, and holds nothing of it."""
        self.stream.reset()
        self.stream._pass_over(offset)

    def _read(self, reader: Reader, size: int) -> Any:
        """Behind the tail, so that both are one text: together no more than `size` bytes, which a device takes at once,
        unless the tail alone is half of that."""
        if not self._shares or not self._apart:
            return reader.read(size)
        held = sum(map(len, self._tail))
        whole = self._rooms.lend(held + max(size - held, (size + 1) // 2))
        self._tail = list(_laid_out(self._tail, whole))
        count = reader.read_into(whole[held:])
        self._whole = whole[: held + count]
        return whole[held : held + count]

    def _feed(self, chunk: Any) -> None:
        whole, self._whole = self._whole, None
        if not self._shares:
            self.pipeline.put(self.stream.feed(chunk))
            self._take(len(chunk))
        elif self._apart:
            chunks = [*self._tail, chunk]
            self._feed_parts(chunks, b"".join(chunks) if whole is None else whole)
        else:
            self._leave_stream(chunk)

    def _feed_parts(self, chunks: list[Any], data: Any) -> None:
        """data: the chunks, joined."""
        cuts = self._cuts(data)
        if not cuts and len(data) > _MOST_HELD:
            self._enter_stream(self.offset)
            for chunk in chunks:
                self.pipeline.put(self.stream.feed(chunk))
            self._apart, self._tail = False, []
            self._take(len(data))
            return
        explain = self._explain(chunks)
        for a, b in itertools.pairwise([0, *cuts]):
            self._submit(memoryview(data)[a:b], explain)
            self._take(b - a)
        self._tail = _behind(chunks, cuts[-1]) if cuts else chunks

    def _leave_stream(self, chunk: Any) -> None:
        """Up to the first cut the text belongs to what the stream holds."""
        cuts = self._cuts(chunk)
        end = cuts[0] if cuts else len(chunk)
        try:
            self.pipeline.put(self.stream.feed(chunk[:end]))
        except ValueError:
            self.stream.feed(chunk)  # what is wrong with all of it, as with one thread
            raise
        self._take(end)
        if cuts:
            self.pipeline.put(self.stream.flush())
            self._apart = True
            self._feed_parts([chunk[end:]], chunk[end:])

    def _cuts(self, data: Any) -> list[int]:
        allowed, disallowed = self._matchers
        return _job.cuts(data, self._part, allowed, disallowed, self._core)

    def _submit(self, part: Any, explain: Callable[[], object]) -> None:
        coder, matchers = self._coder, self._matchers
        self.pipeline.submit(lambda: coder.encode_array(part, *matchers), explain)

    def _explain(self, chunks: list[Any], final: bool = False) -> Callable[[], object]:
        """What raises the error that a stream raises for these chunks, with its offset in the whole text."""
        name, offset = self.name, self.offset

        def explain() -> None:
            self.name = name
            self._enter_stream(offset)
            for chunk in chunks:
                self.stream.feed(chunk)
            if final:
                self.stream.flush()

        return explain

    def _end(self) -> None:
        if not self._shares or not self._apart:
            self._close_document()
            return
        rest = b"".join(self._tail)
        self._submit(rest, self._explain(self._tail, final=True))
        self._take(len(rest))
        self._tail = []
        self._count_document()


def _laid_out(chunks: list[Any], room: memoryview) -> Iterator[memoryview]:
    """The chunks, copied to the beginning of the room."""
    at = 0
    for chunk in chunks:
        room[at : at + len(chunk)] = chunk
        yield room[at : at + len(chunk)]
        at += len(chunk)


def _behind(chunks: list[Any], at: int) -> list[Any]:
    """What is left of the joined chunks behind byte `at`, in the chunks that it came in."""
    starts = itertools.accumulate(map(len, chunks), initial=0)
    return [chunk[max(at - start, 0) :] for start, chunk in zip(starts, chunks) if start + len(chunk) > at]


class LineDocuments(Documents):
    r"""A line is a document. A line of any length is streamed; only a "\r" that may begin "\r\n" is held back. On
    several threads, the lines of a chunk are the work of one."""

    def begin(self, name: str, **where: Any) -> None:
        super().begin(name, **where)
        self._held = b""

    def _feed(self, chunk: bytes) -> None:
        chunk = self._held + chunk if self._held else chunk
        *lines, rest = chunk.split(b"\n")
        taken = len(chunk) - len(rest)
        if b"\r" in chunk:
            lines = [line[:-1] if line.endswith(b"\r") else line for line in lines]
        if self.is_open and lines:
            self.pipeline.put(self.stream.feed(lines.pop(0)))
            self._close_document()
            self.line += 1
        for at in range(0, len(lines), _BATCH):
            batch = lines[at : at + _BATCH]
            self._encode_batch(batch, itertools.count(self.line))
            self.line += len(batch)
        self._take(taken)
        self._held = b"\r" if rest.endswith(b"\r") else b""
        self._feed_part(rest[:-1] if self._held else rest)

    def _feed_part(self, part: bytes) -> None:
        if part:
            self.is_open = True
            self.pipeline.put(self.stream.feed(part))
            self._take(len(part))

    def _end(self) -> None:
        self._feed_part(self._held)  # no "\n" came, so it is text
        self._held = b""
        if self.is_open:
            self._close_document()


class JsonDocuments(Documents):
    """The string at `key` of the object on a line is a document. One line is held in memory at a time."""

    def begin(self, name: str, **where: Any) -> None:
        super().begin(name, **where)
        self._parts: list[bytes] = []  # the line that has not ended

    def _feed(self, chunk: bytes) -> None:
        head, newline, chunk = chunk.partition(b"\n")
        self._parts.append(head)
        if not newline:
            return
        first = b"".join(self._parts)
        *whole, rest = chunk.split(b"\n")
        self._parts = [rest]
        self._encode_lines([first, *whole])
        self._take(len(first) + 1 + len(chunk) - len(rest))

    def _end(self) -> None:
        line = b"".join(self._parts)
        self._parts = []
        self._encode_lines([line])
        self._take(len(line))

    def _encode_lines(self, lines: list[bytes]) -> None:
        for at in range(0, len(lines), _BATCH):
            numbers, texts = [], []
            for line in lines[at : at + _BATCH]:
                text = line.decode("utf-8", self.options.errors)
                if self.line == 0:
                    text = text.removeprefix("\ufeff")  # a byte order mark is no JSON
                if text.strip():
                    texts.append(text_at(self.options.key, text))
                    numbers.append(self.line)
                self.line += 1
            self._encode_batch(texts, numbers)


def text_at(key: str, line: str) -> str:
    """The string at `key` of the JSON object that a line holds. Raises ValueError, saying what is there instead."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not a JSON object ({error}); mend the line, or read it with documents='lines'") from None
    if not isinstance(record, dict):
        raise ValueError(f"the line holds a JSON {type(record).__name__}, an object with {shown(key)} is needed")
    if key not in record:
        raise ValueError(f"the object has no {shown(key)}, its keys are {shown(list(record))}; name one with key=")
    value = record[key]
    if not isinstance(value, str):
        raise ValueError(f"the value of {shown(key)} is {shown(value)}, a string is needed")
    return value


_KINDS: dict[str, type[Documents]] = {"text": TextDocuments, "lines": LineDocuments, "jsonl": JsonDocuments}


def make_documents(
    encoding: Any,
    emit: Emit,
    options: Options,
    num_threads: int = 1,
    device: Device | None = None,
    prepare: Prepare | None = None,
) -> Documents:
    """The Documents for options.documents. Raises ValueError when an eot token is asked for and there is none."""
    return _KINDS[options.documents](encoding, emit, options, num_threads, device, prepare)
