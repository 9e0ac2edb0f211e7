"""GpuDecodePipeline: ids on the host or on a device to bytes on the host. Copies and kernels overlap."""

from __future__ import annotations

import functools
import itertools
from _thread import allocate_lock
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._checks import check_row, id_array, id_rows
from ..errors import shown
from ..native.buffers import BytesBuffer
from ..native.steps import locked
from . import _open
from ._errors import DeviceError, explained
from ._lane import Lane
from ._ordered import Output, Overflow, row_starts_of, run_in_order
from .encoder import ordinal_of
from .ids.decode import BadIds, Kernels
from .ids.jobs import FAMILY, IDS
from .ids.tables import DecodingTables, why_not

if TYPE_CHECKING:
    from .._protocols import DeviceArray, Encoding, HostArray, Places, TokenIds
    from ._device import CudaDevice
    from ._waiting import Steps

CHUNK = 8 << 20
"""Ids in flight in a lane: 32 MB of them, and about as much text."""

_LEAST_CHUNK = 1 << 18

LANES = 4
"""A device copies in, computes and copies out at the same time, and one waits."""

_BYTES_AN_ID = 6
"""Room at first: tokens of text have four to five bytes."""

_ON_HOST = {list, tuple, range, bytes, bytearray, np.ndarray}


class DecodingLane(Lane):
    """Decodes for one thread at a time."""

    def __init__(self, device: CudaDevice) -> None:
        super().__init__(device)
        self.kernels = Kernels(device)

    def forget(self) -> None:
        super().forget()
        self.kernels.clear()


