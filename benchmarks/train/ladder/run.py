"""The ladder: five trainers in Python, each a step above the one before, and the engine of the package over them.

    python benchmarks/train/ladder/run.py                up to 256 KB and 1,000 tokens, a minute or two
    python benchmarks/train/ladder/run.py --full         up to 1 MB and 4,000 tokens, a quarter of an hour
    python benchmarks/train/ladder/run.py --full --json FILE --plot docs/ladder.svg

Two rows of cells: texts of all sizes with 1,000 tokens, and vocabularies of all sizes from 256 KB. All steps work on
the same text, and a step whose merges differ from the engine's gets no time. The time is the best of several;
a step that took more than LIMIT seconds is not tried on anything larger. benchmarks/draw.py draws the plot from the
file in benchmarks/results.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pathlib
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "support"))

import common

from streamtok.train import train
from streamtok.train.huggingface import merges_of

STEPS = ("step1_naive", "step2_incremental", "step3_parallel", "step4_index", "step5_heap")
TEXTS = (32_000, 64_000, 128_000, 256_000, 512_000, 1_000_000)
SIZES = (500, 1000, 2000, 4000)
TEXT, SIZE = 256_000, 1000
"""What one row of cells has in common, and the other."""
LIMIT = 20.0
"""Seconds of a step's call after which it is not tried on anything larger."""


def engine(text: str, merges: int) -> Any:
    warnings.simplefilter("ignore", UserWarning)
    return train(text.encode(), 256 + merges, threads=2)


def cells(full: bool) -> list[tuple[int, int]]:
    """(bytes, tokens), from small to large."""
    texts, sizes = (TEXTS, SIZES) if full else (TEXTS[:4], SIZES[:2])
    return sorted({*((n, SIZE) for n in texts), *((TEXT, size) for size in sizes)})


Learn = Callable[[str, int], Any]


def time_cell(row: dict[str, Any], text: str, steps: dict[str, Learn], seconds: dict[str, float]) -> None:
    """Times the engine and the steps once; `seconds` keeps the least of each."""
    n, size = row["bytes"], row["vocab_size"]
    spent, enc = common.wall_seconds(engine, text, size - 256)
    seconds["engine"] = min(spent, seconds.get("engine", spent))
    want = merges_of(enc._mergeable_ranks)
    for name, learn in steps.items():
        spent, merges = common.wall_seconds(learn, text, len(want))  # a small text has fewer merges than asked for
        if merges != want:
            raise SystemExit(f"{name}: other merges than the engine's on {n} bytes, {size} tokens")
        seconds[name] = min(spent, seconds.get(name, spent))
        print(f"{n:>9,} bytes, {size:>5,} tokens  {name:<18} {spent:8.2f} s", file=sys.stderr, flush=True)


def measure(full: bool, rounds: int) -> list[dict[str, Any]]:
    """All cells in turns, several times: a slow minute of the machine is over when a cell's turn comes again."""
    data = common.corpus("english")
    steps: dict[str, Learn] = {name: importlib.import_module(name).learn for name in STEPS}
    rows = [{"bytes": n, "vocab_size": size, "seconds": {}} for n, size in cells(full)]
    for turn in range(rounds):
        slow: list[tuple[str, int, int]] = []
        for row in rows:
            n, size, seconds = row["bytes"], row["vocab_size"], row["seconds"]
            too_slow = {name for name, least_n, least_size in slow if n >= least_n and size >= least_size}
            own = {name: learn for name, learn in steps.items() if (name in seconds if turn else name not in too_slow)}
            time_cell(row, data[: common.border(data, n)].decode(), own, seconds)
            slow += [(name, n, size) for name, spent in seconds.items() if spent > LIMIT]
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    names = [*STEPS, "engine"]
    lines = []
    for row in rows:
        seconds = row["seconds"]
        cells = [f"{seconds[name]:.3f}" if name in seconds else "-" for name in names]
        first = seconds.get(STEPS[0])
        over = f"{first / seconds['engine']:,.0f}x" if first else "-"
        lines.append([f"{row['bytes']:,}", f"{row['vocab_size']:,}", *cells, over])
    return common.markdown(["bytes", "tokens", *(f"{name}, s" for name in names), "engine over step 1"], lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--rounds", type=int, default=3, help="times that all cells are measured (3)")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--plot", type=pathlib.Path)
    options = parser.parse_args()
    start = time.perf_counter()
    rows = measure(options.full, options.rounds)
    print(table(rows))
    print(f"{time.perf_counter() - start:.0f} s in all; {common.cpu_name()}", file=sys.stderr)
    if options.json:
        options.json.write_text(json.dumps({"machine": common.machine(), "rows": rows}, indent=1) + "\n")
    if options.plot:
        from plots import ladder

        ladder(rows, options.plot)


if __name__ == "__main__":
    main()
