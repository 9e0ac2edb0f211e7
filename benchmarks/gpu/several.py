"""Several devices of one host: one document and many over all of them, and the share of a linear gain.

    python benchmarks/gpu/several.py --corpus FOLDER [--devices 1 2 4] [--gb 2] [--documents 4096 65536]

One document is a corpus over and over, from pinned to pinned memory; many are its stretches of about so many bytes
each, a list of bytes to an array of ids and row starts. Wall time, median of three; ids are checked first on all
devices. Numbers of devices that the machine does not have are left out. The first row is what the bus gives: plain
copies to all devices and from them at once, as many bytes each way, which is what ids of four bytes come to.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import shared
from host_to_host import copies, in_pinned, room_for

from streamtok.gpu import GpuPipeline


def pipelines(encoding: Any, counts: list[int]) -> dict[int, GpuPipeline]:
    dtype = shared.ids_dtype(encoding)
    return {n: GpuPipeline(encoding, device=list(range(n)), ids=dtype) for n in counts}


def one_document(encoding: Any, pipes: dict[int, Any], data: bytes, size: int) -> dict[str, float]:
    want = encoding.encode_to_numpy(data, num_threads=shared.cores(), **shared.OPTIONS)
    text = shared.repeated(data, size)
    source, out = in_pinned(text), room_for(encoding, data, len(want), len(text))
    rates = {}
    for count, pipeline in pipes.items():
        many = GpuPipeline(encoding, device=list(range(count)), ids=pipeline.ids, chunk_size=1 << 20)
        shared.check(many.encode(data, **shared.OPTIONS), want, f"{encoding.name} on {count} devices")
        del many
        call = functools.partial(pipeline.encode, source, out=out, **shared.OPTIONS)
        seconds = shared.median_seconds(call, repeats=3)
        rates[str(count)] = round(len(text) / seconds / 1e9, 6)
    return rates


def many_documents(encoding: Any, pipes: dict[int, Any], data: bytes, size: int, each: int) -> dict[str, float]:
    texts = shared.documents_of(data, max(1, len(data) // each), each)
    want, starts = encoding.encode_ragged(texts, num_threads=shared.cores(), **shared.OPTIONS)
    times = max(1, size // len(data))
    texts, rates = texts * times, {}
    for count, pipeline in pipes.items():
        ids, indptr = pipeline.encode_batch(texts, **shared.OPTIONS)
        what = f"{encoding.name}, {len(texts)} texts on {count} devices"
        shared.check(ids[: len(want)], want, what)
        shared.check(ids[-len(want) :], want, what)
        shared.check(np.diff(indptr), np.tile(np.diff(starts), times), f"row starts of {what}")
        call = functools.partial(pipeline.encode_batch, texts, **shared.OPTIONS)
        seconds = shared.median_seconds(call, repeats=3)
        rates[str(count)] = round(sum(map(len, texts)) / seconds / 1e9, 6)
    return rates


def rows(options: Any) -> Iterator[shared.Row]:
    there = len(shared.devices())
    counts = [n for n in options.devices if n <= there]
    yield {"what": "copies alone, both ways at once", "gb_s": copies(counts, int(options.gb * 1e9))}
    for encoding, corpus, data in shared.cases(options):
        pipes, size = pipelines(encoding, counts), int(options.gb * 1e9)
        facts = {"encoding": encoding.name, "corpus": corpus}
        yield {**facts, "what": "one document", "gb_s": one_document(encoding, pipes, data, size)}
        for each in options.documents:
            what = f"documents of {shared.in_units(each)}"
            yield {**facts, "what": what, "gb_s": many_documents(encoding, pipes, data, size, each)}


def table(found: list[shared.Row]) -> str:
    counts = shared.names_in(found, "gb_s")

    def rate(row: shared.Row, count: str) -> str:
        rates = row["gb_s"]
        if count == "1" or "1" not in rates or count not in rates:
            return shared.cell(rates.get(count), ".2f")
        return f"{rates[count]:.2f} ({rates[count] / rates['1'] / int(count):.2f})"

    cells = [
        [
            ", ".join(row[name] for name in ("encoding", "corpus", "what") if name in row),
            *(rate(row, n) for n in counts),
        ]
        for row in found
    ]
    return shared.markdown(["GB/s (share of linear)", *(f"{count} device(s)" for count in counts)], cells)


if __name__ == "__main__":
    brief = {"gb": 1.0, "corpora": ["english"], "encodings": ["o200k_base"], "documents": [65536]}
    shared.main(__doc__, rows, table, brief=brief, devices=[1, 2, 4], gb=2.0, documents=[4096, 65536])
