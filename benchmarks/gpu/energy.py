"""Joules for a GB of text, from the card's own counter of energy, over a few seconds of resident encoding.

    python benchmarks/gpu/energy.py --corpus FOLDER [--seconds 4] [--mb 500]

Text lies on the device and ids stay there, as in resident.py. The counter is NVML's total energy consumption, in
millijoules since the driver was loaded; cards and virtual machines that do not have it say so, and there is no figure.
It is the card's energy alone, host and bus apart. "Idle" is what the card draws while nothing runs.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator
from typing import Any

import cupy
import rivals
import shared
from resident import checked, engine_of, on_device


class Meter:
    """The energy of the first CUDA device. Raises OSError where NVML or its counter is not there."""

    def __init__(self) -> None:
        self._nvml = ctypes.CDLL("libnvidia-ml.so.1")
        self._nvml.nvmlErrorString.restype = ctypes.c_char_p
        self._handle = ctypes.c_void_p()
        self._call("nvmlInit_v2")
        # CUDA numbers devices in an order of its own, so by the place on the bus.
        place = cupy.cuda.runtime.deviceGetPCIBusId(0)
        place = place if isinstance(place, bytes) else place.encode()
        self._call("nvmlDeviceGetHandleByPciBusId_v2", ctypes.c_char_p(place), ctypes.byref(self._handle))
        self.joules()

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._nvml, name)(*arguments)
        if status:
            raise OSError(f"{name}: {self._nvml.nvmlErrorString(status).decode()}")

    def joules(self) -> float:
        count = ctypes.c_ulonglong()
        self._call("nvmlDeviceGetTotalEnergyConsumption", self._handle, ctypes.byref(count))
        return count.value / 1e3


def idle_watts(meter: Meter, seconds: float) -> float:
    cupy.cuda.Device().synchronize()
    before, start = meter.joules(), time.perf_counter()
    time.sleep(seconds)
    return (meter.joules() - before) / (time.perf_counter() - start)


def measure(meter: Meter, engine: Any, text: Any, dtype: str, seconds: float) -> shared.Row:
    engine.encode(text, dtype)
    cupy.cuda.Device().synchronize()
    before, start, size = meter.joules(), time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        engine.encode(text, dtype)
        size += text.size
    cupy.cuda.Device().synchronize()
    spent, joules = time.perf_counter() - start, meter.joules() - before
    return {
        "joules_gb": round(joules / size * 1e9, 3),
        "watts": round(joules / spent, 1),
        "gb_s": round(size / spent / 1e9, 2),
    }


def rows(options: Any) -> Iterator[shared.Row]:
    try:
        meter = Meter()
    except OSError as error:
        rivals.say(f"no figures of energy: {error}")
        yield {"note": f"the driver does not tell the energy: {error}"}
        return
    idle, kept = round(idle_watts(meter, min(2.0, options.seconds)), 1), None
    for encoding, corpus, data in shared.cases(options):
        kept = kept if kept and kept[0] is encoding else (encoding, engine_of(encoding)[0])
        checked(kept[1], encoding, data, f"{encoding.name}, {corpus}")
        text = on_device(data, options.mb * 1_000_000)
        found = measure(meter, kept[1], text, shared.ids_dtype(encoding), options.seconds)
        yield {"encoding": encoding.name, "corpus": corpus, **found, "idle_watts": idle}


def table(found: list[shared.Row]) -> str:
    if "note" in found[0]:
        return str(found[0]["note"])
    cells = [
        [f"{row['encoding']}, {row['corpus']}", *(row[key] for key in ("joules_gb", "watts", "gb_s", "idle_watts"))]
        for row in found
    ]
    return shared.markdown(["energy of the card", "J/GB", "W", "GB/s", "W idle"], cells)


if __name__ == "__main__":
    shared.main(__doc__, rows, table, brief={"seconds": 1.5}, seconds=4.0, mb=500)
