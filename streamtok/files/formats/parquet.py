"""parquet: a Parquet file with a row for each document, the columns of `arrow`. Needs pyarrow.

The ids lie there as they are: neither a dictionary of them, nor statistics, nor compression. With all three, which are
pyarrow's defaults, the file is about half as large, and writing it takes three times as long.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import disk
from .arrow import Arrow, batches, dtype_of, lists_of, put_on_disk, pyarrow, schema
from .base import STORED, Facts
from .reading import Array, Tokenized, no_file

_GROUP_IDS = 1 << 23  # ids of a row group, if no document is longer: 32 MB


class Parquet(Arrow):
    """See the module."""

    name = "parquet"

    def build(self, out: str, facts: Facts) -> None:
        pa = pyarrow()
        columns = schema(facts.dtype)
        plain = {"use_dictionary": False, "write_statistics": ["document"], "compression": "none"}
        with disk.named(out), pa.parquet.ParquetWriter(out, columns, **plain) as writer:
            held: list[Any] = []
            count = 0
            for batch in batches(facts):
                held.append(batch)
                count += len(batch.column(1).values)
                if count >= _GROUP_IDS:
                    writer.write_table(pa.Table.from_batches(held, columns))
                    held, count = [], 0
            if held:
                writer.write_table(pa.Table.from_batches(held, columns))
        put_on_disk(out)


def read(path: str, dtype: str | None) -> Tokenized:
    """Rows of a list of ids. Opening reads the column once, row group by row group, to know where documents end; a
    document is read with its row group, which is kept until one of another is asked for."""
    pa = pyarrow()
    try:
        opened = pa.parquet.ParquetFile(path)
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

    return Tokenized(path, "parquet", found, ends, take)
