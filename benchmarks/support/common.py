"""What the benchmarks share: texts, fresh slices of them, timers, the exactness gate, the machine's description.

No time is reported for ids that differ from tiktoken's. tiktoken needs no network for that: its Encoding is built from
the ranks that streamtok bundles, whose sha256 is the one that tiktoken expects of its downloads.
"""

from __future__ import annotations

import argparse
import functools
import gc
import importlib.metadata
import json
import lzma
import os
import pathlib
import platform
import statistics
import sys
import sysconfig
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import tiktoken

import streamtok
from streamtok.registry import ENCODING_CONSTRUCTORS

os.environ.setdefault("STREAMTOK_TABLES", "package")  # what every installation has; "found" measures those of all words

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENCODINGS = ("r50k_base", "cl100k_base", "o200k_base")
MB = 1_000_000
KB = 1_000

# A folder of english, code, multilingual .txt or .txt.xz; without it, the English and the code that Python brings.
CORPUS_FOLDER = pathlib.Path(os.environ.get("STREAMTOK_CORPUS", ROOT.parent / "shared" / "corpus"))
CORPUS_NAMES = ("english", "code", "multilingual")
STDLIB_LIMIT = 16 * MB


# ---- texts ----


def corpus_file(name: str, folder: pathlib.Path = CORPUS_FOLDER) -> pathlib.Path | None:
    paths = (folder / f"{name}.txt", folder / f"{name}.txt.xz")
    return next((path for path in paths if path.exists()), None)


def corpora() -> list[str]:
    """The names of the texts at hand."""
    return [name for name in CORPUS_NAMES if corpus_file(name)] or ["english", "code"]


def corpora_origin() -> str:
    return (
        f"{', '.join(corpora())} corpora"
        if corpus_file("english")
        else "pydoc_data/topics.py and the standard library's sources"
    )


@functools.lru_cache(maxsize=1)
def corpus(name: str) -> bytes:
    """A text as UTF-8. One is kept at a time: together they would crowd a small machine's memory."""
    path = corpus_file(name)
    if path:
        data = path.read_bytes()
        return lzma.decompress(data) if path.suffix == ".xz" else data
    return stdlib_english() if name == "english" else stdlib_sources()


def stdlib_english() -> bytes:
    from pydoc_data import topics

    return "\n\n".join(topics.topics[key] for key in sorted(topics.topics)).encode()


