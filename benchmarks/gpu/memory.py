"""Device memory for a byte of text: what CuPy's pool took from the driver for one call, and what steady calls take.

    python benchmarks/gpu/memory.py --corpus FOLDER [--mb 256] [--dtypes uint32 int64]

A GpuEncoder whose buffers were given up encodes so much text from host memory at once. "Peak" is what the pool grew by,
text, buffers and result together, over the bytes of the text; the vocabulary's tables are not in it. "Held" is what the
encoder keeps for the next call, "ids" the result alone. Then the same call again: requests to the pool, bytes from the
driver, the share of the time in both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cupy
import shared

from streamtok.gpu import GpuEncoder

DTYPES = ["uint16", "uint32", "int32", "int64"]


def measure(encoding: Any, text: bytes, dtype: str, want: Any) -> shared.Row:
    """want: the ids of the beginning of the text."""
    pool = cupy.get_default_memory_pool()
    encoder = GpuEncoder(encoding, ids=dtype)
    shared.check(encoder.encode(text, **shared.OPTIONS)[: len(want)], want, f"{encoding.name}, {dtype}")
    encoder._slot.forget()
    cupy.cuda.Device().synchronize()
    pool.free_all_blocks()
    before = pool.total_bytes()
    tables = encoder.memory
    ids = encoder.encode(text, **shared.OPTIONS)
    peak = pool.total_bytes() - before
    held, size = encoder.memory - tables, ids.nbytes
    del ids
    steady = shared.allocations_of(shared.settled(lambda text: encoder.encode(text, **shared.OPTIONS)), [text] * 3)
    return {
        "peak": round(peak / len(text), 2),
        "held": round(held / len(text), 2),
        "ids": round(size / len(text), 2),
        "tables_mb": round(tables / 1e6, 1),
        "steady": steady,
    }


def rows(options: Any) -> Iterator[shared.Row]:
    for encoding, corpus, data in shared.cases(options):
        want = encoding.encode_to_numpy(data, num_threads=shared.cores(), **shared.OPTIONS)
        want = want[: len(want) - 100]  # ids at the cut depend on what follows it
        text = shared.repeated(data, options.mb * 1_000_000)
        for dtype in options.dtypes:
            if dtype != "uint16" or shared.ids_dtype(encoding) == "uint16":
                found = measure(encoding, text, dtype, want)
                yield {"encoding": encoding.name, "corpus": corpus, "dtype": dtype, "mb": len(text) // 10**6, **found}


def table(found: list[shared.Row]) -> str:
    cells = []
    for row in found:
        steady = row["steady"]
        of_pool = f"{steady['pool'] + steady['pinned']:g}"
        what = f"{row['encoding']}, {row['corpus']}, {row['dtype']}"
        cells.append([what, row["peak"], row["held"], row["ids"], of_pool, steady["driver"], f"{steady['share']:.2%}"])
    head = ["bytes of the device for a byte of text", "peak", "held", "ids"]
    return shared.markdown([*head, "requests a steady call", "bytes from the driver", "share of time"], cells)


if __name__ == "__main__":
    shared.main(__doc__, rows, table, brief={"dtypes": ["uint16", "uint32"]}, mb=256, dtypes=DTYPES)
