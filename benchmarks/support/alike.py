"""How far two ways to turn texts into ids are apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def distance(a: Any, b: Any) -> int:
    """The Levenshtein distance, a row of the matrix at a time; a running minimum gives the insertions along a row."""
    a, b = np.asarray(a, np.int64), np.asarray(b, np.int64)
    columns = np.arange(len(b) + 1)
    row = columns.copy()
    for i, token in enumerate(a.tolist(), 1):
        new = np.empty_like(row)
        new[0] = i
        new[1:] = np.minimum(row[1:] + 1, row[:-1] + (b != token))
        row = np.minimum.accumulate(new - columns) + columns
    return int(row[-1])


def similarity(a: Any, b: Any) -> float:
    longer = max(len(a), len(b))
    return 1 - distance(a, b) / longer if longer else 1.0


def compared(
    one: Callable[[str], Sequence[int]], other: Callable[[str], Sequence[int]], documents: Sequence[str]
) -> dict[str, float]:
    """Documents with the same ids, tokens more or fewer the other way, and the similarity: its mean and the least."""
    pairs = [(one(text), other(text)) for text in documents]
    similar = [similarity(a, b) for a, b in pairs]
    return {
        "same": sum(list(a) == list(b) for a, b in pairs) / len(pairs),
        "more": sum(len(b) for _, b in pairs) / sum(len(a) for a, _ in pairs) - 1,
        "similarity": float(np.mean(similar)),
        "least": min(similar),
    }
