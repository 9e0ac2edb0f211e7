"""Rows for models by their definition, in plain Python: padded and truncated, one behind the other, and best fit."""

from __future__ import annotations

import numpy as np


def padded(
    rows: list[list[int]],
    length: int | None,
    side: str = "right",
    pad: int = 0,
    truncate: str = "right",
    most: int | None = None,
    multiple: int = 1,
) -> tuple[np.ndarray, np.ndarray]:
    """(ids, mask)."""
    kept = length if length is not None else most
    rows = (
        rows
        if kept is None
        else [row[:kept] if truncate == "right" else row[max(0, len(row) - kept) :] for row in rows]
    )
    longest = max(map(len, rows), default=0)
    length = length if length is not None else -(-longest // multiple) * multiple
    ids, mask = np.full((len(rows), length), pad), np.zeros((len(rows), length))
    for i, row in enumerate(rows):
        at = slice(length - len(row), length) if side == "left" else slice(len(row))
        ids[i, at], mask[i, at] = row, 1
    return ids, mask


def packed(
    rows: list[list[int]], length: int, eot: int | None = None, pad: int = 0
) -> tuple[np.ndarray, list[int], np.ndarray]:
    """(ids, cu_seqlens, positions) of documents one behind the other."""
    ids, positions, begins = [], [], []
    for row in rows:
        for position, token in enumerate(row if eot is None else [*row, eot]):
            is_first = position == 0 or len(ids) % length == 0
            if is_first:
                begins.append(len(ids))
            positions.append(len(ids) - begins[-1])
            ids.append(token)
    fill = -len(ids) % length
    shape = -1, length
    return (
        np.array(ids + [pad] * fill, np.int64).reshape(shape),
        [*begins, len(ids)],
        np.array(positions + [0] * fill, np.int64).reshape(shape),
    )


def best_fit(
    documents: list[list[int]], length: int, eot: int | None = None, pad: int = 0
) -> tuple[np.ndarray, list[int], np.ndarray, list[int]]:
    """(ids, cu_seqlens, positions, documents of the sequences): every rest looks at every row."""
    rows: list[list[tuple[int, list[int]]]] = []
    rests: list[tuple[int, list[int]]] = []
    for number, document in enumerate(documents):
        whole = document if eot is None else [*document, eot]
        for at in range(0, len(whole), length):
            part = whole[at : at + length]
            (rows.append([(number, part)]) if len(part) == length else rests.append((number, part)))
    left, changed = [0] * len(rows), [0] * len(rows)  # by row: its room, and when it came to have that
    for now, (number, part) in enumerate(sorted(rests, key=lambda rest: -len(rest[1]))):
        fits = [(left[i], -changed[i], i) for i in range(len(rows)) if left[i] >= len(part)]
        if not fits:
            rows.append([])
            left.append(length)
            changed.append(0)
        row = min(fits)[2] if fits else len(rows) - 1
        rows[row].append((number, part))
        left[row] -= len(part)
        changed[row] = now
    ids, positions, begins, numbers = [], [], [], []
    for i, row in enumerate(rows):
        pads = [(-1, [pad] * left[i])] if left[i] and i + 1 < len(rows) else []
        for number, part in row + pads:
            begins.append(len(ids))
            numbers.append(number)
            ids += part
            positions += [0] * len(part) if number < 0 else range(len(part))
    begins.append(len(ids))
    fill = -len(ids) % length
    shape = len(rows), length
    return (
        np.array(ids + [pad] * fill, np.int64).reshape(shape),
        begins,
        np.array(positions + [0] * fill, np.int64).reshape(shape),
        numbers,
    )
