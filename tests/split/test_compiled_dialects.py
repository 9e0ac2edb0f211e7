"""Oniguruma's dialect of patterns: the pieces are those of a Split of tokenizers; what is not certain is refused."""

from __future__ import annotations

import functools
import itertools
import random
import re
from typing import Any

import nasty
import pytest
from oracle import PROFILE
from table_runner import TableRunner

from streamtok.patterns.char_sets import Ranges, category, normal
from streamtok.patterns.compile import compile_pattern, read
from streamtok.patterns.read import Set
from streamtok.patterns.unicode_ranges import CATEGORIES, PROPERTIES

LONG = PROFILE == "long"

PATTERNS = [
    r"a{1,3}+",
    r"\d{2}+|a{2,}+b?",
    r"a{,2}b|(?:a|b){2}+",
    r"a{1,2}?b|a??b|\s{1,2}?1",
    r"a$|^b|\s$|[ab]+",
    r"\Aa|b\z|.",
    r"(?m:.)b|(?m:^a.)|.+",
    r"(?m).a|(?-m:.)+",
    r"\w+|[^\w\s]+",
    r"\W+|\b1|\Ba",
    r"[[:alpha:]]+|[[:digit:]]{2}|[[:^space:]]",
    r"[[:punct:][:blank:]]+|[[:word:]]+",
    r"[[:lower:]]+|\p{Lowercase}2|[[:upper:]][[:lower:]]",
    r"[[:upper:]]+|[[:alnum:]]+|[[:cntrl:]]|[[:print:]]",
    r"[[:graph:]]{2}|[[:xdigit:]]+|[[:ascii:]]",
    r"(?i:'s|'ve|'ll)|(?i:[k-l])",
    r"(?i:[kl])+|(?i:1|é)a",
    r"[a-z&&[^b]]+|[\w&&\D]|[^a&&b]",
    r"[\p{L}&&[^\p{Han}]]+|\p{^Han}\d|\P{^Han}",
    r"\h+|\H|\N",
    r"\R+|\R\s|\O",
    r"[]a]+|[^]b]|[a\]]",
    r"\x41|\x{4e00}|\u4e2d|[\x{4e00}-\x{9fa5}]+|\<",
    r"(?<name>a)b|(?#note)é",
    r"(?<!a)b|(?<=\s)a|(?=b)b(?!\s)",
    r"\p{Alphabetic}+|\p{Greek}|\p{Punctuation}|\p{punct}",
    r"(?>a|b)1|a?+b|(?:ab)+?",
]
ALPHABET = [
    *"aAbBcksS11 \n\n\r\t-_]<>'vVlLeE", "\x85", "\u00a0", "\u2028", "²", "½", "Ⅷ", "中", "一", "é", "É", "ß", "ſ",
    "\u212a",
    "\u0301", "\u200d", "σ", "ς", "ʰ", "\u0345", "€", "😀", "ʕ", "\x00", "\u0378", "ⓐ", "\r\n", "'s",
]  # fmt: skip


@functools.cache
def pre_tokenizers() -> Any:
    return pytest.importorskip("tokenizers", reason="tokenizers is the oracle here").pre_tokenizers


def split_by(pat_str: str, behavior: str = "isolated") -> Any:
    import tokenizers

    return pre_tokenizers().Split(tokenizers.Regex(pat_str), behavior)


@pytest.mark.parametrize("pat_str", PATTERNS)
def test_pieces_are_those_of_oniguruma(pat_str: str) -> None:
    runner = TableRunner(compile_pattern(pat_str, "oniguruma"))
    theirs = split_by(pat_str)
    for text in nasty.random_strings(random.Random(pat_str), 600, 12, ALPHABET):
        starts = [0, *(end for end, _ in runner.split(text))]
        assert list(itertools.pairwise(starts)) == [span for _, span in theirs.pre_tokenize_str(text)], text


