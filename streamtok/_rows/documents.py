"""Documents of ids, in whatever form a caller has them, as one row of ids and row starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._checks import as_numpy, id_array
from ..errors import shown

if TYPE_CHECKING:
    from .._protocols import Ids, Places


def ragged_of(documents: Any) -> tuple[Ids, Places]:
    """(ids, row starts) of a tuple (ids, row starts), an Arrow array of lists, an array of two dimensions, or an
    iterable of documents; uint32 and int64, contiguous. Nothing is copied that has this form already.

    Raises ValueError and TypeError for anything else."""
    if isinstance(documents, tuple):
        return _pair(documents)
    if hasattr(documents, "chunks") and hasattr(documents, "combine_chunks"):  # a pyarrow.ChunkedArray
        parts = [ragged_of(chunk) for chunk in documents.chunks]
        return _joined(parts)
    if hasattr(documents, "offsets") and hasattr(documents, "values"):  # a pyarrow.ListArray or LargeListArray
        return _arrow(documents)
    if isinstance(documents, (str, bytes, bytearray)):
        raise TypeError(f"documents are of type {type(documents).__name__}: give ids, as from encode_ragged")
    found = None if isinstance(documents, list) else as_numpy(documents)
    if found is None:
        return _listed(list(documents))
    if found.ndim != 2:
        raise ValueError(f"documents are an array of shape {found.shape}: give [ids] for a single document, or rows")
    ids = np.asarray(id_array(found.reshape(-1)))
    return ids, np.arange(len(found) + 1, dtype=np.int64) * found.shape[1]


def _pair(pair: tuple[Any, ...]) -> tuple[Ids, Places]:
    form = "a tuple is the pair (ids, indptr), as encode_ragged returns it; several documents are a list"
    if len(pair) != 2:
        raise ValueError(f"documents are a tuple of {len(pair)} items: {form}")
    given = as_numpy(pair[1], "indptr")
    starts = np.asarray(pair[1]) if given is None else given
    if starts.ndim != 1 or starts.dtype.kind not in "iu":
        raise ValueError(f"indptr is an array of shape {starts.shape} of {starts.dtype}: {form}")
    ids = np.asarray(id_array(pair[0]))
    starts = np.array(starts, np.int64)  # a copy: what is checked stays true, whoever writes to the caller's array
    is_good = len(starts) and starts[0] == 0 and starts[-1] == len(ids) and bool((starts[1:] >= starts[:-1]).all())
    if not is_good:
        raise ValueError(f"indptr must ascend from 0 to the number of ids, {len(ids)}: {form}")
    return ids, starts


def _arrow(lists: Any) -> tuple[Ids, Places]:
    if lists.null_count or lists.values.null_count:
        what = "documents" if lists.null_count else "ids"
        raise ValueError(
            f"{lists.null_count or lists.values.null_count} {what} are null: leave them out, as with drop_null"
        )
    offsets = np.asarray(lists.offsets).astype(np.int64)
    values = np.asarray(lists.values)[offsets[0] : offsets[-1]]
    return np.asarray(id_array(values)), offsets - offsets[0]


def _listed(documents: list[Any]) -> tuple[Ids, Places]:
    rows = [_row(document, index) for index, document in enumerate(documents)]
    starts = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=starts[1:])
    return np.concatenate(rows) if rows else np.zeros(0, np.uint32), starts


def _row(document: Any, index: int) -> Ids:
    if type(document) is np.ndarray and document.dtype == np.uint32 and document.ndim == 1:
        return document
    if isinstance(document, (str, bytes)):
        raise TypeError(f"document {index} is of type {type(document).__name__}: give ids, as from encode_to_numpy")
    try:
        return np.asarray(id_array(document))
    except (TypeError, ValueError, OverflowError) as error:
        raise type(error)(f"document {index}: {error}") from None


def _joined(parts: list[tuple[Ids, Places]]) -> tuple[Ids, Places]:
    if not parts:
        return np.zeros(0, np.uint32), np.zeros(1, np.int64)
    ids = np.concatenate([ids for ids, _ in parts]) if len(parts) > 1 else parts[0][0]
    sizes = np.concatenate([np.diff(starts) for _, starts in parts])
    return ids, np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])


def check_ids(ids: Ids, starts: Places, dtype: np.dtype) -> None:
    """Raises ValueError where the dtype does not hold all ids, and names the document of the first."""
    most = int(np.iinfo(dtype).max)
    if most >= 0xFFFFFFFF or not len(ids) or int(ids.max()) <= most:
        return
    first = int(np.argmax(ids > most))
    document = int(np.searchsorted(starts, first, "right")) - 1
    raise ValueError(
        f"dtype={shown(dtype.name)} holds ids up to {most}, and document {document} has the id {int(ids[first])}: "
        "write a wider dtype"
    )