def stdlib_sources() -> bytes:
    """The standard library's own modules, in the order of their names."""
    parts: list[bytes] = []
    size = 0
    for path in sorted(pathlib.Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        if "site-packages" in path.parts or "pydoc_data" in path.parts or size >= STDLIB_LIMIT:
            continue
        text = path.read_bytes().decode("utf-8", "ignore").encode()
        parts.append(text)
        size += len(text)
    return b"\n".join(parts)


def border(data: bytes, at: int) -> int:
    """The first border between two characters at or behind `at`."""
    while at < len(data) and data[at] & 0xC0 == 0x80:
        at += 1
    return min(at, len(data))


class Slice:
    """A stretch of text, as str and as UTF-8; the ids that tiktoken gives are worked out once."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.text = data.decode()
        self.ids: dict[str, np.ndarray] = {}

    def expected(self, encoding: str) -> np.ndarray:
        if encoding not in self.ids:
            self.ids[encoding] = oracle(encoding).encode_to_numpy(self.text, disallowed_special=())
        return self.ids[encoding]


def fresh_slices(name: str, count: int, size: int) -> list[Slice]:
    """`count` disjoint slices of about `size` bytes, spread over the text: nothing is encoded twice, so that no cache
    is measured that has seen the very text before. Smaller ones where the text is short."""
    data = corpus(name)
    step = len(data) // count
    size = min(size, step)
    return [Slice(data[border(data, i * step) : border(data, i * step + size)]) for i in range(count)]


# ---- encodings, and the gate ----


def fresh_encoding(name: str) -> streamtok.Encoding:
    """A new Encoding, which shares its vocabulary, and so its cache of pieces, with no other."""
    return ENCODING_CONSTRUCTORS[name].build()  # type: ignore[attr-defined]


@functools.cache
def oracle(name: str) -> tiktoken.Encoding:
    ours = streamtok.get_encoding(name)
    return tiktoken.Encoding(
        name, pat_str=ours._pat_str, mergeable_ranks=ours._mergeable_ranks, special_tokens=ours._special_tokens
    )


def check_ids(ids: Any, expected: Any, what: str) -> None:
    """The gate: ends the program unless the ids are the expected ones."""
    ids, expected = np.asarray(ids), np.asarray(expected)
    if len(ids) == len(expected) and (ids == expected).all():
        return
    both = min(len(ids), len(expected))
    differing = np.nonzero(ids[:both] != expected[:both])[0]
    first = int(differing[0]) if len(differing) else both
    raise SystemExit(f"{what}: {len(ids)} ids, {len(expected)} expected; the first difference is at {first}")


# ---- timing ----


def cpu_seconds(call: Callable[..., Any], *args: Any) -> tuple[float, Any]:
    """CPU time of the process: on a shared machine it varies less than wall time."""
    start = time.process_time()
    result = call(*args)
    return time.process_time() - start, result


def wall_seconds(call: Callable[..., Any], *args: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    result = call(*args)
    return time.perf_counter() - start, result


def take_turns(
    contenders: dict[str, Callable[[Any], Any]],
    jobs: Iterable[Any],
    check: Callable[[str, Any, Any], None],
    timer: Callable[..., tuple[float, Any]] = cpu_seconds,
) -> dict[str, list[float]]:
    """Seconds of each contender for each job. All of them do a job before the next one is begun, and another begins
    each time: a drift of the machine's speed reaches all alike. check(name, job, result) runs outside of the time."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    for turn, job in enumerate(jobs):
        for i in range(len(names)):
            name = names[(turn + i) % len(names)]
            gc.collect()
            gc.disable()
            spent, result = timer(contenders[name], job)
            gc.enable()
            check(name, job, result)
            seconds[name].append(spent)
    return seconds


def ratio(base: list[float], ours: list[float]) -> float:
    """How many times faster: the median over the jobs, each compared with the same job."""
    return statistics.median(b / o for b, o in zip(base, ours))


def speeds(seconds: list[float], sizes: list[int]) -> dict[str, float]:
    """MB/s: 'cold' of the first job, 'warm' the median of the later ones."""
    rates = [size / MB / spent for size, spent in zip(sizes, seconds)]
    return {"cold": rates[0], "warm": statistics.median(rates[1:] or rates)}


def time_fresh(benchmark: Any, call: Callable[[Any], Any], jobs: list[Any]) -> None:
    """pytest-benchmark over jobs that are used once each. The first job is the caller's, for the gate."""
    left = iter(jobs[1:])
    benchmark.pedantic(call, setup=lambda: ((next(left),), {}), rounds=len(jobs) - 1, iterations=1)


# ---- the machine ----


def cpu_name() -> str:
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = dict(line.split(":", 1) for line in reversed(lines) if ":" in line)
    facts = {key.strip(): value.strip() for key, value in facts.items()}
    name = facts.get("model name", platform.machine()).replace("(R)", "").replace("(TM)", "")
    return f"{name}, family {facts['cpu family']} model {facts['model']}" if "model" in facts else name


def machine() -> dict[str, Any]:
    packages = ("streamtok", "tiktoken", "numpy")
    return {
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "versions": {name: importlib.metadata.version(name) for name in packages},
        "texts": corpora_origin(),
    }


def pin() -> None:
    """Keeps the process on one core, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


# ---- one benchmark as a program ----


def markdown(head: list[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table; text columns to the left, figures to the right. A column that begins with a letter is text."""
    cells = [[str(cell) for cell in row] for row in rows]
    align = [" --- " if cells and cells[0][i][:1].isalpha() else " ---: " for i in range(len(head))]
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join(align) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in cells])


def main(measure: Callable[[bool], Any], table: Callable[[Any], str], pinned: bool = True) -> None:
    """Measures, prints the table, and writes the result where run_all.py asked for it."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--full", action="store_true", help="all of the text, more turns; minutes instead of seconds")
    parser.add_argument("--json", type=pathlib.Path, help="also write the result there")
    options = parser.parse_args()
    if pinned:
        pin()
    result = measure(options.full)
    print(table(result))
    if options.json:
        options.json.write_text(json.dumps(result))
