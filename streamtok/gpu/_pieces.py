"""Texts as pieces for a device: long ones cut where the two sides encode independently, all grouped in slices."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..native.texts import HasSurrogates, Texts
from ._job import BLOCK
from ._special_tokens import Names

if TYPE_CHECKING:
    from .._protocols import DeviceArray, Places
    from ._device import CudaDevice

# A stretch that may hold a cut: a little more than the core looks back for one (threads/safe_cuts.h).
_WINDOW = (1 << 16) + (1 << 12)

# The core makes no cut nearer than this to the ends of a text, unless a special token has a very long name.
_SLACK = 1 << 12

_ONE_ROW = np.zeros(1, np.int64)


@dataclasses.dataclass(frozen=True)
class Slice:
    """Pieces that encode independently, as a slot takes them at once.

    pieces: texts on the host. rows: int64, the piece that each row begins with; one row where none begins. begun: rows
    that begin. is_large: one piece, beyond what may be encoded at once.
    """

    pieces: Texts
    rows: Places
    begun: int
    is_large: bool


def facts_of(texts: Texts) -> tuple[Places, Places]:
    """Of each text how many bytes it has, or characters of a str that is not ASCII; and how many bytes of UTF-8 one of
    them may have. int64."""
    units, widths = np.empty((2, len(texts)), np.int64)
    texts.facts(units, widths)
    return units, widths


def utf8_of(text: Any) -> Any:
    """The UTF-8 of a str or a buffer of bytes, as a buffer."""
    try:
        return Texts([text])[0]
    except HasSurrogates:
        return Texts([text]).mended()[0]


def cut_host(text: Any, size: int, names: Names) -> list[int]:
    """Borders of the pieces of a buffer, its two ends among them: pieces encode independently, and have `size` bytes at
    most, more where there is no place to cut."""
    whole, places = memoryview(text), []
    apart = size - min(size // 2, _SLACK)
    for a, b in itertools.pairwise([0, *names.cuts(text, apart), len(text)]):
        if b - a > size:  # where the core looked there was none; there may be one elsewhere
            places += [a + at for at in names.cuts(whole[a:b], _WINDOW)]
        places.append(b)
    borders = [0]
    for at, after in itertools.pairwise(places):
        if after - borders[-1] > size:
            borders.append(at)
    return [*borders, len(text)]


def cut_device(device: CudaDevice, text: DeviceArray, size: int, names: Names) -> list[int]:
    """The same of an array on a device: only what lies around a cut comes to the host."""

    def last_cut(begin: int, end: int) -> int | None:
        window = device.get(text[begin:end]).tobytes()
        cuts = names.cuts(window, len(window))
        return begin + cuts[-1] if cuts else None

    return _cut_by_windows(len(text), size, last_cut)


def cut_characters(texts: Texts, number: int, count: int, size: int, names: Names) -> list[int]:
    """The same of a str of `count` characters that are not all ASCII, in characters."""

    def last_cut(begin: int, end: int) -> int | None:
        window = bytes(texts.units(number, begin, end))
        cuts = names.cuts(window, len(window))
        return begin + len(window[: cuts[-1]].decode()) if cuts else None

    return _cut_by_windows(count, size, last_cut)


def _cut_by_windows(count: int, size: int, last_cut: Callable[[int, int], int | None]) -> list[int]:
    """Borders of pieces. last_cut: the last cut in a window, if there is one."""
    borders = [0]
    while count - borders[-1] > size:
        at = borders[-1]
        ends = [*range(at + size, at, -_WINDOW), *range(at + size + _WINDOW, count, _WINDOW)]
        cut = next((found for end in ends if (found := last_cut(max(at, end - _WINDOW), end))), None)
        if cut is None:
            break
        borders.append(cut)
    return [*borders, count]


def slices(sizes: Places, size: int) -> Iterator[tuple[int, int]]:
    """(first, last + 1) of runs of pieces that take `size` bytes at most as they are laid out; a longer piece alone."""
    ends = np.cumsum(-(-sizes // BLOCK) * BLOCK)
    first, done = 0, 0
    while first < len(sizes):
        last = max(first + 1, int(np.searchsorted(ends, done + size, "right")))
        yield first, last
        first, done = last, int(ends[last - 1])


def own_rows(rows: Places, first: int, last: int) -> tuple[Places, int]:
    """The rows that begin with the pieces first .. last - 1, counted from the first, and how many; one row where none
    does."""
    a, b = np.searchsorted(rows, [first, last]).tolist()
    return rows[a:b] - first if b > a else _ONE_ROW, b - a


def host_slices(texts: Texts, most: int, names: Names, most_bytes: int | None = None) -> Iterator[Slice]:
    """Texts, cut where they are longer than `most` bytes or characters and shared out in slices of so many.

    most_bytes: bytes that a slice may have, whatever its characters are; None: `most`. Raises HasSurrogates."""
    limit = most_bytes or most
    if len(texts) and BLOCK * texts.most()[1] <= most:  # all are one slice
        yield Slice(texts, np.arange(len(texts)), len(texts), False)
        return
    units, widths = facts_of(texts)
    weights = np.maximum(units, units * widths * most // limit)
    pieces, rows = texts, np.arange(len(texts))
    if len(weights) and weights.max() > most:
        spans, rows = _spans(texts, units, np.minimum(most, limit // widths), names)
        pieces = texts.cut(spans)
        units, widths = facts_of(pieces)
        weights = np.maximum(units, units * widths * most // limit)
    for first, last in slices(weights, most):
        own, begun = own_rows(rows, first, last)
        yield Slice(pieces.part(first, last), own, begun, bool(weights[first] > most))


def _spans(texts: Texts, units: Places, most: Places, names: Names) -> tuple[Places, Places]:
    """(three int64 a piece: its text, where it begins and where it ends; the piece that each text begins with)."""
    spans: list[int] = []
    rows = np.empty(len(units), np.int64)
    for number, (count, size) in enumerate(zip(units.tolist(), most.tolist())):
        rows[number] = len(spans) // 3
        borders = [0, count] if count <= size else _cut(texts, number, count, size, names)
        for a, b in itertools.pairwise(borders):
            spans += number, a, b
    return np.array(spans, np.int64), rows


def _cut(texts: Texts, number: int, count: int, size: int, names: Names) -> list[int]:
    whole = texts.part(number, number + 1)
    if facts_of(whole)[1][0] == 1:
        return cut_host(texts.units(number, 0, count), size, names)
    return cut_characters(texts, number, count, size, names)
