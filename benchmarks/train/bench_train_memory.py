"""Peak memory of training on much text, with and without a bound, and how time grows with text and vocabulary.

    python benchmarks/train/bench_train_memory.py --mb 1000 --folder /tmp/big  makes the text there once, then measures
    python benchmarks/train/bench_train_memory.py --mb 200 --limits 0,256

The text is made from the corpora: their paragraphs are shuffled, again and again, and in every copy one word in about
40 has three letters put in, at random. So each megabyte brings new words, as real text does, and the number of distinct
pieces keeps growing.

Each run is a process of its own that imports streamtok and trains; the peak is what the system says of that process,
the interpreter and numpy included. All runs have to give the same merges.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import random
import subprocess
import sys
from collections.abc import Iterator

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import common

LETTERS = b"etaoinshrdlucmfwypvbgk"
PER_WORD = 200  # bytes of text for each word that is altered: some 40 words


def make_text(path: pathlib.Path, size: int) -> None:
    rng = random.Random(2026)
    paragraphs = [
        part + b"\n\n" for name in common.corpora() for part in common.corpus(name).split(b"\n\n") if part.strip()
    ]
    with open(path, "wb") as file:
        file.writelines(altered_paragraphs(paragraphs, size, rng))


def altered_paragraphs(paragraphs: list[bytes], size: int, rng: random.Random) -> Iterator[bytes]:
    """Paragraphs of `size` bytes of text, or a little more: all of them, shuffled, again and again."""
    written = at = 0
    while written < size:
        rng.shuffle(paragraphs)
        for paragraph in paragraphs:
            if written >= size:
                break
            altered, at = alter(paragraph, at, rng)
            written += len(altered)
            yield altered


def alter(paragraph: bytes, at: int, rng: random.Random) -> tuple[bytes, int]:
    """Three letters put in front of the last letter of the next word behind `at`, and so on, PER_WORD bytes apart on
    average. Returns how far into the text behind this paragraph the next one is as well."""
    altered = bytearray(paragraph)
    while at < len(altered):
        end = altered.find(b" ", at)
        if end < 0:
            break
        if altered[end - 1 : end].isalpha():  # ASCII, so no character is broken
            altered[end - 1 : end - 1] = bytes(rng.choices(LETTERS, k=3))
        at = end + 1 + rng.randrange(2 * PER_WORD)
    return bytes(altered), max(at - len(altered), 0)


CHILD = """
import hashlib, json, sys, time
import encode_file_peak as peak
from streamtok.train import train
path, size, limit, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
stages = {}
def progress(at):
    stages[at.stage] = at.seconds
start = time.perf_counter()
enc = train(path, size, max_memory=limit or None, threads=threads, progress=progress)
seconds = time.perf_counter() - start
digest = hashlib.sha256(b"".join(b"%d:%b" % (len(token), token) for token in enc._mergeable_ranks)).hexdigest()
print(json.dumps({"peak": peak.resident("VmHWM"), "seconds": seconds, "stages": stages, "merges": digest,
                  "distinct": enc.training["distinct_pieces"], "bytes": enc.training["bytes"]}))
"""


def run(path: pathlib.Path, size: int, limit: int, threads: int) -> dict:
    command = [sys.executable, "-c", CHILD, str(path), str(size), str(limit), str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=pathlib.Path(__file__).parent)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=int, default=200)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/tmp/streamtok-big"))
    parser.add_argument("--sizes", default="32000", help="of the vocabulary, with commas")
    parser.add_argument("--limits", default="0,256", help="max_memory in MB, with commas; 0: none")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    path = options.folder / f"text-{options.mb}.txt"
    if not path.exists():
        make_text(path, options.mb * common.MB)
    rows = []
    for size in map(int, options.sizes.split(",")):
        digests = set()
        for limit in map(int, options.limits.split(",")):
            result = run(path, size, limit * common.MB, options.threads)
            digests.add(result["merges"])
            rows.append({"mb": options.mb, "vocab_size": size, "max_memory": limit, **result})
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
        if len(digests) != 1:
            raise SystemExit(f"the merges of {size} tokens depend on max_memory")
    lines = [
        [
            f"{row['mb']:,}",
            f"{row['vocab_size']:,}",
            row["max_memory"] or "none",
            f"{row['distinct']:,}",
            f"{row['stages']['count']:.1f}",
            f"{row['stages']['merge'] - row['stages']['count']:.1f}",
            f"{row['seconds']:.1f}",
            f"{row['peak'] / common.MB:.0f}",
        ]
        for row in rows
    ]
    head = ["MB", "tokens", "max_memory, MB", "distinct pieces", "counting, s", "merging, s", "all, s", "peak, MB"]
    print(common.markdown(head, lines))
    if options.json:
        options.json.write_text(json.dumps({"machine": common.machine(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
