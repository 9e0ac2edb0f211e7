"""Work shared out among lanes, its results in order in one array on the host."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ._lane import PINNED, Lane


class Overflow(Exception):
    """There are more ids than the output has room for."""


class Stopped(Exception):
    """Another lane failed; its error is the one to tell."""


class Output:
    """Ids of one piece of work behind those of the one before, whichever lane is done first."""

    def __init__(self, array: Any) -> None:
        self.array, self.total = array, 0
        self._next, self._stopped = 0, False
        self._turn = threading.Condition()

    def place(self, number: int, count: int) -> Any:
        """Where the `count` ids of that piece of work go; waits until those before it have their places."""
        with self._turn:
            self._turn.wait_for(lambda: self._next == number or self._stopped)
            if self._stopped:
                raise Stopped
            start, self.total = self.total, self.total + count
            self._next += 1
            self._turn.notify_all()
        if start + count > len(self.array):
            raise Overflow
        return self.array[start : start + count]

    def stop(self) -> None:
        with self._turn:
            self._stopped = True
            self._turn.notify_all()


Work = Callable[[Lane], tuple[Any, Any]]
"""Ids and row starts on the device of a lane that is current."""


def run_in_order(works: list[Work], lanes: list[Lane], output: Output) -> list[tuple[int, Any]]:
    """Does all work, on as many threads as there are lanes; (ids, row starts on the host) of each. Raises the error of
    the first that failed."""
    results: list[Any] = [None] * len(works)
    errors: dict[int, BaseException] = {}
    numbers = iter(range(len(works)))
    lock = threading.Lock()

    def run(lane: Lane) -> None:
        while not errors:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            try:
                results[number] = _do(works[number], number, lane, output)
            except Stopped:
                return
            except BaseException as error:
                errors[number] = error
                output.stop()

    lanes = lanes[: len(works)]
    helpers = [threading.Thread(target=run, args=(lane,), daemon=True) for lane in lanes[1:]]
    for helper in helpers:
        helper.start()
    try:
        run(lanes[0])
    finally:
        for helper in helpers:
            helper.join()
    if errors:
        raise errors[min(errors)]
    return results


def _do(work: Work, number: int, lane: Lane, output: Output) -> tuple[int, Any]:
    with lane.stream:
        ids, row_starts = work(lane)
        place = output.place(number, len(ids))
        fetch(lane, ids, place)
        return len(ids), None if row_starts is None else lane.device.get(row_starts)


def fetch(lane: Lane, ids: Any, target: Any) -> None:
    """Ids from the device into an array on the host, by pinned memory where the array is none."""
    if not len(ids):
        return
    device = lane.device
    if target.nbytes > 1 << 16 and device.is_pinned(target):
        device.download(target, ids)
        device.synchronize()
        return
    if target.nbytes <= PINNED:
        staged = lane.pinned("out", target.nbytes)
        device.download(staged, ids)
        device.synchronize()
        target[:] = staged.view(target.dtype)
        return
    step = PINNED // target.itemsize
    for at in range(0, len(ids), step):
        part = ids[at : at + step]
        staged = lane.pinned("out", part.nbytes)
        device.download(staged, part)
        device.synchronize()
        np.copyto(target[at : at + step], staged.view(target.dtype))
