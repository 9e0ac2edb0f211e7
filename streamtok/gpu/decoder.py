"""GpuDecoder: ids to bytes on a device, and GpuStreamDecoder: rows of ids as they come."""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._checks import check_row, id_array, id_rows
from ..errors import shown
from ..native.steps import holding, within
from . import _open
from ._errors import DeviceError, explained
from ._waiting import complete
from .encoder import ordinal_of
from .ids.decode import BadIds, BadRows, Decoded, Kernels
from .ids.jobs import FAMILY, IDS
from .ids.tables import DecodingTables, why_not

if TYPE_CHECKING:
    from .._protocols import DeviceArray, Encoding, TokenIds

_T = TypeVar("_T")

_ON_HOST = {list, tuple, range, bytes, bytearray, np.ndarray}

_ADVICE = "decode fewer ids at a time"


class GpuDecoder:
    """Decodes on a CUDA device; bytes and offsets are CuPy arrays there, which hand on through DLPack without a copy.

    The bytes are those of Encoding.decode_bytes and decode_bytes_batch, and so are the errors. Ids may lie on the
    device, as integers of any width (__cuda_array_interface__ or DLPack: CuPy's, torch's, JAX's), or on the host, as
    everywhere else. One call at a time: a second thread waits.

    >>> decoder = streamtok.gpu.GpuDecoder(streamtok.get_encoding("o200k_base"))
    >>> data = decoder.decode_bytes(torch.tensor([24912, 2375], device="cuda"))
    >>> data, row_starts = decoder.decode_bytes_batch(generated)     # a tensor of two dimensions

    Args:
        encoding: an Encoding whose tokens are bytes, each by itself, as those of the bundled encodings are.
        device: a number, "cuda:N", or None for the first.
        stream: the CUDA stream that works, as for GpuEncoder.

    Raises:
        DeviceError: no CuPy, no driver, an old one, no such device; the message says what to do.
        DeviceMemoryError: the device has too little memory.
        ValueError: an encoding that no kernel serves.
    """

    def __init__(self, encoding: Encoding, device: int | str | None = None, stream: Any = None) -> None:
        self.encoding = encoding
        ordinal = ordinal_of(device)
        reason = why_not(encoding)
        if reason:
            raise ValueError(f"{shown(encoding.name)} has {reason}: decode on the CPU")
        self.device = f"cuda:{ordinal}"
        self._device = _open.open_device(FAMILY, ordinal, (IDS,))
        self._stream, self._lock = stream, allocate_lock()
        with explained(self.device, _ADVICE):
            self._tables = DecodingTables(self._device, encoding, encoding._decoder.special_ids())
            self._kernels = Kernels(self._device)
            self._device.synchronize()  # the caller's stream is another one

    def __repr__(self) -> str:
        return f"<GpuDecoder of {self.encoding.name!r} on {self.device}>"

    def decode_bytes(self, tokens: TokenIds, *, skip_special_tokens: bool = False) -> Any:
        """The bytes of all ids, joined: a CuPy array of uint8, on the device.

        Args:
            tokens: one row of integers: on a device, or what Encoding.decode_bytes() takes.
            skip_special_tokens: leave out the ids of special tokens.

        Raises:
            KeyError, OverflowError, TypeError, ValueError: as Encoding.decode_bytes().
            DeviceError: the device failed. DeviceMemoryError: it has too little memory.
        """
        return self._decoded(tokens, skip_special_tokens).data

    def decode_tokens_bytes(self, tokens: TokenIds) -> tuple[Any, Any]:
        """(bytes, starts), CuPy arrays on the device: the bytes of id i are bytes[starts[i] : starts[i + 1]]; starts is
        int64, of length len(tokens) + 1.

        Args:
            tokens: as for decode_bytes().

        Raises:
            KeyError, OverflowError, TypeError, ValueError: as Encoding.decode_bytes().
            DeviceError, DeviceMemoryError: as for decode_bytes().
        """
        found = self._decoded(tokens, False, with_starts=True)
        return found.data, found.starts

    def decode_bytes_batch(
        self, batch: Any, row_starts: Any = None, *, skip_special_tokens: bool = False
    ) -> tuple[Any, Any]:
        """(bytes, row_starts) of several rows of ids, CuPy arrays on the device: the bytes of row i are
        bytes[row_starts[i] : row_starts[i + 1]]; row_starts is int64, one longer than there are rows.

        Args:
            batch: an array or tensor of two dimensions, on a device or on the host; a list of what decode_bytes()
                takes; or, with row_starts, one row of ids, as GpuEncoder.encode_batch() returns them.
            row_starts: where each row begins in that one, and where the last one ends: integers, ascending from 0 to
                the number of ids, on a device or on the host.
            skip_special_tokens: as for decode_bytes().

        Raises:
            KeyError, OverflowError, TypeError, ValueError: as Encoding.decode_bytes_batch(); ValueError for row_starts
                that do not ascend, or reach beyond the ids.
            DeviceError, DeviceMemoryError: as for decode_bytes().
        """
        found = self._on_stream(lambda: self._decoded_rows(batch, row_starts, skip_special_tokens))
        return found.data, found.row_starts

    def stream(self, rows: int, *, skip_special_tokens: bool = False) -> GpuStreamDecoder:
        """A decoder of so many rows that grow together, as those that a model generates.

        Args:
            rows: how many.
            skip_special_tokens: as for decode_bytes().

        Raises:
            ValueError: less than one row.
        """
        return GpuStreamDecoder(self, rows, skip_special_tokens)

    @property
    def memory(self) -> int:
        """Bytes of device memory that the decoder holds between calls."""
        return self._tables.nbytes + self._kernels.buffers.nbytes

    # ---- how it is done ----

    def _on_stream(self, call: Callable[[], _T]) -> _T:
        with explained(self.device, _ADVICE):
            made: _T = holding(self._lock, within, self._device.caller_stream(self._stream), self._called, call)
            return made

    def _called(self, call: Callable[[], _T]) -> _T:
        try:
            return call()
        except MemoryError:
            self._kernels.clear()
            self._device.give_back()
        return call()

    def _decoded(self, tokens: TokenIds, skip_special: bool, with_starts: bool = False) -> Decoded:
        def call() -> Decoded:
            try:
                return complete(
                    self._kernels.decoding(self._tables, self._row(tokens), None, skip_special, with_starts)
                )
            except BadIds:
                self.encoding.decode_bytes(tokens, skip_special_tokens=skip_special)
                raise self._contradiction() from None

        return self._on_stream(call)

    def _decoded_rows(self, batch: Any, row_starts: Any, skip_special: bool) -> Decoded:
        try:
            ids, rows = self._rows(batch, row_starts)
            return complete(self._kernels.decoding(self._tables, ids, rows, skip_special))
        except BadIds:
            self._raise_as_cpu(batch, row_starts, skip_special)
            raise self._contradiction() from None
        except BadRows:
            raise ValueError(
                "row_starts must ascend from 0 to the number of ids; write indptr as it was returned"
            ) from None
        except (TypeError, ValueError, OverflowError):  # a row in front of this one may hold an unknown id
            self._raise_as_cpu(batch, row_starts, skip_special)
            raise

    def _raise_as_cpu(self, batch: Any, row_starts: Any, skip_special: bool) -> None:
        if row_starts is not None:
            self.encoding.decode_bytes(batch, skip_special_tokens=skip_special)
        else:
            self.encoding.decode_bytes_batch(batch, num_threads=1, skip_special_tokens=skip_special)

    def _contradiction(self) -> DeviceError:
        return DeviceError(f"{self.device} found an unknown id, and the CPU finds none: restart the program")

    def _row(self, tokens: Any) -> DeviceArray:
        """One row of integers on the device."""
        there = None if type(tokens) in _ON_HOST else self._device.adopt(tokens)
        if there is None:
            return self._device.put(np.asarray(id_array(tokens), np.uint32))
        check_row(there)
        return there if len(there) else self._device.empty(0, np.uint32)

    def _rows(self, batch: Any, row_starts: Any) -> tuple[DeviceArray, DeviceArray]:
        """(ids of all rows, where each row begins and the last one ends: uint64)."""
        if row_starts is not None:
            return self._row(batch), self._starts(row_starts)
        there = None if type(batch) in _ON_HOST else self._device.adopt(batch)
        if there is None and isinstance(batch, np.ndarray) and batch.ndim == 2:
            there = self._device.put(np.asarray(id_array(batch.reshape(-1)), np.uint32)).reshape(*batch.shape)
        if there is None:
            return self._joined([self._row(row) for row in id_rows(batch)])
        if there.ndim != 2:
            raise ValueError(
                f"a batch is an array of two dimensions, got one of shape {there.shape}; write decode_bytes(ids)"
            )
        count, size = there.shape
        flat = there.reshape(-1)
        check_row(flat)
        return flat, self._device.put(np.arange(count + 1, dtype=np.uint64) * np.uint64(size))

    def _joined(self, rows: list[DeviceArray]) -> tuple[DeviceArray, DeviceArray]:
        ends = np.cumsum([0, *map(len, rows)], dtype=np.uint64)
        if len({row.dtype for row in rows}) > 1:  # an id beyond 63 bits becomes a negative one, which is as wrong
            rows = [row.astype(np.int64) for row in rows]
        joined = self._device.concatenate(rows) if rows else self._device.empty(0, np.uint32)
        return joined, self._device.put(ends)

    def _starts(self, row_starts: Any) -> DeviceArray:
        there = None if type(row_starts) in _ON_HOST else self._device.adopt(row_starts)
        found = np.asarray(row_starts) if there is None else there
        if found.ndim != 1 or found.dtype.kind not in "iu" or not len(found):
            raise ValueError(
                f"row_starts is one row of integers, got {found.dtype} of shape {found.shape}: "
                "write indptr as it was returned"
            )
        if there is not None:
            return there.astype(np.int64).view(np.uint64)
        return self._device.put(np.asarray(row_starts).astype(np.int64).view(np.uint64))


