"""arrow: an Arrow file with a row for each document: `document`, its number from 0 (uint64), and `input_ids`, a list of
uint32 (or int32). Needs pyarrow."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from ... import disk
from .base import STORED, Facts, RowFormat
from .reading import Array, Tokenized, no_file

_MOST_IDS = (1 << 31) - 1  # of a batch: its offsets are int32


class Arrow(RowFormat):
    """See the module."""

    name = "arrow"
    dtypes = ("uint32", "int32")

    def check_machine(self) -> None:
        pyarrow()

    def build(self, out: str, facts: Facts) -> None:
        pa = pyarrow()
        with disk.named(out), pa.OSFile(out, "wb") as sink:
            with pa.ipc.new_file(sink, schema(facts.dtype)) as writer:
                for batch in batches(facts):
                    writer.write_batch(batch)
        put_on_disk(out)


def pyarrow() -> Any:
    """The package, with the parts that are needed here. Raises ImportError that says what to install."""
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(f"this format needs pyarrow: pip install pyarrow ({error})") from None
    return pa


def schema(dtype: str) -> Any:
    """The columns of a row."""
    pa = pyarrow()
    return pa.schema([("document", pa.uint64()), ("input_ids", pa.list_(getattr(pa, dtype)()))])


def batches(facts: Facts) -> Iterator[Any]:
    """All documents as record batches."""
    pa, first = pyarrow(), 0
    for ids, ends in facts.rows():
        if len(ids) > _MOST_IDS:
            raise ValueError(f"a document of {len(ids)} ids is longer than a list of Arrow can be: split it")
        offsets = pa.array(np.concatenate([np.zeros(1, np.int32), ends.astype(np.int32)]))
        lists = pa.ListArray.from_arrays(offsets, pa.array(ids))
        numbers = pa.array(np.arange(first, first + len(ends), dtype=np.uint64))
        yield pa.record_batch([numbers, lists], schema=schema(facts.dtype))
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

    return Tokenized(path, "arrow", found, ends, take)
