"""Step 4, inverted index: from each pair to the pieces that hold it, so that a merge looks at no others. The best pair
is still looked for among all."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import pairwise

from pieces import Pair, merged, single_bytes
from step3_parallel import count_in_parallel


class Index:
    """Pieces, pair counts, and where each pair is."""

    def __init__(self, pieces: Counter[bytes]) -> None:
        self.words = [single_bytes(piece) for piece in pieces]
        self.weights = list(pieces.values())
        self.counts: Counter[Pair] = Counter()
        self.where: defaultdict[Pair, set[int]] = defaultdict(set)
        for i in range(len(self.words)):
            self._add(i, 1)

    def _add(self, i: int, sign: int) -> None:
        for pair in pairwise(self.words[i]):
            self.counts[pair] += sign * self.weights[i]
            if sign > 0:
                self.where[pair].add(i)
            else:
                self.where[pair].discard(i)

    def merge(self, pair: Pair, changed: Callable[[Pair], object] = lambda _: None) -> None:
        """Joins the pair everywhere; changed(pair) is called for every pair whose count may be another now."""
        touched: set[Pair] = set()
        for i in list(self.where[pair]):
            touched.update(pairwise(self.words[i]))
            self._add(i, -1)
            self.words[i] = merged(self.words[i], pair)
            self._add(i, 1)
            touched.update(pairwise(self.words[i]))
        for each in touched:
            if self.counts[each] <= 0:
                del self.counts[each], self.where[each]
            changed(each)


def learn(text: str, merges: int) -> list[Pair]:
    index = Index(count_in_parallel(text))
    learned: list[Pair] = []
    for _ in range(merges):
        best = max(index.counts, key=lambda pair: (index.counts[pair], pair))
        index.merge(best)
        learned.append(best)
    return learned
