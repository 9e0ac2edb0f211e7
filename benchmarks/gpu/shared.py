"""What the GPU's benchmarks share: texts, the check of ids, times, and how a table is measured, printed and kept.

A table's script has rows(options), which yields dictionaries that JSON can hold, and table(rows), which makes Markdown
of them; main() does the rest. Each row is kept as it comes, so that a run that fails or is stopped leaves what it had.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

import streamtok

os.environ.setdefault("STREAMTOK_TABLES", "package")  # what every installation has; "found" measures those of all words

ENCODINGS = ["r50k_base", "cl100k_base", "o200k_base"]
CORPORA = ["english", "code", "multilingual"]

Row = dict[str, Any]
OPTIONS: dict[str, Any] = {"disallowed_special": ()}
"""Special tokens in the text are ordinary text, in every call of every table."""


# ==== A table as a program ====


def arguments(doc: str | None, brief: dict[str, Any], full: dict[str, Any]) -> argparse.Namespace:
    """--corpus FOLDER, --encodings, --corpora, --brief, --json, and more options with their defaults: those of `full`,
    or with --brief those of `brief` where it has one."""
    full = {"encodings": ENCODINGS, "corpora": CORPORA, **full}
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=pathlib.Path, required=True, help="folder of english.txt, code.txt, ...")
    parser.add_argument("--brief", action="store_true", help="less of everything: half a minute instead of minutes")
    parser.add_argument("--json", type=pathlib.Path, help="also write the rows there, each as it comes")
    for name, default in full.items():
        sample = default[0] if isinstance(default, list) else default
        how: dict[str, Any] = {"action": "store_true"} if default is False else {"type": type(sample)}
        if isinstance(default, list):
            how["nargs"] = "+"
        parser.add_argument(f"--{name.replace('_', '-')}", default=argparse.SUPPRESS, **how)
    given = vars(parser.parse_args())
    defaults = full | brief if given["brief"] else full
    return argparse.Namespace(**(defaults | given))


def main(
    doc: str | None,
    rows: Callable[[argparse.Namespace], Iterable[Row]],
    table: Callable[[list[Row]], str],
    brief: dict[str, Any] | None = None,
    **full: Any,
) -> None:
    """Measures, prints the table, and writes --json; status 1 where something failed, with the rows so far."""
    options = arguments(doc, brief or {}, full)
    kept: Row = {"machine": machine(), "rows": [], "table": "", "error": None, "seconds": 0.0}
    start = time.perf_counter()
    try:
        for row in rows(options):
            kept["rows"].append(row)
            print(*(f"{name}: {value}" for name, value in row.items()), sep="; ", file=sys.stderr, flush=True)
            _write(options.json, kept)
    except Exception as error:
        traceback.print_exc()
        kept["error"] = f"{type(error).__name__}: {error}"
    kept["seconds"] = round(time.perf_counter() - start, 1)
    kept["table"] = table(kept["rows"]) if kept["rows"] else ""
    _write(options.json, kept)
    print(f"{kept['machine']}\n\n{kept['table']}", flush=True)
    if kept["error"]:
        raise SystemExit(f"failed: {kept['error']}")


def _write(path: pathlib.Path | None, kept: Row) -> None:
    if path is None:
        return
    new = path.with_name(path.name + ".new")  # a run that is killed leaves the old file whole
    new.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    new.replace(path)


def devices() -> list[str]:
    """The names of the CUDA devices. Ends the program where there is none."""
    cuda = streamtok.info()["cuda"]
    if "missing" in cuda:
        raise SystemExit(f"no CUDA device: {cuda['missing']}")
    return [device["name"] for device in cuda["devices"]]


def machine() -> str:
    """The cards, driver and versions that a table belongs to."""
    names, info = devices(), streamtok.info()
    cuda = info["cuda"]
    cards = ", ".join(f"{names.count(name)} x {name}" for name in dict.fromkeys(names))
    return (
        f"{cards}; driver for CUDA {cuda['driver']}, runtime {cuda['runtime']}, CuPy {cuda['cupy']}; {cores()} cores; "
        f"streamtok {info['streamtok']}, Python {info['python']}, SIMD tier {info['simd']}"
    )


def markdown(head: list[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table whose first column is text."""
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" + " ---: |" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def cell(value: float | None, form: str = ".1f") -> str:
    """A figure as text; empty if there is none."""
    return "" if value is None else format(value, form)


def names_in(rows: Iterable[Row], key: str) -> list[str]:
    """The keys of the dictionaries that rows have by that name, in the order in which they come."""
    return list(dict.fromkeys(name for row in rows for name in row.get(key, ())))


def in_units(size: float) -> str:
    for unit, name in ((1 << 20, "MB"), (1 << 10, "KB")):
        if size >= unit:
            return f"{size / unit:g} {name}"
    return f"{size:g} B"


# ==== Texts ====


def text_of(folder: pathlib.Path, name: str) -> bytes:
    return (folder / f"{name}.txt").read_bytes()


def cases(options: argparse.Namespace) -> Iterator[tuple[streamtok.Encoding, str, bytes]]:
    """(encoding, name of the corpus, its text) of all that was asked for."""
    for name in options.encodings:
        encoding = streamtok.get_encoding(name)
        for corpus in options.corpora:
            yield encoding, corpus, text_of(options.corpus, corpus)


