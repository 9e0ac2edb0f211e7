"""A slot: an engine, its buffers and a CUDA stream of its own. It encodes a slice at a time."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..native.prepared import prepared
from ..native.texts import Layout, Texts
from ..patterns.engine import splitter_of
from ._engine import Engine, Named, Unusable
from ._errors import NotForDevice
from ._job import BLOCK
from ._lane import PINNED, Lane
from ._names import Names, cut_at
from ._normal import made_ready
from ._pieces import Slice
from ._tables import Tables, vocab_for
from ._text import DeviceText, pack
from ._waiting import Steps, complete, ended
from .longest.engine import LongestEngine, LongestTables

if TYPE_CHECKING:
    from ..native.normal import Normalizer
    from ..protocols import ArrayCoder, DeviceArray, Encoding, HostArray, Places
    from ._device import CudaDevice


@dataclasses.dataclass(frozen=True)
class Request:
    """What is asked of the ids, whatever the text.

    coder: the core's, for what the device does not take; None: such texts are not asked for. trusted: Python vouches
    for the UTF-8.
    """

    coder: ArrayCoder | None
    names: Names
    dtype: np.dtype[Any]
    trusted: bool = False


class Station:
    """A vocabulary's tables on a device, shared by the slots there."""

    def __init__(self, device: CudaDevice, encoding: Encoding, is_limited: bool = False) -> None:
        self.device, self._encoding = device, encoding
        vocab, pattern = vocab_for(encoding, is_limited), splitter_of(encoding._split)
        self.tables: Tables | LongestTables
        if vocab.is_longest:
            self.tables = LongestTables(device, vocab, pattern)
        else:
            self.tables = Tables(device, vocab, pattern, is_limited)
        self.normalizer = encoding._normalizer
        device.synchronize()  # slots have streams of their own

    def engine(self) -> Engine | LongestEngine:
        if isinstance(self.tables, LongestTables):
            return LongestEngine(self.device, self.tables, self._encoding._pat_str is not None)
        return Engine(self.device, self._encoding._coder.encode_piece, self.tables)


