"""The definition of byte-level BPE training: count all pairs of all pieces, merge the best everywhere, begin again."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np

Merge = tuple[bytes, bytes]


def learn(
    pieces: Iterable[bytes],
    merges: int,
    ties: str,
    *,
    least: int = 1,
    alphabet: bytes | None = None,
    start: Iterable[Merge] = (),
    may_merge: Callable[[bytes], bool] = lambda token: True,
) -> list[Merge]:
    """The first merges, fewer if no pair is left that stands `least` times; `start` was merged before. may_merge: of a
    token, whether it may be made. pieces: a Counter of them has their weights."""
    words = [([piece[i : i + 1] for i in range(len(piece))], count) for piece, count in Counter(pieces).items()]
    learned: list[Merge] = []
    ids = {bytes([value]): i for i, value in enumerate(alphabet or range(256))}
    for pair in start:
        ids[pair[0] + pair[1]] = len(ids)
    ranks = {pair: rank for rank, pair in enumerate(start)}
    words = [(encode(parts, ranks), count) for parts, count in words]
    while len(learned) < merges:
        counts: Counter[Merge] = Counter()
        for parts, count in words:
            for pair in itertools.pairwise(parts):
                if may_merge(pair[0] + pair[1]):
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


def learn_for_parity(
    texts: dict[str, list[bytes]],
    measured: dict[str, tuple[list[bytes], int]],
    merges: int,
    ties: str,
    *,
    least: int = 1,
    start: Iterable[Merge] = (),
    alphabet: bytes | None = None,
    window: int | None = None,
    alpha: float = 2.0,
) -> tuple[list[Merge], list[str]]:
    """Parity-aware BPE: the merges, and the source that chose each. measured: pieces, and what they have to say."""
    start = list(start)
    learned: list[Merge] = []
    chosen: list[str] = []
    left = list(texts)
    ranks = {pair: rank for rank, pair in enumerate(start)}

    def split(pieces: Iterable[bytes]) -> list[list[bytes]]:
        return [encode([piece[i : i + 1] for i in range(len(piece))], ranks) for piece in pieces]

    rows = {name: split(pieces) for name, pieces in texts.items()}
    held = {name: split(pieces) for name, (pieces, _) in measured.items()}
    while left and len(learned) < merges:
        free = left
        if window is not None:
            last = chosen[-window:]
            free = [name for name in left if last.count(name) <= alpha / len(texts) * window] or left
        name = max(free, key=lambda name: Fraction(sum(map(len, held[name])), measured[name][1]))
        counts = Counter(pair for parts in rows[name] for pair in itertools.pairwise(parts))
        most = max(counts.values(), default=0)
        if most < max(least, 1):
            left.remove(name)
            continue
        ids = {bytes([value]): i for i, value in enumerate(alphabet or range(256))}
        for pair in (*start, *learned):
            ids[pair[0] + pair[1]] = len(ids)
        tied = [pair for pair, count in counts.items() if count == most]
        best = max(tied) if ties == "lexicographic" else min(tied, key=lambda pair: (ids[pair[0]], ids[pair[1]]))
        learned.append(best)
        chosen.append(name)
        for table in (rows, held):
            for key, lists in table.items():
                table[key] = [apply(parts, best) for parts in lists]
    return learned, chosen


def encode(parts: list[bytes], ranks: dict[Merge, int]) -> list[bytes]:
    """BPE: the pair of the least rank is merged, the leftmost of equal ones first, until there is none."""
    while len(parts) > 1:
        rank, at = min((ranks.get(pair, len(ranks)), i) for i, pair in enumerate(itertools.pairwise(parts)))
        if rank == len(ranks):
            break
        parts = [*parts[:at], parts[at] + parts[at + 1], *parts[at + 2 :]]
    return parts


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


def learn_with_arrays(pieces: Iterable[bytes], merges: int) -> list[Merge]:
    """The same by ties="lexicographic", as naive, and some ten times as fast: all pieces are one array of ids, and all
    of its pairs are sorted and summed up for each merge."""
    counts = Counter(pieces)
    text = np.array([value for piece in counts for value in (*piece, -1)], np.int64)
    weights = np.repeat(np.fromiter(counts.values(), np.int64), [len(piece) + 1 for piece in counts])
    tokens = [bytes([value]) for value in range(256)]
    learned: list[Merge] = []
    while len(learned) < merges:
        inside = (text[:-1] >= 0) & (text[1:] >= 0)
        keys, places = np.unique((text[:-1] << 32 | text[1:])[inside], return_inverse=True)
        sums = np.zeros(len(keys), np.int64)
        np.add.at(sums, places, weights[:-1][inside])
        tied = keys[sums == sums.max(initial=1)]
        if not len(tied):
            break
        best = max((tokens[key >> 32], tokens[key & 0xFFFFFFFF], int(key)) for key in tied.tolist())
        learned.append(best[:2])
        left, right = best[2] >> 32, best[2] & 0xFFFFFFFF
        (at,) = np.nonzero((text[:-1] == left) & (text[1:] == right))
        if left == right:  # of a run, every second one
            at = at[~_overlapping(at)]
        text[at] = len(tokens)
        tokens.append(best[0] + best[1])
        text, weights = np.delete(text, at + 1), np.delete(weights, at + 1)
    return learned


def _overlapping(at: np.ndarray) -> np.ndarray:
    """Places that begin inside a pair to their left which is joined first."""
    new_run = np.diff(at, prepend=-2) != 1
    number = np.arange(len(at))
    return (number - np.maximum.accumulate(np.where(new_run, number, 0))) % 2 == 1
