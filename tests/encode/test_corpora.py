"""Real text by the megabyte, whole: one-shot, streamed with random cuts, and by each engine. Where ../shared is
not here, the texts are made here."""

from __future__ import annotations

import random

import numpy as np
import oracle
import pytest
from oracle import assert_same

CORPORA = ["english", "code", "multilingual"]
each_corpus = pytest.mark.parametrize("corpus", CORPORA)


def stream_whole(enc, data: bytes, seed: int) -> np.ndarray:
    rng = random.Random(seed)
    stream = enc.stream_encoder(disallowed_special=(), copy=True)
    sizes = (1, 2, 5, 100, 4096, 4096, 65_536, 1_000_000)
    parts = [stream.feed(chunk) for chunk in oracle.random_cuts(rng, data, sizes)]
    return np.concatenate([*parts, stream.flush()])


def check(name: str, corpus: str) -> None:
    _, ours, theirs = oracle.pair(name)
    text = oracle.corpus(corpus)[: None if oracle.LONG else 1_000_000]
    want = theirs.encode_to_numpy(text, disallowed_special=())
    assert_same(ours.encode_to_numpy(text, disallowed_special=()), want, ours, "one-shot")
    data = text.encode()
    assert_same(stream_whole(ours, data, 1), want, ours, "streamed")
    stream = ours.stream_encoder(disallowed_special=(), copy=True)
    parts = [stream.feed(data[at : at + 4096]) for at in range(0, len(data), 4096)]
    assert_same(np.concatenate([*parts, stream.flush()]), want, ours, "in chunks of 4 KB")
    assert ours.count(data, disallowed_special=()) == len(want)
    assert ours.decode_bytes(want) == data


@pytest.mark.slow
@each_corpus
@pytest.mark.parametrize("name", oracle.FAMILIES)
def test_corpus_is_encoded_as_by_tiktoken(name, corpus):
    check(name, corpus)


@pytest.mark.long
@each_corpus
@pytest.mark.parametrize("name", sorted(set(oracle.NAMES) - set(oracle.FAMILIES)))
def test_corpus_is_encoded_as_by_tiktoken_in_the_other_encodings(name, corpus):
    check(name, corpus)


@pytest.mark.parametrize("script", ["ar", "he", "hi", "ja", "km", "ko", "ru", "th", "zh"])
def test_script_is_encoded_as_by_tiktoken(script):
    text = oracle.corpus(f"scripts/{script}")[: 250_000 if oracle.LONG else 100_000]
    for name in oracle.FAMILIES:
        _, ours, theirs = oracle.pair(name)
        want = theirs.encode_to_numpy(text, disallowed_special=())
        assert_same(ours.encode_to_numpy(text, disallowed_special=()), want, ours, name)
        assert_same(stream_whole(ours, text.encode(), 2), want, ours, name)


@each_corpus
@pytest.mark.parametrize("name", oracle.FAMILIES)
def test_reference_engine_on_a_slice(name, corpus):
    text = oracle.corpus(corpus)
    text = text[len(text) // 2 :][: 400_000 if oracle.LONG else 200_000]
    fast, reference = oracle.ours(name), oracle.ours(name, "reference")
    got = fast.encode_to_numpy(text, disallowed_special=())
    assert_same(got, reference.encode_to_numpy(text, disallowed_special=()), fast)
