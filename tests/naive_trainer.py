"""The definition of byte-level BPE training: count all pairs of all pieces, merge the best everywhere, begin again."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable

Merge = tuple[bytes, bytes]


def learn(
    pieces: Iterable[bytes], merges: int, ties: str, *, least: int = 1, alphabet: bytes | None = None
) -> list[Merge]:
    """The first merges, fewer if no pair is left that stands `least` times."""
    words = [([piece[i : i + 1] for i in range(len(piece))], count) for piece, count in Counter(pieces).items()]
    learned: list[Merge] = []
    ids = {bytes([value]): i for i, value in enumerate(alphabet or range(256))}
    while len(learned) < merges:
        counts: Counter[Merge] = Counter()
        for parts, count in words:
            for pair in itertools.pairwise(parts):
                counts[pair] += count
        most = max(counts.values(), default=0)
        if most < max(least, 1):
            break
        tied = [pair for pair, count in counts.items() if count == most]
        best = max(tied) if ties == "lexicographic" else min(tied, key=lambda pair: (ids[pair[0]], ids[pair[1]]))
        ids[best[0] + best[1]] = len(ids)
        learned.append(best)
        words = [(apply(parts, best), count) for parts, count in words]
    return learned


def apply(parts: list[bytes], pair: Merge) -> list[bytes]:
    """Joins the pair wherever it stands, from left to right."""
    if pair[0] not in parts:
        return parts
    joined: list[bytes] = []
    i = 0
    while i < len(parts):
        both = tuple(parts[i : i + 2]) == pair
        joined.append(pair[0] + pair[1] if both else parts[i])
        i += 1 + both
    return joined
