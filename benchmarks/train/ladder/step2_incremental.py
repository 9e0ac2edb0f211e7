"""Step 2, incremental counts: pairs are counted once, and a merge corrects the counts of the pieces that it changes.
All pieces are still looked at to find those."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from pieces import Pair, count_pieces, merged, single_bytes


def learn(text: str, merges: int) -> list[Pair]:
    return learn_from(count_pieces(text), merges)


def learn_from(pieces: Counter[bytes], merges: int) -> list[Pair]:
    words = [single_bytes(piece) for piece in pieces]
    weights = list(pieces.values())
    counts: Counter[Pair] = Counter()
    for parts, weight in zip(words, weights):
        for pair in pairwise(parts):
            counts[pair] += weight
    learned: list[Pair] = []
    for _ in range(merges):
        best = max(counts, key=lambda pair: (counts[pair], pair))
        for i, parts in enumerate(words):
            if best[0] not in parts:
                continue
            after = merged(parts, best)
            if len(after) < len(parts):
                for pair in pairwise(parts):
                    counts[pair] -= weights[i]
                for pair in pairwise(after):
                    counts[pair] += weights[i]
                words[i] = after
        learned.append(best)
    return learned
