"""Emits ids in the order of their text, while several stretches of it are being encoded.

One thread reads, cuts, and hands on what is next in order; the others encode. No more than a few stretches are under
way, so memory does not depend on the length of the text. Aside does the same for what is written: in order, elsewhere.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from ..native.steps import Threads
from ..native.text import OwnMemory

if TYPE_CHECKING:
    from ..native.steps import Task

Ids = np.ndarray[Any, np.dtype[np.uint32]]
Ends = np.ndarray[Any, np.dtype[np.uint64]]
Emit = Callable[[Any, Ends], object]
Prepare = Callable[[Any], Any]

NO_ENDS: Ends = np.empty(0, dtype=np.uint64)
"""The ends of documents where none ends, or where nobody asks for them."""


class Block(NamedTuple):
    """Ids as they lie in the file, and the CRC-32 of their bytes."""

    data: np.ndarray[Any, Any]
    crc: int


class Emission(NamedTuple):
    """Ids that follow those before, and where documents end in them: behind so many of these ids, in order."""

    ids: Ids | Block
    ends: Ends = NO_ENDS


_AHEAD = 2  # stretches for each thread: one being encoded, one waiting for it or for its turn to be written


class Idle:
    """Objects with memory, which are used again once no array over that exists any more. Any thread may call the
    methods."""

    def __init__(self) -> None:
        self._idle: list[Any] = []

    def take(self) -> Any:
        """One of them, or None."""
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def expect(self, owner: Any, lent: Any) -> None:
        """Takes the owner of the memory once `lent`, an array over it, is gone."""
        weakref.finalize(lent, self._idle.append, owner).atexit = False


class Buffers:
    """Memory that is used again once no view of it exists any more: the system takes longer to provide fresh memory
    than a disk takes to fill it."""

    def __init__(self) -> None:
        self._idle = Idle()

    def lend(self, size: int) -> memoryview:
        """`size` bytes, for as long as there is a memoryview of them. Any thread may call it."""
        buffer = self._idle.take()
        if buffer is None or len(buffer) < size:
            buffer = np.empty(size, np.uint8)
        lent: Any = buffer[:size]  # an array of its own: memoryviews keep it alive, and it keeps the buffer
        self._idle.expect(buffer, lent)
        return memoryview(OwnMemory(lent))


class Pipeline:
    """Ids go in by `put`, or as the work that makes them by `submit`, and leave in that order through
    `emit(ids, ends)`.

    With one thread, everything is done where it is asked for, and there is neither thread nor queue. After an error the
    object is of no more use. One thread calls its methods. What emit gets of ids that were submitted is what prepare
    makes of them, on the thread that made them.
    """

    def __init__(self, emit: Emit, num_threads: int, prepare: Prepare | None = None) -> None:
        self.num_threads = num_threads
        self._emit, self._prepare = emit, prepare
        self._waiting: deque[tuple[Emission | Task[Emission] | Callable[[], object], Callable[[], object] | None]] = (
            deque()
        )
        self._submitted = 0  # of what waits
        self._threads = Threads(num_threads)

    def put(self, ids: Ids, ends: Ends = NO_ENDS) -> None:
        """Takes finished ids. An array over a stream's memory is held until its turn has come."""
        if not self._waiting:
            self._emit(ids, ends)
            return
        while len(self._waiting) >= 4 * _AHEAD * self.num_threads:
            self._next()
        self._waiting.append((Emission(ids, ends), None))

    def submit(self, encode: Callable[[], Emission], explain: Callable[[], object]) -> None:
        """Takes what `encode()` will return, on another thread. Where it raises ValueError, explain() is called in its
        turn, and may raise a better error."""

        def work() -> Emission:
            made = encode()
            return made if self._prepare is None else Emission(self._prepare(made.ids), made.ends)

        if self.num_threads == 1:
            self._emit(*self._result(work, explain))
            return
        while self._submitted >= _AHEAD * self.num_threads:
            self._next()
        self._waiting.append((self._threads.do(work), explain))
        self._submitted += 1

    def when_done(self, action: Callable[[], object]) -> None:
        """Calls action() once everything before it was emitted; later text may already be in progress then."""
        if self._waiting:
            self._waiting.append((action, None))
        else:
            action()

    def drain(self) -> None:
        """Returns once everything was emitted."""
        while self._waiting:
            self._next()

    def _next(self) -> None:
        first, explain = self._waiting.popleft()
        if isinstance(first, Emission):
            self._emit(*first)
        elif explain is None:
            cast("Callable[[], object]", first)()
        else:
            self._submitted -= 1
            self._emit(*self._result(cast("Task[Emission]", first).result, explain))

    def _result(self, encode: Callable[[], Emission], explain: Callable[[], object]) -> Emission:
        try:
            return encode()
        except ValueError:
            self._waiting.clear()  # nothing behind an error is emitted
            explain()
            raise

    def close(self) -> None:
        """Drops what waits and ends the threads, each after its current work."""
        self._waiting.clear()
        self._threads.end()


class Aside:
    """Does actions in order on a thread of its own, with a short queue. One thread calls its methods.

    What an action raises is raised by a later call, and the actions behind it are not done. ahead=0: they are done
    where they are asked for, and there is no thread.
    """

    def __init__(self, ahead: int) -> None:
        self._ahead, self._is_over = ahead, False
        self._waiting: deque[Task[None]] = deque()
        self._threads = Threads(1)

    def do(self, action: Callable[[], object]) -> None:
        """Queues an action, to be done after those before it; waits while the queue is full."""
        if not self._ahead:
            action()
            return
        while self._waiting and (self._waiting[0].is_done or len(self._waiting) >= self._ahead):
            self._waiting.popleft().result()
        self._waiting.append(self._threads.do(partial(self._run, action)))

    def _run(self, action: Callable[[], object]) -> None:
        if self._is_over:
            return
        try:
            action()
        except BaseException:
            self._is_over = True
            raise

    def drain(self) -> None:
        """Returns once all are done."""
        while self._waiting:
            self._waiting.popleft().result()

    def close(self) -> None:
        """Ends the thread after its current action; what waits is dropped."""
        self._is_over = True
        self._waiting.clear()
        self._threads.end()
