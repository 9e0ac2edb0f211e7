"""What the tests of patterns share: the pieces that tiktoken makes, and those of PatternSplitter."""

from __future__ import annotations

import functools
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
