"""Finds CuPy, the driver and the device, or says which of them is missing; keeps what was opened."""

from __future__ import annotations

import importlib.util
import os
import sys
from _thread import allocate_lock
from typing import TYPE_CHECKING, Any

from ..native.steps import holding
from ._errors import DeviceError, explained
from ._shapes import ENCODING, Module

if TYPE_CHECKING:
    from ._device import CudaDevice

LEAST_CAPABILITY = 75
"""Compute capability 7.5: the oldest that the kernels are compiled and tested for."""

INSTALL = "install streamtok[cuda12] for a driver of CUDA 12, streamtok[cuda13] for one of CUDA 13"

_opened: dict[tuple[str, int, str], CudaDevice] = {}
_lock = allocate_lock()
_process = os.getpid()


def has_cupy() -> bool:
    """Whether CuPy is installed. It is not imported for that: the import takes longer than encoding a megabyte."""
    return sys.modules.get("cupy") is not None or importlib.util.find_spec("cupy") is not None


def import_cupy() -> Any:
    try:
        import cupy
    except ImportError as error:
        raise DeviceError(f"CuPy cannot be imported ({error}): {INSTALL}") from error
    return cupy


def device_count(cupy: Any) -> int:
    """How many devices the driver shows; at least one."""
    runtime = cupy.cuda.runtime
    try:
        count = int(runtime.getDeviceCount())
    except Exception as error:
        raise DeviceError(_without_devices(runtime, error)) from error
    if not count:
        raise DeviceError("the CUDA driver shows no device: is CUDA_VISIBLE_DEVICES empty?")
    return count


def _without_devices(runtime: Any, error: Exception) -> str:
    try:
        driver, built_for = int(runtime.driverGetVersion()), int(runtime.runtimeGetVersion())
    except Exception:
        driver = built_for = 0
    if not driver:
        return f"no CUDA driver was found ({error}): install NVIDIA's driver, or write device='cpu'"
    if driver // 1000 < built_for // 1000:
        return (
            f"the CUDA driver is of version {_dotted(driver)} and this CuPy needs {built_for // 1000}: "
            f"update the driver, or {INSTALL}"
        )
    return f"the CUDA driver {_dotted(driver)} shows no device ({error})"


def _dotted(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"


def open_device(family: str, ordinal: int, modules: tuple[Module, ...] = ENCODING) -> CudaDevice:
    """The device for kernels of one family of patterns; one object a process.

    Raises DeviceError with the reason and what to do.
    """
    if os.getpid() != _process:
        raise DeviceError(
            "CUDA does not work in a process that was forked off one that may have used it: "
            "start workers with multiprocessing's method 'spawn' or 'forkserver'"
        )
    found: CudaDevice = holding(_lock, _open_once, family, ordinal, modules)
    return found


def _open_once(family: str, ordinal: int, modules: tuple[Module, ...]) -> CudaDevice:
    key = family, ordinal, modules[0].package
    if key not in _opened:
        _opened[key] = _open(family, ordinal, modules)
    return _opened[key]


def _open(family: str, ordinal: int, modules: tuple[Module, ...]) -> CudaDevice:
    cupy = import_cupy()
    count = device_count(cupy)
    if ordinal >= count:
        there = "is one device, 'cuda:0'" if count == 1 else f"are {count} devices, 'cuda:0' to 'cuda:{count - 1}'"
        raise DeviceError(f"there is no device 'cuda:{ordinal}': there {there}")
    with explained(f"cuda:{ordinal}"):
        capability = int(cupy.cuda.Device(ordinal).compute_capability)
        if capability < LEAST_CAPABILITY:
            raise DeviceError(
                f"cuda:{ordinal} has compute capability {capability / 10}; the kernels need "
                f"{LEAST_CAPABILITY / 10} (Turing) or newer"
            )
        from ._device import CudaDevice

        return CudaDevice(family, ordinal, modules)


def describe() -> dict[str, Any]:
    """The devices, the driver and CuPy as info() shows them; {"missing": why} without a usable device."""
    try:
        cupy = import_cupy()
        count = device_count(cupy)
    except DeviceError as error:
        return {"missing": str(error)}
    runtime = cupy.cuda.runtime
    devices = []
    for ordinal in range(count):
        facts = runtime.getDeviceProperties(ordinal)
        name = facts["name"]
        devices.append(
            {
                "name": name.decode() if isinstance(name, bytes) else str(name),
                "capability": f"{facts['major']}.{facts['minor']}",
                "memory": int(facts["totalGlobalMem"]),
            }
        )
    return {
        "devices": devices,
        "driver": _dotted(int(runtime.driverGetVersion())),
        "runtime": _dotted(int(runtime.runtimeGetVersion())),
        "cupy": str(cupy.__version__),
    }
