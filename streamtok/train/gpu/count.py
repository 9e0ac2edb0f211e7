"""Texts to distinct pieces with their counts on a device: slices of text are copied there, split by the stages of
encoding, and counted (csrc/cuda/train/count.cu). Meanwhile the next slice is put together on the host."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...gpu._job import BLOCK, COUNTS, FLAG_GAP, FLAG_UTF8
from ...gpu._starts import SEGMENT_BLOCKS, Buffers, add_starts, find_starts, text_job
from ...gpu._tables import put_pattern
from ...gpu._text import DeviceText, pack
from ...native.matcher import FOUND
from ...native.text import mend_surrogates
from ..counting import Counting
from ..inputs import Stretch
from ..records import Blocks
from .jobs import COUNTING, LONGEST, STRETCH
from .table import PieceTable

if TYPE_CHECKING:
    from ...gpu._device import CudaDevice

SLICE = 64 << 20
"""Bytes of text counted at once: enough to fill a device, few enough for two of them in pinned memory."""


class DevicePieces:
    """All pieces: a table on the device, and blocks of those that the host counted."""

    def __init__(self, table: PieceTable, rest: Blocks) -> None:
        self.table, self.rest = table, rest

    @property
    def distinct(self) -> int:
        """Pieces in the table."""
        counted = self.table.counted()
        return int(counted["shorts"]) + int(counted["longs"])

    def drop(self) -> None:
        """Gives memory back."""
        self.table.drop()
        self.rest.drop()


class _Slice:
    """A slice in flight: its text, its passages, and where its job is."""

    def __init__(self, stretches: list[Stretch], text: DeviceText, job: Any, size: int, kept: Any) -> None:
        self.stretches, self.text, self.job, self.size, self.kept = stretches, text, job, size, kept


class DeviceCounting:
    """As Counting, and beside one, `host`, which takes what is not for the device: text that is to be refused, which it
    has the exact error for, and pieces of more than LONGEST bytes.

    times: seconds by stage, for benchmarks, where it is not None; every stage is waited for then.
    """

    def __init__(self, device: CudaDevice, host: Counting, slice_bytes: int | None = None) -> None:
        self._device, self._host, self._slice_bytes = device, host, slice_bytes or SLICE
        self._special = host.how.special
        self._table: PieceTable | None = None
        self._held: list[Stretch] = []
        self._passages: list[Any] = []
        self._size = self._bytes = 0
        self._staging: list[Any] = []
        self._number = 0
        self._under_way: _Slice | None = None
        self._buffers = Buffers(device)
        self._table_of_pattern = put_pattern(device, host.pattern)
        self.pieces_there = 0
        self.times: dict[str, float] | None = None

    @property
    def pieces(self) -> int:
        """Pieces seen, repeated ones too, as far as the device has told."""
        return self.pieces_there + self._host.pieces

    @property
    def text_bytes(self) -> int:
        """Bytes of text seen, special tokens not among them."""
        return self._bytes + self._host.text_bytes

    def put(self, stretch: Stretch) -> None:
        """Take a stretch. Raises what an earlier one was refused for."""
        self._held.append(stretch)
        for text in stretch.texts:
            data = self._bytes_of(text)
            if data is not None:
                for passage in self._without_special(data):
                    self._passages.append(passage)
                    self._size += -(-len(passage) // BLOCK) * BLOCK
        if self._size >= self._slice_bytes:
            self._begin_slice()

    def drain(self) -> None:
        """Wait until all that was put is counted. Raises the first error, in the order of the text."""
        self._begin_slice()
        self._end_slice()
        self._host.drain()

    def stop(self) -> None:
        self._host.stop()

    def spill(self) -> None:
        """Write all pieces to the store, and begin a new table."""
        self._to_host()
        self._host.spill()

    def finish(self, path: str | None) -> Blocks | DevicePieces:
        """All pieces: on the device, if they are there and no file at `path` is wanted."""
        if path is not None or self._host.store.spills:
            self._to_host()
            return self._host.finish(path)
        self.drain()
        self._buffers.clear()
        self._staging.clear()
        rest = self._host.finish(None)
        return rest if self._table is None else DevicePieces(self._table, rest)

    def _to_host(self) -> None:
        self.drain()
        if self._table is not None:
            self._table.add_to(self._host.counters[0])

    # ---- texts to passages ----

    def _bytes_of(self, text: Any) -> Any:
        if isinstance(text, str):
            return mend_surrogates(text).encode()
        if self._host.how.errors == "strict":
            return text
        return str(text, "utf-8", self._host.how.errors).encode()

    def _without_special(self, data: Any) -> Iterator[Any]:
        """What stands between names of special tokens: texts of their own."""
        if self._special is None:
            if len(data):
                yield data
            return
        data, at = bytes(data), 0
        names = self._special.search(data)
        while at < len(data):
            found, start, end, _ = names.next(True)
            if found != FOUND:
                start = end = len(data)
            if start > at:
                yield memoryview(data)[at:start]
            at = end

    # ---- a slice ----

    def _begin_slice(self) -> None:
        """Sends the held text to the device, after the slice before it is done."""
        stretches, passages, self._held, self._passages, self._size = self._held, self._passages, [], [], 0
        if not passages:
            return
        sizes = np.array([len(passage) for passage in passages], np.uint64)
        starts = np.cumsum(sizes) - sizes
        total = int(sizes.sum())
        staged = self._stage(passages, total)
        self._end_slice()
        self._table = self._table or PieceTable(self._device, total)
        source = self._buffers.array("source", max(total, self._slice_bytes) + BLOCK, np.uint8)
        self._device.upload(source, staged)
        self._mark("copy")
        text = pack(self._device, source, starts, sizes, np.zeros(0, np.int64), STRETCH + 32)
        self._under_way = _Slice(stretches, text, None, total, (staged, source))
        self._split(self._under_way)
        self._count(self._under_way)
        self._bytes += total

    def _stage(self, passages: list[Any], total: int) -> Any:
        """The passages one after the other in pinned memory, while the device works on the slice before."""
        while len(self._staging) < 2:
            self._staging.append(np.zeros(0, np.uint8))
        self._number ^= 1
        if len(self._staging[self._number]) < total:
            self._staging[self._number] = self._device.pinned(max(total, self._slice_bytes))
        staged, at = self._staging[self._number], 0
        for passage in passages:
            staged[at : at + len(passage)] = np.frombuffer(passage, np.uint8)
            at += len(passage)
        self._mark("gather")
        return staged[:total]

    def _split(self, under_way: _Slice) -> None:
        job = text_job(self._buffers, under_way.text)
        if self._table_of_pattern is not None:
            job["dfa"] = self._device.pointer(self._table_of_pattern)
        add_starts(job, self._buffers, SEGMENT_BLOCKS)
        find_starts(self._device, job)
        self._mark("split")
        under_way.job = job

    def _count(self, under_way: _Slice) -> None:
        """Counts on from the stretch that is next."""
        assert self._table is not None
        blocks = under_way.text.size // BLOCK
        counting = np.zeros((), COUNTING)
        self._table.fill_in(counting)
        counting["text"], counting["starts"] = under_way.job["text"], under_way.job["starts"]
        counting["blocks"], counting["stretches"] = blocks, -(-blocks * BLOCK // STRETCH)
        counting["flags"] = int(under_way.job["counts"]) + COUNTS.fields["flags"][1]  # type: ignore[index]
        room = under_way.text.size // LONGEST + 1
        counting["huge"], counting["huge_room"] = self._buffers.address("huge", 2 * room, np.uint64), room
        most = min(-(-int(counting["stretches"]) // 8), self._table.warps() // 8)
        self._device.launch("count", counting, self._device.blocks_for("count", most), 256)
        self._mark("count")

    def _end_slice(self) -> None:
        """Waits for the slice in flight, and counts on the host what the device could not."""
        under_way, self._under_way = self._under_way, None
        if under_way is None:
            return
        assert self._table is not None
        table = self._table
        if self._buffers.counted()["flags"] & (FLAG_UTF8 | FLAG_GAP):
            self._bytes -= under_way.size
            for stretch in under_way.stretches:
                self._host.put(stretch)
            self._host.drain()
            return
        counted = table.counted()
        while int(counted["next"]) * STRETCH < under_way.text.size:
            table.grow(counted)
            self._mark("grow")
            self._count(under_way)
            counted = table.counted()
        self.pieces_there = int(counted["pieces"])
        if counted["huge"]:
            self._count_huge(under_way, int(counted["huge"]))
        table.begin_text()

    def _count_huge(self, under_way: _Slice, count: int) -> None:
        get = self._device.get
        self._host.drain()
        spans = get(self._buffers.kept("huge")[: 16 * count]).view(np.int64).reshape(-1, 2)
        for start, end in spans.tolist():
            piece = bytes(get(under_way.text.data[start:end]))
            self._host.counters[0].count_spans(piece, np.array([0, len(piece)], np.int64))
            self._bytes -= len(piece)

    # ---- where the time goes ----

    def _mark(self, stage: str) -> None:
        if self.times is None:
            return
        if stage != "gather":
            self._device.synchronize()
        now = time.perf_counter()
        self.times[stage] = self.times.get(stage, 0.0) + now - self.times.get("", now)
        self.times[""] = now
