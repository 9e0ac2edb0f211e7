"""The kernels on a device against the CPU core: corpora, one class without end, batches of every shape, random text."""

from __future__ import annotations

import random

import numpy as np
import pytest
from oracle import assert_same
from test_gpu_words import of_many_ids
from texts import CORPORA, UNITS, any_characters, corpus, cut_at_random, random_strings

OPTIONS = {"disallowed_special": ()}


def check(encoder, text: bytes, what: str = "") -> None:
    enc = encoder.encoding
    assert_same(encoder.encode(text, **OPTIONS).get(), enc.encode_to_numpy(text, **OPTIONS), enc, what)


def check_batch(encoder, texts: list[bytes], what: str = "") -> None:
    ids, rows = encoder.encode_batch(texts, **OPTIONS)
    want, indptr = encoder.encoding.encode_ragged(texts, **OPTIONS)
    assert_same(ids.get(), want, encoder.encoding, what)
    np.testing.assert_array_equal(rows.get(), indptr)


@pytest.mark.parametrize("name", CORPORA)
def test_corpora(enc, encoder_of, name):
    check(encoder_of(enc), corpus(name), name)


@pytest.mark.parametrize("unit", UNITS)
def test_a_megabyte_of_one_unit(enc, encoder_of, unit):
    check(encoder_of(enc), unit.encode() * (1_000_000 // len(unit.encode())), repr(unit))
    for count in (1, 7, 63, 64, 65, 511, 513, 1023, 1025, 4097):
        check(encoder_of(enc), unit.encode() * count, f"{unit!r} x {count}")


def test_characters_of_all_planes(enc, encoder_of):
    check(encoder_of(enc), any_characters(1, 300_000))


def test_words_of_many_ids_again_and_again(enc, encoder_of):
    """Learned in the first pass; then in other surroundings, and cut at random."""
    rng = random.Random(9)
    words = of_many_ids(rng, 20_000)
    for _ in range(3):
        rng.shuffle(words)
        text = b"\n the people".join(words)
        check(encoder_of(enc), text)
        check_batch(encoder_of(enc), cut_at_random(rng, text, 900))


def test_runs_where_threads_meet(enc, encoder_of):
    """Several threads look for the starts of long runs at once. Repeated, because their order changes."""
    rng = random.Random(7)
    units = [b"a", b"ab", b" ", b"aab", "\u4e2d".encode(), b"1", b"-"]
    text = b" ".join(rng.choice(units) * rng.randint(1, 3000) for _ in range(300))
    for _ in range(20):
        check(encoder_of(enc), text)


def test_random_strings_by_themselves_and_joined(enc, encoder_of):
    texts = random_strings(2, 20_000)
    check_batch(encoder_of(enc), texts)
    check(encoder_of(enc), b"".join(texts))


@pytest.mark.long
def test_a_million_random_strings(enc, encoder_of):
    for seed in range(10, 20):
        check_batch(encoder_of(enc), random_strings(seed, 100_000))


@pytest.mark.parametrize("count", [1, 2, 33, 1000, 100_000, 1_000_000])
def test_batches_of_many_texts(enc, encoder_of, count):
    size = 8_000_000 // count
    data = corpus("english")[: min(count * size, 8_000_000)]
    if count == 1_000_000:
        texts = [bytes([byte]) for byte in data.decode().encode("ascii", "replace")[:count]]
    else:
        texts = cut_at_random(random.Random(count), data, 2 * size)
    check_batch(encoder_of(enc), texts, f"{count} texts")


def test_batches_with_empty_texts(encoder_of, enc):
    for texts in ([], [b""], [b""] * 1000, [b"", b"a", b"", b"", b"b" * 65, b""]):
        check_batch(encoder_of(enc), texts)


def test_random_cuts(enc, encoder_of):
    rng = random.Random(5)
    for name in CORPORA:
        data = corpus(name)
        at = rng.randint(0, len(data) // 2)
        for most in (3, 70, 5000, 300_000):
            texts = cut_at_random(rng, data[at : at + 1_000_000].decode("utf-8", "ignore").encode(), most)
            check_batch(encoder_of(enc), texts, f"{name} {most}")


def test_sizes_around_the_units_of_work(enc, encoder_of):
    data = corpus("english").decode().encode("ascii", "ignore")
    for unit in (64, 256, 1024, 65_536, 262_144):
        for size in range(unit - 3, unit + 4):
            check(encoder_of(enc), data[unit : unit + size], f"{size} bytes")


def test_one_long_text_among_short_ones(enc, encoder_of):
    check_batch(encoder_of(enc), [b"a", corpus("code")[:6_000_000].decode("utf-8", "ignore").encode(), b"", b"b c"])
