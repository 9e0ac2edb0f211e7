"""The figures as a table or as JSON."""

from __future__ import annotations

import os
import pathlib
import platform
import statistics
import subprocess
import sys
from importlib import metadata
from textwrap import shorten
from typing import Any

from streamtok.cli.sample import WARM_PASSES

from .contenders import RIVALS, Entry
from .gate import Gate
from .timing import COLD_STARTS, Timing, ratio, speeds


def describe_machine(rivals: list[str]) -> dict[str, Any]:
    """The machine and the versions that the figures belong to."""
    import streamtok

    return {
        "cpu": _cpu_name(),
        "cores": os.cpu_count(),
        "usable_cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "rivals": {name: _version(RIVALS[name].package) for name in rivals},
        **streamtok.info(),
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _cpu_name() -> str:
    if sys.platform == "darwin":
        done = subprocess.run(["sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True)
        return done.stdout.strip() or platform.machine()
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def report(gate: Gate, timings: list[Timing], machine: dict[str, Any]) -> dict[str, Any]:
    """All figures, in the form in which `measure` returns them."""
    sample = gate.sample
    sizes = [end - begin for begin, end in sample.slices]
    by_entry = {timing.entry: timing for timing in timings}
    return {
        "file": sample.name,
        "encoding": gate.vocabulary.name,
        "bytes": sample.file_bytes,
        "is_whole_file": sample.is_whole,
        "repeats": sample.repeats,
        "cold_starts": COLD_STARTS,
        "warm_passes": WARM_PASSES,
        "ids": gate.count(),
        "slices": len(sample.slices),
        "ids_compared": gate.compared,
        "checked_against": gate.oracle_name,
        "machine": machine,
        "rows": [_row(timing, sizes, by_entry) for timing in timings],
        "refused": [{"library": e.library, "mode": e.mode, "reason": why} for e, why in gate.refused.items()],
    }


def _row(timing: Timing, sizes: list[int], by_entry: dict[Entry, Timing]) -> dict[str, Any]:
    entry = timing.entry
    cold, warm = speeds(timing, sizes)
    rivals = {name: by_entry.get(Entry(name, entry.threads)) for name in RIVALS} if entry.is_ours else {}
    return {
        "library": entry.library,
        "mode": entry.mode,
        "threads": entry.threads,
        "load_seconds": timing.load,
        "cold_mb_per_s": statistics.median(cold),
        "warm_mb_per_s": statistics.median(warm),
        "all_cold": cold,
        "all_warm": warm,
        "peak_bytes": timing.peak,
        "times_as_fast_as": {name: ratio(timing, rival) for name, rival in rivals.items() if rival is not None},
    }


def print_report(figures: dict[str, Any]) -> None:
    """On standard output."""
    machine = figures["machine"]
    part = "" if figures["is_whole_file"] else "the first "
    print(
        f"{figures['file']}: {part}{figures['bytes']:,} bytes, {figures['encoding']}; "
        f"{figures['ids']:,} ids. Compared: {figures['ids_compared']:,} ids of {figures['slices']} slices, the same as "
        f"those of {figures['checked_against']}"
    )
    print(f"{machine['cpu']}, {machine['usable_cores']} of {machine['cores']} cores; {machine['platform']}")
    versions = "".join(f", {name} {version or '?'}" for name, version in machine["rivals"].items())
    print(f"streamtok {machine['streamtok']} ({machine['simd']}), Python {machine['python']}{versions}\n")
    print(_table(figures["rows"]), end="\n\n")
    for refused in figures["refused"]:
        reason = shorten(refused["reason"], 200, placeholder=" ...")
        print(f"not timed: {refused['library']} ({refused['mode']}): {reason}")
    print(
        f"MB of UTF-8 per second, wall time, medians. cold: the first call in each of {figures['cold_starts']} fresh "
        f"processes; warm: {figures['warm_passes']} later calls in one; peak: resident memory up to the end of the "
        "first call."
    )
    if figures["repeats"] > 1:
        print(
            f"The file is too small: its text was repeated {figures['repeats']} times, so that warm figures are of "
            "text seen before, and flatter every cache."
        )


def _table(rows: list[dict[str, Any]]) -> str:
    from common import markdown

    rivals = list(dict.fromkeys(name for row in rows for name in row["times_as_fast_as"]))
    head = ["library", "call", "cold MB/s", "warm MB/s", "peak MB", *(f"/ {name}" for name in rivals)]
    cells = []
    for row in rows:
        ratios = row["times_as_fast_as"]
        peak = "?" if row["peak_bytes"] is None else f"{row['peak_bytes'] / 1e6:,.0f}"
        speeds = [f"{row[kind]:.1f}" for kind in ("cold_mb_per_s", "warm_mb_per_s")]
        compared = [f"{ratios[name]:.2f}x" if name in ratios else "" for name in rivals]
        cells.append([row["library"], row["mode"], *speeds, peak, *compared])
    return markdown(head, cells)
