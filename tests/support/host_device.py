"""A stand-in for the CUDA device of streamtok.gpu: emulated kernels (emulated.py), and numpy for the memory."""

from __future__ import annotations

import contextlib
import threading
import time

import numpy as np
from emulated import EmulatedDevice

from streamtok.gpu._shapes import ENCODING, Module

_lock = threading.Lock()  # the emulation keeps its lanes in global variables


class DeviceArray(np.ndarray):
    """An array "on the device". Arrays of other classes are host memory."""


class HostDevice(EmulatedDevice):
    """Counts what is allocated. The allocation number `fail_after` and all later ones fail."""

    def __init__(self, family: str, ordinal: int = 0, modules: tuple[Module, ...] = ENCODING) -> None:
        super().__init__(family, modules)
        self.family, self.ordinal = family, ordinal
        self.identity = f"emulated {ordinal}"
        self.allocations = self.allocated = 0
        self.fail_after: int | None = None
        self.failure: Exception | None = None
        self.given_back = 0

    def empty(self, count: int, dtype: object) -> np.ndarray:
        if self.fail_after is not None and self.allocations >= self.fail_after:
            raise OutOfMemoryError("out of memory to allocate")
        self.allocations += 1
        self.allocated += int(count) * np.dtype(dtype).itemsize
        return super().empty(count, dtype).view(DeviceArray)

    def concatenate(self, arrays: list[np.ndarray]) -> np.ndarray:
        result = self.empty(sum(map(len, arrays)), arrays[0].dtype)
        np.concatenate(arrays, out=result)
        return result

    def get(self, array: np.ndarray) -> np.ndarray:
        assert isinstance(array, DeviceArray)
        return np.array(array)

    def launch(self, kernel: str, argument: np.ndarray, grid: int, block: int) -> None:
        if self.failure is not None:
            raise self.failure
        with _lock:
            super().launch(kernel, argument, grid, block)

    def launch_builder(self, kernel: str, job: np.ndarray, *arguments: int) -> None:
        with _lock:
            super().launch_builder(kernel, job, *arguments)

    def stream(self) -> contextlib.AbstractContextManager:
        return contextlib.nullcontext()

    def caller_stream(self, given: object) -> contextlib.AbstractContextManager:
        return contextlib.nullcontext() if given is None else given

    def pinned(self, size: int) -> np.ndarray:
        return np.empty(size, np.uint8)

    def is_pinned(self, array: np.ndarray) -> bool:
        return False

    def upload(self, target: np.ndarray, source: np.ndarray) -> None:
        target[: len(source)] = source

    def download(self, target: np.ndarray, source: np.ndarray) -> None:
        target.view(np.uint8)[: source.nbytes] = np.array(source).view(np.uint8)

    def adopt(self, source: object) -> np.ndarray | None:
        return source if isinstance(source, DeviceArray) else None

    def mark(self) -> float:
        return time.perf_counter()

    def seconds_between(self, first: float, second: float) -> float:
        return second - first

    def give_back(self) -> None:
        self.given_back += 1


class OutOfMemoryError(MemoryError):
    """As CuPy's."""


class CUDARuntimeError(RuntimeError):
    """As CuPy's."""


OutOfMemoryError.__module__ = "cupy.cuda.memory"
CUDARuntimeError.__module__ = "cupy_backends.cuda.api.runtime"
