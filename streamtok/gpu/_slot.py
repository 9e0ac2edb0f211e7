"""A slot: an engine, its buffers and a CUDA stream of its own. It encodes a slice at a time."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..native.room import copied_ids
from ..native.steps import within
from ..native.texts import Layout, Texts
from ..patterns.engine import splitter_of
from ._device import finish
from ._engine import SHORT, SHORT_ON_HOST, Crowded, Engine, Named, Unusable, room_for_ids, short_room
from ._errors import NotForDevice
from ._job import BLOCK
from ._lane import PINNED, WORTH_ASKING, Lane
from ._names import Names, cut_at
from ._normal import made_normal, made_ready
from ._pieces import Slice
from ._results import Loan, Results
from ._short import Quick
from ._tables import Tables, vocab_for
from ._text import DeviceText, ShortText, bytes_in_blocks, pack
from ._waiting import Steps, complete, ended
from .longest.engine import LongestEngine, LongestTables

if TYPE_CHECKING:
    from ..native.normal import Normalizer
    from ..protocols import ArrayCoder, DeviceArray, Encoding, HostArray, Places
    from ._device import CudaDevice


_WORTH_A_ROOM = 1 << 16
"""Bytes of ids that are copied to memory which an earlier result has left. numpy keeps smaller pieces itself."""


_WORTH_LENDING = 1 << 14
"""Bytes of text, or characters, from which on ids may be too many to be copied at once."""

_MOST_PINNED = PINNED + PINNED // 32
"""Text in blocks has marks and rows besides."""

_TOO_MANY_NAMES = "names of special tokens that are too long or too many"


@dataclasses.dataclass(frozen=True)
class Request:
    """What is asked of the ids, whatever the text.

    coder: the core's, for what the device does not take; None: such texts are not asked for. trusted: Python vouches
    for the UTF-8. may_lend: arrays on the host may be read-only.
    """

    coder: ArrayCoder | None
    names: Names
    dtype: np.dtype[Any]
    trusted: bool = False
    may_lend: bool = False


_KERNELS: dict[str | None, tuple[Any, Any]] = {
    "merging": (Tables, lambda device, encoding, tables: Engine(device, encoding._coder.encode_piece, tables)),
    "longest": (
        LongestTables,
        lambda device, encoding, tables: LongestEngine(device, tables, encoding._pat_str is not None),
    ),
}
"""By Model.kernels: what makes the tables on a device, and the engine of a slot."""


class Station:
    """A vocabulary's tables on a device, shared by the slots there."""

    def __init__(self, device: CudaDevice, encoding: Encoding, is_limited: bool = False) -> None:
        self.device, self._encoding, self.results = device, encoding, Results(device)
        vocab, pattern = vocab_for(encoding, is_limited), splitter_of(encoding._split)
        tables_for, self._engine_for = _KERNELS[encoding._kind.kernels]
        self.tables: Tables | LongestTables = tables_for(device, vocab, pattern, is_limited)
        self.normalizer = encoding._normalizer
        device.synchronize()  # slots have streams of their own

    def engine(self) -> Engine | LongestEngine:
        made: Engine | LongestEngine = self._engine_for(self.device, self._encoding, self.tables)
        return made


