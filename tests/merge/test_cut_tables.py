"""The tables behind exact cuts (csrc/cut/cut_tables.h), read from an image: all pairs that tokens join, few others."""

from __future__ import annotations

import itertools
import random

import numpy as np
import oracle
import pytest

import streamtok
from streamtok.native.vocab import Vocab

SIZES = {
    "pairs": 1 << 17,
    "partials": 1 << 17,
    "near": 1 << 17,
    "ascii": 2048,
    "characters": 1 << 18,
    "left": 256,
    "right": 256,
    "shifts": 2,
}
SURE = 0x80


def tables_of(vocab: Vocab) -> dict[str, np.ndarray]:
    image = vocab.to_image()
    start, size = Vocab.image_header(image)[2]["cuts"]
    found = {}
    for name, length in SIZES.items():
        found[name] = np.frombuffer(image, np.uint8, length, start)
        start, size = start + length, size - length
    assert size == 62  # unused
    found["near"] = found["near"].view(np.uint16).reshape(256, 256)
    return found


def random_vocabulary(seed: int) -> Vocab:
    """A vocabulary with far more tokens that begin or end inside characters than a trained one has."""
    rng, ranks = random.Random(seed), {bytes([i]): i for i in range(256)}
    alphabet = rng.choice(["аб в", "数据的 我们", "🙂👋 é", "สวัสดี a", "".join(map(chr, range(0x4E00, 0x4F00)))])
    for _ in range(rng.choice((3, 300, 5000))):
        text = "".join(rng.choices(alphabet, k=rng.randint(2, 4))).encode()
        first = rng.randrange(len(text) - 1)
        ranks.setdefault(text[first : rng.randint(first + 2, len(text))], len(ranks))
    return streamtok.Encoding("random", pat_str=r"\S+|\s+", mergeable_ranks=ranks, special_tokens={})._vocab


def character_pairs(token: bytes) -> list[tuple[int, int]]:
    """Neighbours among a token's whole characters, not both of ASCII, as numbers made of their bytes."""
    text = token.decode("utf-8", "ignore")  # without the parts at its ends
    if text.encode() not in token:
        return []
    numbers = [int.from_bytes(character.encode(), "big") for character in text]
    return [pair for pair in itertools.pairwise(numbers) if max(pair) >= 0x80]


def hash_of(left: int, right: int) -> int:
    return ((left << 32 | right) * 0x9E3779B97F4A7C15 >> 32) & 0xFFFFFFFF


VOCABULARIES = {
    **{name: lambda name=name: oracle.named(name)._vocab for name in ("r50k_base", "cl100k_base", "o200k_base")},
    **{f"random {seed}": lambda seed=seed: random_vocabulary(seed) for seed in range(12)},
}


@pytest.mark.parametrize("name", VOCABULARIES)
def test_classes_of_bytes_leave_no_open_border_out(name):
    found = tables_of(VOCABULARIES[name]())
    near, common = found["near"], found["left"][:, None] & found["right"][None, :]
    assert (common[near != 0] != 0).all()
    assert near.any() and np.count_nonzero(common) <= 20 * np.count_nonzero(near)


@pytest.mark.parametrize("name", VOCABULARIES)
def test_a_sure_border_is_one_that_a_token_reaches_over(name):
    vocab = VOCABULARIES[name]()
    found = tables_of(vocab)
    tokens = [vocab.token_bytes(i) for i in range(vocab.count)]
    reached = {token[i : i + 2] for token in tokens for i in range(len(token) - 1) if len(token) == i + 2}
    sure = np.argwhere((found["left"][:, None] & found["right"][None, :] & SURE) != 0)
    assert all(left == ord(" ") and right >= 0xC2 and bytes([left, right]) in reached for left, right in sure.tolist())


@pytest.mark.parametrize("name", VOCABULARIES)
def test_every_pair_of_characters_in_a_token_is_there(name):
    vocab = VOCABULARIES[name]()
    found = tables_of(vocab)
    shift = int(found["shifts"][0])
    bits = np.unpackbits(found["pairs"], bitorder="little")
    pairs = {pair for i in range(vocab.count) for pair in character_pairs(vocab.token_bytes(i))}
    assert all(bits[hash_of(*pair) >> shift] for pair in pairs)
    assert 12 <= shift <= 19 and not bits[1 << (32 - shift) :].any()
    assert bits.sum() <= len(pairs) + 50 or name.startswith("random")
    assert shift == 12 or bits.sum() <= (1 << (32 - shift)) / 32
