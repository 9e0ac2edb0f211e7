"""The shards of a dataset, opened one after the other."""

from __future__ import annotations

import bisect
import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._named import load_encoding
from ..errors import shortened, shown
from ..files.formats import Tokenized, format_named, open_documents
from .manifest import DatasetManifest, read_dataset, sources_of

if TYPE_CHECKING:
    from ..core import Encoding

_AT_ONCE = 1 << 20  # ids that are read at a time


def open_shard(folder: str, dataset: DatasetManifest, shard: dict[str, Any]) -> Tokenized:
    """The documents of one shard.

    Raises ValueError where nothing says where they end, or a file is not what the manifest says; OSError.
    """
    if not _tells_ends(dataset.options):
        raise ValueError(
            f"{shortened(folder)}: nothing says where documents end in these shards: build them with index = true"
        )
    opened, problem = _opened(folder, dataset.options, shard)
    if problem:
        raise ValueError(f"{shortened(opened.path)} {problem}: verify the dataset, and build it again")
    return opened


def miscounted(folder: str, options: dict[str, Any], shard: dict[str, Any]) -> str:
    """What is wrong with the numbers of documents and ids that a manifest says of a shard, by its files; "" where they
    are right. Of files that do not tell where documents end, the ids alone."""
    try:
        opened, problem = _opened(folder, options, shard)
    except (OSError, ValueError) as error:
        return str(error)
    return f"{shown(os.path.basename(opened.path))} {problem}" if problem else ""


def _tells_ends(options: dict[str, Any]) -> bool:
    return bool(options["index"]) or not format_named(options["format"]).can_index


def _opened(folder: str, options: dict[str, Any], shard: dict[str, Any]) -> tuple[Tokenized, str]:
    """The documents of a shard, and how their numbers differ from its manifest."""
    format = format_named(options["format"])
    path = os.path.join(folder, shard["files"][0]["name"].split("/")[0])
    opened = open_documents(path, format.name, options["dtype"])
    documents, ids = len(opened), int(opened.ends[-1]) if len(opened.ends) else 0
    if not _tells_ends(options) or (documents < shard["documents"] and not format.keeps_empty):
        documents = shard["documents"]
    if (documents, ids) == (shard["documents"], shard["ids"]):
        return opened, ""
    says = f"{shard['ids']} in {shard['documents']}"
    return opened, f"has {ids} ids in {documents} documents, and the manifest says {says}"


@dataclass(frozen=True)
class Found:
    """A document of a dataset.

    Attributes:
        source: the name of its source.
        shard: the name of its shard.
        documents: of the shard.
        number: of the document in the shard, from 0.
        begin: how many of its ids lie in front of the id that was asked for.
    """

    source: str
    shard: str
    documents: Tokenized
    number: int
    begin: int = 0

    @property
    def ids(self) -> Any:
        """Those of the document."""
        return self.documents[self.number]


class Shards:
    """The documents of a dataset, in the order of the plan. One shard is open at a time: a folder may hold very many.

    Raises ValueError, OSError as open_shard() and read_dataset() do.
    """

    def __init__(self, folder: str) -> None:
        self._folder, self.dataset = folder, read_dataset(folder)
        self._totals = list(itertools.accumulate(shard["ids"] for shard in self.dataset.shards))
        self._opened: tuple[int, Tokenized] | None = None

    def document(self, number: int) -> Found:
        """The document with this number among those of all shards, from 0. Raises IndexError where there is none."""
        keeps_empty, behind = format_named(self.dataset.options["format"]).keeps_empty, 0
        for place, shard in enumerate(self.dataset.shards):
            count = shard["documents"] if keeps_empty else len(self._open(place))
            if number < behind + count:
                return self._found(place, number - behind)
            behind += count
        raise IndexError(f"there is no document {number}: the dataset has {behind}")

    def holder_of(self, at: int) -> Found:
        """The document with the id `at` among all ids of the dataset."""
        place = bisect.bisect_right(self._totals, at)
        at -= self._totals[place] - self.dataset.shards[place]["ids"]
        ends = self._open(place).ends
        number = int(ends.searchsorted(at, "right"))
        return self._found(place, number, at - (int(ends[number - 1]) if number else 0))

    def _open(self, place: int) -> Tokenized:
        if self._opened is None or self._opened[0] != place:
            self._opened = None  # before another one is opened
            self._opened = place, open_shard(self._folder, self.dataset, self.dataset.shards[place])
        return self._opened[1]

    def _found(self, place: int, number: int, begin: int = 0) -> Found:
        shard, opened = self.dataset.shards[place], self._open(place)
        return Found(_source_of(shard, number, len(opened)), shard["name"], opened, number, begin)


def _source_of(shard: dict[str, Any], number: int, documents: int) -> str:
    """The source of document `number` of a shard with so many."""
    counts = sources_of(shard)
    if len(counts) > 1 and documents != shard["documents"]:  # which ones are empty, and were left out, is not known
        return f"{counts[0][0]} or one of {len(counts) - 1} others"
    borders = list(itertools.accumulate(count for _, count in counts))
    return counts[bisect.bisect_right(borders, number)][0]


def blocks(documents: Tokenized) -> Iterator[tuple[Any, Any]]:
    """The ids of whole documents, some at a time, and behind how many of these each ends (uint64)."""
    import numpy as np

    ends, at, begin = documents.ends, 0, 0
    while at < len(ends):
        following = max(int(np.searchsorted(ends, begin + _AT_ONCE, "right")), at + 1)
        end = int(ends[following - 1])
        if documents.ids is not None:
            ids = documents.ids[begin:end]
        else:
            ids = np.concatenate([documents[i] for i in range(at, following)])
        yield ids, np.asarray(ends[at:following]) - np.uint64(begin)
        at, begin = following, end


def encoding_of(dataset: DatasetManifest, given: Encoding | None) -> Encoding:
    """The encoding that the dataset was made with. Raises ValueError where `given`, or the bundled one, is another."""
    encoding = given
    if encoding is None:
        try:
            encoding = load_encoding(dataset.encoding, ".")
        except (OSError, ValueError):
            raise ValueError(
                f"the dataset was made with the encoding {shown(dataset.encoding)}, which is not bundled: name its "
                "file, with encoding="
            ) from None
    if encoding.fingerprint != dataset.fingerprint:
        raise ValueError(
            f"the dataset was made with another vocabulary than that of {shown(encoding.name)}: name the file that it "
            "was made with, with encoding="
        )
    return encoding
