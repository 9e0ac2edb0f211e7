"""A launch for short texts: which of a job's numbers change from one text to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._job import BLOCK, JOB, SHORT_STRETCH, place_in
from ._text import ShortText

if TYPE_CHECKING:
    from .._protocols import DeviceArray, Record
    from ._device import PreparedLaunch


def _number_of(field: str) -> int:
    """Which of a job's numbers a field is."""
    return place_in(JOB, field) // 8


_SOURCE, _SOURCE_SIZE = map(_number_of, ("source", "source_size"))
_SIZE, _BLOCKS, _STRETCHES = map(_number_of, ("size", "blocks", "stretches"))
_TRUSTED, _OUT, _OUT_CAPACITY = map(_number_of, ("trusted", "out", "out_capacity"))
_MARKS, _ROWS, _ROW_STARTS, _ROW_COUNT = map(_number_of, ("marks", "rows", "row_starts", "row_count"))

OF_ONE_TEXT = _SOURCE, _SOURCE_SIZE, _SIZE, _BLOCKS, _STRETCHES, _TRUSTED, _MARKS, _ROW_COUNT, _OUT, _OUT_CAPACITY
"""What a TextLaunch tells a job (native/launch.pyx)."""


class ShortCall:
    """A job for short texts, its launch, and what both point to. key: what they are made for."""

    def __init__(self, key: object, job: Record, data: DeviceArray, launch: PreparedLaunch, held: object) -> None:
        self.key, self.data, self.launch, self._held = key, data, launch, (job, held)
        # An item of an array of numbers takes a third of the time of a field of a record.
        self.numbers = job.reshape(1).view(np.uint64)
        self._text = int(job["text"])

    def begin(self, text: ShortText, out: int, capacity: int) -> None:
        """Tells the job of a text without rows, and where ids go."""
        numbers, size = self.numbers, text.size
        numbers[_SOURCE], numbers[_SOURCE_SIZE], numbers[_SIZE] = text.source, text.bytes, size
        numbers[_BLOCKS], numbers[_STRETCHES] = -(-size // BLOCK), -(-size // SHORT_STRETCH)
        numbers[_TRUSTED], numbers[_OUT], numbers[_OUT_CAPACITY] = text.trusted, out, capacity
        numbers[_MARKS] = numbers[_ROW_COUNT] = 0

    def set_rows(self, text: ShortText, starts: int) -> None:
        """Tells it of the rows, and where their starts go."""
        assert text.rows is not None
        numbers = self.numbers
        numbers[_MARKS], numbers[_ROWS] = self._text + text.size, self._text + text.place_of_rows
        numbers[_ROW_STARTS], numbers[_ROW_COUNT] = starts, text.rows
