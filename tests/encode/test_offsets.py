"""Where tokens lie in the text."""

from __future__ import annotations

import random

import nasty
import oracle
import pytest


def test_offsets_are_those_of_tiktokens_decoding(pair):
    _, ours, theirs = pair
    for text in [*nasty.FIXED, *nasty.random_strings(random.Random(1), 1000), oracle.topics()[:20_000]]:
        ids, offsets = ours.encode_with_offsets(text, disallowed_special=())
        want_text, want = theirs.decode_with_offsets(ids.tolist())
        assert want_text == text and offsets.tolist() == want, text
        assert ours.decode_with_offsets(ids.tolist()) == (want_text, want)
        assert ids.dtype == "uint32" and offsets.dtype == "int64" and len(ids) == len(offsets)


def test_offsets_with_special_tokens(pair):
    _, ours, theirs = pair
    for text in nasty.SPECIALS:
        ids, offsets = ours.encode_with_offsets(text, allowed_special="all")
        assert (text, offsets.tolist()) == theirs.decode_with_offsets(ids.tolist())


def test_offsets_of_ids_in_another_order_are_tiktokens(family):
    _, ours, theirs = family
    rng = random.Random(2)
    tokens = list(ours._mergeable_ranks.values())
    for _ in range(500):
        ids = rng.choices(tokens, k=rng.randint(0, 6))
        try:
            want = theirs.decode_with_offsets(ids)
        except UnicodeDecodeError:
            with pytest.raises(UnicodeDecodeError):
                ours.decode_with_offsets(ids)
            continue
        assert ours.decode_with_offsets(ids) == want


def test_offsets_count_a_pair_of_surrogates_as_one_character(enc):
    ids, offsets = enc.encode_with_offsets("\ud83d\ude00 a \ud800 b")
    same = enc.encode_with_offsets("😀 a \ufffd b")
    assert ids.tolist() == same[0].tolist() and offsets.tolist() == same[1].tolist()
