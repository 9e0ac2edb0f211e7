"""Calls of many asyncio tasks, gathered into few calls of the core, outside of the event loop.

A server that hands each request to a thread pays for the hand-over each time, and its small texts never share a call.
Here the requests that come while a batch runs are the next batch. So a batch is small where there is little to do, and
large where there is much.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from .._checks import checked_text, id_array
from ..errors import shown
from ..native.steps import at_once, serve

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from .._protocols import AllowedSpecial, DisallowedSpecial, Encoding, Ids, Text, TokenIds

_LATE = 0.1
"""Seconds after which a timer of the event loop that has not run is taken for one that an exception has lost."""

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


class _Batch:
    """Calls that are worked on together. Their thread fills `outcomes`, then sets `is_answered`."""

    def __init__(self, owner: MicroBatcher, calls: list[_Call], size: int) -> None:
        self.owner, self.calls, self.size = owner, calls, size
        self.outcomes: list[Outcome] = []
        self.is_answered = False


class MicroBatcher:
    """encode(), count() and decode() for asyncio tasks: calls that come together share one call of the core.

    The event loop never encodes. One thread of the batcher does, with the threads of the core where a batch is large.
    An error comes to the call whose text or ids caused it, and to no other. A call that is cancelled costs nothing if
    its batch has not begun, and is otherwise ignored. A batcher belongs to the event loop that used it first. Where an
    exception, as that of Ctrl-C, leaves the event loop in the middle of a call, the batcher goes on with the next call.

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
        num_threads: threads of the core for a batch; None for as many as help.
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
        self._tasks: SimpleQueue[_Batch | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        # What follows changes by at_once() alone, so that the parts never contradict each other.
        self._for_room: deque[_Call] = deque()
        self._waiting: list[_Call] = []
        self._waiting_bytes = 0
        self._held = 0  # bytes that wait or are worked on
        self._batch: _Batch | None = None  # that is worked on
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False
        self._idle: asyncio.Event | None = None

    def __del__(self) -> None:
        tasks = self.__dict__.get("_tasks")
        if tasks is not None:
            tasks.put(None)

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
        if not isinstance(ids, (list, tuple)):
            row = row[:]  # the caller may change an array while the call waits
            row = row.copy() if hasattr(row, "copy") else row
        if errors != "replace":
            self._core.encoding.decode((), errors)  # what it refuses
        options = (("errors", errors), ("skip_special_tokens", bool(skip_special_tokens)))
        text: str = await self._call("decode", options, row, 4 * len(row))
        return text

    async def _text_call(self, kind: str, text: Text, allowed: AllowedSpecial, disallowed: DisallowedSpecial) -> Any:
        item = checked_text(text)
        if not isinstance(item, (str, bytes)):
            item = bytes(item)  # the caller may change a buffer while the call waits
        given: Any = list(allowed) if hasattr(allowed, "__next__") else allowed
        refused = disallowed if isinstance(disallowed, str) else tuple(disallowed)
        self.encoding._matchers_for(given, refused)  # what it refuses
        options = (
            ("allowed_special", given if isinstance(given, str) else frozenset(given or ())),
            ("disallowed_special", refused),
        )
        return await self._call(kind, options, item, len(item))

    async def _call(self, kind: str, options: tuple[tuple[str, Any], ...], item: Any, size: int) -> Any:
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._idle = asyncio.Event()
            self._loop = loop
        if self._is_closed:
            raise RuntimeError("this MicroBatcher is closed; make another one")
        if self._loop is not loop:
            raise RuntimeError("this MicroBatcher belongs to another event loop; make one for each loop")
        if self._thread is None:
            arguments = self._tasks, _work, _hand_back
            thread = threading.Thread(target=serve, args=arguments, name="streamtok-batches", daemon=True)
            thread.start()
            self._thread = thread
        call = _Call(kind, options, item, size + _CALL, loop.create_future())
        self._for_room.append(call)
        self._go_on()
        return await call.done

    # ---- batches: each step may come twice, or after an exception has left the one before ----

    def _go_on(self) -> None:
        """Does what there is to do now."""
        batch = self._batch
        if batch is not None and batch.is_answered:
            self._finish(batch)
        self._take()
        self._schedule()
        if self._is_closed and not self._held and not self._for_room and self._idle is not None:
            self._idle.set()

    def _take(self) -> None:
        """Takes the calls that there is room for."""
        while self._for_room:
            call = self._for_room[0]
            if call.done.done():  # it was cancelled
                self._for_room.popleft()
                continue
            if self._held and self._held + call.size > self.max_waiting_bytes:
                return
            at_once(
                (self._for_room.popleft,),
                (self._waiting.append, call),
                (setattr, self, "_held", self._held + call.size),
                (setattr, self, "_waiting_bytes", self._waiting_bytes + call.size),
            )

    def _schedule(self) -> None:
        """Begins a batch, now or when the time for it has come."""
        assert self._loop is not None
        if self._batch is not None or not self._waiting:
            return
        timer, now = self._timer, self._loop.time()
        if timer is None or timer.cancelled() or timer.when() + _LATE < now:
            self._timer = timer = self._loop.call_later(self.max_delay, *self._at_time())
        if self.max_delay and self._waiting_bytes >= self.max_batch_bytes and timer.when() > now:
            timer.cancel()
            self._timer = self._loop.call_later(0, *self._at_time())

    def _at_time(self) -> tuple[Any, ...]:
        """What the timer does, as a function with its arguments."""
        return at_once, (setattr, self, "_timer", None), (self._begin,)

    def _begin(self) -> None:
        """Begins a batch, unless one is under way."""
        if self._batch is None and self._waiting:
            self._hand_over()
        self._go_on()

    def _hand_over(self) -> None:
        calls: list[_Call] = []
        count = size = cancelled = 0
        for call in self._waiting:
            if call.done.done():
                cancelled += call.size
            elif calls and size + call.size > self.max_batch_bytes:
                break
            else:
                calls.append(call)
                size += call.size
            count += 1
        batch = _Batch(self, calls, size) if calls else None
        at_once(
            (self._waiting.__delitem__, slice(count)),
            (setattr, self, "_waiting_bytes", self._waiting_bytes - size - cancelled),
            (setattr, self, "_held", self._held - cancelled),
            (setattr, self, "_batch", batch),
            *([] if batch is None else [(self._tasks.put, batch)]),
        )

    def _answered(self, batch: _Batch) -> None:
        """In the event loop, when the thread has answered a batch."""
        self._finish(batch)
        if self._batch is None and self._waiting:
            self._hand_over()
        self._go_on()

    def _finish(self, batch: _Batch) -> None:
        if self._batch is not batch:
            return
        for call, (is_error, value) in zip(batch.calls, batch.outcomes, strict=True):
            if call.done.done():
                continue  # it was cancelled
            if is_error:
                call.done.set_exception(value)
            else:
                call.done.set_result(value)
        at_once(
            (setattr, self, "_batch", None),
            (setattr, self, "_held", self._held - batch.size),
            (setattr, self, "batches", self.batches + 1),
            (setattr, self, "calls", self.calls + len(batch.calls)),
        )

    # ---- the end ----

    async def aclose(self) -> None:
        """Takes no more calls, waits for those that were made, and ends the thread. It may be called again."""
        self._is_closed = True
        if self._idle is not None:
            self._begin()
            await self._idle.wait()
        self._tasks.put(None)

    async def __aenter__(self) -> MicroBatcher:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _work(batch: _Batch) -> None:
    """In the thread."""
    batch.outcomes = batch.owner._core.answer(batch.calls)


def _hand_back(batch: _Batch, error: BaseException | None) -> None:
    """In the thread. error: what its work has raised, if it has."""
    if len(batch.outcomes) != len(batch.calls):
        assert error is not None
        batch.outcomes = [Outcome(True, error)] * len(batch.calls)
    batch.outcomes = [
        Outcome(True, _raisable(value)) if is_error else Outcome(False, value) for is_error, value in batch.outcomes
    ]
    batch.is_answered = True
    assert batch.owner._loop is not None
    try:
        batch.owner._loop.call_soon_threadsafe(batch.owner._answered, batch)
    except RuntimeError:  # the loop was closed: nobody waits
        return


def _raisable(error: BaseException) -> BaseException:
    """An error as a future takes it."""
    if not isinstance(error, (StopIteration, asyncio.CancelledError)):
        return error
    made = RuntimeError(f"a call of the core raised {type(error).__name__}")
    made.__cause__ = error
    return made


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
