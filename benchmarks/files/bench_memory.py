"""Memory of encode_file on a large text, and the time from nothing to the first ids: import and load.

The peak is that of a process of its own (encode_file_peak.py), above what was resident when the vocabulary was loaded
and a first text encoded. --full takes 1 GB, else 64 MB.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from common import MB, Slice, check_ids, corpora, corpus, main, markdown, oracle

ENCODING = "o200k_base"
BLOCK = 1 << 20
CHECKED = 4 * MB  # of the beginning are compared with tiktoken's ids; all of it is decoded and compared with the source
LOADS = 15

HERE = pathlib.Path(__file__).resolve().parent

LOAD = """
import sys, time
start = time.perf_counter(), time.process_time()
import {library}
enc = {library}.get_encoding("{encoding}")
spent = time.perf_counter() - start[0], time.process_time() - start[1]
assert enc.encode("hello world") == [24912, 2375], "wrong ids"
print(*spent)
"""

# Where tiktoken would download from: its cache names a file by the sha1 of this.
SOURCE_URL = f"https://openaipublic.blob.core.windows.net/encodings/{ENCODING}.tiktoken"


# ---- memory ----


def write_text(path: pathlib.Path, size: int) -> None:
    """Lines of the corpora in a random order, drawn anew for each block: so the text does not repeat itself."""
    lines = [line for name in corpora() for line in corpus(name)[: 8 * MB].splitlines(keepends=True)]
    draw, written = random.Random(0), 0
    with path.open("wb") as file:
        while written < size:
            block = b"".join(draw.choices(lines, k=BLOCK // 60))
            file.write(block)
            written += len(block)


def check_file(source: pathlib.Path, target: pathlib.Path) -> None:
    """Compares the first ids with tiktoken's, and all of the decoded text. Ids at the cut may depend on later text."""
    with source.open("rb") as file:
        begin = file.read(CHECKED)
    expected = Slice(begin.decode("utf-8", "ignore").encode()).expected(ENCODING)[:-100]
    ids = np.memmap(target, np.uint32, "r")
    check_ids(ids[: len(expected)], expected, "encode_file")
    decode = oracle(ENCODING).decode_bytes
    with source.open("rb") as file:
        for at in range(0, len(ids), BLOCK):
            text = decode(ids[at : at + BLOCK].tolist())
            if file.read(len(text)) != text:
                raise SystemExit(f"encode_file: id {at} or one of the {BLOCK} behind it does not decode to the source")
        if file.read(1):
            raise SystemExit("encode_file: the end of the source is missing")


def file_memory(size: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as name:
        source, target = pathlib.Path(name, "text"), pathlib.Path(name, "ids")
        write_text(source, size)
        command = [sys.executable, HERE / "encode_file_peak.py", ENCODING, source, target]
        figures = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        check_file(source, target)
        return {**figures, "size": source.stat().st_size}


# ---- import and load ----


def lay_rank_file(folder: pathlib.Path) -> None:
    """o200k_base's rank file, written from the bundled ranks, where tiktoken looks before it downloads."""
    import base64

    ranks = oracle(ENCODING)._mergeable_ranks
    lines = b"".join(b"%b %d\n" % (base64.b64encode(token), rank) for token, rank in ranks.items())
    (folder / hashlib.sha1(SOURCE_URL.encode()).hexdigest()).write_bytes(lines)


def load_once(library: str, folder: str) -> list[float]:
    """Seconds of wall time and of processor time."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment["TIKTOKEN_CACHE_DIR"] = folder
    command = [sys.executable, "-c", LOAD.format(library=library, encoding=ENCODING)]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
    return [float(seconds) for seconds in answer.split()]


def load_times() -> dict[str, dict[str, float]]:
    """Seconds in fresh processes that take turns; the first of each, which may write bytecode, is not counted."""
    libraries = ("streamtok", "tiktoken")
    seconds: dict[str, list[list[float]]] = {library: [] for library in libraries}
    with tempfile.TemporaryDirectory() as folder:
        lay_rank_file(pathlib.Path(folder))
        for turn in range(LOADS + 1):
            for library in libraries:
                spent = load_once(library, folder)
                if turn:
                    seconds[library].append(spent)
    return {name: dict(zip(("wall", "cpu"), map(statistics.median, zip(*spent)))) for name, spent in seconds.items()}


def measure(full: bool) -> dict[str, Any]:
    return {"load": load_times(), "file": file_memory(1000 * MB if full else 64 * MB)}


def in_ms(seconds: dict[str, float]) -> str:
    return f"{seconds['wall'] * 1e3:.0f} ms ({seconds['cpu'] * 1e3:.0f} ms processor)"


def table(result: dict[str, Any]) -> str:
    file, load = result["file"], result["load"]
    rows = [
        [f"import and load {ENCODING}, median of {LOADS}", in_ms(load["streamtok"])],
        ["the same, tiktoken (rank file at hand)", in_ms(load["tiktoken"])],
        [f"encode_file of {file['size'] / MB:,.0f} MB, {ENCODING}", f"{file['size'] / MB / file['seconds']:.0f} MB/s"],
        ["resident memory with the vocabulary loaded", f"{file['loaded'] / MB:.0f} MB"],
        ["peak above that during encode_file", f"{file['above'] / MB:.1f} MB"],
    ]
    return markdown(["what", "figure"], rows)


if __name__ == "__main__":
    main(measure, table)
