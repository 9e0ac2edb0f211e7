"""One launch: short texts and small batches, from and to memory that the kernel reads and writes by itself.

Python takes as long for a short text as the device does, so there are no detours here: what one launch does not encode
(a name stands in it, it is no UTF-8, it is long or empty) gives None, and is encoded as slices are (_slot.py).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..native.buffers import copied_ids
from ..native.steps import within
from ..native.texts import Layout, Texts
from ..patterns.engine import splitter_of
from ._base_engine import Named
from ._device import finish
from ._engine import SHORT, SHORT_ON_HOST, Crowded, Engine, capacity_for_ids, short_capacity
from ._errors import NotForDevice, NotNormal, Unusable
from ._job import BLOCK
from ._lane import WORTH_ASKING, Lane
from ._normal import made_normal
from ._repair import form_of
from ._respelled import respelled
from ._results import Loan, Results
from ._tables import Tables, vocab_for
from ._text import Request, ShortText, bytes_in_blocks, starts_of
from ._waiting import complete, ended
from ._word_pieces import WordCoder, WordTables
from .longest.engine import LongestEngine, LongestTables

if TYPE_CHECKING:
    from .._protocols import DeviceArray, Encoding, HostArray
    from ..native.launch import TextLaunch
    from ..native.normal import Normalizer
    from ..native.vocab import Vocab
    from ._device import CudaDevice
    from ._special_tokens import Names

_WORTH_A_BUFFER = 1 << 16
"""Bytes of ids that are copied to memory which an earlier result has left. numpy keeps smaller pieces itself."""

_WORTH_LENDING = 1 << 14
"""Bytes of text, or characters, from which on ids may be too many to be copied at once."""

_T = TypeVar("_T")

_OTHERWISE = NotForDevice, Unusable, Named
"""What one launch raises for texts that it does not encode."""


def _merging_tables(device: CudaDevice, encoding: Encoding, vocab: Vocab, is_limited: bool) -> Tables:
    return Tables(device, vocab, splitter_of(encoding._split), is_limited)


def _longest_tables(device: CudaDevice, encoding: Encoding, vocab: Vocab, is_limited: bool) -> LongestTables:
    return LongestTables(device, vocab, splitter_of(encoding._split), is_limited)


def _merging_engine(device: CudaDevice, encoding: Encoding, coder: Any, *given: Any) -> Engine:
    return Engine(device, coder.encode_piece, *given)


def _longest_engine(device: CudaDevice, encoding: Encoding, coder: Any, tables: Any, form: Any) -> LongestEngine:
    return LongestEngine(device, tables, encoding._pat_str is not None, form)


def _word_engine(device: CudaDevice, encoding: Encoding, coder: Any, *given: Any) -> Engine:
    return Engine(device, WordCoder(coder).encode_piece, *given)


_KERNELS: dict[str | None, tuple[Any, Any]] = {
    "merging": (_merging_tables, _merging_engine),
    "longest": (_longest_tables, _longest_engine),
    "wordpiece": (WordTables, _word_engine),
}
"""By Model.kernels: what makes the tables on a device, and the engine of a slot."""


class Station:
    """A vocabulary's tables on a device, shared by the slots there.

    normalizer: what is done to texts before the kernels have them. form: all that it does, where the kernels look for
    that; else None. front: what stands in front of each text that is not empty."""

    def __init__(self, device: CudaDevice, encoding: Encoding, is_limited: bool = False) -> None:
        self.device, self._encoding, self.results = device, encoding, Results(device)
        own = respelled(encoding)
        vocab = vocab_for(encoding, is_limited) if own is None else own.vocab
        self._coder = encoding._coder if own is None else own.coder
        tables_for, self._engine_for = _KERNELS[encoding._kind.kernels]
        self.tables: Tables | LongestTables = tables_for(device, encoding, vocab, is_limited)
        self.normalizer = encoding._normalizer if own is None else own.normalizer
        self.form = form_of(self.normalizer, encoding._kind.kernels == "wordpiece")
        self.front = b"" if own is None else own.front
        device.synchronize()  # slots have streams of their own

    def engine(self) -> Engine | LongestEngine:
        given = self.device, self._encoding, self._coder, self.tables, self.form
        made: Engine | LongestEngine = self._engine_for(*given)
        return made

    @property
    def first_normalizer(self) -> Normalizer | None:
        """What the host does to all texts before a device has them; None: nothing, or the device looks whether it has
        to."""
        return self.normalizer if self.form is None else None


@dataclasses.dataclass(frozen=True)
class Quick:
    """A launch for texts of up to `most` bytes, which may write ids to `out`, at an address. It looks for `names`, and
    holds addresses of an engine that is at this place, and of what is held. note: to be called after a launch."""

    launch: TextLaunch
    out: HostArray
    address: int
    most: int
    names: Names
    place: object
    held: object
    note: Callable[[], None]

    def serves(self, size: int, names: Names, engine: Any) -> bool:
        """Whether it may be used for a text of so many bytes, or characters."""
        return size <= self.most and self.names is names and self.place == engine.place


class OneLaunch(Lane):
    """A lane with an engine, and how one launch of it encodes."""

    def __init__(self, station: Station) -> None:
        super().__init__(station.device)
        self.station, self.engine = station, station.engine()
        self._quick: Quick | None = None

    def forget(self) -> None:
        """Gives up the buffers."""
        super().forget()
        self._quick = None
        self.engine.forget()
        self.station.results.forget()

    def quickly(self, text: str | bytes, request: Request) -> Any:
        """The ids on the host of one text; None where it takes more than one launch. It is as short_to_host(), but
        nearly all of it is one call, and it makes the stream current by itself."""
        quick = self._quick
        if quick is None or not quick.serves(len(text), request.names, self.engine):
            quick = self._quick = within(self.stream, self._make_quick, text, request)
            if quick is None:
                return None
        loan = None
        if len(text) >= _WORTH_LENDING:
            loan = self._lent(len(text) // (2 if isinstance(text, bytes) or text.isascii() else 1), request)
        if loan is not None:
            count = self._run(quick, text, loan.address, loan.size // request.dtype.itemsize)
            if 0 <= count * request.dtype.itemsize <= loan.size:
                return loan.result(request.dtype, count)
            loan.release()
            if count < 0:
                return None
        out = quick.out
        count = self._run(quick, text, quick.address, len(out))
        return _copied(out[:count]) if 0 <= count <= len(out) else None

    def _make_quick(self, text: str | bytes, request: Request) -> Quick | None:
        sought = request.names.sought
        station = self.station
        if not isinstance(self.engine, Engine) or not sought.fits or station.first_normalizer or station.front:
            return None
        size = len(text) * (1 if isinstance(text, bytes) or text.isascii() else 3)
        most = min(SHORT_ON_HOST, short_capacity(size))
        buffer, out = self.pinned("quick in", most + 16), self._pinned_ids("quick out", most, request)
        launch, place, held = self.engine.text_launch(buffer, request.dtype, sought)
        return Quick(launch, out, out.ctypes.data, most, request.names, place, held, self.engine.note_short)

    def _run(self, quick: Quick, text: str | bytes, out: int, capacity: int) -> int:
        """How many ids there are, though there be no room for all of them; -1 where the text is none for this."""
        outcome = quick.launch.run(text, out, capacity)
        if outcome is None:
            return -1
        if outcome != (0, True):
            within(self.stream, finish, self.device, *outcome)
        quick.note()
        return quick.launch.tokens()

    def short_to_host(self, texts: Texts, request: Request, out: Any = None) -> Any:
        """(ids, row starts) on the host, the ids in the beginning of `out` if that is given; None where texts take more
        than one launch. The row starts of one text are None. Raises HasSurrogates."""
        is_target = out is not None and self.is_pinned(out)

        def encode(text: ShortText) -> tuple[Any, Any]:
            starts = None if text.rows is None else self.pinned("starts", 8 * (text.rows + 1)).view(np.int64)
            found = None if out is not None else self._in_loan(text, request, starts)
            if found is None:
                target = out if is_target else self._pinned_ids("out", text.size, request)
                ids, starts = self.engine.encode_short(text, request.names.sought, target, starts)
                found = _copied(ids) if out is None else ids, starts
            return found

        found = self._of_short(texts, request, SHORT_ON_HOST, encode)
        if found is None:
            return None
        ids, starts = found
        if out is None:
            return ids, None if starts is None else starts.copy()
        if is_target:
            return ids, None
        if len(ids) > len(out):
            return None
        out[: len(ids)] = ids
        return out[: len(ids)], None

    def short_to_device(self, texts: Texts, request: Request) -> Any:
        """The ids of one text on the host, on the device; None where it takes more. Raises HasSurrogates."""
        return self._of_short(
            texts, request, SHORT, lambda text: self.engine.encode_short(text, request.names.sought)[0]
        )

    def _of_short(self, texts: Texts, request: Request, most: int, encode: Callable[[ShortText], _T]) -> _T | None:
        """What a call makes of texts, which the host normalizes before that if it has to; None where they take more
        than one launch."""
        if self.station.front:
            texts = _with_front(texts, self.station.front)
        try:
            try:
                return encode(self._put_short(texts, request, most, self.station.first_normalizer))
            except NotNormal:
                return encode(self._put_short(texts, request, most, self.station.normalizer))
        except _OTHERWISE:
            return None

    def short_on_device(self, source: DeviceArray, request: Request) -> Any:
        """The same of a text on the device."""
        sought = request.names.sought
        address = self.device.pointer(source)
        station = self.station
        if station.first_normalizer or station.front or not sought.fits or address % 16 or not len(source):
            return None
        try:
            text = ShortText(address, len(source), request.dtype, request.trusted)
            return self.engine.encode_short(text, sought)[0]
        except _OTHERWISE:
            return None

    # ---- where texts are read, and ids written ----

    def _put_short(
        self, texts: Texts, request: Request, most: int, normalizer: Normalizer | None, is_normal: bool = False
    ) -> ShortText:
        """The texts in pinned memory, normalized. Raises NotForDevice where they take more than one launch.

        normalizer: what is done to them; None: nothing. is_normal: nothing more is to be done."""
        layout, rows = Layout(texts, True), None if len(texts) == 1 else len(texts)
        complete(ended(layout.measure()))
        size = layout.size() if rows is None else BLOCK * layout.count_blocks()
        if not request.names.sought.fits or not 0 < size <= most:
            raise NotForDevice("empty or long text, or too many names")
        buffer = self._read_in_place(texts, layout) if rows is None and size > WORTH_ASKING else None
        if buffer is None:
            buffer = self.pinned("in", bytes_in_blocks(size // BLOCK + 1, rows or 0))
            complete(ended(layout.write(buffer) if rows is None else layout.write_blocks(buffer, np.arange(rows))))
        if normalizer is not None:
            sizes = np.empty(len(texts), np.int64)
            layout.sizes(sizes)
            starts, _ = starts_of(sizes, rows is not None)
            normal = complete(made_normal(texts, buffer, starts, sizes, normalizer, request.names.matchers))
            if normal is None:
                raise NotForDevice("names in text that is normalized")
            if normal is not texts:
                return self._put_short(normal, request, most, None, True)
            is_normal = True
        return ShortText(buffer.ctypes.data, size, request.dtype, request.trusted, rows, is_normal)

    def _read_in_place(self, texts: Texts, layout: Layout) -> HostArray | None:
        """Pinned memory in which one text lies, as the kernel can read it; None: it is to be copied."""
        if layout.has_characters:
            return None
        there = np.frombuffer(texts[0], np.uint8)
        return there if there.ctypes.data % 16 == 0 and self.is_pinned(there) else None

    def _pinned_ids(self, name: str, size: int, request: Request) -> HostArray:
        """Pinned memory for the ids of so many bytes."""
        buffer: HostArray = self.pinned(name, capacity_for_ids(size) * request.dtype.itemsize).view(request.dtype)
        return buffer

    def _lent(self, count: int, request: Request) -> Loan | None:
        """Room for so many ids that may become the caller's."""
        return self.station.results.lend(count * request.dtype.itemsize) if request.may_lend else None

    def _in_loan(self, text: ShortText, request: Request, starts: Any) -> Any:
        """(ids, row starts), the ids in memory that is the caller's then; None where that has no room for them."""
        loan = self._lent(text.size // 2, request)
        if loan is None:
            return None
        try:
            target = loan.target(request.dtype)
            ids, starts = self.engine.encode_short(text, request.names.sought, target, starts)
        except Crowded:
            loan.release()
            return None
        except (Unusable, Named):
            loan.release()
            raise
        return loan.result(request.dtype, len(ids)), starts


def _with_front(texts: Texts, front: bytes) -> Texts:
    """The texts with a front each, but for empty ones."""
    given = (texts[i] for i in range(len(texts)))
    return Texts([front + bytes(text) if len(text) else b"" for text in given])


def _copied(ids: HostArray) -> HostArray:
    """A copy of ids that lie in pinned memory."""
    is_small = ids.nbytes < _WORTH_A_BUFFER or ids.nbytes % 4
    copy: HostArray = ids.copy() if is_small else copied_ids(ids.view(np.uint32)).view(ids.dtype)
    return copy
