"""Many texts at once: encode_ordinary_batch and encode_ragged beside tiktoken, on one thread and on all cores."""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from common import (
    ENCODINGS,
    KB,
    MB,
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
    wall_seconds,
)

DOCUMENT = 4 * KB
THREADS = sorted({1, os.cpu_count() or 1})

Batch = list[str]


def batches(name: str, count: int, size: int) -> list[Batch]:
    """Batches of disjoint documents."""
    result = []
    for piece in fresh_slices(name, count, size):
        step = max(1, DOCUMENT * len(piece.text) // len(piece.data))
        result.append([piece.text[at : at + step] for at in range(0, len(piece.text), step)])
    return result


def tiktoken_batch(encoding: str, threads: int) -> Callable[[Batch], Any]:
    encode = oracle(encoding).encode_ordinary_batch
    return lambda texts: encode(texts, num_threads=threads)


def ours_batch(encoding: str, threads: int) -> Callable[[Batch], Any]:
    encode = fresh_encoding(encoding).encode_ordinary_batch
    return lambda texts: encode(texts, num_threads=threads)


def ours_ragged(encoding: str, threads: int) -> Callable[[Batch], Any]:
    encode = fresh_encoding(encoding).encode_ragged
    return lambda texts: encode(texts, num_threads=threads, disallowed_special=())


CONTENDERS = {"tiktoken batch": tiktoken_batch, "streamtok batch": ours_batch, "streamtok ragged": ours_ragged}


def flat(result: Any) -> tuple[np.ndarray, np.ndarray]:
    """(ids, row starts) of lists, or of what encode_ragged gives."""
    if isinstance(result, tuple):
        return result
    starts = np.concatenate([[0], np.cumsum([len(ids) for ids in result])])
    return np.concatenate([np.asarray(ids, np.uint32) for ids in result]), starts


def checker(encoding: str) -> Callable[[str, Batch, Any], None]:
    def check(name: str, texts: Batch, result: Any) -> None:
        expected = flat([oracle(encoding).encode_ordinary(text) for text in texts])
        for ours, theirs, what in zip(flat(result), expected, ("ids", "row starts")):
            check_ids(ours, theirs, f"{name}, {encoding}, {what}")

    return check


def one_case(corpus: str, encoding: str, threads: int, jobs: list[Batch]) -> dict[str, Any]:
    contenders = {name: make(encoding, threads) for name, make in CONTENDERS.items()}
    seconds = take_turns(contenders, jobs, checker(encoding), wall_seconds)
    sizes = [sum(len(text.encode()) for text in texts) for texts in jobs]
    return {
        "corpus": corpus,
        "encoding": encoding,
        "threads": threads,
        "speed": {name: speeds(spent, sizes) for name, spent in seconds.items()},
        "batch_ratio": ratio(seconds["tiktoken batch"], seconds["streamtok batch"]),
        "ragged_ratio": ratio(seconds["tiktoken batch"], seconds["streamtok ragged"]),
    }


def measure(full: bool) -> list[dict[str, Any]]:
    rows = []
    for corpus in corpora():
        jobs = batches(corpus, *((4, 2 * MB) if full else (3, MB // 2)))
        rows += [one_case(corpus, encoding, threads, jobs) for encoding in ENCODINGS for threads in THREADS]
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    head = ["corpus", "encoding", "threads", "tiktoken batch", "batch", "ratio", "ragged", "ratio"]

    def cells(row: dict[str, Any]) -> list[str]:
        speed = {name: f"{rates['warm']:.1f}" for name, rates in row["speed"].items()}
        return [
            row["corpus"],
            row["encoding"],
            str(row["threads"]),
            speed["tiktoken batch"],
            speed["streamtok batch"],
            f"{row['batch_ratio']:.1f}x",
            speed["streamtok ragged"],
            f"{row['ragged_ratio']:.1f}x",
        ]

    return markdown(head, map(cells, rows))


@pytest.mark.parametrize("contender", CONTENDERS)
@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("encoding", ENCODINGS)
def bench_batch(benchmark: Any, encoding: str, threads: int, contender: str) -> None:
    encode, jobs = CONTENDERS[contender](encoding, threads), batches("english", 6, MB // 2)
    checker(encoding)(contender, jobs[0], encode(jobs[0]))
    left = iter(jobs[1:])
    benchmark.group = f"batch of {len(jobs[0])} documents, {encoding}, {threads} threads"
    benchmark.pedantic(encode, setup=lambda: ((next(left),), {}), rounds=5, iterations=1)


if __name__ == "__main__":
    main(measure, table, pinned=False)
