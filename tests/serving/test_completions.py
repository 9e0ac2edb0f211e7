"""Where generation begins behind a prompt, and which tokens agree with the end of it."""

from __future__ import annotations

import random

import nasty
import numpy as np
import oracle
import pytest

COUNT = {"default": 75, "ci": 1_500, "long": 20_000}[oracle.PROFILE]
ALPHABET = [*nasty.ALPHABET, "http://", "word", "ing", " tokeniz"]


def brute_force(enc, prefix: bytes) -> list[tuple[int, bool]]:
    """All ordinary tokens that agree with a prefix, and whether each has all of it, one by one."""
    found = []
    for token in range(enc.max_token_value + 1):
        try:
            piece = enc.decode_single_token_bytes(token)
        except KeyError:
            continue
        agrees = piece.startswith(prefix) or prefix.startswith(piece)
        if agrees and token not in enc._special_token_values:
            found.append((token, piece.startswith(prefix)))
    return found


def check_every_continuation(enc, rng: random.Random, found, prompt: list[int], text: str) -> None:
    """Whatever follows, the ids of the whole text begin with those that the model gets, and the rest may be chosen."""
    for more in nasty.random_strings(rng, 5, 6, ALPHABET):
        whole = enc.encode(text + more, disallowed_special=())
        assert whole[: len(prompt)] == prompt, (text, more)
        left = found
        for token in whole[len(prompt) :]:
            left = left.after(token)
            if left is None:
                break
        assert left is None or more == "", (text, more)


@pytest.mark.parametrize("name", oracle.FAMILIES)
def test_no_continuation_is_excluded(name):
    enc, rng = oracle.ours(name), random.Random(name)
    for text in nasty.random_strings(rng, COUNT, 12, ALPHABET):
        ids = enc.encode(text, disallowed_special=())
        cut = rng.randint(0, len(ids))
        for given, behind in ((ids, b""), ([], text.encode()), (ids[:cut], enc.decode_bytes(ids[cut:]))):
            try:
                found = enc.completions(given, behind)
            except UnicodeDecodeError:
                continue  # the cut is inside a character
            prompt = given[: found.keep] + found.ids.tolist()
            assert enc.decode_bytes(prompt) + found.prefix == text.encode()
            check_every_continuation(enc, rng, found, prompt, text)


def test_tokens_are_those_of_all():
    enc, rng = oracle.ours("cl100k_base"), random.Random(1)
    texts = [*nasty.random_strings(rng, 12, 6, ALPHABET), " tokeniz", "http:", "\u00ff", "", " "]
    for text in texts:
        found = enc.completions(text=text)
        assert list(zip(found.tokens.tolist(), found.covers.tolist())) == brute_force(enc, found.prefix)


def test_a_prompt_that_ends_inside_a_word():
    enc = oracle.ours("cl100k_base")
    found = enc.completions(enc.encode("The link is http:"))
    assert (found.keep, found.ids.tolist(), found.prefix) == (4, [], b":")
    assert enc.encode_single_token("://") in found.tokens
    assert found.after(enc.encode_single_token("://")) is None
    with pytest.raises(ValueError, match="is no token that goes on with b':'"):
        found.after(enc.encode_single_token("a"))
    special = enc.encode("<|endoftext|>", allowed_special="all")
    found = enc.completions([*enc.encode("some"), *special])
    assert (found.keep, found.prefix, len(found.tokens)) == (2, b"", len(enc._mergeable_ranks))
    a, b = enc.encode_single_token("a"), enc.encode_single_token("b")
    found = enc.completions([a, b, *enc.encode(" and more")])  # "ab" is one token, which the caller did not choose
    assert (found.keep, found.ids.tolist(), found.prefix) == (3, [], b" more")
    found = enc.completions([a], "b and more")
    assert (found.keep, found.ids.tolist(), found.prefix) == (0, enc.encode("ab and"), b" more")
    lead = enc.encode_single_token(b"\xe4")
    found = enc.completions([a, lead, *enc.encode(" and more")])  # no UTF-8
    assert (found.keep, found.prefix) == (3, b" more")
    found = enc.completions([a, lead])
    assert found.prefix == b"a\xe4"
    assert found.after(a).prefix == b"\xe4"
    assert np.array_equal(found.after(a).covers, np.ones(len(found.after(a).tokens), bool))


def test_a_text_that_a_normalizer_leaves_as_it_is():
    from streamtok import Encoding
    from streamtok.patterns import CL100K

    ranks = oracle.ours("cl100k_base")._mergeable_ranks
    nfc = Encoding("nfc", pat_str=CL100K, mergeable_ranks=ranks, special_tokens={}, normalizer=[("NFC",)])
    assert nfc.completions(text="a link is http:").prefix == b":"
