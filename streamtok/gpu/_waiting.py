"""Work in steps: a generator that yields what it waits for, so that one thread keeps many slots busy.

A thread a slot loses more time than it wins: all of them want Python's lock after each call of CUDA, and to be woken
for it takes ten times as long as such a call.
"""

from __future__ import annotations

import concurrent.futures
import functools
import itertools
import os
from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from ..native.gate import gather

if TYPE_CHECKING:
    from ..protocols import HostArray, Places

Result = TypeVar("Result")


class Wait(Protocol):
    """Something to wait for: an event of a CUDA stream, a copy by another thread."""

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


# Copying fewer bytes takes less time than waking another thread. More bytes are copied in such parts by several
# threads, because one core moves a fifth of what memory provides.
_WORTH_A_THREAD = 8 << 20


@functools.cache
def _copiers() -> concurrent.futures.ThreadPoolExecutor:
    count = min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    return concurrent.futures.ThreadPoolExecutor(count, "streamtok-copy")


class _Copies:
    """Copies that other threads make: calls of `copy` with each of the pairs."""

    def __init__(self, copy: Callable[[Any, Any], None], pairs: Iterable[tuple[Any, Any]]) -> None:
        self._futures = [_copiers().submit(copy, *pair) for pair in pairs]

    def done(self) -> bool:
        return all(future.done() for future in self._futures)

    def wait(self) -> None:
        for future in self._futures:
            future.result()


def computed(call: Callable[[Any], Result], items: list[Any], size: int) -> Steps[list[Result]]:
    """What a call, which works without Python's lock, gives for each item; by other threads where the items have many
    bytes: `size` of them."""
    if size < _WORTH_A_THREAD:
        return [call(item) for item in items]
    results: list[Any] = [None] * len(items)

    def work(first: int, last: int) -> None:
        results[first:last] = map(call, items[first:last])

    step = max(1, len(items) * _WORTH_A_THREAD // size)
    copies = _Copies(work, ((at, at + step) for at in range(0, len(items), step)))
    yield copies
    copies.wait()
    return results


def copied(target: HostArray, source: HostArray) -> Steps[None]:
    """Copies an array on the host to one of its length."""
    if source.nbytes < _WORTH_A_THREAD:
        np.copyto(target, source)
        return
    step = _WORTH_A_THREAD // source.itemsize
    parts = (slice(at, at + step) for at in range(0, len(source), step))
    copies = _Copies(np.copyto, ((target[part], source[part]) for part in parts))
    yield copies
    copies.wait()  # tells of an error


def joined(target: HostArray, buffers: list[Any], starts: Places) -> Steps[None]:
    """Copies buffers of bytes one behind the other to an array of their length; starts: where each begins, int64."""
    if target.nbytes < _WORTH_A_THREAD:
        gather(buffers, target)
        return
    firsts = np.searchsorted(starts, np.arange(0, len(target), _WORTH_A_THREAD)).tolist()
    parts = itertools.pairwise([*firsts, len(buffers)])
    copies = _Copies(gather, ((buffers[first:last], target[starts[first] :]) for first, last in parts if last > first))
    yield copies
    copies.wait()  # tells of an error
