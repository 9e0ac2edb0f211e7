"""What the GPU's benchmarks share: texts, the check of ids, times, and the line that names the machine."""

from __future__ import annotations

import argparse
import os
import pathlib
import statistics
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import streamtok

ENCODINGS = ["r50k_base", "cl100k_base", "o200k_base"]
CORPORA = ["english", "code", "multilingual"]


def arguments(doc: str | None, **more: Any) -> argparse.Namespace:
    """--corpus FOLDER, --encodings, --corpora, and more options with their defaults."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=pathlib.Path, required=True, help="folder of english.txt, code.txt, ...")
    parser.add_argument("--encodings", nargs="+", default=ENCODINGS)
    parser.add_argument("--corpora", nargs="+", default=CORPORA)
    for name, default in more.items():
        is_list = isinstance(default, list)
        kind = type(default[0]) if is_list else type(default)
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, default=default, nargs="+" if is_list else None)
    return parser.parse_args()


def text_of(folder: pathlib.Path, name: str) -> bytes:
    return (folder / f"{name}.txt").read_bytes()


def stretch(data: bytes, start: int, size: int) -> bytes:
    """data[start : start + size] without characters that the two ends cut."""
    return data[start : start + size].decode("utf-8", "ignore").encode()


def repeated(data: bytes, size: int) -> bytes:
    """About `size` bytes of the text over and over. The GPU learns nothing from a text; the CPU's caches do."""
    return data * max(1, size // len(data))


def check(got: Any, want: Any, what: str) -> None:
    """Ends the program unless the ids are those of the CPU."""
    got, want = np.asarray(got), np.asarray(want)
    if len(got) != len(want) or not (got == want).all():
        both = min(len(got), len(want))
        first = int(np.argmax(np.append(got[:both] != want[:both], True)))
        raise SystemExit(f"{what}: ids differ, {len(got)} and {len(want)} of them, first at {first}")


def median_seconds(call: Callable[[], Any], repeats: int = 5, budget: float = 2.0) -> float:
    """The median of up to `repeats` calls after one that warms up; fewer of a call that takes long."""
    call()
    times: list[float] = []
    while len(times) < repeats and (not times or sum(times) < budget):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def machine() -> str:
    """The card, driver and versions that a table belongs to."""
    info = streamtok.info()
    cuda = info["cuda"]
    if "missing" in cuda:
        raise SystemExit(f"no CUDA device: {cuda['missing']}")
    cards = ", ".join(device["name"] for device in cuda["devices"])
    return (
        f"{cards}; driver for CUDA {cuda['driver']}, runtime {cuda['runtime']}, CuPy {cuda['cupy']}; "
        f"streamtok {info['streamtok']}, Python {info['python']}, SIMD tier {info['simd']}"
    )


def table(head: list[str], rows: Iterable[Iterable[Any]]) -> str:
    """Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" + " ---: |" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def in_units(size: int) -> str:
    for unit, name in ((1 << 20, "MB"), (1 << 10, "KB")):
        if size >= unit:
            return f"{size / unit:g} {name}"
    return f"{size} B"


def without_pattern(encoding: streamtok.Encoding) -> streamtok.Encoding:
    """The encoding without its split: that its ids are others is what is measured."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return encoding.without_pattern()


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def windows_of(encoding: Any, book: bytes, tokens: int) -> list[bytes]:
    """Disjoint stretches of the book, 16 at most, that have about so many tokens."""
    size = int(tokens * len(book) / encoding.count(book, disallowed_special=()))
    count = max(1, min(16, len(book) // size))
    return [stretch(book, i * (len(book) // count), size) for i in range(count)]


def median_ms(call: Callable[[Any], Any], texts: list[Any]) -> float:
    """Milliseconds of a call with one of the texts after another, which are about alike."""
    for text in texts[:2]:
        call(text)
    times = []
    for _ in range(max(1, 32 // len(texts))):
        for text in texts:
            start = time.perf_counter()
            call(text)
            times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def tiktoken_of(encoding: Any) -> Any:
    """tiktoken's encoding of the same vocabulary, or None where tiktoken is not installed."""
    try:
        import tiktoken
    except ImportError:
        return None
    return tiktoken.Encoding(
        encoding.name,
        pat_str=encoding._pat_str,
        mergeable_ranks=encoding._mergeable_ranks,
        special_tokens=encoding._special_tokens,
    )
