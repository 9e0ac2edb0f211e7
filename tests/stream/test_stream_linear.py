"""Every way to give text or ids in small parts: the time grows with the text, not with what is held back."""

from __future__ import annotations

import asyncio
import functools
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import oracle
import pytest
from linear import assert_linear, cpu_seconds, feed_all
from test_gpu_face import devices  # noqa: F401

import streamtok

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ to compile the kernels for the CPU")

# What is held back grows without bound in "blanks" and "capitals" (o200k), up to the longest name in "names", and up to
# a batch in a GPU's stream.
TEXTS = {
    "words": b"some words, and more of them. ",
    "letters": b"a",
    "blanks": b" ",
    "capitals": b"A",
    "names": b"<" * 64,
}
BEGINNINGS = {"blanks": b"\n", "capitals": "中".encode()}
NAME = "<" * 5000 + "|>"
SIZES = {1: 24_000, 16: 256_000, 256: 2_000_000}

each_size = pytest.mark.parametrize("size", SIZES)


@functools.cache
def encoding(pattern: str) -> streamtok.Encoding:
    """With a name that is longer than most that is held back."""
    base = streamtok.get_encoding("o200k_base")
    pat_str = base._pat_str if pattern == "o200k" else pattern
    special = {"<|endoftext|>": 199_999, NAME: 200_100}
    return streamtok.Encoding("named", pat_str=pat_str, mergeable_ranks=base._mergeable_ranks, special_tokens=special)


@functools.cache
def without_pattern() -> streamtok.Encoding:
    with pytest.warns(UserWarning, match="no pattern"):
        return encoding("o200k").without_pattern()


def bites(text: str, size: int, n: int) -> list[bytes]:
    data = BEGINNINGS.get(text, b"") + TEXTS[text] * (n // len(TEXTS[text]) + 1)
    return [data[at : at + size] for at in range(0, n, size)]


def assert_linear_in_bites(run: Callable[[list[bytes]], object], text: str, size: int, times: int = 1) -> None:
    chunks = bites(text, size, times * SIZES[size])
    assert_linear(lambda n: cpu_seconds(lambda: run(chunks[:n])), len(chunks))


@each_size
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("face", ["o200k", "no pattern", "refused names"])
def test_the_cores_streams_are_linear(face, text, size):
    enc = without_pattern() if face == "no pattern" else encoding("o200k")
    options: dict[str, Any] = {} if face == "refused names" else {"allowed_special": "all"}
    assert_linear_in_bites(lambda chunks: feed_all(enc.stream_encoder(errors="ignore", **options), chunks), text, size)


# A feed of these takes thousands of times as long as one of the core: fewer of them show the same.
FEW = {1: 8_000, 16: 64_000, 256: 800_000}


@each_size
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("pattern", [r"\w+|\s+|[^\w\s]+", r"\w+(?=<)|(?s:.)"], ids=["long pieces", "short pieces"])
def test_streams_of_a_pattern_of_ones_own_are_linear(text, pattern, size):
    enc = encoding(pattern)
    chunks = bites(text, size, FEW[size])

    def seconds(n: int) -> float:
        stream = enc.stream_encoder(allowed_special="all", errors="ignore")
        return cpu_seconds(lambda: [(stream.feed(chunk), stream.pending) for chunk in chunks[:n]])

    assert_linear(seconds, len(chunks))


def test_a_long_piece_of_a_pattern_of_ones_own_is_not_copied_by_a_feed():
    """There are so many feeds that copying the pending text in each would take most of the time."""
    enc = encoding(r"\w+|\s+|[^\w\s]+")
    chunks = bites("letters", 1, 160_000)
    assert_linear(lambda n: cpu_seconds(lambda: feed_all(enc.stream_encoder(), chunks[:n])), 160_000)


@needs_compiler
@each_size
@pytest.mark.parametrize("text", ["words", "names"])
@pytest.mark.parametrize("device", ["cuda", "auto"])
@pytest.mark.usefixtures("devices")
def test_a_gpus_stream_is_linear_in_what_it_gathers(text, device, size):
    """Below a batch of 8 MB: a feed must not look at what was gathered, nor copy it."""
    enc = streamtok.get_encoding("o200k_base")

    def run(chunks: list[bytes]) -> None:
        stream = enc.stream_encoder(device=device, disallowed_special={"<|endoftext|>", NAME})
        for chunk in chunks:
            stream.feed(chunk)
        assert stream.offset == sum(map(len, chunks))
        if device == "cuda":
            assert stream.pending == stream.offset

    assert_linear_in_bites(run, text, size, 4)


@each_size
@pytest.mark.parametrize("text", ["words", "blanks", "names"])
def test_encode_stream_is_linear(text, size):
    enc = encoding("o200k")
    assert_linear_in_bites(
        lambda chunks: list(enc.encode_stream(chunks, allowed_special="all", errors="ignore")), text, size
    )


async def _each(chunks: list[bytes]) -> Any:
    for chunk in chunks:
        yield chunk


def test_encode_stream_async_is_linear():
    enc = encoding("o200k")

    async def run(chunks: list[bytes]) -> None:
        async for _ in enc.encode_stream_async(_each(chunks), allowed_special="all", errors="ignore"):
            pass

    assert_linear_in_bites(lambda chunks: asyncio.run(run(chunks)), "names", 16)


def token_runs(size: int, n: int) -> Iterator[list[int]]:
    ids = oracle.ours("o200k_base").encode("some words, 😀 and 中文 more. " * (n // 8 + 1))[:n]
    yield from (ids[at : at + size] for at in range(0, n, size))


@each_size
def test_a_decoder_is_linear(size):
    enc = streamtok.get_encoding("o200k_base")
    runs = list(token_runs(size, SIZES[size]))
    assert_linear(lambda n: cpu_seconds(lambda: feed_all(enc.stream_decoder(), runs[:n])), len(runs))
