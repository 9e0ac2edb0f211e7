#!/usr/bin/env python3
"""Instructions a byte of each stage that has vectors: AVX2, and on ARM portable and NEON; counted by qemu's emulators.

    python benchmarks/stages/work.py english.txt code.txt multilingual.txt    # the first 200 KB of each

Counts do not depend on the machine or its load; they say nothing about how long an instruction takes. A stage runs
with one round and with two. The difference counts, so that loading the text does not. All tiers have to give the same
result. Needs gcc, aarch64-linux-gnu-gcc, qemu-x86_64 and qemu-aarch64 (7.2 or later) with plugins.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
VOCABULARY = ROOT / "streamtok" / "vocab" / "o200k_base.stv"
STAGES = ("check", "str1", "str2", "str4", "split", "merge")
FLAGS = ["-std=c11", "-O3", f"-I{ROOT / 'csrc'}", f"-I{ROOT / 'tests' / 'fuzz'}"]  # setup.py's
MACHINES = {"x86_64": ("gcc", ["qemu-x86_64", "-cpu", "max"]), "aarch64": ("aarch64-linux-gnu-gcc", ["qemu-aarch64"])}
COLUMNS = (("x86_64", "avx2"), ("aarch64", "portable"), ("aarch64", "neon"))
BYTES = 200_000


def build(machine: str, folder: pathlib.Path) -> pathlib.Path:
    cc = MACHINES[machine][0]
    helpers = [ROOT / "tests" / "fuzz" / f"{name}.c" for name in ("support", "texts", "vocabularies")]
    sources = [*sorted((ROOT / "csrc").rglob("*.c")), *helpers, HERE / "stages.c"]
    objects = [str(folder / f"{machine}-{number}.o") for number in range(len(sources))]
    commands = [[cc, *FLAGS, "-c", str(source), "-o", made] for source, made in zip(sources, objects, strict=True)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda command: subprocess.run(command, check=True), commands))
    program = folder / machine
    subprocess.run([cc, *objects, "-static", "-pthread", "-o", str(program)], check=True)
    return program


def instructions(command: list[str], tier: str, stage: str, text: pathlib.Path, rounds: int) -> tuple[int, list[str]]:
    """How many instructions a run executes, and what it printed."""
    done = subprocess.run(
        [*command, stage, str(text), str(VOCABULARY), str(rounds)],
        env={"STREAMTOK_TIER": tier},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stderr.split()[-1]), done.stdout.split()


def row(commands: dict[str, list[str]], stage: str, text: pathlib.Path) -> list[str]:
    """The cells of a stage: instructions a byte in each column."""
    cells, results = [], set()
    for machine, tier in COLUMNS:
        if tier == "portable" and stage.startswith("str"):
            cells.append("Python's")
            continue
        once, said = instructions(commands[machine], tier, stage, text, 1)
        twice, _ = instructions(commands[machine], tier, stage, text, 2)
        if said[0] != tier:
            sys.exit(f"{machine} does not run the tier {tier}: it took {said[0]}")
        results.add(tuple(said[1:3]))
        cells.append(f"{(twice - once) / int(said[1]):.2f}")
    if len(results) != 1:
        sys.exit(f"{stage}: tiers differ on {text.name}: {results}")
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="streamtok-work-") as name:
        folder, commands = pathlib.Path(name), {}
        plugin = folder / "count.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O2", str(HERE / "count.c"), "-o", str(plugin)], check=True)
        for machine, (_, emulator) in MACHINES.items():
            commands[machine] = [*emulator, "-plugin", str(plugin), str(build(machine, folder))]
        print("| stage | text |", *(f"{machine}, {tier} |" for machine, tier in COLUMNS))
        for stage in STAGES:
            for path in options.text:
                sample = folder / path.name
                sample.write_bytes(path.read_bytes()[:BYTES].decode("utf-8", "ignore").encode())
                print(f"| {stage} | {path.stem} |", *(f"{cell} |" for cell in row(commands, stage, sample)), flush=True)


if __name__ == "__main__":
    main()
