"""Texts as pieces for a device: long ones cut where the two sides encode independently, all grouped in slices."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..native.gate import flat
from ._job import BLOCK
from ._names import Names

if TYPE_CHECKING:
    from ..protocols import DeviceArray, Places
    from ._device import CudaDevice

# A stretch that may hold a cut: a little more than the core looks back for one (threads/safe_cuts.h).
_WINDOW = (1 << 16) + (1 << 12)

# The core makes no cut nearer than this to the ends of a text, unless a special token has a very long name.
_SLACK = 1 << 12

_ONE_ROW = np.zeros(1, np.int64)


@dataclasses.dataclass(frozen=True)
class Slice:
    """Pieces that encode independently, as a slot takes them at once.

    pieces: buffers of bytes on the host. sizes: int64, the bytes of each. rows: int64, the piece that each row begins
    with; one row where none begins. begun: rows that begin. is_large: one piece, beyond what may be encoded at once.
    """

    pieces: list[Any]
    sizes: Places
    rows: Places
    begun: int
    is_large: bool


def flattened(texts: list[Any]) -> tuple[list[Any], Places, bool]:
    """(buffers, their sizes, whether all of them are certainly valid UTF-8) of texts on the host; sizes: int64."""
    sizes = np.empty(len(texts), np.int64)
    buffers, trusted = flat(texts, sizes)
    return buffers, sizes, trusted


def short_bytes(text: Any, most: int) -> Any:
    """A short str without surrogates, or short bytes or row of uint8 on the host, as a buffer; None for all else."""
    if type(text) is str and len(text) <= most:
        try:
            text = text.encode()
        except UnicodeEncodeError:
            return None
    is_row = type(text) is np.ndarray and text.dtype == np.uint8 and text.ndim == 1 and text.flags.c_contiguous
    return text if (is_row or type(text) is bytes) and len(text) <= most else None


def cut_host(text: Any, size: int, names: Names) -> list[Any]:
    """A buffer as a list of buffers, which encode independently, of `size` bytes at most; longer ones where there
    is no place to cut."""
    if len(text) <= size:
        return [text]
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
    return [whole[a:b] for a, b in itertools.pairwise([*borders, len(text)])]


def cut_device(device: CudaDevice, text: DeviceArray, size: int, names: Names) -> list[tuple[int, int]]:
    """The same of an array on a device, as (start, size): only what lies around a cut comes to the host."""
    pieces, at = [], 0
    while len(text) - at > size:
        places = [*range(at + size, at, -_WINDOW), *range(at + size + _WINDOW, len(text), _WINDOW)]
        cut = next((found for end in places if (found := _last_cut(device, text, at, end, names))), None)
        if cut is None:
            break
        pieces.append((at, cut - at))
        at = cut
    return [*pieces, (at, len(text) - at)]


def _last_cut(device: CudaDevice, text: DeviceArray, at: int, end: int, names: Names) -> int | None:
    """The last cut in the window in front of `end` that lies behind `at`."""
    begin = max(at, end - _WINDOW)
    window = device.get(text[begin:end]).tobytes()
    cuts = names.cuts(window, len(window))
    return begin + cuts[-1] if cuts else None


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


def host_slices(buffers: list[Any], sizes: Places, most: int, names: Names) -> Iterator[Slice]:
    """Buffers, cut where they are longer than `most` bytes and shared out in slices of so many."""
    pieces, sizes, rows = _cut_all(buffers, sizes, most, names)
    for first, last in slices(sizes, most):
        own, begun = own_rows(rows, first, last)
        yield Slice(pieces[first:last], sizes[first:last], own, begun, bool(sizes[first] > most))


def _cut_all(texts: list[Any], sizes: Places, most: int, names: Names) -> tuple[list[Any], Places, Places]:
    """(pieces, their sizes, rows): rows[i] is the piece that text i begins with."""
    if not len(sizes) or sizes.max() <= most:
        return texts, sizes, np.arange(len(texts))
    parts = [cut_host(text, most, names) for text in texts]
    counts = np.fromiter(map(len, parts), np.int64, len(parts))
    pieces = list(itertools.chain.from_iterable(parts))
    return pieces, np.fromiter(map(len, pieces), np.int64, len(pieces)), np.cumsum(counts) - counts
