"""Several threads: one long document, a batch of short ones, and a file to a file of ids, beside one thread.

Every figure is the best of several rounds, in which one thread and several take turns. All ids are compared with
tiktoken's. The time of a file includes writing and fsync; the same text in memory is measured too.
"""

from __future__ import annotations

import functools
import os
import pathlib
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from common import (
    ENCODINGS,
    KB,
    MB,
    Slice,
    check_ids,
    corpora,
    fresh_encoding,
    fresh_slices,
    main,
    markdown,
    take_turns,
    wall_seconds,
)

DOCUMENT = 8 * KB
THREADS = max(2, os.cpu_count() or 1)

Job = Callable[[Slice], Any]


@functools.cache
def documents(piece: Slice) -> list[str]:
    """The slice as short documents; cutting it is not timed."""
    step = max(1, DOCUMENT * len(piece.text) // len(piece.data))
    return [piece.text[at : at + step] for at in range(0, len(piece.text), step)]


@functools.cache
def byte_documents(piece: Slice) -> list[bytes]:
    return [text.encode() for text in documents(piece)]


class File:
    """encode_file of a slice, from a file that is there already into one beside it."""

    def __init__(self, encoding: Any, folder: pathlib.Path, threads: int) -> None:
        self.encoding, self.folder, self.threads = encoding, folder, threads

    def __call__(self, piece: Slice) -> Any:
        source, target = self.folder / "in.txt", self.folder / f"out{self.threads}.bin"
        self.encoding.encode_file(source, target, dtype="uint32", num_threads=self.threads)
        return target


def contenders(name: str, folder: pathlib.Path) -> dict[str, Job]:
    """The timed functions by what they do and on how many threads."""
    encoding = fresh_encoding(name)
    found: dict[str, Job] = {}
    for n in (1, THREADS):
        how = {"disallowed_special": (), "num_threads": n}
        found[f"document {n}"] = lambda piece, how=how: encoding.encode_to_numpy(piece.data, **how)  # type: ignore[misc]
        found[f"count {n}"] = lambda piece, how=how: encoding.count(piece.data, **how)  # type: ignore[misc]
        found[f"ragged {n}"] = lambda piece, how=how: encoding.encode_ragged(byte_documents(piece), **how)[1][-1]  # type: ignore[misc]
        found[f"lists {n}"] = lambda piece, how=how: encoding.encode_batch(documents(piece), **how)  # type: ignore[misc]
        found[f"file {n}"] = File(encoding, folder, n)
    return found


def check(encoding: str, name: str, piece: Slice, result: Any) -> None:
    expected = piece.expected(encoding)
    what = f"{name}, {encoding}"
    if name.startswith("document"):
        check_ids(result, expected, what)
    elif name.startswith("file"):
        check_ids(np.fromfile(result, np.uint32), expected, what)
    elif name.startswith("count"):
        check_ids([result], [len(expected)], what)
    # bench_batch.py checks batches: their ids are those of the documents, not of the whole text


def one_case(corpus: str, encoding: str, size: int, turns: int) -> dict[str, Any]:
    (piece,) = fresh_slices(corpus, 1, size)
    byte_documents(piece)
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "in.txt").write_bytes(piece.data)
        jobs = contenders(encoding, pathlib.Path(folder))
        seconds = take_turns(jobs, [piece] * turns, functools.partial(check, encoding), wall_seconds)
    best = {name: min(spent) for name, spent in seconds.items()}
    return {
        "corpus": corpus,
        "encoding": encoding,
        "bytes": len(piece.data),
        "threads": THREADS,
        "seconds": best,
        "gain": {kind: best[f"{kind} 1"] / best[f"{kind} {THREADS}"] for kind in KINDS},
        "file": {str(n): best[f"document {n}"] / best[f"file {n}"] for n in (1, THREADS)},
    }


KINDS = ("document", "count", "ragged", "lists", "file")


def measure(full: bool) -> list[dict[str, Any]]:
    size, turns = (24 * MB, 9) if full else (4 * MB, 5)
    return [one_case(corpus, encoding, size, turns) for corpus in corpora() for encoding in ENCODINGS]


def table(rows: list[dict[str, Any]]) -> str:
    head = ["corpus", "encoding", "MB/s on 1", f"on {THREADS}", *[f"{kind}, gain" for kind in KINDS]]
    head += ["file / memory, 1", f"file / memory, {THREADS}"]

    def cells(row: dict[str, Any]) -> list[str]:
        rates = [row["bytes"] / MB / row["seconds"][f"document {n}"] for n in (1, row["threads"])]
        gains = [f"{row['gain'][kind]:.2f}x" for kind in KINDS]
        of_memory = [f"{row['file'][str(n)]:.2f}" for n in (1, row["threads"])]
        return [row["corpus"], row["encoding"], *[f"{rate:.0f}" for rate in rates], *gains, *of_memory]

    return markdown(head, map(cells, rows))


@pytest.mark.parametrize("threads", [1, THREADS])
@pytest.mark.parametrize("encoding", ENCODINGS)
def bench_document(benchmark: Any, encoding: str, threads: int) -> None:
    (piece,) = fresh_slices("english", 1, 4 * MB)
    encode = functools.partial(fresh_encoding(encoding).encode_to_numpy, disallowed_special=(), num_threads=threads)
    check_ids(encode(piece.data), piece.expected(encoding), encoding)
    benchmark.group = f"one document, {encoding}"
    benchmark.pedantic(encode, args=(piece.data,), rounds=5, iterations=1)


if __name__ == "__main__":
    main(measure, table, pinned=False)
