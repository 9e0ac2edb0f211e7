"""encode_with_unstable: tiktoken's approximate answer, quirks included."""

from __future__ import annotations

import random

import nasty
import oracle
import pytest
from oracle import RANDOM_STRINGS

from streamtok.whole import unstable


def as_sets(answer) -> tuple[list[int], set[tuple[int, ...]]]:
    stable, completions = answer
    assert all(isinstance(sequence, list) for sequence in completions)
    return stable, {tuple(sequence) for sequence in completions}


def texts() -> list[str]:
    rng = random.Random(9)
    chosen = [text for text in nasty.FIXED if len(text) < 20]
    chosen = chosen[:: 15 if oracle.LONG else 60] + list(nasty.random_strings(rng, min(RANDOM_STRINGS // 400, 400), 8))
    return [*chosen, "hello fanta", "hello fantas", "we'", "a\n", " ", "  \n"]


def test_stable_ids_and_completions_are_tiktokens(family):
    _, ours, theirs = family
    for text in texts():
        got = as_sets(ours.encode_with_unstable(text, disallowed_special=()))
        assert got == as_sets(theirs.encode_with_unstable(text, disallowed_special=())), text


def test_special_tokens_are_tiktokens(family):
    _, ours, theirs = family
    for text in ("a<|endoftext|>", "<|endoftext|>b", "<|endoftext|>", "a<|endoftext|> b"):
        got = as_sets(ours.encode_with_unstable(text, allowed_special="all"))
        assert got == as_sets(theirs.encode_with_unstable(text, allowed_special="all")), text
        with pytest.raises(ValueError, match="disallowed"):
            ours.encode_with_unstable(text)


def test_completions_begin_with_the_text(enc):
    for text in texts():
        stable, completions = enc.encode_with_unstable(text, disallowed_special=())
        assert text.encode().startswith(enc.decode_bytes(stable))
        assert all(enc.decode_bytes(stable + sequence).startswith(text.encode()) for sequence in completions)


def test_damaged_vocabulary_is_tiktokens():
    _, ours, theirs = oracle.damaged_pair("small permuted")
    for text in texts():
        got = as_sets(ours.encode_with_unstable(text))
        assert got == as_sets(theirs.encode_with_unstable(text)), text


def test_the_last_character_of_any_text():
    for text in ("a", "bé", "é中", "a😀"):
        data = text.encode()
        assert unstable._last_character(data) == text[-1].encode()
        assert unstable._last_character(data + b"\xff") == b"\xff"
