"""device="auto": which of CPU and GPU takes a text, and what happens when the GPU fails."""

from __future__ import annotations

import collections
import time
import warnings
from _thread import allocate_lock
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from ..native.steps import holding, locked
from . import _calibration
from ._calibration import Load
from ._errors import DeviceError
from ._open import INSTALL, has_cupy
from .pipeline import GpuPipeline

if TYPE_CHECKING:
    from .._protocols import Encoding

_T = TypeVar("_T")

OPENING = 32 << 20
"""Bytes that the CPU encodes before a device is opened for the first time: importing CuPy and creating a context
takes as long, so that "auto" costs a short program nothing."""

_warned: set[tuple[type, bool]] = set()
_lock = allocate_lock()


def warn_once(error: DeviceError) -> None:
    """Warns once in a process for each kind of failure."""
    kind = type(error), error.lasting
    if not holding(_lock, _is_new, kind):
        return
    warnings.warn(
        f"device='auto' encodes on the CPU, with the same ids: {error}", RuntimeWarning, stacklevel=2, source=None
    )


def _is_new(kind: tuple[type, bool]) -> bool:
    is_new = kind not in _warned
    _warned.add(kind)
    return is_new


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


_UNSEEN, _SHORT = 7, 1e-4
"""Calls of fewer seconds are timed and decided anew once in eight: to do so takes a microsecond or two."""


class _Choice:
    """What is known of calls of one kind, and of about one size: seconds predicted on the device and on the CPU, the
    side that is in use, and for how many calls more it is without a question. pace: None where no pace sends such a
    call to the device."""

    __slots__ = "cpu", "device", "left", "on_device", "pace"

    def __init__(self, device: float, cpu: float, pace: Pace) -> None:
        self.device, self.cpu, self.on_device, self.left = device, cpu, False, 0
        self.pace = None if cpu * _MOST_PACE**2 < device else pace


def _about(count: int) -> int:
    """The count with its four highest bits alone: what is predicted for it differs by an eighth at most."""
    shift = count.bit_length() - 4
    return count >> shift << shift if shift > 0 else count


class Auto:
    """The choice for one encoding. A device that failed for good is not asked again."""

    def __init__(self, encoding: Encoding, family: str | None) -> None:
        self._encoding, self._family = encoding, family
        self._pipeline: GpuPipeline | None = None
        self._rates: _calibration.Rates | None = None
        self._paces: collections.defaultdict[tuple[str, int], Pace] = collections.defaultdict(Pace)
        self._choices: dict[tuple[str, int, int, int | None], _Choice] = {}
        self._seen, self._given_up = 0, family is None
        self._lock = allocate_lock()

    def is_for_cpu(self, kind: str, size: int, texts: int, threads: int | None) -> bool:
        """Whether the CPU is to take a call that is like the last ones, without a question."""
        choice = self._choices.get((kind, _about(size), _about(texts), threads))
        if choice is None:
            return self._given_up
        if choice.on_device:
            return False
        choice.left -= 1
        return choice.left >= 0 or choice.pace is None

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
        about = kind, _about(size), _about(texts), threads
        choice = self._choices.get(about) or self._new_choice(about, Load(kind, size, texts, threads))
        if choice is None or choice.pace is None:
            return on_cpu()
        is_looked_at = choice.left <= 0  # below it where threads count at once
        if is_looked_at:
            pace = choice.pace
            choice.on_device = choice.device * pace.device < choice.cpu * pace.cpu
            start = time.perf_counter()
        else:
            choice.left -= 1
        pipeline = self._pipeline if choice.on_device else None
        try:
            result = on_cpu() if pipeline is None else on_gpu(pipeline)
        except DeviceError as error:
            self.give_up(error)
            return on_cpu()
        if is_looked_at:
            took = time.perf_counter() - start
            pace.observe(pipeline is not None, took / (choice.cpu if pipeline is None else choice.device))
            choice.left = _UNSEEN if took < _SHORT else 0
        return result

    def _new_choice(self, about: tuple[str, int, int, int | None], load: Load) -> _Choice | None:
        """None where there is no device, or none yet, or no text."""
        predicted = self._predicted(load)
        if predicted is None or not load.size:
            return None
        choice = _Choice(*predicted, self._paces[load.kind, load.size.bit_length() // 2])
        self._choices[about] = choice
        return choice

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

    @locked
    def _open(self) -> bool:
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
