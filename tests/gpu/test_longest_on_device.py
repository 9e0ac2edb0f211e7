"""Longest match on a device: ids of random vocabularies, of corpora, of runs and of batches, by every public call."""

from __future__ import annotations

import random

import numpy as np
import oracle
import pytest
from longest_match import ALPHABETS, BYTES, WORDS, random_text, random_tokens
from texts import CORPORA, corpus, cut_at_random

from streamtok import Encoding
from streamtok.gpu import GpuEncoder, GpuPipeline

NAMES = ["o200k_base by longest match", "o200k_base without pattern by longest match"]


@pytest.mark.parametrize("pattern", [None, WORDS], ids=["no pattern", "pattern"])
def test_random_vocabularies(pattern):
    rng = random.Random(str(pattern))
    for _ in range(12):
        alphabet = rng.choice(ALPHABETS)
        enc = Encoding.longest_match(
            "random", random_tokens(rng, alphabet), special_tokens={"<s>": 5000}, pat_str=pattern
        )
        encoder = GpuEncoder(enc)
        texts = [random_text(rng, alphabet) + rng.choice(["", "<s>"]) for _ in range(2000)]
        for each in ("".join(texts), "".join(texts[:30])):
            want = enc.encode_to_numpy(each, allowed_special="all")
            np.testing.assert_array_equal(encoder.encode(each, allowed_special="all").get(), want)
        ids, rows = encoder.encode_batch(texts, allowed_special="all")
        want, starts = enc.encode_ragged(texts, allowed_special="all")
        np.testing.assert_array_equal(ids.get(), want)
        np.testing.assert_array_equal(rows.get(), starts)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", CORPORA)
def test_corpora(name, text):
    enc = oracle.named(name)
    data = corpus(text)[:40_000_000]
    want = enc.encode_to_numpy(data, disallowed_special=())
    np.testing.assert_array_equal(GpuEncoder(enc).encode(data, disallowed_special=()).get(), want)
    for size in (1 << 20, 3_000_001):
        pipeline = GpuPipeline(enc, chunk_size=size)
        np.testing.assert_array_equal(pipeline.encode(data, disallowed_special=()), want)


@pytest.mark.parametrize("last", ["", "b"])
def test_runs(last):
    enc = Encoding.longest_match("runs", BYTES | {b"a" * n: 300 + n for n in (2, 3, 7, 50, 101)}, special_tokens={})
    encoder = GpuEncoder(enc)
    for size in (10_000, 300_000, 5_000_000):
        text = "b c" + "a" * size + last
        np.testing.assert_array_equal(encoder.encode(text).get(), enc.encode_to_numpy(text))


def test_a_steady_call_allocates_its_result_alone(cupy):
    enc = oracle.named(NAMES[1])
    encoder, text = GpuEncoder(enc), cupy.asarray(np.frombuffer(corpus("english")[:8_000_000], np.uint8))
    encoder.encode(text)
    memory, pool = encoder.memory, cupy.get_default_memory_pool()
    total = pool.total_bytes()
    for _ in range(3):
        encoder.encode(text)
    assert (encoder.memory, pool.total_bytes()) == (memory, total)


def test_streams():
    enc = oracle.named(NAMES[1])
    rng = random.Random(5)
    data = corpus("code")[:9_000_000] + corpus("multilingual")[:9_000_000]
    stream = enc.stream_encoder(device="cuda", disallowed_special=())
    parts = [stream.feed(part) for part in cut_at_random(rng, data, 100_000)]
    ids = np.concatenate([*(np.asarray(part) for part in parts), np.asarray(stream.flush())])
    np.testing.assert_array_equal(ids, enc.encode_to_numpy(data, disallowed_special=()))
