"""Draws every plot of the project anew, from the figures that the benchmarks have written down.

    python benchmarks/draw.py

docs/*.svg and those of benchmarks/README.md. Nothing is measured. Needs matplotlib (pip install streamtok[bench]).
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
RESULTS, DOCS = HERE / "results", HERE.parent / "docs"
sys.path.append(str(HERE / "support"))

import plots  # noqa: E402

OTHERS = (
    [HERE / "gpu" / "draw.py", HERE / "gpu" / "results" / "1-x-nvidia-h200.json"],
    [HERE.parent / "tools" / "draw_rooms.py"],
)


def main() -> None:
    for path in sorted(RESULTS.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        if path.name.startswith("peers-"):
            plots.peers(document["cells"], DOCS / "peers.svg")
        elif path.name.startswith("ladder-"):
            plots.ladder(document["rows"], DOCS / "ladder.svg")
        elif not path.name.startswith("train-"):  # those have tables only
            plots.draw_all(document["results"], RESULTS, path.stem)
    for command in OTHERS:
        subprocess.run([sys.executable, *command], check=True)


if __name__ == "__main__":
    main()
