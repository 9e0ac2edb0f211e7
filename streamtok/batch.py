"""Many texts at once: shared out among threads, which run side by side because the core releases the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

T = TypeVar("T")
R = TypeVar("R")

# A thread's share of less text than this is done sooner than the thread is started.
_LEAST_SHARE = 1 << 16


def thread_map(function: Callable[[T], R], items: list[T], num_threads: int) -> list[R]:
    """[function(item) for item in items], on several threads."""
    if num_threads <= 0:
        raise ValueError("num_threads must be greater than 0")
    num_threads = min(num_threads, len(items), os.cpu_count() or 1)
    if num_threads <= 1:
        return [function(item) for item in items]
    from concurrent.futures import ThreadPoolExecutor  # takes longer to import than all of the package

    with ThreadPoolExecutor(num_threads) as pool:
        return list(pool.map(function, items))


def shares(texts: list[Any], num_threads: int) -> list[list[Any]]:
    """The texts in order, cut into runs of about equal length, four a thread: a slow one does not hold up all."""
    if num_threads <= 0:
        raise ValueError("num_threads must be greater than 0")
    ends = list(accumulate(map(len, texts)))
    total = ends[-1] if ends else 0
    wanted = max(total // (4 * min(num_threads, os.cpu_count() or 1)) + 1, _LEAST_SHARE)
    cuts = [i + 1 for i, end in enumerate(ends) if end // wanted != (end - len(texts[i])) // wanted]
    borders = sorted({0, *cuts, len(texts)})
    return [texts[a:b] for a, b in pairwise(borders)]


def encode_lists(coder: Any, texts: list[str], allowed: Any, disallowed: Any, num_threads: int) -> list[list[int]]:
    """A list of ids for each text."""

    def run(share: list[str]) -> list[list[int]]:
        return [coder.encode(text, allowed, disallowed) for text in share]

    return [ids for share in thread_map(run, shares(texts, num_threads), num_threads) for ids in share]


def encode_ragged(
    coder: Any, texts: list[str | bytes], allowed: Any, disallowed: Any, num_threads: int
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """(ids of all texts, row starts)."""
    import numpy as np

    def run(share: list[str | bytes]) -> tuple[Any, list[int]]:
        return coder.encode_many(share, allowed, disallowed)  # type: ignore[no-any-return]

    parts = thread_map(run, shares(texts, num_threads), num_threads)
    indptr = np.zeros(len(texts) + 1, np.int64)
    at = 0
    for _, starts in parts:
        indptr[at + 1 : at + len(starts)] = np.asarray(starts[1:], np.int64) + indptr[at]
        at += len(starts) - 1
    ids = [ids for ids, _ in parts]
    return (ids[0] if len(ids) == 1 else np.concatenate(ids) if ids else np.zeros(0, np.uint32)), indptr
