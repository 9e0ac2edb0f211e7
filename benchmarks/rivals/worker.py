"""What runs in the fresh process of one entry: it encodes the slices that it is told, and answers how long that took.

A line of JSON in, a line of JSON out: first {contender, threads, vocabulary, path}, then {begin, end} for each slice.
"""

from __future__ import annotations

import gc
import json
import os
import pathlib
import sys
import time
from typing import Any, TextIO

from streamtok.cli.sample import joined

from .contenders import Entry, Vocabulary, contender
from .gate import digest, texts_for


def main() -> None:
    """Serve standard input until it ends."""
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a rival prints must not get between the answers
    try:
        _serve(channel)
    except Exception as error:
        _answer(channel, error=f"{type(error).__name__}: {error}")


def _stay_on_one_core() -> None:
    """Keeps the process on one core, because some libraries use two threads for one text: one splits, one encodes."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def _serve(channel: TextIO) -> None:
    first = json.loads(sys.stdin.readline())
    entry = Entry(first["contender"], first["threads"])
    if entry.threads is None:
        _stay_on_one_core()
    start = time.perf_counter()
    encode = contender(entry.name).load(Vocabulary(**first["vocabulary"]), entry.threads)
    _answer(channel, load=time.perf_counter() - start)
    with open(first["path"], "rb") as file:
        for line in sys.stdin:
            job = json.loads(line)
            file.seek(job["begin"])
            texts = texts_for(entry, file.read(job["end"] - job["begin"]))
            gc.collect()
            gc.disable()
            start = time.perf_counter()
            parts = encode(texts)
            seconds = time.perf_counter() - start
            gc.enable()
            peak = peak_resident()
            _answer(channel, seconds=seconds, peak=peak, digest=digest(joined(parts)))


def _answer(channel: TextIO, **fields: Any) -> None:
    channel.write(json.dumps(fields) + "\n")
    channel.flush()


def peak_resident() -> int | None:
    """The most memory, in bytes, that this process had resident so far; None where the system does not tell.

    Not ru_maxrss on Linux: that survives exec, so a child begins with its parent's peak.
    """
    try:
        return int(pathlib.Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024
    except (OSError, IndexError):
        pass
    try:
        import resource
    except ImportError:  # Windows
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
