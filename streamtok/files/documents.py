"""Encodes the documents of sources independently of each other, in bounded memory.

ways.py cuts the bytes of a source into documents; what they share is here: one stream, one way out for ids, one count.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from ..batch import encode_many_aside
from ..device import DeviceCoder
from ..errors import located_utf8_error, shortened, shown
from ..native.encode import Coder
from .carried import Carrier, Column, columns_of
from .in_order import NO_ENDS, Emission, Emit, Ends, Ids, Pipeline, Prepare
from .parts import Parts
from .remote import file_at
from .row_ways import TableWay, TarWay
from .sources import AnySource, PathSource, Reader, make_sources
from .suffixes import documents_of
from .tables import SUFFIXES as TABLES
from .tables import TableSource
from .tars import SUFFIXES as TARS
from .tars import TarSource
from .ways import Chunk, JsonWay, LineWay, TextWay, Way, check_kind

if TYPE_CHECKING:
    from ..native.texts import Texts
    from ..protocols import (
        AllowedSpecial,
        ArrayCoder,
        DisallowedSpecial,
        Encoding,
        SomeText,
        Source,
        StreamOptions,
    )

Tick = Callable[["Documents", Reader], object]

WAYS: dict[str, type[Way]] = {"text": TextWay, "lines": LineWay, "jsonl": JsonWay, "table": TableWay, "tar": TarWay}

_PART = 1 << 20  # bytes of a text that a thread encodes at once
_OWN_PARTS = 2  # times as many where the threads read themselves: what Python does for a part is half as much then
_NO_IDS: Ids = np.empty(0, dtype=np.uint32)


# A device has three texts in flight at once, each on a thread that copies it and waits; a fourth thread handles the ids
# of the text before.
_DEVICE_THREADS = 4


class Device(NamedTuple):
    """The device that makes ids, and how many bytes of text it takes at once."""

    name: str
    chunk: int


@dataclass(frozen=True)
class Options:
    """What decides the ids of an output, apart from the encoding and the sources; see encode_file() for the meanings.

    Attributes:
        documents: "text", "lines", "jsonl", or None to go by the suffix of each source.
        key: the key of JSON lines that holds the text.
        append_eot: put the end-of-text token behind each document.
        allowed_special: names of special tokens to encode as such, or "all".
        disallowed_special: names to refuse, or "all".
        errors: "strict", "replace" or "ignore".
        add_special_tokens: put the ids of the model's template around each document.
        column: the column of tables that holds the text; None for the name in `key`.
        nulls: what a null in it is, "error", "skip" or "empty".
        carry: columns that are carried along, "NAME" or "NAME:TYPE" each.

    Raises:
        ValueError: an unknown value for `documents`, `errors` or `nulls`, names that are one str.
    """

    documents: str | None = None
    key: str = "text"
    append_eot: bool = False
    allowed_special: AllowedSpecial = frozenset()
    disallowed_special: DisallowedSpecial = frozenset()
    errors: str = "strict"
    add_special_tokens: bool = False
    column: str | None = None
    nulls: str = "error"
    carry: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_kind(self.documents, self.errors)
        object.__setattr__(self, "carry", self.carry if isinstance(self.carry, str) else tuple(self.carry))
        columns_of(self.carry)
        if self.nulls not in ("error", "skip", "empty"):
            raise ValueError(f"nulls={shown(self.nulls)} is unknown: write 'error', 'skip' or 'empty'")
        for name in ("allowed_special", "disallowed_special"):
            value = getattr(self, name)
            if isinstance(value, str) and value != "all":
                raise ValueError(f"{name}={shown(value)} is one string: write a set of names, or 'all'")
            object.__setattr__(self, name, value if value == "all" else frozenset(value))

    @property
    def columns(self) -> tuple[Column, ...]:
        """What `carry` says."""
        return columns_of(self.carry)

    def kind_of(self, source: AnySource) -> str:
        """What the documents of the source are. Raises ValueError for what it cannot have."""
        return source.checked_kind(documents_of(source.name) if self.documents is None else self.documents)

    def as_json(self, sources: list[AnySource]) -> dict[str, Any]:
        """These options as a journal keeps them, with the kind of documents of each of these sources."""
        kinds = [self.kind_of(source) for source in sources]
        record: dict[str, Any] = {name: getattr(self, name) for name in ("append_eot", "errors")}
        record["documents"] = kinds[0] if len(set(kinds)) == 1 else kinds
        for name in ("allowed_special", "disallowed_special"):
            names = getattr(self, name)
            record[name] = names if names == "all" else sorted(names)
        if self.add_special_tokens:
            record["add_special_tokens"] = True
        if "table" in kinds:
            record |= {"column": self.column or self.key, "nulls": self.nulls}
        if "tar" in kinds:
            record["column"] = [self.column, self.key]
        if self.carry:
            record["carry"] = list(self.carry)
        return {**record, "key": self.key if "jsonl" in kinds else None}

    def sources_of(self, src: Source | Sequence[Source]) -> list[AnySource]:
        """The sources that `src` names, as make_sources() has them, and tables by their suffixes."""
        sources = [by_name(source) for source in make_sources(src)]
        names = tuple(column.name for column in self.columns)
        for source in sources:
            source.adopt(self.column, self.key, self.nulls)
            source.carry = names
        return sources


def by_name(source: AnySource) -> AnySource:
    """The source, as what its path says that it is: a table, or a file of another machine."""
    if type(source) is not PathSource:
        return source
    file = file_at(source.path)
    if file.suffix in TABLES:
        return TableSource(source.path)
    return TarSource(source.path) if file.path.lower().endswith(TARS) else file


class _Nothing(AnySource):
    """What a run stands in before its first source, and where all are done."""

    name = label = "<text>"


class Documents:
    """One stream encoder over many documents: `begin`, `feed` ..., `end` for each source.

    Ids leave through `emit(ids, ends)`: a uint32 array, to which it keeps no reference, and behind how many of these
    ids documents end (uint64, empty without `wants_ends`). An end-of-text token that is appended belongs to its
    document.
    With several threads they may leave late, but in order: `settle` waits for all of them. After an error the object is
    of no more use.
    """

    def __init__(
        self,
        encoding: Encoding,
        emit: Emit,
        options: Options,
        num_threads: int = 1,
        device: Device | None = None,
        prepare: Prepare | None = None,
        dtype: np.dtype[Any] | None = None,
        wants_ends: bool = False,
    ) -> None:
        self.pipeline = Pipeline(emit, num_threads if device is None else max(num_threads, _DEVICE_THREADS), prepare)
        self.part = _PART if device is None else device.chunk
        self.options = options
        self._specials: StreamOptions = {
            "allowed_special": options.allowed_special,
            "disallowed_special": options.disallowed_special,
            "errors": options.errors,
        }
        if options.add_special_tokens:
            self._specials["add_special_tokens"] = True
        self.frame = encoding._frame if options.add_special_tokens else ((), ())
        self.stream = encoding.stream_encoder(**self._specials)
        core = encoding._coder_for(options.errors)
        self.coder: ArrayCoder = core if device is None else DeviceCoder(encoding, device.name, options.errors)
        self.core = core
        self.matchers = encoding._matchers_for(options.allowed_special, options.disallowed_special)
        self._parts: Parts | None = None
        is_shared = self.pipeline.num_threads > 1 and not any(self.frame)
        if dtype is not None and is_shared and isinstance(self.coder, Coder):
            self._parts = Parts(self.coder, self.matchers, _OWN_PARTS * self.part, dtype)
        self._uncut = -1  # where no part could be cut off
        self.documents = 0  # ended
        self.text_bytes = 0  # taken, over all sources
        self._ways: dict[str, Way] = {}
        self.begin(_Nothing())
        self._eot = _eot_ids(encoding) if options.append_eot else _NO_IDS
        self._wants_ends = wants_ends
        self.carrier: Carrier | None = None  # takes the columns that are carried along
        self._end: Ends = np.array([len(self._eot)], np.uint64) if wants_ends else NO_ENDS

    @property
    def key(self) -> str:
        """The key of JSON lines that holds the text."""
        return self.options.key

    @property
    def errors(self) -> str:
        """What to do with bytes that are not UTF-8."""
        return self.options.errors

    def begin(self, source: AnySource, *, offset: int = 0, line: int = 0, is_open: bool = False) -> None:
        """Start on a source, from where an earlier run stood if it did."""
        self.name, self.offset, self.line, self.is_open, self._uncut = source.label, offset, line, is_open, -1
        self.kind, self.begins_file = self.options.kind_of(source), source.begins_file
        self.place_of, self.nulls = source.place_of, source.nulls
        if not offset:
            self.stream.reset()  # another way may have left it where a document was cut
        if self.kind not in self._ways:
            self._ways[self.kind] = WAYS[self.kind](self)
        self._way = self._ways[self.kind]
        self._way.begin()

    def encode_source(
        self,
        source: AnySource,
        chunk_size: int,
        tick: Tick | None = None,
        opened: Reader | None = None,
    ) -> None:
        """Read `source` from `self.offset` to its end; tick(self, reader) follows each chunk. opened: where it is open
        there already."""
        with source.open(self.offset, self.line) if opened is None else opened as reader:
            self._take_parts(source, reader, chunk_size, tick)
            while chunk := self._way.read(reader, chunk_size):
                self.feed(chunk)
                if tick is not None:
                    tick(self, reader)
                self._take_parts(source, reader, chunk_size, tick)
            source.check_unchanged(reader)
        self.end()

    def _take_parts(self, source: AnySource, reader: Reader, chunk_size: int, tick: Tick | None) -> None:
        """Takes as much of a large file as can be cut into parts that the threads read themselves."""
        parts, way, threads = self._parts, self._way, self.pipeline.num_threads
        if parts is None or self.offset == self._uncut or not way.stands_at_cut:
            return
        if not parts.are_worth_it(source, reader, self.offset, threads):
            return
        file, end = reader.raw.fileno(), source.size or 0
        cut = parts.next_cut(file, self.offset)
        if cut is None:
            self._uncut = self.offset  # the way goes on, until there is a cut again
            return
        way.forget_ahead()
        while cut is not None:
            explain = way.explain(_chunks_of(file, self.offset, chunk_size))
            part = partial(parts.encode, self.name, file, self.offset, cut - self.offset)
            self._checked(self.pipeline.submit, part, explain)
            self.take(cut - self.offset)
            reader.raw.seek(cut)
            if tick is not None:
                tick(self, reader)
            cut = parts.next_cut(file, cut) if end - cut > 2 * parts.size else None
        self.settle()  # while the file is open

    def feed(self, chunk: Chunk) -> None:
        """Take the next bytes of the source.

        Raises UnicodeDecodeError or ValueError naming the source (and the line) for text that is refused.
        """
        self._checked(self._way.feed, chunk)

    def end(self) -> None:
        """The source ends, and so does its last document."""
        self._checked(self._way.end)

    def settle(self) -> None:
        """Wait until the ids of all text so far were emitted. Raises as feed() does."""
        self._checked(self.pipeline.drain)

    def _checked(self, step: Callable[..., None], *arguments: object) -> None:
        try:
            step(*arguments)
        except ValueError as error:
            located = self._located(error)
            try:
                self.pipeline.drain()  # text in front of it may be refused too: the first error is raised
            except ValueError as earlier:
                located = self._located(earlier)
            raise located from None

    def state(self, offset: int) -> bytes:
        """The state that the stream needs to go on from `offset` of the source."""
        return self._way.state(offset)

    def take(self, n: int) -> None:
        """Count `n` bytes of the source as done: a resumed run does not read them again."""
        self.offset += n
        self.text_bytes += n

    def close_document(self) -> None:
        """The document in the stream ends."""
        self.pipeline.put(self.stream.flush())
        self.count_document()

    def count_document(self) -> None:
        """Count a document whose ids were all passed on."""
        if len(self._eot) or len(self._end):
            self.pipeline.put(self._eot, self._end)
        self.documents += 1
        self.is_open = False

    def encode_batch(self, texts: list[SomeText] | Texts, lines: Iterable[int]) -> None:
        """Encode whole documents in one call, several times as fast as one by one; `lines` are their line numbers."""
        standing = self.name, self.kind, self.place_of

        def explain() -> None:
            self.name, self.kind, self.place_of = standing
            for self.line, text in zip(lines, cast("Iterable[Any]", texts)):  # to find the one that is refused
                self.stream.reset()
                self.stream.feed(text)
                self.stream.flush()

        self.pipeline.submit(lambda: self._batch_ids(texts), explain)
        self.documents += len(texts)

    def _batch_ids(self, texts: list[SomeText] | Texts) -> Emission:
        if isinstance(self.coder, DeviceCoder):
            ids, indptr = self.coder.encode_many(texts, *self.matchers)
        else:
            ids, indptr = encode_many_aside(self.coder, texts, *self.matchers)
        prefix, suffix = self.frame
        around = [*prefix, *suffix, *self._eot.tolist()]
        borders = np.asarray(indptr)
        ends: Ends = NO_ENDS
        if self._wants_ends:
            ends = (borders[1:] + len(around) * np.arange(1, len(borders))).astype(np.uint64)
        if not around:
            return Emission(ids, ends)
        places = np.empty((len(texts), len(around)), np.int64)
        places[:, : len(prefix)], places[:, len(prefix) :] = borders[:-1, None], borders[1:, None]
        return Emission(np.insert(ids, places.ravel(), np.tile(np.array(around, np.uint32), len(texts))), ends)

    def _located(self, error: ValueError) -> ValueError:
        where = shortened(self.name) if self.kind == "text" else self.place_of(self.line)
        if isinstance(error, UnicodeDecodeError):
            return located_utf8_error(error, f"in {where}")
        return ValueError(f"{where}: {error}")


def _chunks_of(file: int, at: int, chunk_size: int) -> Iterator[bytes]:
    """The chunks in which one thread reads a file, from byte `at` on."""
    while chunk := os.pread(file, chunk_size - at % chunk_size, at):
        yield chunk
        at += len(chunk)


def _eot_ids(encoding: Encoding) -> Ids:
    try:
        return np.array([encoding.eot_token], dtype=np.uint32)
    except KeyError:
        raise ValueError(
            f"append_eot=True, but the encoding {shown(encoding.name)} has no <|endoftext|> token to append: "
            "leave append_eot out or choose another encoding"
        ) from None
