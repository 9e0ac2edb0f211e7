"""Statistics of a dataset: how long its documents are, and how many of them are there more than once."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from .manifest import read_dataset
from .reading import blocks, open_shard

__all__ = ["DatasetStats", "plot_stats", "stats"]

_HASH_BYTES = 8
_SHARES = {"p1": 0.01, "p10": 0.1, "median": 0.5, "p90": 0.9, "p99": 0.99}


@dataclass(frozen=True)
class DatasetStats:
    """Statistics of a dataset. Lengths are in ids, the end-of-text token included where there is one.

    Attributes:
        shards, documents, ids, bytes: how many; bytes are those of the text.
        ids_per_document: least, p1, p10, median, mean, p90, p99 and most.
        histogram: how many documents have 0 ids, 1, 2 to 3, 4 to 7 and so on: (least length, documents) of each range
            up to the longest document.
        duplicates: documents whose ids are those of an earlier one.
        duplicate_ids: ids in them.
    """

    shards: int
    documents: int
    ids: int
    bytes: int
    ids_per_document: dict[str, float]
    histogram: tuple[tuple[int, int], ...]
    duplicates: int
    duplicate_ids: int


def stats(folder: str | os.PathLike[str]) -> DatasetStats:
    """Read all shards of a dataset and count.

    Documents are compared by 64 bits of a hash of their ids (BLAKE2b): of a thousand million different ones, a false
    duplicate is found with a probability of 3 %. Memory: 24 bytes for each document.

    Raises:
        FileNotFoundError: no build has ended here.
        ValueError: nothing says where documents end; the manifest is damaged, or a file is not what it says.
    """
    name = os.fspath(folder)
    dataset = read_dataset(name)
    hashes = np.empty(dataset.documents, np.uint64)
    lengths = np.empty(dataset.documents, np.int64)
    at = 0
    for shard in dataset.shards:
        documents = open_shard(name, dataset, shard)
        for ids, ends in blocks(documents):
            count = len(ends)
            hashes[at : at + count] = _hashes(ids, ends)
            lengths[at : at + count] = np.diff(ends.astype(np.int64), prepend=0)
            at += count
    repeated = _repeated(hashes)
    return DatasetStats(
        shards=len(dataset.shards),
        documents=dataset.documents,
        ids=dataset.ids,
        bytes=dataset.bytes,
        ids_per_document=_summary(lengths),
        histogram=_histogram(lengths),
        duplicates=int(repeated.sum()),
        duplicate_ids=int(lengths[repeated].sum()),
    )


def _hashes(ids: Any, ends: Any) -> Any:
    """64 bits of a hash of each document."""
    data = np.ascontiguousarray(ids).data.cast("B")
    size, begin, found = ids.dtype.itemsize, 0, bytearray()
    for end in ends.tolist():
        found += hashlib.blake2b(data[begin * size : end * size], digest_size=_HASH_BYTES).digest()
        begin = end
    return np.frombuffer(found, np.uint64)


def _repeated(hashes: Any) -> Any:
    """Of each document whether an earlier one has its hash."""
    order = np.argsort(hashes, kind="stable")
    found = np.zeros(len(hashes), bool)
    found[order[1:]] = hashes[order[1:]] == hashes[order[:-1]]
    return found


def _summary(lengths: Any) -> dict[str, float]:
    if not len(lengths):
        return {}
    ordered = np.sort(lengths)
    shares = {name: float(ordered[int(share * (len(ordered) - 1))]) for name, share in _SHARES.items()}
    return {"least": float(ordered[0]), **shares, "mean": float(lengths.mean()), "most": float(ordered[-1])}


def _histogram(lengths: Any) -> tuple[tuple[int, int], ...]:
    if not len(lengths):
        return ()
    bits = np.frexp(lengths.astype(np.float64))[1]  # 0 for 0, 1 for 1, 2 for 2 and 3, 3 for 4 to 7
    counts = np.bincount(bits).tolist()
    return tuple((0 if not bit else 1 << bit - 1, count) for bit, count in enumerate(counts))


def plot_stats(found: DatasetStats, path: str | os.PathLike[str]) -> None:
    """Draw the histogram into a file (.png, .svg or .pdf). Raises ImportError without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("a plot needs matplotlib: pip install 'streamtok[plot]'") from None
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    names = [str(least) if least < 2 else f"{least:,}-{2 * least - 1:,}" for least, _ in found.histogram]
    axes.bar(names, [count for _, count in found.histogram], width=0.9)
    axes.set_xlabel("ids in a document")
    axes.set_ylabel("documents")
    axes.set_title(f"{found.ids:,} ids in {found.documents:,} documents, {found.duplicates:,} of them again")
    axes.tick_params(axis="x", labelrotation=45)
    figure.savefig(os.fspath(path))
