"""Training on a device against the CPU's engine: every pattern and rule for ties, every option, any launch."""

from __future__ import annotations

import itertools
import random
import warnings

import numpy as np
import pytest
from texts import CORPORA, corpus

from streamtok.train import train
from streamtok.train.gpu import count as device_count
from streamtok.train.gpu import learn

PATTERNS = ("cl100k", "o200k", "r50k")
TIES = ("lexicographic", "huggingface")


def same(sources, size, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        want = train(sources, size, device="cpu", **options)
        got = train(sources, size, device="cuda", **options)
    assert list(got._mergeable_ranks.items()) == list(want._mergeable_ranks.items())
    assert got.training == want.training


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("name", CORPORA)
def test_corpora(name, pattern, ties):
    same(corpus(name), 5000, pattern=pattern, ties=ties)


@pytest.mark.parametrize(
    "options",
    [
        {"min_frequency": 100},
        {"max_token_length": 5},
        {"max_token_length": 5, "ties": "huggingface"},
        {"special_tokens": ["the", " and", "<|endoftext|>"]},
        {"initial_alphabet": bytes(range(255, -1, -1)), "ties": "huggingface"},
        {"pattern": None},
        {"pattern": r"\w+|\W+"},
    ],
)
def test_options(options):
    same(corpus("english")[:1_000_000], 3000, **options)


@pytest.mark.parametrize("ties", TIES)
def test_to_the_end_of_a_text(ties):
    same(corpus("multilingual")[:30_000].decode("utf-8", "ignore").encode(), 100_000, ties=ties)


@pytest.mark.parametrize(
    "tuning",
    [
        {"block": 64, "blocks": 1},
        {"block": 256, "blocks": 7, "alone": 0},
        {"alone": 1 << 40},
        {"wish": 1},
        {"wish": 1 << 20},
        {"guess": 1},
        {"guess": 1 << 40, "pairs": 1},
        {"merges": 3},
    ],
)
def test_launches(monkeypatch, tuning):
    monkeypatch.setattr(learn, "TUNING", learn.Tuning(**tuning))
    same(corpus("code")[:2_000_000].decode("utf-8", "ignore").encode(), 2000)


def test_slices(monkeypatch):
    monkeypatch.setattr(device_count, "SLICE", 70_000)
    same(corpus("english")[:3_000_000], 1000)


def test_runs_and_long_pieces():
    rng = random.Random(7)
    unit = [b"a", b"ab", b" ", b"aab", "\u4e2d".encode(), b"1", b"-"]
    text = b" ".join(rng.choice(unit) * rng.randint(1, 3000) for _ in range(300))
    for ties in TIES:
        same(text, 2000, ties=ties)


def test_a_checkpoint_is_gone_on_with_on_the_other_side(tmp_path):
    data = corpus("english")[:3_000_000]
    want = train(data, 2000, device="cpu")
    for first, second in (("cpu", "cuda"), ("cuda", "cpu")):
        folder = tmp_path / first
        train(data, 1000, device=first, checkpoint=folder)
        got = train(data, 2000, device=second, checkpoint=folder)
        assert list(got._mergeable_ranks) == list(want._mergeable_ranks)


def test_text_that_is_no_utf8_is_refused_as_on_the_cpu():
    data = corpus("english")[:1_000_000] + b"\xff" + corpus("english")[:1_000]
    errors = []
    for device in ("cpu", "cuda"):
        with pytest.raises(UnicodeDecodeError) as error:
            train(data, 1000, device=device)
        errors.append(str(error.value))
    assert errors[0] == errors[1]


def test_many_documents_are_many_documents():
    rng = random.Random(3)
    data = corpus("code")
    cuts = np.sort(np.array([rng.randrange(2_000_000) for _ in range(20_000)]))
    texts = [data[a:b].decode("utf-8", "ignore") for a, b in itertools.pairwise(cuts)]
    want = train(iter(texts), 1500, device="cpu")
    got = train(iter(texts), 1500, device="cuda")
    assert got.training == want.training
    assert list(got._mergeable_ranks) == list(want._mergeable_ranks)
