"""The plots of README.md, drawn from results/<machine>.json, and that of peers.py."""

from __future__ import annotations

import pathlib
from typing import Any

import matplotlib

matplotlib.use("svg")
# The same figures give the same file: no random ids, no date.
matplotlib.rcParams.update(
    {"svg.hashsalt": "streamtok", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
)

import matplotlib.pyplot as plt  # noqa: E402
import matplotlib.ticker  # noqa: E402

GREY, BLUE, LIGHT = "#9aa0a6", "#1a5fb4", "#78aeed"
BARS = {"tiktoken one-shot": GREY, "one-shot": BLUE, "feed 4 KB": LIGHT}
# Colours that show on white and on black, and differ for colour-blind readers too.
LIBRARIES = {
    "streamtok": "#1f6feb",
    "gigatoken": "#d55e00",
    "fastokens": "#009e73",
    "quicktok": "#b35fb0",
    "splintr": "#bf8700",
    "tiktoken": GREY,
}
INK = "#737a82"  # as far from white as from the black of dark pages
ON_ANY_PAGE = {
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}
LABELS = {"tiktoken one-shot": "tiktoken", "one-shot": "streamtok", "feed 4 KB": "streamtok, feed() of 4 KB"}


def save(figure: Any, path: pathlib.Path) -> None:
    figure.set_layout_engine("constrained")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def corpora_of(rows: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(row["corpus"] for row in rows))


def throughput(rows: list[dict[str, Any]], path: pathlib.Path) -> None:
    """Bars by corpus and encoding, beside tiktoken; the figure on top is the ratio."""
    names = corpora_of(rows)
    figure, axes = plt.subplots(1, len(names), figsize=(3.4 * len(names), 3.4), sharey=True, squeeze=False)
    for axis, name in zip(axes[0], names):
        own = [row for row in rows if row["corpus"] == name]
        for i, (contender, colour) in enumerate(BARS.items()):
            places = [at + (i - 1) * 0.27 for at in range(len(own))]
            heights = [row["speed"][contender]["warm"] for row in own]
            axis.bar(places, heights, 0.25, color=colour, label=LABELS[contender])
            if contender != "tiktoken one-shot":
                for place, height, row in zip(places, heights, own):
                    axis.text(
                        place, height, f"{row['over_tiktoken'][contender]:.1f}x", ha="center", va="bottom", fontsize=7
                    )
        axis.set_xticks(range(len(own)), [row["encoding"] for row in own])
        axis.set_title(name)
    axes[0][0].set_ylabel("MB/s, one core, fresh text")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=8)
    save(figure, path)


def ablation(rows: list[dict[str, Any]], path: pathlib.Path) -> None:
    """The steps from top to bottom, a panel a corpus."""
    names = corpora_of(rows)
    figure, axes = plt.subplots(1, len(names), figsize=(3.0 * len(names) + 1.2, 2.4), sharey=True, squeeze=False)
    steps = ["naive", "+ fastLookup", "+ scratch reuse", "+ output reuse", "+ zero-copy", "shipped"]
    for axis, name in zip(axes[0], names):
        own = [row for row in rows if row["corpus"] == name]
        speed = [row["mb_s"] for row in own]
        axis.barh(steps, speed, color=[GREY, *[LIGHT] * (len(own) - 2), BLUE])
        for i, row in enumerate(own):
            axis.text(row["mb_s"], i, f" {row['mb_s']:.1f}", va="center", fontsize=7)
        axis.set_title(name)
        axis.set_xlabel("MB/s")
        axis.margins(x=0.15)
    axes[0][0].invert_yaxis()
    save(figure, path)


def grid(result: dict[str, Any], path: pathlib.Path) -> None:
    """Time over the default side's: each text and encoding thin, their mean thick."""
    sides = [int(side) for side in result["mean"]]
    figure, axes = plt.subplots(1, 2, figsize=(7, 2.8), sharey=True)
    for axis, kind in zip(axes, ("cold", "warm")):
        for row in result["rows"]:
            axis.plot(sides, [row["sides"][str(side)][f"{kind}_ratio"] for side in sides], color=GREY, linewidth=0.6)
        axis.plot(sides, [result["mean"][str(side)][f"{kind}_ratio"] for side in sides], color=BLUE, marker="o")
        axis.axhline(1, color="black", linewidth=0.5)
        axis.set_xscale("log", base=2)
        axis.set_xticks(sides, [str(side) for side in sides])
        axis.minorticks_off()
        axis.set_title(kind)
        axis.set_xlabel("N")
    axes[0].set_ylabel(f"time over that of N={result['default']}")
    save(figure, path)


