"""What the tests of training on a device share, where there is one and where it is emulated."""

from __future__ import annotations

import random
import warnings

import pytest

from streamtok.train import train

TIES = ("lexicographic", "huggingface")
OPTIONS = [
    {"max_token_length": 4},
    {"max_token_length": 4, "ties": "huggingface"},
    {"special_tokens": ["the", " and", "<|endoftext|>"]},
    {"initial_alphabet": bytes(range(255, -1, -1)), "ties": "huggingface"},
    {"pattern": r"\w+|\W+"},
    {"pattern": None, "ties": "huggingface"},
]
LAUNCHES = [
    {"alone": 1 << 40},
    {"wish": 1},
    {"wish": 1 << 20},
    {"guess": 1},
    {"guess": 1 << 40, "pairs": 1},
    {"merges": 3},
]
"""Settings of learn.Tuning that change how the kernels are launched."""


def trained(sources, size: int, **options):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the text has no more than", UserWarning)
        return train(sources() if callable(sources) else sources, size, **options)


def assert_alike(got, want) -> None:
    """Two encodings that were trained have the same tokens, and say the same of themselves."""
    assert list(got._mergeable_ranks.items()) == list(want._mergeable_ranks.items())
    assert got._special_tokens == want._special_tokens
    assert got.training == want.training


def same(sources, size: int, device: str = "cuda", **options) -> None:
    """The device learns what the CPU does. sources: a function where they can be read only once."""
    want = trained(sources, size, device="cpu", **options)
    assert_alike(trained(sources, size, device=device, **options), want)


def refused_alike(text: bytes, size: int) -> None:
    """Text that is no UTF-8 gets the same error from both."""
    errors = []
    for device in ("cpu", "cuda"):
        with pytest.raises(UnicodeDecodeError) as caught:
            train(text, size, device=device)
        errors.append((str(caught.value), caught.value.start))
    assert errors[0] == errors[1]


def runs(seed: int, count: int, longest: int = 1500) -> bytes:
    """Text in which a pair touches itself and others, and pieces longer than the device counts."""
    rng = random.Random(seed)
    units = [b"a", b"ab", b" ", b"aab", "\u4e2d".encode(), b"-", b"\n"]
    most = [longest if i % 20 == 0 else 40 for i in range(count)]
    return b" ".join(rng.choice(units) * rng.randint(1, each) for each in most)
