"""Patterns of random traits (csrc/split/rows.h): the core splits as tokenizers does, and no other traits are a row."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import pytest
import row_texts

import streamtok
from streamtok.native.encode import Coder
from streamtok.native.pattern import Pattern
from streamtok.patterns.compose import Split, compose
from streamtok.patterns.rows import row_of


class Traits(NamedTuple):
    """As st_traits, in the words of patterns, without what only one row has: Han, the end of a text, later numbers."""

    digits: str
    word: str
    prefix: str
    contraction: str
    other: str
    tail: str
    lines: bool
    apart: str
    ascii_word: bool


CHOICES = Traits(
    digits=("", "+", "{1,3}"),
    word=("letters", "marks", "case"),
    prefix=(" ?", r"[^\r\n\p{L}\p{N}]?", r"[^\r\n\p{L}\p{P}\p{S}]?"),
    contraction=("", "'(?:[sdmt]|ll|ve|re)|", "(?i:'s|'t|'re|'ve|'m|'ll|'d)|", "behind"),
    other=(r"[^\s\p{L}\p{N}]+", r"[^\s\p{L}\p{M}\p{N}]+", r"[\p{P}\p{S}]+"),
    tail=("", r"[\r\n]*", r"[\r\n/]*"),
    lines=(False, True),
    apart=("", "numbers", "kana"),
    ascii_word=(False, False, True),
)  # type: ignore[arg-type]
_BLANK, _ANY, _NO_OTHER = CHOICES.prefix
_LOWER, _CAPITALS = CHOICES.contraction[1:3]
_OTHERS, _, _VISIBLE = CHOICES.other
_BREAKS, _SLASH = CHOICES.tail[1:]
ROWS = {
    Traits("{1,3}", "letters", _ANY, _CAPITALS, _OTHERS, _BREAKS, True, "", False): "llama3",
    Traits("", "letters", _ANY, _CAPITALS, _OTHERS, _BREAKS, True, "", False): "qwen2",
    Traits("", "letters", _ANY, _CAPITALS, _OTHERS, "", True, "", False): "seed_coder",
    Traits("", "case", _ANY, "", _OTHERS, _SLASH, True, "", False): "tekken",
    Traits("{1,3}", "case", _ANY, "behind", _OTHERS, _SLASH, True, "", False): "o200k",
    Traits("+", "letters", _BLANK, _LOWER, _OTHERS, "", False, "", False): "r50k",
    Traits("{1,3}", "marks", _NO_OTHER, "", _VISIBLE, _BREAKS, True, "kana", True): "deepseek_v3",
}


def words_of(t: Traits) -> str:
    behind = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?" if t.contraction == "behind" else ""
    if t.word != "case":
        return t.prefix + (r"\p{L}+" if t.word == "letters" else r"[\p{L}\p{M}]+") + behind
    upper, lower = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
    return f"{t.prefix}{upper}*{lower}+{behind}|{t.prefix}{upper}+{lower}*{behind}"


def stages_of(t: Traits) -> tuple[Split, ...]:
    numbers = rf"\p{{N}}{t.digits}"
    cut = [numbers] if t.apart else []
    cut += ["[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"] if t.apart == "kana" else []
    ascii_word = r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|""" if t.ascii_word else ""
    contraction = "" if t.contraction == "behind" else t.contraction
    alone = "" if t.apart else (" ?" if t.prefix == " ?" else "") + numbers + "|"
    space = (r"\s*[\r\n]+|" if t.lines else "") + r"\s+(?!\S)|\s+"
    rest = f"{ascii_word}{contraction}{words_of(t)}|{alone} ?{t.other}{t.tail}|{space}"
    return tuple(Split(pattern) for pattern in (*cut, rest))


def check(t: Traits, texts: list[str]) -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is the oracle here")
    stages = stages_of(t)
    table = compose(stages)
    assert table is not None and row_of(table) == ROWS.get(t), t
    coder: Any = Coder(streamtok.get_encoding("cl100k_base")._vocab, Pattern(table, row_of(table)))
    made = tokenizers.pre_tokenizers
    engine = made.Sequence([made.Split(tokenizers.Regex(stage.pattern), "isolated") for stage in stages])
    for text in texts:
        offsets = [0]
        for character in text:
            offsets.append(offsets[-1] + len(character.encode()))
        assert coder.split(text) == [offsets[end] for _, (_, end) in engine.pre_tokenize_str(text)], (t, ascii(text))


@pytest.mark.parametrize("seed", range(4))
def test_random_traits_are_split_as_tokenizers_splits_them(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(6):
        check(Traits(*map(rng.choice, CHOICES)), list(row_texts.texts(rng.randrange(1 << 30), 60)))


@pytest.mark.parametrize("traits", ROWS, ids=ROWS.get)
def test_what_differs_from_a_row_in_one_trait_is_not_that_row(traits: Traits) -> None:
    rng = random.Random(ROWS[traits])
    check(traits, list(row_texts.texts(1, 60)))
    name = rng.choice(Traits._fields)
    for choice in {*getattr(CHOICES, name)} - {getattr(traits, name)}:
        changed = traits._replace(**{name: choice})
        table = compose(stages_of(changed))
        assert table is not None and row_of(table) == ROWS.get(changed), changed