class GpuStreamDecoder:
    """Decodes rows of ids as they come, on a device; gives whole characters of each row only.

    Bytes that begin a character wait on the device for the next ids of their row. What a row gives, joined, is
    Encoding.decode_bytes of all its ids, whatever they are and however they come. A call that raises leaves the decoder
    as it was. Made by GpuDecoder.stream.

    >>> stream = decoder.stream(rows=64)
    >>> while generating:
    ...     data, row_starts = stream.feed(next_ids)       # one id for each row, on the device
    >>> data, row_starts = stream.flush()
    """

    def __init__(self, decoder: GpuDecoder, rows: int, skip_special_tokens: bool = False) -> None:
        if not isinstance(rows, int) or rows < 1:
            raise ValueError(f"rows={shown(rows)}: write how many rows there are, 1 or more")
        self.decoder, self.rows, self.skip_special_tokens = decoder, rows, skip_special_tokens
        self.reset()

    def __repr__(self) -> str:
        return f"<GpuStreamDecoder of {self.decoder.encoding.name!r} on {self.decoder.device}, {self.rows} rows>"

    def reset(self) -> None:
        """Forgets all unfinished characters."""
        self._held = self.decoder._on_stream(lambda: self.decoder._device.full(self.rows, np.uint32, 0))

    def feed(self, batch: Any, row_starts: Any = None) -> tuple[Any, Any]:
        """(bytes, row_starts), as GpuDecoder.decode_bytes_batch() returns them: what these ids complete.

        Args:
            batch: one row of as many ids as there are rows, an id for each; or what decode_bytes_batch() takes, with as
                many rows.
            row_starts: as for decode_bytes_batch().

        Raises:
            KeyError, OverflowError, TypeError, ValueError: as decode_bytes_batch(); ValueError for another number of
                rows.
        """
        decoder = self.decoder
        if row_starts is None and self._is_one_each(batch):
            row_starts = np.arange(self.rows + 1)

        def call() -> tuple[DeviceArray, DeviceArray]:
            decoded = decoder._decoded_rows(batch, row_starts, self.skip_special_tokens)
            assert decoded.row_starts is not None
            given = len(decoded.row_starts) - 1
            if given != self.rows:
                raise ValueError(f"this stream has {self.rows} rows, and {given} were fed: give ids for each, or none")
            return self._give(decoded, False)

        return decoder._on_stream(call)

    def _is_one_each(self, batch: Any) -> bool:
        """Whether it is a row of ids, and not one of rows."""
        if hasattr(batch, "ndim"):
            return bool(batch.ndim == 1)
        return isinstance(batch, Sequence) and all(isinstance(item, int) for item in batch)

    def flush(self) -> tuple[Any, Any]:
        """(bytes, row_starts): what waits of each row, which ends here. The decoder is then ready for the next rows."""

        def call() -> tuple[DeviceArray, DeviceArray]:
            device = self.decoder._device
            none = Decoded(device.empty(0, np.uint8), device.full(self.rows + 1, np.int64, 0), None)
            return self._give(none, True)

        return self.decoder._on_stream(call)

    def _give(self, decoded: Decoded, final: bool) -> tuple[DeviceArray, DeviceArray]:
        data, row_starts, self._held = complete(self.decoder._kernels.holding(decoded, self._held, final))
        return data, row_starts
