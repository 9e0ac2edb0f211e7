"""The stages of csrc/cuda over a text on the device: split, cut, look up, merge, gather; slice by slice, in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._job import (
    BLOCK,
    CLASSES,
    COUNTS,
    FLAG_LISTS,
    FLAG_ROOM,
    FLAG_UTF8,
    FLAG_WORD,
    GROUP,
    JOB,
    LONGEST,
    STRETCH,
)
from ._tables import Tables
from ._text import DeviceText

SLICE = 256 << 20
"""Bytes of text whose tokens are in the making at once. Longer slices gain nothing: the kernels fill the device."""

SHORT = 1 << 20
"""Bytes of text up to which all stages are one launch."""

# Blocks that a thread splits, in a short text and in a longer one (job.h).
_SEGMENT_BLOCKS, _SHORT_SEGMENT_BLOCKS = 4, 1

# Atoms on the lists of a slice for a byte of text: what real text needs several times over, and what atoms of the
# fewest bytes that each class could have would need at most. A text that overflows the first is done again with the
# second.
_USUAL_ROOM = (1 / 8, 1 / 16, 1 / 16, 1 / 32, 1 / 32, 1 / 32, 1 / 64, 1 / 128, 1 / 128)
_ALL_ROOM = (1 / 2, 1 / 5, 1 / 7, 1 / 9, 1 / 11, 1 / 16, 1 / 17, 1 / 33, 1 / 65)

# Places of special tokens that are looked for at once; a text with more is searched again.
_FOUND_ROOM = 4096


class Unusable(Exception):
    """The device gave no result that may be used; the message says why. The caller takes another way."""


class Engine:
    """Encodes texts that lie on one device. Not for two threads at once: its buffers are reused.

    Args:
        device: where the kernels run (_device.py).
        vocab: the core's Vocab.
        encode_piece: the ids of bytes taken as one piece, on the CPU: for pieces of more than LONGEST bytes.
        tables: those of another engine of the vocabulary on this device, to share.
    """

    def __init__(
        self, device: Any, vocab: Any, encode_piece: Callable[[bytes], list[int]], tables: Tables | None = None
    ):
        self._device, self._encode_piece = device, encode_piece
        self._tables = tables or Tables(device, vocab)
        self._buffers: dict[str, Any] = {}
        self._names: tuple[list[bytes], Any, Any] | None = None
        self._room = _USUAL_ROOM

    # ---- buffers ----

    def _buffer(self, name: str, count: int, dtype: Any) -> int:
        """The address of a buffer for `count` items, kept for the next text."""
        size = max(1, int(count)) * np.dtype(dtype).itemsize
        if name not in self._buffers or self._buffers[name].nbytes < size:
            self._buffers.pop(name, None)
            self._buffers[name] = self._device.empty(size, np.uint8)
        return int(self._device.pointer(self._buffers[name]))

    @property
    def memory(self) -> int:
        """Bytes of the buffers, the vocabulary's tables aside."""
        return sum(buffer.nbytes for buffer in self._buffers.values())

    def forget(self) -> None:
        """Gives up the buffers."""
        self._buffers.clear()

    # ---- what to know of a text before its ids are used ----

    def is_utf8(self, text: DeviceText) -> bool:
        """Is each text valid UTF-8 by itself?"""
        if text.size == 0:
            return True
        job = self._text_job(text)
        self._device.launch("begin", job, 1, 32)
        self._device.launch("check", job, -(-int(job["blocks"]) // 256), 256)
        return not int(self._counts()["flags"]) & FLAG_UTF8

    def find_special(self, text: DeviceText, names: list[bytes]) -> list[tuple[int, int]]:
        """(offset of the first byte, number of the name) of every place where a name stands, overlapping ones included,
        in order of their offsets. Names are not empty and at most 65,535; none lies across two texts."""
        places, numbers = self.find_names(text, names)
        return list(zip(places.tolist(), numbers.tolist()))

    def find_names(self, text: DeviceText, names: list[bytes]) -> tuple[Any, Any]:
        """find_special as two int64 arrays on the host."""
        if text.size == 0 or not names:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        job = self._text_job(text)
        joined, starts = self._names_on_device(names)
        job["names"], job["name_starts"] = self._device.pointer(joined), self._device.pointer(starts)
        job["name_count"] = len(names)
        for first in {name[0] for name in names}:
            job["name_firsts"][first // 64] |= np.uint64(1 << first % 64)
        room = _FOUND_ROOM
        while True:
            job["found"], job["found_room"] = self._buffer("found", room, np.uint64), room
            self._device.launch("begin", job, 1, 32)
            self._device.launch("find", job, -(-int(job["blocks"]) // 256), 256)
            count = int(self._counts()["specials"])
            if count <= room:
                break
            room = count
        found = np.sort(self._device.get(self._buffers["found"][: 8 * count]).view(np.uint64))
        return (found >> np.uint64(16)).astype(np.int64), (found & np.uint64(0xFFFF)).astype(np.int64)

    def _names_on_device(self, names: list[bytes]) -> tuple[Any, Any]:
        """The names joined, and where each begins; kept, because most calls have the same."""
        if self._names is None or self._names[0] != names:
            joined = self._device.put(np.frombuffer(b"".join(names), np.uint8))
            starts = self._device.put(np.cumsum([0, *map(len, names)]).astype(np.uint64))
            self._names = list(names), joined, starts
        return self._names[1:]

    # ---- the job ----

    def _text_job(self, text: DeviceText) -> Any:
        """A job that knows the text and the counts."""
        job = np.zeros((), JOB)
        job["text"], job["size"], job["blocks"] = self._device.pointer(text.data), text.size, -(-text.size // BLOCK)
        if "counts" not in self._buffers:
            self._buffers["counts"] = self._device.full(COUNTS.itemsize, np.uint8, 0)  # `arrived` begins as 0
        job["counts"] = self._device.pointer(self._buffers["counts"])
        if text.marks is not None:
            job["marks"] = self._device.pointer(text.marks)
        return job

    def _job_for(self, text: DeviceText, id_bytes: int) -> Any:
        job = self._text_job(text)
        blocks = int(job["blocks"])
        for name, value in self._tables.fields.items():
            job[name] = value
        job["starts"] = self._buffer("starts", blocks, np.uint64)
        job["atoms"] = self._buffer("atoms", blocks, np.uint64)
        job["segment_blocks"] = _SHORT_SEGMENT_BLOCKS if text.size <= min(SHORT, SLICE) else _SEGMENT_BLOCKS
        segments = -(-blocks // int(job["segment_blocks"]))
        job["segments"] = self._buffer("segments", segments, np.uint8)
        job["high"] = self._buffer("high", segments, np.uint8)
        job["rest"], job["rest_room"] = self._buffer("rest", segments, np.uint32), segments
        if "counts" not in self._buffers:
            self._buffers["counts"] = self._device.full(COUNTS.itemsize, np.uint8, 0)  # `arrived` begins as 0
        job["counts"] = self._device.pointer(self._buffers["counts"])
        job["id_bytes"] = id_bytes
        if text.marks is not None:
            job["marks"] = self._device.pointer(text.marks)
        job["huge_room"] = text.size // LONGEST + 1
        for name in ("huge_starts", "huge_ends", "huge_tokens"):
            job[name] = self._buffer(name, int(job["huge_room"]), np.uint64)
        self._size_slices(job, min(SLICE, text.size))
        return job

    def _size_slices(self, job: Any, size: int) -> None:
        stretches = -(-size // STRETCH)
        job["slots"] = self._buffer("slots", stretches * STRETCH + LONGEST, np.uint32)
        job["spans"] = self._buffer("spans", stretches, np.uint32)
        job["tokens"] = self._buffer("tokens", stretches, np.uint32)
        job["offsets"] = self._buffer("offsets", stretches, np.uint32)
        job["row_slots"] = self._buffer("row_slots", stretches * (STRETCH // BLOCK), np.uint32)
        job["group_starts"] = self._buffer("group_starts", -(-stretches // GROUP) + 1, np.uint64)
        room = [int(size * share) + 64 for share in self._room]
        job["list_starts"] = np.cumsum([0, *room])
        job["lists"] = self._buffer("lists", sum(room), np.uint64)
        deferred = int(size * self._room[0]) + 64
        job["deferred"], job["deferred_room"] = self._buffer("deferred", 2 * deferred, np.uint64), deferred

    def _counts(self) -> Any:
        return self._device.get(self._buffers["counts"][: COUNTS.itemsize]).view(COUNTS)[0]

    # ---- a text ----

    def encode(self, text: DeviceText, dtype: Any) -> tuple[Any, Any]:
        """(ids, row starts): ids of the dtype on the device; row starts are uint64, one more than rows, None without.

        Raises:
            Unusable: the text is no UTF-8, or the device's answer contradicts itself.
        """
        if text.size == 0:
            return self._device.empty(0, dtype), self._no_rows(text)
        try:
            return self._encode(text, np.dtype(dtype), text.size * 2 // 3 + 64)
        finally:
            self._room = _USUAL_ROOM

    def _no_rows(self, text: DeviceText) -> Any:
        return None if text.rows is None else self._device.full(len(text.rows) + 1, np.uint64, 0)

    def _encode(self, text: DeviceText, dtype: Any, room: int) -> tuple[Any, Any]:
        while True:
            job = self._job_for(text, dtype.itemsize)
            out = self._device.empty(room, dtype)
            job["out"], job["out_room"] = self._device.pointer(out), room
            row_starts = self._prepare_rows(job, text)
            self._run(job, text)
            counts = self._counts()
            flags, tokens = int(counts["flags"]), int(counts["tokens"])
            if flags & (FLAG_UTF8 | FLAG_WORD):
                raise Unusable("the text is not valid UTF-8" if flags & FLAG_UTF8 else "a merge contradicts itself")
            if flags & FLAG_LISTS:
                self._room = _ALL_ROOM
            elif flags & FLAG_ROOM:
                room = tokens
            else:
                if row_starts is not None:
                    row_starts[-1] = tokens
                return self._with_huge(text, out[:tokens], row_starts, int(counts["huge"]))

    def _prepare_rows(self, job: Any, text: DeviceText) -> Any:
        if text.rows is None:
            return None
        row_starts = self._device.empty(len(text.rows) + 1, np.uint64)
        job["rows"], job["row_starts"] = self._device.pointer(text.rows), self._device.pointer(row_starts)
        job["row_count"] = len(text.rows)
        return row_starts

    def _run(self, job: Any, text: DeviceText) -> None:
        launch = self._device.launch
        if text.size <= min(SHORT, SLICE):
            job["stretches"] = -(-text.size // STRETCH)
            launch("whole", job, self._device.blocks_for("whole", -(-int(job["stretches"]) // 8)), 256)
            return
        launch("begin", job, 1, 32)
        segments = int(job["rest_room"])
        launch("split", job, -(-segments // 128), 128)
        launch("rest", job, min(-(-segments // 128), 4096), 128)
        stretches = -(-text.size // STRETCH)
        launch("cuts", job, self._device.blocks_for("cuts", -(-stretches // 8)), 256)
        for first in range(0, stretches, SLICE // STRETCH):
            job["first_stretch"], job["stretches"] = first, min(SLICE // STRETCH, stretches - first)
            self._run_slice(job)

    def _run_slice(self, job: Any) -> None:
        launch, stretches = self._device.launch, int(job["stretches"])
        if int(job["first_stretch"]):
            launch("begin", job, 1, 32)
        launch("lookup", job, self._device.blocks_for("lookup", -(-stretches // 8)), 256)
        launch("again", job, self._device.blocks_for("again", stretches), 128)
        launch("merge", job, self._device.blocks_for("merge", stretches), 128)
        launch("sum", job, -(-stretches // (8 * GROUP)), 256)
        launch("scan", job, 1, 32)
        launch("gather", job, -(-max(stretches, int(job["row_count"])) // 8), 256)

    # ---- pieces that no kernel merges ----

    def _with_huge(self, text: DeviceText, ids: Any, row_starts: Any, count: int) -> tuple[Any, Any]:
        """The ids with those of the huge pieces, merged on the CPU, in the places of the tokens that stand for them."""
        if not count:
            return ids, row_starts
        get = self._device.get
        facts = [
            get(self._buffers[f"huge_{name}"][: 8 * count]).view(np.int64) for name in ("tokens", "starts", "ends")
        ]
        places, starts, ends = (fact[np.argsort(facts[0])] for fact in facts)
        pieces = get(self._device.concatenate([text.data[a:b] for a, b in zip(starts, ends)])).tobytes()
        cuts = np.cumsum(ends - starts)
        merged = [self._encode_piece(pieces[b - (e - s) : b]) for b, s, e in zip(cuts, starts, ends)]
        own_ids = self._device.put(np.concatenate([np.array(own, ids.dtype) for own in merged]))
        parts, done, taken = [], 0, 0
        for place, own in zip(places.tolist(), merged):
            parts += [ids[done:place], own_ids[taken : taken + len(own)]]
            done, taken = place + 1, taken + len(own)
        if row_starts is not None:
            growth = np.cumsum([0] + [len(own) - 1 for own in merged])
            rows = get(row_starts)
            row_starts = self._device.put(rows + growth[np.searchsorted(places, rows)].astype(np.uint64))
        return self._device.concatenate([*parts, ids[done:]]), row_starts


assert CLASSES == len(_USUAL_ROOM)
