"""Memory for results: the device writes ids there, and they are the caller's array, without a copy.

The same pages are seen at two places. At one of them the driver has pinned them, and kernels write there. The caller's
array lies at the other one, of which the driver knows nothing, and which nobody can write to. So the array is as one in
ordinary memory: a copy of it to a device has read all of it when the call returns, though it is told not to wait. From
pinned memory such a copy may still be under way when the array is gone and its memory has the next result.
"""

from __future__ import annotations

import collections
import mmap
import os
import weakref
from _thread import allocate_lock
from typing import TYPE_CHECKING, Any

import numpy as np

from ..native.buffers import Lent
from ..native.steps import locked
from ._lane import PINNED

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._protocols import HostArray
    from ._device import CudaDevice

LEAST = 1 << 16
"""Bytes of the smallest block. Fewer are copied in 10 us."""

SLAB = 1 << 24
"""Bytes that are made at once: room for the ids of the longest text of one launch, if it has one for two bytes."""

MOST = PINNED
"""Bytes of results that a pipeline keeps pinned: as many as a slot has for text. Further ones are copied."""

_ORDERS = (SLAB // LEAST).bit_length()

_LEAST_USED = 8
"""A result that takes a smaller part of its block than 1 / _LEAST_USED is copied, and the block is free again."""


class _Slab:
    """Memory at two places, and which of its blocks are free: of LEAST << order bytes, by their offsets."""

    def __init__(self, unpin: Callable[[int], None], pin: Callable[[int, int], bool]) -> None:
        file = os.memfd_create("streamtok-results")
        try:
            os.ftruncate(file, SLAB)
            there = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
            self.written = np.frombuffer(mmap.mmap(file, SLAB, there), np.uint8)
            self.read = mmap.mmap(file, SLAB, there, mmap.PROT_READ)
        finally:
            os.close(file)
        self.address = self.written.ctypes.data
        if not pin(self.address, SLAB):
            raise OSError("the driver does not pin this memory")
        weakref.finalize(self, _unpin, unpin, self.address, os.getpid())
        self.free: list[set[int]] = [set() for _ in range(_ORDERS)]
        self.free[-1].add(0)

    @property
    def is_free(self) -> bool:
        return bool(self.free[-1])

    def take(self, order: int) -> int | None:
        """The offset of a block; None: there is none."""
        found = next((k for k in range(order, _ORDERS) if self.free[k]), None)
        if found is None:
            return None
        at = self.free[found].pop()
        for k in range(order, found):
            self.free[k].add(at + (LEAST << k))
        return at

    def give_back(self, at: int, order: int) -> None:
        while order < _ORDERS - 1 and at ^ (LEAST << order) in self.free[order]:
            self.free[order].remove(at ^ (LEAST << order))
            at &= ~(LEAST << order)
            order += 1
        self.free[order].add(at)


def _unpin(unpin: Callable[[int], None], address: int, process: int) -> None:
    if os.getpid() == process:  # a forked process has no driver
        unpin(address)


class Loan:
    """A block for one result. It is free again when the result is gone, or by release(). One that is dropped, as by an
    error, stays in use: a kernel may still be writing there."""

    __slots__ = ("_back", "_block", "address", "size")

    def __init__(self, slab: _Slab, at: int, order: int, back: collections.deque[tuple[_Slab, int, int]]) -> None:
        self._block, self._back = (slab, at, order), back
        self.address, self.size = slab.address + at, LEAST << order

    def target(self, dtype: np.dtype[Any]) -> HostArray:
        """All of it, pinned memory that a kernel may write to."""
        slab, at, _ = self._block
        made: HostArray = slab.written[at : at + self.size].view(dtype)
        return made

    def release(self) -> None:
        self._back.append(self._block)

    def result(self, dtype: np.dtype[Any], count: int) -> HostArray:
        """The first ids, as a read-only array."""
        slab, at, _ = self._block
        used = count * dtype.itemsize
        if _LEAST_USED * used < self.size:
            made: HostArray = self.target(dtype)[:count].copy()
            made.flags.writeable = False
            self.release()
        else:
            made = np.frombuffer(memoryview(Lent(slab.read, at, used, self._back, self._block)), dtype)
        return made


class Results:
    """Blocks of a pipeline on a device."""

    def __init__(self, device: CudaDevice) -> None:
        self._device, self._lock = device, allocate_lock()
        self._slabs: list[_Slab] = []
        self._alive: weakref.WeakSet[_Slab] = weakref.WeakSet()  # also those that only results hold
        # An array may die at any time, in a thread that has the lock, too: its block waits here until the next call.
        self._back: collections.deque[tuple[_Slab, int, int]] = collections.deque()
        self._is_off = not hasattr(os, "memfd_create")
        _pools.add(self)

    def lend(self, size: int) -> Loan | None:
        """A block of so many bytes at least; None: the result is to be copied, because it is small, or because there
        are so many results."""
        if not LEAST <= size <= SLAB or self._is_off:
            return None
        return self._lend(((size - 1) // LEAST).bit_length())

    @locked
    def _lend(self, order: int) -> Loan | None:
        self._gather()
        for slab in self._slabs:
            at = slab.take(order)
            if at is not None:
                return Loan(slab, at, order, self._back)
        made = self._make()
        at = None if made is None else made.take(order)
        return None if made is None or at is None else Loan(made, at, order, self._back)

    def _gather(self) -> None:
        while self._back:
            slab, at, order = self._back.popleft()
            slab.give_back(at, order)

    def _make(self) -> _Slab | None:
        if SLAB * (len(self._alive) + 1) > MOST:
            return None
        try:
            made = _Slab(self._device.unpin, self._device.pin)
        except OSError:
            self._is_off = True
            return None
        self._slabs.append(made)
        self._alive.add(made)
        return made

    @locked
    def forget(self) -> None:
        """Gives up what no result lies in."""
        self._gather()
        self._slabs = [slab for slab in self._slabs if not slab.is_free]

    @locked
    def leave(self) -> None:
        """Never writes again where results lie now."""
        self._gather()
        if not all(slab.is_free for slab in self._slabs):
            self._slabs, self._back = [], collections.deque()


_pools: weakref.WeakSet[Results] = weakref.WeakSet()


def _before_fork() -> None:
    """A forked process shares the pages of the results that there are."""
    for pool in list(_pools):
        pool.leave()


if hasattr(os, "register_at_fork"):
    # The forked process has no driver, and a lock that another thread held stays closed there.
    os.register_at_fork(before=_before_fork, after_in_child=_pools.clear)
