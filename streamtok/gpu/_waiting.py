"""Work in steps: a generator that yields what it waits for, so that one thread keeps many slots busy.

A thread a slot loses more time than it wins: all of them want Python's lock after each call of CUDA, and to be woken
for it takes ten times as long as such a call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ..native.cores import cores
from ..native.steps import Threads
from ..native.workers import copy

if TYPE_CHECKING:
    from .._protocols import HostArray
    from ..native.workers import Batch

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


# A part that is worth waking a thread of Python's.
_WORTH_A_THREAD = 8 << 20


class _Calls:
    """Calls that other threads make, with each of the pairs."""

    def __init__(self, call: Callable[[int, int], None], pairs: Iterable[tuple[int, int]]) -> None:
        self._threads = Threads(min(8, cores()))
        self._tasks = [self._threads.do(functools.partial(call, *pair)) for pair in pairs]

    def done(self) -> bool:
        return all(task.is_done for task in self._tasks)

    def wait(self) -> None:
        for task in self._tasks:
            task.result()


def computed(call: Callable[[Any], Result], items: list[Any], size: int) -> Steps[list[Result]]:
    """What a call, which works without Python's lock, gives for each item; by other threads where the items have many
    bytes: `size` of them."""
    if size < _WORTH_A_THREAD:
        return [call(item) for item in items]
    results: list[Any] = [None] * len(items)

    def work(first: int, last: int) -> None:
        results[first:last] = map(call, items[first:last])

    step = max(1, len(items) * _WORTH_A_THREAD // size)
    calls = _Calls(work, ((at, at + step) for at in range(0, len(items), step)))
    yield calls
    calls.wait()  # tells of an error
    return results


def ended(batch: Batch | None) -> Steps[None]:
    """Goes on when the core's threads have done a batch; None: it is done."""
    if batch is not None:
        yield batch
        batch.wait()


def copied(target: HostArray, source: HostArray) -> Steps[None]:
    """Copies an array on the host to one of its length, by all cores where it is long."""
    yield from ended(copy(target, source))
