"""Decoding, and rows for models, on a device: the bytes and errors of the CPU, and what numpy makes of the ids."""

from __future__ import annotations

import random

import numpy as np
import pytest
from test_gpu_decode import known_ids, on_cpu, outcome, random_ids
from test_gpu_shapes import packed, padded
from texts import corpus, cut_at_random

import streamtok
from streamtok import gpu


@pytest.mark.parametrize("name", ["english", "code", "multilingual"])
def test_corpora(enc, cupy, name):
    data = corpus(name)
    ids = enc.encode_to_numpy(data, disallowed_special=())
    decoder = gpu.GpuDecoder(enc)
    for dtype in (np.uint32, np.int64):
        assert decoder.decode_bytes(cupy.asarray(ids.astype(dtype))).get().tobytes() == data
    assert decoder.decode_bytes(ids).get().tobytes() == data


def test_ids_of_all_kinds_and_bad_ones(enc, cupy):
    rng = random.Random(1)
    decoder, known = gpu.GpuDecoder(enc), known_ids(enc, rng)
    for size in (0, 1, 255, 256, 257, 5000, 300_000):
        ids = random_ids(rng, known, size)
        there = cupy.asarray(np.array(ids, np.int64))
        data, starts = decoder.decode_tokens_bytes(there)
        assert data.get().tobytes() == enc.decode_bytes(ids)
        assert starts.get().tolist() == np.cumsum([0, *map(len, enc.decode_tokens_bytes(ids))]).tolist()
        left = enc.decode_bytes(ids, skip_special_tokens=True)
        assert decoder.decode_bytes(there, skip_special_tokens=True).get().tobytes() == left
        for bad in (3_000_001, -1, 2**40):
            given = cupy.asarray(np.array([*ids, bad, *ids[:9]], np.int64))
            assert outcome(decoder.decode_bytes, given) == outcome(enc.decode_bytes, given)
    rows = [random_ids(rng, known, rng.randint(0, 300)) for _ in range(3000)]
    data, starts = decoder.decode_bytes_batch([cupy.asarray(np.array(row, np.int32)) for row in rows[:200]])
    assert [data.get().tobytes(), starts.get().tolist()] == on_cpu(enc, rows[:200])
    ids, ends = cupy.asarray(np.concatenate(rows).astype(np.uint32)), np.cumsum([0, *map(len, rows)])
    data, starts = decoder.decode_bytes_batch(ids, cupy.asarray(ends))
    assert [data.get().tobytes(), starts.get().tolist()] == on_cpu(enc, rows)


def test_rows_that_come_in_parts(cupy):
    enc = streamtok.get_encoding("cl100k_base")
    ids = enc.encode_to_numpy(corpus("multilingual")[:3_000_000].decode("utf-8", "ignore"), disallowed_special=())
    block = cupy.asarray(ids[: len(ids) // 512 * 512].reshape(512, -1).astype(np.int64))
    stream, got = gpu.GpuDecoder(enc).stream(512), [b""] * 512
    for at in range(0, 60, 3):
        data, starts = (part.get() for part in stream.feed(block[:, at : at + 3]))
        for i in range(512):
            part = data[starts[i] : starts[i + 1]].tobytes()
            part.decode(errors="strict" if at else "replace")  # a row may begin inside a character
            got[i] += part
    data, starts = (part.get() for part in stream.flush())
    got = [had + data[a:b].tobytes() for had, a, b in zip(got, starts[:-1], starts[1:])]
    assert got == enc.decode_bytes_batch(list(block[:, :60].get()))


@pytest.mark.parametrize("ids", ["uint16", "int64"])
def test_shapes_are_those_of_the_cpu(cupy, monkeypatch, ids):
    enc, rng = streamtok.get_encoding("r50k_base"), random.Random(3)
    monkeypatch.setattr(enc, "_template", ((7, 8), (9,)))
    encoder = gpu.GpuEncoder(enc, ids=ids)
    texts = [b"", *cut_at_random(rng, corpus("multilingual")[:3_000_000], 4000), b"", b"a"]
    options = {"errors": "replace", "disallowed_special": ()}
    for around in (True, False):
        options["add_special_tokens"] = around
        ragged = enc.encode_ragged(texts, **options)
        for made, want in zip(encoder.encode_batch(texts, **options), ragged):
            np.testing.assert_array_equal(made.get(), want)
        for shape in ({"length": 100, "truncate": "left", "side": "left"}, {"max_length": 999, "dtype": "int32"}):
            for made, want in zip(
                encoder.encode_padded(texts, **shape, **options), enc.encode_padded(texts, **shape, **options)
            ):
                np.testing.assert_array_equal(made.get(), want)
        for length, eot in ((512, 5), (100_000, None), (7, None)):
            for how in ("concatenate", "best-fit"):
                made = encoder.pack(texts, length, how=how, eot=eot, pad_id=3, sources=True, **options)
                for each, want in zip(made, streamtok.pack(ragged, length, how=how, eot=eot, pad_id=3, sources=True)):
                    assert each.dtype == want.dtype
                    np.testing.assert_array_equal(each.get(), want)


def test_columns(enc):
    pa = pytest.importorskip("pyarrow", reason="needs pyarrow")
    texts = cut_at_random(random.Random(4), corpus("multilingual")[:40_000_000], 9000)
    strings = [None if number % 9 == 3 else text.decode("utf-8", "replace") for number, text in enumerate(texts)]
    column = pa.chunked_array([pa.array(strings)[5:], pa.array(strings[:99])])
    lists = [pa.array(enc.encode_arrow(column, disallowed_special=(), device=where)) for where in ("cuda", "cpu")]
    assert lists[0].equals(lists[1])


def test_shapes_and_torch(cupy):
    torch = pytest.importorskip("torch", reason="needs torch with CUDA")
    enc = streamtok.get_encoding("o200k_base")
    encoder, decoder = gpu.GpuEncoder(enc), gpu.GpuDecoder(enc)
    texts = cut_at_random(random.Random(2), corpus("english")[:2_000_000], 3000)
    rows = enc.encode_batch([text.decode("utf-8", "replace") for text in texts], disallowed_special=())
    options = {"errors": "replace", "disallowed_special": ()}
    for length, side in ((128, "right"), (None, "left")):
        ids, mask = map(torch.from_dlpack, encoder.encode_padded(texts, length=length, side=side, pad_id=5, **options))
        want = padded(rows, length, side, 5)
        assert ids.is_cuda and ids.dtype == torch.int64
        assert (ids.cpu().numpy() == want[0]).all() and (mask.cpu().numpy() == want[1]).all()
    ids, cu_seqlens, positions = map(torch.from_dlpack, encoder.pack(texts, 1024, eot=enc.eot_token, **options))
    want = packed(rows, 1024, enc.eot_token, 0)
    assert (ids.cpu().numpy() == want[0]).all() and (positions.cpu().numpy() == want[2]).all()
    assert cu_seqlens.dtype == torch.int32 and cu_seqlens.tolist() == want[1]
    for made in encoder.pack(texts, 1024, how="best-fit", sources=True, **options):
        tensor = torch.from_dlpack(made)
        assert tensor.data_ptr() == made.data.ptr and tensor.shape == made.shape
    data, starts = decoder.decode_bytes_batch(ids)
    assert [data.get().tobytes(), starts.get().tolist()] == on_cpu(enc, list(ids.cpu().numpy()))
