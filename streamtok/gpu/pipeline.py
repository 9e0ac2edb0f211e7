"""GpuPipeline: text on the host to ids on the host, over one device or several.

Copies in, kernels and copies out overlap: each device has a few slots, each with a CUDA stream of its own. One thread
of the host serves all of them (_ordered.py).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import id_dtype
from ..errors import raise_of_row, shown
from ..native.buffers import WritableIds
from ..native.steps import Pool, on_failure, within
from ..native.texts import HasSurrogates, Texts
from . import _open
from ._engine import SHORT_ON_HOST, SHORT_ROWS
from ._errors import DeviceError, explained
from ._fits import modules_for
from ._lane import PINNED
from ._launch import Station
from ._ordered import Output, Overflow, Work, leave_in_peace, row_starts_of, run_in_order
from ._pieces import host_slices
from ._slot import Slot
from ._special_tokens import KeptNames
from ._text import Request
from .encoder import family_for, ordinal_of

if TYPE_CHECKING:
    from .._protocols import (
        AllowedSpecial,
        ArrayCoder,
        DisallowedSpecial,
        Encoding,
        Ids,
        NamePair,
        Names,
        Places,
        SomeText,
        Text,
    )

CHUNK = 32 << 20
"""Bytes of text in flight in a slot. From this size on, the cost of a call is small beside the time of the bus."""

LEAST_CHUNK = 1 << 20

_WHOLE = 256 << 20
"""Bytes of texts in flight that cannot be cut."""

SLOTS = 4
"""A device copies in, computes and copies out at the same time, and one waits."""


class GpuPipeline:
    """Encodes from host memory into host memory. The ids are those of Encoding.encode_to_numpy and encode_ragged, and
    so are the errors. Threads share it freely; calls share the slots.

    >>> pipeline = streamtok.gpu.GpuPipeline(enc, device=[0, 1])
    >>> ids = pipeline.encode(text)

    Args:
        encoding: an Encoding that the kernels serve: its pattern has a table, or it has no pattern.
        device: a number, "cuda:N", or a list of them: texts are shared out, ids stay in order. None: the first.
        ids: dtype of the ids: "uint16", "uint32", "int32" or "int64".
        chunk_size: bytes of text in flight in each slot; None: enough to keep the devices busy.
        slots: how many a device has.

    Raises:
        DeviceError: no CuPy, no driver, an old one, no such device; the message says what to do.
        DeviceMemoryError: a device has too little memory.
        ValueError: ids that do not fit, an encoding that no kernel serves, a device named twice.
    """

    def __init__(
        self,
        encoding: Encoding,
        device: int | str | Sequence[int | str] | None = None,
        *,
        ids: str = "uint32",
        chunk_size: int | None = None,
        slots: int = SLOTS,
    ) -> None:
        if (chunk_size is not None and chunk_size < 1) or slots < 1:
            raise ValueError(f"chunk_size={shown(chunk_size)} and slots={shown(slots)}: write 1 or more")
        self.encoding = encoding
        self._dtype = id_dtype(encoding, ids, "ids")
        self.ids = self._dtype.name
        names = list(device) if isinstance(device, Sequence) and not isinstance(device, str) else [device]
        self.devices = [f"cuda:{ordinal_of(name)}" for name in names]
        if not names or len(set(self.devices)) != len(names):
            raise ValueError(f"device={shown(device)}: name each device once, one at least")
        # One thread serves all devices: of more than two larger chunks leave it the time.
        self.family, self.chunk = family_for(encoding), chunk_size or (CHUNK if len(names) <= 2 else PINNED)
        self._slots: list[Slot] = []
        modules = modules_for(encoding)
        opened = [_open.open_device(self.family, ordinal_of(name), modules) for name in names]
        with explained(self._where):
            stations = [Station(device, encoding) for device in opened]
            # In turn, so that a text of few chunks uses all devices.
            self._slots = [Slot(station) for _ in range(slots) for station in stations]
        self.identity = ", ".join(device.identity for device in opened)
        self._free = Pool(self._slots)
        self._names = KeptNames(encoding)
        self._plain_requests: list[Request | None] = [None, None]  # of the last short texts, by whether they may lend
        self._lost: DeviceError | None = None
        self._expected = 0.5  # ids for a byte that a long text may have

    def __repr__(self) -> str:
        return f"<GpuPipeline of {self.encoding.name!r} on {self._where}, {self.ids}>"

    @property
    def _where(self) -> str:
        return ", ".join(self.devices)

    # ---- what one calls ----

    def encode(
        self,
        text: Text,
        *,
        out: Any = None,
        allowed_special: AllowedSpecial = frozenset(),
        disallowed_special: DisallowedSpecial = "all",
        errors: str = "strict",
    ) -> Any:
        """The ids of one text, as a numpy array of one row.

        Args:
            text: a str, or a buffer of UTF-8 bytes. Pinned memory (cupyx.empty_pinned) saves a copy.
            out: an array of one row, of the pipeline's dtype, that the ids are written to; the part that they took is
                returned. Pinned memory saves a copy here too.
            allowed_special: as for Encoding.encode().
            disallowed_special: as for Encoding.encode().
            errors: as for Encoding.encode_to_numpy().

        Raises:
            ValueError: a disallowed special token; `out` has too little room, or is not such an array.
            UnicodeDecodeError: bytes that are not UTF-8, with errors="strict".
            DeviceError: a device failed. DeviceMemoryError: it has too little memory.
        """
        matchers: NamePair = self.encoding._matchers_for(allowed_special, disallowed_special)
        if out is not None and (out.dtype != self._dtype or out.ndim != 1 or not out.flags.c_contiguous):
            raise ValueError(f"out is {out.dtype} of shape {out.shape}: give one row of {self._dtype}, in one piece")
        return self._encode([text], matchers, errors, out)[0]

    def encode_batch(
        self,
        texts: Iterable[SomeText],
        *,
        allowed_special: AllowedSpecial = frozenset(),
        disallowed_special: DisallowedSpecial = "all",
        errors: str = "strict",
    ) -> tuple[Any, Any]:
        """(ids, indptr), as Encoding.encode_ragged() returns them.

        Args:
            texts: an iterable of str or of buffers of UTF-8 bytes.
            allowed_special: as for Encoding.encode().
            disallowed_special: as for Encoding.encode().
            errors: as for Encoding.encode_to_numpy().

        Raises:
            TypeError, UnicodeDecodeError: as for encode(); the message has the index of the text.
            ValueError, DeviceError, DeviceMemoryError: as for encode().
        """
        matchers = self.encoding._matchers_for(allowed_special, disallowed_special)
        try:
            return _with_starts(*self._encode(list(texts), matchers, errors, None))
        except Exception as error:
            raise_of_row(error, "text")

    def coder(self, errors: str) -> PipelineCoder:
        """This pipeline with the methods of the core's coder, which files and batches call.

        Args:
            errors: as for Encoding.encode_to_numpy().
        """
        return PipelineCoder(self, errors)

    # ---- how it is done ----

    def _encode(
        self, texts: list[SomeText] | Texts, matchers: NamePair, errors: str, out: Any, may_lend: bool = False
    ) -> tuple[Any, Any]:
        """(ids, row starts). The row starts of one text may be None. may_lend: the array may be read-only."""
        coder = self.encoding._coder_for(errors)
        if self._lost is not None:
            raise self._lost
        try:
            is_one = isinstance(texts, list) and len(texts) == 1 and out is None
            ids = self._quickly(texts[0], matchers, may_lend) if is_one else None
            if ids is not None:
                return ids, None
            with explained(self._where):
                given = texts if isinstance(texts, Texts) else Texts(texts)
                found: tuple[Any, Any] | None = self._short(given, matchers, out, may_lend)
                if found is not None:
                    return found
                return self._encode_texts(given, coder, matchers, out)
        except DeviceError as error:
            self._lost = error if error.lasting else None
            raise
        except ValueError as error:
            if not isinstance(error, _Full):
                whole: Any = list(texts)  # type: ignore[arg-type]
                coder.encode_many(whole, *matchers)  # the error of the whole text, not of a piece
            raise

    def _quickly(self, text: SomeText, matchers: NamePair, may_lend: bool) -> Any:
        """The ids of a short str, or of bytes; None where it takes more than that."""
        if not isinstance(text, (str, bytes)) or not 0 < len(text) <= min(SHORT_ON_HOST, self.chunk):
            return None
        request = self._plain_requests[may_lend]
        if request is None or request.names.matchers != matchers:
            request = Request(None, self._names.of(matchers), self._dtype, may_lend=may_lend)
            self._plain_requests[may_lend] = request
        try:
            return self._free.lend(1, False, _on_first, Slot.quickly, text, request)
        except MemoryError:
            return None  # the other way gives memory back first
        except Exception:
            with explained(self._where):
                raise

    def _short(self, texts: Texts, matchers: NamePair, out: Any, may_lend: bool) -> Any:
        """(ids, row starts) of short texts, as Slot.short_to_host() gives them; None where it takes more than that: a
        name in them, broken UTF-8, slots in use."""
        if not 0 < len(texts) <= SHORT_ROWS or not 0 < texts.size <= min(SHORT_ON_HOST, self.chunk):
            return None
        request = Request(None, self._names.of(matchers), self._dtype, texts.trusted, may_lend)
        try:
            return self._free.lend(1, False, _on_first, _to_host, texts, request, out)
        except (MemoryError, HasSurrogates):
            return None  # the other way gives memory back first, or mends the texts

    def _encode_texts(self, texts: Texts, coder: ArrayCoder, matchers: NamePair, out: Any) -> tuple[Any, Any]:
        request = Request(coder, self._names.of(matchers), self._dtype, texts.trusted)
        try:
            return self._in_chunks(texts, request, out)
        except HasSurrogates:
            return self._in_chunks(texts.mended(), request, out)

    def _in_chunks(self, texts: Texts, request: Request, out: Any) -> tuple[Any, Any]:
        """Smaller ones where the device has too little memory."""
        chunk = max(self.chunk, _WHOLE) if request.names.keep_whole else self.chunk
        while True:
            try:
                return self._attempt(texts, request, chunk, out)
            except MemoryError:
                if chunk <= LEAST_CHUNK:
                    raise
                chunk = max(chunk // 4, LEAST_CHUNK)

    def _attempt(self, texts: Texts, request: Request, chunk: int, out: Any) -> tuple[Any, Any]:
        # A str of wide characters is nearly all ASCII, or has few bytes more than a chunk.
        slices = list(host_slices(texts, chunk, request.names, max(chunk, min(2 * chunk, PINNED))))
        works: list[Work] = [functools.partial(Slot.encode_host, some=some, request=request) for some in slices]
        ids, results = self._run(works, texts.most()[0], out)
        return ids, row_starts_of(results, [some.begun for some in slices])

    def _run(self, works: list[Work], size: int, out: Any) -> tuple[Any, list[Any]]:
        """The ids of all work, and what each gave."""
        if not works:
            return np.empty(0, self._dtype) if out is None else out[:0], []
        capacity = size if size < _SURE_CAPACITY else int(size * self._expected) + 1
        while True:
            made = None if out is not None else self._buffer_for(capacity, size)
            output = Output(out if made is None else made.array)
            try:
                results = self._free.lend(len(works), True, _on_all, works, output)
                assert results is not None
            except Overflow:
                enough = f"; {size} are enough" if output.total <= size else ""
                if out is not None:
                    raise _Full(f"out has room for {len(out)} ids, and there are more{enough}") from None
                # A token has a byte at least, of the text as it is encoded: mended or normalized text may have more.
                capacity = max(size, 2 * output.total)
                continue
            total = output.total
            if size >= _SURE_CAPACITY:
                self._expected = min(0.5, total / size * 17 / 16)
            if made is None:
                return out[:total], results
            del output
            return made.taken(total), results

    def _buffer_for(self, count: int, most: int) -> _IdsBuffer:
        return _IdsBuffer(count, max(count, most), self._dtype)


def _on_first(slots: list[Slot], call: Callable[..., Any], *arguments: Any) -> Any:
    return on_failure(partial(call, slots[0], *arguments), partial(leave_in_peace, slots))


def _to_host(slot: Slot, texts: Texts, request: Request, out: Any) -> Any:
    return within(slot.stream, slot.short_to_host, texts, request, out)


def _on_all(slots: list[Slot], works: list[Work], output: Output) -> list[Any]:
    try:
        return run_in_order(works, slots, output)
    except MemoryError:
        for slot in slots:
            slot.forget()
            slot.device.give_back()
        raise


class PipelineCoder:
    """A pipeline as files/documents.py and _batch.py take a coder: whole texts, with the core's Matchers."""

    def __init__(self, pipeline: GpuPipeline, errors: str) -> None:
        self.pipeline, self._errors = pipeline, errors

    def encode_array(self, source: Text, allowed: Names, disallowed: Names) -> Ids:
        """A read-only array of ids."""
        ids: Ids = self.pipeline._encode([source], (allowed, disallowed), self._errors, None, True)[0]
        ids.flags.writeable = False
        return ids

    def encode_many(self, sources: list[SomeText] | Texts, allowed: Names, disallowed: Names) -> tuple[Ids, Places]:
        """(a read-only array of the ids of all texts, row starts)."""
        ids, indptr = _with_starts(*self.pipeline._encode(sources, (allowed, disallowed), self._errors, None, True))
        ids.flags.writeable = False
        return ids, indptr


def _with_starts(ids: Any, starts: Any) -> tuple[Any, Any]:
    return ids, np.array([0, len(ids)], np.int64) if starts is None else starts


class _Full(ValueError):
    pass


_SURE_CAPACITY = 1 << 20
"""Up to here room for an id a byte is made at once. A longer text gets half of that at first, four times what text
needs, and later a little more than the one before had: memory that an earlier result has left then fits."""


class _IdsBuffer:
    """Room for ids of a dtype; `array` is all of it."""

    def __init__(self, count: int, most: int, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype
        self._buffer = WritableIds(*(-(-size * dtype.itemsize // 4) + 1 for size in (count, most)))
        self.array = np.frombuffer(memoryview(self._buffer), dtype, 4 * self._buffer.capacity // dtype.itemsize)

    def taken(self, count: int) -> Any:
        """The first ids. Nothing else may refer to `array`."""
        del self.array
        words = -(-count * self._dtype.itemsize // 4)
        return self._buffer.taken(words).view(self._dtype)[:count]
