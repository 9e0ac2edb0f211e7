"""GpuEncoder: text to ids that stay on the device."""

from __future__ import annotations

import dataclasses
import time
from _thread import allocate_lock
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._arrays import id_dtype
from .._rows.shape import check_packing, shape_for, shape_of
from ..errors import raise_of_row, shown
from ..native.encode import ERRORS
from ..native.steps import holding, on_failure, within
from ..native.texts import HasSurrogates, Texts
from . import _open
from ._engine import SHORT
from ._errors import explained
from ._fits import family_or_reason, modules_for
from ._launch import Station
from ._memory import LEAST_SLICE, slice_for
from ._pieces import cut_device, host_slices, own_rows, slices, utf8_of
from ._slot import Slot
from ._special_tokens import KeptNames
from ._text import Request
from ._waiting import complete
from .ids.decode import Kernels
from .ids.jobs import FAMILY, IDS
from .ids.rows import in_template, packed, packed_best_fit, padded

if TYPE_CHECKING:
    from .._protocols import AllowedSpecial, DeviceArray, DisallowedSpecial, Encoding


@dataclasses.dataclass(frozen=True)
class Timing:
    """Seconds of one call; all but `wall` by the device's clock.

    Attributes:
        kernel: work of the device on the text once it is there, checks included.
        copy: text from the host to the device.
        wall: the whole call, as the caller sees it.
    """

    kernel: float
    copy: float
    wall: float


_ON_HOST = {str, bytes, bytearray, memoryview, np.ndarray}

_T = TypeVar("_T")


def ordinal_of(device: Any) -> int:
    """The number of the device that None, an int or "cuda:N" names. Raises ValueError for anything else."""
    if device is None or device == "cuda":
        return 0
    if isinstance(device, str) and device.startswith("cuda:") and device[5:].isdecimal():
        return int(device[5:])
    if isinstance(device, int) and not isinstance(device, bool) and device >= 0:
        return device
    raise ValueError(f"device={shown(device)} names no CUDA device: write a number from 0, 'cuda' or 'cuda:N'")


def family_for(encoding: Encoding) -> str:
    """The kernels' family for an encoding. Raises ValueError where it has none, and says why."""
    family, reason = family_or_reason(encoding)
    if family is None:
        raise ValueError(f"{shown(encoding.name)} has {reason}: encode on the CPU (device='cpu')")
    return family


