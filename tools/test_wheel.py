#!/usr/bin/env python3
"""Tests the installed streamtok from outside of the source tree, whose modules would be imported in its place.

    python tools/test_wheel.py                   what this Python has
    python tools/test_wheel.py --install dist    in a new environment, with the wheel in that folder

Runs the tests of what a wheel holds: ids, streams, files, the command. Needs pytest, pytest-xdist, hypothesis, what the
extras cli and zstd name; tests that compare with tiktoken are skipped where that is not installed. Exit status:
pytest's.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Tests that need the sources, a compiler or a GPU are left out.
FILES = (
    "arrays batch cli cli_texts code_points corpora custom cut_tables encode errors files files_resume id_arrays load "
    "merge messages model offsets packed patterns pickle pretoken registry special special_tokens stream_decode "
    "stream_encode stream_errors stream_state suffixes tables threads tiktoken_parity train truncate unstable words"
).split()

# tiktoken has no wheel for Windows on ARM, and needs a Rust compiler there.
NEEDS = ("pytest>=8", "pytest-xdist>=3.5", "hypothesis>=6.100")
ORACLE = "tiktoken>=0.12"


def environment_with(wheels: pathlib.Path, folder: pathlib.Path) -> str:
    """A Python that has the wheel in that folder, and what the tests need."""
    [wheel] = wheels.glob("*.whl")
    venv.create(folder, with_pip=True)
    python = str(folder / ("Scripts" if os.name == "nt" else "bin") / "python")
    install = [python, "-m", "pip", "install", "--quiet"]
    subprocess.run([*install, f"{wheel.resolve()}[cli,zstd]", *NEEDS], check=True)
    if subprocess.run([*install, "--only-binary", ":all:", ORACLE]).returncode:
        print("tiktoken cannot be installed here: its comparisons are skipped", flush=True)
    return python


def run_tests(python: str, folder: pathlib.Path) -> int:
    """Copies the tests to a folder and runs them there."""
    for name in ("tests", "tools", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    there = [str(path) for name in FILES for path in (folder / "tests").rglob(f"test_{name}.py")]
    where = "import streamtok; print(streamtok.__version__, streamtok.__file__)"
    subprocess.run([python, "-c", where], cwd=folder, check=True)
    command = [python, "-m", "pytest", "-q", "-m", "not slow", "-n", "auto", "--dist", "loadfile", *there]
    return subprocess.run(command, cwd=folder).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--install", type=pathlib.Path, metavar="FOLDER", help="a folder with one wheel")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="streamtok-wheel-", ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        python = environment_with(options.install, folder / "environment") if options.install else sys.executable
        return run_tests(python, folder)


if __name__ == "__main__":
    sys.exit(main())
