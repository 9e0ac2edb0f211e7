"""Encodes the documents of sources independently of each other, in bounded memory.

readers.py cuts the bytes of a source into documents, encoder.py encodes them. Here is which reader a source has, and
which place an error names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..native.encode import Coder
from .encoder import DocumentEncoder
from .in_order import Emit, Prepare
from .options import Device, Options
from .parts import Parts, cut_parts
from .readers import READERS, DocumentReader
from .reading import Chunk
from .sources import AnySource, Reader

if TYPE_CHECKING:
    from .._protocols import Encoding

Tick = Callable[["Documents", Reader], object]


class _Nothing(AnySource):
    """What a run stands in before its first source, and where all are done."""

    name = label = "<text>"


class Documents(DocumentEncoder):
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
        """dtype: of ids in the output, if emit takes them as Block, too."""
        super().__init__(encoding, emit, options, num_threads, device, prepare, wants_ends)
        self._parts: Parts | None = None
        is_shared = self.pipeline.num_threads > 1 and not any(self.template)
        if dtype is not None and is_shared and isinstance(self.coder, Coder):
            self._parts = Parts(self.coder, self.matchers, self.part, dtype)
        self._uncut = -1  # where no part could be cut off
        self._readers: dict[str, DocumentReader] = {}
        self.begin(_Nothing())

    def begin(self, source: AnySource, *, offset: int = 0, line: int = 0, is_open: bool = False) -> None:
        """Start on a source, from where an earlier run stood if it did."""
        self.stand(source, self.options.kind_of(source), offset, line)
        self.is_open, self._uncut = is_open, -1
        if not offset:
            self.stream.reset()  # another reader may have left it where a document was cut
        if self.kind not in self._readers:
            self._readers[self.kind] = READERS[self.kind](self)
        self._reader = self._readers[self.kind]
        self._reader.begin()

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
            while chunk := self._reader.read(reader, chunk_size):
                self.feed(chunk)
                if tick is not None:
                    tick(self, reader)
                self._take_parts(source, reader, chunk_size, tick)
            source.check_unchanged(reader)
        self.end()

    def _take_parts(self, source: AnySource, reader: Reader, chunk_size: int, tick: Tick | None) -> None:
        """Takes as much of a large file as can be cut into parts that the threads read themselves."""
        parts, cutter, threads = self._parts, self._reader, self.pipeline.num_threads
        if parts is None or self.offset == self._uncut or not cutter.stands_at_cut:
            return
        if not parts.are_worth_it(source, reader, self.offset, threads):
            return
        began, file = self.offset, reader.raw.fileno()
        for start, end in cut_parts(source, reader, began, parts.size, self.matchers, self.coder):
            if start == began:
                cutter.forget_ahead()
            explain = self.explain(_chunks_of(file, start, chunk_size))
            part = partial(parts.encode, self.name, file, start, end - start)
            self._checked(self.pipeline.submit, part, explain)
            self.take(end - start)
            if tick is not None:
                tick(self, reader)
        if self.offset == began:
            self._uncut = began  # the reader goes on, until there is a cut again
        else:
            self.settle()  # while the file is open

    def feed(self, chunk: Chunk) -> None:
        """Take the next bytes of the source.

        Raises UnicodeDecodeError or ValueError naming the source (and the line) for text that is refused.
        """
        self._checked(self._reader.feed, chunk)

    def end(self) -> None:
        """The source ends, and so does its last document."""
        self._checked(self._reader.end)

    def settle(self) -> None:
        """Wait until the ids of all text so far were emitted. Raises as feed() does."""
        self._checked(self.pipeline.drain)

    def _checked(self, step: Callable[..., None], *arguments: object) -> None:
        try:
            step(*arguments)
        except ValueError as error:
            located = self.located(error)
            try:
                self.pipeline.drain()  # text in front of it may be refused too: the first error is raised
            except ValueError as earlier:
                located = self.located(earlier)
            raise located from None

    def state(self, offset: int) -> bytes:
        """The state that the stream needs to go on from `offset` of the source."""
        if self._reader.stands_at_cut:
            self.enter_stream(offset)
        return self.stream.getstate()


def _chunks_of(file: int, at: int, chunk_size: int) -> Iterator[bytes]:
    """The chunks in which one thread reads a file, from byte `at` on."""
    while chunk := os.pread(file, chunk_size - at % chunk_size, at):
        yield chunk
        at += len(chunk)
