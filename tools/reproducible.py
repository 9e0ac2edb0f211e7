#!/usr/bin/env python3
"""Builds a wheel twice, each time from the sources alone in a folder of another name, and compares the bytes.

    python tools/reproducible.py              the package; needs setuptools, Cython and numpy, and two minutes
    python tools/reproducible.py --quick      compiled without optimization

Exit status: 0 equal; 1 not, and which files differ.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LEFT_OUT = shutil.ignore_patterns(
    "build", "dist", ".*", "*.so", "*.pyd", "*.tables", "*.egg-info", "__pycache__", "*_data.h"
)
TIME = "1767225600"  # of all files in a wheel; zip knows no time before 1980


def build(folder: pathlib.Path, quick: bool) -> pathlib.Path:
    shutil.copytree(ROOT, folder / "tree", ignore=LEFT_OUT)
    variables = os.environ | {"SOURCE_DATE_EPOCH": TIME, "STREAMTOK_QUICK_BUILD": str(int(quick))}
    command = [sys.executable, "-m", "pip", "wheel", ".", "--no-deps", "--no-build-isolation", "-w", str(folder)]
    subprocess.run(command, cwd=folder / "tree", env=variables, check=True, stdout=subprocess.DEVNULL)
    (wheel,) = folder.glob("*.whl")
    return wheel


def differing(wheels: list[pathlib.Path]) -> list[str]:
    """Names of the files that are not the same; the wheel's own where the files are."""
    with zipfile.ZipFile(wheels[0]) as first, zipfile.ZipFile(wheels[1]) as second:
        names = set(first.namelist()) | set(second.namelist())
        common = set(first.namelist()) & set(second.namelist())
        found = sorted(name for name in names if name not in common or first.read(name) != second.read(name))
    if not found and wheels[0].read_bytes() != wheels[1].read_bytes():
        return [wheels[0].name]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="compile without optimization")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="streamtok-wheels-") as name:
        folders = [pathlib.Path(name, each) for each in ("one", "the-other")]
        wheels = [build(folder, options.quick) for folder in folders]
        found = differing(wheels)
    print("\n".join(f"differs: {each}" for each in found) or "two builds gave the same bytes")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
