"""Streaming beside one-shot and beside tiktoken: feed() in chunks, feed() of 16 bytes, and what feed() allocates."""

from __future__ import annotations

import pathlib
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from common import (
    ENCODINGS,
    MB,
    Slice,
    check_ids,
    corpora,
    fresh_encoding,
    fresh_slices,
    main,
    markdown,
    oracle,
    ratio,
    speeds,
    take_turns,
    time_fresh,
)

from streamtok.native import library

CHUNK = 4096
TINY = 16


def one_shot(encoding: str) -> Callable[[Slice], Any]:
    encode = fresh_encoding(encoding).encode_to_numpy
    return lambda piece: encode(piece.text, disallowed_special=())


def tiktoken_one_shot(encoding: str) -> Callable[[Slice], Any]:
    encode = oracle(encoding).encode_to_numpy
    return lambda piece: encode(piece.text, disallowed_special=())


def feeding(encoding: str, size: int, as_str: bool = False) -> Callable[[Slice], Any]:
    """One stream, fed a slice in chunks; the consumer copies each view into an array of its own."""
    stream = fresh_encoding(encoding).stream_encoder(disallowed_special=())

    def run(piece: Slice) -> Any:
        source: Any = piece.text if as_str else memoryview(piece.data)
        taken, n = np.empty(len(piece.data), np.uint32), 0
        for at in range(0, len(source), size):
            ids = stream.feed(source[at : at + size])
            taken[n : n + len(ids)] = ids
            n += len(ids)
            del ids  # a view that is still held would cost the next feed() a new buffer
        ids = stream.flush()
        taken[n : n + len(ids)] = ids
        return taken[: n + len(ids)]

    return run


CONTENDERS: dict[str, Callable[[str], Callable[[Slice], Any]]] = {
    "tiktoken one-shot": tiktoken_one_shot,
    "one-shot": one_shot,
    "feed 4 KB": lambda encoding: feeding(encoding, CHUNK),
    "feed 4 KB, str": lambda encoding: feeding(encoding, CHUNK, as_str=True),
    "feed 64 KB": lambda encoding: feeding(encoding, 16 * CHUNK),
}


# ---- chunks of 16 bytes, allocations ----


def tiny_feeds(encoding: str, piece: Slice) -> dict[str, float]:
    """Nanoseconds of single feed() calls, less what reading the clock takes."""
    stream = fresh_encoding(encoding).stream_encoder(disallowed_special=())
    chunks = [piece.data[at : at + TINY] for at in range(0, len(piece.data), TINY)]
    clock, feed = time.perf_counter_ns, stream.feed
    empty = statistics.median(-(clock() - clock()) for _ in range(10_000))
    spent, parts = [], []
    for chunk in chunks:
        start = clock()
        ids = feed(chunk)
        spent.append(clock() - start)
        parts.append(ids.copy())
        del ids
    check_ids(np.concatenate([*parts, stream.flush()]), piece.expected(encoding), f"feed of {TINY} bytes, {encoding}")
    spent.sort()
    return {"median": statistics.median(spent) - empty, "p99": spent[len(spent) * 99 // 100] - empty}


def allocations(encoding: str, piece: Slice) -> dict[str, float]:
    """What the C core allocates in the steady state: in a second pass over a text, every view dropped before the next
    feed(). The first pass has grown the buffers and built what the vocabulary builds at first need."""
    stream = fresh_encoding(encoding).stream_encoder(disallowed_special=())
    chunks = [piece.data[at : at + CHUNK] for at in range(0, len(piece.data), CHUNK)]
    for chunk in chunks:
        stream.feed(chunk)
    stream.flush()
    calls, size, _ = library.allocation_counts()
    for chunk in chunks:
        stream.feed(chunk)
    calls_after, size_after, _ = library.allocation_counts()
    return {"feeds": len(chunks), "calls": calls_after - calls, "bytes": size_after - size}


# ---- the whole ----


def measure(full: bool) -> list[dict[str, Any]]:
    rows = []
    for corpus in corpora():
        slices = fresh_slices(corpus, *((4, 3 * MB) if full else (3, MB // 2)))
        for encoding in ENCODINGS:
            contenders = {name: make(encoding) for name, make in CONTENDERS.items()}

            def check(name: str, piece: Slice, ids: Any, encoding: str = encoding) -> None:
                check_ids(ids, piece.expected(encoding), f"{name}, {encoding}")

            seconds = take_turns(contenders, slices, check)
            sizes = [len(piece.data) for piece in slices]
            rows.append(
                {
                    "corpus": corpus,
                    "encoding": encoding,
                    "speed": {name: speeds(spent, sizes) for name, spent in seconds.items()},
                    "over_one_shot": {name: ratio(seconds["one-shot"], seconds[name]) for name in contenders},
                    "over_tiktoken": {name: ratio(seconds["tiktoken one-shot"], seconds[name]) for name in contenders},
                    "feed_16_ns": tiny_feeds(encoding, slices[-1]),
                    "allocations": allocations(encoding, slices[-1]),
                }
            )
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    head = [
        "corpus",
        "encoding",
        "one-shot",
        "feed 4 KB",
        "of one-shot",
        "of tiktoken",
        "4 KB str of one-shot",
        "64 KB of one-shot",
    ]
    head += ["feed 16 B, median", "99 of 100", "allocations", "in feeds"]

    def cells(row: dict[str, Any]) -> list[str]:
        speed, over = row["speed"], row["over_one_shot"]
        return [
            row["corpus"],
            row["encoding"],
            f"{speed['one-shot']['warm']:.1f}",
            f"{speed['feed 4 KB']['warm']:.1f}",
            f"{over['feed 4 KB']:.2f}x",
            f"{row['over_tiktoken']['feed 4 KB']:.1f}x",
            f"{over['feed 4 KB, str']:.2f}x",
            f"{over['feed 64 KB']:.2f}x",
            f"{row['feed_16_ns']['median']:.0f} ns",
            f"{row['feed_16_ns']['p99']:.0f} ns",
            str(row["allocations"]["calls"]),
            str(row["allocations"]["feeds"]),
        ]

    return markdown(head, map(cells, rows))


@pytest.mark.parametrize("contender", CONTENDERS)
@pytest.mark.parametrize("corpus", corpora())
@pytest.mark.parametrize("encoding", ENCODINGS)
def bench_feed(benchmark: Any, encoding: str, corpus: str, contender: str) -> None:
    encode, slices = CONTENDERS[contender](encoding), fresh_slices(corpus, 6, MB // 2)
    check_ids(encode(slices[0]), slices[0].expected(encoding), contender)
    benchmark.group = f"streaming, {encoding}, {corpus}, {len(slices[0].data)} bytes"
    time_fresh(benchmark, encode, slices)


if __name__ == "__main__":
    main(measure, table)
