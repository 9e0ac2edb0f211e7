"""Encodings with one vocabulary for every row of patterns."""

from __future__ import annotations

import functools

import streamtok
from streamtok.patterns.rows import ROWS


@functools.cache
def row_encoding(row: str) -> streamtok.Encoding:
    """The ranks of cl100k_base behind the pattern of a row."""
    ranks = streamtok.get_encoding("cl100k_base")._mergeable_ranks
    special = {"<|endoftext|>": 100_257, "<|endofprompt|>": 100_276}
    return streamtok.Encoding(f"cl100k by {row}", pat_str=ROWS[row], mergeable_ranks=ranks, special_tokens=special)  # type: ignore[arg-type]
