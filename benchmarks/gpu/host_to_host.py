"""Text in host memory to ids in host memory: GB/s by chunk size, from and to pinned, and from and to pageable memory.

    python benchmarks/gpu/host_to_host.py --corpus FOLDER [--gb 1] [--chunks 4 16 32 64]

A corpus is repeated up to the size asked for. Wall time of GpuPipeline.encode, median of five after a warm-up; ids are
checked first, over the whole corpus, cut in chunks of a megabyte. GB are decimal, chunks in MiB. Ids are 16 bits wide
for r50k, 32 else. several.py has more devices than one.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import cupy
import cupyx
import numpy as np
import shared

from streamtok.gpu import GpuPipeline

COPIED = 32 << 20
"""Bytes a copy: a chunk of the pipeline's."""


def in_pinned(text: bytes) -> Any:
    """The text in pinned memory."""
    source = cupyx.empty_pinned(len(text), np.uint8)
    source[:] = np.frombuffer(text, np.uint8)
    return source


def room_for(encoding: Any, data: bytes, tokens: int, size: int) -> Any:
    """Pinned memory for the ids of `size` bytes of the text."""
    return cupyx.empty_pinned(int(size * (tokens / len(data) + 0.01)) + 1000, shared.ids_dtype(encoding))


def copies(counts: list[int], size: int) -> dict[str, float]:
    """GB/s each way of plain copies from and to pinned memory, both ways at once, on so many devices."""
    source, target = in_pinned(bytes(size)), in_pinned(bytes(size))
    slots = []
    for number in range(max(counts)):
        with cupy.cuda.Device(number):
            streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
            slots.append((number, streams, [cupy.empty(COPIED, np.uint8) for _ in streams]))

    def run(count: int) -> None:
        for i, at in enumerate(range(0, size - COPIED + 1, COPIED)):
            number, (up, down), (there, back) = slots[i % count]
            with cupy.cuda.Device(number):
                with up:
                    there.data.copy_from_host_async(source.ctypes.data + at, COPIED)
                with down:
                    back.data.copy_to_host_async(target.ctypes.data + at, COPIED)
        for number, streams, _ in slots[:count]:
            with cupy.cuda.Device(number):
                for stream in streams:
                    stream.synchronize()

    timed = {n: shared.median_seconds(functools.partial(run, n), repeats=3) for n in counts}
    return {str(n): round(size // COPIED * COPIED / seconds / 1e9, 6) for n, seconds in timed.items()}


def checked(encoding: Any, data: bytes, what: str) -> int:
    """Tokens of the text, once those of the device are known to be right."""
    want = encoding.encode_to_numpy(data, num_threads=shared.cores(), **shared.OPTIONS)
    pipeline = GpuPipeline(encoding, ids=shared.ids_dtype(encoding), chunk_size=1 << 20)
    shared.check(pipeline.encode(data, **shared.OPTIONS), want, what)
    return len(want)


def rates(encoding: Any, text: bytes, source: Any, out: Any, chunk: int) -> list[float]:
    """GB/s from pinned to pinned memory and from pageable to pageable."""
    pipeline = GpuPipeline(encoding, ids=out.dtype.name, chunk_size=chunk)
    fast = shared.median_seconds(lambda: pipeline.encode(source, out=out, **shared.OPTIONS))
    slow = shared.median_seconds(lambda: pipeline.encode(text, **shared.OPTIONS), repeats=3)
    return [round(len(text) / seconds / 1e9, 2) for seconds in (fast, slow)]


def rows(options: Any) -> Iterator[shared.Row]:
    for encoding, corpus, data in shared.cases(options):
        tokens = checked(encoding, data, f"{encoding.name}, {corpus}")
        text = shared.repeated(data, int(options.gb * 1e9))
        source, out = in_pinned(text), room_for(encoding, data, tokens, len(text))
        found = {str(chunk): rates(encoding, text, source, out, chunk << 20) for chunk in options.chunks}
        yield {"encoding": encoding.name, "corpus": corpus, "mb": round(len(text) / 1e6), "chunks": found}


def table(found: list[shared.Row]) -> str:
    chunks = shared.names_in(found, "chunks")
    cells = [
        [f"{row['encoding']}, {row['corpus']}", *(" / ".join(map(str, row["chunks"].get(n, ()))) for n in chunks)]
        for row in found
    ]
    return shared.markdown(["GB/s, pinned / pageable", *(f"chunks of {n} MB" for n in chunks)], cells)


if __name__ == "__main__":
    brief = {"gb": 0.4, "chunks": [32, 64], "corpora": ["english", "multilingual"]}
    shared.main(__doc__, rows, table, brief=brief, gb=1.0, chunks=[4, 16, 32, 64])
