"""Calls of many asyncio tasks, gathered into few calls of the core, outside of the event loop.

A server that hands each request to a thread pays for the hand-over each time, and its small texts never share a call.
Here the requests that come while a batch runs are the next batch. So a batch is small where there is little to do, and
large where there is much.
"""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

from ..checks import checked_text, id_array
from ..errors import shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from ..protocols import AllowedSpecial, DisallowedSpecial, Encoding, Ids, Text, TokenIds

_CALL = 64
"""What a call counts beside its text, in bytes: so that calls on empty texts fill a batch, too."""


class _Call(NamedTuple):
    """What a task waits for. Calls with the same `kind` and `options` go into one call of the core."""

    kind: str
    options: tuple[tuple[str, Any], ...]
    item: Any
    size: int
    done: asyncio.Future[Any]


class Outcome(NamedTuple):
    """What came of a call: its result, or the error that it gets."""

    is_error: bool
    value: Any


class MicroBatcher:
    """encode(), count() and decode() for asyncio tasks: calls that come together share one call of the core.

    The event loop never encodes. One thread of the batcher does, with the threads of the core where a batch is large.
    An error comes to the call whose text or ids caused it, and to no other. A call that is cancelled costs nothing if
    its batch has not begun, and is otherwise ignored. A batcher belongs to the event loop that used it first.

    >>> async with MicroBatcher(enc) as batcher:
    ...     ids = await batcher.encode("hello world")
    ...     text = await batcher.decode(ids)

    Attributes:
        calls: calls that were answered so far.
        batches: batches that were run for them.

    Args:
        encoding: the Encoding.
        max_delay: seconds that a call may wait for others while no batch runs. 0: for those of the same turn of the
            event loop.
        max_batch_bytes: a batch with so many bytes begins at once, and takes no more calls. A character of a str counts
            as a byte, an id as four.
        max_waiting_bytes: how many bytes may wait or be worked on. Further calls wait for room before they are taken,
            in their order; one that is larger waits until there is nothing else.
        num_threads: threads of the core for a batch; None for as many as there are cores.
        device: as for Encoding.encode_ragged: "auto" runs a batch on the GPU where that is faster.

    Raises:
        ValueError: max_delay is negative, or one of the sizes is below 1.
    """

    def __init__(
        self,
        encoding: Encoding,
        *,
        max_delay: float = 0.0,
        max_batch_bytes: int = 1 << 20,
        max_waiting_bytes: int = 64 << 20,
        num_threads: int | None = None,
        device: str = "cpu",
    ) -> None:
        if not max_delay >= 0:
            raise ValueError(f"max_delay is {shown(max_delay)}: write the seconds that a call may wait, 0 or more")
        for name, size in (("max_batch_bytes", max_batch_bytes), ("max_waiting_bytes", max_waiting_bytes)):
            if size < 1:
                raise ValueError(f"{name} is {shown(size)}: write a number of bytes from 1 on")
        self.encoding, self.max_delay = encoding, max_delay
        self.max_batch_bytes, self.max_waiting_bytes = max_batch_bytes, max_waiting_bytes
        self.calls = self.batches = 0
        self._core = _Core(encoding, num_threads, device)
        self._thread = ThreadPoolExecutor(1, "streamtok-batches")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: deque[_Call] = deque()
        self._waiting_bytes = 0
        self._held = 0  # bytes that wait or are worked on
        self._for_room: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._timer: asyncio.Handle | None = None
        self._runs = self._is_closed = False
        self._idle: asyncio.Event | None = None

    def __repr__(self) -> str:
        return f"<MicroBatcher of {self.encoding.name!r}, {self.calls} calls in {self.batches} batches>"

    # ---- calls ----

    async def encode(
        self,
        text: Text,
        *,
        allowed_special: AllowedSpecial = frozenset(),
        disallowed_special: DisallowedSpecial = "all",
    ) -> Ids:
        """Encoding.encode_to_numpy() of a text: a read-only uint32 array.

        Raises:
            RuntimeError: the batcher is closed, or belongs to another event loop.
            TypeError, ValueError, UnicodeDecodeError: as Encoding.encode_to_numpy.
        """
        ids: Ids = await self._text_call("encode", text, allowed_special, disallowed_special)
        return ids

    async def count(
        self,
        text: Text,
        *,
        allowed_special: AllowedSpecial = frozenset(),
        disallowed_special: DisallowedSpecial = "all",
    ) -> int:
        """The number of ids of a text. Errors as for encode()."""
        count: int = await self._text_call("count", text, allowed_special, disallowed_special)
        return count

    async def decode(
        self, ids: Sequence[int] | TokenIds, *, errors: str = "replace", skip_special_tokens: bool = False
    ) -> str:
        """Encoding.decode() of ids.

        Raises:
            RuntimeError: as for encode().
            KeyError and others: as Encoding.decode.
        """
        row = id_array(ids)
        options = (("errors", errors), ("skip_special_tokens", skip_special_tokens))
        text: str = await self._call("decode", options, row, 4 * len(row))
        return text

    async def _text_call(self, kind: str, text: Text, allowed: AllowedSpecial, disallowed: DisallowedSpecial) -> Any:
        item = checked_text(text)
        if not isinstance(item, (str, bytes)):
            item = bytes(item)  # the caller may change a buffer while the call waits
        options = (
            ("allowed_special", frozenset(allowed) if isinstance(allowed, (set, frozenset)) else allowed),
            ("disallowed_special", disallowed if isinstance(disallowed, str) else tuple(disallowed)),
        )
        return await self._call(kind, options, item, len(item))

    async def _call(self, kind: str, options: tuple[tuple[str, Any], ...], item: Any, size: int) -> Any:
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop, self._idle = loop, asyncio.Event()
        if self._is_closed:
            raise RuntimeError("this MicroBatcher is closed; make another one")
        if self._loop is not loop:
            raise RuntimeError("this MicroBatcher belongs to another event loop; make one for each loop")
        size += _CALL
        await self._take_room(size)
        call = _Call(kind, options, item, size, loop.create_future())
        self._waiting.append(call)
        self._waiting_bytes += size
        self._schedule()
        return await call.done

    # ---- room ----

    async def _take_room(self, size: int) -> None:
        assert self._loop is not None
        if not self._for_room and (not self._held or self._held + size <= self.max_waiting_bytes):
            self._held += size
            return
        granted: asyncio.Future[None] = self._loop.create_future()
        self._for_room.append((size, granted))
        try:
            await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():  # it was granted, and is not used
                self._give_back(size)
            raise

    def _give_back(self, size: int) -> None:
        self._held -= size
        while self._for_room:
            wanted, granted = self._for_room[0]
            if not granted.cancelled():
                if self._held and self._held + wanted > self.max_waiting_bytes:
                    return
                self._held += wanted
                granted.set_result(None)
            self._for_room.popleft()
        self._note_idle()

    # ---- batches ----

    def _schedule(self) -> None:
        """Begins a batch, now or when the time for it has come."""
        assert self._loop is not None
        if self._runs or not self._waiting:
            return
        if self._timer is None:
            self._timer = self._loop.call_later(self.max_delay, self._begin)
        if self.max_delay and self._waiting_bytes >= self.max_batch_bytes:
            self._timer.cancel()
            self._timer = self._loop.call_soon(self._begin)

    def _begin(self) -> None:
        self._timer = None
        batch: list[_Call] = []
        size = cancelled = 0
        while self._waiting and (not batch or size + self._waiting[0].size <= self.max_batch_bytes):
            call = self._waiting.popleft()
            self._waiting_bytes -= call.size
            if call.done.done():
                cancelled += call.size
            else:
                batch.append(call)
                size += call.size
        if batch:
            self._runs = True
            self._thread.submit(self._run, batch, size)
        if cancelled:
            self._give_back(cancelled)
        self._note_idle()

    def _run(self, batch: list[_Call], size: int) -> None:
        """In the thread."""
        assert self._loop is not None
        outcomes = self._core.answer(batch)
        try:
            self._loop.call_soon_threadsafe(self._finish, batch, outcomes, size)
        except RuntimeError:  # the loop was closed: nobody waits
            return

    def _finish(self, batch: list[_Call], outcomes: list[Outcome], size: int) -> None:
        self._runs = False
        self.batches += 1
        self.calls += len(batch)
        for call, (is_error, value) in zip(batch, outcomes, strict=True):
            if call.done.done():
                continue  # it was cancelled
            if is_error:
                call.done.set_exception(value)
            else:
                call.done.set_result(value)
        if self._waiting:
            self._begin()
        self._give_back(size)

    # ---- the end ----

    def _note_idle(self) -> None:
        if self._is_closed and not self._held and not self._for_room and self._idle is not None:
            self._idle.set()

    async def aclose(self) -> None:
        """Takes no more calls, waits for those that were made, and ends the thread. It may be called again."""
        self._is_closed = True
        self._note_idle()
        if self._idle is not None:
            await self._idle.wait()
        self._thread.shutdown(wait=False)  # it has nothing to do

    async def __aenter__(self) -> MicroBatcher:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class _Core:
    """What the thread does: it knows no event loop."""

    def __init__(self, encoding: Any, num_threads: int | None, device: str) -> None:
        self.encoding, self.num_threads, self.device = encoding, num_threads, device

    def answer(self, batch: list[_Call]) -> list[Outcome]:
        groups: dict[tuple[bool, Any], list[int]] = {}
        outcomes: list[Outcome] = [Outcome(True, None)] * len(batch)
        for index, call in enumerate(batch):
            groups.setdefault((call.kind == "decode", call.options), []).append(index)
        for group in groups.values():
            for index, outcome in zip(group, self._group([batch[index] for index in group]), strict=True):
                outcomes[index] = outcome
        return outcomes

    def _group(self, calls: list[_Call]) -> list[Outcome]:
        """The outcomes of calls of one kind. Where one of them fails, each half is made by itself, and so on: one bad
        call among n takes 2 log2(n) calls of the core more, and three times the work."""
        if len(calls) > 1:
            try:
                return [Outcome(False, value) for value in self._together(calls)]
            except BaseException:
                half = len(calls) // 2
                return self._group(calls[:half]) + self._group(calls[half:])
        try:
            return [Outcome(False, self._alone(calls[0]))]
        except BaseException as error:
            return [Outcome(True, error)]

    def _together(self, calls: list[_Call]) -> list[Any]:
        enc, options, items = self.encoding, dict(calls[0].options), [call.item for call in calls]
        if calls[0].kind == "decode":
            texts: list[str] = enc.decode_batch(items, num_threads=self.num_threads, device=self.device, **options)
            return texts
        ids, starts = enc.encode_ragged(items, num_threads=self.num_threads, device=self.device, **options)
        places = starts.tolist()
        return [
            end - begin if call.kind == "count" else _apart(ids[begin:end])
            for call, begin, end in zip(calls, places[:-1], places[1:], strict=True)
        ]

    def _alone(self, call: _Call) -> Any:
        options = dict(call.options)
        if call.kind == "decode":
            return self.encoding.decode(call.item, device=self.device, **options)
        if call.kind == "count":
            return self.encoding.count(call.item, num_threads=self.num_threads, **options)
        return self.encoding.encode_to_numpy(call.item, num_threads=self.num_threads, device=self.device, **options)


def _apart(ids: Ids) -> Ids:
    """Ids in memory of their own: a view would keep those of the whole batch."""
    row: Ids = ids.copy()
    row.flags.writeable = False
    return row
