"""What the tests of linear time share: they compare CPU seconds of this process, of the same work at two sizes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import pytest

# Work of n steps takes 8 times as long for 8 times the size, and work of n * n steps 64 times as long. The line between
# them leaves a factor of three to each: larger work meets more cache misses, and other programs take the caches away.
GROWTH = 8
MOST = 3 * GROWTH
TRIES = 10
CLOCK_STEP = 1 / 64  # seconds: Windows counts a process's time in such steps. A time of 0 means less than one step.


def cpu_seconds(call: Callable[[], object]) -> float:
    """Of this process alone: what other programs take does not count."""
    begin = time.process_time()
    call()
    return time.process_time() - begin


def feed_all(stream: Any, chunks: Iterable[Any]) -> None:
    for chunk in chunks:
        stream.feed(chunk)
    stream.flush()


def assert_linear(seconds: Callable[[int], float], largest: int) -> None:
    """`seconds(largest)` is about 8 times `seconds(largest // 8)`, not 64 times. A try that was disturbed is repeated;
    the best of each size counts as well as each try by itself."""
    tries: list[tuple[float, float]] = []
    for _ in range(TRIES):
        tries.append((seconds(largest // GROWTH) or CLOCK_STEP, seconds(largest)))
        best = tuple(map(min, zip(*tries)))
        if any(large <= MOST * small for small, large in (tries[-1], best)):
            return
    pytest.fail(f"{largest // GROWTH} and {largest}: {tries} s")


def assert_at_most(limit: float, call: Callable[[], object]) -> None:
    """The call takes at most so many CPU seconds in one of ten tries."""
    taken = []
    for _ in range(TRIES):
        taken.append(cpu_seconds(call))
        if taken[-1] <= limit:
            return
    pytest.fail(f"more than {limit} s: {taken}")
