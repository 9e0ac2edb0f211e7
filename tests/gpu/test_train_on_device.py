"""Training on a device against the CPU's engine: every pattern and rule for ties, every option, any launch."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from device_training import LAUNCHES, OPTIONS, TIES, assert_alike, refused_alike, runs, same
from texts import CORPORA, corpus

from streamtok.train import train
from streamtok.train.gpu import count as device_count
from streamtok.train.gpu import learn

PATTERNS = ("cl100k", "o200k", "r50k")


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("name", CORPORA)
def test_corpora(name, pattern, ties):
    same(corpus(name), 5000, pattern=pattern, ties=ties)


@pytest.mark.parametrize("options", [{"min_frequency": 100}, *OPTIONS], ids=str)
def test_options(options):
    same(corpus("english")[:1_000_000], 3000, **options)


@pytest.mark.parametrize("ties", TIES)
def test_to_the_end_of_a_text(ties):
    same(corpus("multilingual")[:30_000].decode("utf-8", "ignore").encode(), 100_000, ties=ties)


@pytest.mark.parametrize(
    "tuning", [{"block": 64, "blocks": 1}, {"block": 256, "blocks": 7, "alone": 0}, *LAUNCHES], ids=str
)
def test_launches(monkeypatch, tuning):
    monkeypatch.setattr(learn, "TUNING", learn.Tuning(**tuning))
    same(corpus("code")[:2_000_000].decode("utf-8", "ignore").encode(), 2000)


def test_slices(monkeypatch):
    monkeypatch.setattr(device_count, "SLICE", 70_000)
    same(corpus("english")[:3_000_000], 1000)


def test_runs_and_long_pieces():
    for ties in TIES:
        same(runs(7, 3000, 3000), 2000, ties=ties)


def test_a_checkpoint_is_gone_on_with_on_the_other_side(tmp_path):
    data = corpus("english")[:3_000_000]
    want = train(data, 2000, device="cpu")
    for first, second in (("cpu", "cuda"), ("cuda", "cpu")):
        folder = tmp_path / first
        train(data, 1000, device=first, checkpoint=folder)
        got = train(data, 2000, device=second, checkpoint=folder)
        assert_alike(got, want)


def test_text_that_is_no_utf8_is_refused_as_on_the_cpu():
    refused_alike(corpus("english")[:1_000_000] + b"\xff" + corpus("english")[:1_000], 1000)


def test_many_documents_are_many_documents():
    rng = random.Random(3)
    data = corpus("code")
    cuts = np.sort(np.array([rng.randrange(2_000_000) for _ in range(20_000)]))
    texts = [data[a:b].decode("utf-8", "ignore") for a, b in itertools.pairwise(cuts)]
    same(lambda: iter(texts), 1500)
