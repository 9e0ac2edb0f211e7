"""How many cores this process may use: the one place where they are counted."""

from __future__ import annotations

import contextlib
import math
import os

_quota: float | None = None  # cores, inf for no bound; None: not read yet


def cores() -> int:
    """At least 1. The quota is read once a process."""
    global _quota
    if _quota is None:
        _quota = _read_quota()
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(count, math.ceil(_quota))) if _quota < count else count


def _read_quota(root: str = "/sys/fs/cgroup", own: str = "/proc/self/cgroup") -> float:
    """The least quota of this process's control groups and of those around them, in cores."""
    least = math.inf
    with contextlib.suppress(OSError, ValueError):
        groups = [line.split(":", 2) for line in _text_of(own).splitlines()]
        for _, controllers, path in groups:
            names = controllers.split(",")
            if controllers and "cpu" not in names:
                continue
            top = os.path.join(root, controllers) if controllers else root
            while True:
                least = min(least, _quota_of(top + path.rstrip("/"), is_second=not controllers))
                if path in ("", "/"):
                    break
                path = os.path.dirname(path)
    return least


def _quota_of(folder: str, is_second: bool) -> float:
    """What one group may use; inf where nothing bounds it. is_second: the files are those of the second version."""
    try:
        if is_second:
            quota, period = _text_of(f"{folder}/cpu.max").split()
        else:
            quota, period = _text_of(f"{folder}/cpu.cfs_quota_us"), _text_of(f"{folder}/cpu.cfs_period_us")
        share = int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):  # no such group seen from here, or "max"
        return math.inf
    return share if share > 0 else math.inf  # -1: no bound


def _text_of(path: str) -> str:
    """A file's text. Opened as text, the first file of an encoding would import a module. A process that another thread
    forks meanwhile keeps that module's lock for ever, and waits for it in its first call."""
    with open(path, "rb") as file:
        return os.fsdecode(file.read())
