"""streamtok beside other tokenizers: measures all that are installed, and puts table and plot into the README.

    python benchmarks/peers.py run      check and time every encoding with every text, some minutes
    python benchmarks/peers.py table    rewrite the table of README.md
    python benchmarks/peers.py plot     draw docs/peers.svg, and show it above that table
    python benchmarks/peers.py one FILE --threads 1,2    one text of your own, batches too; writes nothing

The first writes results/peers-<machine>.json, the others read it. What counts, and how, is said in rivals/.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import sys
import textwrap
import time
from collections.abc import Iterator
from typing import Any

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "support"))

from common import CORPUS_FOLDER, CORPUS_NAMES, ENCODINGS, MB, ROOT, corpus_file, cpu_name, markdown
from common import machine as common_machine
from run_all import RESULTS, slug

README = ROOT / "README.md"
PLOT = ROOT / "docs" / "peers.svg"
BEGIN, END = "<!-- peers:begin -->", "<!-- peers:end -->"
SHOWN = "![MB/s of streamtok and of other tokenizers, by encoding and text](docs/peers.svg)"
OURS = "streamtok"

# A cell is one encoding with one text: {encoding, corpus, bytes, ids, checked_against, libraries}; a library has
# {exact, cold, warm} in MB/s, ours also `streamed`, a rival `ratio`: how many times faster ours is, slice by slice.
Cell = dict[str, Any]


# ---- run ----


def measure_all(files: list[pathlib.Path], encodings: list[str], megabytes: float) -> dict[str, Any]:
    """The document that is written: the machine, the versions and all cells."""
    from rivals import RIVALS, is_installed, measure

    import streamtok
    from streamtok.cli.sample import read_sample

    against = [name for name in RIVALS if is_installed(name)]
    cells, machine = [], {}
    for name in encodings:
        for path in files:
            start = time.perf_counter()
            sample = read_sample(path.name, path, int(megabytes * MB))
            figures = measure(sample, streamtok.get_encoding(name), against, [])
            cells.append(cell_of(figures, path.name.partition(".")[0]))
            machine = figures["machine"]
            report(cells[-1], time.perf_counter() - start)
    return {"machine": describe(machine), "versions": {OURS: machine[OURS], **machine["rivals"]}, "cells": cells}


def describe(machine: dict[str, Any]) -> dict[str, Any]:
    """The machine by the name that the other results have; nothing that changes from day to day."""
    known = common_machine()
    kept = {key: known[key] for key in ("cpu", "cores", "system", "python")}
    return kept | {"usable_cores": machine["usable_cores"]}


def cell_of(figures: dict[str, Any], corpus: str) -> Cell:
    """The cell in the figures of one text."""
    libraries: dict[str, Any] = {}
    for row in figures["rows"]:
        if row["mode"] == "one-shot":
            speeds = {kind: round(row[f"{kind}_mb_per_s"], 2) for kind in ("cold", "warm")}
            libraries[row["library"]] = {"exact": True, **speeds}
        else:  # only streamtok is streamed
            libraries[OURS]["streamed"] = round(row["warm_mb_per_s"], 2)
    for name, ratio in figures["rows"][0]["times_as_fast_as"].items():
        libraries[name]["ratio"] = round(ratio, 3)
    for refused in figures["refused"]:
        libraries[refused["library"]] = {"exact": is_exact(refused["reason"]), "reason": refused["reason"]}
    kept = {key: figures[key] for key in ("encoding", "bytes", "ids", "checked_against", "repeats")}
    return {"corpus": corpus, **kept, "libraries": libraries}


def is_exact(reason: str) -> bool | None:
    """What a refusal tells of a rival's ids: False: they differ; None: there were none to compare."""
    return False if reason.startswith(("ids differ", "gave other ids")) else None


def report(cell: Cell, seconds: float) -> None:
    """One line for the cell, and one for each rival that was not timed."""
    timed = {name: speed for name, speed in cell["libraries"].items() if "warm" in speed}
    line = ", ".join(f"{name} {speed['warm']:.0f}" for name, speed in timed.items())
    print(f"{cell['encoding']} {cell['corpus']}: {line} MB/s ({seconds:.0f} s)", flush=True)
    for name, speed in cell["libraries"].items():
        if "reason" in speed:
            print(f"  not timed: {name}: {speed['reason']}", flush=True)


# ---- table ----


def best_peer(cell: Cell) -> str | None:
    """The fastest rival whose ids are right, on warm text; None where there is none."""
    speeds = {name: speed["warm"] for name, speed in cell["libraries"].items() if name != OURS and "warm" in speed}
    return max(speeds, key=lambda name: speeds[name], default=None)


def table_rows(cells: list[Cell]) -> Iterator[list[str]]:
    for cell in cells:
        ours, name = cell["libraries"][OURS], best_peer(cell)
        compared = ["none", "-", "-"]
        if name is not None:
            peer = cell["libraries"][name]
            compared = [f"{name} {peer['warm']:.0f}", f"{peer['ratio']:.2f}x", f"{ours['cold'] / peer['cold']:.2f}x"]
        yield [cell["encoding"], cell["corpus"], f"{ours['warm']:.0f}", f"{ours['streamed']:.0f}", *compared]


def table(document: dict[str, Any]) -> str:
    """The table, and below it the machine, the versions, and who was left out."""
    head = ["encoding", "text", "streamtok", "`feed` of 4 KB", "best exact peer", "ratio", "cold ratio"]
    machine = document["machine"]
    versions = ", ".join(f"{name} {version or '?'}" for name, version in in_order(document["versions"]).items())
    facts = f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}; {machine['python']}; {versions}."
    notes = f"Ratios are medians, slice by slice. {facts}{left_out(document['cells'])}"
    below = textwrap.fill(notes, 120, break_on_hyphens=False, break_long_words=False)
    return f"{markdown(head, table_rows(document['cells']))}\n\n{below}"


