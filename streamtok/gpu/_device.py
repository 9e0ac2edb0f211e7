"""One CUDA device through CuPy: memory, and the kernels of csrc/cuda compiled for one family of split patterns.

A device is whatever has these methods; tests put one in this one's place that runs the kernels on the CPU.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
import weakref
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..native.buffers import Block
from ..native.launch import Current, Driver, Launch
from ..native.steps import lazy
from ..native.workers import clear
from ._shapes import ENCODING, Module, module_of
from ._waiting import Wait

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._protocols import DeviceArray, HostArray, Record

_DLPACK_CUDA = 2, 13  # kDLCUDA and kDLCUDAManaged

_LARGE = 4 << 20
"""Bytes of pinned memory that are worth large pages."""

_KEPT = 1024
"""Bytes of shared memory that a device keeps for itself in each block."""

_PORTABLE = 1  # cudaHostRegisterPortable: pinned for all devices


class _Functions:
    """The driver's functions that Launch calls, and the context that is current for this thread."""

    def __init__(self) -> None:
        library: Any
        if sys.platform == "win32":
            library = ctypes.WinDLL("nvcuda.dll")
        else:
            library = ctypes.CDLL("libcuda.so.1")
        names = "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2", "cuLaunchCooperativeKernel", "cuStreamQuery"
        self.driver = Driver(*(address_of(getattr(library, name)) for name in names))
        self._get_current = library.cuCtxGetCurrent

    def context(self) -> int:
        found = ctypes.c_void_p()
        self._get_current(ctypes.byref(found))
        return int(found.value or 0)


def address_of(function: Any) -> int:
    """Where a function of ctypes begins."""
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)


@functools.cache
def _functions() -> _Functions:
    return _Functions()


class PreparedLaunch:
    """A Launch on a device. run(blocks) returns when the kernel, on the stream that is current, has done all."""

    def __init__(self, device: CudaDevice, launch: Launch) -> None:
        self._device, self.launch = device, launch

    def run(self, blocks: int) -> None:
        device = self._device
        finish(device, *self.launch.run(device.current_stream(), blocks))


def finish(device: CudaDevice, status: int, is_over: bool) -> None:
    """What is to be done after Launch.run: raises the driver's error, or waits for the current stream."""
    if status:
        device.check(status)
    if not is_over:
        device.synchronize()


class _Moment:
    """An event, as Wait has it. It needs no current device."""

    __slots__ = ("_event",)

    def __init__(self, event: Any) -> None:
        self._event = event

    def done(self) -> bool:
        return bool(self._event.done)

    def wait(self) -> None:
        self._event.synchronize()


class _Handle:
    """A stream's handle as an object with CUDA's stream protocol."""

    def __init__(self, handle: int):
        self._handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._handle  # version of the protocol, handle


