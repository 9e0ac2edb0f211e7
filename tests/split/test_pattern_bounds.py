"""Patterns that are long to read or to compile are refused within bounds, whichever engine would run them."""

from __future__ import annotations

import time

import pytest

from streamtok import Encoding
from streamtok.patterns.compile import compile_pattern
from streamtok.patterns.compose import ByteLevel, Split, compose
from streamtok.patterns.splitter import PatternSplitter

RANKS = {bytes([byte]): byte for byte in range(256)}
LETTERS = "".join("abcdegmnopqr"[i % 12] + chr(0x4E00 + i % 5000) for i in range(9_500))
SCRIPTS = (
    "Vai Bamum Lisu Lepcha Limbu Kayah_Li Rejang Cham Tai_Viet Saurashtra Javanese Balinese Sundanese Batak Buginese "
    "Buhid Hanunoo Tagbanwa Tai_Le New_Tai_Lue Tai_Tham Glagolitic Tifinagh Ogham Runic"
).split()

LONG = {
    "letters without case": f"(?i)k{LETTERS}",
    "letters under (?i), in a group": f"(?i:k{LETTERS})+",
    "edges of nested groups": "(?i)" + "(?:" * 90 + "|".join(LETTERS[:6000]) + ")+" * 90,
    "edges of words": r"\b" * 9_000 + "a",
    "classes, each another": "".join(rf"[^\p{{L}}{chr(0x4E00 + 7 * i)}]" for i in range(2000)),
    "a class of many properties": r"[" + r"\p{L}\w\P{Lu}" * 1500 + "]",
    "classes in classes": "[" * 9000 + "a" + "]" * 9000,
    "differences of classes": r"[\p{L}" + r"&&[^\p{Lu}b]" * 1500 + "]",
    "properties without a table": "".join(rf"\p{{{name}}}" for name in SCRIPTS),
    "sets that overlap": "|".join(f"[{chr(0x4E00 + i)}-{chr(0x6E00 + i)}]" for i in range(5000)),
    "look-behinds in look-behinds": "(?<=" * 95 + "a" * 9000 + ")" * 95,
    "loops of loops": "(?:" * 60 + "a" + ")+" * 60,
    "counts of counts": "(?:(?:(?:[a-b]|c){99}d){99}d){99}",
    "many counts": r"(?:[a-z]{99999}\w{99999}[^\s]{99999})+",
    "one after the other": "a" * 19_000,
    "a megabyte": "a|" * 500_000 + "b",
}


@pytest.mark.parametrize("name", LONG)
def test_a_pattern_is_refused_or_compiled_in_time(name):
    for attempt in (
        lambda: compile_pattern(LONG[name], "oniguruma"),
        lambda: Encoding("x", pat_str=LONG[name], mergeable_ranks=RANKS, special_tokens={}).encode("a"),
        lambda: compose((Split(LONG[name]), ByteLevel(False), Split(LONG[name]))),
    ):
        began = time.process_time()
        try:
            attempt()
        except ValueError as error:
            assert len(str(error)) < 500
        assert time.process_time() - began < 4  # alone on a machine at most 1.5


@pytest.mark.parametrize(
    "pat_str, message",
    [
        (LONG["counts of counts"], r"more than 10000 parts, or more than 200000 with each counted repeat written out"),
        (LONG["one after the other"], r"pat_str is too large for the regex package"),
        (LONG["classes, each another"], r"pat_str takes too long to read: .* \(at character \d+: "),
        (LONG["properties without a table"], r"pat_str takes too long to read"),
        (LONG["classes in classes"], r"nests more than 100 groups"),
    ],
)
def test_the_error_says_which_bound(pat_str, message):
    with pytest.raises(ValueError, match=message):
        Encoding("x", pat_str=pat_str, mergeable_ranks=RANKS, special_tokens={})


def test_patterns_below_the_bounds_split_as_before():
    for pat_str, pieces in ((r"a{2000}b|.", ["a" * 2000 + "b", "a"]), ("(?:ab|c){300}|.", ["ab" * 299 + "c", "a"])):
        spans = PatternSplitter(pat_str).split("".join(pieces)).tolist()
        assert spans == [[0, len(pieces[0])], [len(pieces[0]), len(pieces[0]) + 1]]


def test_stages_share_one_bound():
    stages = tuple(Split(rf"[^\p{{L}}{chr(0x4E00 + i)}]+x{LETTERS[:500]}") for i in range(31))
    began = time.process_time()
    with pytest.raises(ValueError):
        compose((*stages, ByteLevel(False)))
    assert time.process_time() - began < 4
