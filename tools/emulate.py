#!/usr/bin/env python3
"""Runs the C core, compiled for other machines, in an emulator, and compares it with this machine.

    python tools/emulate.py                         aarch64 and s390x, which is big-endian: the harnesses of tests/fuzz
    python tools/emulate.py s390x --iterations 500  one of them, for longer

The ids of texts are compared by tests/house/test_platforms.py, with the programs that `build` compiles. Exit status: 0
no difference, 1 a difference, 77 no compiler or no emulator for any of them here. Debian has both in the packages
gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import fuzz_build

ROOT = pathlib.Path(__file__).resolve().parent.parent
FRAMES = "-Wframe-larger-than=16384"  # as setup.py has it
FLAGS = ["-std=c11", "-Og", "-Wall", "-Wextra", "-Werror", FRAMES, fuzz_build.INLINES, f"-I{ROOT / 'csrc'}"]


class Target(NamedTuple):
    """A kind of machine: its compiler, and what runs its programs here (none: they run as they are)."""

    compilers: tuple[str, ...]
    emulators: tuple[str, ...] = ()
    linking: tuple[str, ...] = ("-static", "-pthread")
    suffix: str = ""


TARGETS = {
    "native": Target(("cc", "gcc", "clang"), linking=("-pthread",)),
    "aarch64": Target(("aarch64-linux-gnu-gcc",), ("qemu-aarch64", "qemu-aarch64-static")),
    "s390x": Target(("s390x-linux-gnu-gcc",), ("qemu-s390x", "qemu-s390x-static")),
    "windows": Target(("x86_64-w64-mingw32-gcc",), ("wine64", "/usr/lib/wine/wine64", "wine"), ("-static",), ".exe"),
}
EMULATED = ("aarch64", "s390x")  # with all that the harnesses need; Windows has no mmap


class Missing(Exception):
    """The message says which programs are not here."""


def find(names: tuple[str, ...]) -> str:
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        raise Missing(f"needs {' or '.join(names)}")
    return found


def prefix(target: Target) -> list[str]:
    """The command in front of a program that runs it."""
    return [find(target.emulators)] if target.emulators else []


def compiled(cc: str, sources: list[pathlib.Path], folder: pathlib.Path) -> list[str]:
    """The object of each source. Raises CalledProcessError with what the compiler said."""

    def compile_one(number_source: tuple[int, pathlib.Path]) -> str:
        number, source = number_source
        made = str(folder / f"{number}.o")
        subprocess.run([cc, *FLAGS, "-c", str(source), "-o", made], check=True, capture_output=True, text=True)
        return made

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(compile_one, enumerate(sources)))


def compile_core(name: str, folder: pathlib.Path) -> list[str]:
    """Compiles the core for a target: its objects, in the folder. Raises Missing."""
    return compiled(find(TARGETS[name].compilers), sorted((ROOT / "csrc").rglob("*.c")), folder)


def build(program_name: str, name: str, core: list[str], folder: pathlib.Path) -> list[str]:
    """Compiles tests/platforms/PROGRAM_NAME.c, for the objects of the core; the command that runs it. Raises
    Missing."""
    target = TARGETS[name]
    cc, command = find(target.compilers), prefix(target)
    program = folder / f"{program_name}{target.suffix}"
    with tempfile.TemporaryDirectory(prefix="streamtok-emulate-") as objects:
        own = compiled(cc, [ROOT / "tests" / "platforms" / f"{program_name}.c"], pathlib.Path(objects))
        command_line = [cc, *own, *core, *target.linking, "-o", str(program)]
        subprocess.run(command_line, check=True, capture_output=True, text=True)
    return [*command, str(program)]


def run_harnesses(name: str, iterations: int) -> bool:
    """Prints a line for each harness; True if none found anything. Raises Missing."""
    target = TARGETS[name]
    cc, command, clean = find(target.compilers), prefix(target), True
    build = fuzz_build.Build(name, [], list(target.linking))
    files = ":".join(map(str, fuzz_build.VOCABULARIES))
    environment = {key: value for key, value in os.environ.items() if key != "STREAMTOK_TIER"}
    environment["STREAMTOK_FUZZ_VOCAB"] = files
    with tempfile.TemporaryDirectory(prefix="streamtok-emulate-") as folder:
        programs = fuzz_build.compile_all(cc, build, list(fuzz_build.HARNESSES), pathlib.Path(folder))
        for harness, program in programs.items():
            done = subprocess.run(
                [*command, str(program), "--iterations", str(iterations)],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            clean = clean and done.returncode == 0
            said = done.stdout.strip().splitlines()[-1:] if done.returncode == 0 else [f"failed:\n{done.stdout}"]
            print(f"[{name}] {harness}: {' '.join(said)}", flush=True)
    return clean


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="*", choices=[*EMULATED, []], help="which; all, if none is named")
    parser.add_argument("--iterations", type=int, default=100, help="inputs for each harness (default: 100)")
    options = parser.parse_args()
    ran, clean = 0, True
    for name in options.target or EMULATED:
        try:
            clean = run_harnesses(name, options.iterations) and clean
            ran += 1
        except Missing as missing:
            print(f"[{name}] skipped: {missing}", flush=True)
    return 1 if not clean else 0 if ran else fuzz_build.UNAVAILABLE


if __name__ == "__main__":
    fuzz_build.exit_with(main)
