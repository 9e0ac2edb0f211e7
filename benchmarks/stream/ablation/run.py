"""The ablation: what each step from a naive streaming encoder to the shipped one brings.

The rows are those of the Go project in which the design began: gpt2's vocabulary, 4 KB chunks, one core, an op is a
text of 5 MiB. One thing differs: there, each chunk was encoded by itself, so ids at the borders could differ from the
whole text's; here every row streams exactly, and its ids are checked against tiktoken's before a time is printed.

ablation.c holds the rows; it is compiled here with the system's compiler and the flags of setup.py. A row's figure is
the median over disjoint texts, each of which all rows encode in turn.
"""

from __future__ import annotations

import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from typing import Any

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from common import MB, ROOT, check_ids, corpora, fresh_slices, main, markdown

from streamtok.bundled.mapped import load_packed

HERE = pathlib.Path(__file__).resolve().parent
CHUNK = 4096
OP_BYTES = 5 << 20
ROWS = {
    "naive": "naive streaming: linked list, heap, hash table",
    "lookup": "+ fastLookup: dense grid before the hash table",
    "scratch": "+ scratch reused, not zeroed",
    "output": "+ output buffer reused",
    "zerocopy": "+ zero-copy return",
    "shipped": "the shipped engine",
}


def compiler() -> list[str]:
    return shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[:1]


def build(folder: pathlib.Path) -> pathlib.Path:
    """Compiles ablation.c with the core; merge_reference.c comes in by #include."""
    program = folder / "ablation"
    sources = [str(path) for path in sorted((ROOT / "csrc").rglob("*.c")) if path.name != "merge_reference.c"]
    flags = ["-std=c11", "-O3", "-DNDEBUG", f"-I{ROOT / 'csrc'}", "-o", str(program)]
    subprocess.run([*compiler(), *flags, str(HERE / "ablation.c"), *sources], check=True)
    return program


def write_vocabulary(path: pathlib.Path) -> None:
    packed = load_packed("r50k_base")  # gpt2's tokens
    assert packed.splits is not None
    parts = [[len(packed.ranks)], list(packed.lengths), list(packed.ranks), list(packed.splits)]
    path.write_bytes(b"".join(np.array(part, np.uint32).tobytes() for part in parts) + packed.blob)


def run(program: pathlib.Path, texts: list[Any], folder: pathlib.Path, side: int) -> dict[str, list[list[int]]]:
    """The program's figures by row: [nanoseconds, bytes allocated, allocations, ids] for each text."""
    paths = []
    for i, piece in enumerate(texts):
        paths.append(folder / f"text{i}")
        paths[-1].write_bytes(piece.data)
    write_vocabulary(folder / "vocabulary")
    command = [program, folder / "vocabulary", str(CHUNK), str(side), folder / "ids", *paths]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    for i, piece in enumerate(texts):
        check_ids(np.fromfile(folder / f"ids.{i}", np.uint32), piece.expected("r50k_base"), "ablation")
    figures: dict[str, list[list[int]]] = {row: [] for row in ROWS}
    for line in answer.splitlines():
        row, _, *numbers = line.split()
        figures[row].append([int(number) for number in numbers])
    return figures


def summary(row: str, figures: dict[str, list[list[int]]], sizes: list[int]) -> dict[str, Any]:
    """Medians over the texts; the steps' factors text by text."""
    naive, own = figures["naive"], figures[row]
    before = figures[list(ROWS)[max(0, list(ROWS).index(row) - 1)]]
    return {
        "row": row,
        "ns": statistics.median(o[0] for o in own),
        "mb_s": statistics.median(size / MB / o[0] * 1e9 for size, o in zip(sizes, own)),
        "bytes": statistics.median(o[1] for o in own),
        "allocations": statistics.median(o[2] for o in own),
        "over_naive": statistics.median(n[0] / o[0] for n, o in zip(naive, own)),
        "over_previous": statistics.median(b[0] / o[0] for b, o in zip(before, own)),
    }


def measure(full: bool) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        return rows_of(build(folder), folder, full)


def rows_of(program: pathlib.Path, folder: pathlib.Path, full: bool) -> list[dict[str, Any]]:
    """side 0 is the core's default. The first text warms the buffers and is not counted."""
    rows = []
    for corpus in corpora():
        count, size = ((2, OP_BYTES) if corpus != "english" else (4, OP_BYTES)) if full else (4, MB)
        texts = fresh_slices(corpus, count, size)
        figures = run(program, texts, folder, 0)
        figures = {row: numbers[1:] for row, numbers in figures.items()}
        sizes = [len(piece.data) for piece in texts[1:]]
        rows += [{"corpus": corpus, "size": sizes[0], **summary(row, figures, sizes)} for row in ROWS]
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """One table a corpus."""
    head = ["row", "ns/op", "MB/s", "B/op", "allocs/op", "step", "over naive"]
    parts = []
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        own = [row for row in rows if row["corpus"] == corpus]
        cells = [
            [
                ROWS[row["row"]],
                f"{row['ns']:,.0f}",
                f"{row['mb_s']:.2f}",
                f"{row['bytes']:,.0f}",
                f"{row['allocations']:,.0f}",
                f"{row['over_previous']:.2f}x",
                f"{row['over_naive']:.2f}x",
            ]
            for row in own
        ]
        parts.append(f"{corpus}, an op is {own[0]['size']:,} bytes in {CHUNK}-byte chunks:\n\n" + markdown(head, cells))
    return "\n\n".join(parts)


if __name__ == "__main__":
    main(measure, table)
