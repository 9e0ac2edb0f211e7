"""What the generators of tables share: they write their files, or compare them with what they would write."""

from __future__ import annotations

import argparse
import pathlib
import sys
import zlib
from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

Arrays: TypeAlias = dict[str, "np.ndarray[tuple[int], np.dtype[np.integer]]"]
Content: TypeAlias = str | Arrays


def arguments(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file on disk differs")
    return parser


def numbers(dtype: str, values: Iterable[int]) -> np.ndarray[tuple[int], np.dtype[np.integer]]:
    """An array for a file .npz, little-endian. setup.py makes the C of it."""
    return np.array(list(values), np.dtype(dtype).newbyteorder("<"))


def checksum(arrays: Arrays) -> str:
    """CRC-32 of the bytes of all arrays, in their order."""
    return f"{zlib.crc32(b''.join(array.tobytes() for array in arrays.values())):#010x}"


def _is_there(path: pathlib.Path, content: Content) -> bool:
    if not path.exists():
        return False
    if isinstance(content, str):
        return path.read_text(encoding="utf-8") == content
    with np.load(path) as found:
        return {name: (a.dtype, a.tobytes()) for name, a in found.items()} == {
            name: (a.dtype, a.tobytes()) for name, a in content.items()
        }


def write_or_check(files: dict[pathlib.Path, Content], check: bool) -> int:
    """Writes the files, texts and .npz, or compares them; returns the exit status."""
    for path, content in files.items():
        if not check and isinstance(content, str):
            path.write_text(content, encoding="utf-8")
        elif not check:
            np.savez_compressed(path, **content)
        elif not _is_there(path, content):
            print(f"{path.name} is not what its source gives; run python {sys.argv[0]}", file=sys.stderr)
            return 1
    return 0