def left_out(cells: list[Cell]) -> str:
    """A sentence on who is not among the peers of some cells; empty where all are in all."""
    found: dict[str, dict[str, None]] = {}
    for cell in cells:
        for name, speed in sorted(cell["libraries"].items()):
            if "warm" not in speed:
                why = "failed" if speed["exact"] is None else f"{cell['corpus']}, other ids"
                found.setdefault(name, {})[f"{cell['encoding']}: {why}"] = None
    whole = "; ".join(f"{name} ({', '.join(why)})" for name, why in found.items())
    return f" Not timed: {whole}." if whole else ""


def in_order(versions: dict[str, str | None]) -> dict[str, str | None]:
    """Ours first; a file with sorted keys does not keep that."""
    return {OURS: versions[OURS], **{name: version for name, version in sorted(versions.items()) if name != OURS}}


def fill(readme: str, content: str) -> str:
    """The README with `content` between the markers."""
    pattern = re.compile(f"({re.escape(BEGIN)}\n).*?({re.escape(END)})", re.DOTALL)
    if not pattern.search(readme):
        raise SystemExit(f"{README.name} has no place for the table: write {BEGIN} and {END} on lines of their own")
    return pattern.sub(lambda found: f"{found[1]}{content}\n{found[2]}", readme, count=1)


def show(readme: str) -> str:
    """The README with the plot right above the table; unchanged where it is shown already."""
    return readme if "](docs/peers.svg)" in readme else readme.replace(BEGIN, f"{SHOWN}\n\n{BEGIN}", 1)


# ---- the program ----


def run(options: argparse.Namespace) -> None:
    files = options.files or [path for name in CORPUS_NAMES if (path := corpus_file(name, options.corpus))]
    if not files:
        names = ", ".join(f"{name}.txt" for name in CORPUS_NAMES)
        raise SystemExit(f"{options.corpus} has none of {names} (or .txt.xz): name a folder with --corpus, or files")
    try:
        document = measure_all(files, options.encodings.split(","), options.mb)
    except (OSError, ValueError) as error:
        raise SystemExit(f"nothing was written: {error}") from None
    options.results.parent.mkdir(exist_ok=True)
    options.results.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"wrote {options.results}")


def one(options: argparse.Namespace) -> None:
    from rivals import RIVALS, is_installed, measure
    from rivals.report import print_report

    import streamtok
    from streamtok.cli.sample import read_sample

    against = [name for name in RIVALS if is_installed(name)]
    if options.against is not None:
        against = options.against.split(",")
        if wrong := [name for name in against if name not in RIVALS or not is_installed(name)]:
            raise SystemExit(f"{wrong[0]!r} is not installed here, or is none of {', '.join(RIVALS)}")
    threads = [int(number) for number in options.threads.split(",") if number]
    encoding = streamtok.get_encoding(options.encoding)
    try:
        print_report(measure(read_sample(options.file, options.file), encoding, against, threads))
    except (OSError, ValueError) as error:
        raise SystemExit(str(error)) from None


def read(options: argparse.Namespace) -> dict[str, Any]:
    try:
        document: dict[str, Any] = json.loads(options.results.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SystemExit(f"no {options.results}: make it with `peers.py run`, or name another with --results") from None
    return document


def write_table(options: argparse.Namespace) -> None:
    README.write_text(fill(README.read_text(encoding="utf-8"), table(read(options))), encoding="utf-8")


def draw(options: argparse.Namespace) -> None:
    document = read(options)
    try:
        from plots import peers
    except ImportError:
        raise SystemExit("the plot needs matplotlib: pip install 'streamtok[bench]'") from None
    peers(document["cells"], PLOT)
    README.write_text(show(README.read_text(encoding="utf-8")), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--results",
        type=pathlib.Path,
        default=RESULTS / f"peers-{slug(cpu_name())}.json",
        help="by default the file of this machine",
    )
    commands = parser.add_subparsers(required=True, metavar="run|table|plot|one")
    runner = commands.add_parser("run", help="measure")
    runner.add_argument("files", nargs="*", type=pathlib.Path, metavar="FILE", help="texts, instead of a folder's")
    runner.add_argument(
        "--corpus", type=pathlib.Path, default=CORPUS_FOLDER, metavar="FOLDER", help="with english, code, multilingual"
    )
    runner.add_argument("--encodings", default=",".join(ENCODINGS), metavar="NAME,...", help="default: %(default)s")
    runner.add_argument("--mb", type=float, default=6, help="of each text, from its beginning; default: %(default)s")
    runner.set_defaults(call=run)
    commands.add_parser("table", help="rewrite README.md").set_defaults(call=write_table)
    commands.add_parser("plot", help="draw docs/peers.svg").set_defaults(call=draw)
    single = commands.add_parser("one", help="one text of your own")
    single.add_argument("file", metavar="FILE")
    single.add_argument("--encoding", default="o200k_base", metavar="NAME", help="default: %(default)s")
    single.add_argument("--against", metavar="NAME,...", help="default: all that are installed")
    single.add_argument("--threads", default="", metavar="N,...", help="batches on so many threads, too")
    single.set_defaults(call=one)
    options = parser.parse_args()
    options.call(options)


if __name__ == "__main__":
    main()
