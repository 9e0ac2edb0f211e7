"""Encodes one file in a process of its own and prints, as JSON, what it took: bench_memory.py runs it.

    python encode_file_peak.py ENCODING SOURCE TARGET

It imports nothing but streamtok, so that what it measures is what a program pays.
"""

import json
import pathlib
import resource
import sys
import time

import streamtok


def resident(key: str) -> int:
    """VmRSS (now) or VmHWM (peak) in bytes; where there is no /proc, the peak for both.

    Not ru_maxrss on Linux: that survives exec, so a child begins with its parent's peak.
    """
    try:
        status = pathlib.Path("/proc/self/status").read_text()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return int(status.split(f"{key}:")[1].split()[0]) * 1024


def reset_peak() -> None:
    """Loading needs more for a moment than it keeps: that is not to be measured. Ignored where not allowed."""
    try:
        pathlib.Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass


def main() -> None:
    name, source, target = sys.argv[1:]
    enc = streamtok.get_encoding(name)
    enc.encode_to_numpy("The first text, which imports numpy.")
    load_peak = resident("VmHWM")
    reset_peak()
    loaded, start = resident("VmRSS"), time.perf_counter()
    enc.encode_file(source, target, dtype="uint32")
    seconds = time.perf_counter() - start
    above = resident("VmHWM") - loaded
    print(json.dumps({"load_peak": load_peak, "loaded": loaded, "above": above, "seconds": seconds}))


if __name__ == "__main__":
    main()
