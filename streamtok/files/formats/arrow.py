"""arrow: an Arrow file with a row for each document: `document`, its number from 0 (uint64), `input_ids`, a list of
uint32 (or int32), and the columns that are carried along. Needs pyarrow."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import disk
from ..arrow_package import pyarrow
from .base import STORED, Facts, RowFormat, rows_with_columns
from .reading import Array, Tokenized, no_file

if TYPE_CHECKING:
    from ..carried import Carrying

OWN = ("document", "input_ids")
"""The columns that every such file has."""

_MOST_IDS = (1 << 31) - 1  # of a batch: its offsets are int32


class Arrow(RowFormat):
    """See the module."""

    name = "arrow"
    dtypes = ("uint32", "int32")

    def check_machine(self) -> None:
        pyarrow()

    def check_carried(self, carrying: Carrying) -> None:
        for name in carrying.names:
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
    carried = [] if facts.carried is None else list(zip(facts.carried.names, facts.carried.types))
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


def carried_names(found: Any) -> list[str]:
    """The columns beside the ids, which are in a file once each."""
    return [name for name in found.names if name not in OWN and found.names.count(name) == 1]


def sliced(found: Any, group: Callable[[int], Any], firsts: Any, begin: int, end: int) -> Any:
    """The rows begin .. end - 1 of the columns of the schema `found`. group(i): a table of them; firsts: the first row
    of each, and the number of all."""
    first = int(np.searchsorted(firsts, begin, "right")) - 1
    last = max(first + 1, int(np.searchsorted(firsts, end, "left")))
    tables = [found.empty_table()]
    for i in range(first, min(last, len(firsts) - 1)):
        table, at = group(i), int(firsts[i])
        table.validate(full=True)
        tables.append(table[max(0, begin - at) : max(0, end - at)])
    return pyarrow().concat_tables(tables)


def read(path: str, dtype: str | None) -> Tokenized:
    """Rows of a list of ids, mapped."""
    pa = pyarrow()
    if not os.path.getsize(path):
        raise no_file(path, "Arrow file", "it is empty")
    try:
        opened = pa.ipc.open_file(pa.memory_map(path))
        found = dtype_of(path, opened.schema)
        groups = [lists_of(path, opened.get_batch(i).column("input_ids")) for i in range(opened.num_record_batches)]
    except (pa.ArrowException, OSError) as error:
        raise no_file(path, "Arrow file", str(error)) from None
    sizes = [np.diff(offsets.astype(np.int64)) for _, offsets in groups]
    firsts = np.cumsum([0, *map(len, sizes)])
    ends = np.cumsum(np.concatenate([np.empty(0, np.int64), *sizes])).astype(np.uint64)

    def take(i: int) -> Array:
        group = int(np.searchsorted(firsts, i, "right")) - 1
        ids, offsets = groups[group]
        at = i - int(firsts[group])
        return ids[offsets[at] : offsets[at + 1]].astype(STORED[found], copy=False)

    names = carried_names(opened.schema)
    schema = pa.schema([opened.schema.field(name) for name in names])

    def columns(begin: int, end: int) -> Any:
        try:
            return sliced(
                schema, lambda i: pa.Table.from_batches([opened.get_batch(i).select(names)]), firsts, begin, end
            )
        except (pa.ArrowException, OSError) as error:
            raise no_file(path, "Arrow file", str(error)) from None

    return Tokenized(path, "arrow", found, ends, take, carried=names, columns=columns)