def stretch(data: bytes, start: int, size: int) -> bytes:
    """data[start : start + size] without characters that the two ends cut."""
    return data[start : start + size].decode("utf-8", "ignore").encode()


def repeated(data: bytes, size: int) -> bytes:
    """About `size` bytes of the text over and over. The GPU learns nothing from a text; the CPU's caches do."""
    return data * max(1, size // len(data))


def windows_of(encoding: Any, book: bytes, tokens: int) -> list[bytes]:
    """Disjoint stretches of the book, 16 at most, that have about so many tokens."""
    size = int(tokens * len(book) / encoding.count(book, **OPTIONS))
    count = max(1, min(16, len(book) // size))
    return [stretch(book, i * (len(book) // count), size) for i in range(count)]


def documents_of(data: bytes, count: int, size: int) -> list[bytes]:
    """So many stretches of the text, spread over it; they overlap where there is too little of it."""
    step = max(1, (len(data) - size) // count)
    return [stretch(data, i * step, size) for i in range(count)]


def without_pattern(encoding: streamtok.Encoding) -> streamtok.Encoding:
    """The encoding without its pattern. Its ids differ, which is part of what is measured."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return encoding.without_pattern()


def ids_dtype(encoding: Any) -> str:
    """The narrowest dtype that holds all ids."""
    return "uint16" if encoding.max_token_value < 65536 else "uint32"


# ==== Ids ====


class IdsDiffer(Exception):
    """The ids are not those of the CPU, so nothing is timed."""


def check(got: Any, want: Any, what: str) -> None:
    """Raises IdsDiffer unless the ids are those of the CPU."""
    got, want = np.asarray(got.get() if hasattr(got, "get") else got), np.asarray(want)
    if len(got) != len(want) or not (got == want).all():
        both = min(len(got), len(want))
        first = int(np.argmax(np.append(got[:both] != want[:both], True)))
        raise IdsDiffer(f"{what}: ids differ, {len(got)} and {len(want)} of them, first at {first}")


# ==== Times ====


def median_seconds(call: Callable[[], Any], repeats: int = 5, budget: float = 2.0) -> float:
    """The median of up to `repeats` calls after one that warms up; fewer of a call that takes long."""
    return median_over(lambda _: call(), [None], repeats, budget, warm=1)


def median_over(call: Callable[[Any], Any], texts: list[Any], most: int, budget: float, warm: int = 2) -> float:
    """Seconds of a call with one of the texts after another, which are about alike: the median of up to `most` calls,
    fewer where they take more than the budget, after `warm` ones that are not counted."""
    for text in texts[:warm]:
        call(text)
    times: list[float] = []
    while len(times) < most and (not times or sum(times) < budget):
        text = texts[(warm + len(times)) % len(texts)]
        start = time.perf_counter()
        call(text)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def settled(call: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The call, and a wait for the device: for calls whose ids stay there."""
    import cupy

    def run(text: Any) -> Any:
        result = call(text)
        cupy.cuda.get_current_stream().synchronize()
        return result

    return run


# ==== Allocations ====


class Allocations:
    """Counts, inside `with`, what CuPy is asked for, on all threads, and the time that goes into it.

    pool: requests for device memory, which the pool answers from what it has; pinned: likewise of pinned memory;
    driver: bytes by which the pool grew, that is what was taken from the driver; seconds: in both kinds of requests.
    """

    def __enter__(self) -> Allocations:
        import cupy

        self._cupy = cupy
        self.pool = self.pinned = 0
        self.seconds = 0.0
        self._pool, self._pinned_pool = cupy.get_default_memory_pool(), cupy.get_default_pinned_memory_pool()
        self._before = self._pool.total_bytes()
        self.driver = 0
        cupy.cuda.set_allocator(self._malloc)
        cupy.cuda.set_pinned_memory_allocator(self._malloc_pinned)
        return self

    def __exit__(self, *error: object) -> None:
        self._cupy.cuda.set_allocator(self._pool.malloc)
        self._cupy.cuda.set_pinned_memory_allocator(self._pinned_pool.malloc)
        self.driver = self._pool.total_bytes() - self._before

    def _malloc(self, size: int) -> Any:
        self.pool += 1
        return self._timed(self._pool.malloc, size)

    def _malloc_pinned(self, size: int) -> Any:
        self.pinned += 1
        return self._timed(self._pinned_pool.malloc, size)

    def _timed(self, malloc: Callable[[int], Any], size: int) -> Any:
        start = time.perf_counter()
        memory = malloc(size)
        self.seconds += time.perf_counter() - start
        return memory


def allocations_of(call: Callable[[Any], Any], texts: list[Any]) -> Row:
    """What steady calls allocate, one with each text: requests a call, bytes from the driver, share of the time."""
    start = time.perf_counter()
    with Allocations() as counted:
        for text in texts:
            call(text)
    spent = time.perf_counter() - start
    return {
        "pool": counted.pool / len(texts),
        "pinned": counted.pinned / len(texts),
        "driver": counted.driver,
        "share": counted.seconds / spent,
    }
