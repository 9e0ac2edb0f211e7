"""Longest match on a device (csrc/cuda/longest): what Engine and Tables are for merging."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...native.cells import longest_token, trie_cells
from .._base_engine import BaseEngine
from .._engine import capacity_for_ids
from .._errors import Unusable
from .._job import FLAG_FULL
from .._shapes import LANE_BYTES
from .._starts import SEGMENT_BLOCKS, add_starts, find_starts
from .._tables import put_pattern
from .._waiting import Steps

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..._protocols import DeviceArray, Record
    from ...native.pattern import Pattern
    from ...native.vocab import Vocab
    from .._device import CudaDevice
    from .._repair import Form
    from .._special_tokens import Sought
    from .._text import DeviceText, ShortText

WALK_STRETCH = 31 * LANE_BYTES
"""Bytes of text that a warp walks: ST_WALK_STRETCH."""

WALK_SLICE = (256 << 20) // WALK_STRETCH
"""Stretches in a slice. More gain nothing."""

GROUP = 64
"""Stretches in a group: ST_GROUP."""

MAPS_CAPACITY = 64 << 20
"""Numbers in the maps of a slice, at most."""

_MENDS = 2


class LongestTables:
    """fields: the fields of a job that point to the tables. Keeps the arrays alive."""

    def __init__(self, device: CudaDevice, vocab: Vocab, pattern: Pattern | None, is_limited: bool = False):
        cells = trie_cells(vocab)
        assert cells is not None  # family_or_reason() gives a reason then
        self._cells, self._pattern = device.put(np.frombuffer(cells, np.uint64)), put_pattern(device, pattern)
        self.fields = {
            "cells": device.pointer(self._cells),
            "longest_token": longest_token(vocab),
            "dfa": 0 if self._pattern is None else device.pointer(self._pattern),
        }

    @property
    def nbytes(self) -> int:
        return int(self._cells.nbytes)


class LongestEngine(BaseEngine):
    """Encodes texts that lie on one device. Not for two threads at once: its buffers are reused.

    Args:
        device: where the kernels run (_device.py), with the module LONGEST_MATCH.
        tables: LongestTables.
        is_split: whether the encoding has a pattern.
        form: as BaseEngine has it.
    """

    def __init__(self, device: CudaDevice, tables: LongestTables, is_split: bool, form: Form | None = None):
        super().__init__(device, form)
        self._tables, self._is_split = tables, is_split

    def _job_for(self, text: DeviceText, id_bytes: int) -> Record:
        """A job for all stages."""
        job, address = self._text_job(text), self._buffers.address
        for name, value in self._tables.fields.items():
            job[name] = value
        add_starts(job, self._buffers, SEGMENT_BLOCKS)
        job["id_bytes"] = id_bytes
        job["bounded"] = self._is_split or text.marks is not None
        stretches = -(-text.size // WALK_STRETCH)
        for name in ("stretch_entries", "stretch_exits", "heads"):
            job[name] = address(name, stretches + 1, np.uint32)
        job["is_head"] = address("is_head", stretches + 1, np.uint8)
        self._size_slices(job, min(stretches, WALK_SLICE))
        return job

    def _size_slices(self, job: Record, stretches: int) -> None:
        address = self._buffers.address
        job["slots"] = address("slots", stretches * WALK_STRETCH, np.uint32)
        job["fronts"] = address("fronts", stretches * WALK_STRETCH, np.uint32)
        job["spans"] = address("spans", stretches * 31, np.uint32)
        self._add_counts(job, stretches, WALK_STRETCH)

    def encoding(
        self, text: DeviceText, dtype: npt.DTypeLike, trusted: bool = True, names: Sought | None = None
    ) -> Steps[tuple[DeviceArray, DeviceArray | None]]:
        if text.size == 0:
            return self._device.empty(0, dtype), self._no_rows(text)
        dtype = np.dtype(dtype)
        capacity, known = capacity_for_ids(text.size), False
        while True:
            job = self._job_for(text, dtype.itemsize)
            job["trusted"] = trusted
            self._look_for(job, names)
            out = self._device.empty(capacity, dtype)
            job["out"], job["out_capacity"] = self._device.pointer(out), capacity
            row_starts = self._prepare_rows(job, text)
            self._find(job)
            if known:
                self._enter(job)
            self._run(job, known)
            yield self._device.moment()
            counts = self._answer(text, names)
            tokens = int(counts["tokens"])
            if not known and counts["heads"][_MENDS]:
                known = True
            elif counts["flags"] & FLAG_FULL:
                capacity = tokens
            else:
                if row_starts is not None:
                    row_starts[-1] = tokens
                return out[:tokens], row_starts
            del out  # freed before the new one is allocated

    def encode_short(
        self, text: ShortText, names: Sought | None, out: Any = None, starts: Any = None
    ) -> tuple[Any, Any]:
        raise Unusable("there is no single launch for longest match")

    def _find(self, job: Record) -> None:
        """Where tokens must end, and whether the text may be used."""
        find_starts(self._device, job, splits=bool(job["bounded"]))

    def _slices(self, job: Record, most: int) -> list[tuple[int, int]]:
        stretches = -(-int(job["size"]) // WALK_STRETCH)
        return [(first, min(most, stretches - first)) for first in range(0, stretches, most)]

    def _run(self, job: Record, known: bool) -> None:
        launch, blocks_for = self._device.launch, self._device.blocks_for
        job["known"], walk = known, "bounded" if job["bounded"] else "walk"
        for first, count in self._slices(job, WALK_SLICE):
            job["first_stretch"], job["stretches"] = first, count
            if first:
                launch("begin", job, 1, 32)
            launch(walk, job, blocks_for(walk, -(-count // 8)), 256)
            for check in range(0 if known else _MENDS + 1):
                job["check"] = check
                launch("heads", job, -(-count // 256), 256)
                if check < _MENDS:
                    launch("mend", job, blocks_for("mend", -(-count // 64)), 256)
            self._count_tokens(job, count)
            launch("collect", job, -(-max(count, int(job["row_count"]) // 32) // 8), 256)

    def _enter(self, job: Record) -> None:
        """Finds where all stretches are entered, whatever the text."""
        launch, blocks_for, longest = self._device.launch, self._device.blocks_for, int(job["longest_token"])
        most = max(1, min(MAPS_CAPACITY // longest, WALK_SLICE))
        slices = self._slices(job, most)
        most = min(most, slices[0][1])
        groups = -(-most // GROUP)
        job["maps"] = self._buffers.address("maps", most * longest, np.uint32)
        job["group_maps"] = self._buffers.address("group_maps", groups * longest, np.uint32)
        job["group_entries"] = self._buffers.address("group_entries", groups, np.uint32)
        self._device.assign(self._buffers.kept("stretch_entries")[:4], 0)
        for first, count in slices:
            job["first_stretch"], job["stretches"] = first, count
            launch("map", job, blocks_for("map", -(-count // 8)), 256)
            launch("groups", job, min(-(-count // GROUP) * longest // 256 + 1, 1 << 16), 256)
            launch("chain", job, 1, 32)
            launch("enter", job, -(-count // GROUP) // 256 + 1, 256)
