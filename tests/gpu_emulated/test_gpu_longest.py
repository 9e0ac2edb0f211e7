"""The kernels of longest match against the definition, run lane by lane on the CPU, with lanes in any order."""

from __future__ import annotations

import dataclasses
import functools
import random
import shutil

import numpy as np
import oracle
import pytest
from emulated import EmulatedDevice, at_the_end_of_memory, library
from longest_match import ALPHABETS, BYTES, WORDS, longest, random_text, random_tokens

from streamtok import Encoding
from streamtok.gpu import _job
from streamtok.gpu._errors import Unusable
from streamtok.gpu._shapes import LANE_BYTES, LONGEST_MATCH
from streamtok.gpu._text import DeviceText, pack
from streamtok.gpu.longest import engine as longest_engine
from streamtok.gpu.longest.engine import LongestEngine, LongestTables
from streamtok.patterns.engine import kernels_of, splitter_of

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ to compile the kernels for the CPU")


@functools.cache
def device_for(family: str, lane_bytes: int) -> EmulatedDevice:
    own = () if lane_bytes == LANE_BYTES else (f"-DST_LANE_BYTES={lane_bytes}",)
    return EmulatedDevice(family, (dataclasses.replace(LONGEST_MATCH[0], own=own),))


class Subject:
    """An encoding, and the engine that runs its kernels on the CPU."""

    def __init__(self, encoding: Encoding, lane_bytes: int = LANE_BYTES):
        self.encoding, self.stretch = encoding, 31 * lane_bytes
        self.device = device_for(kernels_of(encoding._split), lane_bytes)
        tables = LongestTables(self.device, encoding._vocab, splitter_of(encoding._split))
        self.engine = LongestEngine(self.device, tables, encoding._pat_str is not None)

    def encode(self, data: bytes) -> list[int]:
        text = DeviceText(at_the_end_of_memory(data), len(data))
        return self.engine.encode(text, np.uint32)[0].tolist()

    def encode_many(self, texts: list[bytes]) -> tuple[list[int], list[int]]:
        sizes = np.array([len(text) for text in texts], np.uint64)
        starts = np.cumsum(sizes) - sizes
        source = self.device.put(np.frombuffer(b"".join(texts) + b" ", np.uint8))
        packed = pack(self.device, source, starts, sizes, np.arange(len(texts)))
        ids, rows = self.engine.encode(packed, np.int64)
        return ids.tolist(), rows.tolist()


@pytest.fixture
def lane_bytes(request, monkeypatch):
    monkeypatch.setattr(longest_engine, "WALK_STRETCH", 31 * request.param)
    return request.param


@pytest.mark.parametrize(("lane_bytes", "pattern"), [(64, None), (128, None), (128, WORDS)], indirect=["lane_bytes"])
def test_ids_are_those_of_the_definition(lane_bytes, pattern, monkeypatch):
    rng = random.Random(f"{lane_bytes} {pattern}")
    for round_number in range(oracle.RANDOM_STRINGS // 400):  # of twelve strings
        alphabet = rng.choice(ALPHABETS)
        tokens = random_tokens(rng, alphabet)
        encoding = Encoding.longest_match("random", tokens, special_tokens={}, pat_str=pattern)
        subject = Subject(encoding, lane_bytes)
        monkeypatch.setattr(longest_engine, "WALK_SLICE", rng.choice((1, 2, 5, 1000)))
        monkeypatch.setattr(longest_engine, "MAPS_CAPACITY", rng.choice((1, 1000, 1 << 20)))
        texts = [random_text(rng, alphabet).encode() for _ in range(12)]
        whole = b"".join(texts * rng.randint(1, 3))
        with subject.device.shuffled(rng.randint(0, 3)):
            if whole:
                want = longest(tokens, whole) if pattern is None else encoding.encode_to_numpy(whole).tolist()
                assert subject.encode(whole) == want, round_number
            ids, rows = subject.encode_many(texts)
        want_ids, want_rows = encoding.encode_ragged(texts)
        assert (ids, rows) == (want_ids.tolist(), want_rows.tolist()), round_number


@pytest.mark.parametrize("lane_bytes", [64, 128], indirect=True)
@pytest.mark.parametrize("last", ["", "b"])
def test_runs_that_no_part_is_right_in(lane_bytes, last):
    """Tokens a^k: where they begin in a run depends on where it begins, so maps are needed."""
    tokens = BYTES | {b"a" * n: 300 + n for n in (2, 3, 7, 50, 101)}
    subject = Subject(Encoding.longest_match("runs", tokens, special_tokens={}), lane_bytes)
    stretch = subject.stretch
    for size in (3 * stretch + 5, 40 * stretch + 17):
        text = b"b c" + b"a" * size + last.encode()
        assert subject.encode(text) == subject.encoding.encode_to_numpy(text).tolist()
        assert (size > 30 * stretch) == ("maps" in subject.engine._buffers._arrays)


@pytest.mark.parametrize("lane_bytes", [64, 128], indirect=True)
def test_tokens_longer_than_a_stretch(lane_bytes):
    rng = random.Random(lane_bytes)
    long = ["".join(rng.choices("ab", k=size)).encode() for size in (3000, 9000, 20_000, 65_535)]
    tokens = BYTES | {token: 300 + i for i, token in enumerate(long)} | {long[2] + b"c": 400, b"ab": 401}
    subject = Subject(Encoding.longest_match("long", tokens, special_tokens={}), lane_bytes)
    for _ in range(3):
        text = b"".join(rng.choice([*long, long[2][:-1], b"c", b"ab"]) for _ in range(8))
        assert subject.encode(text) == subject.encoding.encode_to_numpy(text).tolist()


def test_beginnings_that_no_token_ends_go_to_the_cpu():
    """Each of them costs a walk as long as a token, so the kernels give up in time."""
    tokens = BYTES | {b"a" * 60_000 + b"b": 300}
    subject = Subject(Encoding.longest_match("beginnings", tokens, special_tokens={}))
    with pytest.raises(Unusable, match="too long"):
        subject.encode(b"a" * 59_000)


def test_sizes_are_those_of_the_source():
    memory = [LONGEST_MATCH[0].warp_memory[name] for name in ("walk", "bounded")]
    sizes = [library("none", (), "run_longest").sizes(i) for i in range(5)]
    assert sizes == [_job.JOB.itemsize, _job.COUNTS.itemsize, *memory, longest_engine.WALK_STRETCH]
