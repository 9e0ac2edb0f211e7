#!/usr/bin/env python3
"""Runs the fuzz programs of tests/fuzz on the C core, built with the compiler's sanitizers.

    python tools/sanitize.py                     20 seconds for each program
    python tools/sanitize.py --seconds 3600      a long run; --seed picks other inputs
    python tools/sanitize.py --libfuzzer         coverage-guided as well; needs clang

AddressSanitizer and UndefinedBehaviorSanitizer watch one thread (fuzz_encoder, fuzz_vocab, fuzz_words, fuzz_train),
ThreadSanitizer many (threads). Exit status: 0 nothing found, 1 something found, 77 no compiler here has these
sanitizers.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
FUZZ = ROOT / "tests" / "fuzz"
VOCABULARIES = [ROOT / "streamtok" / "vocab" / f"{name}.stv" for name in ("cl100k_base", "o200k_base")]
SHARED = ["support", "texts", "vocabularies"]
ENCODER = ["fuzz_encoder", "subject", "hostile"]
FLAGS = ["-std=c11", "-O1", "-g", "-fno-omit-frame-pointer", "-Wall", "-Wextra", "-Icsrc", "-Itests/fuzz"]
CROWDED = ["-DST_HOT_BITS=5"]  # a hot table so small that its entries push each other out all the time
UNAVAILABLE = 77


class Build(NamedTuple):
    """One way to compile, and what to run of it: program -> its sources in tests/fuzz."""

    name: str
    flags: list[str]
    programs: dict[str, list[str]]


MEMORY = Build(
    "address,undefined",
    ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", *CROWDED],
    {"fuzz_encoder": ENCODER, "fuzz_vocab": ["fuzz_vocab"], "fuzz_words": ["fuzz_words"], "fuzz_train": ["fuzz_train"]},
)
THREADS = Build("thread", ["-fsanitize=thread"], {"threads": ["threads"]})
LIBFUZZER = Build(
    "fuzzer,address,undefined",
    ["-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=all", "-DST_LIBFUZZER"],
    {"fuzz_encoder": ENCODER},
)


class CannotBuild(Exception):
    """A compiler failed; what it said is the message."""


def compiler(named: str | None, clang_only: bool) -> str | None:
    """The first of the usual compilers that is installed."""
    candidates = [named] if named else ([] if clang_only else ["cc", "gcc"]) + ["clang", *clangs()]
    return next((name for name in candidates if name and shutil.which(name)), None)


def clangs() -> list[str]:
    """Debian and its kin install clang under its version only."""
    return [f"clang-{version}" for version in range(25, 12, -1)]


def works(cc: str, flags: list[str], folder: pathlib.Path) -> bool:
    """Can it build and run anything with these sanitizers? Their libraries are packages of their own."""
    entry = "int LLVMFuzzerTestOneInput(void)" if "-DST_LIBFUZZER" in flags else "int main(void)"
    (folder / "probe.c").write_text(f"{entry} {{ return 0; }}\n")
    built = subprocess.run([cc, *flags, "probe.c", "-o", "probe"], cwd=folder, capture_output=True)
    if built.returncode:
        return False
    arguments = ["-runs=1"] if "-DST_LIBFUZZER" in flags else []
    return subprocess.run([folder / "probe", *arguments], capture_output=True).returncode == 0


def compile_all(cc: str, build: Build, folder: pathlib.Path) -> dict[str, pathlib.Path]:
    """Program -> its file. Each source is compiled once."""
    own = sorted({name for sources in build.programs.values() for name in sources})
    sources = [*sorted(ROOT.glob("csrc/*.c")), *(FUZZ / f"{name}.c" for name in SHARED + own)]

    def run(command: list[str]) -> None:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            raise CannotBuild(done.stderr)

    def target(source: pathlib.Path) -> str:
        return str(folder / f"{source.stem}.o")

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda s: run([cc, *FLAGS, *build.flags, "-c", str(s), "-o", target(s)]), sources))
    common = [target(source) for source in sources if source.stem not in own]
    for program, names in build.programs.items():
        objects = [target(FUZZ / f"{name}.c") for name in names]
        run([cc, *build.flags, *objects, *common, "-pthread", "-o", str(folder / program)])
    return {program: folder / program for program in build.programs}


def arguments_for(build: Build, options: argparse.Namespace, folder: pathlib.Path) -> list[str]:
    if build is LIBFUZZER:
        limit = f"-runs={options.iterations}" if options.iterations else f"-max_total_time={int(options.seconds)}"
        artifacts = f"-artifact_prefix={folder}/"  # libFuzzer prints the input too
        return [limit, f"-seed={options.seed}", "-max_len=4096", "-timeout=60", "-verbosity=0", artifacts]
    limit = ["--iterations", str(options.iterations)] if options.iterations else ["--seconds", str(options.seconds)]
    return [*limit, "--seed", str(options.seed), *map(str, VOCABULARIES)]


def execute(program: pathlib.Path, arguments: list[str]) -> tuple[int, str]:
    """Exit status and output, both streams together."""
    # Aborting lets the program print its seed, where the sanitizer's own end would not.
    options = {"UBSAN_OPTIONS": "print_stacktrace=1:abort_on_error=1", "TSAN_OPTIONS": "halt_on_error=1"}
    environment = dict(os.environ, **options)

    def run(*prefix: str) -> tuple[int, str]:
        command = [*prefix, str(program), *arguments]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout.decode(errors="replace").strip()

    status, output = run()
    # Older ThreadSanitizers cannot place their shadow memory where the kernel randomizes addresses widely.
    if status and "unexpected memory mapping" in output and shutil.which("setarch"):
        status, output = run("setarch", "-R")
    # Leaks are looked for with ptrace, which a container may forbid. The programs count blocks themselves as well.
    if status and "LeakSanitizer has encountered a fatal error" in output:
        environment["ASAN_OPTIONS"] = "detect_leaks=0"
        status, output = run()
    return status, output


def run_build(cc: str, build: Build, options: argparse.Namespace, folder: pathlib.Path) -> bool:
    """Builds and runs all of its programs; prints a line for each. True if nothing was found."""
    clean = True
    for program, path in compile_all(cc, build, folder).items():
        status, output = execute(path, arguments_for(build, options, folder))
        clean = clean and status == 0
        if status:
            print(f"[{build.name}] {program} failed with status {status}:\n{output}", flush=True)
        else:
            summary = output.splitlines()[-1] if output else f"{program}: nothing found"
            print(f"[{build.name}] {summary}", flush=True)
    return clean


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20, help="time for each program (default: 20)")
    parser.add_argument("--iterations", type=int, default=0, help="count instead of time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cc", help="compiler to use")
    parser.add_argument("--libfuzzer", action="store_true", help="add a coverage-guided run")
    options = parser.parse_args()
    ran, clean = 0, True
    for build in [MEMORY, THREADS, *([LIBFUZZER] if options.libfuzzer else [])]:
        with tempfile.TemporaryDirectory(prefix="streamtok-sanitize-") as name:
            folder = pathlib.Path(name)
            cc = compiler(options.cc, build is LIBFUZZER)
            if not cc or not works(cc, build.flags, folder):
                print(f"[{build.name}] skipped: no compiler here builds with these sanitizers", flush=True)
                continue
            ran += 1
            clean = run_build(cc, build, options, folder) and clean
    return 1 if not clean else 0 if ran else UNAVAILABLE


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CannotBuild as error:
        sys.exit(f"the core or the fuzz programs do not compile:\n{error}")
