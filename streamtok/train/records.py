"""Pieces and their counts as blocks of records, in memory or in files, which can be read several times."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from .. import disk
from ..errors import VocabularyError
from ..native.checksum import crc32

PARTS = 64
"""Parts of a spilled table, by the hash of the piece: one at a time is put together in memory, from all spills."""


class Blocks:
    """Blocks of records, in memory or in a file: all distinct pieces, each once."""

    def __init__(
        self, blocks: list[bytes] | None = None, path: str = "", sizes: list[int] | None = None, crc: int = 0
    ) -> None:
        self._blocks, self.path, self.crc = blocks, path, crc
        self.sizes = [] if sizes is None else sizes

    def __iter__(self) -> Iterator[bytes]:
        if self._blocks is not None:
            yield from self._blocks
            return
        at = 0
        for size in self.sizes:
            yield read_part(self.path, at, size)
            at += size

    def drop(self) -> None:
        """Frees memory. Files stay, and can be read again; their owner removes them."""
        if self._blocks is not None:
            self._blocks = []


class Store:
    """A folder of spilled tables. durable: what was added survives a crash, once sync() has returned."""

    def __init__(self, folder: str, durable: bool) -> None:
        self.folder, self.durable = folder, durable
        self.spills: list[dict[str, Any]] = []

    def add(self, parts: list[bytes]) -> None:
        """Write the parts of a table. Safe from any thread, if one at a time calls it."""
        name = f"spill-{len(self.spills):06d}.bin"
        crc = write_file(os.path.join(self.folder, name), parts, self.durable)
        self.spills.append({"name": name, "sizes": [len(part) for part in parts], "crc": crc})

    def part(self, index: int) -> Iterator[bytes]:
        """One part of each spill."""
        for spill in self.spills:
            sizes = spill["sizes"]
            yield read_part(os.path.join(self.folder, spill["name"]), sum(sizes[:index]), sizes[index])

    def clear(self) -> None:
        for spill in self.spills:
            disk.remove(os.path.join(self.folder, spill["name"]))
        self.spills = []

    def check(self) -> None:
        """Raise VocabularyError for a spill that was changed since it was written."""
        for spill in self.spills:
            check_file(os.path.join(self.folder, spill["name"]), sum(spill["sizes"]), spill["crc"])


def write_file(path: str, blocks: Any, durable: bool) -> int:
    """Write the blocks as one file, which appears whole or not at all; returns their CRC-32."""
    crc = 0

    def write(file: disk.File) -> None:
        nonlocal crc
        for block in blocks:
            file.write(block)
            crc = crc32(block, crc)

    disk.replace(path, write, durable=durable)
    return crc


def check_file(path: str, size: int, crc: int) -> None:
    """Raise VocabularyError unless the file has this size and CRC-32, PermissionError for another user's, or a link."""
    try:
        with disk.open_read(path) as file:
            length = file.size()
            sound = length == size and disk.checksum(file, size) == (0, crc)
    except FileNotFoundError:
        raise VocabularyError(
            "this file of the checkpoint is missing; remove the checkpoint to begin anew", path
        ) from None
    if not sound:
        raise VocabularyError(
            f"this file of the checkpoint is damaged: it has {length} bytes of {size}, or their CRC-32 is wrong; "
            "remove the checkpoint to begin anew",
            path,
        )


def read_part(path: str, at: int, size: int) -> bytes:
    """`size` bytes of a file of a checkpoint, from byte `at` on. Raises VocabularyError where they are not there."""
    with disk.open_read(path) as file:
        file.seek(at)
        data = file.read_all(size)
    if len(data) != size:
        raise VocabularyError("this file became shorter while it was read; is another program using it?", path)
    return data
