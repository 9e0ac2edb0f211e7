"""Training on a device: the CPU's merges first, then its time, whole and by stage, and that of other ways to set it up.

    python benchmarks/gpu/training.py --corpus FOLDER                       all of the below
    python benchmarks/gpu/training.py --corpus FOLDER --parts check corpora  some of it

check: 3 corpora, 3 patterns, both rules for ties, and options: merges that differ from the CPU's. corpora: seconds for
each corpus. much: a text of --mb megabytes in host memory, made as bench_train_memory.py makes it, in 16 parts with
letters of their own. ways: block sizes and the like, over the pieces of that text; the merges are compared for each.
start: what a new process takes until it has trained.

Times are those of a process whose kernels are compiled; the text is bytes in memory; the best of --rounds.
"""

from __future__ import annotations

import argparse
import dataclasses
import multiprocessing
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import warnings
from typing import Any

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "train"))

from bench_train_memory import altered_paragraphs
from shared import machine, markdown, text_of

from streamtok.native.trainer import Trainer
from streamtok.train import train
from streamtok.train.counting import Counting
from streamtok.train.inputs import How, Place, open_inputs
from streamtok.train.options import Options, make_options
from streamtok.train.records import Store

CORPORA = ["english", "code", "multilingual"]
PATTERNS = ["cl100k", "o200k", "r50k"]
TIES = ["lexicographic", "huggingface"]


def merges(encoding: Any) -> list[bytes]:
    return list(encoding._mergeable_ranks)


def learned(data: bytes, size: int, device: str, **options: Any) -> tuple[list[bytes], float]:
    """(tokens in order, seconds)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        begin = time.perf_counter()
        encoding = train(data, size, device=device, **options)
        return merges(encoding), time.perf_counter() - begin


# ==== check ====


def check(folder: pathlib.Path, patterns: list[str]) -> int:
    """How many runs differ."""
    wrong = runs = 0
    others = [
        {"min_frequency": 100},
        {"max_token_length": 6},
        {"max_token_length": 6, "ties": "huggingface"},
        {"special_tokens": ["the", " and ", "<|endoftext|>"]},
        {"initial_alphabet": bytes(range(255, -1, -1)), "ties": "huggingface"},
        {"pattern": r"\w+|\W+"},
    ]
    for name in CORPORA:
        data = text_of(folder, name)
        cases = [{"pattern": pattern, "ties": ties} for pattern in patterns for ties in TIES]
        for options in [*cases, *others]:
            by_regex = options.get("pattern", "cl100k") not in PATTERNS  # which takes a hundred times as long
            own = data[:2_000_000].decode("utf-8", "ignore").encode() if by_regex else data
            want, cpu_seconds = learned(own, 5000, "cpu", **options)
            got, seconds = learned(own, 5000, "cuda", **options)
            first = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), None)
            same = got == want
            wrong, runs = wrong + (not same), runs + 1
            said = "same" if same else f"DIFFERENT from {first} on: {len(got)} and {len(want)}"
            asked = {key: "..." if key == "initial_alphabet" else value for key, value in options.items()}
            print(f"{name:12} {asked}: {len(want)} {said}; {cpu_seconds:.2f}, {seconds:.2f} s", flush=True)
    print(f"{runs} runs, {wrong} differ", flush=True)
    return wrong


# ==== stages ====


class Bench:
    """The stages of a run, one by one, on a device that is open."""

    def __init__(self, options: Options) -> None:
        from streamtok.patterns.engine import kernels_of
        from streamtok.train.gpu.placement import _open

        self.options = options
        self.family = kernels_of(options.pat_str)
        self.device = _open(self.family, "cuda")

    def count(self, data: bytes, times: dict[str, float] | None = None, **more: Any) -> tuple[Any, int, float]:
        """(pieces, bytes and pieces of text, seconds)."""
        from streamtok.train.gpu.count import DeviceCounting

        how = How()
        host = Counting(self.options.pat_str, how, 1, None, Store(tempfile.mkdtemp(), False))
        self.device.synchronize()
        begin = time.perf_counter()
        counting = DeviceCounting(self.device, host, **more)
        counting.times = times
        for stretch, _ in open_inputs(data)[0].stretches(0, Place(), how):
            counting.put(stretch)
        pieces = counting.finish(None)
        self.device.synchronize()
        return pieces, counting.text_bytes + counting.pieces, time.perf_counter() - begin

    def row(self, pieces: Any) -> tuple[Any, float]:
        from streamtok.train.gpu.row import row_of_pieces

        begin = time.perf_counter()
        rest = self.trainer(256)
        for block in pieces.rest:
            rest.measure(block)
        rest.lay_out()
        for block in pieces.rest:
            rest.place(block)
        rest.finish()
        row = row_of_pieces(self.device, pieces, rest, self.options.alphabet)
        self.device.synchronize()
        return row, time.perf_counter() - begin

    def trainer(self, wanted: int) -> Trainer:
        o = self.options
        return Trainer(o.alphabet, wanted, o.ties, o.max_token_bytes, o.min_frequency)

    def learn(self, row: Any, wanted: int, text_bytes: int, tuning: Any = None) -> tuple[Any, float]:
        """(a trainer, seconds); the row is as it was afterwards."""
        from streamtok.train.gpu.learn import DeviceLearner

        kept = row.row.copy()
        self.device.synchronize()
        begin = time.perf_counter()
        trainer = self.trainer(wanted)
        learner = DeviceLearner(row, trainer, wanted, self.options, text_bytes, tuning)
        self.course = []  # (tokens, seconds) after each launch
        done = False
        while not done:
            done = learner.run(1 << 40, 0)
            self.course.append((trainer.count, time.perf_counter() - begin))
        seconds = time.perf_counter() - begin
        self.state = learner.state
        self.device.assign(row.row, kept)
        return trainer, seconds


def plain_options(pattern: str = "cl100k", ties: str = "lexicographic") -> Options:
    return make_options(
        pattern=pattern,
        special_tokens=(),
        min_frequency=0,
        ties=ties,
        max_token_length=None,
        initial_alphabet=None,
        documents=None,
        key="text",
        errors="strict",
    )


def tokens_of(trainer: Trainer) -> list[bytes]:
    return [trainer.token(token) for token in range(trainer.count)]


def said_of(state: Any) -> str:
    """Counts, and the share of the first thread's time by stage."""
    from streamtok.train.gpu.jobs import STAGES

    cycles = state["cycles"].astype(float)
    shares = "  ".join(f"{name} {100 * share:.0f}%" for name, share in zip(STAGES, cycles / max(cycles.sum(), 1)))
    names = ("searches", "fronts", "together", "least", "pair_count", "list_top")
    return "  ".join(f"{name} {int(state[name])}" for name in names) + (f"\n    {shares}" if cycles.any() else "")


