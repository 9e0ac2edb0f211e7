"""Every row of patterns, and files of models, on a device against the CPU core."""

from __future__ import annotations

import functools
import os
import pathlib
import random

import numpy as np
import pytest
from oracle import assert_same
from row_encodings import row_encoding
from row_texts import HARD, LONG, texts
from test_device import check, check_batch
from test_gpu_rows import TABLES
from texts import CORPORA, UNITS, any_characters, corpus, cut_at_random

import streamtok
from streamtok.patterns.rows import ROWS

FOLDER = os.environ.get("STREAMTOK_MODELS", "")
_FORMS = ("*/tokenizer.json", "*/models/tokenizer.json", "*/tekken.json")
FILES = sorted(path for form in _FORMS for path in pathlib.Path(FOLDER).glob(form)) if FOLDER else []

OPTIONS = {"disallowed_special": ()}


@pytest.fixture(params=[*ROWS, *TABLES])
def row(request):
    return row_encoding(request.param) if request.param in ROWS else table_encoding(request.param)


@functools.cache
def table_encoding(name: str) -> streamtok.Encoding:
    """The ranks of cl100k_base behind a pattern that is no row: the kernels split by its table."""
    ranks, special = streamtok.get_encoding("cl100k_base")._mergeable_ranks, {"<|endoftext|>": 100_257}
    return streamtok.Encoding(name, pat_str=TABLES[name], mergeable_ranks=ranks, special_tokens=special)


@pytest.mark.parametrize("name", CORPORA)
def test_corpora(row, encoder_of, name):
    check(encoder_of(row), corpus(name)[:30_000_000].decode("utf-8", "ignore").encode(), name)


def test_a_megabyte_of_one_unit(row, encoder_of):
    for unit in (*UNITS, "\u3007", "\u3007中", "中\u2e80", "!a", "\x00", "\x00a", "\u0301 ", "ア・"):
        check(encoder_of(row), unit.encode() * (300_000 // len(unit.encode())), repr(unit))


def test_characters_of_all_planes(row, encoder_of):
    check(encoder_of(row), any_characters(3, 300_000))
    every = "".join(f"a{c}bC{c}{c}1.{c}. {c}'s" for c in map(chr, range(0x33500)) if not "\ud800" <= c <= "\udfff")
    check(encoder_of(row), every.encode(), "every character")


def test_random_strings_by_themselves_and_joined(row, encoder_of):
    strings = [text.encode() for text in texts(21, 8000)]
    check_batch(encoder_of(row), strings)
    check(encoder_of(row), b"".join(strings))
    for string in strings[:300]:
        check(encoder_of(row), string)


def test_long_runs_joined(row, encoder_of):
    rng = random.Random(22)
    for _ in range(200):
        units = rng.sample(HARD + LONG, 3)
        text = "".join(rng.choice(units) * rng.choice((1, 1, 2, 70, 300)) for _ in range(rng.randint(1, 12)))
        check(encoder_of(row), text.encode(), ascii(text[:100]))


def test_random_cuts(row, encoder_of):
    rng = random.Random(23)
    for name in CORPORA:
        data = corpus(name)[3_000_000:4_000_000].decode("utf-8", "ignore").encode()
        for most in (3, 70, 5000, 300_000):
            check_batch(encoder_of(row), cut_at_random(rng, data, most), f"{name} {most}")


def streamed(enc, device: str, chunks: list[bytes]) -> np.ndarray:
    stream = enc.stream_encoder(allowed_special="all", device=device)
    return np.concatenate([*(np.array(stream.feed(chunk)) for chunk in chunks), stream.flush()])


def test_streams_and_calls_by_name(row):
    rng = random.Random(24)
    data = b"".join(corpus(name)[:4_000_000].decode("utf-8", "ignore").encode() for name in CORPORA)
    data += b"<|endoftext|>" + data[:100_000].decode("utf-8", "ignore").encode()
    want = row.encode_to_numpy(data, allowed_special="all")
    assert_same(row.encode_to_numpy(data, allowed_special="all", device="cuda"), want, row, "one call")
    assert_same(streamed(row, "cuda", cut_at_random(rng, data, 700_000)), want, row, "stream")


# ==== Files of models ====


@pytest.fixture(
    scope="module", params=FILES or [None], ids=lambda path: path and str(path.relative_to(FOLDER).parts[0])
)
def model(request):
    if request.param is None:
        pytest.skip("STREAMTOK_MODELS names no folder with files of models")
    try:
        made = streamtok.Encoding.from_file(request.param)
    except streamtok.VocabularyError as error:
        pytest.skip(f"not supported: {error.reason}")
    try:
        made.count("".join(map(chr, range(32))) + "\U00080000", disallowed_special=())
    except ValueError:
        pytest.skip("some control characters have no ids here, and such models stay on the CPU")
    return made


def text_of_model(model, rng: random.Random, size: int) -> bytes:
    """Text of all corpora with added tokens in it, and hard strings."""
    names = rng.sample(sorted(model._added_tokens), min(40, len(model._added_tokens)))
    parts: list[str] = []
    for name in CORPORA:
        data = corpus(name)[: size // 3].decode("utf-8", "ignore")
        parts += [data[at : at + 20_000] + (rng.choice(names) if names else "") for at in range(0, len(data), 20_000)]
    parts += texts(25, 500)
    rng.shuffle(parts)
    return "".join(parts).encode()


def test_models_in_calls_and_streams(model):
    rng = random.Random(26)
    data = text_of_model(model, rng, 12_000_000)
    for options in ({"allowed_special": "all"}, {"disallowed_special": ()}):
        want = model.encode_to_numpy(data, **options)
        assert_same(model.encode_to_numpy(data, **options, device="cuda"), want, model, "one call")
    want = model.encode_to_numpy(data, allowed_special="all")
    assert_same(streamed(model, "cuda", cut_at_random(rng, data, 900_000)), want, model, "stream")
    in_template = model.encode_to_numpy(data, allowed_special="all", add_special_tokens=True)
    assert_same(
        model.encode_to_numpy(data, allowed_special="all", add_special_tokens=True, device="cuda"),
        in_template,
        model,
        "template",
    )


def test_batches_of_models(model):
    rng = random.Random(27)
    pieces = cut_at_random(rng, text_of_model(model, rng, 3_000_000), 3000)
    want, starts = model.encode_ragged(pieces, allowed_special="all")
    ids, rows = model.encode_ragged(pieces, allowed_special="all", device="cuda")
    assert_same(ids, want, model, "batch")
    np.testing.assert_array_equal(rows, starts)
