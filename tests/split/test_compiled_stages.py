"""Pre-tokenizers in turn, composed into one table: the pieces are those of Hugging Face's tokenizers."""

from __future__ import annotations

import random
from typing import Any

import nasty
import pytest
from table_runner import TableRunner

from streamtok import patterns
from streamtok.patterns import CL100K, O200K, table_of
from streamtok.patterns.compile import compile_pattern
from streamtok.patterns.compiled import NotCompilable
from streamtok.patterns.compose import (
    BYTE_LEVEL,
    ByteLevel,
    Digits,
    Punctuation,
    Split,
    Stage,
    UnicodeScripts,
    Whitespace,
    WhitespaceSplit,
    compose,
)  # fmt: skip

BEHAVIORS = ("Isolated", "Removed", "Contiguous", "MergedWithPrevious", "MergedWithNext")
THREES = Split("[0-9][0-9][0-9]")
WORDS = (
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"""
    r"""|\s*[\r\n]+|\s+(?!\S)|\s+"""
)
STAGES: dict[str, list[Stage]] = {
    "P1": [ByteLevel()],
    "P2": [Digits(True), ByteLevel()],
    "P8": [Split(r"\p{N}{1,3}"), Split("[一-龥぀-ゟ゠-ヿ]+"), Split(WORDS), ByteLevel(use_regex=False)],
    "o200k": [Split(O200K)],
    "cl100k as Oniguruma reads it": [Split(CL100K)],
    "words without blanks": [Whitespace()],
    "between blanks": [WhitespaceSplit(), Digits(True), Punctuation()],
    "words, then numbers": [Split(BYTE_LEVEL), Digits(), THREES],
    "two that wait": [Split(O200K), Split(WORDS)],
    "four": [Punctuation("Contiguous"), Split(BYTE_LEVEL), Digits(), THREES],
    "literal": [Split("'s", literal=True), Split(" ", "MergedWithNext", literal=True)],
    "blanks": [Split(" ", "MergedWithPrevious", literal=True)],
    "scripts": [UnicodeScripts()],
    "matches of nothing": [Split(r"a*|\s|'s"), ByteLevel()],
    "without numbers, and matches of nothing": [Split(r"(?:\d+(?:\.\d+)?)?", "Removed")],
    "no pattern": [Split("")],
} | {
    f"{behavior}{' inverted' * invert}": [Split(r"\d+|-|a[A-Z]*", behavior, invert), ByteLevel()]
    for behavior in BEHAVIORS
    for invert in (False, True)
}  # fmt: skip


def theirs(stages: list[Stage]) -> Any:
    """The pre-tokenizer of tokenizers with these stages."""
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is the oracle here")
    made, names = (
        tokenizers.pre_tokenizers,
        {"MergedWithPrevious": "merged_with_previous", "MergedWithNext": "merged_with_next"},
    )

    def one(stage: Stage) -> Any:
        if isinstance(stage, Split):
            pattern = stage.pattern if stage.literal else tokenizers.Regex(stage.pattern)
            return made.Split(pattern, names.get(stage.behavior, stage.behavior.lower()), invert=stage.invert)
        if isinstance(stage, ByteLevel):
            return made.ByteLevel(add_prefix_space=False, use_regex=stage.use_regex)
        if isinstance(stage, Digits):
            return made.Digits(individual_digits=stage.individual_digits)
        if isinstance(stage, Punctuation):
            return made.Punctuation(names.get(stage.behavior, stage.behavior.lower()))
        return getattr(made, type(stage).__name__)()

    return made.Sequence([one(stage) for stage in stages])


def spans(runner: TableRunner, text: str, cuts: tuple[int, ...] = ()) -> list[tuple[int, int]]:
    found, start = [], 0
    for end, dropped in runner.split(text, cuts):
        if not dropped:
            found.append((start, end))
        start = end
    return found


def runner_of(stages: list[Stage]) -> TableRunner:
    table = compose(stages)
    assert table is not None
    return TableRunner(table)


@pytest.mark.parametrize("name", STAGES)
def test_pieces_are_those_of_tokenizers(name: str) -> None:
    runner, theirs_ = runner_of(STAGES[name]), theirs(STAGES[name])
    texts = [*nasty.CONTRACTIONS, *nasty.NUMBERS, *nasty.WHITE, *nasty.MARKS]
    for text in [*texts, *nasty.random_strings(random.Random(name), 500, 16)]:
        assert spans(runner, text) == [span for _, span in theirs_.pre_tokenize_str(text)], text


def random_stage(rng: random.Random) -> Stage:
    patterns = [r"\d", r"\d{1,2}", r"\s+", r"a+b?|c", r"\w+(?!\S)|\s", r" ?\w+", r"[^\w\s]+|\s+(?!\S)", r"(?<!a)b|1"]
    behavior = rng.choice(BEHAVIORS)
    if rng.random() < 0.3:
        return rng.choice((Digits(rng.random() < 0.5), Punctuation(behavior), WhitespaceSplit(), Whitespace()))
    return Split(rng.choice(patterns), behavior, rng.random() < 0.3)


def test_random_stages() -> None:
    rng = random.Random(11)
    tried = 0
    while tried < 60:
        stages = [random_stage(rng) for _ in range(rng.randint(1, 4))]
        try:
            runner = runner_of(stages)
        except NotCompilable:
            continue
        tried += 1
        theirs_ = theirs(stages)
        for text in nasty.random_strings(rng, 100, 12, ["a", "b", "c", "1", "2", " ", "\n", "-", "é", "!"]):
            assert spans(runner, text) == [span for _, span in theirs_.pre_tokenize_str(text)], (stages, text)


def test_stages_that_split_nothing_make_no_table() -> None:
    assert compose([]) is compose([ByteLevel(use_regex=False)]) is None


@pytest.mark.parametrize(
    "stages, reason",
    [
        ([ByteLevel(), WhitespaceSplit()], "leaves out some of the letters"),
        ([ByteLevel(), Split("[a-z]+[0-9]é?")], "more than a set of letters or a pattern of printable ASCII"),
        ([ByteLevel(), Split("a(?=b)")], "more than a set of letters or a pattern of printable ASCII"),
        ([ByteLevel(), Digits(), ByteLevel()], "a second ByteLevel"),
        ([ByteLevel(add_prefix_space=True)], "in front of the text"),
        ([Split("", literal=True)], "empty text"),
        ([Split("a", "Sideways")], "unknown behavior"),
    ],
)
def test_what_cannot_be_composed_is_refused_with_the_stage(stages: list[Stage], reason: str) -> None:
    with pytest.raises(NotCompilable, match=reason):
        compose(stages)


def test_no_stage_is_taken_for_another():
    every = [
        ByteLevel(),
        ByteLevel(False),
        Digits(),
        Digits(True),
        Punctuation(),
        Whitespace(),
        WhitespaceSplit(),
        Split(" "),
    ]
    assert len(set(every)) == len(every)
    for white in (Whitespace(), WhitespaceSplit()):  # the first of two that are equal would be kept for both
        assert table_of((white, ByteLevel(False))) == compose((white, ByteLevel(False)))


def test_a_table_that_another_thread_takes_out(monkeypatch):
    """It is looked up once: between two looks it may be gone."""

    class Emptied(dict):
        def __contains__(self, key):
            found = super().__contains__(key)
            self.clear()
            return found

    monkeypatch.setattr(patterns, "_given", Emptied())
    table = compile_pattern(CL100K)
    patterns.give_table("a given one", table)
    assert patterns.table_of("a given one") is table