class Slot(Lane):
    """Encodes for one thread at a time. Arrays that it returns have no other user."""

    def __init__(self, station: Station) -> None:
        super().__init__(station.device)
        self.station, self.engine = station, station.engine()
        self._text: DeviceArray | None = None
        self.spans: list[tuple[str, object, object]] | None = (
            None  # (what, begin, end) of timed work; None: nothing is timed
        )

    @property
    def memory(self) -> int:
        """Bytes of the buffers on the device."""
        return int(self.engine.memory) + (0 if self._text is None else int(self._text.nbytes))

    def forget(self) -> None:
        """Gives up the buffers."""
        super().forget()
        self._text = None
        self.engine.forget()

    @contextlib.contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        if self.spans is None:
            yield
            return
        first = self.device.mark()
        yield
        self.spans.append((what, first, self.device.mark()))

    # ---- from the host ----

    def _room(self, size: int) -> DeviceArray:
        if self._text is None or len(self._text) < size:
            self._text = None
            self._text = self.device.empty(max(size, 1 << 16), np.uint8)
        return self._text

    def _put(self, facts: HostArray) -> DeviceArray:
        """What is known of a text, on the device: by pinned memory, which takes half the time of a pageable row. The
        text before it is done."""
        staged = self.pinned("facts", facts.nbytes).view(facts.dtype)
        np.copyto(staged, facts)
        room = self.device.empty(len(facts), facts.dtype)
        self.device.upload(room, staged)
        return room

    def _laid_out(self, some: Slice) -> Steps[tuple[HostArray, Places]]:
        """(UTF-8 of all pieces one behind the other, for an upload; the bytes of each)."""
        layout, sizes = Layout(some.pieces), np.empty(len(some.pieces), np.int64)
        yield from ended(layout.measure())
        layout.sizes(sizes)
        total = int(sizes.sum())
        if len(sizes) == 1 and total and not layout.has_characters:
            data = np.frombuffer(some.pieces[0], np.uint8)
            if total > PINNED or self.is_pinned(data):
                return data, sizes
        room = self.pinned("in", total) if total <= PINNED else np.empty(total, np.uint8)
        yield from ended(layout.write(room))
        return room, sizes

    def _load(self, data: HostArray) -> DeviceArray:
        """Host bytes on the device."""
        room = self._room(len(data))
        with self._timed("copy"):
            self.device.upload(room, data)
        return room

    def encode_host(self, some: Slice, request: Request) -> Steps[tuple[DeviceArray, DeviceArray | None]]:
        """(ids, row starts) on the device of pieces on the host. Row starts are int64, None where all is one row.
        Raises what the core raises for a piece that is refused."""
        try:
            if some.is_large:
                raise NotForDevice("more than a slice without a place to cut")
            data, sizes = yield from self._laid_out(some)
            if self.station.normalizer is not None:
                return (yield from self._encode_normal(data, sizes, some.rows, request, self.station.normalizer))
            return (yield from self._encode_host(data, sizes, some.rows, request))
        except (NotForDevice, Unusable):
            return self.encode_on_cpu(some.pieces, some.rows, request)

    def _encode_host(
        self, data: HostArray, sizes: Places, rows: Places, request: Request
    ) -> Steps[tuple[DeviceArray, DeviceArray | None]]:
        if not len(data):
            return self.device.empty(0, request.dtype), self._row_starts(np.zeros(len(rows) + 1, np.int64))
        return (yield from self._encode_loaded(self._load(data), np.cumsum(sizes) - sizes, sizes, rows, request))

    def _encode_normal(
        self, data: HostArray, sizes: Places, rows: Places, request: Request, normalizer: Normalizer
    ) -> Steps[tuple[DeviceArray, DeviceArray | None]]:
        """The same where text is normalized. Nearly all text is normal already: the host only looks."""
        ends = np.cumsum(sizes).tolist()
        pieces = [data[end - size : end] for end, size in zip(ends, sizes.tolist())]
        texts = yield from made_ready(pieces, rows, normalizer, request.names.matchers)
        if texts is None:
            return (yield from self._encode_host(data, sizes, rows, dataclasses.replace(request, trusted=True)))
        if not len(texts.sizes) or not texts.sizes.any():
            return self.device.empty(0, request.dtype), self._row_starts(np.zeros(len(rows) + 1, np.int64))
        ready = np.frombuffer(texts.data, np.uint8)
        source = self._load(ready if len(ready) > PINNED else (yield from self.staged(ready)))
        with self._timed("kernel"):
            text = pack(self.device, source, texts.starts, texts.sizes, texts.rows, put=self._put)
            ids, row_starts = yield from self.engine.encoding(text, request.dtype)
        return ids, None if row_starts is None or _is_one(rows) else row_starts.view(np.int64)

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

    def encode_short(self, data: Any, request: Request, to_host: bool = False, out: Any = None) -> Any:
        """Ids of one text of at most SHORT bytes that holds none of the names, in one launch from and to pinned memory:
        Python takes as long for a short text as the device does, so this way has no detours.

        to_host: they are to come to the host, into the beginning of `out` if that is given. The result is None where
        the text takes more than that.
        """
        size = len(data)
        if not size or not self._is_normal(data, request):
            return None
        staged, target = complete(self.staged(np.frombuffer(data, np.uint8), 16)), None
        if to_host:
            is_target = out is not None and self.is_pinned(out)
            target = out if is_target else self.pinned("out", size * request.dtype.itemsize).view(request.dtype)
        ids = self._in_one_launch(staged.ctypes.data, size, request, target)
        if ids is None or target is out:
            return ids
        if out is None:
            return ids.copy()
        if len(ids) > len(out):
            return None
        out[: len(ids)] = ids
        return out[: len(ids)]

    def _is_normal(self, data: Any, request: Request) -> bool:
        normalizer = self.station.normalizer
        return normalizer is None or prepared(data, normalizer, *request.names.matchers) is True

    def _in_one_launch(self, source: int, size: int, request: Request, target: Any = None) -> Any:
        if not request.names.sought.fits:
            return None
        try:
            return self.engine.encode_short(source, size, request.dtype, request.trusted, request.names.sought, target)
        except (Unusable, Named):
            return None

    # ---- on the device ----

    def encode_short_there(self, source: DeviceArray, request: Request) -> Any:
        """The same of a short text on the device: ids that stay there."""
        address = self.device.pointer(source)
        if self.station.normalizer is not None:
            return None
        return None if address % 16 or not len(source) else self._in_one_launch(address, len(source), request)

    def encode_device(
        self, source: DeviceArray, starts: Places, sizes: Places, rows: Places, request: Request, is_large: bool
    ) -> tuple[DeviceArray, DeviceArray | None]:
        """As encode_host, of the pieces source[start : start + size] of an array on the device, in ascending order.
        is_large: they are beyond what may be encoded at once."""
        try:
            if is_large or self.station.normalizer is not None:
                raise NotForDevice("more than a slice without a place to cut, or text to be normalized")
            return complete(self._encode_loaded(source, starts, sizes, rows, request))
        except (NotForDevice, Unusable):
            pieces = [self.device.get(source[a : a + n]).tobytes() for a, n in zip(starts.tolist(), sizes.tolist())]
            if self.station.normalizer is None or is_large:
                return self.encode_on_cpu(pieces, rows, request)
        return complete(self.encode_host(Slice(Texts(pieces), rows, 0, False), request))  # it is normalized there

    def _encode_loaded(
        self, source: DeviceArray, starts: Places, sizes: Places, rows: Places, request: Request
    ) -> Steps[tuple[DeviceArray, DeviceArray | None]]:
        """The same of any pieces, if there is room for them. Raises NotForDevice, Unusable."""
        if not request.names.sought.fits:
            raise NotForDevice("names of special tokens that are too long or too many")
        with self._timed("kernel"):
            text, is_alone = self._lay_out(source, starts, sizes, rows)
            try:
                encoding = self.engine.encoding(text, request.dtype, request.trusted, request.names.sought)
                ids, row_starts = yield from encoding
            except Named as named:
                places = named.places + int(starts[0]) if is_alone else _in_source(named.places, starts, sizes)
                taken = request.names.taken(places, named.numbers)
                passage_of = np.searchsorted(starts, taken[0], "right") - 1
                text = pack(self.device, source, *cut_at(starts, sizes, rows, taken, passage_of), put=self._put)
                ids, row_starts = yield from self.engine.encoding(text, request.dtype, request.trusted)
        return ids, None if row_starts is None or _is_one(rows) else row_starts.view(np.int64)

    def _lay_out(self, source: DeviceArray, starts: Places, sizes: Places, rows: Places) -> tuple[DeviceText, bool]:
        """The text for the kernels, and whether it is one piece that stays where it lies."""
        if len(sizes) == 1 and _is_one(rows):
            data = source[int(starts[0]) :]
            if self.device.pointer(data) % 16 == 0:
                return DeviceText(data, int(sizes[0])), True
        return pack(self.device, source, starts.astype(np.uint64), sizes.astype(np.uint64), rows, put=self._put), False


def _in_source(places: Places, starts: Places, sizes: Places) -> Places:
    """Places in a text that was laid out for the kernels, as places in what it was laid out of."""
    blocks = np.cumsum(-(-sizes // BLOCK)) - -(-sizes // BLOCK)
    passage = np.searchsorted(blocks, places // BLOCK, "right") - 1
    return starts[passage] + places - BLOCK * blocks[passage]


def _is_one(rows: Places) -> bool:
    """Are all pieces one row?"""
    return len(rows) == 1 and rows[0] == 0
