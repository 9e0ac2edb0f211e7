"""One CUDA device through CuPy: memory, and the kernels of csrc/cuda compiled for one family of split patterns.

A device is whatever has these methods; tests put one in this one's place that runs the kernels on the CPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._shapes import WARP_MEMORY, compile_options, source

# Blocks of 8 warps (lookup) and 4 (merge) that a multiprocessor holds, by their shared memory.
_RESIDENT = {"lookup": 6, "merge": 13}


class CudaDevice:
    """A device by its number, for the kernels of one family ("r50k", "cl100k", "o200k"). Work goes to the stream that
    is current when a method is called (cupy.cuda.Stream)."""

    def __init__(self, family: str, ordinal: int = 0):
        import cupy

        self.ordinal = ordinal
        self._cupy = cupy
        self._cuda = cupy.cuda.Device(ordinal)
        with self._cuda:
            self._module = cupy.RawModule(code=source(), options=compile_options(family), backend="nvrtc")
            self._processors = int(self._cuda.attributes["MultiProcessorCount"])
        self._kernels: dict[str, Any] = {}

    def _kernel(self, name: str) -> Any:
        if name not in self._kernels:
            self._kernels[name] = self._module.get_function(f"st_kernel_{name}")
        return self._kernels[name]

    def empty(self, count: int, dtype: Any) -> Any:
        with self._cuda:
            return self._cupy.empty(count, dtype)

    def full(self, count: int, dtype: Any, value: int) -> Any:
        with self._cuda:
            return self._cupy.full(count, value, dtype)

    def put(self, array: Any) -> Any:
        with self._cuda:
            return self._cupy.asarray(array)

    def concatenate(self, arrays: list[Any]) -> Any:
        with self._cuda:
            return self._cupy.concatenate(arrays)

    def get(self, array: Any) -> Any:
        with self._cuda:
            return self._cupy.asnumpy(array)

    def pointer(self, array: Any) -> int:
        return int(array.data.ptr)

    def blocks_for(self, kernel: str, most: int) -> int:
        """How many blocks share the work of a kernel whose blocks come around again."""
        return max(1, min(most, self._processors * _RESIDENT[kernel]))

    def launch(self, kernel: str, job: Any, grid: int, block: int) -> None:
        with self._cuda:
            shared = WARP_MEMORY.get(kernel, 0) * (block // 32)
            self._kernel(kernel)((grid,), (block,), (job,), shared_mem=shared)

    def launch_tables(self, *arguments: int) -> None:
        with self._cuda:
            self._kernel("tables")((256,), (256,), tuple(np.uint64(value) for value in arguments))
