"""The unfinished file of passthrough columns, `<dst>.partial.passthrough`, and what a format reads of it at the end.

Each block of the file is a size (uint64), the kinds of JSON values in each column (uint16), and a stream of Arrow's.
Where blocks begin depends on how the text was cut and on where a run was resumed. What is read of them at the end
does not: rows are joined anew.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import disk
from .arrow_package import pyarrow
from .growing import Growing, State
from .passthrough import Passthrough, converted

_BLOCK = 1 << 20  # bytes of values that are held before they are written
_ROW_BYTES = 16  # of a row and column without values of its own, as row_bytes() counts


class PassthroughFile(Growing):
    """Where passthrough columns are kept while a run lasts. One thread calls append() and flush()."""

    def __init__(self, path: str, target: str, passthrough: Passthrough, path_before: str) -> None:
        """path_before: where earlier releases kept them; what is there gets the name of now."""
        super().__init__(path, target)
        self.passthrough, self._path_before = passthrough, path_before
        self._waiting: list[Any] = []
        self._kinds: tuple[int, ...] = ()  # of those
        self._held = 0

    def open(self) -> None:
        if os.path.lexists(self._path_before) and not os.path.lexists(self.path):
            disk.rename(self._path_before, self.path)
        super().open()

    def append(self, batch: Any, kinds: tuple[int, ...]) -> None:
        """Take the next rows, a record batch; kinds: of the values of JSON in each column (passthrough.py)."""
        if batch.nbytes > _BLOCK and batch.num_rows > 1:
            half = batch.num_rows // 2
            self.append(batch[:half], kinds)
            self.append(batch[half:], kinds)
            return
        if self._waiting and (self._kinds != kinds or self._waiting[0].schema != batch.schema):
            self.flush()
        self._waiting.append(batch)
        self._kinds = kinds
        self._held += batch.nbytes
        if self._held >= _BLOCK:
            self.flush()

    def flush(self) -> State:
        if not self._waiting:
            return super().flush()
        pa = pyarrow()
        made = pa.BufferOutputStream()
        with pa.ipc.new_stream(made, self._waiting[0].schema) as writer:
            for batch in self._waiting:
                writer.write_batch(batch)
        body = made.getvalue()
        head = self._head().pack(body.size, *self._kinds)
        for block in (head, memoryview(body)):
            self.write(block)
        self._waiting, self._held = [], 0
        return super().flush()

    def _head(self) -> struct.Struct:
        return struct.Struct(f"<Q{len(self.passthrough.names)}H")

    def settled(self) -> PassthroughColumns:
        """The columns with their types, once all values are there."""
        kinds = [0] * len(self.passthrough.names)
        if self.passthrough.is_open:
            for _, found in self._blocks():
                kinds = [known | more for known, more in zip(kinds, found)]
        return PassthroughColumns(
            self.passthrough.names, self.passthrough.settled(kinds), lambda types: self._read(types, kinds)
        )

    def _blocks(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """The size of each block, whose bytes come next in the file, and the kinds in it."""
        head, at = self._head(), 0
        while at < self.size:
            self.file.seek(at)
            size, *kinds = head.unpack(self.file.read_all(head.size))
            yield size, tuple(kinds)
            at += head.size + size

    def _read(self, types: Sequence[Any], all_kinds: Sequence[int]) -> Iterator[list[Any]]:
        """The values of each column, batch by batch."""
        pa = pyarrow()
        for size, kinds in self._blocks():
            for batch in pa.ipc.open_stream(self.file.read_all(size)):
                yield [
                    converted(column, kind, wanted, whole) if known is None else column
                    for column, kind, wanted, whole, known in zip(
                        batch.columns, kinds, types, all_kinds, self.passthrough.types
                    )
                ]


@dataclass(frozen=True)
class PassthroughColumns:
    """Passthrough columns at the end of a run.

    Attributes:
        names: of the columns.
        types: their Arrow types.
        read: the arrays of all columns, batch by batch from the first row; to be called with `types`, as often as
            needed.
    """

    names: Sequence[str]
    types: Sequence[Any]
    read: Callable[[Sequence[Any]], Iterator[list[Any]]]

    def reader(self) -> PassthroughRows:
        """Reads the rows from the first one."""
        return PassthroughRows(self)


class PassthroughRows:
    """Gives the rows of passthrough columns in order, joined anew: how they were written does not tell."""

    def __init__(self, columns: PassthroughColumns) -> None:
        self._batches = columns.read(columns.types)
        self._held: list[Any] = []
        self._done = 0  # rows of it

    def take(self, most_rows: int, most_bytes: int) -> list[Any]:
        """The arrays of the next rows: as many as most_rows, and as most_bytes allow, but one at least. Raises
        ValueError where there is none."""
        parts: list[list[Any]] = []
        rows = used = 0
        while rows < most_rows:
            if not self._held or self._done == len(self._held[0]):
                self._held, self._done = next(self._batches, []), 0
                if not self._held:
                    raise ValueError("there are fewer passthrough rows than documents: another program changed them")
                continue
            rest = [column[self._done : self._done + most_rows - rows] for column in self._held]
            sizes = np.cumsum(sum(map(row_bytes, rest))) + used
            fitting = int(np.searchsorted(sizes, most_bytes, "right"))
            count = fitting if rows or fitting else 1
            parts.append([column[:count] for column in rest])
            rows += count
            self._done += count
            if fitting < len(sizes):
                break
            used = int(sizes[-1])
        return [_joined(list(column)) for column in zip(*parts)]


def _joined(parts: list[Any]) -> Any:
    """One array of these, whose buffers tell nothing but its values: none is behind a null, or of another offset."""
    pa = pyarrow()
    whole = pa.concat_arrays([part for part in parts if len(part)] or parts[:1])
    return pa.compute.take(whole, pa.array(np.arange(len(whole))))


def row_bytes(array: Any) -> Any:
    """About how many bytes the value of each row takes, int64."""
    pa = pyarrow()
    kind, types = array.type, pa.types
    sizes = np.full(len(array), _ROW_BYTES, np.int64)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind) or types.is_large_binary(kind):
        lengths = pa.compute.binary_length(array).fill_null(0)
        sizes += lengths.to_numpy(zero_copy_only=False).astype(np.int64)
    elif types.is_struct(kind):
        for child in array.flatten():
            sizes += row_bytes(child)
    elif types.is_fixed_size_list(kind):
        if len(array) and kind.list_size:
            inner = row_bytes(array.values[array.offset * kind.list_size :][: len(array) * kind.list_size])
            sizes += inner.reshape(len(array), kind.list_size).sum(1)
    elif types.is_list(kind) or types.is_large_list(kind) or types.is_map(kind):
        inner = array.values if not types.is_map(kind) else pa.StructArray.from_arrays([array.keys, array.items], "kv")
        ends = array.offsets.to_numpy().astype(np.int64)
        first, last = (int(ends[0]), int(ends[-1])) if len(ends) else (0, 0)
        sums = np.concatenate([[0], np.cumsum(row_bytes(inner[first:last]))])
        sizes += sums[ends[1:] - first] - sums[ends[:-1] - first]
    return sizes
