"""Compiled patterns: the table cuts as the engines do, and as the `regex` package does by way of PatternSplitter."""

from __future__ import annotations

import functools
import random

import nasty
import pytest
from linear import assert_linear, cpu_seconds
from oracle import PROFILE
from pattern_runs import random_pattern, tiktoken_pieces
from table_runner import TableRunner

from streamtok.patterns import CL100K, O200K, R50K, levels
from streamtok.patterns import compile as compile_module
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
        (r"\s+$|.", "more than 7 ends"),
        (r"ab{1,3}c{9}d|.", "more than 7 ends"),
        (r"a.*z|.", "more than 7 ends"),
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


def test_random_patterns_against_tiktoken() -> None:
    """The patterns of test_custom.py, and those that leave text unmatched."""
    rng = random.Random(8)
    letters = ["a", "b", "A", "B", " ", "\n", "1", "é", "ſ", "s", "k", "\u212a", "中", "!"]
    tried = 0
    while tried < (5_000 if PROFILE == "long" else 80):
        pat_str = random_pattern(rng, rng.choice((0, 1, 1, 2))) + rng.choice(("|(?s:.)", "", r"|\w"))
        try:
            runner(pat_str)
        except ValueError:
            continue
        texts = ["".join(rng.choices(letters, k=rng.randint(1, 12))) for _ in range(12)]
        texts += ["".join(rng.choices("ab ", k=rng.randint(1, 16))) for _ in range(8)]
        for text, expected in zip(texts, tiktoken_pieces(pat_str, texts)):
            assert table_pieces(pat_str, text) == expected, (pat_str, text)
        tried += 1


def test_pieces_that_nothing_decides_for_long_need_few_marks() -> None:
    """Text that nothing matches is one piece, so the places where a match might have begun in it are forgotten."""
    for pat_str in (r"\s+$", r"ab*c|b+d", r"a{8}b", r"\w+(?!\S)"):
        texts = list(nasty.random_strings(random.Random(pat_str), 300, 20, ["a", "b", "c", "d", " ", "\n"]))
        for text, expected in zip(texts, tiktoken_pieces(pat_str, texts)):
            assert table_pieces(pat_str, text) == expected, (pat_str, text)


@each_pattern
def test_threads_that_lower_levels_hold_too_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The known patterns have no need to take them out; so the two ways to the table check each other."""
    monkeypatch.setattr(compile_module, "build", functools.partial(levels._build, lean=True))
    lean = TableRunner(compile_pattern.__wrapped__(PATTERNS[name]))
    for text in [*nasty.WHITE, *nasty.CASES, *nasty.random_strings(random.Random(name), 300, 20)]:
        assert lean.split(text) == runner(PATTERNS[name]).split(text), text


@pytest.mark.parametrize(
    "pat_str",
    [
        r"[ab]*a[ab]{20}c|(?s:.)",
        "a?" * 500 + "b",
        r"(?:a{100}){100}b|c",
        "|".join(f"[Ā-{chr(0x4E00 + n)}]x" for n in range(250)),
        "|".join("".join(random.Random(n).choices("abcdefghij", k=8)) for n in range(600)),
        "|".join(["[^\\r\\n\\p{L}\\p{N}]+x"] * 3000),
        "x" * 4000,
    ],
    ids=["states", "optional", "counted", "classes", "words", "long", "literal"],
)
def test_no_pattern_takes_long_to_compile(pat_str: str) -> None:
    def attempt() -> None:
        try:
            compile_pattern(pat_str)
        except NotCompilable:
            pass

    assert cpu_seconds(attempt) < 10


def test_many_states_compile_in_linear_time() -> None:
    assert_linear(lambda n: cpu_seconds(lambda: compile_pattern.__wrapped__(f"a{{1,{n}}}|b")), 1_600)


def test_damaged_tables_are_refused() -> None:
    table = compile_pattern(O200K)
    table.check()
    entries, ops, width = table.entries, table.ops, 4 * table.classes
    damaged = [
        (table._replace(table_version=99), "version 99"),
        (table._replace(classes=table.classes + 1), "number of entries"),
        (table._replace(states=0), "number of states"),
        (table._replace(class_index=table.class_index[2:]), "index of classes"),
        (table._replace(class_index=b"\xff\xff" + table.class_index[2:]), "block that is not there"),
        (table._replace(class_blocks=b"\0" + table.class_blocks[1:]), "class that is not there"),
        (table._replace(class_blocks=b"\xff" + table.class_blocks[1:]), "class that is not there"),
        (table._replace(entries=entries[:-4] + b"\xff\xff\0\0"), "state that is not there"),
        (table._replace(entries=b"\1\0\0\0" + entries[4:]), "state that is not there"),
        (table._replace(entries=entries[:width] + b"\0\0\xff\x2f" + entries[width + 4 :]), "op has no end"),
        (table._replace(ops=b"\0\0" + b"\0\x03" * (len(ops) // 2 - 1)), "an op"),
    ]
    for wrong, reason in damaged:
        with pytest.raises(ValueError, match=reason):
            wrong.check()
