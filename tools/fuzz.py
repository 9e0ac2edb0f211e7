#!/usr/bin/env python3
"""Fuzzes the C core with the harnesses of tests/fuzz, under AddressSanitizer and UndefinedBehaviorSanitizer.

    python tools/fuzz.py --seconds 600                  every harness for ten minutes
    python tools/fuzz.py --seconds 600 --jobs 16        the same, side by side
    python tools/fuzz.py special_tokens feed --corpus FOLDER  these two, with the inputs found earlier
    python tools/fuzz.py special_tokens --input FILE    runs one input again
    python tools/fuzz.py --build FOLDER                 compiles them for an engine that CC, CFLAGS, CXX, CXXFLAGS and
                                                        LIB_FUZZING_ENGINE name (.clusterfuzzlite)

Where clang and libFuzzer are installed, inputs are led by the code that they reach, and those that reach something new
are kept in the corpus folder; elsewhere they are made from the seed and from what the folder holds. An input that fails
is kept in the folder `found` of the corpus. Exit status: 0 nothing found, 1 something found, 77 no compiler here has
these sanitizers.
"""

from __future__ import annotations

import argparse
import pathlib
import random
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor

import data_headers
import fuzz_build
from fuzz_build import HARNESSES, LIBFUZZER, MEMORY, UNAVAILABLE, Build

INPUT_MOST = 4096  # bytes
SEEDS = 64  # inputs that a new corpus begins with
TEXTS = [
    b"The quick brown fox's 12345 jumps\r\n  over <|endoftext|> the lazy dog.\n\n",
    "中文文本，没有空格。 AAAAÉé e\u0301\u0301 नमस्ते 😀👩\u200d👧".encode(),
    b"a" * 300 + b"\n" + b" " * 300 + b"=-" * 100,
    b"\xff\xfe\xf0\x9f\x98 \xed\xa0\x80 \xc0\xaf \xe4\xb8",
    b"<|end<|endof<|endoftext|><|<|end|>ab\n\n#aaaaaaaaaaaaaaaaaaaaab",
]


def make_seeds(folder: pathlib.Path, seed: int) -> None:
    """Inputs to begin with: eight bytes of chance, some choices, then choices or a text."""
    rng = random.Random(seed)
    for i in range(SEEDS):
        choices = rng.randbytes(rng.choice((8, 16, 24, 40)))
        rest = rng.choice(TEXTS) if i % 2 else rng.randbytes(rng.randrange(200))
        (folder / f"seed-{i:03}").write_bytes(choices + rest)


def arguments_for(build: Build, name: str, options: argparse.Namespace) -> list[str]:
    """What the program is told; makes the folders and the first inputs."""
    if options.input:
        return [str(options.input)]
    corpus, found = options.corpus / name, options.corpus / "found"
    corpus.mkdir(parents=True, exist_ok=True)
    found.mkdir(exist_ok=True)
    if not any(corpus.iterdir()):
        make_seeds(corpus, options.seed)
    if build is LIBFUZZER:
        time = [f"-max_total_time={int(options.seconds)}", f"-seed={options.seed}", "-print_final_stats=1"]
        limits = [f"-max_len={INPUT_MOST}", "-timeout=60", "-rss_limit_mb=4096"]
        return [*time, *limits, f"-artifact_prefix={found}/{name}-", str(corpus)]
    files = sorted(str(path) for path in corpus.iterdir())
    limits = ["--seconds", str(options.seconds), "--seed", str(options.seed)]
    return [*limits, "--save", str(found / name), *files]


def summary_of(output: str) -> str:
    """The closing line of the driver, or libFuzzer's counts."""
    lines = output.splitlines() or [""]
    told = [line.removeprefix("stat::").replace(" ", "") for line in lines if line.startswith("stat::number_of_exec")]
    return next(iter(told), lines[-1])


def run_harness(build: Build, name: str, program: pathlib.Path, options: argparse.Namespace) -> bool:
    """Runs one; prints what it found. True if that is nothing."""
    status, output = fuzz_build.execute(program, arguments_for(build, name, options))
    if status:
        print(f"[{build.name}] {name} failed with status {status}:\n{output[-20_000:]}", flush=True)
        print(f"[{build.name}] {name}: the input is in {options.input or options.corpus / 'found'}", flush=True)
    else:
        print(f"[{build.name}] {name}: nothing found; {summary_of(output)}", flush=True)
    return status == 0


def run_all(cc: str, build: Build, options: argparse.Namespace, folder: pathlib.Path) -> bool:
    programs = fuzz_build.compile_all(cc, build, options.harness or list(HARNESSES), folder)
    with ThreadPoolExecutor(options.jobs) as pool:
        return all(list(pool.map(lambda item: run_harness(build, *item, options), programs.items())))


def build_for_engine(target: pathlib.Path, harnesses: list[str]) -> None:
    """Puts the programs there, each with a zip of inputs to begin with."""
    data_headers.write_all(fuzz_build.ROOT / "csrc")
    cc, build = fuzz_build.of_engine()
    with tempfile.TemporaryDirectory(prefix="streamtok-fuzz-") as name:
        for harness, program in fuzz_build.compile_all(cc, build, harnesses, pathlib.Path(name)).items():
            shutil.copy(program, target)
            seeds = pathlib.Path(name, f"{harness}-seeds")
            seeds.mkdir()
            make_seeds(seeds, 1)
            shutil.make_archive(str(target / f"{program.name}_seed_corpus"), "zip", seeds)


def main() -> int:
    parser = fuzz_build.arguments(__doc__, seconds=60)
    parser.add_argument("--jobs", type=int, default=1, help="harnesses at a time (default: 1)")
    corpus = pathlib.Path(tempfile.gettempdir()) / "streamtok-fuzz"
    parser.add_argument("--corpus", type=pathlib.Path, default=corpus, help=f"folder of inputs (default: {corpus})")
    parser.add_argument("--input", type=pathlib.Path, help="run this input once; name one harness")
    parser.add_argument("--no-libfuzzer", action="store_true", help="do as where it is missing")
    parser.add_argument(
        "--build", type=pathlib.Path, metavar="FOLDER", help="compile for another engine, and run nothing"
    )
    options = parser.parse_args()
    if options.build:
        build_for_engine(options.build, options.harness or list(HARNESSES))
        return 0
    if options.input and len(options.harness) != 1:
        parser.error("--input goes with the one harness that it is for")
    for build in [MEMORY] if options.no_libfuzzer else [LIBFUZZER, MEMORY]:
        with tempfile.TemporaryDirectory(prefix="streamtok-fuzz-") as name:
            folder = pathlib.Path(name)
            for cc in fuzz_build.compilers(options.cc, build):
                if fuzz_build.works(cc, build, folder):
                    return 0 if run_all(cc, build, options, folder) else 1
            print(f"[{build.name}] no compiler here builds with it", flush=True)
    return UNAVAILABLE


if __name__ == "__main__":
    fuzz_build.exit_with(main)
