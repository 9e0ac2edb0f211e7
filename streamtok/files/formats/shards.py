"""What the folders of mds and litdata share: files of samples, each `uint32 count`, `uint32 offsets[count + 1]` from
the file's beginning, what the format puts there, and the samples; and an index.json that names the files.

Neither program holds an empty document: those are left out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ... import disk
from . import base
from .base import STORED, Facts
from .reading import Array, bounded, mapped, no_file

_MOST_BYTES = 1 << 32  # of a file: its offsets are uint32
_MOST_INDEX = 1 << 30  # bytes of an index.json that is read


class Samples:
    """The ids of all documents that have any, in their order: as samples, or as ids behind each other."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._blocks = facts.rows()
        self._ids: Array = np.empty(0, STORED[facts.dtype])

    def files(self, size_of: Callable[[int], int], empty: int, limit: int) -> Iterator[list[int]]:
        """How many ids each sample of each file has. size_of(count): what the program counts for a sample; empty: for a
        file without one; limit: of a file, behind which it begins another."""
        lengths: list[int] = []
        size = empty
        for block in base.lengths(self._facts):
            for count in block[block > 0].tolist():
                more = size_of(count)
                if size + more > limit:
                    yield lengths
                    lengths, size = [], empty
                lengths.append(count)
                size += more
        if lengths:
            yield lengths

    def take(self, count: int) -> Iterator[Array]:
        """The next `count` ids, some at a time."""
        while count:
            if not len(self._ids):
                self._ids = next(self._blocks)[0]
            yield self._ids[:count]
            taken = min(count, len(self._ids))
            self._ids = self._ids[taken:]
            count -= taken


def write_samples(path: str, sizes: list[int], samples: Iterable[Any], between: bytes = b"") -> int:
    """Write a file of samples and put it on the disk. Returns its size.

    Args:
        path: of the file, which does not exist.
        sizes: bytes of each sample.
        samples: all of them behind each other, as buffers of any size.
        between: the bytes behind the offsets.

    Raises ValueError where it would be too long for its offsets.
    """
    first = 4 + 4 * (len(sizes) + 1) + len(between)
    offsets = first + np.cumsum([0, *sizes], dtype=np.int64)
    size = int(offsets[-1])
    if size >= _MOST_BYTES:
        raise ValueError(f"a document of {size} bytes is longer than the offsets of this format can tell: split it")
    with disk.open_new(path) as file:
        file.write(len(sizes).to_bytes(4, "little") + offsets.astype("<u4").tobytes() + between)
        for block in samples:
            file.write(block)
        file.sync()
    return size


def write_file(path: str, data: bytes) -> None:
    """Write a file and put it on the disk."""
    with disk.open_new(path) as file:
        file.write(data)
        file.sync()


def read_index(folder: str) -> dict[str, Any]:
    """The object in index.json."""
    path = os.path.join(folder, "index.json")
    with open(path, "rb") as file:
        data = file.read(_MOST_INDEX)
    try:
        index = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise no_file(path, "index of samples", f"it is not JSON ({error})") from None
    if not isinstance(index, dict):
        raise no_file(path, "index of samples", "it is no JSON object")
    return index


def list_in(folder: str, index: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """The list of objects at `key` of the index."""
    found = index.get(key)
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise no_file(os.path.join(folder, "index.json"), "index of samples", f"it has no list of objects at {key!r}")
    return found


def sample_file(folder: str, name: Any, count: Any) -> tuple[Array, Array]:
    """The bytes of a file of samples, mapped, and its offsets. name, count: what the index says."""
    index = os.path.join(folder, "index.json")
    if not isinstance(name, str) or os.path.basename(name) != name or name in ("", ".", ".."):
        raise no_file(index, "index of samples", f"{name!r:.100} names no file in this folder")
    if type(count) is not int or count < 0:
        raise no_file(index, "index of samples", f"{name!r:.100} has {count!r:.100} samples")
    path = os.path.join(folder, name)
    data = mapped(path, "u1", 0, None)
    there = int(mapped(path, "<u4", 0, 1)[0])
    if there != count:
        raise no_file(path, "file of samples", f"it has {there}, and the index tells {count}")
    offsets = mapped(path, "<u4", 4, count + 1)
    bounded(path, "file of samples", offsets, len(data))
    if int(offsets[0]) < 4 + 4 * (count + 1) or int(offsets[-1]) != len(data):
        raise no_file(path, "file of samples", "its samples do not begin behind the offsets and end with the file")
    return data, offsets


def whole_lengths(path: str, sizes: Array, dtype: str) -> Array:
    """How many ids so many bytes are. Raises ValueError where they are no whole number, or none."""
    counts, rest = np.divmod(sizes, STORED[dtype].itemsize)
    if bool((rest != 0).any()) or bool((sizes <= 0).any()):
        raise no_file(path, "folder of ids", f"a sample is no whole number of {dtype}, or empty")
    return counts


def samples_in(
    files: list[Array], begins: list[Array], lengths: list[Array], dtype: str
) -> Callable[[int, int], Array]:
    """What gives the ids of sample i of a file: by where they begin in its bytes, and how many they are."""
    stored = STORED[dtype]

    def take(file: int, i: int) -> Array:
        begin, count = int(begins[file][i]), int(lengths[file][i])
        return np.frombuffer(files[file][begin : begin + count * stored.itemsize], stored)

    return take