# ==== seconds ====


def seconds_of(data: bytes, size: int, rounds: int, bench: Bench, threads: int) -> list[Any]:
    """A row of the table: the seconds of CPU and device, and of the device's stages."""
    want, cpu = learned(data, size, "cpu", threads=threads)
    if cpu < 1:
        cpu = min([cpu, *(learned(data, size, "cpu", threads=threads)[1] for _ in range(rounds - 1))])
    runs = [learned(data, size, "cuda") for _ in range(rounds)]
    if any(got != want for got, _ in runs):
        raise SystemExit(f"the merges differ: {size} tokens")
    stages = []
    for _ in range(rounds):
        pieces, text_bytes, count = bench.count(data)
        row, laid = bench.row(pieces)
        distinct = pieces.distinct
        pieces.drop()
        _, learn = bench.learn(row, size, text_bytes)
        stages.append((count, laid, learn))
    best = np.min(stages, axis=0)
    whole = min(seconds for _, seconds in runs)
    print(f"  {distinct} distinct pieces, {row.places} places; {said_of(bench.state)}", flush=True)
    return [f"{cpu:.2f}", f"{whole:.3f}", *(f"{each:.3f}" for each in best), f"{cpu / whole:.1f}x"]


HEAD = ["text", "CPU, s", "CUDA, s", "count", "row", "learn", "CPU / CUDA"]


def corpora(folder: pathlib.Path, rounds: int, threads: int) -> None:
    bench, rows = Bench(plain_options()), []
    for name in CORPORA:
        for size in (5000, 32000):
            print(f"{name}, {size}", flush=True)
            rows.append([f"{name}, {size}", *seconds_of(text_of(folder, name), size, rounds, bench, threads)])
    print(markdown(HEAD, rows), flush=True)


def _make_part(arguments: tuple[pathlib.Path, int, int]) -> bytes:
    folder, size, seed = arguments
    rng = random.Random(seed)
    paragraphs = [part + b"\n\n" for name in CORPORA for part in text_of(folder, name).split(b"\n\n") if part.strip()]
    return b"".join(altered_paragraphs(paragraphs, size, rng))