def peers(cells: list[dict[str, Any]], path: pathlib.Path) -> None:
    """Warm speed of every library, a group of bars for each encoding and text; no bar where ids were not right.

    Nothing is painted behind the bars, so that the page's own colour shows.
    """
    with matplotlib.rc_context(ON_ANY_PAGE):
        figure, axis = plt.subplots(figsize=(8, 3.4))
        names = [name for name in LIBRARIES if any("warm" in cell["libraries"].get(name, {}) for cell in cells)]
        width = 0.84 / len(names)
        for i, name in enumerate(names):
            speeds = [cell["libraries"].get(name, {}).get("warm", 0) for cell in cells]
            places = [at + (i - (len(names) - 1) / 2) * width for at in range(len(cells))]
            axis.bar(places, speeds, width * 0.92, color=LIBRARIES[name], label=name)
        axis.set_xticks(range(len(cells)), [f"{cell['corpus']}\n{cell['encoding']}" for cell in cells], fontsize=8)
        axis.tick_params(axis="x", length=0)
        axis.set_ylabel("MB/s, one core, fresh text")
        axis.margins(x=0.01)
        axis.grid(axis="y", color=INK, alpha=0.25, linewidth=0.6)
        axis.set_axisbelow(True)
        figure.legend(loc="outside upper center", ncols=len(names), frameon=False)
        save(figure, path)


# Steps of the ladder as its results name them -> as the plot does.
STEPS = {
    "step1_naive": "naive",
    "step2_incremental": "incremental",
    "step3_parallel": "parallel",
    "step4_index": "index",
    "step5_heap": "heap",
    "engine": "engine",
}


def short(value: int, is_text: bool) -> str:
    """256000 is "256 KB" of text; numbers of tokens stay as they are."""
    if not is_text:
        return f"{value:,}"
    return f"{value // 1_000_000} MB" if value >= 1_000_000 else f"{value // 1000} KB"


def name_ends(axis: Any, ends: list[tuple[float, float, str, str]]) -> None:
    """Names each line at its end; names that would lie on each other are moved apart, a fifth of a decade at least."""
    place = 0.0
    for x, y, label, colour in sorted(ends, key=lambda end: end[1]):
        place = max(y, place * 10**0.2)
        where = {"xytext": (6, 0), "textcoords": "offset points", "va": "center"}
        axis.annotate(label, (x, place), color=colour, fontsize=8, **where)


def most_common(values: list[int]) -> int:
    return max(set(values), key=values.count)


def ladder(rows: list[dict[str, Any]], path: pathlib.Path) -> None:
    """Seconds of each step over bytes of text, and over tokens, both logarithmic. The rows of cells are those that have
    the more frequent number of tokens, or bytes, in common."""
    colours = [*list(LIBRARIES.values())[1:], LIBRARIES["streamtok"]]
    with matplotlib.rc_context(ON_ANY_PAGE):
        figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True)
        for axis, key, fixed in ((axes[0], "bytes", "vocab_size"), (axes[1], "vocab_size", "bytes")):
            other = most_common([row[fixed] for row in rows])
            own = sorted((row for row in rows if row[fixed] == other), key=lambda row: row[key])
            ends = []
            for (step, label), colour in zip(STEPS.items(), colours):
                points = [(row[key], row["seconds"][step]) for row in own if step in row["seconds"]]
                axis.loglog(*zip(*points), marker="o", markersize=3, color=colour)
                ends.append((*points[-1], label, colour))
            name_ends(axis, ends)
            ticks = [row[key] for row in own]
            axis.set_xticks(ticks, [short(tick, key == "bytes") for tick in ticks])
            axis.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
            axis.set_xlim(ticks[0] * 0.9, ticks[-1] * (ticks[-1] / ticks[0]) ** 0.28)
            axis.grid(color=INK, alpha=0.25, linewidth=0.6)
            fixed_text = short(other, fixed == "bytes")
            axis.set_xlabel(f"text ({fixed_text} tokens)" if key == "bytes" else f"tokens ({fixed_text} of text)")
        axes[0].set_ylabel("seconds")
        save(figure, path)


# Key of the result -> (drawing, file name behind the machine's).
PLOTS = {"stream": (throughput, "throughput"), "ablation": (ablation, "ablation"), "grid": (grid, "grid")}


def draw_all(results: dict[str, Any], folder: pathlib.Path, stem: str) -> None:
    for key, (draw, name) in PLOTS.items():
        if key in results:
            draw(results[key], folder / f"{stem}-{name}.svg")
