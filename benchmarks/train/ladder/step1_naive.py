"""Step 1, naive: each merge counts all pairs of all pieces anew, and looks at all pieces again to apply itself."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from pieces import Pair, count_pieces, merged, single_bytes


def learn(text: str, merges: int) -> list[Pair]:
    words = [(single_bytes(piece), count) for piece, count in count_pieces(text).items()]
    learned: list[Pair] = []
    for _ in range(merges):
        counts: Counter[Pair] = Counter()
        for parts, count in words:
            for pair in pairwise(parts):
                counts[pair] += count
        best = max(counts, key=lambda pair: (counts[pair], pair))
        words = [(merged(parts, best), count) for parts, count in words]
        learned.append(best)
    return learned
