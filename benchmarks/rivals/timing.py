"""Times entries, each in a fresh process; they take turns slice by slice, so that a drift of the machine's speed
reaches all of them alike."""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from .contenders import Entry
from .gate import Gate

_START = "import sys; sys.path[:] = sys.argv[1:]; from rivals.worker import main; main()"

COLD_STARTS = 3  # a single one is too easily disturbed by other work on the machine


@dataclass
class Timing:
    """What one entry took."""

    entry: Entry
    load: float = 0.0  # seconds until the first call was possible
    cold: list[float] = field(default_factory=list)  # seconds of the first call, each in another process
    warm: list[float] = field(default_factory=list)  # seconds of the later slices
    peak: int | None = None  # bytes resident at most, up to the end of the first call


class WorkerError(Exception):
    """A process failed, or gave other ids than before."""


class _Worker:
    """The fresh process of one entry; ends with the context."""

    def __init__(self, entry: Entry, gate: Gate, path: str) -> None:
        self.peak: int | None = None  # bytes, up to the end of the last call
        self._slices, self._right = gate.sample.slices, gate.expected(entry)
        threads = str(entry.threads or 1)
        # Rust's pools take their size from here; a tokenizer that gets one text has one core, as we have.
        environment = {**os.environ, "RAYON_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            text=True,
        )
        self._first = {
            "contender": entry.name,
            "threads": entry.threads,
            "vocabulary": asdict(gate.vocabulary),
            "path": path,
        }

    def start(self) -> float:
        """Load; returns the seconds that took."""
        return float(self._ask(self._first)["load"])

    def encode(self, index: int) -> float:
        """Encode a slice; returns the seconds that took."""
        begin, end = self._slices[index]
        answer = self._ask({"begin": begin, "end": end})
        if tuple(answer["digest"]) != self._right[index]:
            raise WorkerError("gave other ids while it was timed than when it was checked")
        self.peak = answer["peak"]
        return float(answer["seconds"])

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise WorkerError(f"its process ended with status {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise WorkerError(f"failed: {answer['error']}")
        return answer

    def __enter__(self) -> _Worker:
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.kill()  # it has nothing to clean up
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate()


def time_entries(gate: Gate, entries: list[Entry], path: str) -> list[Timing]:
    """Time the entries over the slices of the sample, which lies in the file `path`.

    A rival that fails is moved to gate.refused; ours raises ValueError.
    """
    timings = {entry: Timing(entry) for entry in entries}
    with contextlib.ExitStack() as stack:
        workers = {}
        for entry in entries:  # one after the other, so that no cold call runs while another process starts
            for _ in range(COLD_STARTS - 1):
                with _Worker(entry, gate, path) as worker, _refusing(gate, entry):
                    _start(worker, timings[entry])
            workers[entry] = stack.enter_context(_Worker(entry, gate, path))
            with _refusing(gate, entry):
                _start(workers[entry], timings[entry])
        for turn in range(1, len(gate.sample.slices)):
            for entry in _in_turn(entries, turn):
                if entry not in gate.refused:
                    with _refusing(gate, entry):
                        timings[entry].warm.append(workers[entry].encode(turn))
    return [timings[entry] for entry in entries if entry not in gate.refused]


def _start(worker: _Worker, timing: Timing) -> None:
    timing.load = worker.start()
    timing.cold.append(worker.encode(0))
    timing.peak = worker.peak


def _in_turn(entries: list[Entry], turn: int) -> list[Entry]:
    """All entries, with a different one first in each turn."""
    first = turn % len(entries)
    return entries[first:] + entries[:first]


@contextlib.contextmanager
def _refusing(gate: Gate, entry: Entry) -> Iterator[None]:
    try:
        yield
    except WorkerError as error:
        if entry.is_ours:
            raise ValueError(f"{entry.library} ({entry.mode}): {error}") from None
        gate.refused[entry] = str(error)


def speeds(timing: Timing, sizes: list[int]) -> tuple[list[float], list[float]]:
    """MB/s of the cold calls, and of the warm ones; `sizes` are those of all slices."""
    cold = [sizes[0] / 1e6 / seconds for seconds in timing.cold]
    return cold, [size / 1e6 / seconds for size, seconds in zip(sizes[1:], timing.warm)]


def ratio(ours: Timing, rival: Timing) -> float:
    """How many times faster ours is: the median over the warm slices, each compared with the same slice."""
    return statistics.median(theirs / mine for mine, theirs in zip(ours.warm, rival.warm))
