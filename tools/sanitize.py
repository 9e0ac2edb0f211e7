#!/usr/bin/env python3
"""Runs the harnesses of tests/fuzz on the C core for a short time, built with the compiler's sanitizers.

    python tools/sanitize.py                      5 seconds for each harness
    python tools/sanitize.py special_tokens job            these only
    python tools/sanitize.py --seed 7             other inputs
    python tools/sanitize.py hostile              compiled models with changed numbers alone (tests/c_api/hostile.c)

AddressSanitizer and UndefinedBehaviorSanitizer watch every harness, ThreadSanitizer the one with many threads. GCC and
clang both run where both are installed: clang alone finds an offset that is added to a null pointer. Inputs are made
from the seed, so any C compiler does; tools/fuzz.py searches longer, led by what an input reaches. Exit status: 0
nothing found, 1 something found, 77 no compiler here has these sanitizers.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile

import fuzz_build
from fuzz_build import HARNESSES, MEMORY, ROOT, THREADS, UNAVAILABLE, Build

HOSTILE = "hostile"
HOSTILE_TIMES = 300  # changes of each model


def run_build(cc: str, build: Build, options: argparse.Namespace, folder: pathlib.Path) -> bool:
    """Builds and runs the harnesses; prints a line for each. True if nothing was found."""
    limit = ["--iterations", str(options.iterations)] if options.iterations else ["--seconds", str(options.seconds)]
    wanted = options.harness or [*HARNESSES, HOSTILE]
    names = [name for name in wanted if name != HOSTILE and (build is MEMORY or name == "job")]
    clean = build is not MEMORY or HOSTILE not in wanted or run_hostile(cc, folder)
    for name, program in fuzz_build.compile_all(cc, build, names, folder).items():
        status, output = fuzz_build.execute(program, [*limit, "--seed", str(options.seed)])
        clean = clean and status == 0
        if status:
            print(f"[{build.name}] fuzz_{name} failed with status {status} ({cc}):\n{output}", flush=True)
        else:
            print(f"[{build.name}] {output.splitlines()[-1]} ({cc})", flush=True)
    return clean


def small_models(folder: pathlib.Path) -> list[pathlib.Path]:
    """Compiled models, of merges and of longest match."""
    sys.path.insert(0, str(ROOT))
    import streamtok

    names = {"<s>": 300, "</s>": 301}
    tokens = {bytes([i]): i for i in range(256)} | {b" t": 256, b"he": 257, b" the": 258, b"ll": 259, b"12": 260}
    made = [
        streamtok.Encoding("merges", pat_str=streamtok.patterns.CL100K, mergeable_ranks=tokens, special_tokens=names),
        streamtok.Encoding.longest_match("longest", tokens, special_tokens=names),
    ]
    for encoding in made:
        encoding.compile(folder / f"{encoding.name}.stm", words=False)
    return [folder / f"{encoding.name}.stm" for encoding in made]


def run_hostile(cc: str, folder: pathlib.Path) -> bool:
    """Builds and runs tests/c_api/hostile.c. True if nothing was found."""
    source, program = ROOT / "tests" / "c_api" / f"{HOSTILE}.c", folder / HOSTILE
    fuzz_build.compile_program(cc, MEMORY, source, program, folder)
    status, output = fuzz_build.execute(program, [str(HOSTILE_TIMES), *map(str, small_models(folder))])
    said = output if status else f"{HOSTILE}: no crash, no leak"
    print(f"[{MEMORY.name}] {said} ({cc})", flush=True)
    return status == 0


def main() -> int:
    parser = fuzz_build.arguments(__doc__, seconds=5, others=[HOSTILE])
    parser.add_argument("--iterations", type=int, default=0, help="count instead of time")
    parser.add_argument("--quick-build", action="store_true", help="compile without optimization: in half the time")
    options = parser.parse_args()
    fuzz_build.FLAGS += ["-O0"] * options.quick_build
    ran, clean = 0, True
    for build in [MEMORY, THREADS]:
        usable = 0
        for cc in fuzz_build.compilers(options.cc, build):
            with tempfile.TemporaryDirectory(prefix="streamtok-sanitize-") as name:
                folder = pathlib.Path(name)
                if fuzz_build.works(cc, build, folder):
                    usable += 1
                    clean = run_build(cc, build, options, folder) and clean
        if not usable:
            print(f"[{build.name}] skipped: no compiler here builds with these sanitizers", flush=True)
        ran += usable
    return 1 if not clean else 0 if ran else UNAVAILABLE


if __name__ == "__main__":
    fuzz_build.exit_with(main)
