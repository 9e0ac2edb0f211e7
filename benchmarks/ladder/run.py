"""The ladder: five trainers in Python, each a step above the one before, and the engine of the package over them.

    python benchmarks/ladder/run.py                      up to 256 KB and 1,000 tokens, a minute or two
    python benchmarks/ladder/run.py --full               up to 1 MB and 5,000 tokens; the first step alone takes minutes
    python benchmarks/ladder/run.py --json FILE --plot FILE.svg

Each cell is timed once, all steps on the same text, and no time is told of a step whose merges are not those of the
engine. A step that took more than LIMIT seconds is not tried on anything larger, except for --full's last cell.
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

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parent.parent)]

import common  # noqa: E402

from streamtok.train import train  # noqa: E402
from streamtok.train.huggingface import merges_of  # noqa: E402

STEPS = ("step1_naive", "step2_incremental", "step3_parallel", "step4_index", "step5_heap")
TEXTS = (64_000, 128_000, 256_000, 512_000, 1_000_000)
SIZES = (500, 1000, 2000, 5000)
LIMIT = 60.0


def engine(text: str, merges: int) -> Any:
    warnings.simplefilter("ignore", UserWarning)
    return train(text.encode(), 256 + merges, threads=2)


def measure(full: bool) -> list[dict[str, Any]]:
    texts, sizes = (TEXTS, SIZES) if full else (TEXTS[:3], SIZES[:2])
    cells = [(size, sizes[-1]) for size in texts] + [(texts[-1], size) for size in sizes[:-1]]
    data = common.corpus("english")
    steps: dict[str, Callable[[str, int], Any]] = {name: importlib.import_module(name).learn for name in STEPS}
    slow: dict[str, float] = {}
    rows = []
    for n, size in sorted(cells):
        text = data[: common.border(data, n)].decode()
        engine(text, size - 256)
        spent, enc = common.wall_seconds(engine, text, size - 256)
        want = merges_of(enc._mergeable_ranks)
        row: dict[str, Any] = {"bytes": n, "vocab_size": size, "seconds": {"engine": spent}}
        for name, learn in steps.items():
            if n * size >= slow.get(name, float("inf")) and not (full and (n, size) == (texts[-1], sizes[-1])):
                continue
            spent, merges = common.wall_seconds(learn, text, len(want))  # a small text has fewer merges than asked for
            if merges != want:
                raise SystemExit(f"{name}: other merges than the engine's on {n} bytes, {size} tokens")
            row["seconds"][name] = spent
            if spent > LIMIT:
                slow[name] = n * size
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


def draw(rows: list[dict[str, Any]], path: pathlib.Path) -> None:
    """Seconds over bytes of text, and over tokens, both logarithmic."""
    from matplotlib.figure import Figure

    largest_text = max(row["bytes"] for row in rows)
    largest_size = max(row["vocab_size"] for row in rows)
    figure = Figure(figsize=(8, 3.4), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for axis, key, fixed, other in (
        (axes[0], "bytes", "vocab_size", largest_size),
        (axes[1], "vocab_size", "bytes", largest_text),
    ):
        for name in [*STEPS, "engine"]:
            timed = [row for row in rows if row[fixed] == other and name in row["seconds"]]
            own = sorted((row[key], row["seconds"][name]) for row in timed)
            axis.loglog([x for x, _ in own], [y for _, y in own], marker="o", markersize=3, label=name)
        axis.grid(alpha=0.3, which="both")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_xlabel(f"bytes of text ({largest_size:,} tokens)")
    axes[1].set_xlabel(f"tokens ({largest_text:,} bytes of text)")
    axes[0].set_ylabel("seconds")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=6, frameon=False, fontsize=8)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--plot", type=pathlib.Path)
    options = parser.parse_args()
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
