"""Microseconds from a call with one text to its ids, by size: on the device, on the CPU, by tiktoken and gigatoken.

    python benchmarks/gpu/latency.py --corpus FOLDER [--corpora english] [--least 256] [--most 67108864]

Columns: "in a graph", the device alone, from its memory into its memory, events around 50 plays of a CUDA graph, up to
a megabyte; then through Python: "device memory", GpuEncoder from and to there; "to the device", the same from host
memory; "host to host", GpuPipeline; the CPU core on one thread and on all cores; the rivals that are installed.
Medians; every call of a size takes another stretch of the corpus, up to 200 of them, so that no cache has seen the
text; ids are checked first. The last column: from which size on the device, host to host, is faster than one thread of
the CPU core.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import cupy
import graph
import numpy as np
import rivals
import shared

from streamtok.gpu import GpuEncoder, GpuPipeline

HOST, CPU = "host to host", "CPU"
MOST_IN_GRAPH = 1 << 20
MOST_OF_RIVALS = 4 << 20  # of a text that tiktoken takes a second for


def stretches(data: bytes, size: int, most: int) -> list[bytes]:
    """Different texts of about `size` bytes; the corpus over and over where it is shorter."""
    if size * 4 > len(data):
        whole = shared.repeated(data, max(2 * size, len(data)))
        step = max(1, (len(whole) - size) // 3)
        return [shared.stretch(whole, i * step, size) for i in range(4)]
    return shared.documents_of(data, min(most, len(data) // size), size)


Contenders = dict[str, tuple[Callable[[Any], Any], Callable[[bytes], Any]]]
"""Name -> (the call, what makes its argument of bytes)."""


def contenders_of(encoding: Any, sample: bytes) -> Contenders:
    encoder, pipeline, cores = GpuEncoder(encoding), GpuPipeline(encoding), shared.cores()

    def itself(text: bytes) -> bytes:
        return text

    found: Contenders = {
        "device memory": (
            shared.settled(lambda text: encoder.encode(text, **shared.OPTIONS)),
            lambda text: cupy.asarray(np.frombuffer(text, np.uint8)),
        ),
        "to the device": (shared.settled(lambda text: encoder.encode(text, **shared.OPTIONS)), itself),
        HOST: (lambda text: pipeline.encode(text, **shared.OPTIONS), itself),
        CPU: (lambda text: encoding.encode_to_numpy(text, **shared.OPTIONS), itself),
        f"CPU, {cores} cores": (
            lambda text: encoding.encode_to_numpy(text, num_threads=cores, **shared.OPTIONS),
            itself,
        ),
    }
    want = encoding.encode_to_numpy(sample, **shared.OPTIONS)
    theirs = rivals.made("tiktoken", encoding, rivals.tiktoken_array, sample.decode(), want)
    if theirs:
        found["tiktoken"] = theirs, bytes.decode
    theirs = rivals.made("gigatoken", encoding, rivals.gigatoken_one, sample, want)
    if theirs:
        found["gigatoken"] = theirs, itself
    return found


def measure(encoding: Any, contenders: Contenders, encoder: Any, data: bytes, size: int, budget: float) -> shared.Row:
    texts = stretches(data, size, 200)
    want = encoding.encode_to_numpy(texts[0], **shared.OPTIONS)
    times: dict[str, float | None] = {}
    if size <= MOST_IN_GRAPH:
        some = [cupy.asarray(np.frombuffer(text, np.uint8)) for text in texts[:3]]
        wants = [encoding.encode_to_numpy(text, **shared.OPTIONS) for text in texts[:3]]
        what = f"{encoding.name}, {size} bytes"
        times["in a graph"] = graph.median_of(encoder, some, wants, what, rivals.say)
    for name, (call, make) in contenders.items():
        if name in rivals.MODULES and size > MOST_OF_RIVALS:
            continue
        forms = [make(text) for text in texts]
        shared.check(call(forms[0]), want, f"{encoding.name}, {name}, {size} bytes")
        times[name] = shared.median_over(call, forms, len(forms), budget) * 1e6
    return {name: None if spent is None else round(spent, 1) for name, spent in times.items()}


def rows(options: Any) -> Iterator[shared.Row]:
    for encoding, corpus, data in shared.cases(options):
        contenders, encoder, size = contenders_of(encoding, shared.stretch(data, 0, 100_000)), GpuEncoder(encoding), 0
        while (size := size * 4 or options.least) <= options.most:
            found = measure(encoding, contenders, encoder, data, size, options.budget)
            yield {"encoding": encoding.name, "corpus": corpus, "size": size, "us": found}


def crossover(found: list[shared.Row]) -> str:
    """From which size on the device wins at all sizes that were measured."""
    wins = [row["us"][HOST] < row["us"][CPU] for row in found]
    first = len(wins) - next((i for i, won in enumerate(reversed(wins)) if not won), len(wins))
    return f"from {shared.in_units(found[first]['size'])} on" if first < len(found) else "at no size"


def table(found: list[shared.Row]) -> str:
    parts = []
    for encoding, corpus in dict.fromkeys((row["encoding"], row["corpus"]) for row in found):
        own = [row for row in found if (row["encoding"], row["corpus"]) == (encoding, corpus)]
        names = sorted(shared.names_in(own, "us"), key=lambda name: name != "in a graph")
        cells = [
            [shared.in_units(row["size"]), *(shared.cell(row["us"].get(name), ",.1f") for name in names)] for row in own
        ]
        title = f"{encoding}, {corpus}, microseconds; {HOST} faster than one CPU thread {crossover(own)}"
        parts.append(f"**{title}**\n\n{shared.markdown(['text', *names], cells)}")
    return "\n\n".join(parts)


if __name__ == "__main__":
    brief = {"corpora": ["english"], "budget": 0.1}
    shared.main(__doc__, rows, table, brief=brief, least=256, most=64 << 20, budget=0.5)
