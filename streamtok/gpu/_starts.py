"""A text up to where its pieces start: what encoding and training have in common (csrc/cuda/starts.cu)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._job import BLOCK, COUNTS, GAPS, JOB
from ._text import DeviceText

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._protocols import DeviceArray, Record
    from ._device import CudaDevice

SEGMENT_BLOCKS = 4
"""Blocks that a thread splits (csrc/cuda/job.h)."""


class Buffers:
    """Buffers on a device by name, kept for the next text."""

    def __init__(self, device: CudaDevice) -> None:
        self.device = device
        self.moves = 0  # how often an address was given up
        self._arrays: dict[str, DeviceArray] = {}

    def array(self, name: str, count: int, dtype: npt.DTypeLike) -> DeviceArray:
        """A buffer for `count` items or more, as bytes."""
        size = max(1, int(count)) * np.dtype(dtype).itemsize
        if name not in self._arrays or self._arrays[name].nbytes < size:
            self._arrays.pop(name, None)
            self.moves += 1  # also where there is no memory for the next one
            self._arrays[name] = self.device.empty(size, np.uint8)
        return self._arrays[name]

    def address(self, name: str, count: int, dtype: npt.DTypeLike) -> int:
        """Where the same begins."""
        return int(self.device.pointer(self.array(name, count, dtype)))

    def kept(self, name: str) -> DeviceArray:
        """A buffer that is there, as bytes."""
        return self._arrays[name]

    def zeros(self, name: str, size: int) -> DeviceArray:
        """A buffer of so many bytes, which are 0 when it is made."""
        if name not in self._arrays:
            self._arrays[name] = self.device.full(size, np.uint8, 0)
        return self._arrays[name]

    def counts(self) -> DeviceArray:
        """The buffer of a st_counts: `arrived` begins as 0."""
        return self.zeros("counts", COUNTS.itemsize)

    def counted(self) -> np.void:
        """A st_counts, once the device has come so far."""
        counted: np.void = self.device.get(self.counts()).view(COUNTS)[0]
        return counted

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._arrays.values())

    def clear(self) -> None:
        self._arrays.clear()
        self.moves += 1


def text_job(buffers: Buffers, text: DeviceText) -> Record:
    """A job that knows the text and where to count."""
    job, pointer = np.zeros((), JOB), buffers.device.pointer
    job["text"], job["size"], job["blocks"] = pointer(text.data), text.size, -(-text.size // BLOCK)
    job["counts"] = pointer(buffers.counts())
    if text.marks is not None:
        job["marks"] = pointer(text.marks)
    return job


def add_starts(job: Record, buffers: Buffers, segment_blocks: int) -> None:
    """Gives a job room for the starts of its pieces."""
    blocks = int(job["blocks"])
    segments = -(-blocks // segment_blocks)
    job["segment_blocks"] = segment_blocks
    job["starts"] = buffers.address("starts", blocks, np.uint64)
    job["unsynced"] = buffers.address("unsynced", segments, np.uint8)
    job["high"] = buffers.address("high", segments, np.uint8)
    job["hard"] = buffers.address("hard", segments, np.uint64)
    job["gaps"] = buffers.address("gaps", GAPS * segments, np.uint64)


def find_starts(device: CudaDevice, job: Record, splits: bool = True) -> None:
    """Launches the kernels that check the text, as far as the job wants it, and find the starts, if they are wanted."""
    blocks = int(job["blocks"])
    segments = -(-blocks // int(job["segment_blocks"]))
    device.launch("begin", job, 1, 32)
    if not job["trusted"]:
        device.launch("check", job, -(-blocks // 256), 256)
    if job["name_count"]:
        device.launch("find", job, -(-blocks // 256), 256)
    if not splits:
        return
    device.launch("split", job, -(-segments // 128), 128)
    for stage in ("resync", "rest"):
        device.launch(stage, job, min(-(-segments // 128), 4096), 128)
