"""Work in steps: a generator that yields what it waits for, so that one thread keeps many lanes busy.

A thread a lane loses more time than it wins: all of them want Python's lock after each call of CUDA, and to be woken
for it takes ten times as long as such a call.
"""

from __future__ import annotations

import concurrent.futures
import functools
import os
from collections.abc import Generator, Iterable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

Result = TypeVar("Result")


class Wait(Protocol):
    """Something that will have happened: a moment of a CUDA stream, a copy by another thread."""

    def done(self) -> bool: ...

    def wait(self) -> None: ...


Steps = Generator[Wait, None, Result]


def complete(steps: Steps[Result]) -> Result:
    """Goes through all steps, waiting at each."""
    while True:
        try:
            waited = next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        waited.wait()


# Less is copied sooner than another thread is woken; more is shared out in such parts, because a core moves a fifth of
# what memory gives.
_WORTH_A_THREAD = 8 << 20


@functools.cache
def _copiers() -> concurrent.futures.ThreadPoolExecutor:
    count = min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    return concurrent.futures.ThreadPoolExecutor(count, "streamtok-copy")


class _Copies:
    """Copies that other threads make: (target, source) of each."""

    def __init__(self, copies: Iterable[tuple[Any, Any]]) -> None:
        self._futures = [_copiers().submit(np.copyto, target, source) for target, source in copies]

    def done(self) -> bool:
        return all(future.done() for future in self._futures)

    def wait(self) -> None:
        for future in self._futures:
            future.result()


def copied(target: Any, source: Any) -> Steps[None]:
    """Copies an array on the host to one of its length."""
    if source.nbytes < _WORTH_A_THREAD:
        np.copyto(target, source)
        return
    step = _WORTH_A_THREAD // source.itemsize
    parts = (slice(at, at + step) for at in range(0, len(source), step))
    copies = _Copies((target[part], source[part]) for part in parts)
    yield copies
    copies.wait()  # tells of an error


# Buffers that are shorter on average are joined in less time than one by one.
_WORTH_ITS_COPY = 1 << 12


def joined(target: Any, buffers: Sequence[Any], starts: Any) -> Steps[None]:
    """Copies buffers of bytes one behind the other; starts: of each in the target."""
    if len(target) < _WORTH_ITS_COPY * len(buffers):
        yield from copied(target, np.frombuffer(b"".join(buffers), np.uint8))
        return
    arrays = (np.frombuffer(buffer, np.uint8) for buffer in buffers)
    copies = _Copies((target[at : at + len(array)], array) for at, array in zip(starts.tolist(), arrays))
    yield copies
    copies.wait()
