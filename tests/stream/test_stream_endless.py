"""One unit repeated without end: linear time, bounded memory, right ids. 4 MB of each; 100 MB in the long profile."""

from __future__ import annotations

import base64
import functools
import random

import numpy as np
import oracle
import pytest
from linear import assert_linear, cpu_seconds, feed_all
from oracle import PROFILE, assert_same

from streamtok.native import library

SIZE = 100_000_000 if PROFILE == "long" else 4_000_000
CHUNK = 1 << 16

UNITS = ["a", " ", "\n", "7", "=", "的", "😀", "\r\n", "A", "\u0301", "-="]
RANDOM = ["letters", "base64", "chinese"]

each_family = pytest.mark.parametrize("name", oracle.FAMILIES)


@functools.lru_cache(maxsize=1)
def random_text(what: str, size: int = 4_000_000 if oracle.LONG else 2_100_000) -> bytes:
    rng = random.Random(what)
    if what == "letters":
        return bytes(rng.choices(b"abcdefghijklmnopqrstuvwxyz", k=size))
    if what == "base64":
        return base64.b64encode(rng.randbytes(size * 3 // 4))
    return "".join(map(chr, rng.choices(range(0x4E00, 0x9FA0), k=size // 3))).encode()


class ClosedForm:
    """The ids of about `size` bytes of one unit: a beginning, one period of tokens again and again, and an end. They
    are read off a short run that tiktoken encodes, and held against a second one."""

    def __init__(self, name: str, unit: str, size: int) -> None:
        _, _, theirs = oracle.pair(name)
        width, few = len(unit.encode()), 3000
        short = np.array(theirs.encode(unit * few), np.uint32)
        lengths = np.array([len(token) for token in theirs.decode_tokens_bytes(short.tolist())])
        middle = len(short) // 2
        before, behind = short[:middle], short[middle:]
        period = next(p for p in range(1, middle) if np.array_equal(before[-p:], behind[:p]))
        while (step := int(lengths[middle : middle + period].sum())) % width:  # whole units
            period *= 2
        self.head, self.period, self.tail = short[:middle], short[middle : middle + period], short[middle:]
        self.times = 5
        other = theirs.encode(unit * (few + 5 * step // width))
        assert np.array_equal(other, self.ids(0, len(self))), "the closed form is no closed form"
        self.times = max(0, (size - few * width) // step)
        self.size = few * width + self.times * step

    def __len__(self) -> int:
        return len(self.head) + self.times * len(self.period) + len(self.tail)

    def ids(self, start: int, stop: int) -> np.ndarray:
        """The ids from start to stop, made when they are asked for."""
        at = np.arange(start, min(stop, len(self)))
        inside = at - len(self.head)
        behind = inside - self.times * len(self.period)
        found = self.period[inside % len(self.period)]
        found = np.where(behind >= 0, self.tail[np.clip(behind, 0, len(self.tail) - 1)], found)
        return np.where(inside < 0, self.head[np.clip(at, 0, len(self.head) - 1)], found)


@pytest.mark.slow
@each_family
@pytest.mark.parametrize("unit", UNITS)
def test_run_of_one_unit_has_the_ids_of_the_closed_form(name, unit):
    ours, want = oracle.ours(name), ClosedForm(name, unit, SIZE)
    view = memoryview((unit * (CHUNK // len(unit.encode()))).encode())
    stream, left, seen = ours.stream_encoder(), want.size, 0
    while left:
        chunk = view[: min(left, len(view))]
        left -= len(chunk)
        ids = stream.feed(chunk)
        assert stream.pending <= 400
        assert_same(ids, want.ids(seen, seen + len(ids)), ours, f"{unit!r} from id {seen}")
        seen += len(ids)
    rest = stream.flush()
    assert_same(rest, want.ids(seen, len(want) + 1), ours, f"end of {unit!r}")


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
    """There is no allocation after the first megabyte, so nothing grows."""
    data = random_text(unit) if unit in RANDOM else (unit * (2_000_000 // len(unit.encode()))).encode()
    stream = oracle.ours(name).stream_encoder()
    chunks = [data[at : at + 4096] for at in range(0, len(data), 4096)]
    for chunk in chunks[:250]:
        stream.feed(chunk)
    before = library.allocation_counts()
    for chunk in chunks[250:500]:
        stream.feed(chunk)
    after = library.allocation_counts()
    # A buffer of ids that is a few short may grow once more; 16 KB are its 4,096 ids at most.
    assert after[2] == before[2] and after[1] - before[1] <= 3 * 16_384 + 4096


@pytest.mark.slow
@each_family
@pytest.mark.parametrize("unit", [*UNITS, *RANDOM])
def test_time_is_linear(name, unit):
    ours = oracle.ours(name)
    data = random_text(unit)[: 3 << 18] if unit in RANDOM else (unit * (CHUNK // len(unit.encode()))).encode()

    def seconds(times: int) -> float:
        return cpu_seconds(lambda: feed_all(ours.stream_encoder(), [data] * times))

    assert_linear(seconds, max(8, SIZE // 2 // len(data)))


@each_family
@pytest.mark.parametrize("unit", [*UNITS, *RANDOM])
def test_time_of_one_byte_feeds_is_linear(name, unit):
    """A feed must not read again what earlier feeds brought."""
    ours = oracle.ours(name)
    data = random_text(unit)[:100_000] if unit in RANDOM else (unit * 100_000).encode()[:100_000]
    bites = [data[at : at + 1] for at in range(len(data))]

    def seconds(n: int) -> float:
        return cpu_seconds(lambda: feed_all(ours.stream_encoder(errors="ignore"), bites[:n]))

    assert_linear(seconds, 80_000)


LOOK_AHEAD = {
    "caps": "中" + "A" * 500_000 + "!",
    "indent": "\n" + " " * 500_000 + "a",
    "spaces": "a" + " " * 500_000 + "1",
    "upper, caseless": "A中" * 200_000,
    "caseless, upper": "中A" * 200_000,
    "blank lines": " \n" * 300_000,
    "ticks": "'s" * 300_000,
    "chain": "a" + "'s" * 300_000,
    "slashes": "/\n" * 300_000,
    "names": "<|endof" * 80_000,
    "less": "<" * 500_000,
    "controls": "\x85" * 200_000,
}


@each_family
@pytest.mark.parametrize(
    "text",
    LOOK_AHEAD.values(),
    ids=LOOK_AHEAD.keys(),
)
def test_text_that_asks_for_long_look_ahead_is_linear_too(name, text):
    """Remembered points, chains of contractions, prefixes of names: linear time for half a megabyte, the same ids."""
    ours = oracle.ours(name)

    def streamed(data: bytes) -> np.ndarray:
        stream = ours.stream_encoder()
        parts = [stream.feed(data[at : at + 1000]).copy() for at in range(0, len(data), 1000)]
        return np.concatenate([*parts, stream.flush()])

    def seconds(n: int) -> float:
        part = text[: n - 1] + text[-1]
        return cpu_seconds(lambda: (ours.encode_to_numpy(part), streamed(part.encode())))

    want = ours.encode_to_numpy(text)
    assert_same(streamed(text.encode()), want, ours)
    assert_same(np.array(oracle.ours(name, "reference").encode(text)), want, ours)
    assert_linear(seconds, len(text))