def make_text(folder: pathlib.Path, size: int) -> bytes:
    with multiprocessing.get_context("fork").Pool(min(16, os.cpu_count() or 1)) as pool:
        return b"".join(pool.map(_make_part, [(folder, size // 16, seed) for seed in range(16)]))


def much(data: bytes, rounds: int, threads: int) -> None:
    bench, rows = Bench(plain_options()), []
    for size in (3456, 32000):
        rows.append([f"{len(data) / 1e6:.0f} MB, {size}", *seconds_of(data, size, rounds, bench, threads)])
    print(markdown(HEAD, rows), flush=True)
    times: dict[str, float] = {}
    bench.count(data, times)
    times.pop("", None)
    print("counting, each stage waited for: " + "  ".join(f"{name} {t:.3f}" for name, t in times.items()), flush=True)
    for slice_bytes in (16 << 20, 32 << 20, 64 << 20, 128 << 20):
        best = min(bench.count(data, slice_bytes=slice_bytes)[2] for _ in range(2))
        print(f"counting in slices of {slice_bytes >> 20} MB: {best:.3f} s", flush=True)


def ways(data: bytes, size: int, rounds: int) -> None:
    from streamtok.train.gpu.learn import Tuning

    bench = Bench(plain_options())
    pieces, text_bytes, _ = bench.count(data)
    row, _ = bench.row(pieces)
    pieces.drop()
    want, _ = bench.learn(row, size, text_bytes)
    print("tokens and seconds: " + "  ".join(f"{count} {seconds:.3f}" for count, seconds in bench.course), flush=True)
    tried: list[dict[str, Any]] = [{}]
    tried += [{"block": block} for block in (256, 512)]
    tried += [{"alone": alone} for alone in (0, 1024, 4096, 16384)]
    tried += [{"wish": wish} for wish in (128, 256, 1024, 2048)]
    tried += [{"guess": guess} for guess in (2, 4, 16, 64)]
    tried += [{"blocks": blocks} for blocks in (1, 33, 66)]
    tried += [{"wish": 256, "guess": 4}, {"wish": 256, "alone": 4096}]
    for given in tried:
        best = 1e9
        for _ in range(min(rounds, 2)):
            trainer, seconds = bench.learn(row, size, text_bytes, Tuning(**given))
            best = min(best, seconds)
            if tokens_of(trainer) != tokens_of(want):
                raise SystemExit(f"{given}: other merges")
        print(f"learn {best:.3f} s  {given}  {said_of(bench.state)}", flush=True)


def start(folder: pathlib.Path) -> None:
    """Seconds of a new process that trains on a megabyte: what "auto" has to win back."""
    code = (
        "import sys, time; from streamtok.train import train; data = open(sys.argv[1], 'rb').read(1_000_000); "
        "begin = time.perf_counter(); train(data, 500, device=sys.argv[2]); print(time.perf_counter() - begin)"
    )
    corpus = text_of(folder, "english")
    with tempfile.NamedTemporaryFile() as file:
        file.write(corpus[:999_000].decode("utf-8", "ignore").encode())
        file.flush()
        for device in ("cuda", "cuda", "cpu"):
            command = [sys.executable, "-c", code, file.name, device]
            said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            print(f"a new process, 1 MB, {device}: {float(said):.2f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=pathlib.Path, required=True)
    parser.add_argument("--parts", nargs="+", default=["check", "corpora", "much", "ways", "start"])
    parser.add_argument("--patterns", nargs="+", default=PATTERNS)
    parser.add_argument("--mb", type=int, default=1000)
    parser.add_argument("--size", type=int, default=32000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--cycles", action="store_true", help="compile the kernels so that they count cycles by stage")
    options = parser.parse_args()
    begin = time.perf_counter()
    needs_text = {"much", "ways"} & set(options.parts)
    data = (
        make_text(options.corpus, options.mb * 1_000_000) if needs_text else b""
    )  # processes fork before CUDA is there
    if needs_text:
        print(f"text made in {time.perf_counter() - begin:.1f} s", flush=True)
    if options.cycles:
        from streamtok.train.gpu import jobs

        jobs.TRAINING = dataclasses.replace(jobs.TRAINING, own=("-DST_COUNT_CYCLES",))
    print(machine(), flush=True)
    wrong = check(options.corpus, options.patterns) if "check" in options.parts else 0
    if "corpora" in options.parts:
        corpora(options.corpus, options.rounds, options.threads)
    if "much" in options.parts:
        much(data, options.rounds, options.threads)
    if "ways" in options.parts:
        ways(data, options.size, options.rounds)
    if "start" in options.parts:
        start(options.corpus)
    print(f"all in {time.perf_counter() - begin:.1f} s", flush=True)
    raise SystemExit(wrong > 0)


if __name__ == "__main__":
    main()
