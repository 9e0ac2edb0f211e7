"""One thread serves several slots: results stay in order whichever slot is done first, and an error ends all."""

from __future__ import annotations

import contextlib
import random

import numpy as np
import pytest

from streamtok.gpu._ordered import Output, Overflow, run_in_order
from streamtok.gpu._pieces import flattened
from streamtok.gpu._waiting import Steps, complete, copied, joined
from streamtok.native.gate import Utf8, flat, gather


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
    with pytest.raises(ValueError, match="broadcast"):
        complete(copied(target[:7], source))


@pytest.mark.parametrize("size", [0, 1, 9000, 900_000])
def test_buffers_are_joined_short_or_long(size):
    buffers = [bytes([i % 251]) * (size * (i % 3) // 2) for i in range(40)]
    starts = np.cumsum([0, *map(len, buffers)])
    target = np.zeros(starts[-1], np.uint8)
    complete(joined(target, buffers, starts[:-1]))
    assert target.tobytes() == b"".join(buffers)


def test_texts_are_flat_bytes_that_python_vouches_for_or_not():
    texts = ["ascii", "é", "", "\ud83d\ude00 \ud800", "한" * 100]
    want = [b"ascii", "é".encode(), b"", "😀 \ufffd".encode(), "한".encode() * 100]
    buffers, sizes, trusted = flattened(texts)
    assert sizes.tolist() == list(map(len, want))
    assert [bytes(buffer) for buffer in buffers] == want and trusted
    mixed = [b"\xff", "x", bytearray(b"yz"), memoryview(b"abc")[1:]]
    buffers, sizes, trusted = flattened(mixed)
    assert [bytes(buffer) for buffer in buffers] == [b"\xff", b"x", b"yz", b"bc"] and not trusted
    assert sizes.tolist() == [1, 1, 2, 2]
    assert flat([], np.empty(0, np.int64)) == ([], True)
    with pytest.raises(TypeError, match="int"):
        flattened(["x", 1])
    with pytest.raises(ValueError, match="an int64 a text, of which there are 2"):
        flat(["x", "y"], np.empty(1, np.int64))


def test_buffers_are_gathered_whole_or_not_at_all():
    buffers = [b"one", Utf8("two"), bytearray(b""), np.frombuffer(b"three", np.uint8)]
    target = np.full(16, 255, np.uint8)
    gather(buffers, target)
    assert target.tobytes() == b"onetwothree" + b"\xff" * 5
    for wrong, error in (
        ((buffers, target[:10]), ValueError),
        ((buffers, b"x" * 20), BufferError),
        (([1], target), TypeError),
    ):
        with pytest.raises(error):
            gather(*wrong)
    assert target.tobytes() == b"onetwothree" + b"\xff" * 5
