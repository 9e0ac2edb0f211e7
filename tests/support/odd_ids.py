"""Encodings whose ids are not the places of their tokens."""

from __future__ import annotations

import json
import pathlib
import random

import pytest

import streamtok


def of_gaps() -> streamtok.Encoding:
    """Ids in the order of tokens, with gaps; those of special tokens lie below, between and far above."""
    pairs = [bytes([a, b]) for a in range(97, 123) for b in range(97, 123)]
    tokens = [*(bytes([value]) for value in range(256)), *pairs, b"abababababababab", b"abababababababa"]
    ranks = {token: 5 + 3 * number for number, token in enumerate(tokens)}
    special = {"<a>": 0, "<b>": 7, "<c>": 2**31 - 1}
    return streamtok.Encoding("gaps", pat_str=streamtok.patterns.CL100K, mergeable_ranks=ranks, special_tokens=special)


def of_any_order(folder: pathlib.Path) -> streamtok.Encoding:
    """Ids in no order, with special and other added tokens."""
    small = pytest.importorskip("small_models", exc_type=ImportError)
    made = small.record()
    ids = list(range(len(made["model"]["vocab"])))
    random.Random(7).shuffle(ids)
    made["model"]["vocab"] = dict(zip(made["model"]["vocab"], ids))
    made = small.added(small.added(made, "<s>", "</s>", special=True), "<tool>")
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(made), encoding="utf-8")
    return streamtok.Encoding.from_file(path)
