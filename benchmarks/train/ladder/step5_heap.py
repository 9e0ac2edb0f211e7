"""Step 5, a heap: the best pair is on top. An entry whose pair has another count by now is dropped when it gets there,
and when such entries are most of the heap it is made anew."""

from __future__ import annotations

import heapq

from pieces import Pair
from step3_parallel import count_in_parallel
from step4_index import Index

STALE = 3  # entries for each pair that there is


class Entry:
    """Greater counts first, then greater pairs: heapq takes the smallest."""

    __slots__ = ("count", "pair")

    def __init__(self, count: int, pair: Pair) -> None:
        self.count, self.pair = count, pair

    def __lt__(self, other: Entry) -> bool:
        return self.pair > other.pair if self.count == other.count else self.count > other.count


def learn(text: str, merges: int) -> list[Pair]:
    index = Index(count_in_parallel(text))
    heap = [Entry(count, pair) for pair, count in index.counts.items()]
    heapq.heapify(heap)
    learned: list[Pair] = []

    def changed(pair: Pair) -> None:
        if pair in index.counts:
            heapq.heappush(heap, Entry(index.counts[pair], pair))

    while len(learned) < merges:
        best = heapq.heappop(heap)
        if index.counts.get(best.pair) != best.count:
            continue
        index.merge(best.pair, changed)
        learned.append(best.pair)
        if len(heap) > STALE * len(index.counts):
            heap = [Entry(count, pair) for pair, count in index.counts.items()]
            heapq.heapify(heap)
    return learned
