"""How far ids without a pattern are from the model's: the table of BlockBPE's trade, on real text and on numbers.

    python benchmarks/gpu/regex_free.py --corpus FOLDER [--documents 200] [--bytes 2000]

Encoding.without_pattern() merges a text whole. For each kind of text: documents whose ids are the same, tokens more or
fewer, and the Levenshtein similarity of the two sequences of ids, 1 - distance / length of the longer, averaged. The
number-heavy text is made here: sums, prices, dates, telephone numbers, tables, as arithmetic data sets have them.

Where there is a device, then the times: stretches of 131,072 tokens, host bytes to host ids, medians over up to 16 of
them; the same with the pattern; the text in device memory and the ids staying there; the CPU on one thread and on all
cores. Ids are checked first.
"""

from __future__ import annotations

import pathlib
import random
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import shared

import streamtok

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from alike import compared


def number_text(rng: random.Random, size: int) -> str:
    parts: list[str] = []
    while sum(map(len, parts)) < size:
        a, b = rng.randint(1, 10 ** rng.randint(1, 9)), rng.randint(1, 10 ** rng.randint(1, 6))
        parts.append(
            rng.choice(
                [
                    f"{a} + {b} = {a + b}. ",
                    f"She paid ${a / 100:,.2f} for {b} apples, or {a * b} cents. ",
                    f"On {rng.randint(1, 28)}/{rng.randint(1, 12)}/{rng.randint(1900, 2030)} it was {a % 60}°. ",
                    f"Call +1-{a % 1000:03d}-{b % 1000:03d}-{a % 10000:04d}\n",
                    f"| {a} | {b} | {a / b:.4f} |\n",
                    f"If x={a} and y={b}, then x*y={a * b}.\n",
                ]
            )
        )
    return "".join(parts)


def documents_of(options: Any, kind: str) -> list[str]:
    rng = random.Random(kind)
    if kind == "numbers":
        return [number_text(rng, options.bytes) for _ in range(options.documents)]
    data = shared.text_of(options.corpus, kind)
    starts = [rng.randrange(max(1, len(data) - options.bytes)) for _ in range(options.documents)]
    return [shared.stretch(data, start, options.bytes).decode() for start in starts]


# ==== Times ====

TOKENS = 131_072


def times_of(encoding: streamtok.Encoding, data: bytes, what: str, budget: float) -> dict[str, float]:
    """Milliseconds of one kind of text."""
    import cupy

    from streamtok.gpu import GpuEncoder, GpuPipeline

    free = shared.without_pattern(encoding)
    texts = shared.windows_of(free, data, TOKENS)
    pipeline, split, encoder = GpuPipeline(free), GpuPipeline(encoding), GpuEncoder(free)
    for text in texts:
        shared.check(pipeline.encode(text, **shared.OPTIONS), free.encode_to_numpy(text, **shared.OPTIONS), what)
    on_device = [cupy.asarray(np.frombuffer(text, np.uint8)) for text in texts]
    resident = shared.settled(lambda text: encoder.encode(text, **shared.OPTIONS))
    calls = {
        "GPU": lambda text: pipeline.encode(text, **shared.OPTIONS),
        "GPU with the pattern": lambda text: split.encode(text, **shared.OPTIONS),
        "CPU": lambda text: free.encode_to_numpy(text, **shared.OPTIONS),
        "CPU, all cores": lambda text: free.encode_to_numpy(text, num_threads=shared.cores(), **shared.OPTIONS),
    }
    times = {name: shared.median_over(call, texts, 32, budget) for name, call in calls.items()}
    times["on the device"] = shared.median_over(resident, on_device, 32, budget)
    return {name: round(spent * 1e3, 3) for name, spent in times.items()}


# ==== The tables ====


def alike(encoding: Any, documents: list[str]) -> shared.Row:
    free = shared.without_pattern(encoding)
    return compared(encoding.encode_ordinary, free.encode_ordinary, documents)


def rows(options: Any) -> Iterator[shared.Row]:
    for name in options.encodings:
        for kind in [*options.corpora, "numbers"]:
            yield {"encoding": name, "corpus": kind, **alike(streamtok.get_encoding(name), documents_of(options, kind))}
    for encoding, corpus, data in shared.cases(options):
        found = times_of(encoding, data, f"{encoding.name}, {corpus}", options.budget)
        yield {"encoding": encoding.name, "corpus": corpus, "ms": found}


def table(found: list[shared.Row]) -> str:
    of_ids = [
        [
            f"{row['encoding']}, {row['corpus']}",
            *(f"{row['same']:.1%}", f"{row['more']:+.2%}", f"{row['similarity']:.4f}", f"{row['least']:.4f}"),
        ]
        for row in found
        if "same" in row
    ]
    names = shared.names_in(found, "ms")
    times = [
        [f"{row['encoding']}, {row['corpus']}", *(row["ms"][name] for name in names)] for row in found if "ms" in row
    ]
    head = ["text", "documents alike", "tokens", "similarity", "least"]
    first = shared.markdown(head, of_ids)
    return f"{first}\n\n{shared.markdown([f'{TOKENS:,} tokens, ms', *names], times)}" if times else first


if __name__ == "__main__":
    brief = {"documents": 50, "budget": 0.2}
    shared.main(__doc__, rows, table, brief=brief, documents=200, bytes=2000, budget=2.0)
