"""BlockBPE's grid (You, ES-FoMo 2025): batches of 64 to 1,024 texts of 128 to 4,096 bytes, beside tiktoken and others.

    python benchmarks/gpu/blockbpe.py --corpus FOLDER [--encodings cl100k_base]

A list of str to ids and row starts on the host, and on the device; milliseconds, medians. tiktoken's
encode_ordinary_batch and the CPU core run on 8 threads, Hugging Face's tokenizers on as many as it takes by itself. Ids
are checked first.

BlockBPE also varies the size of a thread block, 128 to 1,024, because there a block has one text, and a text's length
against the block's size decides how much of it idles. Our kernels give a text no block: the batch is laid out as one
row of bytes, warps take stretches of it, and how many warps a block has is compiled in, for the shared memory of each
stage (csrc/cuda/job.h). So there is no such column; lengths and numbers of texts alone are varied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import rivals
import shared
from windows import _as_ids, ms

from streamtok.gpu import GpuEncoder, GpuPipeline

BATCHES = [64, 128, 256, 512, 1024]
LENGTHS = [128, 256, 512, 1024, 2048, 4096]
THREADS = 8


def contenders_of(encoding: Any, sample: list[str]) -> dict[str, Callable[[list[str]], Any]]:
    """Name -> batch to its result; of ours (ids, row starts)."""
    pipeline, encoder = GpuPipeline(encoding), GpuEncoder(encoding)
    found = {
        "host to host": lambda texts: pipeline.encode_batch(texts, **shared.OPTIONS),
        "to the device": shared.settled(lambda texts: encoder.encode_batch(texts, **shared.OPTIONS)),
        "CPU": lambda texts: encoding.encode_ragged(texts, num_threads=THREADS, **shared.OPTIONS),
    }
    want, _ = encoding.encode_ragged(sample, **shared.OPTIONS)
    for name, make in (
        ("tiktoken", lambda encoding: rivals.tiktoken_batch(encoding, THREADS)),
        ("tokenizers", rivals.hugging_face_batch),
    ):
        if rivals.made(name, encoding, lambda encoding, make=make: _as_ids(make(encoding)), sample, want):
            found[name] = make(encoding)
    return found


def measure(encoding: Any, contenders: Any, texts: list[str], what: str, budget: float) -> dict[str, float]:
    want, starts = encoding.encode_ragged(texts, **shared.OPTIONS)
    for name in ("host to host", "to the device", "CPU"):
        ids, indptr = contenders[name](texts)
        shared.check(ids, want, f"{what}, {name}")
        shared.check(indptr, starts, f"row starts of {what}, {name}")
    return {
        name: ms(shared.median_over(lambda _, call=call: call(texts), [None], 15, budget, warm=1))
        for name, call in contenders.items()
    }


def rows(options: Any) -> Iterator[shared.Row]:
    for encoding, corpus, data in shared.cases(options):
        contenders = contenders_of(encoding, [text.decode() for text in shared.documents_of(data, 16, 1000)])
        for count in options.batches:
            for size in options.lengths:
                texts = [text.decode() for text in shared.documents_of(data, count, size)]
                what = f"{encoding.name}, {corpus}, {count} x {size} B"
                found = measure(encoding, contenders, texts, what, options.budget)
                yield {"encoding": encoding.name, "corpus": corpus, "texts": count, "bytes": size, "ms": found}


def table(found: list[shared.Row]) -> str:
    names = shared.names_in(found, "ms")
    cells = []
    for row in found:
        theirs, ours = row["ms"].get("tiktoken"), row["ms"]["host to host"]
        what = f"{row['encoding']}, {row['corpus']}, {row['texts']} x {row['bytes']} B"
        cells.append([what, *(row["ms"].get(name, "") for name in names), f"{theirs / ours:.1f}x" if theirs else ""])
    return shared.markdown(["milliseconds", *names, "over tiktoken"], cells)


if __name__ == "__main__":
    brief = {"encodings": ["cl100k_base"], "corpora": ["english"], "lengths": [128, 1024, 4096], "budget": 0.15}
    shared.main(__doc__, rows, table, brief=brief, batches=BATCHES, lengths=LENGTHS, budget=2.0)
