"""dolma: ids without a header in NAME.npy, and NAME.csv.gz with a row for each document: where it begins and ends, in
ids, its name, its source, and its number in the source from 1. The name is what dolma gives a document that has none:
the sha256 of the source's name, and the number; or what is carried as `id`."""

from __future__ import annotations

import contextlib
import csv
import gzip
import hashlib
import importlib.util
import io
import itertools
import os
import zlib
from array import array
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import shown
from ..arrow_package import pyarrow
from .base import Facts, Format, with_suffix
from .reading import Tokenized, flat, no_file

if TYPE_CHECKING:
    from ...disk import File
    from ..passthrough import Passthrough
    from ..passthrough_file import PassthroughColumns

_ID = "id"
_WHOLE = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
_BYTES_AT_ONCE = 1 << 22  # of names
_ROWS_AT_ONCE = 1 << 12
_LONGEST_ROW = 1 << 16  # characters; a path has fewer


class Writer(Format):
    """See the module."""

    name = "dolma"
    wants_ends = True
    wants_starts = True

    def check_passthrough(self, passthrough: Passthrough) -> None:
        for name, kind in zip(passthrough.names, passthrough.types):
            if name != _ID or str(kind) not in ("None", "null", "string", "large_string", *_WHOLE):
                raise ValueError(
                    f"format='dolma' has a place for one passthrough column, {_ID!r}, of text or whole numbers, not "
                    f"for {shown(name)}: leave it out, or write format='parquet', format='arrow' or format='mds'"
                )

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


class _Ids:
    """The names of documents that are carried, in their order."""

    def __init__(self, columns: PassthroughColumns) -> None:
        self._reader = columns.reader()

    def take(self, count: int) -> Iterator[Any]:
        """Those of the next `count` documents; None where one has none."""
        while count:
            some = self._reader.take(count, _BYTES_AT_ONCE)[0].to_pylist()
            count -= len(some)
            yield from some


def _rows(facts: Facts) -> Iterator[str]:
    """The table, some rows at a time."""
    carried = None if facts.passthrough is None else _Ids(facts.passthrough)
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
            names = itertools.repeat(None) if carried is None else carried.take(len(some))
            yield "".join(map(row, [begin, *some], some, numbers, names))
            number += len(some)
            at, begin = following, some[-1]


def _row_of(name: str) -> Callable[[int, int, int, Any], str]:
    """What makes rows of the documents of this source: begin, end, number, and its own name or None."""
    digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()
    text = io.StringIO()
    csv.writer(text).writerow(["", name, ""])
    quoted = text.getvalue().rstrip("\r\n")  # between its commas

    def row(begin: int, end: int, number: int, own: Any) -> str:
        if own is None:
            return f"{begin},{end},{digest}-{number}{quoted}{number}\r\n"
        text = io.StringIO()
        csv.writer(text).writerow([begin, end, own, name, number])
        return text.getvalue()

    return row


def _table_of(target: str) -> str:
    return with_suffix(target, "dolma", ".npy", "and NAME.csv.gz") + ".csv.gz"


def is_one(path: str) -> bool:
    """Whether its name and the table beside it say so."""
    stem, suffix = os.path.splitext(path)
    return suffix.lower() == ".npy" and os.path.exists(stem + ".csv.gz")


@contextlib.contextmanager
def _opened(table: str, errors: str) -> Iterator[Iterator[list[str]]]:
    """The rows of a table. Where one is damaged, ValueError names the table."""
    with gzip.open(table, "rt", encoding="utf-8", errors=errors, newline="") as lines:
        try:
            yield csv.reader(iter(lambda: lines.readline(_LONGEST_ROW), ""))
        except (IndexError, OverflowError, EOFError, zlib.error, gzip.BadGzipFile, csv.Error) as error:
            raise no_file(table, "table of documents", str(error)) from None


def read(path: str, dtype: str | None) -> Tokenized:
    """Ids, and the documents that the table tells, which cover them."""
    table, ends, before = _table_of(path), array("Q"), 0
    with _opened(table, "surrogateescape") as rows:
        for row in rows:
            begin, end = int(row[0]), int(row[1])
            if begin != before or end < begin:
                raise no_file(table, "table of documents", f"row {len(ends) + 1} is from {begin} to {end}")
            ends.append(end)
            before = end
    found = flat(path, "dolma", dtype, 0, None, np.frombuffer(ends, np.uint64) if ends else np.empty(0, np.uint64))
    if importlib.util.find_spec("pyarrow") is None:
        return found
    return found.with_columns([_ID], lambda begin, end: _ids_in(table, begin, end))


def _ids_in(table: str, begin: int, end: int) -> Any:
    """The names of the documents begin .. end - 1, as an Arrow table."""
    pa = pyarrow()
    with _opened(table, "replace") as rows:
        ids = [row[2] for row in itertools.islice(rows, begin, end)]
    return pa.table({_ID: pa.array(ids, pa.string())})