class GpuEncoder:
    """Encodes on a CUDA device; ids and row starts are CuPy arrays there, which hand on through DLPack without a copy.

    The ids are those of Encoding.encode_to_numpy and encode_ragged, and so are the errors. One call at a time: a second
    thread waits. Buffers are kept from call to call, so a call of a size seen before allocates nothing but its result.

    >>> gpu = streamtok.gpu.GpuEncoder(streamtok.get_encoding("o200k_base"))
    >>> ids = gpu.encode("hello world")
    >>> ids, row_starts = gpu.encode_batch(["hello", "world"])
    >>> torch.from_dlpack(ids)

    Args:
        encoding: an Encoding that the kernels serve: its pattern has a table, or it has no pattern.
        device: a number, "cuda:N", or None for the first.
        stream: the CUDA stream that works: a CuPy stream, anything with __cuda_stream__ (as torch.cuda.Stream), or a
            handle. None: the one that is current for CuPy when a method is called.
        memory_limit: bytes of device memory for tables and buffers, the result aside. Texts are then encoded in slices,
            cut where the two sides encode independently, and the tables are the package's own, the smaller ones.
        ids: dtype of the ids: "uint16", "uint32", "int32" or "int64".

    Raises:
        DeviceError: no CuPy, no driver, an old one, no such device; the message says what to do.
        DeviceMemoryError: the device has too little memory, or memory_limit is too small.
        ValueError: ids that do not fit, an encoding that no kernel serves.
    """

    def __init__(
        self,
        encoding: Encoding,
        device: int | str | None = None,
        stream: Any = None,
        memory_limit: int | None = None,
        ids: str = "uint32",
    ) -> None:
        self.encoding = encoding
        self._dtype = id_dtype(encoding, ids, "ids")
        self.ids = self._dtype.name
        self.device = f"cuda:{ordinal_of(device)}"
        self._device = _open.open_device(family_for(encoding), ordinal_of(device), modules_for(encoding))
        self._stream, self._lock = stream, allocate_lock()
        self._names = KeptNames(encoding)
        self._kernels: Kernels | None = None
        with explained(self.device):
            self._slot = Slot(Station(self._device, encoding, is_limited=memory_limit is not None))
        station = self._slot.station
        has_form = station.form is not None
        self._slice = slice_for(memory_limit, station.tables.nbytes, self._dtype.itemsize, has_form)
        # A short text gets room for all that it could need, more than its share of a limit.
        self._short_size = SHORT if self._slice >= 4 * SHORT else 0

    def __repr__(self) -> str:
        return f"<GpuEncoder of {self.encoding.name!r} on {self.device}, {self.ids}>"

    def encode(
        self,
        text: Any,
        *,
        allowed_special: AllowedSpecial = frozenset(),
        disallowed_special: DisallowedSpecial = "all",
        add_special_tokens: bool = False,
        errors: str = "strict",
        timing: bool = False,
    ) -> Any:
        """The ids of one text: a CuPy array of one row, on the device. With timing=True a pair: ids, Timing.

        Args:
            text: a str, a buffer of UTF-8 bytes, or one row of uint8 on a device (__cuda_array_interface__ or DLPack).
            allowed_special: as for Encoding.encode().
            disallowed_special: as for Encoding.encode().
            add_special_tokens: as for Encoding.encode().
            errors: as for Encoding.encode_to_numpy().
            timing: measure the call, which then waits for the device.

        Raises:
            ValueError: a disallowed special token.
            UnicodeDecodeError: bytes that are not UTF-8, with errors="strict".
            TypeError: text on a device that is not one row of uint8.
            DeviceError: the device failed. DeviceMemoryError: it has too little memory.
        """
        if add_special_tokens and any(self.encoding._template):
            ids, _, *more = self.encode_batch(
                [text],
                allowed_special=allowed_special,
                disallowed_special=disallowed_special,
                add_special_tokens=True,
                errors=errors,
                timing=timing,
            )
            return (ids, *more) if timing else ids
        if not timing and errors in ERRORS:
            ids = self._short(text, allowed_special, disallowed_special)
            if ids is not None:
                return ids
        call = _Call(self, allowed_special, disallowed_special, errors, timing)
        ids, _ = call.run([text], is_batch=False)
        return (ids, call.timing()) if timing else ids

    def _short(self, text: Any, allowed: AllowedSpecial, disallowed: DisallowedSpecial) -> Any:
        """The ids of one short text; None where it takes more than that."""
        names = self._names.of(self.encoding._matchers_for(allowed, disallowed))
        request = Request(None, names, self._dtype, type(text) is str)
        return self._alone(partial(self._short_alone, text, request))

    def _alone(self, call: Callable[[], _T]) -> _T:
        """The only call, on the caller's stream. After an error, or Ctrl-C, no work is left there."""
        with explained(self.device):
            ended = partial(on_failure, call, self._device.synchronize)
            made: _T = holding(self._lock, within, self._device.caller_stream(self._stream), ended)
            return made

    def _short_alone(self, text: Any, request: Request) -> Any:
        try:
            if type(text) in _ON_HOST:
                return self._short_of_host(text, request)
            there = self._device.adopt(text)
            if there is None or len(_flat(there)) > self._short_size:
                return None
            return self._slot.short_on_device(there, request)
        except (MemoryError, HasSurrogates):
            return None  # the other way gives memory back first, or mends the text

    def _short_of_host(self, text: Any, request: Request) -> Any:
        texts = Texts([text])
        if not 0 < texts.size <= self._short_size:
            return None
        return self._slot.short_to_device(texts, request)

    def encode_batch(
        self,
        texts: Iterable[Any],
        *,
        allowed_special: AllowedSpecial = frozenset(),
        disallowed_special: DisallowedSpecial = "all",
        add_special_tokens: bool = False,
        errors: str = "strict",
        timing: bool = False,
    ) -> Any:
        """(ids, row_starts) of many texts, CuPy arrays on the device: the ids of text i are
        ids[row_starts[i] : row_starts[i + 1]]; row_starts is int64, of length len(texts) + 1. With timing=True
        (ids, row_starts, Timing).

        Args:
            texts: an iterable of what encode() takes.
            allowed_special: as for Encoding.encode().
            disallowed_special: as for Encoding.encode().
            add_special_tokens: as for Encoding.encode().
            errors: as for Encoding.encode_to_numpy().
            timing: as for encode().

        Raises:
            TypeError, UnicodeDecodeError: as for encode(); the message has the index of the text.
            ValueError, DeviceError, DeviceMemoryError: as for encode().
        """
        call = _Call(self, allowed_special, disallowed_special, errors, timing)
        try:
            ids, row_starts = call.run(list(texts), is_batch=True)
        except Exception as error:
            raise_of_row(error, "text")
        if add_special_tokens and any(self.encoding._template):
            assert row_starts is not None
            template = self.encoding._template
            ids, row_starts = self._shaped(partial(in_template, ids=ids, row_starts=row_starts, template=template))
        return (ids, row_starts, call.timing()) if timing else (ids, row_starts)

    def encode_padded(
        self,
        texts: Iterable[Any],
        *,
        length: int | None = None,
        side: str | None = None,
        pad_id: int | None = None,
        dtype: str = "int64",
        truncate: str | None = None,
        max_length: int | None = None,
        pad_to_multiple_of: int | None = None,
        allowed_special: AllowedSpecial = frozenset(),
        disallowed_special: DisallowedSpecial = "all",
        add_special_tokens: bool = False,
        errors: str = "strict",
    ) -> tuple[Any, Any]:
        """(ids, mask) of many texts in rows of one length, CuPy arrays of shape (texts, length) on the device. Text and
        ids do not come to the host.

        >>> ids, mask = map(torch.from_dlpack, gpu.encode_padded(texts, length=512, pad_id=pad))

        Args:
            texts: as for encode_batch().
            length, side, pad_id, dtype, truncate, max_length, pad_to_multiple_of: as for Encoding.encode_padded().
            allowed_special: as for Encoding.encode().
            disallowed_special: as for Encoding.encode().
            add_special_tokens: as for Encoding.encode().
            errors: as for Encoding.encode_to_numpy().

        Raises:
            ValueError: as there, and as encode_batch().
            TypeError, UnicodeDecodeError, DeviceError, DeviceMemoryError: as for encode_batch().
        """
        shape = shape_for(self.encoding, length, dtype, pad_id, side, truncate, max_length, pad_to_multiple_of)
        ids, row_starts = self.encode_batch(
            texts, allowed_special=allowed_special, disallowed_special=disallowed_special, errors=errors
        )
        template = self.encoding._template if add_special_tokens else ((), ())
        return self._shaped(lambda kernels: complete(padded(kernels, ids, row_starts, shape, template)))

    def pack(
        self,
        documents: Iterable[Any],
        length: int,
        *,
        how: str = "concatenate",
        eot: int | None = None,
        pad_id: int = 0,
        dtype: str = "int64",
        sources: bool = False,
        allowed_special: AllowedSpecial = frozenset(),
        disallowed_special: DisallowedSpecial = "all",
        add_special_tokens: bool = False,
        errors: str = "strict",
    ) -> tuple[Any, ...]:
        """(ids, cu_seqlens, position_ids) of documents packed into rows, CuPy arrays on the device. Text and ids do not
        come to the host.

        The rows are those of streamtok.pack(), which says what they are. With how="best-fit" the host gets the sizes of
        the documents and plans the rows; the device fills them.

        >>> ids, cu_seqlens, position_ids = gpu.pack(documents, 4096, eot=enc.eot_token)

        Args:
            documents: as the texts of encode_batch().
            length: ids of a row.
            how: "concatenate" or "best-fit", as for streamtok.pack().
            eot: the id that ends each document; None: none does.
            pad_id: the id that fills rows. Pads have position 0.
            dtype: of ids and positions, as for encode_padded().
            sources: as for streamtok.pack().
            allowed_special: as for Encoding.encode().
            disallowed_special: as for Encoding.encode().
            add_special_tokens: as for Encoding.encode().
            errors: as for Encoding.encode_to_numpy().

        Raises:
            ValueError: an unknown `how`; a length below 1, and above 2**24 with "best-fit"; a batch of 2**31 ids or
                more; and as encode_padded().
            TypeError, UnicodeDecodeError, DeviceError, DeviceMemoryError: as for encode_batch().
        """
        check_packing(how, length)
        shape = shape_of(length, dtype, pad_id, self.encoding.max_token_value, end=eot)
        ids, doc_starts = self.encode_batch(
            documents,
            allowed_special=allowed_special,
            disallowed_special=disallowed_special,
            add_special_tokens=add_special_tokens,
            errors=errors,
        )

        def made_of(kernels: Kernels) -> Any:
            if how == "best-fit":
                return packed_best_fit(kernels, ids, doc_starts, shape, sources)
            return complete(packed(kernels, ids, doc_starts, shape, sources))

        made = self._shaped(made_of)
        return tuple(made) if sources else made[:3]

    def _shaped(self, call: Callable[[Kernels], _T]) -> _T:
        """What a call makes with the kernels that take ids."""

        def alone() -> _T:
            if self._kernels is None:
                self._kernels = Kernels(_open.open_device(FAMILY, self._device.ordinal, (IDS,)))
            return call(self._kernels)

        return self._alone(alone)

    @property
    def memory(self) -> int:
        """Bytes of device memory that the encoder holds between calls."""
        own = self._slot.memory + (0 if self._kernels is None else self._kernels.buffers.nbytes)
        return int(self._slot.station.tables.nbytes) + own


