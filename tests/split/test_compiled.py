"""Compiled patterns: the table cuts as the engines do, and as the `regex` package does by way of PatternSplitter."""

from __future__ import annotations

import functools
import random

import nasty
import pytest
from pattern_runs import tiktoken_pieces
from table_runner import TableRunner

from streamtok.patterns import CL100K, O200K, R50K
from streamtok.patterns.compile import compile_pattern
from streamtok.patterns.compiled import NotCompilable

_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_SPACE = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_NO_HAN = r"&&[^\p{Han}]]"
PATTERNS = {
    "r50k": R50K,
    "cl100k": CL100K,
    "o200k": O200K,
    "P1": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "P3": rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_SPACE}",
    "P4": rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_SPACE}",
    "P4b": rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}"
    rf"| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|{_SPACE}",
    "P6": rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*|\p{{N}}"
    rf"| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_SPACE}",
    "P7": r"[\p{Han}]+|" + O200K.replace(r"\p{M}]", r"\p{M}" + _NO_HAN).replace(r"[\r\n/]*", r"[\r\n]*"),
    "bloom": r" ?[^(\s|[.,!?…。，、।۔،])]+",
}
STATES = {"r50k": 12, "cl100k": 20, "o200k": 26, "P1": 12, "P3": 20, "P4": 18, "P4b": 18, "P6": 19, "P7": 27}
each_pattern = pytest.mark.parametrize("name", PATTERNS)


@functools.cache
def runner(pat_str: str) -> TableRunner:
    return TableRunner(compile_pattern(pat_str))


def table_pieces(pat_str: str, text: str) -> list[bytes]:
    """The pieces of the text that are not dropped."""
    pieces, start = [], 0
    for end, dropped in runner(pat_str).split(text):
        if not dropped:
            pieces.append(text[start:end].encode())
        start = end
    return pieces


@each_pattern
def test_pieces_are_those_of_tiktoken(name: str) -> None:
    texts = [*nasty.CONTRACTIONS, *nasty.NUMBERS, *nasty.WHITE, *nasty.random_strings(random.Random(1), 400, 14)]
    for text, expected in zip(texts, tiktoken_pieces(PATTERNS[name], texts)):
        assert table_pieces(PATTERNS[name], text) == expected, text


@pytest.mark.parametrize("name", STATES)
def test_known_patterns_stay_small(name: str) -> None:
    assert compile_pattern(PATTERNS[name]).states == STATES[name]


@pytest.mark.parametrize(
    "pat_str, reason",
    [
        (r"a*", "empty text"),
        (r"\s+$|.", "more than 4 ends"),
        (r"a.*z|.", "more than 4 ends"),
        (r"\w+(?=\s+\d)|.", "ahead at more than one"),
        (r"(?<=ab)c|.", "behind at more than one"),
        (r"(?>a|ab)c|.", "atomic group"),
        (r"(?:ab)*+c|.", "possessive"),
        (r"(?:a?)+b|.", "can match nothing"),
        (r"(?:a{1000}){1000}b|.", "counted repeats"),
    ],
)
def test_what_has_no_table_is_refused_with_the_construct(pat_str: str, reason: str) -> None:
    with pytest.raises(NotCompilable, match=reason):
        compile_pattern(pat_str)
