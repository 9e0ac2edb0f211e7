"""Columns of mds beside the ids: how their values lie in a sample, written and read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...errors import shown
from ..arrow_package import pyarrow
from .reading import Array, no_file

_NUMBERS = {
    name: np.dtype(name).newbyteorder("<")
    for name in "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()
}
_NAMES = {"halffloat": "float16", "float": "float32", "double": "float64"}  # of Arrow, where they are others

Spans = dict[str, tuple[Array, Array]]
"""Where the value of each sample begins, and how many bytes it has, by the name of the column."""


class MdsColumn(NamedTuple):
    """A column: its name, encoding, and bytes of a value where these are always as many."""

    name: str
    encoding: str
    size: int | None

    @classmethod
    def named(cls, name: str, encoding: str) -> MdsColumn:
        """The column with this encoding."""
        return cls(name, encoding, _NUMBERS[encoding].itemsize if encoding in _NUMBERS else None)

    def encoded(self, array: Any) -> Sequence[bytes]:
        """The values of an Arrow array, as they lie in samples."""
        if self.size is not None:
            data = array.to_numpy(zero_copy_only=False).astype(_NUMBERS[self.encoding], copy=False).tobytes()
            return [data[at : at + self.size] for at in range(0, len(data), self.size)]
        if self.encoding == "str":
            return [each.encode() for each in array.to_pylist()]
        return [json.dumps(each).encode() for each in array.to_pylist()]

    def decoded(self, values: list[bytes]) -> Any:
        """The Arrow array of these values. Raises ValueError."""
        pa = pyarrow()
        if self.size is not None:
            return pa.array(np.frombuffer(b"".join(values), _NUMBERS[self.encoding]))
        if self.encoding == "str":
            return pa.array([each.decode() for each in values], pa.string())
        try:
            return pa.array([json.loads(each) for each in values])
        except RecursionError:
            raise ValueError("a value of JSON is nested too deeply") from None


def check_column(name: str, kind: Any) -> None:
    """Raises ValueError for a type of Arrow (None: one of JSON) whose values mds cannot hold."""
    if kind is not None and not _has_json(kind):
        raise ValueError(
            f"format='mds' has no place for column {shown(name)} of type {kind}: it holds text, numbers, truth values, "
            "and lists and structs of these; leave it out, or write format='parquet' or 'arrow'"
        )


def _has_json(kind: Any) -> bool:
    types = pyarrow().types
    if types.is_map(kind):
        return False
    if kind.num_fields:
        return all(_has_json(kind.field(at).type) for at in range(kind.num_fields))
    plain = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_null(kind)
    return bool(plain or types.is_string(kind) or types.is_large_string(kind))


def column_of(name: str, kind: Any, has_nulls: bool) -> MdsColumn:
    """The column for values of this type of Arrow."""
    number = _NAMES.get(str(kind), str(kind))
    if has_nulls or (number not in _NUMBERS and str(kind) not in ("string", "large_string")):
        return MdsColumn.named(name, "json")
    return MdsColumn.named(name, number if number in _NUMBERS else "str")


def spans_of(path: str, data: Array, offsets: Array, layout: Sequence[MdsColumn]) -> Spans:
    """Where the values lie in samples that begin and end at these offsets. Raises ValueError where they do not fit."""
    varying = [each.size is None for each in layout]
    head = 4 * sum(varying)
    begins, sizes = offsets[:-1], np.diff(offsets)
    if bool((sizes < head).any()):
        raise no_file(path, "folder of ids", "a sample is too short for the sizes of its columns")
    told = np.ascontiguousarray(data[begins[:, None] + np.arange(head)]).view("<u4").astype(np.int64)
    at, spans, column = begins + head, {}, 0
    for each in layout:
        if each.size is None:
            size = told[:, column]
            column += 1
        else:
            size = np.full(len(begins), each.size, np.int64)
        spans[each.name] = at, size
        at = at + size
    if bool((at != offsets[1:]).any()):
        raise no_file(path, "folder of ids", "the sizes of a sample's columns are not those of the sample")
    return spans


def decoded(
    path: str, files: list[Array], spans: list[Spans], layouts: list[list[MdsColumn]], begin: int, end: int
) -> Any:
    """The columns of the samples begin .. end - 1 of all files, as an Arrow table."""
    pa = pyarrow()
    tables: list[Any] = []
    first = 0
    for data, places, layout in zip(files, spans, layouts):
        count = len(next(iter(places.values()))[0])
        rows = range(max(begin - first, 0), min(end - first, count))
        first += count
        columns = {}
        for column in layout if len(rows) or not tables else ():
            if column.encoding.startswith("ndarray:"):
                continue
            at, sizes = places[column.name]
            values = [data[at[row] : at[row] + sizes[row]].tobytes() for row in rows]
            if column.encoding not in (*_NUMBERS, "str", "json"):
                raise no_file(path, "folder of ids", f"a column of encoding {shown(column.encoding)} is not read here")
            try:
                columns[column.name] = column.decoded(values)
            except (ValueError, RecursionError, pa.ArrowException) as error:
                raise no_file(path, "folder of ids", f"column {shown(column.name)}: {error}") from None
        if columns:
            tables.append(pa.table(columns))
    return pa.concat_tables(tables, promote_options="permissive") if tables else pa.table({})
