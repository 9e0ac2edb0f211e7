"""The ladder: five trainers in Python, each a step above the one before, and the engine of the package over them.

    python benchmarks/train/ladder/run.py                up to 256 KB and 1,000 tokens, a minute or two
    python benchmarks/train/ladder/run.py --full         up to 1 MB and 4,000 tokens, a quarter of an hour
    python benchmarks/train/ladder/run.py --full --json FILE --plot docs/ladder.svg

Two rows of cells: texts of all sizes with 1,000 tokens, and vocabularies of all sizes from 256 KB. All steps work on
the same text, and no time is told of a step whose merges are not those of the engine. The time is the best of several;
a step that took more than LIMIT seconds is not tried on anything larger. With --plot and a --json file that is there
already, nothing is measured: the plot is drawn of that file.
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


LABELS = ("naive", "incremental", "parallel", "index", "heap", "engine")


def short(value: int) -> str:
    """256000 is "256 KB"; numbers of tokens stay as they are."""
    if value >= 1_000_000:
        return f"{value // 1_000_000} MB"
    return f"{value // 1000} KB" if value >= min(TEXTS) else f"{value:,}"


def put_labels(axis: Any, ends: list[tuple[float, float, str, Any]]) -> None:
    """Names each line at its end; names that would lie on each other are moved apart, a fifth of a decade at least."""
    place = 0.0
    for x, y, label, colour in sorted(ends, key=lambda end: end[1]):
        place = max(y, place * 10**0.2)
        axis.annotate(
            label, (x, place), xytext=(6, 0), textcoords="offset points", va="center", color=colour, fontsize=8
        )


def draw(rows: list[dict[str, Any]], path: pathlib.Path) -> None:
    """Seconds over bytes of text, and over tokens, both logarithmic."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullLocator

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for axis, key, fixed, other in ((axes[0], "bytes", "vocab_size", SIZE), (axes[1], "vocab_size", "bytes", TEXT)):
        ends = []
        for number, name in enumerate([*STEPS, "engine"]):
            timed = [row for row in rows if row[fixed] == other and name in row["seconds"]]
            own = sorted((row[key], row["seconds"][name]) for row in timed)
            axis.loglog([x for x, _ in own], [y for _, y in own], marker="o", markersize=3, color=f"C{number}")
            ends.append((*own[-1], LABELS[number], f"C{number}"))
        put_labels(axis, ends)
        ticks = sorted({row[key] for row in rows if row[fixed] == other})
        axis.set_xticks(ticks, [short(tick) for tick in ticks])
        axis.xaxis.set_minor_locator(NullLocator())
        axis.set_xlim(ticks[0] * 0.9, ticks[-1] * (ticks[-1] / ticks[0]) ** 0.28)
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_xlabel(f"text ({SIZE:,} tokens)")
    axes[1].set_xlabel(f"tokens ({short(TEXT)} of text)")
    axes[0].set_ylabel("seconds")
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--rounds", type=int, default=3, help="times that all cells are measured (3)")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--plot", type=pathlib.Path)
    options = parser.parse_args()
    if options.plot and options.json and options.json.exists():
        draw(json.loads(options.json.read_text())["rows"], options.plot)
        return
    start = time.perf_counter()
    rows = measure(options.full, options.rounds)
    print(table(rows))
    print(f"{time.perf_counter() - start:.0f} s in all; {common.cpu_name()}", file=sys.stderr)
    if options.json:
        options.json.write_text(json.dumps({"machine": common.machine(), "rows": rows}, indent=1) + "\n")
    if options.plot:
        draw(rows, options.plot)


if __name__ == "__main__":
    main()
