"""Columns of text in Arrow's memory, encoded where they lie: Encoding.encode_arrow, and the lists of ids it returns.

Arrow's C data interface brings the text in and the ids out, so no library is needed here, and none is imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _device as devices
from .._batch import encode_texts
from ..errors import raise_of_row
from ..native.arrow import Column, ColumnError, lists_array, lists_schema

if TYPE_CHECKING:
    from .._protocols import AllowedSpecial, DisallowedSpecial, Encoding, Ids, Places

__all__ = ["ColumnError", "ListArray", "column_of", "encode_arrow"]

MOST_SMALL = 2**31 - 1
"""Ids of an array of lists whose offsets have 32 bits."""


class ListArray:
    """The ids of a column, a list for each row: an Arrow array of type list<uint32>, or large_list<uint32> for 2**31
    ids and more. pyarrow, polars, pandas and others take it as it is, without a copy: pyarrow.array(ids),
    polars.Series(ids), pandas.Series.from_arrow(ids).

    Attributes:
        ids: the ids of all rows, a uint32 array.
        indptr: int64, of length rows + 1. The ids of row i are ids[indptr[i]:indptr[i + 1]].
        null_count: number of rows that are null; they have no ids.
    """

    def __init__(self, ids: Ids, indptr: Places, nulls: bytes | None = None, null_count: int = 0) -> None:
        self.ids, self.indptr, self.null_count = ids, indptr, null_count
        self._nulls = nulls
        self._is_large = len(ids) > MOST_SMALL
        self._offsets: Any = indptr if self._is_large else indptr.astype(np.int32)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __repr__(self) -> str:
        kind = "large_list" if self._is_large else "list"
        return f"<ListArray {kind}<uint32>, rows: {len(self)}, nulls: {self.null_count}, ids: {len(self.ids)}>"

    def __arrow_c_schema__(self) -> Any:
        """A capsule with the type, as Arrow's PyCapsule interface has it."""
        return lists_schema(self._is_large)

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        """Capsules with the type and the array, as Arrow's PyCapsule interface has it."""
        array = lists_array(self.ids, self._offsets, self._is_large, self._nulls, self.null_count)
        return lists_schema(self._is_large), array


def column_of(data: Any, column: str | None = None) -> Column:
    """The column of text that an Arrow array, a chunked one, or a table or record batch with the column's name brings.

    Raises TypeError for what has no Arrow interface, ColumnError for what is no column of text or contradicts itself.
    """
    check = getattr(data, "validate", None)
    if check is not None and type(data).__module__.partition(".")[0] == "pyarrow":
        try:  # it knows how long its buffers are, which the interface does not tell
            check()
        except ValueError as error:
            raise ColumnError(f"pyarrow refuses this array: {error}") from None
    if hasattr(data, "__arrow_c_array__"):
        schema, array = data.__arrow_c_array__()
        return Column(schema, array, column)
    if hasattr(data, "__arrow_c_stream__"):
        return Column(data.__arrow_c_stream__(), None, column)
    raise TypeError(
        f"expected an Arrow array, a chunked array, a table or a record batch, got {type(data).__name__}; "
        "for a list of texts use encode_ragged"
    )


def encode_arrow(
    encoding: Encoding,
    data: Any,
    column: str | None,
    num_threads: int | None,
    allowed_special: AllowedSpecial,
    disallowed_special: DisallowedSpecial,
    add_special_tokens: bool,
    errors: str,
    device: str,
) -> ListArray:
    """As Encoding.encode_arrow."""
    matchers = encoding._matchers_for(allowed_special, disallowed_special)
    coder = encoding._coder_for(errors)
    found = column_of(data, column)
    try:
        if device != "cpu":
            ids, indptr = devices.encode_many(encoding, device, found.texts, matchers, errors, num_threads)
        else:
            ids, indptr = encode_texts(coder, found.texts, *matchers, num_threads)
    except Exception as error:
        raise_of_row(error, "row")
    if add_special_tokens:
        ids, indptr = _in_template(ids, indptr, encoding, found)
    return ListArray(ids, indptr, found.nulls, found.null_count)


def _in_template(ids: Ids, indptr: Places, encoding: Encoding, found: Column) -> tuple[Ids, Places]:
    """With the ids of the template around those of each row that is not null."""
    from .._arrays import rows_in_template

    if found.nulls is None:
        return rows_in_template(ids, indptr, encoding._template)
    there = np.unpackbits(np.frombuffer(found.nulls, np.uint8), count=found.rows, bitorder="little").astype(bool)
    rows = np.concatenate([indptr[:1], indptr[1:][there]])  # nulls have no ids, so those of the others touch
    made, starts = rows_in_template(ids, rows, encoding._template)
    return made, starts[np.concatenate([[0], np.cumsum(there)])]
