"""The rows of traits (csrc/split/rows.h): blocks beside the table of a row, against tokenizers and the table alone."""

from __future__ import annotations

import functools
import hashlib
import os
import random
import subprocess
import sys
from typing import Any

import oracle
import pytest
from row_texts import texts

import streamtok
from streamtok.native.encode import Coder
from streamtok.native.pattern import ROWS as NUMBERS
from streamtok.native.pattern import Pattern, last_sync_point
from streamtok.patterns import compose
from streamtok.patterns.rows import ROWS, table_of_row

each_row = pytest.mark.parametrize("row", ROWS)


@functools.cache
def vocabulary() -> Any:
    return streamtok.get_encoding("cl100k_base")._vocab


def coder(row: str, *, blocks: bool = True) -> Any:
    return Coder(vocabulary(), Pattern(table_of_row(row), row if blocks else None))


def engine(row: str) -> Any:
    """A pre-tokenizer of Hugging Face for a row. Its engine repeats {1,3}+, where tiktoken's does not give back."""
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is the oracle here")
    made = ROWS[row]
    stages = (compose.Split(made.replace("{1,3}+", "{1,3}")),) if isinstance(made, str) else made
    every = []
    for stage in stages:
        if isinstance(stage, compose.Split):
            every.append(tokenizers.pre_tokenizers.Split(tokenizers.Regex(stage.pattern), "isolated"))
        elif isinstance(stage, compose.Digits):
            every.append(tokenizers.pre_tokenizers.Digits(individual_digits=True))
        else:
            every.append(tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False))
    return tokenizers.pre_tokenizers.Sequence(every)


def ends_in_bytes(text: str, pieces: list[Any]) -> list[int]:
    offsets = [0]
    for character in text:
        offsets.append(offsets[-1] + len(character.encode()))
    return [offsets[stop] for _, (_, stop) in pieces]


def test_the_core_has_the_rows_that_are_named_here() -> None:
    assert set(ROWS) == set(NUMBERS)


@each_row
def test_random_texts_are_split_as_tokenizers_splits_them(row: str) -> None:
    by_row, oracles = coder(row), engine(row)
    for text in texts(1, 400):
        assert by_row.split(text) == ends_in_bytes(text, oracles.pre_tokenize_str(text)), ascii(text)


@each_row
def test_random_texts_are_split_as_by_the_table(row: str) -> None:
    by_row, by_table = coder(row), coder(row, blocks=False)
    for text in texts(2, 2000):
        assert by_row.split(text) == by_table.split(text), ascii(text)


@each_row
def test_every_character_is_of_its_kind(row: str) -> None:
    by_row, by_table = coder(row), coder(row, blocks=False)
    points = (*range(0xD800), *range(0xE000, 0x33500), *range(0x33500, 0xE0000, 37), *range(0xE0000, 0x110000, 7))
    characters = list(map(chr, points))  # all that are assigned, and some of the others
    for at in range(0, len(characters), 4096):
        text = "".join(f"a{c}bC{c}{c}1.{c}. {c}'s" for c in characters[at : at + 4096])
        assert by_row.split(text) == by_table.split(text), hex(ord(characters[at]))


@each_row
def test_streams_are_cut_anywhere(row: str) -> None:
    by_row, by_table, rng = coder(row), coder(row, blocks=False), random.Random(3)
    for text in texts(3, 300):
        stream, data, ids = by_row.stream(None, None, False), text.encode(), []
        for chunk in oracle.random_cuts(rng, data, (1, 3, 20, 200)):
            ids.extend(stream.feed(chunk))
        ids.extend(stream.flush())
        assert ids == list(by_table.encode(text, None, None)), ascii(text)


@each_row
def test_pieces_start_at_sync_points(row: str) -> None:
    by_row = coder(row)
    for text in texts(4, 300):
        at = last_sync_point(by_row.pattern, text.encode())
        assert at in (0, *by_row.split(text)), ascii(text)


def digest() -> str:
    found = hashlib.sha256()
    for row in ROWS:
        by_row = coder(row)
        for text in texts(5, 500):
            found.update(repr(by_row.split(text)).encode())
    return found.hexdigest()


def test_every_tier_splits_alike() -> None:
    best = streamtok.info()["simd"]
    tests = os.pathsep.join((str(oracle.PROJECT), os.path.dirname(__file__), os.path.dirname(oracle.__file__)))
    for tier in {"portable", "avx2"} - {best} if best != "neon" else {"portable"}:
        environment = {**os.environ, "STREAMTOK_TIER": tier, "PYTHONPATH": tests}
        command = [sys.executable, "-c", "import test_rows; print(test_rows.digest())"]
        said = subprocess.check_output(command, env=environment, text=True, timeout=120)
        assert said.strip() == digest()


def test_a_row_that_does_not_exist_is_refused() -> None:
    with pytest.raises(KeyError):
        Pattern(table_of_row("llama3"), "llama4")