class CudaDevice:
    """A device by its number, for the kernels of one family (patterns.KERNELS). Work goes to the
    stream that is current when a method is called (cupy.cuda.Stream)."""

    def __init__(self, family: str, ordinal: int = 0, modules: tuple[Module, ...] = ENCODING):
        import cupy

        self.ordinal, self._modules = ordinal, modules
        self._cupy = cupy
        with self._cuda:
            self._compiled = [
                cupy.RawModule(code=module.source(), options=module.options(family), backend="nvrtc")
                for module in modules
            ]
            attributes = cupy.cuda.Device(ordinal).attributes
            self._processors = int(attributes["MultiProcessorCount"])
            self._shared_memory = int(attributes.get("MaxSharedMemoryPerMultiprocessor", 0))
        self._kernels: dict[str, Any] = {}
        self._launches: dict[tuple[str, int], tuple[int, int, bool]] = {}

    @property
    def _cuda(self) -> Current:
        return Current(self._cupy.cuda.runtime, self.ordinal)

    @lazy
    def _driver(self) -> Any:
        from cupy_backends.cuda.api import driver

        return driver

    def _kernel(self, name: str) -> Any:
        if name not in self._kernels:
            compiled = self._compiled[self._modules.index(module_of(self._modules, name))]
            self._kernels[name] = compiled.get_function(f"st_kernel_{name}")
        return self._kernels[name]

    def _launch_of(self, kernel: str, block: int) -> tuple[int, int, bool]:
        """(driver handle, bytes of shared memory, whether all blocks must run at once); block: threads of a block."""
        facts = self._launches.get((kernel, block))
        if facts is None:
            module, handle = module_of(self._modules, kernel), int(self._kernel(kernel).kernel.ptr)
            facts = handle, module.shared_memory(kernel, block), kernel in module.together
            self._launches[kernel, block] = facts
        return facts

    def empty(self, count: int, dtype: npt.DTypeLike) -> DeviceArray:
        with self._cuda:
            array: DeviceArray = self._cupy.empty(count, dtype)
            return array

    def full(self, count: int, dtype: npt.DTypeLike, value: int) -> DeviceArray:
        with self._cuda:
            array: DeviceArray = self._cupy.full(count, value, dtype)
            return array

    def put(self, array: HostArray) -> DeviceArray:
        with self._cuda:
            copy: DeviceArray = self._cupy.asarray(array)
            return copy

    def assign(self, target: DeviceArray, value: DeviceArray | int) -> None:
        """Another array of the device, or a number, to all of an array or of a stretch of one."""
        with self._cuda:
            if isinstance(value, int):
                target.fill(value)
            else:
                target[...] = value

    def concatenate(self, arrays: list[DeviceArray]) -> DeviceArray:
        with self._cuda:
            joined: DeviceArray = self._cupy.concatenate(arrays)
            return joined

    def get(self, array: DeviceArray) -> HostArray:
        with self._cuda:
            copy: HostArray = self._cupy.asnumpy(array)
            return copy

    def pointer(self, array: DeviceArray) -> int:
        return int(array.data.ptr)

    def blocks_for(self, kernel: str, most: int) -> int:
        """How many blocks share the work of a kernel whose blocks loop over it."""
        module = module_of(self._modules, kernel)
        resident = module.resident[kernel]
        if kernel in module.together:  # no more than there is room for at once
            resident = max(1, min(resident, self._shared_memory // (module.shared_memory(kernel, 256) + _KEPT)))
        return max(1, min(most, self._processors * resident))

    def launch(self, kernel: str, job: Record, grid: int, block: int) -> None:
        """Launches by the driver's own call: CuPy's takes three times as long."""
        driver = self._driver
        arguments = ctypes.c_void_p(job.ctypes.data)
        with self._cuda:
            handle, shared, together = self._launch_of(kernel, block)
            stream = self._cupy.cuda.get_current_stream().ptr
            if together:
                driver.launchCooperativeKernel(
                    handle, grid, 1, 1, block, 1, 1, shared, stream, ctypes.addressof(arguments)
                )
            else:
                driver.launchKernel(handle, grid, 1, 1, block, 1, 1, shared, stream, ctypes.addressof(arguments), 0)

    def prepared(self, kernel: str, job: Record, block: int, done: int) -> PreparedLaunch:
        """A launch of a kernel that is made again and again. done: address of a number of 32 bits in pinned memory that
        the kernel makes 1 at its end. The job stays where it is."""
        handle, shared, _ = self._launch_of(kernel, block)
        with self._cuda:
            functions = _functions()
            launch = Launch(functions.driver, functions.context(), handle, block, shared, job.ctypes.data, done)
        return PreparedLaunch(self, launch)

    def check(self, status: int) -> None:
        """Raises CuPy's error for the status of a call of the driver's."""
        self._driver.check_status(status)

    def current_stream(self) -> int:
        """The handle of the stream that is current."""
        return int(self._cupy.cuda.get_current_stream().ptr)

    def launch_builder(self, kernel: str, job: Record, *arguments: int) -> None:
        with self._cuda:
            self._kernel(kernel)((512,), (256,), (job, *map(np.uint64, arguments)))
            self._cupy.cuda.runtime.deviceSynchronize()  # the arrays that it reads may be freed

    # ---- copies, streams and time ----

    def stream(self) -> AbstractContextManager[None]:
        """A new CUDA stream: current inside `with`, for one thread at a time."""
        with self._cuda:
            stream = self._cupy.cuda.Stream(non_blocking=True)
        return Current(self._cupy.cuda.runtime, self.ordinal, stream)

    def caller_stream(self, given: Any) -> AbstractContextManager[None]:
        """The stream that the caller means, current inside `with`: a CuPy stream, an object with __cuda_stream__, a
        handle, or None: the one that is current for CuPy."""
        streams = self._cupy.cuda
        if given is not None and not isinstance(given, streams.Stream):
            if hasattr(given, "cuda_stream"):  # torch, also before it had the protocol
                given = given.cuda_stream
            elif hasattr(given, "__cuda_stream__"):
                given = given.__cuda_stream__()[1]
            with self._cuda:
                if hasattr(streams.Stream, "from_external"):
                    given = streams.Stream.from_external(_Handle(given))
                else:  # CuPy before it had that
                    given = streams.ExternalStream(given, self.ordinal)
        return Current(streams.runtime, self.ordinal, given)

    def synchronize(self) -> None:
        """Returns once all work of the current stream is done."""
        with self._cuda:
            self._cupy.cuda.get_current_stream().synchronize()

    def pinned(self, size: int) -> HostArray:
        """uint8 in host memory that the device copies from and to by itself."""
        if size >= _LARGE:
            found = self._registered(size)
            if found is not None:
                return found
        with self._cuda:
            return np.frombuffer(self._cupy.cuda.alloc_pinned_memory(max(1, size)), np.uint8, size)

    def _registered(self, size: int) -> HostArray | None:
        """Large pages, touched by all cores, that the driver then pins: a tenth of the time that it takes to make
        pinned memory. None where the driver does not do that."""
        block = Block(size)
        array = np.frombuffer(memoryview(block), np.uint8)
        clear(array).wait()
        if not self.pin(array.ctypes.data, size):
            return None
        weakref.finalize(block, self.unpin, array.ctypes.data)
        return array

    def pin(self, address: int, size: int) -> bool:
        """Pins memory of this process where it is, until unpin(address). False: the driver does not do that."""
        runtime = self._cupy.cuda.runtime
        with self._cuda:
            try:
                runtime.hostRegister(address, size, _PORTABLE)
            except runtime.CUDARuntimeError:
                return False
        return True

    def unpin(self, address: int) -> None:
        with contextlib.suppress(Exception):  # the context may be gone
            self._cupy.cuda.runtime.hostUnregister(address)

    def is_pinned(self, array: HostArray) -> bool:
        """Whether a host array lies in pinned memory."""
        with self._cuda:
            return int(self._cupy.cuda.runtime.pointerGetAttributes(array.ctypes.data).type) == 1

    def upload(self, target: DeviceArray, source: HostArray) -> None:
        """Host bytes to the beginning of an array; done when the stream is, for pinned bytes."""
        with self._cuda:
            target.data.copy_from_host_async(source.ctypes.data, source.nbytes)

    def download(self, target: HostArray, source: DeviceArray) -> None:
        """An array to the beginning of host memory; done when the stream is."""
        with self._cuda:
            source.data.copy_to_host_async(target.ctypes.data, source.nbytes)

    def adopt(self, source: Any) -> DeviceArray | None:
        """Memory of a device (__cuda_array_interface__ or DLPack) as an array on this one, without a copy where it is
        there; None if `source` is none."""
        cupy = self._cupy
        with self._cuda:
            if hasattr(source, "__cuda_array_interface__"):
                array = cupy.asarray(source)
            elif hasattr(source, "__dlpack_device__") and source.__dlpack_device__()[0] in _DLPACK_CUDA:
                array = cupy.from_dlpack(source)
            else:
                return None
            adopted: DeviceArray = cupy.ascontiguousarray(array if array.device.id == self.ordinal else array.copy())
            return adopted

    def moment(self) -> Wait:
        """An event: all work that the current stream has now is done."""
        with self._cuda:
            event = self._cupy.cuda.Event(disable_timing=True)
            event.record()
        return _Moment(event)

    def mark(self) -> Any:
        """A point in the current stream, for seconds_between."""
        with self._cuda:
            event = self._cupy.cuda.Event()
            event.record()
            return event

    def seconds_between(self, first: Any, second: Any) -> float:
        with self._cuda:
            second.synchronize()
            return float(self._cupy.cuda.get_elapsed_time(first, second)) / 1000

    def give_back(self) -> None:
        """Returns unused memory of the pool to the driver."""
        with self._cuda:
            self._cupy.get_default_memory_pool().free_all_blocks()

    @property
    def identity(self) -> str:
        """A name that no other device has, in this machine or elsewhere."""
        with self._cuda:
            facts = self._cupy.cuda.runtime.getDeviceProperties(self.ordinal)
            return f"{facts['name'].decode()} {bytes(facts.get('uuid', b'')).hex()}".strip()