class _Call:
    """One call of an encoder: texts in, slice by slice, results joined."""

    def __init__(
        self, encoder: GpuEncoder, allowed: AllowedSpecial, disallowed: DisallowedSpecial, errors: str, timing: bool
    ) -> None:
        self._began = time.perf_counter()
        encoding = encoder.encoding
        self._encoder, self._slot, self._device = encoder, encoder._slot, encoder._device
        self._names = encoder._names.of(encoding._matchers_for(allowed, disallowed))
        self._coder = encoding._coder_for(errors)
        self._request = Request(self._coder, self._names, encoder._dtype)
        self._size = encoder._slice
        self._spans: list[tuple[str, object, object]] | None = [] if timing else None

    def run(self, texts: list[Any], is_batch: bool) -> tuple[DeviceArray, DeviceArray | None]:
        return self._encoder._alone(lambda: self._run_alone(texts, is_batch))

    def _run_alone(self, texts: list[Any], is_batch: bool) -> tuple[DeviceArray, DeviceArray | None]:
        while True:
            try:
                return self._run(texts, is_batch)
            except MemoryError as error:
                self._shrink(error)
            except ValueError as error:
                self._raise_as_core(texts, error)

    def _shrink(self, error: MemoryError) -> None:
        """Give all back and go on with smaller slices; raise where they are small already."""
        self._slot.forget()
        self._device.give_back()
        if self._size <= LEAST_SLICE:
            raise error
        self._size = max(self._size // 4, LEAST_SLICE)

    def _raise_as_core(self, texts: list[Any], error: ValueError) -> None:
        """The error of a piece of a text is told of the whole text."""
        arrays = [self._device.adopt(text) for text in texts]
        whole = [text if array is None else self._device.get(array).tobytes() for text, array in zip(texts, arrays)]
        self._coder.encode_many(whole, *self._names.matchers)
        raise error

    def _run(self, texts: list[Any], is_batch: bool) -> tuple[DeviceArray, DeviceArray | None]:
        self._slot.spans = self._spans
        # Asking takes longer than to encode a short text.
        arrays = None if set(map(type, texts)) <= {str, bytes} else [self._device.adopt(text) for text in texts]
        if arrays is None or all(array is None for array in arrays):
            try:
                results = list(self._from_host(Texts(texts)))
            except HasSurrogates:
                results = list(self._from_host(Texts(texts).mended()))
        else:
            results = list(self._from_device(texts, arrays))
        ids = self._joined_ids([ids for ids, _, _ in results])
        return ids, self._row_starts(results) if is_batch else None

    def _from_host(self, texts: Texts) -> Iterator[tuple[DeviceArray, DeviceArray | None, int]]:
        """(ids, row starts, rows that begin) of one slice after another."""
        request = dataclasses.replace(self._request, trusted=texts.trusted)
        for some in host_slices(texts, self._size, self._names):
            yield (*complete(self._slot.encode_host(some, request)), some.begun)

    def _from_device(
        self, texts: list[Any], adopted: list[DeviceArray | None]
    ) -> Iterator[tuple[DeviceArray, DeviceArray | None, int]]:
        """The same of texts of which one, at least, is on the device."""
        device = self._device
        arrays = [
            device.put(np.frombuffer(utf8_of(text), np.uint8)) if array is None else _flat(array)
            for text, array in zip(texts, adopted)
        ]
        source = arrays[0] if len(arrays) == 1 else device.concatenate(arrays)
        parts = [cut_device(device, array, self._size, self._names) for array in arrays]
        sizes = np.concatenate([np.diff(borders) for borders in parts])
        starts = np.cumsum(sizes) - sizes
        counts = np.array([len(borders) - 1 for borders in parts])
        rows = np.cumsum(counts) - counts
        for first, last in slices(sizes, self._size):
            own, begun = own_rows(rows, first, last)
            places = starts[first:last], sizes[first:last], own
            is_large = sizes[first] > self._size
            yield (*self._slot.encode_device(source, *places, self._request, is_large), begun)

    def _joined_ids(self, parts: list[DeviceArray]) -> DeviceArray:
        if len(parts) == 1:
            return parts[0]
        return self._device.concatenate(parts) if parts else self._device.empty(0, self._request.dtype)

    def _row_starts(self, results: list[tuple[DeviceArray, DeviceArray | None, int]]) -> DeviceArray:
        if len(results) == 1 and results[0][1] is not None:
            return results[0][1]
        parts, total = [], 0
        for ids, starts, count in results:
            if count:
                parts.append(self._device.put(np.array([total])) if starts is None else starts[:-1] + total)
            total += len(ids)
        return self._device.concatenate([*parts, self._device.put(np.array([total]))])

    def timing(self) -> Timing:
        seconds = {"kernel": 0.0, "copy": 0.0}
        for what, first, second in self._spans or ():
            seconds[what] += self._device.seconds_between(first, second)
        return Timing(**seconds, wall=time.perf_counter() - self._began)


def _flat(array: DeviceArray) -> DeviceArray:
    if array.dtype != np.uint8 or array.ndim != 1:
        raise TypeError(
            f"text on a device is one row of uint8, got {array.dtype} of shape {array.shape}: "
            "pass its UTF-8 bytes, array.view('uint8').ravel()"
        )
    return array
