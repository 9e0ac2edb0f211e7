"""Special tokens in whole texts: which are found, which are refused, which are ordinary text."""

from __future__ import annotations

import itertools
import random

import pytest

import streamtok


def test_every_special_token_of_every_encoding(pair):
    _, ours, theirs = pair
    for name in ours.special_tokens_set:
        text = f"a {name} b{name}"
        options = {"allowed_special": {name}, "disallowed_special": ()}
        assert ours.encode(text, **options) == theirs.encode(text, **options)
        token = ours.encode_single_token(name)
        assert ours.is_special_token(token) and ours.decode([token]) == theirs.decode([token])
        with pytest.raises(ValueError, match="disallowed special token"):
            ours.encode(text)


def test_facts_about_special_tokens(pair):
    _, ours, theirs = pair
    assert ours.special_tokens_set == theirs.special_tokens_set
    assert ours.eot_token == theirs.eot_token
    assert ours.max_token_value == theirs.max_token_value and ours.n_vocab == theirs.n_vocab
    for token in (0, 255, 50256, 100_257, 199_999, 200_018, ours.max_token_value, -1, 10**7):
        assert ours.is_special_token(token) == theirs.is_special_token(token)


def test_encoding_without_an_end_of_text_token(tiny):
    enc = streamtok.Encoding(
        "bare", pat_str=tiny._pat_str, mergeable_ranks=tiny._mergeable_ranks, special_tokens={"<s>": 900}
    )
    with pytest.raises(KeyError):
        _ = enc.eot_token
    assert enc.encode("<|endoftext|>") == enc.encode_ordinary("<|endoftext|>")
    assert enc.n_vocab == 901


def test_names_may_be_any_text(tiny):
    """Regex syntax, white space, other scripts, one character, a name inside another, a name like an ordinary token."""
    names = ["(.*)", "a|b", " ", "\n\n", "特殊", "[", "\\", "😀", "abc", "x" * 300, "a.b", "^$", "<a><b>", "<b>"]
    special = {name: 1000 + n for n, name in enumerate(names)}
    enc = streamtok.Encoding(
        "odd", pat_str=tiny._pat_str, mergeable_ranks=tiny._mergeable_ranks, special_tokens=special
    )
    tiktoken = pytest.importorskip("tiktoken")
    theirs = tiktoken.Encoding(
        "odd", pat_str=enc._pat_str, mergeable_ranks=enc._mergeable_ranks, special_tokens=special
    )
    rng = random.Random(2)
    for _ in range(2000):
        text = "".join(rng.choice([*names, "q", "1", "é", "<a>", "x" * 299]) for _ in range(rng.randint(1, 8)))
        want = theirs.encode(text, allowed_special="all")
        assert enc.encode(text, allowed_special="all") == want, text
        cut = rng.randint(0, len(text))
        stream = enc.stream_encoder(allowed_special="all")
        got = stream.feed(text[:cut]).tolist() + stream.feed(text[cut:]).tolist() + stream.flush().tolist()
        assert got == want, (text[:cut], text[cut:])
        assert enc.decode(want) == text


def test_same_sets_of_names_are_looked_up_not_built_again(enc):
    for _ in range(3):
        for names in itertools.combinations(sorted(enc.special_tokens_set), 2):
            enc.encode("text", allowed_special=set(names))
    for n in range(500):  # many different sets: what is kept stays bounded
        enc.encode("text", disallowed_special={f"<|{n}|>"})
    assert len(enc._names.kept) <= 64
