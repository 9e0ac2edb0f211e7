#!/usr/bin/env python3
"""Compiles the C core for systems that are not here, file by file, with the clang that the package ziglang carries.

    pip install '.[cross]' && python tools/cross.py          every target
    python tools/cross.py macos-arm64 windows-x86_64         these only

Nothing is linked or run: it shows that the core needs nothing that these systems lack, and that the compiler has no
warning. Exit status: 0 all compiled without a warning, 1 errors or warnings, 77 ziglang is not installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNAVAILABLE = 77

TARGETS = {
    "linux-x86_64": "x86_64-linux-gnu.2.17",
    "linux-aarch64": "aarch64-linux-gnu.2.17",
    "musl-x86_64": "x86_64-linux-musl",
    "musl-aarch64": "aarch64-linux-musl",
    "macos-x86_64": "x86_64-macos",
    "macos-arm64": "aarch64-macos",
    "windows-x86_64": "x86_64-windows-gnu",
    "windows-arm64": "aarch64-windows-gnu",
}
# As clang takes the core for Microsoft's compiler: with its macros and intrinsics, without extensions of GNU, and with
# stand-ins for its headers.
MSVC = {"msvc-x86_64": "x86_64-pc-windows-msvc", "msvc-arm64": "aarch64-pc-windows-msvc"}
AS_MSVC = ["-fms-extensions", "-fms-compatibility", "-fms-compatibility-version=19.40", "-Wpedantic"]
# The fixed-width types and the intrinsics are pedantically extensions.
AS_MSVC += ["-Wno-language-extension-token"]

# What setup.py gives, and warnings. -O1: instructions of other targets are refused only where code is made of them.
FLAGS = ["-std=c11", "-O1", "-g0", "-Wall", "-Wextra", "-Werror", "-Wframe-larger-than=16384", "-Icsrc"]


def zig() -> str | None:
    """The program in the package, which is quicker to start than `python -m ziglang`."""
    found = importlib.util.find_spec("ziglang")
    if found is None or found.origin is None:
        return None
    return str(pathlib.Path(found.origin).with_name("zig.exe" if os.name == "nt" else "zig"))


def compiler(program: str, target: str) -> list[str]:
    if target in TARGETS:
        return [program, "cc", "-target", TARGETS[target]]
    own = pathlib.Path(program).parent / "lib" / "include"
    headers = ["-isystem", str(own), "-isystem", str(ROOT / "tests" / "platforms" / "msvc")]
    return [program, "clang", f"--target={MSVC[target]}", *AS_MSVC, *headers]


def complaints(program: str, target: str) -> list[str]:
    """What the compiler says about each file for which it has errors or warnings."""
    sources = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "csrc").rglob("*.c"))
    with tempfile.TemporaryDirectory(prefix="streamtok-cross-") as folder:

        def compile_one(number: int) -> str:
            made = os.path.join(folder, f"{number}.o")
            command = [*compiler(program, target), *FLAGS, "-c", sources[number], "-o", made]
            done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            return done.stdout if done.returncode or done.stdout else ""

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return [said for said in pool.map(compile_one, range(len(sources))) if said]


def main() -> int:
    every = [*TARGETS, *MSVC]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="*", help=f"one of {', '.join(every)} (default: all)")
    options = parser.parse_args()
    if unknown := set(options.target) - set(every):
        parser.error(f"there is no target {', '.join(sorted(unknown))}; there are {', '.join(every)}")
    program = zig()
    if program is None:
        print("ziglang is not installed: pip install '.[cross]'")
        return UNAVAILABLE
    clean = True
    for target in options.target or every:
        said = complaints(program, target)
        clean = clean and not said
        print(f"[{target}] " + ("no warning" if not said else f"{len(said)} files:\n" + "\n".join(said)), flush=True)
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main())
