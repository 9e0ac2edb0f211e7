"""Ids that are, or are not, what encoding their own text gives."""

from __future__ import annotations

import random

import nasty
import numpy as np
import oracle
import pytest

END = "<|endoftext|>"


def brute_force(enc, ids: list[int]) -> int | None:
    made = enc.encode(enc.decode_bytes(ids).decode(errors="replace"), allowed_special="all")
    if made == ids:
        return None
    same = [a == b for a, b in zip(made, ids)]
    return same.index(False) if False in same else min(len(made), len(ids))


def respelled(enc, rng: random.Random, ids: list[int]) -> list[int]:
    """One of the tokens in two, where it can be."""
    ids = list(ids)
    for at in rng.sample(range(len(ids)), len(ids)):
        piece = enc.decode_single_token_bytes(ids[at])
        if len(piece) > 1 and ids[at] not in enc._special_token_values:
            cut = rng.randint(1, len(piece) - 1)
            ids[at : at + 1] = [*enc._encode_single_piece(piece[:cut]), *enc._encode_single_piece(piece[cut:])]
            break
    return ids


@pytest.mark.parametrize("name", oracle.FAMILIES)
def test_random_ids(name):
    enc, rng = oracle.ours(name), random.Random(name)
    for text in nasty.random_strings(rng, 300, 30, [*nasty.ALPHABET, END]):
        ids = enc.encode(text, allowed_special="all")
        for row in (ids, respelled(enc, rng, ids), [rng.randrange(5000) for _ in range(4)]):
            found = enc.first_difference(row)
            assert found == brute_force(enc, row), (text, row)
            assert enc.is_canonical(np.array(row, np.int64)) is (found is None)
            check, answers = enc.canonical_check(), []
            for part in oracle.random_cuts(rng, row):
                answers.append(check.feed(part))
            assert all(answer in (None, found) for answer in answers)
            assert check.finish() == found
            assert check.finish() is None


def test_names_of_special_tokens():
    enc = oracle.ours("cl100k_base")
    spelled = enc.encode(f"a{END}b", disallowed_special=())
    assert enc.first_difference(spelled) == 1
    assert enc.is_canonical(spelled, allowed_special=set())
    special = enc.encode(f"a{END}b", allowed_special="all")
    assert enc.is_canonical(special)
    assert enc.first_difference(special, allowed_special=set()) == 1


def test_bytes_that_are_no_text():
    enc = oracle.ours("cl100k_base")
    a, lead = enc.encode_single_token("a"), enc.encode_single_token(b"\xe4")
    assert enc.first_difference([a, lead, a]) == 1
    assert enc.first_difference([a, lead]) == 1
    check = enc.canonical_check()
    assert check.feed([a, lead]) is None
    assert check.finish() == 1
    assert enc.first_difference([a, a, lead, a]) == 0  # "aa" is one token in front of U+FFFD
    assert enc.first_difference([a, a, *enc.encode(" and more words"), lead, a]) == 0  # one token
    with pytest.raises(KeyError, match="10000000"):
        check.feed([10**7])
    assert check.feed(enc.encode("hello world")) is None
    assert check.finish() is None
    assert enc.is_canonical([])


def test_long_ids_in_parts_of_any_size():
    enc, rng = oracle.ours("o200k_base"), random.Random(2)
    ids = enc.encode(oracle.topics())
    at = len(ids) * 3 // 4
    wrong = [*ids[:at], *respelled(enc, rng, ids[at : at + 10]), *ids[at + 10 :]]
    want = brute_force(enc, wrong)
    assert want is not None
    assert (enc.first_difference(wrong), enc.is_canonical(ids)) == (want, True)
    assert enc.first_difference(ids[:-1] + [ids[-1], enc.encode_single_token(b"\xe4")]) == len(ids)
    for sizes in ((1000, 5000), (100_000,), (10**6,)):
        check = enc.canonical_check()
        for part in oracle.random_cuts(rng, wrong, sizes):
            check.feed(part)
        assert check.finish() == want
