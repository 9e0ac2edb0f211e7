"""The order in which samples are given: a function of few numbers, so that any process can begin at any place of it."""

from __future__ import annotations

from typing import Any

import numpy as np

_RUNS = 64
"""A buffer is filled with so many runs of neighbouring samples: enough places that what it gives is mixed, and few
enough that files are still read in stretches."""

_OF_RUNS, _OF_BUFFER = 0, 1

Numbers = np.ndarray[Any, np.dtype[np.int64]]


def permutation(count: int, *key: int) -> Numbers:
    """The numbers 0 .. count - 1 in an order that the key decides, the same with every version of NumPy: it promises
    the numbers of a bit generator and of a seed, but not what its Generator makes of them."""
    drawn = np.random.PCG64(np.random.SeedSequence(key)).random_raw(count)
    return np.argsort(drawn, kind="stable").astype(np.int64, copy=False)


class Order:
    """Samples 0 .. count - 1 by their places in an epoch.

    Without a buffer the order is that of the samples. Otherwise runs of neighbouring samples are put into an order that
    is drawn for the epoch, they fill a buffer of so many samples, the buffer is given in an order drawn for it, and the
    next one is filled."""

    def __init__(self, count: int, buffer: int, seed: int, epoch: int) -> None:
        self._count, self._buffer, self._key = count, min(buffer, count), (seed, epoch)
        self._run = max(1, self._buffer // _RUNS)
        self._runs = permutation(count // self._run, *self._key, _OF_RUNS) if buffer > 1 else None
        self._drawn: tuple[int, Numbers] = (-1, np.empty(0, np.int64))

    def samples(self, first: int, last: int) -> Numbers:
        """The samples at the places first .. last - 1."""
        places = np.arange(first, last, dtype=np.int64)
        if self._runs is None:
            return places
        for number in range(first // self._buffer, -(-last // self._buffer)):
            begin = number * self._buffer
            own = slice(max(begin, first) - first, min(begin + self._buffer, last) - first)
            places[own] = begin + self._in_buffer(number)[places[own] - begin]
        whole = len(self._runs) * self._run  # behind these is a rest shorter than a run
        in_runs = places < whole
        places[in_runs] = self._runs[places[in_runs] // self._run] * self._run + places[in_runs] % self._run
        return places

    def _in_buffer(self, number: int) -> Numbers:
        if self._drawn[0] != number:
            size = min(self._buffer, self._count - number * self._buffer)
            self._drawn = number, permutation(size, *self._key, _OF_BUFFER, number)
        return self._drawn[1]
