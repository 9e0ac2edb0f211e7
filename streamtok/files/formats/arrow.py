"""arrow: an Arrow file with a row for each document: `document`, its number from 0 (uint64), `input_ids`, a list of
uint32 (or int32), and the passthrough columns. Needs pyarrow."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ... import disk
from ..arrow_package import pyarrow
from .base import STORED, Facts, RowFormat, rows_with_columns
from .reading import Array, Tokenized, grouped, no_file

if TYPE_CHECKING:
    from ..passthrough import Passthrough

OWN = ("document", "input_ids")
"""The columns that every such file has."""

_MOST_IDS = (1 << 31) - 1  # of a batch: its offsets are int32


class Writer(RowFormat):
    """See the module."""

    name = "arrow"
    dtypes = ("uint32", "int32")

    def check_machine(self) -> None:
        pyarrow()

    def check_passthrough(self, passthrough: Passthrough) -> None:
        for name in passthrough.names:
            if name in OWN:
                raise ValueError(f"format={self.name!r} has a column {name!r} of its own: rename the one in the source")

    def build(self, out: str, facts: Facts) -> None:
        pa = pyarrow()
        with disk.named(out), pa.OSFile(out, "wb") as sink:
            with pa.ipc.new_file(sink, schema_of(facts)) as writer:
                for batch in batches(facts):
                    writer.write_batch(batch)
        put_on_disk(out)


def schema_of(facts: Facts) -> Any:
    """The columns of a row."""
    pa = pyarrow()
    carried = [] if facts.passthrough is None else list(zip(facts.passthrough.names, facts.passthrough.types))
    return pa.schema([*zip(OWN, (pa.uint64(), pa.list_(getattr(pa, facts.dtype)()))), *carried])


def batches(facts: Facts) -> Iterator[Any]:
    """All documents as record batches."""
    pa, first, columns = pyarrow(), 0, schema_of(facts)
    for ids, ends, carried in rows_with_columns(facts):
        if len(ids) > _MOST_IDS:
            raise ValueError(f"a document of {len(ids)} ids is longer than a list of Arrow can be: split it")
        offsets = pa.array(np.concatenate([np.zeros(1, np.int32), ends.astype(np.int32)]))
        lists = pa.ListArray.from_arrays(offsets, pa.array(ids))
        numbers = pa.array(np.arange(first, first + len(ends), dtype=np.uint64))
        yield pa.record_batch([numbers, lists, *carried], schema=columns)
        first += len(ends)


def put_on_disk(path: str) -> None:
    """Return once the file would survive a power cut."""
    with disk.open_own(path) as file:
        file.sync()


def dtype_of(path: str, found: Any) -> str:
    """The dtype of the ids in a file with this schema."""
    pa = pyarrow()
    for name in ("uint32", "int32", "uint16"):
        if "input_ids" in found.names and found.field("input_ids").type == pa.list_(getattr(pa, name)()):
            return name
    raise no_file(path, "file of ids", f"no column 'input_ids' of lists of integers is in it, only {found.names[:9]}")


def lists_of(path: str, column: Any) -> tuple[Array, Array]:
    """The ids of a ListArray behind each other, and the offsets of its rows."""
    column.validate(full=True)
    if column.null_count or column.values.null_count:
        raise no_file(path, "file of ids", "a row, or an id, is null")
    return column.values.to_numpy(), column.offsets.to_numpy()


_R = TypeVar("_R")
Lists = Callable[[int], tuple[Array, Array]]
Table = Callable[[int, list[str]], Any]


def rows_in(path: str, format: str, found: Any, count: int, lists: Lists, table: Table) -> Tokenized:
    """The documents of a file with this schema and so many groups. lists(i): the ids of a group, and the offsets of its
    rows; table(i, names): columns of it."""
    dtype, pa = dtype_of(path, found), pyarrow()
    lengths = [np.diff(lists(i)[1].astype(np.int64)) for i in range(count)]
    firsts = [0, *itertools.accumulate(map(len, lengths))]
    names = [name for name in found.names if name not in OWN and found.names.count(name) == 1]
    empty = pa.schema([found.field(name) for name in names]).empty_table()

    def take(group: int, i: int) -> Array:
        ids, offsets = lists(group)
        return ids[offsets[i] : offsets[i + 1]].astype(STORED[dtype], copy=False)

    def columns(begin: int, end: int) -> Any:
        tables = [empty]
        for i in range(count):
            if begin < firsts[i + 1] and end > firsts[i]:
                part = table(i, names)
                part.validate(full=True)
                tables.append(part[max(0, begin - firsts[i]) : end - firsts[i]])
        return pa.concat_tables(tables)

    return grouped(path, format, dtype, lengths, take, names, reading(path, format, columns))


def reading(path: str, format: str, function: Callable[..., _R]) -> Callable[..., _R]:
    """The function; what pyarrow says is wrong with the file is a ValueError that names it."""

    @functools.wraps(function)
    def call(*arguments: Any) -> _R:
        try:
            return function(*arguments)
        except FileNotFoundError:
            raise
        except (pyarrow().ArrowException, OSError) as error:
            raise no_file(path, f"{format.capitalize()} file", str(error)) from None

    return call


def is_one(path: str) -> bool:
    """Whether its name says so."""
    return path.lower().endswith(".arrow") and not os.path.isdir(path)


def read(path: str, dtype: str | None) -> Tokenized:
    """Rows of a list of ids, mapped."""
    if not os.path.getsize(path):
        raise no_file(path, "Arrow file", "it is empty")
    return reading(path, "arrow", _read)(path)


def _read(path: str) -> Tokenized:
    pa = pyarrow()
    opened = pa.ipc.open_file(pa.memory_map(path))
    dtype_of(path, opened.schema)
    groups = [lists_of(path, opened.get_batch(i).column("input_ids")) for i in range(opened.num_record_batches)]

    def table(i: int, names: list[str]) -> Any:
        return pa.Table.from_batches([opened.get_batch(i).select(names)])

    return rows_in(path, "arrow", opened.schema, len(groups), groups.__getitem__, table)
