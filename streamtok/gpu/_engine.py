"""The stages of csrc/cuda over a text on the device: split, cut, look up, merge, gather; slice by slice, in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..native.launch import TextLaunch
from ._base_engine import BaseEngine
from ._errors import Unusable
from ._job import (
    BLOCK,
    CLASSES,
    COUNTS,
    FLAG_FORM,
    FLAG_FULL,
    FLAG_LISTS,
    LONGEST,
    SHORT_CLASSES,
    SHORT_STRETCH,
    STRETCH,
    place_in,
)
from ._short import OF_ONE_TEXT, ShortCall
from ._special_tokens import Sought
from ._starts import SEGMENT_BLOCKS, add_starts, find_starts
from ._text import DeviceText, ShortText, bytes_in_blocks
from ._waiting import Steps

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._protocols import DeviceArray, HostArray, Record
    from ._device import CudaDevice
    from ._repair import Form
    from ._tables import Tables

    Shares = tuple[tuple[float, ...], tuple[float, ...]]

SLICE = 256 << 20
"""Bytes of text in a slice. Longer slices gain nothing: the kernels fill the device."""

SHORT = 1 << 20
"""Bytes of text up to which all stages are one launch."""

SHORT_ON_HOST = 6 << 20
"""The same from and to host memory: what many launches cost the host counts for more there than what they gain."""

SHORT_ROWS = 1 << 14
"""Texts of which a short one may consist."""

# Blocks that a thread splits in a short text: more threads have some (cuda/job.h).
_SHORT_SEGMENT_BLOCKS = 1

# Atoms on the lists of a slice for a byte of text, by class, and deferred ones, short and long: what real text needs
# two or three times over; and what atoms of the fewest bytes that each could have would need at most. A text that
# overflows the first is done again with the second, in slices so much smaller that it takes about as much memory.
USUAL_SHARES = (1 / 16, 1 / 24, 1 / 32, 1 / 48, 1 / 48, 1 / 40, 1 / 80, 1 / 256, 1 / 256), (1 / 10, 1 / 32)
ALL_SHARES = (1 / 2, 1 / 5, 1 / 7, 1 / 9, 1 / 11, 1 / 16, 1 / 17, 1 / 33, 1 / 65), (1 / 2, 1 / 16)
SMALLER = 4

# Short texts share buffers by powers of two, from here on.
_LEAST_SHORT = 1 << 16

# And by multiples of this, from here on.
_LARGE_SHORT = 1 << 20


class Crowded(Unusable):
    """There are more ids than a result has room for, and nothing else is wrong."""


class Engine(BaseEngine):
    """Encodes texts that lie on one device. Not for two threads at once: its buffers are reused.

    Args:
        device: where the kernels run (_device.py).
        encode_piece: the ids of bytes taken as one piece, on the CPU: for pieces of more than LONGEST bytes.
        tables: those of the vocabulary and the pattern on this device.
        form: as BaseEngine has it.
    """

    def __init__(
        self,
        device: CudaDevice,
        encode_piece: Callable[[bytes], list[int]],
        tables: Tables,
        form: Form | None = None,
    ) -> None:
        super().__init__(device, form)
        self._encode_piece, self._tables = encode_piece, tables
        self._words = tables.words.now
        self._short: ShortCall | None = None

    def forget(self) -> None:
        super().forget()
        self._short = None

    # ---- the job ----

    def _job_for(self, text: DeviceText, id_bytes: int, shares: Shares, is_short: bool) -> Record:
        """A job for all stages, in one launch or not, with lists of the sizes that `shares` gives."""
        job, address = self._text_job(text), self._buffers.address
        if self._words is not self._tables.words.now:
            self._device.synchronize()  # a launch that was given up may still point to the old ones
            self._words = self._tables.words.now
        for name, value in (self._tables.fields | self._words.fields).items():
            job[name] = value
        add_starts(job, self._buffers, _SHORT_SEGMENT_BLOCKS if is_short else SEGMENT_BLOCKS)
        job["atoms"] = address("atoms", int(job["blocks"]), np.uint64)
        job["id_bytes"] = id_bytes
        job["huge_capacity"] = text.size // LONGEST + 1
        for name in ("huge_starts", "huge_ends", "huge_tokens"):
            job[name] = address(name, int(job["huge_capacity"]), np.uint64)
        slice_size = text.size if is_short else _slice_size(text.size, shares)
        self._size_slices(job, slice_size, SHORT_STRETCH if is_short else STRETCH, shares)
        return job

    def _size_slices(self, job: Record, size: int, stretch: int, shares: Shares) -> None:
        address = self._buffers.address
        stretches = job["stretches"] = -(-size // stretch)
        job["slots"] = address("slots", stretches * stretch + LONGEST, np.uint32)
        job["spans"] = address("spans", stretches, np.uint32)
        self._add_counts(job, stretches, stretch)
        lists, deferred = ([int(size * share) + 64 for share in each] for each in shares)
        job["list_starts"] = np.cumsum([0, *lists])
        job["lists"] = address("lists", sum(lists), np.uint64)
        job["deferred"], job["deferred_capacities"] = address("deferred", sum(deferred), np.uint64), deferred

    # ---- a text ----

    def encoding(
        self, text: DeviceText, dtype: npt.DTypeLike, trusted: bool = True, names: Sought | None = None
    ) -> Steps[tuple[DeviceArray, DeviceArray | None]]:
        """encode() in steps."""
        if text.size == 0:
            return self._device.empty(0, dtype), self._no_rows(text)
        dtype = np.dtype(dtype)
        is_short, shares, capacity = text.size <= SHORT, USUAL_SHARES, capacity_for_ids(text.size)
        while True:
            job = self._job_for(text, dtype.itemsize, shares, is_short)
            job["trusted"] = trusted
            self._look_for(job, names)
            out = self._device.empty(capacity, dtype)
            job["out"], job["out_capacity"] = self._device.pointer(out), capacity
            row_starts = self._prepare_rows(job, text)
            (self._run_short if is_short else self._run)(job)
            yield self._device.moment()
            counts = self._answer(text, names)
            self._note(counts)
            tokens = int(counts["tokens"])
            if counts["flags"] & FLAG_LISTS and shares is ALL_SHARES:
                raise Unusable("a list that holds all that there can be is too short")
            if counts["flags"] & FLAG_LISTS:
                shares, is_short = ALL_SHARES, False
            elif counts["flags"] & FLAG_FULL:
                capacity = tokens
            else:
                if row_starts is not None:
                    row_starts[-1] = tokens
                return self._with_huge(text, out[:tokens], row_starts, int(counts["huge"]))
            del out  # freed before the new one is allocated

    def _note(self, counts: np.void) -> None:
        if counts["learned"] >= self._words.capacity:
            self._tables.words.note(self._words, int(counts["lists"][:SHORT_CLASSES].sum()))

    def encode_short(
        self, text: ShortText, names: Sought | None, out: Any = None, starts: Any = None
    ) -> tuple[Any, Any]:
        """(ids, row starts) of one text of at most SHORT bytes, in one launch, which reads the text where it is.

        out: pinned memory of the dtype, whose beginning is returned; None: a new array on the device. starts: pinned
        memory of int64, an item a row and one more, for a text with rows; the row starts are None for one without.
        Raises as encode(), Crowded where `out` has no room, and Unusable where a piece is one for the CPU, or ids of a
        text with rows are to stay on the device.
        """
        if out is None and text.rows is not None:
            raise Unusable("ids of rows on the device take the other way")
        call = self._short_call(text, names)
        ids = self._device.empty(capacity_for_ids(text.size), text.dtype) if out is None else out
        call.begin(text, self._device.pointer(ids) if out is None else out.ctypes.data, len(ids))
        if text.rows is not None:
            call.set_rows(text, starts.ctypes.data)
        call.launch.run(self._device.blocks_for("short", -(-text.size // (8 * SHORT_STRETCH))))
        there = DeviceText(call.data, text.size)
        if text.is_normal:
            assert self._report is not None
            self._report["flags"] &= ~np.uint32(FLAG_FORM)
        counts = self._answer(there, names)
        self._note(counts)
        tokens = int(counts["tokens"])
        if out is None:
            if counts["flags"]:
                return self.encode(there, text.dtype)[0], None
            return self._with_huge(there, ids[:tokens], None, int(counts["huge"]))[0], None
        if counts["flags"] == FLAG_FULL and not counts["huge"]:
            raise Crowded("no room")
        if counts["flags"] or counts["huge"]:
            raise Unusable("lists that are too short, or a piece for the CPU")
        if text.rows is None:
            return ids[:tokens], None
        starts[text.rows] = tokens
        return ids[:tokens], starts[: text.rows + 1]

    def text_launch(
        self, buffer: HostArray, dtype: np.dtype[Any], names: Sought | None
    ) -> tuple[TextLaunch, object, object]:
        """(what encodes one text after another, in `buffer`, pinned uint8 with 16 bytes more, into pinned memory of the
        dtype, on the stream that is current; `place` as long as it may be used; what it points to besides, to be kept
        as long)."""
        call = self._short_call(ShortText(buffer.ctypes.data, len(buffer) - 16, dtype, False), names)
        assert self._report is not None
        report, tokens = self._report.view(np.uint8), _count_of("tokens")
        doubts = _count_of("flags"), _count_of("specials"), _count_of("huge")
        most, stream = self._device.blocks_for("short", 1 << 20), self._device.current_stream()
        facts = report, tokens, doubts, FLAG_FULL, buffer, most, 8 * SHORT_STRETCH, SHORT_STRETCH, stream
        return TextLaunch(call.launch.launch, call.numbers, OF_ONE_TEXT, *facts), self.place, call

    @property
    def place(self) -> object:
        """Changes when addresses of buffers do, and of the words that were learned."""
        return self._buffers.moves, self._tables.words.now

    def note_short(self) -> None:
        """To be called when a launch of text_launch() is done."""
        assert self._report is not None
        self._note(self._report[0])

    def _short_call(self, text: ShortText, names: Sought | None) -> ShortCall:
        """What texts of up to a power of two bytes have in common: most of a job stays as it was."""
        size = short_capacity(text.size)
        data = self._buffers.array("short_text", bytes_in_blocks(size // BLOCK, SHORT_ROWS), np.uint8)
        key = size, text.dtype.itemsize, names, self._buffers.moves, self._tables.words.now
        if self._short is None or self._short.key != key:
            job = self._job_for(DeviceText(data, size), text.dtype.itemsize, ALL_SHARES, True)
            self._look_for(job, names)
            self._look_at_form(job)
            # Kept with the names that the job points to: the next text may have others.
            key = *key[:3], self._buffers.moves, self._words
            assert self._report is not None
            launch = self._device.prepared("short", job, 256, self._report.ctypes.data + _count_of("done"))
            self._short = ShortCall(key, job, data, launch, self._names)
        return self._short

    def _run_short(self, job: Record) -> None:
        blocks = self._device.blocks_for("short", -(-int(job["stretches"]) // 8))
        self._device.launch("short", job, blocks, 256)

    def _run(self, job: Record) -> None:
        find_starts(self._device, job)
        stretches, at_once = -(-int(job["size"]) // STRETCH), int(job["stretches"])
        self._device.launch("cuts", job, self._device.blocks_for("cuts", -(-stretches // 8)), 256)
        for first in range(0, stretches, at_once):
            job["first_stretch"], job["stretches"] = first, min(at_once, stretches - first)
            self._run_slice(job)

    def _run_slice(self, job: Record) -> None:
        stretches, done = int(job["stretches"]), 0
        while done < stretches:
            count = self._words.next_part(stretches - done)
            self._run_part(_part_of(job, done, count))
            self._words.read += count * STRETCH
            done += count
        self._count_tokens(job, stretches)
        self._device.launch("gather", job, -(-max(stretches, int(job["row_count"])) // 8), 256)

    def _run_part(self, job: Record) -> None:
        launch, stretches = self._device.launch, int(job["stretches"])
        if int(job["first_stretch"]):
            launch("begin", job, 1, 32)
        launch("lookup", job, self._device.blocks_for("lookup", -(-stretches // 8)), 256)
        launch("again", job, self._device.blocks_for("again", stretches), 128)
        launch("merge", job, self._device.blocks_for("merge", stretches), 128)

    # ---- pieces that no kernel merges ----

    def _with_huge(
        self, text: DeviceText, ids: DeviceArray, row_starts: DeviceArray | None, count: int
    ) -> tuple[DeviceArray, DeviceArray | None]:
        """The ids with those of the huge pieces, merged on the CPU, in the places of the tokens that stand for them."""
        if not count:
            return ids, row_starts
        get = self._device.get
        facts = [
            get(self._buffers.kept(f"huge_{name}")[: 8 * count]).view(np.int64) for name in ("tokens", "starts", "ends")
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


def _part_of(job: Record, first: int, count: int) -> Record:
    """A job for `count` stretches of the slice from number `first` on, whose ids go to their places in the slice."""
    part: Record = job.copy()
    part["first_stretch"], part["stretches"] = int(job["first_stretch"]) + first, count
    for name, size in ("spans", 4), ("tokens", 4), ("slots", 4 * STRETCH), ("row_slots", 4 * (STRETCH // BLOCK)):
        part[name] += first * size
    return part


def _count_of(field: str) -> int:
    """Where a number is in what the kernels report."""
    return place_in(COUNTS, field)


def _slice_size(size: int, shares: Shares) -> int:
    """Bytes of a text that are one slice."""
    size = min(SLICE, size)
    return size if shares is USUAL_SHARES else max(STRETCH, size // SMALLER // STRETCH * STRETCH)


def short_capacity(size: int) -> int:
    """Bytes of the buffers that a short text of so many shares with others."""
    if size <= _LARGE_SHORT:
        return max(_LEAST_SHORT, 1 << (size - 1).bit_length())
    return -(-size // _LARGE_SHORT) * _LARGE_SHORT


def capacity_for_ids(size: int) -> int:
    """Ids for which there is room at first: two for three bytes, where text has one for three or more."""
    return size * 2 // 3 + 64


assert CLASSES == len(USUAL_SHARES[0]) == len(ALL_SHARES[0])