class GpuDecodePipeline:
    """Decodes into host memory. The bytes are those of Encoding.decode_bytes and decode_bytes_batch, and so are the
    errors. Threads share it freely; one call at a time is worked at.

    >>> pipeline = streamtok.gpu.GpuDecodePipeline(enc)
    >>> data = pipeline.decode_bytes(ids)      # a numpy array of uint8

    Args:
        encoding: an Encoding whose tokens are bytes, each by itself, as those of the bundled encodings are.
        device: a number, "cuda:N", or None for the first.
        chunk_size: ids in flight in each lane.
        lanes: how many the device has.

    Raises:
        DeviceError: no CuPy, no driver, an old one, no such device; the message says what to do.
        DeviceMemoryError: the device has too little memory.
        ValueError: an encoding that no kernel serves, a chunk_size or lanes below 1.
    """

    def __init__(
        self, encoding: Encoding, device: int | str | None = None, *, chunk_size: int = CHUNK, lanes: int = LANES
    ) -> None:
        if chunk_size < 1 or lanes < 1:
            raise ValueError(f"chunk_size={shown(chunk_size)} and lanes={shown(lanes)}: write 1 or more")
        ordinal, reason = ordinal_of(device), why_not(encoding)
        if reason:
            raise ValueError(f"{shown(encoding.name)} has {reason}: decode on the CPU (device='cpu')")
        self.encoding, self.device, self.chunk = encoding, f"cuda:{ordinal}", chunk_size
        self._device = _open.open_device(FAMILY, ordinal, (IDS,))
        self._lock = allocate_lock()
        with explained(self.device):
            self._tables = DecodingTables(self._device, encoding, encoding._decoder.special_ids())
            self._lanes = [DecodingLane(self._device) for _ in range(lanes)]
            self._device.synchronize()  # lanes have streams of their own

    def __repr__(self) -> str:
        return f"<GpuDecodePipeline of {self.encoding.name!r} on {self.device}>"

    def decode_bytes(self, tokens: TokenIds, *, out: Any = None, skip_special_tokens: bool = False) -> Any:
        """The bytes of all ids, joined, as a numpy array of uint8.

        Args:
            tokens: one row of integers: on the host, as Encoding.decode_bytes() takes them, or on a device. Pinned
                memory of uint32 (cupyx.empty_pinned) saves a copy.
            out: one row of uint8 that the bytes are written to; the part that they took is returned. Pinned memory
                saves a copy here too.
            skip_special_tokens: leave out the ids of special tokens.

        Raises:
            KeyError, OverflowError, TypeError: as Encoding.decode_bytes().
            ValueError: `out` has too little room, or is not such an array; and as Encoding.decode_bytes().
            DeviceError: the device failed. DeviceMemoryError: it has too little memory.
        """
        if out is not None and (out.dtype != np.uint8 or out.ndim != 1 or not out.flags.c_contiguous):
            raise ValueError(f"out is {out.dtype} of shape {out.shape}: give one row of uint8, in one piece")
        try:
            return self._decode(self._row(tokens), None, skip_special_tokens, out)[0]
        except BadIds:
            self.encoding.decode_bytes(tokens, skip_special_tokens=skip_special_tokens)
            raise self._contradiction() from None

    def as_bytes(self, tokens: TokenIds, skip_special: bool) -> bytes:
        """decode_bytes() as a bytes object, without a copy."""
        buffers: list[BytesBuffer] = []

        def buffer_for(size: int) -> HostArray:
            buffers[:] = [BytesBuffer(size)]
            return np.frombuffer(memoryview(buffers[0]), np.uint8)

        try:
            size = len(self._decode(self._row(tokens), None, skip_special, None, buffer_for)[0])
        except BadIds:
            self.encoding.decode_bytes(tokens, skip_special_tokens=skip_special)
            raise self._contradiction() from None
        return buffers[0].taken(size)

    def decode_bytes_batch(self, batch: Any, *, skip_special_tokens: bool = False) -> tuple[Any, Any]:
        """(bytes, row_starts) of several rows of ids, numpy arrays: the bytes of row i are
        bytes[row_starts[i] : row_starts[i + 1]]; row_starts is int64, one longer than there are rows.

        Args:
            batch: as for Encoding.decode_bytes_batch(): a list of rows, or an array of two dimensions.
            skip_special_tokens: as for decode_bytes().

        Raises:
            KeyError, OverflowError, TypeError, ValueError: as Encoding.decode_bytes_batch().
            DeviceError, DeviceMemoryError: as for decode_bytes().
        """
        try:
            rows = [np.asarray(id_array(row), np.uint32) for row in id_rows(batch)]
            ends = np.cumsum([0, *map(len, rows)], dtype=np.int64)
            ids = np.concatenate(rows) if rows else np.empty(0, np.uint32)
            return self._decode(ids, ends, skip_special_tokens, None)
        except BadIds:
            self._raise_as_cpu(batch, skip_special_tokens)
            raise self._contradiction() from None
        except (TypeError, ValueError, OverflowError):  # a row in front of this one may hold an unknown id
            self._raise_as_cpu(batch, skip_special_tokens)
            raise

    # ---- how it is done ----

    def _raise_as_cpu(self, batch: Any, skip_special: bool) -> None:
        self.encoding.decode_bytes_batch(batch, num_threads=1, skip_special_tokens=skip_special)

    def _contradiction(self) -> DeviceError:
        return DeviceError(f"{self.device} found an unknown id, and the CPU finds none: restart the program")

    def _row(self, tokens: Any) -> Any:
        """One row of integers, as it lies on the device, or of uint32 on the host."""
        there = None if type(tokens) in _ON_HOST else self._device.adopt(tokens)
        if there is None:
            return np.asarray(id_array(tokens), np.uint32)
        check_row(there)
        self._device.synchronize()  # lanes have streams of their own
        return there if len(there) else np.empty(0, np.uint32)

    def _decode(
        self,
        ids: Any,
        rows: Places | None,
        skip_special: bool,
        out: Any,
        buffer_for: Callable[[int], HostArray] = lambda size: np.empty(size, np.uint8),
    ) -> tuple[Any, Any]:
        """(bytes, row starts). buffer_for: makes the array for so many bytes, of which the beginning is returned."""
        count = len(ids)
        chunk = min(self.chunk, max(_LEAST_CHUNK, -(-count // (2 * len(self._lanes)))))
        firsts = range(0, count, chunk)
        borders = None if rows is None else np.searchsorted(rows[:-1], [*firsts, count]).tolist()
        works = []
        for i, first in enumerate(firsts):
            own = None if borders is None or rows is None else rows[borders[i] : borders[i + 1]] - first
            works.append(functools.partial(self._steps, ids=ids[first : first + chunk], rows=own, skip=skip_special))
        with explained(self.device, "decode fewer ids at a time"):
            output, results = self._in_buffer(works, count, out, buffer_for)
        data = output.array[: output.total]
        if rows is None or borders is None:
            return data, None
        counts = [b - a for a, b in itertools.pairwise(borders)]
        starts = row_starts_of(results, counts)
        return data, np.append(starts[:-1], np.full(len(rows) - len(starts) + 1, output.total))

    @locked
    def _in_buffer(
        self, works: list[Any], count: int, out: Any, buffer_for: Callable[[int], HostArray]
    ) -> tuple[Output, list[Any]]:
        capacity = count * _BYTES_AN_ID + 4096
        while True:
            output = Output(buffer_for(capacity) if out is None else out)
            try:
                return output, run_in_order(works, self._lanes, output)
            except Overflow:
                if out is not None:
                    raise ValueError(f"out has room for {len(out)} bytes, and there are more") from None
                capacity = 2 * max(capacity, output.total)
            except MemoryError:
                for lane in self._lanes:
                    lane.forget()
                self._device.give_back()
                raise

    def _steps(self, lane: DecodingLane, ids: Any, rows: Places | None, skip: bool) -> Steps[tuple[Any, Any]]:
        """The bytes of a chunk, and where its rows begin in them."""
        there: DeviceArray = ids
        if type(ids) is np.ndarray:
            staged = yield from lane.staged(ids.view(np.uint8))
            buffer = lane.kernels.buffers.array("ids", len(ids), np.uint32)
            self._device.upload(buffer, staged)
            there = buffer[: ids.nbytes].view(np.uint32)
        begins = None if rows is None or not len(rows) else self._device.put(rows.astype(np.uint64))
        decoded = yield from lane.kernels.decoding(self._tables, there, begins, skip)
        return decoded.data, decoded.row_starts
