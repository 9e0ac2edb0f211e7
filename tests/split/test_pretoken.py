"""The split into pieces, compared with tiktoken's pieces and with the specifications in ../shared/split_rules."""

from __future__ import annotations

import itertools
import random

import hypothesis
import hypothesis.strategies as st
import nasty
import numpy as np
import oracle
import pytest
from pattern_runs import tiktoken_pieces

from streamtok.native.pattern import last_sync_point

each_family = pytest.mark.parametrize("name", oracle.FAMILIES)


def pieces(name: str, text: str) -> list[bytes]:
    data = text.encode()
    ends = oracle.ours(name)._coder.split(text)
    return [data[a:b] for a, b in zip([0, *ends], ends)]


@each_family
def test_pieces_of_nasty_strings_are_tiktokens(name):
    rng = random.Random(name)
    texts = [text for text in nasty.FIXED if len(text) < 80]
    texts += [*nasty.random_strings(rng, oracle.RANDOM_STRINGS // 4, 14), *nasty.short_strings(2)]
    for at in range(0, len(texts), 500):
        part = texts[at : at + 500]
        for text, want in zip(part, tiktoken_pieces(oracle.PATTERNS[name], part)):
            assert pieces(name, text) == want, text


@each_family
def test_pieces_of_all_strings_of_three_kinds_are_tiktokens(name):
    texts = list(nasty.short_strings(3))
    for text, want in zip(texts, tiktoken_pieces(oracle.PATTERNS[name], texts)):
        assert pieces(name, text) == want, text


@each_family
@pytest.mark.parametrize("text", ["topics", "sources"])
def test_pieces_of_real_text_are_tiktokens(name, text):
    """A vocabulary of just our pieces: tiktoken gives one token each only if it cuts where we do."""
    tiktoken = pytest.importorskip("tiktoken")
    text = oracle.topics() if text == "topics" else oracle.stdlib_sources()
    found = pieces(name, text)
    ranks = {bytes([value]): value for value in range(256)}
    for piece in found:
        ranks.setdefault(piece, len(ranks))
    enc = tiktoken.Encoding("probe", pat_str=oracle.PATTERNS[name], mergeable_ranks=ranks, special_tokens={})
    want = np.array([ranks[piece] for piece in found], np.uint32)
    assert np.array_equal(enc.encode_to_numpy(text), want)


@each_family
@hypothesis.given(text=st.text())
def test_hyp_pieces_make_the_text(name, text):
    found = pieces(name, text)
    assert b"".join(found) == text.encode() and all(found)


@each_family
def test_split_of_bytes_is_that_of_their_text(name):
    coder = oracle.ours(name)._coder
    for text in nasty.FIXED:
        assert coder.split(text.encode()) == coder.split(text)


# ==== The specifications ====


def starts(name: str, text: str) -> list[int]:
    """Where pieces start, in characters."""
    lengths = (len(piece.decode()) for piece in pieces(name, text))
    return list(itertools.accumulate(lengths, initial=0))[:-1]


def spec_texts(seed: str) -> list[str]:
    rng = random.Random(seed)
    agreed = [*nasty.FIXED, *nasty.short_strings(3), *nasty.random_strings(rng, oracle.RANDOM_STRINGS, 24)]
    known = oracle.kinds()
    regex = pytest.importorskip("regex")
    tables = {kind: regex.compile(pattern) for kind, pattern in oracle.KINDS.items()}
    characters = set("".join(agreed))
    # The specifications ask the regex package for kinds, whose Unicode may be newer than tiktoken's.
    differ = {c for c in characters if next((k for k, t in tables.items() if t.match(c)), "O") != known.get(c, "O")}
    return [text for text in agreed if not differ & set(text)] + [oracle.topics()[:50_000]]


@each_family
def test_pieces_start_where_the_regex_package_says(name):
    regex = pytest.importorskip("regex")
    pattern = regex.compile(oracle.PATTERNS[name])
    for text in spec_texts(name):
        assert starts(name, text) == [match.start() for match in pattern.finditer(text)], text[:200]


@pytest.mark.shared
@pytest.mark.parametrize("name, function", [("r50k_base", "gpt2_starts"), ("cl100k_base", "cl100k_starts")])
def test_pieces_start_where_the_closed_form_says(name, function):
    rule = getattr(oracle.shared_module("split_rules", "boundary_rules.py"), function)
    for text in spec_texts(name):
        assert starts(name, text) == rule(text), text[:200]


@pytest.mark.shared
def test_pieces_of_o200k_start_where_the_closed_form_says():
    rule = oracle.shared_module("split_rules", "o200k_rules.py").o200k_starts
    for text in spec_texts("o200k"):
        assert starts("o200k_base", text) == rule(text), text[:200]


@each_family
def test_sync_point_starts_a_piece_whatever_stands_before_it(name):
    """last_sync_point: where a text may be cut for threads."""
    rng, coder = random.Random(5), oracle.ours(name)._coder
    found = 0
    befores = ["", "a", "'", "!", "\n", " ", "12", "A", "中", "/\n", "\u0301", " !", "a'", "'l", "!!\n/"]
    for text in nasty.random_strings(rng, 4000, 20):
        data = text.encode()
        at = last_sync_point(coder.pattern, data)
        assert 0 <= at < max(1, len(data))
        if at == 0:
            continue
        found += 1
        for before in befores:
            assert len(before.encode()) + at in coder.split(before + text), (before, text, at)
    assert found > 1000


@each_family
def test_sync_point_of_real_text_lies_near_its_end(name):
    pattern = oracle.ours(name)._coder.pattern
    for text in (oracle.topics(), oracle.stdlib_sources()):
        data = text.encode()
        for end in range(1000, 200_000, 997):
            assert end - last_sync_point(pattern, data[:end]) < 120
