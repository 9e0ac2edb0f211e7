"""dolma: ids without a header in NAME.npy, and NAME.csv.gz with a row for each document: where it begins and ends, in
ids, its name, its source, and its number in the source from 1. The name is what dolma gives a document that has none:
the sha256 of the source's name, and the number."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import itertools
import zlib
from array import array
from collections.abc import Iterator
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
        packer = zlib.compressobj(wbits=31)  # a gzip file without a name and a time: the same for the same documents
        rows = _rows(facts)
        while some := list(itertools.islice(rows, _ROWS_AT_ONCE)):
            text = io.StringIO()
            csv.writer(text).writerows(some)
            file.write(packer.compress(text.getvalue().encode("utf-8", "surrogateescape")))
        file.write(packer.flush())


def _rows(facts: Facts) -> Iterator[tuple[int, int, str, str, int]]:
    starts = [*facts.starts[1:], facts.documents]
    begin = number = source = 0
    name = facts.sources[0]
    digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()
    first = 0
    for ends in facts.ends():
        for end in ends.tolist():
            while source < len(starts) - 1 and number >= starts[source]:
                first = starts[source]
                source += 1
                name = facts.sources[source]
                digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()
            number += 1
            yield begin, end, f"{digest}-{number - first}", name, number - first
            begin = end


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
