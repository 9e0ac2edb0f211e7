"""Random places of a dataset as text: a look at what a trainer will see."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import shown
from .reading import Found, Shards, encoding_of

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
    shards = Shards(name)
    decoder = encoding_of(shards.dataset, encoding)
    total = shards.dataset.ids
    generator = random.Random(seed)
    return [_place(shards.holder_of(generator.randrange(total)), length, decoder) for _ in range(count if total else 0)]


def _place(found: Found, length: int, decoder: Encoding) -> Place:
    ids = found.ids[found.begin : found.begin + length]
    text = decoder.decode_bytes(ids.tolist()).decode("utf-8", "replace")
    values = found.documents.values(found.number)
    return Place(found.source, found.shard, found.number, found.begin, len(ids), text, values)
