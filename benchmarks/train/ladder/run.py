"""The ladder: five trainers in Python, each a step above the one before, and the engine of the package over them.

    python benchmarks/train/ladder/run.py                up to 256 KB and 1,000 tokens, a minute or two
    python benchmarks/train/ladder/run.py --full               up to 1 MB and 4,000 tokens, a quarter of an hour
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
ENOUGH = 5.0
"""Seconds after which a call is not repeated, so that no cell takes longer than its first call and LIMIT."""
REPEATS = 5


def engine(text: str, merges: int) -> Any:
    warnings.simplefilter("ignore", UserWarning)
    return train(text.encode(), 256 + merges, threads=2)


def best_of(learn: Callable[[str, int], Any], text: str, count: int) -> tuple[float, Any]:
    """The least seconds of up to REPEATS calls, and what the last one gave."""
    times: list[float] = []
    result = None
    while len(times) < REPEATS and sum(times) < ENOUGH:
        spent, result = common.wall_seconds(learn, text, count)
        times.append(spent)
    return min(times), result


def cells(full: bool) -> list[tuple[int, int]]:
    """(bytes, tokens), from small to large."""
    texts, sizes = (TEXTS, SIZES) if full else (TEXTS[:4], SIZES[:2])
    return sorted({*((n, SIZE) for n in texts), *((TEXT, size) for size in sizes)})


def measure(full: bool) -> list[dict[str, Any]]:
    data = common.corpus("english")
    steps: dict[str, Callable[[str, int], Any]] = {name: importlib.import_module(name).learn for name in STEPS}
    slow: dict[str, tuple[int, int]] = {}
    rows = []
    for n, size in cells(full):
        text = data[: common.border(data, n)].decode()
        spent, enc = best_of(engine, text, size - 256)
        want = merges_of(enc._mergeable_ranks)
        row: dict[str, Any] = {"bytes": n, "vocab_size": size, "seconds": {"engine": spent}}
        for name, learn in steps.items():
            if name in slow and n >= slow[name][0] and size >= slow[name][1]:
                continue
            spent, merges = best_of(learn, text, len(want))  # a small text has fewer merges than asked for
            if merges != want:
                raise SystemExit(f"{name}: other merges than the engine's on {n} bytes, {size} tokens")
            row["seconds"][name] = spent
            if spent > LIMIT:
                slow[name] = n, size
            print(f"{n:>9,} bytes, {size:>5,} tokens  {name:<18} {spent:8.2f} s", file=sys.stderr, flush=True)
        rows.append(row)
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
    """256000 is "256 K"."""
    return (
        f"{value // 1_000_000} M" if value >= 1_000_000 else f"{value // 1000} K" if value >= 32_000 else f"{value:,}"
    )


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
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--plot", type=pathlib.Path)
    options = parser.parse_args()
    if options.plot and options.json and options.json.exists():
        draw(json.loads(options.json.read_text())["rows"], options.plot)
        return
    start = time.perf_counter()
    rows = measure(options.full)
    print(table(rows))
    print(f"{time.perf_counter() - start:.0f} s in all; {common.cpu_name()}", file=sys.stderr)
    if options.json:
        options.json.write_text(json.dumps({"machine": common.machine(), "rows": rows}, indent=1) + "\n")
    if options.plot:
        draw(rows, options.plot)


if __name__ == "__main__":
    main()
