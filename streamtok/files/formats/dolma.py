"""dolma: ids without a header in NAME.npy, and NAME.csv.gz with a row for each document: where it begins and ends, in
ids, its name, its source, and its number in the source from 1. The name is what dolma gives a document that has none:
the sha256 of the source's name, and the number."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import zlib
from array import array
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from .base import Facts, Format, with_suffix
from .reading import Tokenized, flat, no_file

if TYPE_CHECKING:
    from ...disk import File

_ROWS_AT_ONCE = 1 << 12
_LONGEST_ROW = 1 << 16  # characters; a path has fewer


class Dolma(Format):
    """See the module."""

    name = "dolma"
    wants_ends = True
    wants_starts = True

    def check_target(self, target: str) -> None:
        with_suffix(target, self.name, ".npy", "and NAME.csv.gz")

    def sides(self, target: str) -> list[str]:
        return [_table_of(target)]

    def write_side(self, index: int, file: File, facts: Facts) -> None:
        # A gzip file without a name and a time: the same for the same documents. Level 1 takes a third of the time of
        # the default, and a fifth more bytes.
        packer = zlib.compressobj(1, wbits=31)
        for text in _rows(facts):
            file.write(packer.compress(text.encode("utf-8", "surrogateescape")))
        file.write(packer.flush())


def _rows(facts: Facts) -> Iterator[str]:
    """The table, some rows at a time."""
    borders = [*facts.starts[1:], facts.documents]  # behind the documents of each source
    number = begin = source = 0
    row = _row_of(facts.sources[0])
    for ends in facts.ends():
        places, at = ends.tolist(), 0
        while at < len(places):
            while source < len(borders) - 1 and number >= borders[source]:
                source += 1
                row = _row_of(facts.sources[source])
            first = borders[source - 1] if source else 0
            following = min(at + _ROWS_AT_ONCE, len(places))
            if source < len(borders) - 1:
                following = min(following, at + borders[source] - number)
            some = places[at:following]
            numbers = range(number - first + 1, number - first + 1 + len(some))
            yield "".join(map(row, [begin, *some], some, numbers))
            number += len(some)
            at, begin = following, some[-1]


def _row_of(name: str) -> Callable[[int, int, int], str]:
    """What makes rows of the documents of this source: begin, end, number."""
    digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()
    text = io.StringIO()
    csv.writer(text).writerow(["", name, ""])
    quoted = text.getvalue().rstrip("\r\n")  # between its commas
    return lambda begin, end, number: f"{begin},{end},{digest}-{number}{quoted}{number}\r\n"


def _table_of(target: str) -> str:
    return with_suffix(target, "dolma", ".npy", "and NAME.csv.gz") + ".csv.gz"


def read(path: str, dtype: str | None) -> Tokenized:
    """Ids, and the documents that the table tells, which cover them."""
    table, ends = _table_of(path), array("Q")
    try:
        with gzip.open(table, "rt", encoding="utf-8", errors="surrogateescape", newline="") as lines:
            before = 0
            for row in csv.reader(iter(lambda: lines.readline(_LONGEST_ROW), "")):
                begin, end = int(row[0]), int(row[1])
                if begin != before or end < begin:
                    raise no_file(table, "table of documents", f"row {len(ends) + 1} is from {begin} to {end}")
                ends.append(end)
                before = end
    except (IndexError, OverflowError, EOFError, zlib.error, gzip.BadGzipFile, csv.Error) as error:
        raise no_file(table, "table of documents", str(error)) from None
    return flat(path, "dolma", dtype, 0, None, np.frombuffer(ends, np.uint64) if ends else np.empty(0, np.uint64))
