"""The size from which a device is faster than the CPU, measured once a machine, device and family of patterns."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import pathlib
import platform
import random
import time
from collections.abc import Callable
from typing import Any

from .. import disk
from .._version import __version__
from ..disk import cache_folder

# A text must be done this much sooner on the device than on the CPU, by what was measured, to be sent there.
_MARGIN = 0.8

_SIZES = 1 << 14, 1 << 20

_MOST = 1 << 20  # bytes of the file that is read: a hundred for each device and family


@dataclasses.dataclass(frozen=True)
class Rates:
    """Seconds. cpu: a byte on one CPU thread. start: a call on the device. device: a byte there. The defaults are for a
    fast CPU and a slow bus, so that text goes to the device rather too late than too early."""

    cpu: float = 1 / 100e6
    start: float = 400e-6
    device: float = 1 / 4e9

    def device_is_faster(self, size: int, threads: int) -> bool:
        return self.start + self.device * size < _MARGIN * self.cpu * size / threads


def cache_file() -> pathlib.Path:
    """Where what was measured is kept. Raises FileNotFoundError where the user has no place for it."""
    return pathlib.Path(cache_folder.folder(), "devices.json")


def _kept() -> bytes:
    with disk.open_read(str(cache_file())) as file:
        return file.read_all(_MOST)


def key_of(identity: str, family: str) -> str:
    return f"{platform.node()} {identity} {family} {__version__}"


def read(key: str) -> Rates | None:
    """What was measured before; None where nothing was, or the file cannot be read."""
    try:
        return Rates(**{name: float(value) for name, value in json.loads(_kept())[key].items()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def write(key: str, rates: Rates) -> None:
    """Keeps what was measured. The file is replaced as a whole; where that cannot be, nothing is kept."""
    try:
        kept = json.loads(_kept())
        kept = kept if isinstance(kept, dict) else {}
    except (OSError, ValueError):
        kept = {}
    text = json.dumps({**kept, key: dataclasses.asdict(rates)}, indent=1)
    with contextlib.suppress(OSError):
        cache_file().parent.mkdir(parents=True, exist_ok=True)
        disk.replace(str(cache_file()), lambda file: file.write(text.encode()))


def sample(encoding: Any, size: int) -> bytes:
    """Text of words that the vocabulary has, none more frequent than others: the CPU's caches do not help much."""
    rng = random.Random(size)
    words = [token for token in encoding.token_byte_values() if token[:1] == b" " and token[1:].isalpha()]
    count = size // 6
    text = b"".join(rng.choices(words, k=count))
    while len(text) < size:
        text += b"".join(rng.choices(words, k=count))
    return text[:size]


def _best(call: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def measure(encoding: Any, on_device: Callable[[bytes], object]) -> Rates:
    """Takes about a tenth of a second."""
    small, large = (sample(encoding, size) for size in _SIZES)
    coder = encoding._coder
    cpu = _best(lambda: coder.encode_array(large, None, None), 3) / len(large)
    on_device(large)  # buffers are made
    short, long = _best(lambda: on_device(small), 7), _best(lambda: on_device(large), 5)
    device = max((long - short) / (len(large) - len(small)), 1e-12)
    return Rates(cpu, max(short - device * len(small), 1e-9), device)
