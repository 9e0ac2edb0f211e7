"""Compiled patterns take linear time, whatever the text: each character is read once."""

from __future__ import annotations

import pytest
from linear import assert_linear, cpu_seconds, feed_all

import streamtok
from streamtok.native.encode import Coder
from streamtok.native.pattern import Pattern
from streamtok.patterns import O200K
from streamtok.patterns.compile import compile_pattern

PATTERNS = {
    "o200k": O200K,
    "bloom": r" ?[^(\s|[.,!?…。，、।۔،])]+",
    "marks": r"a{8}b",
}
# What keeps ends waiting, or changes between states with and without ops at every character.
UNITS = [
    "a'l",
    " \n\t",
    "'",
    "\n",
    " ",
    "1",
    "A\u0301",
    "a",
    "\u4e2d",
    "\u00e9\u0434\u4e2d\U0001f600",
    "aA'",
    "\n\u3000",
]


@pytest.mark.parametrize("name", PATTERNS)
def test_splitting_takes_linear_time(name: str) -> None:
    coder = Coder(streamtok.get_encoding("o200k_base")._vocab, Pattern(compile_pattern(PATTERNS[name])))
    for unit in UNITS:

        def whole(n: int, unit: str = unit) -> float:
            text = (unit * n).encode()
            return cpu_seconds(lambda: coder.piece_spans(text))

        assert_linear(whole, 1 << 17)

    def stream(n: int) -> float:
        chunks = ["a'l \n\t"] * n
        return cpu_seconds(lambda: feed_all(coder.stream(None, None, False), chunks))

    assert_linear(stream, 1 << 14)
