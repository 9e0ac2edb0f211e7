"""One unit repeated without end: linear time, bounded memory, right ids. 10 MB of each; 100 MB in the long profile."""

from __future__ import annotations

import base64
import functools
import random
import time
from collections.abc import Callable

import numpy as np
import oracle
import pytest
from oracle import PROFILE, assert_same

from streamtok import _core

SIZE = 100_000_000 if PROFILE == "long" else 10_000_000
CHUNK = 1 << 16

UNITS = ["a", " ", "\n", "7", "=", "的", "😀", "\r\n", "A", "\u0301", "-="]
RANDOM = ["letters", "base64", "chinese"]

each_family = pytest.mark.parametrize("name", oracle.FAMILIES)


@functools.lru_cache(maxsize=1)
def random_text(what: str, size: int = 4_000_000) -> bytes:
    rng = random.Random(what)
    if what == "letters":
        return bytes(rng.choices(b"abcdefghijklmnopqrstuvwxyz", k=size))
    if what == "base64":
        return base64.b64encode(rng.randbytes(size * 3 // 4))
    return "".join(map(chr, rng.choices(range(0x4E00, 0x9FA0), k=size // 3))).encode()


def feed_all(stream, data: bytes, size: int) -> tuple[np.ndarray, int]:
    """Ids of `size` bytes, the data again and again, and the most that was pending."""
    view = memoryview(data)
    parts, most, left = [], 0, size
    while left:
        chunk = view[: min(left, len(view))]
        parts.append(stream.feed(chunk).copy())
        most = max(most, stream.pending)
        left -= len(chunk)
    return np.concatenate([*parts, stream.flush()]), most


def closed_form(name: str, unit: str, size: int) -> tuple[np.ndarray, int]:
    """(ids, bytes) of about `size` bytes of one unit. A long run is a beginning, one period of tokens again and again,
    and an end: they are read off two shorter runs, which tiktoken encodes."""
    _, ours, theirs = oracle.pair(name)
    few = 3000
    short = np.array(theirs.encode(unit * few))
    lengths = np.array([len(token) for token in theirs.decode_tokens_bytes(short.tolist())])
    middle = len(short) // 2
    period = next(p for p in range(1, middle) if np.array_equal(short[middle - p : middle], short[middle : middle + p]))
    step = int(lengths[middle : middle + period].sum())
    while step % len(unit.encode()):  # whole units
        period *= 2
        step = int(lengths[middle : middle + period].sum())
    times = max(0, (size - few * len(unit.encode())) // step)
    body = np.tile(short[middle : middle + period], times)
    other = np.array(theirs.encode(unit * (few + 5 * step // len(unit.encode()))))
    longer = np.concatenate([short[:middle], np.tile(short[middle : middle + period], 5), short[middle:]])
    assert np.array_equal(other, longer), "the closed form is no closed form"
    return np.concatenate([short[:middle], body, short[middle:]]), few * len(unit.encode()) + times * step


@pytest.mark.slow
@each_family
@pytest.mark.parametrize("unit", UNITS)
def test_run_of_one_unit_has_the_ids_of_the_closed_form(name, unit):
    want, size = closed_form(name, unit, SIZE)
    ours = oracle.ours(name)
    data = (unit * (CHUNK // len(unit.encode()))).encode()
    got, most = feed_all(ours.stream_encoder(), data, size)
    assert_same(got, want, ours, unit)
    assert most <= 400


@pytest.mark.slow
@each_family
@pytest.mark.parametrize("what", RANDOM)
def test_random_text_without_a_break_has_the_ids_of_the_reference(name, what):
    ours, data = oracle.ours(name), random_text(what)
    want = ours.encode_to_numpy(data)
    part = len(data) // 4
    part += -part % 12
    reference = oracle.ours(name, "reference").encode_to_numpy(data[:part])
    assert_same(ours.encode_to_numpy(data[:part]), reference, ours, what)
    stream = ours.stream_encoder()
    rng = random.Random(what)
    parts, most = [], 0
    for chunk in oracle.random_cuts(rng, data, (1, 100, 5000, 70_000)):
        parts.append(stream.feed(chunk).copy())
        most = max(most, stream.pending)
    assert_same(np.concatenate([*parts, stream.flush()]), want, ours, what)
    assert most <= 400


@each_family
@pytest.mark.parametrize("unit", [*UNITS, *RANDOM])
def test_memory_does_not_grow_with_the_piece(name, unit):
    """No allocation at all once the first megabyte is through: nothing can have grown."""
    data = random_text(unit) if unit in RANDOM else (unit * (2_000_000 // len(unit.encode()))).encode()
    stream = oracle.ours(name).stream_encoder()
    chunks = [data[at : at + 4096] for at in range(0, len(data), 4096)]
    for chunk in chunks[:250]:
        stream.feed(chunk)
    before = _core.allocation_counts()
    for chunk in chunks[250:500]:
        stream.feed(chunk)
    after = _core.allocation_counts()
    # A buffer of ids that is a few short may grow once more; 16 KB are its 4,096 ids at most.
    assert after[2] == before[2] and after[1] - before[1] <= 3 * 16_384 + 4096


def seconds(ours, data: bytes, times: int) -> float:
    stream = ours.stream_encoder()
    begin = time.process_time()
    for _ in range(times):
        stream.feed(data)
    stream.flush()
    return time.process_time() - begin


def assert_linear(seconds: Callable[[int], float], n: int) -> None:
    """n, 2n, 4n: each at most 2.6 times as long as the one before. A busy machine gets more tries: the best of each."""
    best = [float("inf")] * 3
    for _ in range(10):
        best = [min(old, seconds(n << step)) for step, old in enumerate(best)]
        if best[1] <= 2.6 * best[0] and best[2] <= 2.6 * best[1]:
            return
    pytest.fail(f"{n} and two doublings took {best} s at best")


@pytest.mark.slow
@each_family
@pytest.mark.parametrize("unit", [*UNITS, *RANDOM])
def test_time_is_linear(name, unit):
    ours = oracle.ours(name)
    data = random_text(unit)[: 3 << 18] if unit in RANDOM else (unit * (CHUNK // len(unit.encode()))).encode()

    def seconds(times: int) -> float:
        stream = ours.stream_encoder()
        begin = time.process_time()
        for _ in range(times):
            stream.feed(data)
        stream.flush()
        return time.process_time() - begin

    assert_linear(seconds, max(1, SIZE // 8 // len(data)))


@each_family
@pytest.mark.parametrize("unit", [*UNITS, *RANDOM])
def test_time_of_one_byte_feeds_is_linear(name, unit):
    """A feed must not look again at what earlier feeds brought."""
    ours = oracle.ours(name)
    data = random_text(unit)[:100_000] if unit in RANDOM else (unit * 100_000).encode()[:100_000]
    bites = [data[at : at + 1] for at in range(len(data))]

    def seconds(n: int) -> float:
        stream = ours.stream_encoder(errors="ignore")
        begin = time.process_time()
        for bite in bites[:n]:
            stream.feed(bite)
        return time.process_time() - begin

    assert_linear(seconds, 20_000)


@each_family
@pytest.mark.parametrize(
    "text",
    ["中" + "A" * 500_000 + "!", "\n" + " " * 500_000 + "a", "a" + " " * 500_000 + "1", "A中" * 200_000, "中A" * 200_000, " \n" * 300_000]
    + ["'s" * 300_000, "a" + "'s" * 300_000, "/\n" * 300_000, "<|endof" * 80_000, "<" * 500_000, "\x85" * 200_000],
    ids=["caps", "indent", "spaces", "A中", "中A", "blank lines", "ticks", "chain", "slashes", "names", "less", "controls"],
)
def test_text_that_asks_for_long_look_ahead_is_linear_too(name, text):
    """Remembered points, chains of contractions, beginnings of names: half a megabyte in a moment, and the same ids."""
    ours = oracle.ours(name)
    begin = time.process_time()
    want = ours.encode_to_numpy(text)
    stream = ours.stream_encoder()
    data = text.encode()
    parts = [stream.feed(data[at : at + 1000]).copy() for at in range(0, len(data), 1000)]
    got = np.concatenate([*parts, stream.flush()])
    taken = time.process_time() - begin
    assert_same(got, want, ours)
    assert_same(np.array(oracle.ours(name, "reference").encode(text)), want, ours)
    assert taken < 2.0  # quadratic work would take minutes
