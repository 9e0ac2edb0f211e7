"""The GPU engine under pytest-benchmark: resident, host to host, latency, windows, batches. Ids are checked first.

    pytest benchmarks/gpu --benchmark-only -c benchmarks/pytest.ini

Without a CUDA device all of them are skipped. The texts are those of benchmarks/README.md: a folder that
STREAMTOK_CORPUS names, or what Python brings. The tables of docs/gpu.md are run_all.py's.
"""

from __future__ import annotations

import functools
import os
import pathlib
from typing import Any

import numpy as np
import pytest
import shared

import streamtok

MISSING = streamtok.info()["cuda"].get("missing")
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"needs a CUDA device: {MISSING}")

FOLDER = pathlib.Path(os.environ.get("STREAMTOK_CORPUS", pathlib.Path(__file__).parents[3] / "shared" / "corpus"))
SIZE = int(os.environ.get("STREAMTOK_BENCH_MB", "256")) * 1_000_000
"""Of the texts that are long."""


@functools.cache
def text(corpus: str) -> bytes:
    path = FOLDER / f"{corpus}.txt"
    if path.exists():
        return path.read_bytes()
    if corpus != "english":
        pytest.skip(f"no {path}: name a folder of corpora in STREAMTOK_CORPUS")
    from pydoc_data import topics

    return "\n\n".join(topics.topics[key] for key in sorted(topics.topics)).encode()


@functools.cache
def want(encoding: str, corpus: str) -> Any:
    return streamtok.get_encoding(encoding).encode_to_numpy(text(corpus), **shared.OPTIONS)


@functools.cache
def encoder_of(encoding: str) -> Any:
    from streamtok.gpu import GpuEncoder

    return GpuEncoder(streamtok.get_encoding(encoding))


@functools.cache
def pipeline_of(encoding: str) -> Any:
    from streamtok.gpu import GpuPipeline

    return GpuPipeline(streamtok.get_encoding(encoding))


@pytest.mark.parametrize("corpus", shared.CORPORA)
@pytest.mark.parametrize("encoding", shared.ENCODINGS)
def bench_resident(benchmark: Any, encoding: str, corpus: str) -> None:
    import cupy

    once = cupy.asarray(np.frombuffer(text(corpus), np.uint8))
    encode = shared.settled(lambda data: encoder_of(encoding).encode(data, **shared.OPTIONS))
    shared.check(encode(once), want(encoding, corpus), "resident")
    data = cupy.tile(once, max(1, SIZE // len(once)))
    benchmark.group = f"resident, {len(data)} bytes, {corpus}"
    benchmark.pedantic(encode, (data,), rounds=5, warmup_rounds=1)


@pytest.mark.parametrize("memory", ["pinned", "pageable"])
@pytest.mark.parametrize("corpus", shared.CORPORA)
@pytest.mark.parametrize("encoding", shared.ENCODINGS)
def bench_host_to_host(benchmark: Any, encoding: str, corpus: str, memory: str) -> None:
    import cupyx

    pipeline = pipeline_of(encoding)
    ids = want(encoding, corpus)
    shared.check(pipeline.encode(text(corpus), **shared.OPTIONS), ids, "host to host")
    data: Any = shared.repeated(text(corpus), SIZE)
    out = None
    if memory == "pinned":
        source = cupyx.empty_pinned(len(data), np.uint8)
        source[:] = np.frombuffer(data, np.uint8)
        out = cupyx.empty_pinned(int(len(data) * (len(ids) / len(text(corpus)) + 0.01)) + 1000, np.uint32)
        data = source
    benchmark.group = f"host to host, {len(data)} bytes, {corpus}"
    benchmark.pedantic(lambda: pipeline.encode(data, out=out, **shared.OPTIONS), rounds=5, warmup_rounds=1)


@pytest.mark.parametrize("way", ["to the device", "host to host", "CPU"])
@pytest.mark.parametrize("size", [1 << 10, 16 << 10, 128 << 10, 1 << 20])
@pytest.mark.parametrize("encoding", shared.ENCODINGS)
def bench_latency(benchmark: Any, encoding: str, size: int, way: str) -> None:
    enc = streamtok.get_encoding(encoding)
    call = {
        "to the device": lambda: shared.settled(lambda data: encoder_of(encoding).encode(data, **shared.OPTIONS)),
        "host to host": lambda: lambda data: pipeline_of(encoding).encode(data, **shared.OPTIONS),
        "CPU": lambda: lambda data: enc.encode_to_numpy(data, **shared.OPTIONS),
    }[way]()
    texts = shared.documents_of(text("english"), 52, size)
    shared.check(call(texts[0]), enc.encode_to_numpy(texts[0], **shared.OPTIONS), way)
    left = iter(texts[1:])
    benchmark.group = f"latency, {shared.in_units(size)}, {encoding}"
    benchmark.pedantic(call, setup=lambda: ((next(left),), {}), rounds=50, warmup_rounds=1)


@pytest.mark.parametrize("tokens", [256, 4096, 131_072])
@pytest.mark.parametrize("encoding", shared.ENCODINGS)
def bench_window(benchmark: Any, encoding: str, tokens: int) -> None:
    enc, pipeline = streamtok.get_encoding(encoding), pipeline_of(encoding)
    texts = shared.windows_of(enc, text("english"), tokens)
    for data in texts:
        shared.check(pipeline.encode(data, **shared.OPTIONS), enc.encode_to_numpy(data, **shared.OPTIONS), "window")
    benchmark.group = f"windows of {tokens} tokens"
    turns = iter(range(10**9))
    setup = lambda: ((texts[next(turns) % len(texts)],), {})  # noqa: E731
    benchmark.pedantic(lambda data: pipeline.encode(data, **shared.OPTIONS), setup=setup, rounds=32, warmup_rounds=2)


@pytest.mark.parametrize("size", [128, 1024, 4096])
@pytest.mark.parametrize("count", [64, 1024])
@pytest.mark.parametrize("encoding", shared.ENCODINGS)
def bench_batch_of_texts(benchmark: Any, encoding: str, count: int, size: int) -> None:
    enc, pipeline = streamtok.get_encoding(encoding), pipeline_of(encoding)
    texts = [data.decode() for data in shared.documents_of(text("english"), count, size)]
    ids, indptr = pipeline.encode_batch(texts, **shared.OPTIONS)
    expected, starts = enc.encode_ragged(texts, **shared.OPTIONS)
    shared.check(ids, expected, "batch")
    shared.check(indptr, starts, "row starts")
    benchmark.group = f"{count} texts of {size} bytes"
    benchmark.pedantic(lambda: pipeline.encode_batch(texts, **shared.OPTIONS), rounds=15, warmup_rounds=1)
