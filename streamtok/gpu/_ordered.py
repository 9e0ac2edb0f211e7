"""Work shared out among slots, its results in order in one array on the host."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..native.steps import on_failure, within
from ._lane import PINNED, Lane
from ._waiting import Steps, Wait, copied

if TYPE_CHECKING:
    from .._protocols import DeviceArray, HostArray


class Overflow(Exception):
    """There are more ids than the output has room for."""


class Output:
    """The ids of all work in order, whichever slot is done first."""

    def __init__(self, array: HostArray) -> None:
        self.array, self.total, self.next = array, 0, 0

    def place(self, count: int) -> HostArray:
        """Where the `count` ids of the next piece of work go."""
        start, self.total = self.total, self.total + count
        self.next += 1
        if self.total > len(self.array):
            raise Overflow
        return self.array[start : self.total]


@dataclasses.dataclass
class _Turn:
    """Something to wait for: all work before this has its places."""

    output: Output
    number: int

    def done(self) -> bool:
        return self.output.next == self.number

    def wait(self) -> None:
        assert self.done()  # only other work can make it true


Work = Callable[[Any], Steps[tuple[Any, Any]]]
"""Ids and row starts on the device of a slot that is current."""


@dataclasses.dataclass
class _Task:
    number: int
    slot: Lane
    steps: Steps[tuple[int, Any]]
    waits_for: Wait | None = None

    def is_ready(self) -> bool:
        return self.waits_for is None or self.waits_for.done()


def run_in_order(works: list[Work], slots: Sequence[Lane], output: Output) -> list[tuple[int, Any]]:
    """Does all work, each in a slot. Returns (ids, row starts on the host) of each. Raises the first error."""
    results: list[Any] = [None] * len(works)
    free, active = list(slots), []
    numbers = iter(range(len(works)))

    def run() -> list[tuple[int, Any]]:
        while True:
            while free and (number := next(numbers, None)) is not None:
                slot = free.pop(0)
                active.append(_Task(number, slot, _do(works[number], number, slot, output)))
            if not active:
                return results
            task = next((task for task in active if task.is_ready()), None)
            if task is None:
                _pause(active)
                continue
            try:
                task.waits_for = within(task.slot.stream, next, task.steps)
            except StopIteration as end:
                results[task.number] = end.value
                active.remove(task)
                free.append(task.slot)

    return on_failure(run, partial(leave_in_peace, slots))


def _pause(active: list[_Task]) -> None:
    """Yields the GIL to other threads: several threads encode a file."""
    if len(active) == 1 and active[0].waits_for is not None:
        active[0].waits_for.wait()
    else:
        time.sleep(0)


def leave_in_peace(slots: Sequence[Lane]) -> None:
    """After an error, or Ctrl-C: ends all work, so that other calls can take the slots."""
    for slot in slots:
        with contextlib.suppress(Exception):
            within(slot.stream, slot.device.synchronize)


def _do(work: Work, number: int, slot: Lane, output: Output) -> Steps[tuple[int, Any]]:
    ids, row_starts = yield from work(slot)
    yield _Turn(output, number)
    starts = None if row_starts is None else _send_for(slot, row_starts)
    yield from _fetch(slot, ids, output.place(len(ids)))
    return len(ids), None if starts is None else starts.copy()


def _send_for(slot: Lane, row_starts: DeviceArray) -> HostArray:
    """Pinned memory that row starts will be in by the next moment of the slot's stream."""
    staged = slot.pinned("rows", row_starts.nbytes).view(np.int64)
    slot.device.download(staged, row_starts)
    return staged


def _fetch(slot: Lane, ids: DeviceArray, target: HostArray) -> Steps[None]:
    """Ids from the device into an array on the host, by pinned memory where the array is none."""
    device = slot.device
    if slot.is_pinned(target) or not len(ids):  # also without ids: row starts may still be copied
        device.download(target, ids)
        yield device.moment()
        return
    step = PINNED // target.itemsize
    for at in range(0, len(ids), step):
        part = ids[at : at + step]
        staged = slot.pinned("out", part.nbytes).view(target.dtype)
        device.download(staged, part)
        yield device.moment()
        yield from copied(target[at : at + step], staged)


def row_starts_of(results: list[tuple[int, Any]], counts: list[int]) -> Any:
    """Row starts of all work, int64, from those of each; counts: rows that begin in it. The last one is the total."""
    indptr = np.zeros(sum(counts) + 1, np.int64)
    row = total = 0
    for (size, starts), count in zip(results, counts):
        indptr[row : row + count] = total if starts is None else starts[:count] + total
        row, total = row + count, total + size
    indptr[-1] = total
    return indptr
