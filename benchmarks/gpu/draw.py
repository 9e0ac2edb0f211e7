"""The plots of docs/gpu.md: latency by size, and rate by corpus and encoding, from what run_all.py wrote; and others
that use a GPU, from what on_the_card.py wrote.

    python benchmarks/gpu/draw.py benchmarks/gpu/results/1-x-nvidia-h200.json
    python benchmarks/gpu/draw.py --card benchmarks/gpu/results/on-the-card-h200.json

Writes gpu-latency.svg and gpu-rate.svg, or gpu-card.svg, into --out, docs/ by default. Needs matplotlib, and no GPU.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))

import matplotlib  # noqa: E402
from plots import INK, LIBRARIES, LIGHT, ON_ANY_PAGE, save  # noqa: E402
from shared import in_units  # noqa: E402

plt = matplotlib.pyplot

OURS = LIBRARIES["streamtok"]
# What is ours is blue; a rival has the colour that it has in the project's other plot. All cores of the CPU go by the
# number of them: "CPU, 16 cores".
LINES = {
    "in a graph": (LIGHT, ":", "GPU alone, from a graph"),
    "to the device": (LIGHT, "-", "GPU, ids stay there"),
    "host to host": (OURS, "-", "GPU, host to host"),
    "CPU": (OURS, "--", "CPU core, one thread"),
    "CPU,": (OURS, ":", "CPU core, all cores"),
    "tiktoken": (LIBRARIES["tiktoken"], "-", "tiktoken"),
    "gigatoken": (LIBRARIES["gigatoken"], "-", "gigatoken"),
}


ON_THE_CARD = {
    "arrays": (OURS, "-", "streamtok, array"),
    "lists": (OURS, "--", "streamtok, list"),
    "toktier, lists": (LIBRARIES["tiktoken"], "--", "toktier, list"),
    "toktier, arrays": (LIBRARIES["tiktoken"], "-", "toktier, array"),
    "GPUTOK": (LIBRARIES["gigatoken"], "--", "GPUTOK, list"),
}


def line_of(name: str) -> tuple[str, str, str] | None:
    return LINES.get(name) or (LINES["CPU,"] if name.startswith("CPU,") else None)


def latency(rows: list[dict[str, Any]], path: pathlib.Path) -> None:
    """A panel for each encoding, English where there is a choice; both axes logarithmic."""
    corpus = "english" if any(row["corpus"] == "english" for row in rows) else rows[0]["corpus"]
    rows = [row for row in rows if row["corpus"] == corpus]
    encodings = list(dict.fromkeys(row["encoding"] for row in rows))
    figure, axes = plt.subplots(
        1, len(encodings), figsize=(max(3.4 * len(encodings), 7), 3.6), sharey=True, squeeze=False
    )
    for axis, encoding in zip(axes[0], encodings):
        own = [row for row in rows if row["encoding"] == encoding]
        for name in dict.fromkeys(name for row in own for name in row["us"]):
            line = line_of(name)
            points = [(row["size"], row["us"][name]) for row in own if row["us"].get(name)]
            if line and points:
                colour, dashes, label = line
                axis.plot(*zip(*points), color=colour, linestyle=dashes, linewidth=1.6, label=label)
        axis.set_xscale("log", base=4)
        axis.set_yscale("log")
        sizes = sorted({row["size"] for row in own})[::2]
        axis.set_xticks(sizes, [in_units(size) for size in sizes], fontsize=7)
        axis.minorticks_off()
        axis.grid(axis="y", color=INK, alpha=0.25, linewidth=0.6)
        axis.set_title(f"{encoding}, {corpus}")
    axes[0][0].set_ylabel("microseconds for a text")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    save(figure, path)


def rate(resident: list[dict[str, Any]], through: list[dict[str, Any]], path: pathlib.Path) -> None:
    """Bars by corpus and encoding: on the device, and from and to pinned memory with the chunks that suit it best."""
    pinned = {(row["encoding"], row["corpus"]): max(found[0] for found in row["chunks"].values()) for row in through}
    figure, axis = plt.subplots(figsize=(8, 3.2))
    places = range(len(resident))
    axis.bar([at - 0.2 for at in places], [row["gb_s"] for row in resident], 0.38, color=OURS, label="on the device")
    heights = [pinned.get((row["encoding"], row["corpus"]), 0) for row in resident]
    axis.bar([at + 0.2 for at in places], heights, 0.38, color=LIGHT, label="host to host, pinned memory")
    for at, row, height in zip(places, resident, heights):
        axis.text(at - 0.2, row["gb_s"], f"{row['gb_s']:.0f}", ha="center", va="bottom", fontsize=7)
        if height:
            axis.text(at + 0.2, height, f"{height:.0f}", ha="center", va="bottom", fontsize=7)
    axis.set_xticks(places, [f"{row['corpus']}\n{row['encoding']}" for row in resident], fontsize=7)
    axis.tick_params(axis="x", length=0)
    axis.set_ylabel("GB/s")
    axis.grid(axis="y", color=INK, alpha=0.25, linewidth=0.6)
    axis.set_axisbelow(True)
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    save(figure, path)


def bytes_of(text: str) -> int:
    """A size as shared.in_units() writes it."""
    number, unit = text.split()
    return int(float(number) * {"B": 1, "KB": 1 << 10, "MB": 1 << 20}[unit])


def card(rows: list[dict[str, Any]], path: pathlib.Path) -> None:
    """A panel for each vocabulary: texts of English by size, from and to the host."""
    rows = [row for row in rows if row["corpus"] == "english" and " " in row["text"] and "," not in row["text"]]
    encodings = list(dict.fromkeys(row["encoding"] for row in rows))
    figure, axes = plt.subplots(1, len(encodings), figsize=(4.2 * len(encodings), 3.6), sharey=True, squeeze=False)
    for axis, encoding in zip(axes[0], encodings):
        own = [row for row in rows if row["encoding"] == encoding]
        for name, (colour, dashes, label) in ON_THE_CARD.items():
            points = [(bytes_of(row["text"]), row["ms"][name]) for row in own if name in row["ms"]]
            if points:
                shares = [row["share"].get(name, 1) for row in own]
                some = "" if min(shares) == 1 else f" ({min(shares):.0%} to {max(shares):.0%} of the tokens)"
                axis.plot(*zip(*points), color=colour, linestyle=dashes, marker=".", linewidth=1.6, label=label + some)
        axis.set_xscale("log", base=4)
        axis.set_yscale("log")
        sizes = [bytes_of(row["text"]) for row in own]
        axis.set_xticks(sizes, [in_units(size) for size in sizes], fontsize=7)
        axis.minorticks_off()
        axis.grid(axis="y", color=INK, alpha=0.25, linewidth=0.6)
        axis.set_title(f"{encoding}, english")
        axis.legend(frameon=False, fontsize=7)
    axes[0][0].set_ylabel("milliseconds for a text")
    save(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path, nargs="?")
    parser.add_argument("--card", type=pathlib.Path, help="what on_the_card.py wrote with --json")
    parser.add_argument("--out", type=pathlib.Path, default=HERE.parent.parent / "docs")
    options = parser.parse_args()
    tables = json.loads(options.results.read_text(encoding="utf-8"))["tables"] if options.results else {}
    rows = {name: kept["rows"] for name, kept in tables.items()}
    with matplotlib.rc_context(ON_ANY_PAGE):
        if options.card:
            card(json.loads(options.card.read_text(encoding="utf-8"))["rows"], options.out / "gpu-card.svg")
        if rows.get("latency"):
            latency(rows["latency"], options.out / "gpu-latency.svg")
        if rows.get("resident"):
            rate(rows["resident"], rows.get("host_to_host", []), options.out / "gpu-rate.svg")


if __name__ == "__main__":
    main()
