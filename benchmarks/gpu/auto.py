"""device="auto" beside the CPU and the GPU alone: texts of 64 B to a gigabyte, as bytes, str and a list of documents.

    python benchmarks/gpu/auto.py --corpus FOLDER [--largest 1073741824] [--encodings o200k_base] [--corpora english]

Each call returns NumPy arrays, on all threads that the process may use. Seconds are medians; "auto" is the ratio of its
time to the better of the two others, whose ratio stands beside it ("CPU / GPU", above 1 where the GPU is faster). The
str has a character beyond ASCII in each 400, and so does every second document, of 2 KB. Ids are compared first.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import shared

SMALLEST, DOCUMENT = 64, 2048
KINDS = ["bytes", "str", "documents"]
WAYS = {"CPU": "cpu", "GPU": "cuda", "auto": "auto"}


def marked(text: bytes) -> str:
    parts = [text[at : at + 400].decode("utf-8", "ignore") for at in range(0, len(text), 400)]
    return "\u2019".join(parts)


def given(kind: str, data: bytes, size: int) -> Any:
    text = shared.stretch(shared.repeated(data, size + len(data)), 0, size)
    if kind == "bytes":
        return text
    if kind == "str":
        return marked(text)
    parts = [text[at : at + DOCUMENT] for at in range(0, size, DOCUMENT)]
    return [marked(part) if i % 2 else part.decode("utf-8", "ignore") for i, part in enumerate(parts)]


def calls(encoding: Any, what: Any) -> dict[str, Callable[[], Any]]:
    encode = encoding.encode_ragged if isinstance(what, list) else encoding.encode_to_numpy
    return {
        way: lambda device=device: encode(what, device=device, num_threads=None, **shared.OPTIONS)
        for way, device in WAYS.items()
    }


def seconds_of(ways: dict[str, Callable[[], Any]], budget: float) -> dict[str, float]:
    """Medians of blocks of calls of each way in turn, so that all see the same machine, and a way its own caches; the
    first call of a block does not count."""
    times: dict[str, list[float]] = {way: [] for way in ways}
    start = time.perf_counter()
    while len(times["auto"]) < 9 or (len(times["auto"]) < 200 and time.perf_counter() - start < budget):
        for way, call in ways.items():
            call()
            for _ in range(3 if times["auto"] and times["auto"][-1] > 0.01 else 20):
                begun = time.perf_counter()
                call()
                times[way].append(time.perf_counter() - begun)
    return {way: statistics.median(each) for way, each in times.items()}


def rows(options: Any) -> Iterator[shared.Row]:
    for encoding, corpus, data in shared.cases(options):
        encoding.encode_to_numpy(shared.repeated(data, 64 << 20), device="auto", **shared.OPTIONS)  # opens the device
        size = SMALLEST
        while size <= options.largest:
            for kind in options.kinds:
                what = given(kind, data, size)
                ways = calls(encoding, what)
                want = ways["CPU"]()
                for way in ("GPU", "auto", "auto", "auto"):
                    for got, each in zip(
                        *(part if isinstance(part, tuple) else (part,) for part in (ways[way](), want))
                    ):
                        shared.check(got, each, f"{encoding.name}, {corpus}, {size} B as {kind}, {way}")
                del want
                yield {
                    "encoding": encoding.name,
                    "corpus": corpus,
                    "bytes": size,
                    "kind": kind,
                    "seconds": seconds_of(ways, options.budget),
                }
            size *= 4


def table(found: list[shared.Row]) -> str:
    cells: dict[str, list[str]] = {}
    for row in found:
        took = row["seconds"]
        name = f"{row['encoding']}, {row['corpus']}, {shared.in_units(row['bytes'])}"
        ratio = took["auto"] / min(took["CPU"], took["GPU"])
        cells.setdefault(name, [name]).append(f"{ratio:.2f} ({took['CPU'] / took['GPU']:.2f})")
    kinds = list(dict.fromkeys(row["kind"] for row in found))
    worst = max(row["seconds"]["auto"] / min(row["seconds"]["CPU"], row["seconds"]["GPU"]) for row in found)
    lines = shared.markdown(["auto / better (CPU / GPU)", *kinds], cells.values())
    return f"{lines}\n\nThe worst: {worst:.2f}"


if __name__ == "__main__":
    brief = {"largest": 1 << 28, "budget": 0.15, "encodings": ["o200k_base"], "corpora": ["english", "multilingual"]}
    shared.main(__doc__, rows, table, brief=brief, largest=1 << 30, budget=0.5, kinds=KINDS)
