"""Work in steps: a generator that yields what it waits for, so that one thread keeps many lanes busy.

A thread a lane loses more time than it wins: all of them want Python's lock after each call of CUDA, and to be woken
for it takes ten times as long as such a call.
"""

from __future__ import annotations

import concurrent.futures
import functools
import os
from collections.abc import Generator
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


# Less is copied sooner than another thread is woken.
_WORTH_A_THREAD = 8 << 20


@functools.cache
def _copiers() -> concurrent.futures.ThreadPoolExecutor:
    count = min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    return concurrent.futures.ThreadPoolExecutor(count, "streamtok-copy")


class _Copy:
    """A copy that another thread makes."""

    def __init__(self, target: Any, source: Any) -> None:
        self._future = _copiers().submit(np.copyto, target, source)

    def done(self) -> bool:
        return self._future.done()

    def wait(self) -> None:
        self._future.result()


def copied(target: Any, source: Any) -> Steps[None]:
    """Copies an array on the host."""
    if source.nbytes < _WORTH_A_THREAD:
        np.copyto(target, source)
        return
    copy = _Copy(target, source)
    yield copy
    copy.wait()  # tells of an error