@pytest.mark.parametrize(
    "pat_str, reason",
    [
        (r"(?s:.)", "flag 's'"),
        (r"(?x: a)", "flag 'x'"),
        (r"a(?i)b", "for what follows"),
        (r"a{2}?", "behind a count"),
        (r"a{,}", "without numbers"),
        (r"a{1,2}{3}", "quantifier on a quantifier"),
        (r"a{1,2}++b", "quantifier on a quantifier"),
        (r"(?P<n>a)", "Python's spelling"),
        (r"\pL", "without braces"),
        (r"\p{Script=Greek}", "does not know"),
        (r"\p{IsL}", "does not know"),
        (r"[[:nothing:]]", "unknown class"),
        (r"[a-z--b]", "-- in a class"),
        (r"[a~~b]", "~~ in a class"),
        (r"(?i:ß)", "stands for several"),
        (r"(?i:[Þ-à])", "stands for several"),
        (r"(?i:ss)", "'ss' under"),
        (r"(?i:s(?:t|u))", "'st' under"),
        (r"(?i:s{2})|a", "'ss' under"),
        (r"(?i:\p{Lu})", "under \\(\\?i\\)"),
        (r"(?i:[^k])", "differs between engines"),
        (r"(?i:[[:upper:]])", "differs between engines"),
        (r"\xe9", "does not"),
        (r"\U0001F600", "does not"),
        (r"\u{e9}", "does not"),
        (r"\101", "back-reference"),
        (r"\cA", "does not know"),
        (r"\X", "grapheme"),
        (r"\y", "text segment"),
        (r"\Ka", "does not support"),
        (r"(?~a)", "absent"),
        (r"a\Z", "more than one character"),
    ],
)
def test_what_is_not_certain_is_refused(pat_str: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        compile_pattern(pat_str, "oniguruma")


def test_unknown_dialect_is_refused() -> None:
    with pytest.raises(ValueError, match="no dialect of patterns is called 'perl'"):
        compile_pattern("a", "perl")


# ==== All code points ====

CLASSES = r"\p{L} \p{M} \p{N} \p{P} \p{S} \p{Lu} \p{Ll} \p{Lt} \p{Lm} \p{Lo} \p{Han} \p{Lowercase} \s \w \d".split()
if LONG:
    CLASSES += [f"[[:{name}:]]" for name in "alpha lower upper punct graph print".split()]
    CLASSES += [rf"\p{{{name}}}" for name in [*"ZC", "LC", *sorted({*CATEGORIES, *PROPERTIES} - {"Cs"})]]


def characters() -> str:
    """Both ends of each run of characters of one category and their neighbours; the long profile takes all that are
    assigned, and some of the rest."""
    if LONG:
        codes = {*range(0x33500), *range(0xE0000, 0xE0200), 0xF0000, 0x10FFFF}
    else:
        edges = [edge for name in CATEGORIES for ends in category(name) for edge in ends]
        codes = {code for edge in edges for code in (edge - 1, edge, edge + 1)} & set(range(0x110000))
    return "".join(chr(code) for code in sorted(codes) if not 0xD800 <= code < 0xE000)


EVERY = characters()


def expected(name: str, dialect: str) -> Ranges:
    tree = read(name, dialect)
    assert isinstance(tree, Set)
    held = TableRunner(compile_pattern(f"{name}+|(?m:.)" if dialect == "oniguruma" else f"{name}+|(?s:.)", dialect))
    inside = held.class_of(chr(tree.ranges[0][0]))
    by_table = {c for c in EVERY if held.class_of(c) == inside}
    by_tree = {chr(code) for low, high in tree.ranges for code in range(low, high + 1)} & set(EVERY)
    assert by_table == by_tree
    return normal((ord(c), ord(c)) for c in by_table)


@pytest.mark.parametrize("name", CLASSES)
def test_every_character_of_a_class(name: str) -> None:
    found = split_by(f"{name}+", "removed").pre_tokenize_str(EVERY)
    left = {EVERY[at] for _, (begin, end) in found for at in range(begin, end)}
    assert normal((ord(c), ord(c)) for c in EVERY if c not in left) == expected(name, "oniguruma")
    tiktoken = pytest.importorskip("tiktoken", reason="tiktoken is the oracle here")
    singles = {bytes([value]): value for value in range(256)}
    probe = tiktoken.Encoding("probe", pat_str=name, mergeable_ranks=singles, special_tokens={})
    matched = bytes(probe.encode_ordinary(EVERY)).decode()
    assert normal((ord(c), ord(c)) for c in matched) == expected(name, "tiktoken")


def test_characters_that_fold_are_those_of_tokenizers() -> None:
    """Each character that (?i) takes for others, but those that Oniguruma takes for several."""
    from streamtok.patterns.char_sets import _orbit_of

    orbits = [orbit for orbit in set(_orbit_of().values()) if all(len(chr(c).casefold()) == 1 for c in orbit)]
    text = "".join(chr(c) for orbit in sorted(set(_orbit_of().values())) for c in orbit)
    rng = random.Random(3)
    for orbit in rng.sample(sorted(orbits), 150):
        first = chr(rng.choice(orbit))
        found = split_by(f"(?i:{re.escape(first)})", "removed").pre_tokenize_str(text)
        left = {text[at] for _, (begin, end) in found for at in range(begin, end)}
        assert {c for c in text if c not in left} == set(map(chr, orbit)), first
