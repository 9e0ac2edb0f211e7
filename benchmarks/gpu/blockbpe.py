"""BlockBPE's grid (You, ES-FoMo 2025): batches of 64 to 1,024 texts of 128 to 4,096 bytes, beside tiktoken and the CPU.

    python benchmarks/gpu/blockbpe.py --corpus FOLDER [--encodings cl100k_base]

A list of str to ids and row starts on the host, and on the device; milliseconds, medians. tiktoken's
encode_ordinary_batch on 8 threads. Ids are checked first.
"""

from __future__ import annotations

from typing import Any

import common
import cupy

import streamtok
from streamtok.gpu import GpuEncoder, GpuPipeline

BATCHES = [64, 128, 256, 512, 1024]
LENGTHS = [128, 256, 512, 1024, 2048, 4096]
OPTIONS: dict[str, Any] = {"disallowed_special": ()}


def batch_of(data: bytes, count: int, size: int) -> list[str]:
    step = max(1, (len(data) - size) // count)
    return [common.stretch(data, i * step, size).decode() for i in range(count)]


def measure(pipeline: GpuPipeline, encoder: GpuEncoder, data: bytes, count: int, size: int) -> list[str]:
    texts, encoding = batch_of(data, count, size), encoder.encoding
    want, starts = encoding.encode_ragged(texts, **OPTIONS)
    ids, indptr = pipeline.encode_batch(texts, **OPTIONS)
    common.check(ids, want, f"{count} x {size}")
    common.check(indptr, starts, f"row starts of {count} x {size}")
    ids, rows = encoder.encode_batch(texts, **OPTIONS)
    common.check(ids.get(), want, f"{count} x {size} on the device")
    common.check(rows.get(), starts, f"row starts of {count} x {size} on the device")

    def resident() -> None:
        encoder.encode_batch(texts, **OPTIONS)
        cupy.cuda.get_current_stream().synchronize()

    calls = [
        lambda: pipeline.encode_batch(texts, **OPTIONS),
        resident,
        lambda: encoding.encode_ragged(texts, **OPTIONS),
    ]
    theirs = common.tiktoken_of(encoding)
    if theirs is not None:
        calls.append(lambda: theirs.encode_ordinary_batch(texts, num_threads=8))
    times = [common.median_seconds(call, repeats=15) * 1e3 for call in calls]
    speed_up = f"{times[3] / times[0]:.1f}x" if theirs is not None else ""
    return [f"{count} x {size} B", *(f"{time:.3f}" for time in times), speed_up]


def main() -> None:
    options = common.arguments(__doc__)
    print(common.machine())
    for name in options.encodings:
        encoding = streamtok.get_encoding(name)
        both = GpuPipeline(encoding), GpuEncoder(encoding)
        for corpus in options.corpora:
            data = common.text_of(options.corpus, corpus)
            rows = [measure(*both, data, count, size) for count in BATCHES for size in LENGTHS]
            head = ["batch", "host to host", "to the device", "CPU, 8 threads", "tiktoken, 8 threads", "speed-up"]
            print(f"\n{name}, {corpus}, milliseconds\n{common.table(head, rows)}", flush=True)


if __name__ == "__main__":
    main()
