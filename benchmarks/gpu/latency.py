"""One text from a Python call to its ids: microseconds by size, on the device, on the CPU, and tiktoken's.

    python benchmarks/gpu/latency.py --corpus FOLDER [--corpora english] [--least 256] [--most 67108864]

Columns: GpuEncoder from host memory, ids staying on the device; the same from device memory; GpuPipeline, host to host;
the CPU core on one thread and on all cores; tiktoken. Medians; every call of a size takes another stretch of the
corpus, so that no cache has seen the text. The last line says from which size the device is faster than one thread.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable
from typing import Any

import common
import cupy
import numpy as np

import streamtok
from streamtok.gpu import GpuEncoder, GpuPipeline

OPTIONS: dict[str, Any] = {"disallowed_special": ()}


def median_microseconds(call: Callable[[Any], Any], texts: list[Any]) -> float:
    times = []
    call(texts[0])
    for text in texts[1:]:
        start = time.perf_counter()
        call(text)
        cupy.cuda.get_current_stream().synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def stretches(data: bytes, size: int) -> list[bytes]:
    """Different texts of about `size` bytes; the corpus over and over where it is shorter."""
    if size * 4 > len(data):
        return [common.repeated(data, max(size, len(data)))[: size // 4 * 4]] * 4
    count = min(200, len(data) // size)
    step = len(data) // count
    return [common.stretch(data, i * step, size) for i in range(count)]


def measure(encoding: Any, contenders: dict[str, Callable[[Any], Any]], data: bytes, size: int) -> list[float]:
    texts = [text.decode("utf-8", "ignore").encode() for text in stretches(data, size)]
    row = []
    for name, call in contenders.items():
        forms: list[Any] = texts
        if "device memory" in name:
            forms = [cupy.asarray(np.frombuffer(text, np.uint8)) for text in texts]
        elif name == "tiktoken":
            if size > 4 << 20:
                row.append(float("nan"))
                continue
            forms = [text.decode() for text in texts]
        got = call(forms[0])
        got = got.get() if hasattr(got, "get") else got
        common.check(got, encoding.encode_to_numpy(texts[0], **OPTIONS), f"{encoding.name} {name} {size}")
        row.append(median_microseconds(call, forms))
    return row


def main() -> None:
    options = common.arguments(__doc__, least=256, most=64 << 20)
    print(common.machine())
    cores = common.cores()
    for name, corpus in itertools.product(options.encodings, options.corpora):
        encoding = streamtok.get_encoding(name)
        encoder, pipeline = GpuEncoder(encoding), GpuPipeline(encoding)
        contenders: dict[str, Callable[[Any], Any]] = {
            "to the device": lambda text, encoder=encoder: encoder.encode(text, **OPTIONS),
            "device memory": lambda text, encoder=encoder: encoder.encode(text, **OPTIONS),
            "host to host": lambda text, pipeline=pipeline: pipeline.encode(text, **OPTIONS),
            "CPU": lambda text, encoding=encoding: encoding.encode_to_numpy(text, **OPTIONS),
            f"CPU, {cores} cores": lambda text, encoding=encoding: encoding.encode_to_numpy(
                text, num_threads=cores, **OPTIONS
            ),
        }
        theirs = common.tiktoken_of(encoding)
        if theirs is not None:
            contenders["tiktoken"] = lambda text, theirs=theirs: theirs.encode_to_numpy(text, **OPTIONS)
        data = common.text_of(options.corpus, corpus)
        rows, crossover, size = [], None, options.least
        while size <= options.most:
            times = measure(encoding, contenders, data, size)
            rows.append([common.in_units(size), *(f"{t:,.0f}" for t in times)])
            is_faster = times[2] < times[3]
            crossover = (crossover or size) if is_faster else None
            size *= 4
        print(f"\n{name}, {corpus}, microseconds")
        print(common.table(["text", *contenders], rows))
        where = (
            f"from {common.in_units(crossover)} on" if crossover else f"at no size up to {common.in_units(size // 4)}"
        )
        print(f"host to host on the device is faster than one CPU thread {where}")


if __name__ == "__main__":
    main()
