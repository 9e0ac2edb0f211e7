"""The kernels of csrc/cuda on a machine without a GPU: compiled as C++ and run lane by lane (tests/gpu_emulated)."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import mmap
import os
import pathlib
import subprocess
import threading
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import oracle

from streamtok.gpu._device import PreparedLaunch, address_of
from streamtok.gpu._engine import Engine
from streamtok.gpu._job import COUNTS, JOB, place_in
from streamtok.gpu._shapes import ENCODING, LONG_TEXTS, Module, module_of
from streamtok.gpu._tables import Tables
from streamtok.native.launch import Driver, Launch
from streamtok.patterns.engine import splitter_of

PROGRAMS = {
    "streamtok.gpu": "run",
    "streamtok.gpu.longest": "run_longest",
    "streamtok.gpu.ids": "run_ids",
    "streamtok.train.gpu": "run_train",
}
"""What runs the kernels of a package here."""


@functools.cache
def library(family: str, own: tuple[str, ...] = (), kernels: str = "run") -> ctypes.CDLL:
    """The kernels of a family. own: definitions of the module. kernels: one of PROGRAMS, or "run_starts": those that
    split, which compile in a few seconds."""
    here = oracle.PROJECT / "tests" / "gpu_emulated"
    options = [*LONG_TEXTS.definitions(family), *own]
    # Compiled once for all processes of a run. Two processes may both compile it; then the later file stays.
    digest = zlib.crc32(repr(options).encode())
    path = pathlib.Path(os.environ["STREAMTOK_TESTS_RUN"], f"{kernels}-{family}-{digest:08x}.so")
    if path.exists():
        return ctypes.CDLL(str(path))
    command = [
        "g++",
        "-std=c++17",
        "-O1",
        # Lanes jump between stacks of their own. Where the system checks longjmp, that ends with SIGABRT.
        "-U_FORTIFY_SOURCE",
        "-DST_COMPILER_INLINES",
        "-fPIC",
        "-shared",
        "-fno-strict-aliasing",
        "-pthread",
        f"-I{oracle.PROJECT / 'csrc'}",
        *options,
    ]
    made = path.with_suffix(f".{os.getpid()}")
    subprocess.run([*command, here / f"{kernels}.cpp", "-o", made], check=True)
    made.replace(path)
    return ctypes.CDLL(str(path))


def at_the_end_of_memory(data: bytes) -> np.ndarray:
    """A copy at a multiple of 16 bytes. The memory behind its last 16 bytes is unreadable: reading it ends the
    process."""
    page, room = mmap.PAGESIZE, -(-len(data) // 16) * 16
    pages = -(-room // page) + 1
    memory = mmap.mmap(-1, pages * page)
    array = np.frombuffer(memory, np.uint8)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(array.ctypes.data + (pages - 1) * page), ctypes.c_size_t(page), 0):
        raise OSError(ctypes.get_errno(), "mprotect")
    start = (pages - 1) * page - room
    array[start : start + len(data)] = np.frombuffer(data, np.uint8)
    return array[start : start + len(data)]


def engine_on(device: EmulatedDevice, encoding: Any) -> Engine:
    """The engine of an encoding, with tables of its own."""
    tables = Tables(device, encoding._vocab, splitter_of(encoding._split))
    return Engine(device, encoding._coder.encode_piece, tables)


class DriverFunctions:
    """What Launch calls of a driver, over an emulated device, whose launches are done when they return.

    errors: what launches raised. late: they do not tell the host that they are done."""

    def __init__(self, device: EmulatedDevice) -> None:
        self.device, self.errors, self.kernels, self.late = device, [], [], 0
        self.current = threading.local()  # the contexts that a thread has pushed
        pointer, number = ctypes.c_void_p, ctypes.c_uint
        self._held = [
            ctypes.CFUNCTYPE(ctypes.c_int, pointer)(self.push),
            ctypes.CFUNCTYPE(ctypes.c_int, pointer)(self.pop),
            ctypes.CFUNCTYPE(ctypes.c_int, pointer, *[number] * 7, pointer, ctypes.POINTER(pointer))(self.launch),
            ctypes.CFUNCTYPE(ctypes.c_int, pointer)(self.query),
        ]
        self.driver = Driver(*map(address_of, self._held))

    def number_of(self, kernel: str) -> int:
        if kernel not in self.kernels:
            self.kernels.append(kernel)
        return self.kernels.index(kernel) + 1

    def push(self, context: int) -> int:
        self.current.depth = getattr(self.current, "depth", 0) + 1
        return 0 if context == 1 else 201  # CUDA_ERROR_INVALID_CONTEXT

    def pop(self, before: int) -> int:
        self.current.depth -= 1
        return 0

    def launch(self, kernel: int, *given: Any) -> int:
        if self.current.depth != 1:
            return 201
        blocks, threads, arguments = given[0], given[3], given[8]
        job = np.frombuffer((ctypes.c_uint8 * JOB.itemsize).from_address(arguments[0]), JOB)
        try:
            self.device.launch(self.kernels[kernel - 1], job, blocks, threads)
        except BaseException as error:
            self.errors.append(error)
            return 700  # CUDA_ERROR_ILLEGAL_ADDRESS
        if self.late:
            ctypes.c_uint32.from_address(int(job["report"][0]) + place_in(COUNTS, "done")).value = 0
        return 0

    def query(self, stream: int) -> int:
        return 600 if self.late else 0  # CUDA_ERROR_NOT_READY


class EmulatedDevice:
    """The methods of a device that streamtok.gpu calls (streamtok/gpu/_device.py), with numpy arrays as its memory."""

    def __init__(self, family: str, modules: tuple[Module, ...] = ENCODING, kernels: str | None = None):
        self._family, self._modules, self._kernels = family, modules, kernels

    def _library(self, kernel: str) -> ctypes.CDLL:
        module = module_of(self._modules, kernel)
        return library(self._family, module.own, self._kernels or PROGRAMS[module.package])

    def empty(self, count: int, dtype: object) -> np.ndarray:
        size = int(count) * np.dtype(dtype).itemsize
        memory = np.full(size + 64, 0xA5, np.uint8)  # so that reading it before it is written gives wrong results
        start = -memory.ctypes.data % 64
        return memory[start : start + size].view(dtype)

    def full(self, count: int, dtype: object, value: int) -> np.ndarray:
        array = self.empty(count, dtype)
        array[:] = value
        return array

    def put(self, array: np.ndarray) -> np.ndarray:
        copy = self.empty(len(array), array.dtype)
        copy[:] = array
        return copy

    def assign(self, target: np.ndarray, value: object) -> None:
        target[...] = value

    def concatenate(self, arrays: list[np.ndarray]) -> np.ndarray:
        return np.concatenate(arrays)

    def get(self, array: np.ndarray) -> np.ndarray:
        return array.copy()

    def pointer(self, array: np.ndarray) -> int:
        return array.ctypes.data

    def blocks_for(self, kernel: str, most: int) -> int:
        if kernel == "short":
            return 1  # blocks run one after the other here, so they cannot wait for each other
        if kernel == "learn":
            return min(most, 2)  # blocks of this kernel do run at once (run_train.cpp)
        return min(most, 3)  # few, so that each block has several shares of the work

    def launch(self, kernel: str, argument: np.ndarray, grid: int, block: int) -> None:
        getattr(self._library(kernel), f"run_{kernel}")(grid, block, ctypes.c_void_p(argument.ctypes.data))

    def prepared(self, kernel: str, job: np.ndarray, block: int, done: int) -> PreparedLaunch:
        launch = Launch(self._functions.driver, 1, self._functions.number_of(kernel), block, 0, job.ctypes.data, done)
        return PreparedLaunch(self, launch)

    @functools.cached_property
    def _functions(self) -> DriverFunctions:
        return DriverFunctions(self)

    def check(self, status: int) -> None:
        raise self._functions.errors.pop()

    def current_stream(self) -> int:
        return 0

    @contextlib.contextmanager
    def shuffled(self, seed: int) -> Iterator[None]:
        """Inside `with`, lanes of a warp run in a random order, and may pause before atomic operations."""
        libraries = [library(self._family, module.own, PROGRAMS[module.package]) for module in self._modules]
        for each in libraries:
            each.set_order(ctypes.c_uint64(seed))
        try:
            yield
        finally:
            for each in libraries:
                each.set_order(ctypes.c_uint64(0))

    def launch_builder(self, kernel: str, job: np.ndarray, *arguments: int) -> None:
        values = (ctypes.c_uint64(value) for value in arguments)
        getattr(self._library(kernel), f"run_{kernel}")(ctypes.c_void_p(job.ctypes.data), *values)

    def synchronize(self) -> None:
        pass

    def moment(self) -> EmulatedDevice:
        """Work is done when launch() returns, so the device itself serves as the moment."""
        return self

    def done(self) -> bool:
        return True

    def wait(self) -> None:
        pass

    def pinned(self, size: int) -> np.ndarray:
        return self.empty(size, np.uint8)

    def pin(self, address: int, size: int) -> bool:
        return True

    def unpin(self, address: int) -> None:
        pass
