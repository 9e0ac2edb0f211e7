"""What save() writes load() takes: every bundled encoding, ids with gaps, two names of one id."""

from __future__ import annotations

import random

import nasty
import oracle
import pytest

import streamtok
from streamtok.train import load, save

FORMS = ("a.tiktoken", "tokenizer.json", "folder")
# What is saved in the two large forms: each pattern, ranks with gaps, many special tokens; in the long profile all.
USUAL = {"tokenizer.json": ("p50k_edit", "cl100k_base", "o200k_harmony"), "folder": ("p50k_edit", "o200k_base")}
ALL = [
    pytest.param(name, form, marks=[] if name in USUAL.get(form, oracle.NAMES) else [pytest.mark.long])
    for name in oracle.NAMES
    for form in FORMS
]


def check(encoding: streamtok.Encoding, again: streamtok.Encoding, count: int) -> None:
    assert again._mergeable_ranks == encoding._mergeable_ranks and again._pat_str == encoding._pat_str
    assert again._special_tokens == encoding._special_tokens and again.n_vocab == encoding.n_vocab
    assert again.special_tokens_set == encoding.special_tokens_set
    rng = random.Random(count)
    for text in (*nasty.FIXED, *nasty.random_strings(rng, count, 60), oracle.topics()[:20_000]):
        text += "".join(rng.choices(sorted(encoding.special_tokens_set) or [""], k=2))
        assert again.encode(text, allowed_special="all") == encoding.encode(text, allowed_special="all")
        assert again.encode(text, disallowed_special=()) == encoding.encode(text, disallowed_special=())


@pytest.mark.parametrize(("name", "form"), ALL)
def test_a_bundled_encoding_comes_back_as_it_was(name, form, tmp_path):
    encoding = streamtok.get_encoding(name)
    save(encoding, tmp_path / form)
    check(encoding, load(tmp_path / form), 100)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(6))
def test_gaps_and_two_names_of_one_id_come_back(form, seed, tmp_path):
    rng = random.Random(seed)
    ids = iter(sorted(rng.sample(range(2000), 400)))
    ranks = {bytes([value]): next(ids) for value in rng.sample(range(256), 256)}
    for pair in (b"th", b"the", b" a", b"ab", b"abab", b"\n\n", b"er", b" t", b"\xc3\xa9"):
        ranks[pair] = next(ids)
    special = {f"<|{i}|>": rng.randrange(2000, 2500) for i in range(rng.randrange(5))}
    if seed % 2 and special:
        special["<|again|>"] = special["<|0|>"]
    pattern = rng.choice([streamtok.patterns.O200K, streamtok.patterns.R50K, r"\w+|\W+"])
    encoding = streamtok.Encoding("gaps", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)
    save(encoding, tmp_path / form)
    check(encoding, load(tmp_path / form), 40)


def test_a_special_token_that_was_lost_is_noticed(tmp_path, make_tiny):
    """Also if its id is not the highest, so that n_vocab is unchanged."""
    save(make_tiny(), tmp_path / "a.tiktoken")
    facts = tmp_path / "a.tiktoken.json"
    facts.write_text(facts.read_text().replace('"<|xy|>": 1001,', "").replace('"<|x|>": 1000,', ""))
    with pytest.raises(streamtok.VocabularyError, match="'tokens' is 270, and it is 268 by the tokens"):
        load(tmp_path / "a.tiktoken")
