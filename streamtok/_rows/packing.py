"""Documents of ids packed into rows of one length."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import numpy.typing as npt

    from ..native.rows import Plan
    from .shape import Shape


def pack(
    documents: Any,
    length: int,
    *,
    how: str = "concatenate",
    eot: int | None = None,
    pad_id: int = 0,
    dtype: npt.DTypeLike = "int64",
    sources: bool = False,
) -> tuple[npt.NDArray[Any], ...]:
    """(ids, cu_seqlens, position_ids) of documents packed into rows of `length` ids.

    A sequence is what of a document lies in one row. ids and position_ids have the shape (rows, length); positions
    count from 0 in each sequence. cu_seqlens, int32, says where sequences begin in ids.ravel(), and where the last
    one ends, as attention kernels for rows of several lengths take it.

    With how="concatenate" the documents stand one behind the other, and each row takes the next `length` ids: no pads
    but at the end of the last row, and a document is cut wherever a row ends. With how="best-fit" only a document
    longer than a row is cut, into whole rows and a rest; the rests are put, the longest first, into the row with the
    least room that is enough, and what stays free in a row are pads ("Fewer Truncations Improve Language Modeling",
    Ding et al., 2024). These pads are a sequence of their own, so that no document sees them; only behind the last
    document there is none. Rows come in the order in which they were opened, so the longest documents come first:
    shuffle the rows.

    >>> ids, cu_seqlens, position_ids = streamtok.pack(enc.encode_ragged(texts), 4096, eot=enc.eot_token)
    >>> torch.from_numpy(ids)  # no copy

    Args:
        documents: a list of documents, each a list or an array of ids; the pair (ids, indptr) that encode_ragged()
            returns, as a tuple; an Arrow array of lists; or an array of two dimensions.
        length: ids of a row.
        how: "concatenate" or "best-fit".
        eot: the id that ends each document; None: none does.
        pad_id: the id that fills rows. Pads have position 0.
        dtype: of ids and positions: "uint16", "int16", "uint32", "int32", "int64" or "uint64".
        sources: also return a fourth array, int64: for each sequence the number of its document, -1 for pads.

    Raises:
        ValueError: a length below 1, and above 2**24 with "best-fit"; an unknown `how` or dtype; a dtype that does not
            hold all ids; row starts that do not ascend from 0 to the number of ids; null documents; 2**31 ids or more
            in all rows.
        TypeError: documents of something else than integers; the message has their number.
        OverflowError: an id that is negative or does not fit in 32 bits.
    """
    import numpy as np

    from ..native.rows import Plan, Ragged
    from .documents import check_ids, ragged_of
    from .shape import check_packing, check_room, shape_of

    check_packing(how, length)
    shape = shape_of(length, dtype, pad_id, None, end=eot)
    ids, starts = ragged_of(documents)
    check_ids(ids, starts, shape.dtype)
    check_room(len(ids) + (len(starts) - 1 if eot is not None else 0))
    check_room(len(starts))
    plan = Plan(Ragged(ids, starts), eot is not None, length, how == "best-fit")
    rows = -(-plan.total // length)
    check_room(rows * length)
    made, positions = (np.empty(rows * length, shape.dtype) for _ in range(2))
    _write(plan, shape, made, positions)
    places, numbers = np.empty(plan.count + 1, np.int32), np.empty(plan.count, np.int64)
    plan.places(places, numbers)
    result = made.reshape(rows, length), places, positions.reshape(rows, length)
    return (*result, numbers) if sources else result


_AT_ONCE = 1 << 22
"""Ids that are written in one call; between two of them Python handles signals."""


def _write(plan: Plan, shape: Shape, ids: npt.NDArray[Any], positions: npt.NDArray[Any]) -> None:
    step = max(1, plan.count // (len(ids) // _AT_ONCE + 1))
    pad, end = shape.pad % 2**64, (shape.end or 0) % 2**64
    for first in range(0, max(1, plan.count), step):
        last = min(first + step, plan.count)
        plan.write(end, pad, shape.dtype.itemsize, ids, positions, first, last)
