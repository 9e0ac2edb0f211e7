"""device="auto": which of CPU and GPU takes a text, and what happens when the GPU fails."""

from __future__ import annotations

import collections
import itertools
import threading
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from . import _calibration
from ._calibration import Load
from ._errors import DeviceError
from ._open import INSTALL, has_cupy
from .pipeline import GpuPipeline

if TYPE_CHECKING:
    from ..protocols import Encoding

_T = TypeVar("_T")

OPENING = 32 << 20
"""Bytes that the CPU encodes before a device is opened for the first time: importing CuPy and creating a context
takes as long, so that "auto" costs a short program nothing."""

_warned: set[tuple[type, bool]] = set()
_lock = threading.Lock()


def warn_once(error: DeviceError) -> None:
    """Warns once in a process for each kind of failure."""
    kind = type(error), error.lasting
    with _lock:
        if kind in _warned:
            return
        _warned.add(kind)
    warnings.warn(
        f"device='auto' encodes on the CPU, with the same ids: {error}", RuntimeWarning, stacklevel=2, source=None
    )


_STEP, _FORGETS = 1.04, 1 / 64
"""By how much a call moves the pace of the side that it ran on: its median is found by steps, so that a call that waits
for fresh memory, or for another program, counts no more than any other. And what the other side's pace loses of its
distance from 1: a side that was too slow once is tried again."""

_MOST_PACE = 1.5


class Pace:
    """How the times of real calls of one kind and about one size compare with those predicted: texts differ, and so do
    hours of a machine."""

    def __init__(self) -> None:
        self.device = self.cpu = 1.0

    def observe(self, on_device: bool, ratio: float) -> None:
        """ratio: seconds of a call, by those predicted."""
        if on_device:
            self.device = _stepped(self.device, ratio)
            self.cpu += (1.0 - self.cpu) * _FORGETS
        else:
            self.cpu = _stepped(self.cpu, ratio)
            self.device += (1.0 - self.device) * _FORGETS


def _stepped(pace: float, ratio: float) -> float:
    return min(pace * _STEP, _MOST_PACE) if ratio > pace else max(pace / _STEP, 1 / _MOST_PACE)


class Auto:
    """The choice for one encoding. A device that failed for good is not asked again."""

    def __init__(self, encoding: Encoding, family: str | None) -> None:
        self._encoding, self._family = encoding, family
        self._pipeline: GpuPipeline | None = None
        self._rates: _calibration.Rates | None = None
        self._paces: collections.defaultdict[tuple[str, int], Pace] = collections.defaultdict(Pace)
        self._for_cpu: dict[tuple[str, int, int, int | None], bool] = {}
        self._seen, self._given_up = 0, family is None
        self._lock = threading.Lock()

    def choose(
        self,
        kind: str,
        size: int,
        texts: int,
        threads: int | None,
        on_gpu: Callable[[GpuPipeline], _T],
        on_cpu: Callable[[], _T],
    ) -> _T:
        """One of the two, and on_cpu() as well where the device fails. What it took counts for later calls."""
        about = kind, size.bit_length(), texts.bit_length(), threads
        if self._for_cpu.get(about):
            return on_cpu()
        load = Load(kind, size, texts, threads)
        predicted = self._predicted(load)
        if predicted is None or not size:
            return on_cpu()
        device, cpu = predicted
        if about not in self._for_cpu:
            self._for_cpu[about] = self._is_surely_for_cpu(load)
        if cpu * _MOST_PACE**2 < device:
            return on_cpu()
        pace = self._paces[kind, size.bit_length() // 2]
        pipeline = self._pipeline if device * pace.device < cpu * pace.cpu else None
        start = time.perf_counter()
        try:
            result = on_cpu() if pipeline is None else on_gpu(pipeline)
        except DeviceError as error:
            self.give_up(error)
            return on_cpu()
        took = time.perf_counter() - start
        pace.observe(pipeline is not None, took / (cpu if pipeline is None else device))
        return result

    def for_file(self, size: int, threads: int) -> GpuPipeline | None:
        """The pipeline for a file of so many bytes, if it is predicted to be faster than these threads."""
        predicted = self._predicted(Load("bytes", size, 1, threads, True))
        return self._pipeline if predicted is not None and predicted[0] < predicted[1] else None

    def _predicted(self, load: Load) -> tuple[float, float] | None:
        """Seconds on the device and on the CPU; None where there is no device, or none yet."""
        if self._given_up:
            return None
        if self._pipeline is None:
            self._seen += load.size
            if not has_cupy():
                self.give_up(DeviceError(f"CuPy is not installed: {INSTALL}"))
                return None
            if self._seen < OPENING or not self._open():
                return None
        assert self._rates is not None
        return self._rates.on_device(load), self._rates.on_cpu(load)

    def _is_surely_for_cpu(self, load: Load) -> bool:
        """Whether no pace sends this, or any load of about this size, to the device. Most short calls are such ones: to
        predict what they take would take as long as they do."""
        ends = (((1 << count.bit_length()) >> 1, (1 << count.bit_length()) - 1) for count in (load.size, load.texts))
        loads = [load._replace(size=size, texts=texts) for size, texts in itertools.product(*ends)]
        predicted = [self._predicted(each) for each in loads]
        return all(each is not None and each[1] * _MOST_PACE**2 < each[0] for each in predicted)

    def _open(self) -> bool:
        with self._lock:
            if self._pipeline is None and not self._given_up:
                try:
                    pipeline = GpuPipeline(self._encoding)
                    self._rates = rates_of(self._encoding, pipeline)
                    self._pipeline = pipeline
                except DeviceError as error:
                    self.give_up(error)
            return self._pipeline is not None

    def give_up(self, error: DeviceError) -> None:
        """Warns of a failure, and remembers it if it lasts."""
        if error.lasting:
            self._given_up, self._pipeline = True, None
        else:
            self._seen = 0
        warn_once(error)


def rates_of(encoding: Encoding, pipeline: GpuPipeline, anew: bool = False) -> _calibration.Rates:
    """What was measured here before, or measured now and kept."""
    key = _calibration.key_of(pipeline.identity, pipeline.family)
    rates = None if anew else _calibration.read(key)
    if rates is None:
        rates = _calibration.measure(encoding, pipeline.coder("strict"))
        _calibration.write(key, rates)
    return rates


def calibrate(encoding: Encoding, device: int | str | None = None) -> _calibration.Rates:
    """Measures the rates by which device="auto" chooses, and keeps them for this machine and device.

    Args:
        encoding: an Encoding that the kernels serve: its pattern has a table, or it has no pattern.
        device: a number, "cuda:N", or None for the first.

    Returns:
        The rates, as the choice uses them.

    Raises:
        DeviceError: the device cannot be used.
        ValueError: an encoding that no kernel serves.
    """
    return rates_of(encoding, GpuPipeline(encoding, device), anew=True)
