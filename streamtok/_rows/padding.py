"""Texts in rows of one length with pads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._batch import thread_map
from ..native.rows import Ragged, pad
from .shape import check_template

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._protocols import Ids, Places, Template
    from .shape import Shape

_AT_ONCE = 1 << 22
"""Numbers that are written in one call; between two of them Python handles signals. Fewer are not worth a thread."""


def padded(
    ids: Ids, starts: Places, template: Template, shape: Shape, num_threads: int | None
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """(ids, mask) of shape (texts, length). template: ids around those of each text, which are never left out."""
    prefix, suffix = (np.array(part, np.uint32) for part in template)
    around, texts = len(prefix) + len(suffix), len(starts) - 1
    longest = int(np.diff(starts).max(initial=0)) + around if texts else 0
    length = shape.row_length(longest)
    kept = shape.ids_kept(longest)
    check_template(kept, around if texts else 0)
    out, mask = (np.empty(texts * length, shape.dtype) for _ in range(2))
    ragged, value, width = Ragged(ids, starts), shape.pad % 2**64, shape.dtype.itemsize

    def write(span: tuple[int, int]) -> None:
        limits = length, kept, shape.keeps_end, shape.is_left
        pad(ragged, prefix, suffix, *limits, value, width, out, mask, *span)

    step = max(1, _AT_ONCE // max(1, length))
    spans = [(first, min(first + step, texts)) for first in range(0, texts, step)]
    thread_map(write, spans, num_threads)
    return out.reshape(texts, length), mask.reshape(texts, length)
