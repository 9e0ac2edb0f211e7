"""What the generators of tables share: they write their files, or compare them with what they would write."""

from __future__ import annotations

import argparse
import pathlib
import sys


def arguments(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file on disk differs")
    return parser


def write_or_check(files: dict[pathlib.Path, str], check: bool) -> int:
    """Writes the files, or compares them; returns the exit status."""
    for path, text in files.items():
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"{path.name} is not what its source gives; run python {sys.argv[0]}", file=sys.stderr)
            return 1
    return 0
