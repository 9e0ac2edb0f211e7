"""What is installed, and what this machine has."""

from __future__ import annotations

import sys

from ._device import cuda_facts
from ._version import __version__
from .native import encode, library, pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def info() -> dict[str, Any]:
    """Versions, engines and the machine, as a dictionary that json can write.

    Returns:
        Versions of streamtok, Python, numpy and regex; the engines and scanners; `simd`, the instructions that the core
            uses; `tables`, as streamtok.tables.status() has them; `cuda`, the devices, or why there are none.
    """
    import platform
    from importlib import metadata

    from . import tables

    def version(package: str) -> str | None:
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            return None

    return {
        "streamtok": __version__,
        "python": sys.version.split()[0],
        "free_threaded": not getattr(sys, "_is_gil_enabled", lambda: True)(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "engines": list(encode.ENGINES),
        "split_families": list(pattern.ROWS),
        "simd": library.tier(),
        "tables": tables.status(),
        "cuda": cuda_facts(),
        "numpy": version("numpy"),
        "regex": version("regex"),
    }
