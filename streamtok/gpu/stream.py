"""A stream whose text is gathered to batches for a device: what a StreamEncoder may run on instead of a CoreStream."""

from __future__ import annotations

import contextlib
import itertools
import struct
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..errors import stream_busy_error
from ..native import job
from ..native.encode import Coder, CoreStream
from ..native.gate import Gate, is_utf8

if TYPE_CHECKING:
    from ..protocols import ArrayCoder, Data, Encoding, Ids, NamePair, Stream, Text

BATCH = 8 << 20
"""Bytes of text that are gathered: a device is busy with them ten times as long as a call costs."""

_FIELDS = 5
_MAGIC = b"gathered"

# Where text goes on behind what the CPU had to take, this far apart cuts are looked for.
_NEAR = 1 << 16

# An AutoStream sends shorter chunks through the CPU without asking.
_LEAST = 1 << 16


class GpuStream:
    """The interface and the guarantees of CoreStream (native/encode.pyx), except that ids come when a batch is full, or
    with flush().

    Text passes a Gate, which raises the same errors at the same feed as the CPU's stream, and is gathered. A full batch
    is encoded up to its last cut, a place where the two sides encode independently. Where no cut is
    found, the core's own stream takes over, up to the next one.
    """

    def __init__(self, encoding: Encoding, coder: ArrayCoder, matchers: NamePair, errors: str, copies: bool) -> None:
        self._encoding, self._coder, self._errors = encoding, coder, errors
        self.allowed, self.disallowed = matchers
        self.copies = copies
        self._busy = threading.Lock()
        self._clear()

    def _clear(self) -> None:
        self._gate = Gate(self._core_coder(self._errors), self.disallowed)
        self._gathered = bytearray()
        self._core: Stream | None = None  # where it is there, nothing is gathered

    @contextlib.contextmanager
    def _entered(self) -> Iterator[None]:
        if not self._busy.acquire(blocking=False):
            raise stream_busy_error()
        try:
            yield
        finally:
            self._busy.release()

    # ---- text ----

    def feed(self, chunk: Text) -> Ids:
        with self._entered():
            return self._run(chunk, False)

    def flush(self) -> Ids:
        with self._entered():
            return self._run("", True)

    def _run(self, chunk: Text, final: bool) -> Ids:
        gate, gathered, size, core = self._gate.copy(), self._gathered, len(self._gathered), self._core
        text = self._gate.take(chunk, final)
        try:
            ids = self._take(text, final)
        except BaseException:  # the device, or memory: the text is as it was before this feed
            # What failed may still look at the array, which then keeps its size.
            self._gathered = gathered if len(gathered) == size else gathered[:size]
            self._gate, self._core = gate, core
            raise
        if final:
            self._clear()
        ids.flags.writeable = False
        return ids

    def _take(self, text: bytes, final: bool) -> Ids:
        if self._core is not None:
            return self._through_core(self._core, text, final)
        self._gathered += text
        data = self._gathered
        if len(data) < BATCH and not final:
            return np.empty(0, np.uint32)
        if final:
            return self._encoded(data)
        cuts = self._cuts(data, len(data))
        if not cuts:
            core = self._new_core()
            ids = core.feed(data)
            self._core, rest = core, bytearray()
        else:
            ids, rest = self._encoded(memoryview(data)[: cuts[-1]]), data[cuts[-1] :]
        self._gathered = rest
        return ids

    def _core_coder(self, errors: str) -> Coder:
        coder = self._encoding._coder_for(errors)
        assert isinstance(coder, Coder)  # a device has kernels for patterns of the core's scanners alone
        return coder

    def _cuts(self, text: Data, size: int) -> list[int]:
        return job.cuts(text, size, self.allowed, None, self._core_coder("strict"))

    def _encoded(self, data: bytes | bytearray | memoryview) -> Ids:
        return self._coder.encode_array(data, self.allowed, None) if len(data) else np.empty(0, np.uint32)

    def _new_core(self) -> Stream:
        return CoreStream(self._core_coder("strict"), self.allowed, None, True)

    def _through_core(self, core: Stream, text: bytes, final: bool) -> Ids:
        """Up to the first cut the text belongs to what the core's stream holds."""
        cuts = [] if final else self._cuts(text, _NEAR)
        if not cuts and not final:
            return core.feed(text)
        core = core.copy()  # the second of two calls may fail; it is once for each core
        ids = np.concatenate([core.feed(text[: cuts[0]] if cuts else text), core.flush()])
        if cuts:
            self._core, self._gathered = None, bytearray(text[cuts[0] :])
        else:
            self._core = core
        return ids

    # ---- state ----

    @property
    def pending(self) -> int:
        held = self._gate.held
        waiting = 3 if isinstance(held, str) else len(held)
        return waiting + len(self._gathered) + (0 if self._core is None else int(self._core.pending))

    @property
    def offset(self) -> int:
        return self._gate.offset

    def reset(self) -> None:
        with self._entered():
            self._clear()

    def pass_over(self, n: int) -> None:
        with self._entered():
            self._gate.pass_over(n)

    def copy(self) -> GpuStream:
        twin = type(self)(self._encoding, self._coder, (self.allowed, self.disallowed), self._errors, self.copies)
        with self._entered():
            twin._gathered = self._gathered[:]
            twin._gate = self._gate.copy()
            twin._core = None if self._core is None else self._core.copy()
        return twin

    def save(self) -> bytes:
        """The state as bytes, for load()."""
        with self._entered():
            held = self._gate.held
            fields = (
                self._gate.offset.to_bytes(8, "little"),
                b"\1" + held.encode("utf-8", "surrogatepass") if isinstance(held, str) else b"\0" + held,
                self._gate.watched,
                bytes(self._gathered),
                b"" if self._core is None else self._core.save(),
            )
        return _MAGIC + struct.pack(f"<{_FIELDS}Q", *map(len, fields)) + b"".join(fields)

    def load(self, state: bytes) -> bool:
        """True if the state was taken over; False (and reset) if no stream could have saved it."""
        with self._entered():
            self._clear()
            try:
                self._load(state)
            except (ValueError, OverflowError, struct.error):
                self._clear()
                return False
        return True

    def _load(self, state: bytes) -> None:
        head = len(_MAGIC) + 8 * _FIELDS
        sizes = struct.unpack(f"<{_FIELDS}Q", state[len(_MAGIC) : head])
        if not state.startswith(_MAGIC) or sum(sizes) != len(state) - head or sizes[0] != 8 or not 1 <= sizes[1] <= 4:
            raise ValueError
        ends = np.cumsum([head, *sizes]).tolist()
        offset, held, end, gathered, core = (state[a:b] for a, b in itertools.pairwise(ends))
        if not is_utf8(gathered):
            raise ValueError
        self._gathered = bytearray(gathered)
        holds = held[1:].decode("utf-8", "surrogatepass") if held[0] == 1 else held[1:]
        self._gate.restore(end, holds, int.from_bytes(offset, "little"))
        if core:
            self._core = self._new_core()
            if not self._core.load(core):
                raise ValueError


class AutoStream(GpuStream):
    """Gathers nothing: ids come as early as the CPU's. A chunk that is large enough for the device goes there."""

    def _take(self, text: bytes, final: bool) -> Ids:
        parts = []
        if self._core is None:
            self._core = self._new_core()
        cuts = self._cuts(text, _NEAR) if len(text) >= _LEAST and not final else []
        if len(cuts) > 1:
            first, last = cuts[0], cuts[-1]
            core = self._core.copy()
            parts = [core.feed(text[:first]), core.flush(), self._encoded(memoryview(text)[first:last])]
            self._core, text = core, text[last:]
        if final:
            self._core = self._core.copy()  # the second of two calls may fail
        parts.append(self._core.feed(text))
        if final:
            parts.append(self._core.flush())
        return np.concatenate(parts) if len(parts) > 1 else parts[0]
