"""A lane: a CUDA stream and pinned memory of its own, for one piece of work at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._waiting import Steps, copied

if TYPE_CHECKING:
    from .._protocols import DeviceArray, HostArray
    from ._device import CudaDevice

# Asking whether memory is pinned takes longer than copying fewer bytes than this.
WORTH_ASKING = 1 << 16

PINNED = 64 << 20
"""Bytes. Pinned memory is the only one that a device copies to at full speed, and making it is slow: kept, and never
larger."""


class Lane:
    """Serves one thread at a time."""

    def __init__(self, device: CudaDevice) -> None:
        self.device = device
        self.stream = device.stream()
        self._pinned: dict[str, HostArray] = {}

    def forget(self) -> None:
        """Gives up the buffers."""
        self._pinned.clear()

    def pinned(self, name: str, size: int) -> HostArray:
        """uint8 of pinned memory by that name, kept for the next time. It is made an eighth larger: slices of a text,
        and their ids, are about as long, and one that is a little longer than the first would have it made anew."""
        if name not in self._pinned or len(self._pinned[name]) < size:
            self._pinned.pop(name, None)
            self._pinned[name] = self.device.pinned(max(size, min(size + size // 8, PINNED), 1 << 16))
        return self._pinned[name][:size]

    def put(self, facts: HostArray, name: str = "facts") -> DeviceArray:
        """A row of numbers on the device, by pinned memory of that name, which takes half the time of a pageable row.
        What was put there before is done."""
        staged = self.pinned(name, facts.nbytes).view(facts.dtype)
        np.copyto(staged, facts)
        buffer = self.device.empty(len(facts), facts.dtype)
        self.device.upload(buffer, staged)
        return buffer

    def is_pinned(self, data: HostArray) -> bool:
        """Whether an array on the host is pinned, so that the device can copy from it and to it by itself."""
        return bool(data.nbytes > WORTH_ASKING and self.device.is_pinned(data))

    def staged(self, data: HostArray, alignment: int = 1) -> Steps[HostArray]:
        """Host bytes in pinned memory at a multiple of `alignment`: where they are, or copied."""
        if self.is_pinned(data) and data.ctypes.data % alignment == 0:
            return data
        staged = self.pinned("in", len(data))
        yield from copied(staged, data)
        return staged
