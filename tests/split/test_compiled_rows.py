"""Spellings of one pattern are one row, and look-alikes are none."""

from __future__ import annotations

import pytest

from streamtok.patterns import CL100K, O200K, R50K
from streamtok.patterns.compile import compile_pattern
from streamtok.patterns.compose import ByteLevel, Digits, Split, compose
from streamtok.patterns.rows import ROWS, row_of, table_of_row

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
OLD_CL100K = CL100K.replace(r"\s++$|", "")
SPELLINGS = {
    "r50k": [
        R50K,
        r"'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        r"'(?:s|d|m|t|(?:l)l|(?:v|r)e)|\x20?\p{Letter}+|(?: )?\pN++|(?: |)[^\s\p{L}\p{N}]+|\s+$|\s+(?=\s)|\s",
    ],
    "cl100k": [
        CL100K,
        CL100K.replace(r"\s*[\r\n]|", r"\s*[\r\n]+|"),
        LLAMA3.replace(r"\s*[\r\n]+", r"\s+$|\s*[\r\n]+"),
    ],
    "llama3": [
        LLAMA3,
        OLD_CL100K,
        LLAMA3.replace("'s|'t", "'t|'s"),
        LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}\p{N}?+\p{N}?"),
    ],
    "o200k": [O200K, O200K.replace("]+[\\r\\n/]*", "]++[\\r\\n/]*+"), O200K.replace(r"\s+(?!\S)|\s+", r"\s+(?!\S)|\s")],
    "qwen2": [
        LLAMA3.replace("{1,3}", ""),
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
    ],
    "seed_coder": [LLAMA3.replace("{1,3}", "").replace("]+[\\r\\n]*", "]+")],
}
each_spelling = pytest.mark.parametrize("name, pat_str", [(n, p) for n, some in SPELLINGS.items() for p in some])


@each_spelling
def test_spellings_of_a_row_are_that_row(name: str, pat_str: str) -> None:
    assert row_of(compile_pattern(pat_str)) == name


@pytest.mark.parametrize("name", ROWS)
def test_each_row_is_itself_and_no_other(name: str) -> None:
    assert row_of(table_of_row(name)) == name


@pytest.mark.parametrize(
    "pat_str",
    [
        LLAMA3.replace("{1,3}", "{1,4}"),
        LLAMA3.replace("'m|", ""),
        LLAMA3.replace("(?i:", "(?:"),
        LLAMA3.replace(r"\s+(?!\S)|", ""),
        LLAMA3.replace(r"\p{L}+", r"[\p{L}\u0301]+"),
        O200K.replace(r"\p{Lt}", ""),
        O200K.replace(r"]?[\p{Lu}", r"]?+[\p{Lu}"),
        R50K.replace(r"\p{N}", r"\d"),
    ],
)
def test_what_differs_in_one_thing_is_no_row(pat_str: str) -> None:
    assert row_of(compile_pattern(pat_str)) is None


def test_stages_that_mean_the_same_are_one_row() -> None:
    numbers, kana, words = (Split(stage.pattern) for stage in ROWS["deepseek_v3"])  # type: ignore[union-attr]
    last = Split(words.pattern.replace(r"\r\n", "\r\n"))
    for stages in ([numbers, kana, words], [kana, numbers, last, ByteLevel(use_regex=False)]):
        table = compose(stages)
        assert table is not None and row_of(table) == "deepseek_v3"
    digits = compose([Split(r"\p{N}"), ByteLevel()])  # Digits knows 13 numbers more
    assert digits is not None and row_of(digits) is None
    assert row_of(compose([Digits(True), Split(SPELLINGS["r50k"][2])])) == "starcoder"  # type: ignore[arg-type]


def test_dialects_are_told_apart() -> None:
    """Oniguruma repeats {1,3}, where tiktoken does not give its digits back."""
    assert row_of(compile_pattern(OLD_CL100K)) == "llama3"
    assert row_of(compile_pattern(OLD_CL100K, "oniguruma")) is None
    assert row_of(compile_pattern(LLAMA3, "oniguruma")) == row_of(compile_pattern(LLAMA3)) == "llama3"


def test_code_points_that_no_text_holds_tell_no_patterns_apart() -> None:
    tables = [compile_pattern(rf"a+|{rest}") for rest in (r"(?s:.)", r"[\x00-\x{D7FF}\x{E000}-\x{10FFFF}]", r"\P{Cs}")]
    assert tables[0] == tables[1] == tables[2]
