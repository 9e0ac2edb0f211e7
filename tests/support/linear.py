"""What the tests of linear time share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def cpu_seconds(call: Callable[[], object]) -> float:
    """Of this process alone: what other programs take does not count."""
    begin = time.process_time()
    call()
    return time.process_time() - begin


def feed_all(stream: Any, chunks: Iterable[Any]) -> None:
    for chunk in chunks:
        stream.feed(chunk)
    stream.flush()


def assert_linear(seconds: Callable[[int], float], n: int) -> None:
    """4n takes about 4 times as long as n, not 16 times: the line between is drawn at 8. A busy machine gets more
    tries: the best of each."""
    best = [float("inf")] * 3
    for _ in range(10):
        best = [min(old, seconds(n << step)) for step, old in enumerate(best)]
        if best[2] <= 8 * best[0]:
            return
    pytest.fail(f"{n} and two doublings took {best} s at best")
