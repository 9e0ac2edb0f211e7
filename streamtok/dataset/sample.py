"""Random places of a dataset as text: a look at what a trainer will see."""

from __future__ import annotations

import bisect
import itertools
import os
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import shown
from .manifest import read_dataset
from .reading import encoding_of, open_shard

if TYPE_CHECKING:
    from ..core import Encoding

__all__ = ["Place", "sample"]


@dataclass(frozen=True)
class Place:
    """Some ids of a document, as text.

    Attributes:
        source: the name of the source.
        shard: the name of the shard.
        document: its number in the shard, from 0.
        begin: how many ids of the document lie in front.
        ids: how many these are.
        text: bytes that are no whole character are U+FFFD.
        carried: the values of the columns that the document carries, by name.
    """

    source: str
    shard: str
    document: int
    begin: int
    ids: int
    text: str
    carried: dict[str, Any] = field(default_factory=dict)


def sample(
    folder: str | os.PathLike[str], count: int = 5, *, seed: int = 0, length: int = 64, encoding: Encoding | None = None
) -> list[Place]:
    """Decode random places of a dataset. Each id is as likely to be the first of a place as any other.

    Args:
        folder: of the dataset.
        count: how many places.
        seed: the same gives the same places.
        length: ids of each, fewer where the document ends before.
        encoding: where the dataset was made with one that is not bundled.

    Raises:
        ValueError: the encoding is not that of the dataset; nothing says where documents end; the manifest is damaged,
            or a file is not what it says.
        FileNotFoundError: no build has ended here.
    """
    name = os.fspath(folder)
    for what, value in (("count", count), ("length", length)):
        if value < 1:
            raise ValueError(f"{what}={shown(value)} shows nothing: write 1 or more")
    dataset = read_dataset(name)
    decoder = encoding_of(dataset, encoding)
    totals = list(itertools.accumulate(shard["ids"] for shard in dataset.shards))
    if not totals or not totals[-1]:
        return []
    generator = random.Random(seed)
    opened: dict[int, Any] = {}
    found = []
    for at in (generator.randrange(totals[-1]) for _ in range(count)):
        place = bisect.bisect_right(totals, at)
        shard = dataset.shards[place]
        if place not in opened:
            opened = {place: open_shard(name, dataset, shard)}  # one at a time: a folder may hold very many
        found.append(_place(opened[place], shard, at - (totals[place] - shard["ids"]), length, decoder))
    return found


def _place(documents: Any, shard: dict[str, Any], at: int, length: int, decoder: Encoding) -> Place:
    number = int(documents.ends.searchsorted(at, "right"))
    begin = at - (int(documents.ends[number - 1]) if number else 0)
    ids = documents[number][begin : begin + length]
    text = decoder.decode_bytes(ids.tolist()).decode("utf-8", "replace")
    return Place(shard["source"], shard["name"], number, begin, len(ids), text, documents.values(number))
