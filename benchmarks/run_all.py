"""Runs all benchmarks one after another, each in a process of its own, and writes their results to files.

    python benchmarks/run_all.py              briefly, some minutes: does everything work, roughly how fast is it
    python benchmarks/run_all.py --full       the figures of README.md, about half an hour on an idle machine
    python benchmarks/run_all.py --only grid  one of them; the results of the others stay

Writes results/<machine>.json, the plots beside it, and the tables of README.md.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from typing import Any

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "support"))

from common import machine

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = HERE / "results"
README = HERE / "README.md"

SUITE = {
    "encode": "encode/bench_encode.py",
    "stream": "stream/bench_stream.py",
    "short": "encode/bench_short.py",
    "batch": "encode/bench_batch.py",
    "threads": "encode/bench_threads.py",
    "decode": "encode/bench_decode.py",
    "ablation": "stream/ablation/run.py",
    "grid": "encode/bench_pair_grid.py",
    "units": "encode/bench_units.py",
    "memory": "files/bench_memory.py",
}


def slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def run(key: str, full: bool) -> tuple[Any, str]:
    """(result, table) of one benchmark."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "result.json")
        command = [sys.executable, HERE / SUITE[key], "--json", path, *(["--full"] if full else [])]
        table = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        return json.loads(path.read_text()), table


def machine_table(facts: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    lines = [
        f"{facts['cpu']}, {facts['cores']} cores, {facts['system']}.",
        f"{facts['python']}; {versions}.",
        f"Texts: {facts['texts']}.",
    ]
    return "\n".join(lines)


def image(stem: str, name: str, what: str) -> str:
    return f"![{what}](results/{stem}-{name}.svg)"


def fill(readme: str, key: str, content: str) -> str:
    """The text with `content` between the markers of `key`."""
    pattern = re.compile(rf"(<!-- begin {key} -->\n).*?(<!-- end {key} -->)", re.DOTALL)
    if not pattern.search(readme):
        raise SystemExit(f"README.md has no markers for {key}: <!-- begin {key} --> and <!-- end {key} -->")
    return pattern.sub(lambda found: f"{found[1]}{content.strip()}\n{found[2]}", readme)


def write_readme(document: dict[str, Any], stem: str) -> None:
    readme = fill(README.read_text(encoding="utf-8"), "machine", machine_table(document["machine"]))
    for key, table in document["tables"].items():
        note = "" if document["full"][key] else "*A brief run: expect such figures to waver by a fifth.*\n\n"
        readme = fill(readme, key, note + table)
    plots = {"stream": "throughput", "ablation": "ablation", "grid": "grid"}
    for key, name in plots.items():
        if (RESULTS / f"{stem}-{name}.svg").exists():
            readme = fill(readme, f"{key} plot", image(stem, name, name))
    README.write_text(readme, encoding="utf-8")


def draw(document: dict[str, Any], stem: str) -> None:
    try:
        from plots import draw_all
    except ImportError:
        print("no plots: matplotlib is not installed (pip install streamtok[bench])", file=sys.stderr)
        return
    draw_all(document["results"], RESULTS, stem)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="all of the text, more turns")
    parser.add_argument(
        "--only", nargs="+", choices=list(SUITE), default=list(SUITE), metavar="NAME", help=" ".join(SUITE)
    )
    options = parser.parse_args()
    facts = machine()
    stem = slug(facts["cpu"])
    path = RESULTS / f"{stem}.json"
    document: dict[str, Any] = {"machine": {}, "full": {}, "results": {}, "tables": {}}
    if path.exists():
        document = json.loads(path.read_text())
    document["machine"] = facts
    RESULTS.mkdir(exist_ok=True)
    failed = []
    for key in options.only:
        start = time.perf_counter()
        print(f"== {key}", flush=True)
        try:
            result, table = run(key, options.full)
        except subprocess.CalledProcessError as error:
            failed.append(key)  # if one benchmark fails, the figures of the others are kept
            print(f"{key} failed with status {error.returncode}", file=sys.stderr, flush=True)
            continue
        document["results"][key], document["tables"][key], document["full"][key] = result, table, options.full
        path.write_text(json.dumps(document, indent=1) + "\n")
        print(f"{table}\n({time.perf_counter() - start:.0f} s)\n", flush=True)
    draw(document, stem)
    write_readme(document, stem)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}; README.md keeps what it had of them")


if __name__ == "__main__":
    main()
