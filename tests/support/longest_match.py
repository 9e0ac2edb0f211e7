"""Longest match by its definition, and random vocabularies and texts for it."""

from __future__ import annotations

import random

BYTES = {bytes([value]): value for value in range(256)}
ALPHABETS = ("ab", "aab ", "a b", "abcé", "aé漢 b", "xyz\n ")
WORDS = r"[a-z]+| ?[^\sa-z]+|\s+"


def longest(tokens: dict[bytes, int], text: bytes) -> list[int]:
    sizes = sorted({len(token) for token in tokens}, reverse=True)
    ids, at = [], 0
    while at < len(text):
        token = next(text[at : at + n] for n in sizes if text[at : at + n] in tokens)
        ids.append(tokens[token])
        at += len(token)
    return ids


def random_tokens(rng: random.Random, alphabet: str) -> dict[bytes, int]:
    """The single bytes, and random strings: short and long ones, some that begin or end inside a character."""
    ids = rng.sample(range(256, 2000), 400)
    tokens = dict(BYTES)
    for _ in range(rng.choice((0, 3, 10, 60, 300))):
        size = rng.randint(2, rng.choice((3, 6, 20, 80)))
        token = "".join(rng.choices(alphabet, k=size)).encode()
        token = token[rng.randint(0, 1) : len(token) - rng.randint(0, 1)]
        if token and token not in tokens:
            tokens[token] = ids.pop()
    return tokens


def random_text(rng: random.Random, alphabet: str) -> str:
    if rng.random() < 0.2:
        return rng.choice(alphabet) * rng.choice((100, 1000, 5000))
    return "".join(rng.choices(alphabet, k=rng.choice((0, 1, 5, 40, 300))))
