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

import random
from typing import Any

import common
import numpy as np

import streamtok


def distance(a: Any, b: Any) -> int:
    """Levenshtein's, a row of its matrix at a time; insertions along a row by a running minimum."""
    a, b = np.asarray(a, np.int64), np.asarray(b, np.int64)
    columns = np.arange(len(b) + 1)
    row = columns.copy()
    for i, token in enumerate(a.tolist(), 1):
        new = np.empty_like(row)
        new[0] = i
        new[1:] = np.minimum(row[1:] + 1, row[:-1] + (b != token))
        row = np.minimum.accumulate(new - columns) + columns
    return int(row[-1])


def similarity(a: Any, b: Any) -> float:
    longer = max(len(a), len(b))
    return 1 - distance(a, b) / longer if longer else 1.0


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
    data = common.text_of(options.corpus, kind)
    starts = [rng.randrange(max(1, len(data) - options.bytes)) for _ in range(options.documents)]
    return [common.stretch(data, start, options.bytes).decode() for start in starts]


# ==== Times ====

TOKENS = 131_072
OPTIONS: dict[str, Any] = {"disallowed_special": ()}


def times_of(encoding: streamtok.Encoding, data: bytes, what: str) -> list[str]:
    """Milliseconds of one kind of text."""
    import cupy

    from streamtok.gpu import GpuEncoder, GpuPipeline

    free = common.without_pattern(encoding)
    texts = common.windows_of(free, data, TOKENS)
    pipeline, split, encoder = GpuPipeline(free), GpuPipeline(encoding), GpuEncoder(free)
    for text in texts:
        common.check(pipeline.encode(text, **OPTIONS), free.encode_to_numpy(text, **OPTIONS), what)
    on_device = [cupy.asarray(np.frombuffer(text, np.uint8)) for text in texts]

    def resident(text: Any) -> None:
        encoder.encode(text, **OPTIONS)
        cupy.cuda.get_current_stream().synchronize()

    times = [
        common.median_ms(lambda text: pipeline.encode(text, **OPTIONS), texts),
        common.median_ms(lambda text: split.encode(text, **OPTIONS), texts),
        common.median_ms(resident, on_device),
        common.median_ms(lambda text: free.encode_to_numpy(text, **OPTIONS), texts),
        common.median_ms(lambda text: free.encode_to_numpy(text, num_threads=common.cores(), **OPTIONS), texts),
    ]
    return [what, f"{len(texts[0]) / 1000:.0f} KB", *(f"{time:.2f}" for time in times)]


def print_times(options: Any) -> None:
    if "missing" in streamtok.info()["cuda"]:
        print("\nno times: there is no CUDA device here")
        return
    rows = [
        times_of(streamtok.get_encoding(name), common.text_of(options.corpus, corpus), f"{name}, {corpus}")
        for name in options.encodings
        for corpus in options.corpora
    ]
    head = ["131,072 tokens, ms", "text", "GPU", "GPU with the pattern", "on the device", "CPU", "CPU, all cores"]
    print(f"\n{common.machine()}\n{common.table(head, rows)}")


def main() -> None:
    options = common.arguments(__doc__, documents=200, bytes=2000)
    rows = []
    for name in options.encodings:
        encoding = streamtok.get_encoding(name)
        free = common.without_pattern(encoding)
        for kind in [*options.corpora, "numbers"]:
            pairs = [
                (encoding.encode_ordinary(text), free.encode_ordinary(text)) for text in documents_of(options, kind)
            ]
            same = sum(a == b for a, b in pairs) / len(pairs)
            more = sum(len(b) for _, b in pairs) / sum(len(a) for a, _ in pairs) - 1
            alike = [similarity(a, b) for a, b in pairs]
            row = [f"{name}, {kind}", f"{same:.1%}", f"{more:+.2%}", f"{np.mean(alike):.4f}", f"{min(alike):.4f}"]
            rows.append(row)
            print(*row, flush=True)
    print(common.table(["text", "documents alike", "tokens", "similarity", "least"], rows))
    print_times(options)


if __name__ == "__main__":
    main()
