"""Words that a device has merged, kept there to be looked up: csrc/cuda/encode/learned.cu."""

from __future__ import annotations

import contextlib
from _thread import allocate_lock
from typing import TYPE_CHECKING

import numpy as np

from ..native.steps import locked
from ._job import JOB, STRETCH

if TYPE_CHECKING:
    from .._protocols import Record
    from ._device import CudaDevice

FIRST_PLACES = 6
"""Places an entry in the first table, at least: 32 MB for a bundled vocabulary of the package, 64 MB with all words.
With three, in half the memory, English text takes 7 % longer and r50k's code a quarter; with twelve 1 to 3 % less."""

LEAST_PLACES = 1 << 20
"""Places in the first table of a small vocabulary, where memory is not limited: it holds fewer words, so more are
learned. With six an entry, models of 30,000 tokens learned 65,000 words, and merged all others again and again."""

SHARE = 4
"""Of so many places in the first table one is for a word learned, at most: with more of them taken, more words would
find none. Records take 16 MB for a bundled vocabulary of the package then, 32 MB with all words."""

LIMITED_SHARE = 64
"""The same where memory is limited: 1 MB."""

NUMBERS = 1 << 21
"""Numbers of entries of the image and of words learned: ST_FIRST_ID has as many."""

RECORD = 8
"""Numbers of 32 bits in the record of a word."""

FIRST_PART = 4 << 20
"""Bytes of text that are looked up before the first words are learned."""

GROWTH = 8
"""So many times as much text is read after a part as before it. A part takes 0.06 ms beside its text, as much as 12 MB
of English; a word that is new in it is merged each time that it stands there. Of 1, 2, 4, 8 and 16 MB, and growth by 2,
3, 4 and 8, these two gave the highest rates of first calls: on each corpus 4 to 12 % more than 4 MB and doubling."""

RENEWAL = 16
"""A table that is full is given up after so many atoms for each of its words were merged in vain. Making a new one
takes less time than merging them."""


class Words:
    """The first table, and room for words that are learned. fields: those of a job that point there."""

    def __init__(self, device: CudaDevice, fields: dict[str, int], entries: int, places: int, is_limited: bool):
        capacity = max(0, min(places // (LIMITED_SHARE if is_limited else SHARE), NUMBERS - entries))
        self._first = device.full(4 * places, np.uint32, 2**32 - 1)
        self._records = device.empty(RECORD * max(1, capacity), np.uint32)
        self._count = device.full(1, np.uint32, 0)
        pointer = device.pointer
        self.fields = {
            "first": pointer(self._first),
            "learned": pointer(self._records),
            "learned_capacity": capacity,
            "learned_count": pointer(self._count),
        }
        self.capacity, self.read, self.merged = capacity, 0, 0
        self._build(device, job_of(fields | self.fields), places)

    def _build(self, device: CudaDevice, job: Record, places: int) -> None:
        orders, crowded = device.full(places, np.uint32, 2**32 - 1), device.full(places, np.uint32, 0)
        device.launch_builder("claim", job, device.pointer(orders), device.pointer(crowded))
        device.launch_builder("take", job, device.pointer(orders))
        device.launch_builder("mark", job, device.pointer(crowded))

    @property
    def nbytes(self) -> int:
        return int(self._first.nbytes + self._records.nbytes)

    def count(self, device: CudaDevice) -> int:
        """Words learned so far."""
        return min(self.capacity, int(device.get(self._count)[0]))

    def next_part(self, stretches: int) -> int:
        """Stretches of a slice that are looked up next, of so many that are left. Atoms of a part are all looked up
        before one of them is merged, so a word is merged each time that it stands in the part in which it is new. So a
        part is GROWTH - 1 times as long as all that was read before it."""
        usual = max(FIRST_PART, (GROWTH - 1) * self.read) // STRETCH
        return usual if stretches > 2 * usual else stretches


class LearnedWords:
    """The Words in use, which are given up when they are full and other words come.

    Jobs that point to the old ones may be under way: whoever launches one keeps its Words until it is done.

    Args:
        fields: those of a job that point to the vocabulary's other tables.
        entries: entries of its image.
        is_limited: memory is: there is room for fewer words, and none for old and new ones at a time.
    """

    def __init__(self, device: CudaDevice, fields: dict[str, int], entries: int, places: int, is_limited: bool):
        self._device, self._facts, self._is_limited = device, (fields, entries, places, is_limited), is_limited
        self._lock = allocate_lock()
        self.now: Words
        self.renew()

    def note(self, words: Words, merged: int) -> None:
        """After a call with these words, which are full: how many atoms it had to merge. Called by any thread."""
        if not words.capacity or self._is_limited:
            return
        self._note(words, merged)

    @locked
    def _note(self, words: Words, merged: int) -> None:
        words.merged += merged
        if words is not self.now or words.merged < RENEWAL * words.capacity:
            return
        words.merged = 0  # where memory is short they serve for as long again
        with contextlib.suppress(MemoryError):
            self.renew()

    def renew(self) -> None:
        """Begins with no words."""
        self.now = Words(self._device, *self._facts)


def job_of(fields: dict[str, int]) -> Record:
    """A job that knows the tables alone."""
    job = np.zeros((), JOB)
    for name, value in fields.items():
        job[name] = value
    return job