class Slot(Lane):
    """Encodes for one thread at a time. Arrays that it returns have no other user."""

    def __init__(self, station: Station) -> None:
        super().__init__(station.device)
        self.station, self.engine = station, station.engine()
        self._text: DeviceArray | None = None
        self._quick: Quick | None = None
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
        self._text = self._quick = None
        self.engine.forget()
        self.station.results.forget()

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

    def _one_behind_the_other(self, layout: Layout, texts: Texts) -> Steps[tuple[HostArray, Places]]:
        """(UTF-8 of all pieces one behind the other, for an upload; the bytes of each)."""
        sizes = np.empty(len(texts), np.int64)
        layout.sizes(sizes)
        total = int(sizes.sum())
        if len(sizes) == 1 and total and not layout.has_characters:
            data = np.frombuffer(texts[0], np.uint8)
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
            return (yield from self._encode_texts(some.pieces, some.rows, request))
        except (NotForDevice, Unusable):
            return self.encode_on_cpu(some.pieces, some.rows, request)

    def _encode_texts(
        self, texts: Texts, rows: Places, request: Request, is_normal: bool = False
    ) -> Steps[tuple[DeviceArray, DeviceArray | None]]:
        """is_normal: the normalizer, if there is one, leaves them as they are."""
        layout, normalizer = Layout(texts), self.station.normalizer
        yield from ended(layout.measure())
        in_blocks = len(texts) > 1 and not layout.is_joined
        put = self._in_blocks(layout, len(texts), rows) if in_blocks else self._one_behind_the_other(layout, texts)
        data, sizes = yield from put
        if normalizer is not None and not is_normal:
            starts = _starts_of(sizes, in_blocks)
            normal = yield from made_normal(texts, data, starts, sizes, normalizer, request.names.matchers)
            if normal is None:
                return (yield from self._encode_normal(data, starts, sizes, rows, request, normalizer))
            if normal is not texts:
                return (yield from self._encode_texts(normal, rows, request, True))
        if in_blocks:
            return (yield from self._encode_blocks(data, sizes, rows, request))
        return (yield from self._encode_host(data, sizes, rows, request))

    def _in_blocks(self, layout: Layout, count: int, rows: Places) -> Steps[tuple[HostArray, Places]]:
        """(several pieces laid out as the kernels take them, the bytes of each)."""
        sizes = np.empty(count, np.int64)
        layout.sizes(sizes)
        size = bytes_in_blocks(layout.count_blocks(), len(rows))
        room = self.pinned("in", size) if size <= _MOST_PINNED else np.empty(size, np.uint8)
        yield from ended(layout.write_blocks(room, rows))
        return room, sizes

    def _encode_blocks(
        self, room: HostArray, sizes: Places, rows: Places, request: Request
    ) -> Steps[tuple[DeviceArray, DeviceArray | None]]:
        """The same of several pieces that the host laid out as the kernels take them."""
        blocks = int((-(-sizes // BLOCK)).sum())
        if not blocks:
            return self.device.empty(0, request.dtype), self._row_starts(np.zeros(len(rows) + 1, np.int64))
        if not request.names.sought.fits:
            raise NotForDevice(_TOO_MANY_NAMES)
        source, marks, begun = self._load(room), BLOCK * blocks, bytes_in_blocks(blocks, 0)
        row_blocks = source[begun : len(room)].view(np.uint64)
        with self._timed("kernel"):
            text = DeviceText(source, BLOCK * blocks, source[marks : marks + blocks], row_blocks)
            try:
                encoding = self.engine.encoding(text, request.dtype, request.trusted, request.names.sought)
                ids, row_starts = yield from encoding
            except Named as named:
                starts = _starts_of(sizes, True)
                ids, row_starts = yield from self._encode_cut(source, starts, sizes, rows, named.places, named, request)
        return ids, None if row_starts is None or _is_one(rows) else row_starts.view(np.int64)

    def _encode_cut(
        self,
        source: DeviceArray,
        starts: Places,
        sizes: Places,
        rows: Places,
        places: Places,
        named: Named,
        request: Request,
    ) -> Steps[tuple[DeviceArray, DeviceArray | None]]:
        """Of pieces in which names stand, at `places` of the source: with the ids of those that are allowed."""
        taken = request.names.taken(places, named.numbers)
        passage_of = np.searchsorted(starts, taken[0], "right") - 1
        text = pack(self.device, source, *cut_at(starts, sizes, rows, taken, passage_of), put=self._put)
        return (yield from self.engine.encoding(text, request.dtype, request.trusted))

    def _encode_host(
        self, data: HostArray, sizes: Places, rows: Places, request: Request
    ) -> Steps[tuple[DeviceArray, DeviceArray | None]]:
        if not len(data):
            return self.device.empty(0, request.dtype), self._row_starts(np.zeros(len(rows) + 1, np.int64))
        return (yield from self._encode_loaded(self._load(data), _starts_of(sizes, False), sizes, rows, request))

    def _encode_normal(
        self, data: HostArray, starts: Places, sizes: Places, rows: Places, request: Request, normalizer: Normalizer
    ) -> Steps[tuple[DeviceArray, DeviceArray | None]]:
        """The same where text is normalized that has names in it: the host finds them."""
        pieces = [data[start : start + size] for start, size in zip(starts.tolist(), sizes.tolist())]
        texts = yield from made_ready(pieces, rows, normalizer, request.names.matchers)
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

    def encode_quickly(self, text: str | bytes, request: Request) -> Any:
        """The ids on the host of one text of at most SHORT bytes; None where it takes more than this. It is as
        encode_short(), but nearly all of it is one call."""
        quick = self._quick
        if quick is None or not quick.serves(len(text), request.names, self.engine):
            quick = self._quick = within(self.stream, self._make_quick, text, request)
            if quick is None:
                return None
        loan = self._lent_for(text, request) if len(text) >= _WORTH_LENDING else None
        if loan is not None:
            count = self._run_quick(quick, text, loan.address, loan.size // request.dtype.itemsize)
            if 0 <= count * request.dtype.itemsize <= loan.size:
                return loan.result(request.dtype, count)
            loan.release()
            if count < 0:
                return None
        out = quick.out
        count = self._run_quick(quick, text, quick.address, len(out))
        return _copied(out[:count]) if 0 <= count <= len(out) else None

    def _run_quick(self, quick: Quick, text: str | bytes, out: int, room: int) -> int:
        """How many ids there are, though there be no room for all of them; -1 where the text is none for this."""
        outcome = quick.launch.run(text, out, room)
        if outcome is None:
            return -1
        if outcome != (0, True):
            within(self.stream, finish, self.device, *outcome)
        quick.note()
        return quick.launch.tokens()

    def _lent_for(self, text: str | bytes, request: Request) -> Loan | None:
        return self._lent(len(text) // (2 if isinstance(text, bytes) or text.isascii() else 1), request)

    def _lent(self, count: int, request: Request) -> Loan | None:
        """Room for so many ids that may become the caller's."""
        return self.station.results.lend(count * request.dtype.itemsize) if request.may_lend else None

    def _make_quick(self, text: str | bytes, request: Request) -> Quick | None:
        if not isinstance(self.engine, Engine) or not request.names.sought.fits:
            return None
        size = len(text) * (1 if isinstance(text, bytes) or text.isascii() else 3)
        most = min(SHORT_ON_HOST, short_room(size))
        room, out = self.pinned("quick in", most + 16), self._pinned_ids("quick out", most, request)
        launch, place = self.engine.text_launch(room, request.dtype, request.names.sought, self.station.normalizer)
        return Quick(launch, out, out.ctypes.data, most, request.names, place, self.engine.note_short)

    def encode_short(self, texts: Texts, request: Request, to_host: bool = False, out: Any = None) -> Any:
        """(ids, row starts) of texts that take at most SHORT bytes and hold none of the names, in one launch from and
        to pinned memory: Python takes as long for a short text as the device does, so this way has no detours. The row
        starts of one text are None.

        to_host: they are to come to the host, into the beginning of `out` if that is given. The result is None where
        the texts take more than that. Raises HasSurrogates.
        """
        text = self._put_short(texts, request, to_host)
        if text is None:
            return None
        if not to_host:
            return self._in_one_launch(text, request)
        starts = None if text.rows is None else self.pinned("starts", 8 * (text.rows + 1)).view(np.int64)
        found = self._in_loan(text, request, starts) if out is None else None
        is_target = out is not None and self.is_pinned(out)
        if found is None:
            target = out if is_target else self._pinned_ids("out", text.size, request)
            found = self._in_one_launch(text, request, target, starts)
            found = found if out is not None or found[0] is None else (_copied(found[0]), found[1])
        ids, starts = found
        if ids is None:
            return None
        if out is None:
            return ids, None if starts is None else starts.copy()
        if is_target:
            return ids, None
        if len(ids) > len(out):
            return None
        out[: len(ids)] = ids
        return out[: len(ids)], None

    def _in_loan(self, text: ShortText, request: Request, starts: Any) -> Any:
        """(ids, row starts), the ids in memory that is the caller's then; None where that has no room for them."""
        loan = self._lent(text.size // 2, request)
        if loan is None:
            return None
        try:
            ids, starts = self.engine.encode_short(text, request.names.sought, loan.target(request.dtype), starts)
        except (Unusable, Named) as error:
            loan.release()
            return None if isinstance(error, Crowded) else (None, None)
        return loan.result(request.dtype, len(ids)), starts

    def _pinned_ids(self, name: str, size: int, request: Request) -> HostArray:
        """Pinned memory for the ids of so many bytes."""
        room: HostArray = self.pinned(name, room_for_ids(size) * request.dtype.itemsize).view(request.dtype)
        return room

    def _put_short(self, texts: Texts, request: Request, to_host: bool, is_normal: bool = False) -> ShortText | None:
        """The texts in pinned memory; None where they are too long or empty, or take more than one launch.

        is_normal: the normalizer, if there is one, leaves them as they are."""
        layout, rows = Layout(texts, True), None if len(texts) == 1 else len(texts)
        complete(ended(layout.measure()))
        size = layout.size() if rows is None else BLOCK * layout.count_blocks()
        if not request.names.sought.fits or not 0 < size <= (SHORT_ON_HOST if to_host else SHORT):
            return None
        room = self._read_in_place(texts, layout) if rows is None and size > WORTH_ASKING else None
        if room is None:
            room = self.pinned("in", bytes_in_blocks(size // BLOCK + 1, rows or 0))
            complete(ended(layout.write(room) if rows is None else layout.write_blocks(room, np.arange(rows))))
        if self.station.normalizer is not None and not is_normal:
            sizes = np.empty(len(texts), np.int64)
            layout.sizes(sizes)
            normal = self._made_normal(texts, room, sizes, rows is not None, request)
            if normal is not texts:
                return None if normal is None else self._put_short(normal, request, to_host, True)
        return ShortText(room.ctypes.data, size, request.dtype, request.trusted, rows)

    def _read_in_place(self, texts: Texts, layout: Layout) -> HostArray | None:
        """Pinned memory in which one text lies, as the kernel can read it; None: it is to be copied."""
        if layout.has_characters:
            return None
        there = np.frombuffer(texts[0], np.uint8)
        return there if there.ctypes.data % 16 == 0 and self.is_pinned(there) else None

    def _made_normal(
        self, texts: Texts, room: HostArray, sizes: Places, in_blocks: bool, request: Request
    ) -> Texts | None:
        """As made_normal(), and None for what is refused."""
        normalizer, starts = self.station.normalizer, _starts_of(sizes, in_blocks)
        assert normalizer is not None
        try:
            return complete(made_normal(texts, room, starts, sizes, normalizer, request.names.matchers))
        except NotForDevice:
            return None

    def _in_one_launch(self, text: ShortText, request: Request, target: Any = None, starts: Any = None) -> Any:
        try:
            return self.engine.encode_short(text, request.names.sought, target, starts)
        except (Unusable, Named):
            return None, None

    # ---- on the device ----

    def encode_short_there(self, source: DeviceArray, request: Request) -> Any:
        """The same of a short text on the device: ids that stay there."""
        address = self.device.pointer(source)
        if self.station.normalizer is not None or not request.names.sought.fits or address % 16 or not len(source):
            return None
        return self._in_one_launch(ShortText(address, len(source), request.dtype, request.trusted), request)[0]

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
            raise NotForDevice(_TOO_MANY_NAMES)
        with self._timed("kernel"):
            text, is_alone = self._lay_out(source, starts, sizes, rows)
            try:
                encoding = self.engine.encoding(text, request.dtype, request.trusted, request.names.sought)
                ids, row_starts = yield from encoding
            except Named as named:
                places = named.places + int(starts[0]) if is_alone else _in_source(named.places, starts, sizes)
                ids, row_starts = yield from self._encode_cut(source, starts, sizes, rows, places, named, request)
        return ids, None if row_starts is None or _is_one(rows) else row_starts.view(np.int64)

    def _lay_out(self, source: DeviceArray, starts: Places, sizes: Places, rows: Places) -> tuple[DeviceText, bool]:
        """The text for the kernels, and whether it is one piece that stays where it lies."""
        if len(sizes) == 1 and _is_one(rows):
            data = source[int(starts[0]) :]
            if self.device.pointer(data) % 16 == 0:
                return DeviceText(data, int(sizes[0])), True
        return pack(self.device, source, starts.astype(np.uint64), sizes.astype(np.uint64), rows, put=self._put), False


def _copied(ids: HostArray) -> HostArray:
    """A copy of ids that lie in pinned memory."""
    is_small = ids.nbytes < _WORTH_A_ROOM or ids.nbytes % 4
    copy: HostArray = ids.copy() if is_small else copied_ids(ids.view(np.uint32)).view(ids.dtype)
    return copy


def _starts_of(sizes: Places, in_blocks: bool) -> Places:
    """Where texts of these sizes begin: each in a block of its own, or one behind the other."""
    taken = BLOCK * -(-sizes // BLOCK) if in_blocks else sizes
    starts: Places = np.cumsum(taken) - taken
    return starts


def _in_source(places: Places, starts: Places, sizes: Places) -> Places:
    """Places in a text that was laid out for the kernels, as places in what it was laid out of."""
    laid_out = _starts_of(sizes, True)
    passage = np.searchsorted(laid_out, places, "right") - 1
    return starts[passage] + places - laid_out[passage]


def _is_one(rows: Places) -> bool:
    """Are all pieces one row?"""
    return len(rows) == 1 and rows[0] == 0
