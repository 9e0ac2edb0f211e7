"""One thread serves several slots: results stay in order whichever slot is done first, and an error ends all."""

from __future__ import annotations

import contextlib
import random

import numpy as np
import pytest

from streamtok.gpu._ordered import Output, Overflow, run_in_order
from streamtok.gpu._waiting import Steps, complete, copied


class Later:
    """Done when it was asked so many times."""

    def __init__(self, times: int) -> None:
        self.left = times

    def done(self) -> bool:
        self.left -= 1
        return self.left < 0

    def wait(self) -> None:
        self.left = 0


class SlowSlot:
    """A slot whose device takes its time over each download."""

    def __init__(self, rng: random.Random, is_pinned: bool) -> None:
        self.rng, self.device, self.is_pinned = rng, self, lambda target: is_pinned
        self.stream = contextlib.nullcontext()
        self.synchronized = 0
        self.staged = np.zeros(1 << 16, np.uint8)
        self.is_busy = False

    def pinned(self, name: str, size: int) -> np.ndarray:
        return self.staged[:size]

    def download(self, target: np.ndarray, source: np.ndarray) -> None:
        target[: len(source)] = source

    def moment(self) -> Later:
        return Later(self.rng.randint(0, 9))

    def synchronize(self) -> None:
        self.synchronized += 1


def work(number: int, ids: list[int], rng: random.Random):
    def steps(slot: SlowSlot) -> Steps:
        assert not slot.is_busy
        slot.is_busy = True
        for _ in range(rng.randint(0, 3)):
            yield Later(rng.randint(0, 20))
        slot.is_busy = False
        if ids == [-1]:
            raise ValueError(f"number {number}")
        return np.array(ids, np.uint32), None

    return steps


@pytest.mark.parametrize("is_pinned", [True, False])
def test_ids_are_in_order_whichever_lane_is_done_first(is_pinned):
    rng = random.Random(3)
    for _ in range(50):
        parts = [[rng.randrange(1000) for _ in range(rng.randint(0, 5))] for _ in range(rng.randint(1, 20))]
        slots = [SlowSlot(rng, is_pinned) for _ in range(rng.randint(1, 5))]
        output = Output(np.zeros(sum(map(len, parts)), np.uint32))
        results = run_in_order([work(i, part, rng) for i, part in enumerate(parts)], slots, output)
        assert output.array.tolist() == [token for part in parts for token in part]
        assert [count for count, _ in results] == list(map(len, parts))


def test_an_error_is_told_once_nothing_works_on():
    rng = random.Random(4)
    slots = [SlowSlot(rng, True) for _ in range(3)]
    works = [work(i, [-1] if i == 5 else [i], rng) for i in range(9)]
    with pytest.raises(ValueError, match="number 5"):
        run_in_order(works, slots, Output(np.zeros(9, np.uint32)))
    assert [slot.synchronized for slot in slots] == [1, 1, 1]
    with pytest.raises(Overflow):
        run_in_order(works[:5], [SlowSlot(rng, True)], Output(np.zeros(3, np.uint32)))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32])
def test_large_copies_are_made_by_other_threads(dtype):
    source = np.arange(19 << 20, dtype=np.uint32).astype(dtype)
    target = np.zeros_like(source)
    assert len(list(copied(target[:9], source[:9]))) == 0
    complete(copied(target, source))
    assert (target == source).all()
    with pytest.raises(ValueError, match="give as many"):
        complete(copied(target[:7], source))
