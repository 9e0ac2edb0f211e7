"""device="auto": which of CPU and GPU takes a text, and what happens when the GPU fails."""

from __future__ import annotations

import threading
import warnings
from typing import TYPE_CHECKING

from ..batch import threads_for
from . import _calibration
from ._errors import DeviceError
from ._open import INSTALL, has_cupy
from .pipeline import GpuPipeline

if TYPE_CHECKING:
    from ..protocols import Encoding

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


class Auto:
    """The choice for one encoding. A device that failed for good is not asked again."""

    def __init__(self, encoding: Encoding, family: str | None) -> None:
        self._encoding, self._family = encoding, family
        self._pipeline: GpuPipeline | None = None
        self._rates = _calibration.Rates()
        self._seen, self._given_up = 0, family is None
        self._lock = threading.Lock()

    def pipeline_for(self, size: int, num_threads: int | None) -> GpuPipeline | None:
        """The pipeline, if a text of `size` bytes is encoded faster there; otherwise None."""
        if self._given_up:
            return None
        if self._pipeline is None:
            self._seen += size
            if not has_cupy():
                self.give_up(DeviceError(f"CuPy is not installed: {INSTALL}"))
                return None
            if self._seen < OPENING or not self._open():
                return None
        faster = self._rates.device_is_faster(size, threads_for(num_threads))
        return self._pipeline if faster else None

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
        coder = pipeline.coder("strict")
        rates = _calibration.measure(encoding, lambda text: coder.encode_array(text, None, None))
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
