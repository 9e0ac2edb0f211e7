"""Classes of characters: characters that lie in the same sets of a pattern are one class."""

from __future__ import annotations

import array
import itertools
import sys
from collections.abc import Iterable
from typing import NamedTuple

from .char_sets import LAST, Ranges
from .compiled import BLOCK, MOST_CLASSES, NotCompilable

END = 0
"""The class of the end of the text. No character has it."""


SURROGATES = range(0xD800, 0xE000)
"""No text holds one; so they are of the class in front of them, and tell no patterns apart."""


class Partition(NamedTuple):
    """classes: their number, END included. runs: (first code point, class), sorted, from 0 on. masks: set -> its
    classes, as bits."""

    classes: int
    runs: list[tuple[int, int]]
    masks: dict[Ranges, int]

    def merged(self, new: list[int]) -> Partition:
        """The same characters with the class new[c] for c."""
        runs: list[tuple[int, int]] = []
        for start, number in self.runs:
            if not runs or runs[-1][1] != new[number]:
                runs.append((start, new[number]))
        return Partition(max(new) + 1, runs, {})

    def map(self) -> tuple[bytes, bytes]:
        """(class_index, class_blocks) of a CompiledPattern."""
        found: dict[bytes, int] = {}
        index = array.array("H")
        block = bytearray()
        for (start, number), (beyond, _) in itertools.pairwise([*self.runs, (LAST + 1, 0)]):
            one = bytes([number])
            if block:
                block += one * min(BLOCK - len(block), beyond - start)
                start += len(block) - start % BLOCK
                if len(block) < BLOCK:
                    continue
                index.append(found.setdefault(bytes(block), len(found)))
                block.clear()
            if whole := (beyond - start) // BLOCK:
                index.extend([found.setdefault(one * BLOCK, len(found))] * whole)
            block += one * ((beyond - start) % BLOCK)
        if sys.byteorder == "big":
            index.byteswap()
        return index.tobytes(), b"".join(found)


def partition(sets: Iterable[Ranges]) -> Partition:
    """The classes that these sets tell apart. Raises NotCompilable where there are too many."""
    sets = dict.fromkeys(sets)
    flips: dict[int, int] = {0: 0}
    for number, ranges in enumerate(sets):
        bit = 1 << number
        for low, high in ranges:
            flips[low] = flips.get(low, 0) ^ bit
            flips[high + 1] = flips.get(high + 1, 0) ^ bit
    flips.pop(LAST + 1, None)
    flips.setdefault(SURROGATES.stop, 0)
    numbers: dict[int, int] = {}  # the sets that hold a character, as bits -> its class
    runs = []
    here = 0
    for low in sorted(flips):
        here ^= flips[low]
        if low in SURROGATES:
            continue
        runs.append((low, numbers.setdefault(here, len(numbers) + 1)))
        if len(numbers) >= MOST_CLASSES:
            raise NotCompilable(f"it tells more than {MOST_CLASSES - 1} classes of characters apart")
    masks = {
        ranges: sum(1 << number for bits, number in numbers.items() if bits >> at & 1) for at, ranges in enumerate(sets)
    }
    return Partition(len(numbers) + 1, runs, masks)
