"""What the tests of patterns share: the pieces that tiktoken makes, and those of PatternSplitter."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterable
from typing import Any

import pytest

from streamtok.patterns.splitter import PatternSplitter


def tiktoken_pieces(pat_str: str, texts: Iterable[str]) -> list[list[bytes]]:
    """tiktoken's own pieces: in a vocabulary that holds every substring, each piece is one token."""
    tiktoken = pytest.importorskip("tiktoken", reason="tiktoken is the oracle here")
    texts = list(texts)
    ranks = {bytes([value]): value for value in range(256)}
    for text in texts:
        for start in range(len(text)):
            for end in range(start + 1, len(text) + 1):
                ranks.setdefault(text[start:end].encode(), len(ranks))
    encoding = tiktoken.Encoding("probe", pat_str=pat_str, mergeable_ranks=ranks, special_tokens={})
    return [encoding.decode_tokens_bytes(encoding.encode_ordinary(text)) for text in texts]


def cut(text: str, spans: Any) -> list[bytes]:
    """The pieces of the text at spans, an array of rows (begin, end) in bytes."""
    data = text.encode()
    return [data[begin:end] for begin, end in spans.tolist()]


splitter = functools.cache(PatternSplitter)


def pieces_of(pat_str: str, text: str) -> list[bytes]:
    return cut(text, splitter(pat_str).split(text))


def random_pattern(rng: random.Random, depth: int) -> str:
    """A random pattern of the supported kinds, nested `depth` deep."""

    def item() -> str:
        kind = rng.random()
        atoms = r"a b s k \n 1 [ab] [^a] \w \s \S \p{L} \p{Lu} . [^\s\w] \d (?i:s) (?i:[k-l]) (?s:.)".split()
        if kind < 0.55 or not depth:
            body = rng.choice(atoms)
        elif kind < 0.85:
            body = rng.choice(("(?:", "(?:", "(?>")) + random_pattern(rng, depth - 1) + ")"
        elif kind < 0.95:
            return rng.choice(("(?=", "(?!")) + random_pattern(rng, depth - 1) + ")"
        else:
            return rng.choice(r"\b \B ^ $ (?m:^) (?m:$) \z \Z (?<=a) (?<!ab) (?<=\s|bb) (?<![^a])".split())
        if rng.random() < 0.5:
            return body
        return body + rng.choice("* + ? {2} {1,2} {2,} {0,2}".split()) + rng.choice(["", "", "?", "+"])

    return "|".join("".join(item() for _ in range(rng.randint(1, 3))) for _ in range(rng.randint(1, 3)))
