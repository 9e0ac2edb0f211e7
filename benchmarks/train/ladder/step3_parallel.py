"""Step 3, parallel splitting: processes share the text, cut where no piece is cut. The merges are those of step 2."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise

import step2_incremental
from pieces import Pair, count_pieces

from streamtok.native import job

PROCESSES = 2


def learn(text: str, merges: int) -> list[Pair]:
    return step2_incremental.learn_from(count_in_parallel(text), merges)


def count_in_parallel(text: str) -> Counter[bytes]:
    data = text.encode()
    cuts = [0, *job.cuts(data, len(data) // PROCESSES + 1, None, None), len(data)]
    parts = [data[a:b].decode() for a, b in pairwise(cuts)]
    pieces: Counter[bytes] = Counter()
    with ProcessPoolExecutor(PROCESSES) as pool:
        for counted in pool.map(count_pieces, parts):
            pieces.update(counted)
    return pieces
