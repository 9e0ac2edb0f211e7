"""A stream whose text is gathered to batches for a device: what a StreamEncoder may run on instead of a CoreStream."""

from __future__ import annotations

import itertools
import struct
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import stream_busy_error
from ..native import job
from ..native.encode import Coder, CoreStream
from ..native.gate import Gate, is_utf8
from ..native.steps import Alone

if TYPE_CHECKING:
    from .._protocols import ArrayCoder, Data, Encoding, Ids, NamePair, Stream, Text

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

    _now: _State

    def __init__(self, encoding: Encoding, coder: ArrayCoder, matchers: NamePair, errors: str, copies: bool) -> None:
        self._encoding, self._coder, self._errors = encoding, coder, errors
        self.allowed, self.disallowed = matchers
        self.copies = copies
        self._alone = Alone(stream_busy_error)
        self._clear()

    def _clear(self) -> None:
        self._now = self._new()

    def _new(self) -> _State:
        return _State(Gate(self._core_coder(self._errors), self.disallowed), bytearray(), 0, None)

    # ---- text ----

    def feed(self, chunk: Text) -> Ids:
        return self._alone.run(self._run, chunk, False)

    def flush(self) -> Ids:
        return self._alone.run(self._run, "", True)

    def _run(self, chunk: Text, final: bool) -> Ids:
        gate = self._now.gate.copy()
        ids, gathered, core = self._take(self._now, gate.take(chunk, final), final)
        ids.flags.writeable = False
        self._now = self._new() if final else _State(gate, gathered, len(gathered), core)
        return ids

    def _take(self, now: _State, text: bytes, final: bool) -> tuple[Ids, bytearray, Stream | None]:
        """(ids, what is gathered then, the core's stream where there is one then)"""
        if now.core is not None:
            return self._through_core(now.core, text, final)
        # What failed in an earlier call may still look at the array, which then keeps its size.
        data = now.gathered if len(now.gathered) == now.size else now.gathered[: now.size]
        data += text
        if len(data) < BATCH and not final:
            return np.empty(0, np.uint32), data, None
        if final:
            return self._encoded(data), bytearray(), None
        cuts = self._cuts(data, len(data))
        if not cuts:
            core = self._new_core()
            return core.feed(data), bytearray(), core
        return self._encoded(memoryview(data)[: cuts[-1]]), data[cuts[-1] :], None

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

    def _through_core(self, core: Stream, text: bytes, final: bool) -> tuple[Ids, bytearray, Stream | None]:
        """Up to the first cut the text belongs to what the core's stream holds."""
        cuts = [] if final else self._cuts(text, _NEAR)
        core = core.copy()
        if not cuts and not final:
            return core.feed(text), bytearray(), core
        ids = np.concatenate([core.feed(text[: cuts[0]] if cuts else text), core.flush()])
        return ids, bytearray(text[cuts[0] :] if cuts else b""), None

    # ---- state ----

    @property
    def pending(self) -> int:
        now = self._now
        held = now.gate.held
        waiting = 3 if isinstance(held, str) else len(held)
        return waiting + now.size + (0 if now.core is None else int(now.core.pending))

    @property
    def offset(self) -> int:
        return self._now.gate.offset

    def reset(self) -> None:
        self._alone.run(self._clear)

    def pass_over(self, n: int) -> None:
        self._alone.run(self._now.gate.pass_over, n)

    def copy(self) -> GpuStream:
        return self._alone.run(self._copy)

    def _copy(self) -> GpuStream:
        twin = type(self)(self._encoding, self._coder, (self.allowed, self.disallowed), self._errors, self.copies)
        gate, gathered, size, core = self._now
        twin._now = _State(gate.copy(), gathered[:size], size, None if core is None else core.copy())
        return twin

    def save(self) -> bytes:
        """The state as bytes, for load()."""
        return self._alone.run(self._saved)

    def _saved(self) -> bytes:
        gate, gathered, size, core = self._now
        held = gate.held
        fields = (
            gate.offset.to_bytes(8, "little"),
            b"\1" + held.encode("utf-8", "surrogatepass") if isinstance(held, str) else b"\0" + held,
            gate.watched,
            bytes(gathered[:size]),
            b"" if core is None else core.save(),
        )
        return _MAGIC + struct.pack(f"<{_FIELDS}Q", *map(len, fields)) + b"".join(fields)

    def load(self, state: bytes) -> bool:
        """True if the state was taken over; False (and reset) if no stream could have saved it."""
        return self._alone.run(self._load, state)

    def _load(self, state: bytes) -> bool:
        try:
            now = self._state_of(state)
        except (ValueError, OverflowError, struct.error):
            self._clear()
            return False
        self._now = now
        return True

    def _state_of(self, state: bytes) -> _State:
        head = len(_MAGIC) + 8 * _FIELDS
        sizes = struct.unpack(f"<{_FIELDS}Q", state[len(_MAGIC) : head])
        if not state.startswith(_MAGIC) or sum(sizes) != len(state) - head or sizes[0] != 8 or not 1 <= sizes[1] <= 4:
            raise ValueError
        ends = np.cumsum([head, *sizes]).tolist()
        offset, held, end, gathered, core = (state[a:b] for a, b in itertools.pairwise(ends))
        if not is_utf8(gathered):
            raise ValueError
        made = self._new()
        holds = held[1:].decode("utf-8", "surrogatepass") if held[0] == 1 else held[1:]
        made.gate.restore(end, holds, int.from_bytes(offset, "little"))
        through = self._new_core() if core else None
        if through is not None and not through.load(core):
            raise ValueError
        return _State(made.gate, bytearray(gathered), len(gathered), through)


class _State(NamedTuple):
    """What a GpuStream holds. The text that is gathered is the first `size` bytes of `gathered`: what lies behind them
    is of a call that did not end. core: where it is there, nothing is gathered."""

    gate: Gate
    gathered: bytearray
    size: int
    core: Stream | None


class AutoStream(GpuStream):
    """Gathers nothing: ids come as early as the CPU's. A chunk that is large enough for the device goes there."""

    def _take(self, now: _State, text: bytes, final: bool) -> tuple[Ids, bytearray, Stream | None]:
        parts = []
        core = self._new_core() if now.core is None else now.core.copy()
        cuts = self._cuts(text, _NEAR) if len(text) >= _LEAST and not final else []
        if len(cuts) > 1:
            first, last = cuts[0], cuts[-1]
            parts = [core.feed(text[:first]), core.flush(), self._encoded(memoryview(text)[first:last])]
            text = text[last:]
        parts.append(core.feed(text))
        if final:
            parts.append(core.flush())
        return np.concatenate(parts) if len(parts) > 1 else parts[0], bytearray(), core
