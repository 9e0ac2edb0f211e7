"""Sources into shards: plain files of lines by byte ranges, parquet files by row groups, all other files whole, small
ones several together."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ..errors import shown
from ..files.arrow_package import parquet
from ..files.members import SUFFIXES as PACKED
from ..files.ranges import line_at
from ..files.remote import file_at, is_url
from ..files.suffixes import documents_of


class Range(NamedTuple):
    """A part of a source: begin .. end - 1. unit: "bytes" of the file, where a line belongs to the range in which its
    first byte lies; or "row groups"."""

    unit: str
    begin: int
    end: int


@dataclass(frozen=True)
class Shard:
    """One piece of work.

    Attributes:
        source: the name of the source, as Spec.source_names() has it; of several the first.
        range: the part of it; None for all of it.
        size: bytes on the disk.
        joined: the names of all sources, in their order, where it has several.
    """

    source: str
    range: Range | None
    size: int
    joined: tuple[str, ...] = ()

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of all its sources."""
        return self.joined or (self.source,)


_SMALL = 16  # a file of less than this part of shard_bytes is joined with others
_TOGETHER = 4  # up to this part of it: there are shards enough for many workers
_UNPACKED = 4  # a compressed file counts as so many times its size
_MOST_JOINED = 10_000  # files of a shard: its manifest names each


def plan(sources: Iterable[str], shard_bytes: int, *, base: str = ".", documents: str | None = None) -> list[Shard]:
    """The shards of these sources, in their order.

    A plain file of lines or JSON lines is cut at ends of lines, into ranges of `shard_bytes` or a little more. A
    compressed file is a shard, and so is a file that is one document. The row groups of a parquet file are joined
    up to `shard_bytes` of their unpacked size.

    Files of less than a sixteenth of `shard_bytes` that stand behind each other are joined, whole and in their order,
    up to a quarter of it, and up to 10,000; a compressed one counts as four times its size. So the documents of all
    shards are those of the sources, in their order.

    Args:
        sources: names of files.
        shard_bytes: of a file, about so many go into a shard.
        base: the folder that relative names start at.
        documents: what documents are, as for encode_file.

    Raises:
        OSError: a file is missing or cannot be read.
        ValueError: shard_bytes is below 1.
    """
    if shard_bytes < 1:
        raise ValueError(f"shard_bytes={shown(shard_bytes)} takes no bytes: write 1 or more")
    shards = (shard for name in sources for shard in _shards_of(name, shard_bytes, base, documents))
    return list(_joined(shards, shard_bytes))


def _joined(shards: Iterable[Shard], shard_bytes: int) -> Iterator[Shard]:
    """The shards, small files joined."""
    held: list[Shard] = []
    size = 0
    for shard in shards:
        counted = shard.size * (_UNPACKED if shard.source.lower().endswith(tuple(PACKED)) else 1)
        is_small = shard.range is None and counted * _SMALL < shard_bytes
        if held and (not is_small or (size + counted) * _TOGETHER > shard_bytes or len(held) == _MOST_JOINED):
            yield _one_of(held)
            held, size = [], 0
        if is_small:
            held.append(shard)
            size += counted
        else:
            yield shard
    if held:
        yield _one_of(held)


def _one_of(held: list[Shard]) -> Shard:
    if len(held) == 1:
        return held[0]
    names = tuple(each.source for each in held)
    return Shard(names[0], None, sum(each.size for each in held), names)


def _shards_of(name: str, shard_bytes: int, base: str, documents: str | None) -> Iterator[Shard]:
    path = name if is_url(name) else os.path.join(base, name)
    if is_url(name):
        yield Shard(name, None, file_at(name).bytes_on_disk())
        return
    size = os.stat(path).st_size
    if name.lower().endswith(".parquet"):
        yield from _row_groups(name, path, shard_bytes, size)
        return
    kind = documents_of(name) if documents is None else documents
    if kind == "text" or os.path.splitext(name)[1].lower() in PACKED or size <= shard_bytes:
        yield Shard(name, None, size)
        return
    with open(path, "rb", buffering=0) as file:
        begin = 0
        while begin < size:
            end = line_at(file, min(begin + shard_bytes, size), size)
            yield Shard(name, Range("bytes", begin, end), end - begin)
            begin = end


def _row_groups(name: str, path: str, shard_bytes: int, size: int) -> Iterator[Shard]:
    """Shards of a parquet file; it is one where its row groups cannot be read, which encoding it will explain."""
    try:
        with open(path, "rb") as file:
            facts = parquet().read_metadata(file)
            sizes = [facts.row_group(number).total_byte_size for number in range(facts.num_row_groups)]
    except Exception:
        sizes = []
    borders, held = [0], 0
    for number, each in enumerate(sizes):
        held += each
        if held >= shard_bytes or number + 1 == len(sizes):
            borders.append(number + 1)
            held = 0
    if len(borders) <= 2:
        yield Shard(name, None, size)
        return
    for begin, end in itertools.pairwise(borders):
        yield Shard(name, Range("row groups", begin, end), size * sum(sizes[begin:end]) // max(1, sum(sizes)))
