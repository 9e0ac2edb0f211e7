"""A slot: an engine, its buffers and a CUDA stream of its own, and the stages that a slice of text passes in it."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..native.texts import Layout, Texts
from ._base_engine import Named
from ._errors import NotForDevice, NotNormal, Unusable
from ._job import BLOCK, PASSAGE_ID
from ._lane import PINNED
from ._launch import OneLaunch, Station
from ._normal import made_normal, made_ready
from ._pieces import Slice
from ._repair import repaired
from ._special_tokens import cut_at
from ._text import DeviceText, bytes_in_blocks, pack, starts_of
from ._waiting import Steps, complete, ended

if TYPE_CHECKING:
    from .._protocols import DeviceArray, HostArray, Places
    from ..native.normal import Normalizer
    from ._text import Request


_MOST_PINNED = PINNED + PINNED // 32
"""Text in blocks has marks and rows besides."""

_TOO_MANY_NAMES = "names of special tokens that are too long or too many"


@dataclasses.dataclass(frozen=True)
class Pieces:
    """What the kernels encode at once: piece i is source[starts[i] : starts[i] + sizes[i]] on the device, ascending.

    rows: the piece that each row begins with. text: the source as the kernels take it, where it is laid out like that;
    else None. has_no_names: those that stood in it are cut out: pieces have sizes of PASSAGE_ID + id in their place
    (pack() in _text.py), and the rest is known to be UTF-8. is_normal: the host has seen to the normal form. held: what
    a copy to the device may still read.
    """

    source: DeviceArray
    starts: Places
    sizes: Places
    rows: Places
    text: DeviceText | None = None
    has_no_names: bool = False
    is_normal: bool = False
    held: HostArray | None = None


class Slot(OneLaunch):
    """Encodes slices, for one thread at a time. Arrays that it returns have no other user.

    Each slice takes the same way: a slice on the host is brought to the device, and normalized before; then all are
    laid out for the kernels, encoded, and cut at the names that stand there. What the device does not take, the core
    encodes. Short texts take the other way, that of OneLaunch.
    """

    def __init__(self, station: Station) -> None:
        super().__init__(station)
        self._text: DeviceArray | None = None
        # (what, begin, end) of timed work; None: nothing is timed
        self.spans: list[tuple[str, object, object]] | None = None

    @property
    def memory(self) -> int:
        """Bytes of the buffers on the device."""
        return int(self.engine.memory) + (0 if self._text is None else int(self._text.nbytes))

    def forget(self) -> None:
        """Gives up the buffers."""
        super().forget()
        self._text = None

    @contextlib.contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        if self.spans is None:
            yield
            return
        first = self.device.mark()
        yield
        self.spans.append((what, first, self.device.mark()))

    # ---- from the host ----

    def _buffer(self, size: int) -> DeviceArray:
        if self._text is None or len(self._text) < size:
            self._text = None
            self._text = self.device.empty(max(size, 1 << 16), np.uint8)
        return self._text

    def _one_behind_the_other(self, layout: Layout, texts: Texts, total: int) -> Steps[HostArray]:
        """UTF-8 of all pieces one behind the other, for an upload."""
        if len(texts) == 1 and total and not layout.has_characters:
            data = np.frombuffer(texts[0], np.uint8)
            if total > PINNED or self.is_pinned(data):
                return data
        buffer = self.pinned("in", total) if total <= PINNED else np.empty(total, np.uint8)
        yield from ended(layout.write(buffer))
        return buffer

    def _in_blocks(self, layout: Layout, rows: Places) -> Steps[HostArray]:
        """Several pieces laid out as the kernels take them."""
        size = bytes_in_blocks(layout.count_blocks(), len(rows))
        buffer = self.pinned("in", size) if size <= _MOST_PINNED else np.empty(size, np.uint8)
        yield from ended(layout.write_blocks(buffer, rows))
        return buffer

    def _load(self, data: HostArray) -> DeviceArray:
        """Host bytes on the device."""
        buffer = self._buffer(len(data))
        with self._timed("copy"):
            self.device.upload(buffer, data)
        return buffer

    def encode_host(self, some: Slice, request: Request) -> Steps[tuple[DeviceArray, DeviceArray | None]]:
        """(ids, row starts) on the device of pieces on the host. Row starts are int64, None where all is one row.
        Raises what the core raises for a piece that is refused."""
        try:
            if some.is_large:
                raise NotForDevice("more than a slice without a place to cut")
            try:
                pieces = yield from self._brought(some.pieces, some.rows, request, self.station.first_normalizer)
                return (yield from self._encode(pieces, request))
            except NotNormal:
                pieces = yield from self._brought(some.pieces, some.rows, request, self.station.normalizer)
                return (yield from self._encode(pieces, request))
        except (NotForDevice, Unusable):
            return self.encode_on_cpu(some.pieces, some.rows, request)

    def _brought(
        self, texts: Texts, rows: Places, request: Request, normalizer: Normalizer | None, is_normal: bool = False
    ) -> Steps[Pieces]:
        """Texts of the host, normalized and on the device.

        normalizer: what is done to them; None: nothing. is_normal: nothing more is to be done."""
        layout, sizes = Layout(texts), np.empty(len(texts), np.int64)
        yield from ended(layout.measure())
        layout.sizes(sizes)
        in_blocks = len(texts) > 1 and not layout.is_joined and not self.station.front
        starts, total = starts_of(sizes, in_blocks)
        put = self._in_blocks(layout, rows) if in_blocks else self._one_behind_the_other(layout, texts, total)
        data = yield from put
        if normalizer is not None:
            normal = yield from made_normal(texts, data, starts, sizes, normalizer, request.names.matchers)
            if normal is None:
                return (yield from self._brought_without_names(data, starts, sizes, rows, request, normalizer))
            if normal is not texts:
                return (yield from self._brought(normal, rows, request, None, True))
            is_normal = True
        if not total:
            return Pieces(self.device.empty(0, np.uint8), starts, sizes, rows)
        if not request.names.sought.fits:
            raise NotForDevice(_TOO_MANY_NAMES)
        source = self._load(data)
        text = _text_in(source[: len(data)], total) if in_blocks else None
        return Pieces(source, starts, sizes, rows, text, is_normal=is_normal, held=data)

    def _brought_without_names(
        self, data: HostArray, starts: Places, sizes: Places, rows: Places, request: Request, normalizer: Normalizer
    ) -> Steps[Pieces]:
        """The same where text is normalized that has names in it: the host finds them."""
        pieces = [data[start : start + size] for start, size in zip(starts.tolist(), sizes.tolist())]
        texts = yield from made_ready(pieces, rows, normalizer, request.names.matchers)
        if not texts.sizes.any():
            return Pieces(self.device.empty(0, np.uint8), texts.starts, texts.sizes, texts.rows)
        ready = np.frombuffer(texts.data, np.uint8)
        data = ready if len(ready) > PINNED else (yield from self.staged(ready))
        return Pieces(self._load(data), texts.starts, texts.sizes, texts.rows, None, True, True, data)

    def _row_starts(self, starts: Places) -> DeviceArray | None:
        return None if len(starts) == 2 and not starts[0] else self.device.put(starts)

    def encode_on_cpu(
        self, pieces: Texts | list[Any], rows: Places, request: Request
    ) -> tuple[DeviceArray, DeviceArray | None]:
        """The same by the core, which takes all that there is: broken UTF-8, pieces beyond the device's memory."""
        assert request.coder is not None
        ids, starts = request.coder.encode_many([pieces[i] for i in range(len(pieces))], *request.names.matchers)
        row_starts = np.append(np.asarray(starts, np.int64)[rows], len(ids))
        return self.device.put(ids.astype(request.dtype)), self._row_starts(row_starts)

    # ---- on the device ----

    def encode_device(
        self, source: DeviceArray, starts: Places, sizes: Places, rows: Places, request: Request, is_large: bool
    ) -> tuple[DeviceArray, DeviceArray | None]:
        """As encode_host, of the pieces source[start : start + size] of an array on the device, in ascending order.
        is_large: they are beyond what may be encoded at once."""
        try:
            if is_large or self.station.first_normalizer is not None or not request.names.sought.fits:
                raise NotForDevice("more than a slice without a place to cut, text to be normalized, too many names")
            return complete(self._encode(Pieces(source, starts, sizes, rows), request))
        except (NotForDevice, Unusable):
            pieces = [self.device.get(source[a : a + n]).tobytes() for a, n in zip(starts.tolist(), sizes.tolist())]
            if self.station.normalizer is None or is_large:
                return self.encode_on_cpu(pieces, rows, request)
        return complete(self.encode_host(Slice(Texts(pieces), rows, 0, False), request))  # it is normalized there

    # ---- what all slices pass ----

    def _encode(self, pieces: Pieces, request: Request) -> Steps[tuple[DeviceArray, DeviceArray | None]]:
        """(ids, row starts) of pieces on the device, cut at the names in them. Raises NotForDevice, Unusable."""
        if not pieces.sizes.any():
            return self.device.empty(0, request.dtype), self._row_starts(np.zeros(len(pieces.rows) + 1, np.int64))
        names = None if pieces.has_no_names else request.names.sought
        trusted = request.trusted or pieces.has_no_names
        with self._timed("kernel"):
            text = pieces.text or self._laid_out(pieces)
            if self.station.form is not None and not pieces.is_normal:
                places, numbers, doubts = yield from self.engine.looking(text, trusted, names)
                trusted, names = True, None
                if len(places) or len(doubts):
                    cut = self._cut(pieces, places, numbers, request)
                    pieces = yield from self._repaired(cut, pieces, doubts)
                if len(places) or len(doubts) or self.engine.map is not None:
                    text = self._laid_out(pieces, self.engine.map)
            try:
                ids, row_starts = yield from self.engine.encoding(text, request.dtype, trusted, names)
            except Named as named:
                pieces = self._cut(pieces, named.places, named.numbers, request)
                ids, row_starts = yield from self.engine.encoding(self._laid_out(pieces), request.dtype, trusted)
        return ids, None if row_starts is None or _is_one(pieces.rows) else row_starts.view(np.int64)

    def _cut(self, pieces: Pieces, places: Places, numbers: Places, request: Request) -> Pieces:
        """Pieces cut at names, which stand at these places of the text as it was laid out."""
        starts, sizes = pieces.starts, pieces.sizes
        there, _, is_front = self._in_source(places, starts, sizes)
        taken = request.names.taken(there[~is_front], numbers[~is_front])
        cut = cut_at(starts, sizes, pieces.rows, taken, np.searchsorted(starts, taken[0], "right") - 1)
        return Pieces(pieces.source, *cut, has_no_names=True)

    def _repaired(self, cut: Pieces, whole: Pieces, doubts: Places) -> Steps[Pieces]:
        """The pieces in their normal form, in which they are not around these blocks of the text as it was laid out.

        whole: what was cut."""
        if not len(doubts):
            return cut
        around = self._in_source(BLOCK * doubts, whole.starts, whole.sizes)[:2]
        assert self.station.normalizer is not None
        passages = cut.starts, cut.sizes
        source, starts, sizes = yield from repaired(self, cut.source, passages, around, self.station.normalizer)
        return Pieces(source, starts, sizes, cut.rows, has_no_names=True)

    def _laid_out(self, pieces: Pieces, byte_map: DeviceArray | None = None) -> DeviceText:
        """The text for the kernels. One piece stays where it lies, if they can read it there. byte_map: as pack() has
        it."""
        source, starts, sizes, rows = pieces.source, pieces.starts, pieces.sizes, pieces.rows
        front = self.station.front
        if len(sizes) == 1 and _is_one(rows) and sizes[0] < PASSAGE_ID and not front and byte_map is None:
            data = source[int(starts[0]) :]
            if self.device.pointer(data) % 16 == 0:
                return DeviceText(data, int(sizes[0]))
        starts, sizes = starts.astype(np.uint64), sizes.astype(np.uint64)
        return pack(self.device, source, starts, sizes, rows, put=self.put, front=front, byte_map=byte_map)

    def _in_source(self, places: Places, starts: Places, sizes: Places) -> tuple[Places, Places, HostArray]:
        """Places in a text that was laid out for the kernels, as places in what it was laid out of; where what is in a
        block from there on ends; and which of them are places of a byte in front of a text."""
        more = len(self.station.front)
        laid_out, _ = starts_of(sizes + more * (sizes > 0), True)
        passage = np.searchsorted(laid_out, places, "right") - 1
        found = starts[passage] + places - laid_out[passage] - more
        is_front = found < starts[passage]
        return np.maximum(found, starts[passage]), np.minimum(found + BLOCK, (starts + sizes)[passage]), is_front


def _text_in(source: DeviceArray, size: int) -> DeviceText:
    """The text in what Layout.write_blocks() wrote: `size` bytes of blocks, their marks, and behind these the rows."""
    rows = source[bytes_in_blocks(size // BLOCK, 0) :].view(np.uint64)
    return DeviceText(source, size, source[size : size + size // BLOCK], rows)


def _is_one(rows: Places) -> bool:
    """Are all pieces one row?"""
    return len(rows) == 1 and rows[0] == 0
