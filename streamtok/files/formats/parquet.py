"""parquet: a Parquet file with a row for each document, the columns of `arrow`. Needs pyarrow.

The ids lie there as they are: neither a dictionary of them, nor statistics, nor compression. With all three, which are
pyarrow's defaults, the file is about half as large, and writing it takes three times as long. Columns that are carried
along have all three.
"""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

from ... import disk
from ...errors import shown
from ..arrow_package import parquet, pyarrow
from . import arrow
from .arrow import OWN, batches, lists_of, put_on_disk, reading, rows_in, schema_of
from .base import Facts
from .reading import Array, Tokenized

if TYPE_CHECKING:
    from ..passthrough import Passthrough

_GROUP_IDS = 1 << 23  # ids of a row group, if no document is longer: 32 MB
_GROUP_BYTES = 1 << 26  # of it, with the numbers of documents and the passthrough columns


class Writer(arrow.Writer):
    """See the module."""

    name = "parquet"

    def check_machine(self) -> None:
        parquet()

    def check_passthrough(self, passthrough: Passthrough) -> None:
        super().check_passthrough(passthrough)
        pa = pyarrow()
        for name, kind in zip(passthrough.names, passthrough.types):
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


def is_one(path: str) -> bool:
    """Whether its name says so."""
    return path.lower().endswith(".parquet") and not os.path.isdir(path)


def read(path: str, dtype: str | None) -> Tokenized:
    """Rows of a list of ids. Opening reads the column once, row group by row group, to know where documents end; a
    document is read with its row group, which is kept until one of another is asked for."""
    return reading(path, "parquet", _read)(path)


def _read(path: str) -> Tokenized:
    opened = parquet().ParquetFile(path)

    @functools.lru_cache(maxsize=1)
    def lists(i: int) -> tuple[Array, Array]:
        return lists_of(path, opened.read_row_group(i, columns=["input_ids"]).column(0).combine_chunks())

    def table(i: int, names: list[str]) -> Any:
        return opened.read_row_group(i, columns=names).select(names)

    schema, count = opened.schema_arrow, opened.num_row_groups
    return rows_in(path, "parquet", schema, count, reading(path, "parquet", lists), table)
