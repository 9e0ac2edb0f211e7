"""The kernels of every row of patterns against the CPU core, run lane by lane on the CPU."""

from __future__ import annotations

import functools
import itertools
import random
import shutil

import numpy as np
import oracle
import pytest
from emulated import EmulatedDevice
from row_texts import HARD, LONG, texts

import streamtok
from streamtok import patterns
from streamtok.gpu import _engine
from streamtok.gpu._engine import Engine
from streamtok.gpu._job import FLAG_GAP, LONGEST_GAP
from streamtok.gpu._starts import Buffers, add_starts, find_starts, text_job
from streamtok.gpu._tables import Tables, put_pattern
from streamtok.gpu._text import DeviceText, pack
from streamtok.native.encode import Coder
from streamtok.native.pattern import Pattern
from streamtok.patterns.engine import kernels_of
from streamtok.patterns.rows import ROWS, table_of_row

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ to compile the kernels for the CPU")

each_row = pytest.mark.parametrize("row", ROWS)

TABLES = {
    "words": r"\w+|\s+|[^\w\s]",
    "lines": r"[^\n]*\n|[^\n]+",
    "bloom": r" ?[^\s.,!?\u2026\u3002\uff0c\u3001]+|[.,!?\u2026\u3002\uff0c\u3001]|\s+",
    "marks": r" ?\p{Lu}?\p{Ll}+|\p{N}{1,2}|\p{M}+\p{L}?|\s+(?!\S)|(?s:.)",
}
"""Patterns that are no rows: the kernels split by the table alone."""

each_splitter = pytest.mark.parametrize("row", [*ROWS, *TABLES])


class Subject:
    """A row, or a pattern of TABLES: its kernels on the CPU, and the core."""

    def __init__(self, row: str):
        vocab, table = streamtok.get_encoding("cl100k_base")._vocab, row in TABLES and patterns.table_of(TABLES[row])
        self.pattern = Pattern(table_of_row(row), row) if row in ROWS else Pattern(table)
        assert row in ROWS or kernels_of(TABLES[row]) == "table"
        self.coder = Coder(vocab, self.pattern)
        self.by_table = Coder(vocab, Pattern(table_of_row(row) if row in ROWS else table))
        self.device = EmulatedDevice(row if row in ROWS else "table", kernels="run_starts")
        self.table = put_pattern(self.device, self.pattern)
        self.buffers = Buffers(self.device)

    def text(self, passages: list[bytes]) -> DeviceText:
        if len(passages) == 1:
            return DeviceText(self.device.put(np.frombuffer(passages[0], np.uint8)), len(passages[0]))
        sizes = np.array(list(map(len, passages)), np.uint64)
        starts = np.cumsum(sizes, dtype=np.uint64) - sizes
        source = self.device.put(np.frombuffer(b"".join(passages) + b" ", np.uint8))
        return pack(self.device, source, starts, sizes, np.arange(len(passages)))

    def starts(self, passages: list[bytes], segment_blocks: int) -> list[int]:
        """Where the kernels begin pieces, among them the filler behind each passage: bytes of the text as laid out."""
        text = self.text(passages)
        job = text_job(self.buffers, text)
        add_starts(job, self.buffers, segment_blocks)
        job["dfa"], job["trusted"] = self.device.pointer(self.table), 1
        find_starts(self.device, job)
        words = self.device.get(self.buffers.kept("starts"))[: 8 * int(job["blocks"])]
        return np.flatnonzero(np.unpackbits(words, bitorder="little")).tolist()

    def check_starts(self, passages: list[bytes], segment_blocks: int = 4) -> None:
        want, at = [], 0
        for passage in passages:
            want += [at + place for place in (0, *self.by_table.split(passage.decode()))]
            at += -(-len(passage) // 64) * 64
            want = want[:-1] if want[-1] == at else want
        assert self.starts(passages, segment_blocks) == want, [ascii(passage.decode()) for passage in passages]


@functools.cache
def subject(row: str) -> Subject:
    return Subject(row)


@each_splitter
def test_random_texts_are_split_as_by_the_table(row: str) -> None:
    s = subject(row)
    for i, text in enumerate(texts(11, 300 if oracle.LONG else 100)):
        s.check_starts([text.encode()], 1 + 3 * (i % 2))


@each_splitter
def test_texts_that_are_cut_anywhere_are_split_one_by_one(row: str) -> None:
    s, rng = subject(row), random.Random(12)
    for text in texts(13, 60 if oracle.LONG else 20):
        cuts = sorted(rng.choices(range(len(text) + 1), k=rng.randint(1, 12)))
        parts = [text[a:b].encode() for a, b in itertools.pairwise([0, *cuts, len(text)])]
        s.check_starts([part for part in parts if part] or [b"x"])


@each_splitter
def test_long_texts_with_few_places_to_begin(row: str) -> None:
    s, rng = subject(row), random.Random(14)
    for _ in range(30 if oracle.LONG else 10):
        units = rng.sample(HARD + LONG, 3)
        text = "".join(rng.choice(units) * rng.choice((1, 1, 2, 70, 300)) for _ in range(rng.randint(1, 12)))
        s.check_starts([text.encode()], rng.choice((1, 4)))


@each_row
def test_every_character_is_of_its_kind(row: str) -> None:
    s = subject(row)
    step = 1 if oracle.LONG else 3
    points = (*range(0x80, 0xD800, step), *range(0xE000, 0x33500, 3 * step), *range(0x33500, 0x110000, 397))
    characters = list(
        map(chr, points)
    )  # with the profile long all that are assigned below U+E000, and a third of the others
    for at in range(0, len(characters), 4096):
        text = "".join(f"a{c}bC{c}{c}1.{c}. {c}'s" for c in characters[at : at + 4096])
        s.check_starts([text.encode()])


@pytest.mark.parametrize(("row", "unit"), [("lines", "a"), ("llama3", "\u0301"), ("qwen3_5", "\u0301")])
def test_a_long_stretch_that_one_thread_would_read_is_left_to_the_cpu(row: str, unit: str) -> None:
    """The host encodes such a text itself (Unusable). Without that, a megabyte took the device a second."""
    s = subject(row)
    near, far = (unit * (size // len(unit.encode())) + " end" for size in (LONGEST_GAP - 200, LONGEST_GAP + 200))
    s.check_starts([near.encode()])
    s.starts([far.encode()], 4)
    assert s.buffers.counted()["flags"] == FLAG_GAP


@pytest.mark.parametrize(
    ("row", "way"),
    [
        ("deepseek_v3", "one launch"),
        pytest.param("qwen2", "stages", marks=pytest.mark.long),
        pytest.param("kimi_k2", "one launch", marks=pytest.mark.long),
    ],
)
def test_ids_are_those_of_the_core(row: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All stages, for few rows: the stages behind the split are the same for all, and compiling them takes long."""
    monkeypatch.setattr(_engine, "SHORT", 0 if way == "stages" else 1 << 30)
    vocab, pattern = streamtok.get_encoding("cl100k_base")._vocab, Pattern(table_of_row(row), row)
    device, coder = EmulatedDevice(row), Coder(vocab, pattern)
    engine = Engine(device, coder.encode_piece, Tables(device, vocab, pattern))
    corpora = [oracle.corpus(name)[2_000_000:2_040_000] for name in ("english", "code", "multilingual")]
    for text in (*corpora, "".join(texts(15, 60)), *texts(16, 20)):
        data = text.encode()
        ids, _ = engine.encode(DeviceText(device.put(np.frombuffer(data, np.uint8)), len(data)), np.uint32)
        np.testing.assert_array_equal(ids, coder.encode_array(data, None, None))
