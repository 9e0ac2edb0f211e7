"""Ids on a device to bytes there: the stages of csrc/cuda/ids/decode.cu and hold.cu."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._starts import Buffers
from .jobs import BLOCK_WARPS, DECODE, FLAG_BAD_ID, FLAG_BAD_ROWS, FLAG_OVERFLOW, HOLD, REPORT, SUM_WARPS, SUMS, TILE

if TYPE_CHECKING:
    from ..._protocols import DeviceArray, HostArray, Record
    from .._device import CudaDevice
    from .._waiting import Steps
    from .tables import DecodingTables

_BYTES_AN_ID = 6
"""Room at first: tokens of text have four to five bytes."""

_LEAST_CAPACITY = 4096


class BadIds(Exception):
    """An id is unknown, or none at all. The host finds out which, as the CPU names it."""


class BadRows(Exception):
    """Rows do not follow each other, or reach beyond the ids."""


class Decoded(NamedTuple):
    """data: uint8. row_starts: int64, one more than rows; None without rows. starts: int64, one more than ids, if asked
    for. All on the device."""

    data: DeviceArray
    row_starts: DeviceArray | None
    starts: DeviceArray | None


class Kernels:
    """The kernels that take ids, with the buffers that all of them use. Not for two threads at once."""

    def __init__(self, device: CudaDevice) -> None:
        self.device = device
        self.buffers = Buffers(device)
        self._report: HostArray | None = None

    def clear(self) -> None:
        """Gives up the buffers."""
        self.buffers.clear()

    def warps(self, kernel: str, job: Record, count: int) -> None:
        """Launches a kernel for so many units of a warp."""
        most = self.device.blocks_for(kernel, -(-max(1, count) // BLOCK_WARPS))
        self.device.launch(kernel, job, most, 32 * BLOCK_WARPS)

    def report_there(self) -> int:
        """Where the kernels count for the report."""
        return int(self.device.pointer(self.buffers.zeros("report", REPORT.itemsize)))

    def _report_here(self) -> HostArray:
        if self._report is None:
            self._report = self.device.pinned(REPORT.itemsize).view(REPORT)
        return self._report

    def add_up(self, numbers: int, count: int, capacity: int = 2**63, tells: bool = True) -> None:
        """Launches the sum of an array of uint64 by its address. tells: the report then goes to the host."""
        job = np.zeros((), SUMS)
        job["numbers"], job["count"], job["capacity"], job["report"] = numbers, count, capacity, self.report_there()
        job["host"] = self._report_here().ctypes.data if tells else 0
        self.device.launch("add_up", job, 1, 32 * SUM_WARPS)

    def tell(self) -> None:
        """Launches the way of the report to the host."""
        job = np.zeros((), SUMS)
        job["report"], job["host"] = self.report_there(), self._report_here().ctypes.data
        self.device.launch("tell", job, 1, 32)

    def reported(self) -> np.void:
        """The report, once the device has come so far."""
        report: np.void = self._report_here()[0]
        return report

    # ---- decoding ----

    def decoding(
        self,
        tables: DecodingTables,
        ids: DeviceArray,
        rows: DeviceArray | None = None,
        skip_special: bool = False,
        with_starts: bool = False,
    ) -> Steps[Decoded]:
        """The bytes of ids of any dtype of integers. rows: uint64, where each row begins and the last one ends.

        Raises BadIds, BadRows."""
        count = len(ids)
        job, tiles = np.zeros((), DECODE), -(-count // TILE)
        tables.fill(job, skip_special)
        pointer = self.device.pointer
        job["ids"], job["id_bytes"], job["count"] = pointer(ids), ids.dtype.itemsize, count
        job["is_signed"], job["report"] = ids.dtype.kind == "i", self.report_there()
        job["tiles"] = self.buffers.address("tiles", tiles + 1, np.uint64)
        starts = self.device.empty(count + 1, np.uint64) if with_starts else None
        row_starts = None if rows is None else self.device.empty(len(rows), np.uint64)
        if starts is not None:
            job["starts"] = pointer(starts)
        if rows is not None and row_starts is not None:
            job["rows"], job["row_starts"], job["row_count"] = pointer(rows), pointer(row_starts), len(rows)
        data = yield from self._data(job, tiles)
        if starts is not None and not count:
            self.device.assign(starts, 0)
        views = [None if each is None else each.view(np.int64) for each in (row_starts, starts)]
        return Decoded(data, *views)

    def _data(self, job: Record, tiles: int) -> Steps[DeviceArray]:
        capacity = int(job["count"]) * _BYTES_AN_ID + _LEAST_CAPACITY
        if tiles:
            self.warps("count_bytes", job, tiles)
        out = self.device.empty(capacity, np.uint8)
        while True:
            job["out"], job["out_capacity"] = self.device.pointer(out), capacity
            self.add_up(int(job["tiles"]), tiles, capacity, tells=not job["row_count"])
            self._write(job, tiles)
            yield self.device.moment()
            report = self.reported()
            if report["flags"] & FLAG_BAD_ID:
                raise BadIds
            if report["flags"] & FLAG_BAD_ROWS:
                raise BadRows
            if not report["flags"] & FLAG_OVERFLOW:
                return out[: int(report["total"])]
            capacity = int(report["total"])
            del out  # freed before the new one is allocated
            out = self.device.empty(capacity, np.uint8)
            self.warps("count_bytes", job, tiles)  # the sums took the place of the counts

    def _write(self, job: Record, tiles: int) -> None:
        self.warps("write_bytes", job, max(1, tiles))
        if job["row_count"]:
            self.warps("row_bytes", job, int(job["row_count"]))
            self.tell()

    # ---- rows that come in parts ----

    def holding(
        self, decoded: Decoded, held: DeviceArray, final: bool
    ) -> Steps[tuple[DeviceArray, DeviceArray, DeviceArray]]:
        """(data, row starts, what waits now) of rows, in front of which the bytes stand that `held` has: uint32 a row.

        final: nothing waits any more."""
        device, rows = self.device, len(held)
        assert decoded.row_starts is not None
        job, after = np.zeros((), HOLD), device.empty(rows, np.uint32)
        sizes, capacity = device.empty(rows + 1, np.uint64), len(decoded.data) + 3 * rows
        out = device.empty(max(1, capacity), np.uint8)
        pointers = map(device.pointer, (decoded.data, decoded.row_starts, held, after, sizes, out))
        job["text"], job["row_starts"], job["before"], job["after"], job["sizes"], job["out"] = pointers
        job["row_count"], job["final"] = rows, final
        device.launch("hold", job, device.blocks_for("hold", -(-rows // 256)), 256)
        self.add_up(int(job["sizes"]), rows)
        self.warps("give", job, rows)
        yield device.moment()
        return out[: int(self.reported()["total"])], sizes.view(np.int64), after
