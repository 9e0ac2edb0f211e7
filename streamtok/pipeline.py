"""Ids in the order of their text, while several stretches of it are being encoded.

One thread reads, cuts, and writes what is next in order; the others encode. No more than a few stretches are under way,
so memory does not depend on the length of the text.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

Ids = np.ndarray[Any, np.dtype[np.uint32]]
Emit = Callable[[Ids], object]

_AHEAD = 2  # stretches for each thread: one being encoded, one waiting for it or for its turn to be written


class Pipeline:
    """Ids go in by `put`, or as the work that makes them by `submit`, and leave in that order through `emit`.

    With one thread, everything is done where it is asked for, and there is neither thread nor queue. After an error the
    object is of no more use. One thread calls its methods.
    """

    def __init__(self, emit: Emit, num_threads: int) -> None:
        self.num_threads = num_threads
        self._emit = emit
        self._waiting: deque[tuple[Ids | Future[Ids] | Callable[[], object], Callable[[], object] | None]] = deque()
        self._submitted = 0  # of what waits
        self._pool: ThreadPoolExecutor | None = None

    def put(self, ids: Ids) -> None:
        """Takes ids that are there. An array over a stream's memory is held until its turn has come."""
        if not self._waiting:
            self._emit(ids)
            return
        while len(self._waiting) >= 4 * _AHEAD * self.num_threads:
            self._next()
        self._waiting.append((ids, None))

    def submit(self, encode: Callable[[], Ids], explain: Callable[[], object]) -> None:
        """Takes the ids that `encode()` will return, on another thread. Where it raises ValueError, explain() is called
        in its turn, and may raise a better error."""
        if self.num_threads == 1:
            self._emit(self._result(encode, explain))
            return
        while self._submitted >= _AHEAD * self.num_threads:
            self._next()
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(self.num_threads, "streamtok")
        self._waiting.append((self._pool.submit(encode), explain))
        self._submitted += 1

    def when_done(self, action: Callable[[], object]) -> None:
        """Calls action() once all that was taken before has left; what comes behind may be under way by then."""
        if self._waiting:
            self._waiting.append((action, None))
        else:
            action()

    def drain(self) -> None:
        """Returns once all has left."""
        while self._waiting:
            self._next()

    def _next(self) -> None:
        first, explain = self._waiting.popleft()
        if isinstance(first, np.ndarray):
            self._emit(first)
        elif explain is None:
            cast("Callable[[], object]", first)()
        else:
            self._submitted -= 1
            self._emit(self._result(cast("Future[Ids]", first).result, explain))

    def _result(self, encode: Callable[[], Ids], explain: Callable[[], object]) -> Ids:
        try:
            return encode()
        except ValueError:
            self._waiting.clear()  # what comes behind an error is not wanted
            explain()
            raise

    def close(self) -> None:
        """Drops what waits and ends the threads, once they are done with what they are at."""
        self._waiting.clear()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None
