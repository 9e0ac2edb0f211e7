"""parquet: a Parquet file with a row for each document, the columns of `arrow`. Needs pyarrow.

The ids lie there as they are: neither a dictionary of them, nor statistics, nor compression. With all three, which are
pyarrow's defaults, the file is about half as large, and writing it takes three times as long. Columns that are carried
along have all three.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import disk
from ...errors import shown
from ..arrow_package import parquet, pyarrow
from .arrow import OWN, Arrow, batches, carried_names, dtype_of, lists_of, put_on_disk, schema_of, sliced
from .base import STORED, Facts
from .reading import Array, Tokenized, no_file

if TYPE_CHECKING:
    from ..carried import Carrying

_GROUP_IDS = 1 << 23  # ids of a row group, if no document is longer: 32 MB
_GROUP_BYTES = 1 << 26  # of it, with the numbers of documents and the columns that are carried along


class Parquet(Arrow):
    """See the module."""

    name = "parquet"

    def check_machine(self) -> None:
        parquet()

    def check_carried(self, carrying: Carrying) -> None:
        super().check_carried(carrying)
        pa = pyarrow()
        for name, kind in zip(carrying.names, carrying.types):
            try:
                with parquet().ParquetWriter(pa.BufferOutputStream(), pa.schema([(name, kind or pa.null())])):
                    pass
            except pa.ArrowException as error:
                raise ValueError(
                    f"format='parquet' has no place for column {shown(name)} of type {kind}: {error}; leave it out, or "
                    "write format='arrow'"
                ) from None

    def build(self, out: str, facts: Facts) -> None:
        pa = pyarrow()
        columns = schema_of(facts)
        with disk.named(out), parquet().ParquetWriter(out, columns, **_how(columns)) as writer:
            held: list[Any] = []
            count = held_bytes = 0
            for batch in batches(facts):
                held.append(batch)
                count += len(batch.column(1).values)
                held_bytes += batch.nbytes
                if count >= _GROUP_IDS or held_bytes >= _GROUP_BYTES:
                    writer.write_table(pa.Table.from_batches(held, columns))
                    held, count, held_bytes = [], 0, 0
            if held:
                writer.write_table(pa.Table.from_batches(held, columns))
        put_on_disk(out)


def _how(columns: Any) -> dict[str, Any]:
    """How columns are written: carried ones with pyarrow's defaults."""
    pa = pyarrow()
    empty = pa.BufferOutputStream()
    with parquet().ParquetWriter(empty, columns):
        pass
    leaves = parquet().read_metadata(pa.BufferReader(empty.getvalue())).schema
    carried = [leaves.column(at).path for at in range(len(OWN), len(leaves))]
    return {
        "use_dictionary": carried or False,
        "write_statistics": [OWN[0], *carried],
        "compression": dict.fromkeys(carried, "snappy") if carried else "none",
    }


def read(path: str, dtype: str | None) -> Tokenized:
    """Rows of a list of ids. Opening reads the column once, row group by row group, to know where documents end; a
    document is read with its row group, which is kept until one of another is asked for."""
    pa = pyarrow()
    try:
        opened = parquet().ParquetFile(path)
        found = dtype_of(path, opened.schema_arrow)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise no_file(path, "Parquet file", str(error)) from None

    def group(i: int) -> tuple[Array, Array]:
        try:
            column = opened.read_row_group(i, columns=["input_ids"]).column(0).combine_chunks()
            return lists_of(path, column)
        except (pa.ArrowException, OSError) as error:
            raise no_file(path, "Parquet file", str(error)) from None

    sizes = [np.diff(group(i)[1].astype(np.int64)) for i in range(opened.num_row_groups)]
    firsts = np.cumsum([0, *map(len, sizes)])
    ends = np.cumsum(np.concatenate([np.empty(0, np.int64), *sizes])).astype(np.uint64)
    kept: dict[int, tuple[Array, Array]] = {}

    def take(i: int) -> Array:
        which = int(np.searchsorted(firsts, i, "right")) - 1
        if which not in kept:
            kept.clear()
            kept[which] = group(which)
        ids, offsets = kept[which]
        at = i - int(firsts[which])
        return ids[offsets[at] : offsets[at + 1]].astype(STORED[found], copy=False)

    names = carried_names(opened.schema_arrow)
    schema = pa.schema([opened.schema_arrow.field(name) for name in names])

    def columns(begin: int, end: int) -> Any:
        try:
            return sliced(schema, lambda i: opened.read_row_group(i, columns=names).select(names), firsts, begin, end)
        except (pa.ArrowException, OSError) as error:
            raise no_file(path, "Parquet file", str(error)) from None

    return Tokenized(path, "parquet", found, ends, take, carried=names, columns=columns)
