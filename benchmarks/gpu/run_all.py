"""Runs all tables of the GPU engine, each in a process of its own, and writes down what they found.

    python benchmarks/gpu/run_all.py --corpus FOLDER --brief      about eight minutes
    python benchmarks/gpu/run_all.py --corpus FOLDER              the figures of docs/gpu.md, about half an hour
    python benchmarks/gpu/run_all.py --corpus FOLDER --only files one of them; the results of the others stay

Writes NAME.json and NAME.md into the folder --out (benchmarks/gpu/results), after each table; NAME is the card's. A
table that fails, or takes longer than --limit seconds, is noted with the rows that it had; the others go on. draw.py
makes plots of the JSON.
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

import shared

HERE = pathlib.Path(__file__).resolve().parent

# The most important first, in case time runs out.
TABLES = {
    "resident": "On the device",
    "latency": "Latency",
    "host_to_host": "Host to host",
    "files": "Files",
    "memory": "Device memory",
    "windows": "Windows of a book",
    "blockbpe": "Batches",
    "energy": "Energy",
    "regex_free": "Without a pattern",
    "several": "Several devices",
}


def command_of(name: str, path: pathlib.Path, options: argparse.Namespace) -> list[str]:
    command = [sys.executable, str(HERE / f"{name}.py"), "--corpus", str(options.corpus), "--json", str(path)]
    command += ["--brief"] if options.brief else []
    for option in ("encodings", "corpora"):
        if values := getattr(options, option):
            command += [f"--{option}", *values]
    return command


def run(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """The rows that a table's script has written; with an error if it failed."""
    with tempfile.TemporaryDirectory() as folder:
        path, why, start = pathlib.Path(folder, "kept.json"), None, time.perf_counter()
        try:
            status = subprocess.run(command_of(name, path, options), timeout=options.limit).returncode
            why = f"status {status}" if status else None
        except subprocess.TimeoutExpired:
            why = f"stopped after {options.limit} seconds"
        kept = (
            json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"rows": [], "table": "", "error": None}
        )
    kept["error"] = kept["error"] or why
    kept["brief"] = options.brief
    kept["seconds"] = round(time.perf_counter() - start, 1)
    if kept["rows"] and not kept["table"]:
        kept["table"] = table_of(name, kept["rows"])
    return kept


def table_of(name: str, rows: list[Any]) -> str:
    """The Markdown of the rows of a script that was stopped."""
    code = f"import json, sys, {name}; print({name}.table(json.load(sys.stdin)))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=HERE, input=json.dumps(rows), stdout=subprocess.PIPE, text=True
    )
    return done.stdout.strip()


def markdown(document: dict[str, Any]) -> str:
    parts = [f"# Figures of the GPU engine\n\n{document['machine']}."]
    for name, title in TABLES.items():
        kept = document["tables"].get(name)
        if kept is None:
            continue
        notes = ["*A brief run.*"] if kept["brief"] else []
        notes += [f"*Not whole: {kept['error']}.*"] if kept["error"] else []
        parts.append("\n\n".join([f"## {title} (`{name}.py`)", *notes, *([kept["table"]] if kept["table"] else [])]))
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=pathlib.Path, required=True, help="folder of english.txt, code.txt, ...")
    parser.add_argument("--brief", action="store_true")
    parser.add_argument("--only", nargs="+", choices=list(TABLES), default=list(TABLES), metavar="TABLE")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "results")
    parser.add_argument("--limit", type=float, help="seconds for a table; by default 100 with --brief, else 600")
    parser.add_argument("--encodings", nargs="+", help="instead of each table's own")
    parser.add_argument("--corpora", nargs="+", help="likewise")
    options = parser.parse_args()
    options.limit = options.limit or (100 if options.brief else 600)
    names = shared.devices()
    stem = re.sub(r"[^a-z0-9]+", "-", f"{len(names)} x {names[0]}".lower()).strip("-")
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / f"{stem}.json"
    document = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"tables": {}}
    document["machine"] = shared.machine()
    for name in options.only:
        print(f"== {name}", flush=True)
        kept = document["tables"][name] = run(name, options)
        path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        path.with_suffix(".md").write_text(markdown(document), encoding="utf-8")
        print(f"({kept['seconds']:.0f} s{', ' + kept['error'] if kept['error'] else ''})\n", flush=True)
    failed = [name for name in options.only if document["tables"][name]["error"]]
    print(f"wrote {path} and {path.with_suffix('.md')}")
    if failed:
        raise SystemExit(f"not whole: {', '.join(failed)}")


if __name__ == "__main__":
    main()
