"""Texts to distinct pieces with their counts: a table for each thread, written to disk where memory is bounded."""

from __future__ import annotations

import threading
from _thread import allocate_lock
from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._batch import thread_map
from ..errors import located_utf8_error, shortened
from ..native.steps import Threads, holding
from ..native.trainer import Counter
from .inputs import FilePart, How, Stretch, largest_part
from .options import core_splitter
from .records import PARTS, Blocks, Store, write_file

if TYPE_CHECKING:
    from ..native.steps import Task
    from ..patterns import Split

_LEAST_BUDGET = 4 << 20  # bytes of a table: a smaller one would be written to the disk after every stretch
_AHEAD = 3  # stretches for each thread: one in work, two that wait
_BLOCKS = 16  # blocks of a table that stays in memory: none is much of the whole


class Counting:
    """Counts stretches on several threads. `put` takes the next one, `finish` gives all pieces.

    budget: bytes of memory for all tables, None for no bound. The counts are the same for any number of threads, and
    so is the first error.
    """

    def __init__(self, pat_str: Split | None, how: How, threads: int, budget: int | None, store: Store) -> None:
        self.how, self.store = how, store
        self.pattern = splitter = core_splitter(pat_str)
        threads = threads if splitter else 1  # `regex` keeps the GIL
        self.budget = None if budget is None else max(budget // threads, _LEAST_BUDGET)
        self.counters = [Counter(splitter, how.special) for _ in range(threads)]
        self._splitter = None if splitter else _splitter(pat_str, self.counters[0], how)
        self._lock = allocate_lock()
        self._memory = threading.local()  # memory of each thread for what it reads itself
        self._idle = [*self.counters]  # as many as there are threads
        self._tasks: deque[Task[None]] = deque()
        self._failures: list[tuple[int, BaseException]] = []
        self._number = 0
        self._threads = Threads(threads)

    @property
    def pieces(self) -> int:
        """Pieces seen, repeated ones too."""
        return sum(counter.pieces for counter in self.counters)

    @property
    def text_bytes(self) -> int:
        """Bytes of text seen, special tokens not among them."""
        return sum(counter.bytes for counter in self.counters)

    def put(self, stretch: Stretch, factor: int = 1) -> None:
        """Take a stretch whose pieces count so many times. Raises what an earlier one was refused for."""
        if self._failures:
            self.drain()
        if len(self.counters) == 1:
            self._count(self.counters[0], stretch, factor)
            return
        while len(self._tasks) >= _AHEAD * len(self.counters):
            self._tasks.popleft().result()
        self._tasks.append(self._threads.do(partial(self._work, self._number, stretch, factor)))
        self._number += 1

    def drain(self) -> None:
        """Wait until all that was put is counted. Raises the first error, in the order of the text."""
        while self._tasks:
            self._tasks.popleft().result()
        if self._failures:
            raise min(self._failures, key=lambda failure: failure[0])[1]

    def stop(self) -> None:
        """End the threads, each after its current stretch, and drop their remaining work."""
        self._threads.end()
        self._tasks.clear()

    def spill(self) -> None:
        """Write all tables to the store, and begin new ones."""
        self.drain()
        for counter in self.counters:
            self._spill(counter)

    def finish(self, path: str | None) -> Blocks:
        """All pieces: in a file at `path`, or, where it is None, in memory if they are there now. Spills stay."""
        self.drain()
        if self.store.spills:
            self.spill()
            path = path or f"{self.store.folder}/pieces.bin"
            blocks = Blocks(None, path)
            blocks.crc = write_file(path, self._joined(blocks.sizes), self.store.durable)
            return blocks
        blocks = Blocks(self._joined_by_one() if self.budget is not None else self._joined_by_all())
        if path is not None:
            sizes = [len(block) for block in blocks]
            crc = write_file(path, blocks, self.store.durable)
            blocks = Blocks(None, path, sizes, crc)
        return blocks

    def _joined_by_one(self) -> list[bytes]:
        """The pieces of all tables in blocks, with little memory besides."""
        first, *others = self.counters
        for other in others:
            for block in other.write(_BLOCKS):
                first.read(block)
            other.clear()
        blocks = first.write(_BLOCKS)
        first.clear()
        return blocks

    def _joined_by_all(self) -> list[bytes]:
        """The same, each block by one of the threads, from the same part of each table."""
        threads = len(self.counters)
        if threads == 1:
            return self._joined_by_one()

        def write(counter: Counter) -> list[bytes]:
            parts = counter.write(_BLOCKS)
            counter.clear(trims=False)  # the threads would stop each other for it, and memory has no bound here
            return parts

        def join(parts: tuple[bytes, ...]) -> bytes:
            counter = Counter(None, None)
            for part in parts:
                counter.read(part)
            (block,) = counter.write()
            return block

        return thread_map(join, [*zip(*thread_map(write, self.counters, threads))], threads)

    def _joined(self, sizes: list[int]) -> Iterator[bytes]:
        """The parts of all spills put together, one after the other."""
        counter = self.counters[0]
        for index in range(PARTS):
            for part in self.store.part(index):
                counter.read(part)
            (block,) = counter.write()
            counter.clear()
            sizes.append(len(block))
            yield block

    def _spill(self, counter: Counter) -> None:
        if counter.distinct:
            parts = counter.write(PARTS)
            counter.clear()
            try:
                holding(self._lock, self.store.add, parts)
            except BaseException as error:
                # Counts are lost: drain() raises from now on, so that no later point claims to include them.
                self._failures.append((-1, error))
                raise

    def _work(self, number: int, stretch: Stretch, factor: int) -> None:
        counter = self._idle.pop()
        try:
            if not self._failures:
                self._count(counter, stretch, factor)
        except BaseException as error:
            self._failures.append((number, error))
        self._idle.append(counter)

    def _count(self, counter: Counter, stretch: Stretch, factor: int) -> None:
        counter.weigh(factor)
        try:
            if self._splitter is None:
                counter.count_all([*map(self._mended, stretch.texts)])
            else:
                for text in stretch.texts:
                    self._splitter.take(text, stretch.ends)
        except UnicodeDecodeError as error:
            raise _located(error, stretch) from None
        if self.budget is not None and counter.size > self.budget:
            self._spill(counter)

    def _mended(self, text: Any) -> Any:
        if isinstance(text, FilePart):
            if not hasattr(self._memory, "buffer"):
                self._memory.buffer = np.empty(largest_part(), np.uint8).data
            text = text.read(self._memory.buffer)
        return text if self.how.errors == "strict" or isinstance(text, str) else str(text, "utf-8", self.how.errors)


def _splitter(pat_str: Split | None, counter: Counter, how: How) -> Any:
    from .patterned import PatternCounter

    return PatternCounter(pat_str, counter, how)


def _located(error: UnicodeDecodeError, stretch: Stretch) -> UnicodeDecodeError:
    name = shortened(stretch.name)
    where = f"at byte {stretch.offset + error.start} of {name}" if len(stretch.texts) == 1 else f"in {name}"
    return located_utf8_error(error, where)
