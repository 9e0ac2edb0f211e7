"""Parts of a large plain file: each is read, encoded and written by one thread, while other threads have other parts.

The calling thread says where the parts end. A part is written at its place in the output, and its place is known as
soon as all parts in front of it are encoded. So the file is the same as with one thread, but for the moment at which
each of its bytes is written: a point to go on from waits until all that lies in front of it is written.
"""

from __future__ import annotations

import errno
import os
import sys
from _thread import allocate_lock
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import disk
from ..native import job
from ..native.encode import Coder
from ..native.part import Part
from ..native.steps import Threads, locked
from ..native.text import OwnMemory
from .sources import PathSource, Reader, SourceError

if TYPE_CHECKING:
    from ..native.steps import Task
    from ..protocols import NamePair
    from .id_sink import IdSink

_AHEAD = 3  # parts for each thread: one in work, one that waits for it, one that waits for its place or to be written
_WORTH_IT = 4  # parts for each thread: with fewer, what waits at both ends takes longer than is gained

# Bytes searched for a cut, first and then: they are read twice.
_WINDOWS = (1 << 12, 1 << 16)

LARGEST_REST = 1 << 8
"""Bytes on both sides of what is searched; names of special tokens that are longer leave fewer cuts."""

Explain = Callable[[], object]
AtPoint = Callable[[int, int], object]


def next_cut(file: int, start: int, size: int, names: NamePair, by: Any) -> int | None:
    """Where a part of about `size` bytes, no more than LARGEST_REST more, may end that begins at byte `start` of an
    open file; None where there is no such place in it. names, by: as for job.cuts."""
    for window in (*_WINDOWS, size):
        first = max(start, start + size - window - LARGEST_REST)
        data = os.pread(file, start + size + LARGEST_REST - first, first)
        cuts = job.cuts(data, len(data), *names, by)
        if cuts and first + cuts[-1] > start:
            return first + cuts[-1]
    return None


def read_part(file: int, start: int, room: memoryview) -> None:
    """Fills the room with what is at byte `start` of an open file. Raises SourceError where the file ends before."""
    while room:
        count = disk.os_preadv(file, [room], start)
        if not count:
            raise SourceError(errno.ESTALE, "the file became shorter while it was read")
        start, room = start + count, room[count:]


class _Text:
    """A part on its way. at: where its ids go, once that is known."""

    __slots__ = ("at", "error", "explain", "file", "is_done", "is_written", "part", "size", "start")

    def __init__(self, file: int, start: int, size: int, explain: Explain) -> None:
        self.file, self.start, self.size, self.explain = file, start, size, explain
        self.part: Part | None = None
        self.error: BaseException | None = None
        self.at: int | None = None
        self.is_done = self.is_written = False


class _Point:
    """What is to be done once everything in front of it is written."""

    __slots__ = ("action", "crc", "ids")
    is_written = True

    def __init__(self, action: AtPoint) -> None:
        self.action, self.ids, self.crc = action, 0, 0


class Parts:
    """Threads that encode parts of files into `sink`, for one run. One thread calls its methods. before(): what has to
    be done so that all earlier ids are in the file.

    After an error the object is of no more use, except to be closed. action(ids, crc) of when_written() is called by a
    later call, on the thread that makes it.
    """

    def __init__(
        self,
        coder: Coder,
        matchers: NamePair,
        sink: IdSink,
        num_threads: int,
        part: int,
        before: Callable[[], object],
    ) -> None:
        self._before = before
        self._coder, self._matchers, self._sink = coder, matchers, sink
        self.num_threads, self.part = num_threads, part
        self._lock = allocate_lock()  # of all that follows
        self._coming: deque[_Text | _Point] = deque()  # without a place, in the order of the text
        self._placed: deque[_Text | _Point] = deque()  # the first of them is not written yet
        self._ready: deque[_Text] = deque()  # to be written
        self._is_writing = False
        self._due: list[_Point] = []
        self._failed: _Text | None = None
        self._idle: list[Part] = []
        self._rooms: list[memoryview] = []  # that no thread reads into
        self._submitted: deque[Task[None]] = deque()
        self._threads = Threads(num_threads)
        self.is_active = False
        self._source = ""

    def is_worth_it(self, source: object, reader: Reader, offset: int) -> bool:
        """Whether the rest of a source is a plain file long enough for all threads."""
        if (
            not isinstance(source, PathSource)
            or not source.is_local
            or not reader.is_plain
            or sys.byteorder != "little"
        ):
            return False
        enough = _WORTH_IT * self.num_threads * self.part
        return disk.places_are_free and source.size is not None and source.size - offset >= enough

    def begin(self, source: str) -> None:
        """The next ids are those of parts of the file `source`."""
        self._source = source
        self._before()
        self.is_active = True

    def next_cut(self, file: int, start: int) -> int | None:
        """Where the part that begins at `start` may end; None where no such place is near."""
        return next_cut(file, start, self.part, self._matchers, self._coder)

    def submit(self, file: int, start: int, size: int, explain: Explain) -> None:
        """Takes a part of the open file `file`. Where its text is refused, explain() raises the error in its turn."""
        while len(self._submitted) >= _AHEAD * self.num_threads:
            self._wait()
        text = _Text(file, start, size, explain)
        self._come(text)
        self._submitted.append(self._threads.do(partial(self._run, text)))
        self._call_due()

    @locked
    def _come(self, text: _Text) -> None:
        self._coming.append(text)

    def when_written(self, action: AtPoint) -> None:
        """Has action(ids, crc) called once all parts so far are written; these are the file's totals up to there."""
        self._place(_Point(action))
        self._call_due()

    def finish(self) -> None:
        """Returns once all parts are written: append() goes on behind them."""
        while self._submitted:
            self._wait()
        self._call_due()
        self._sink.go_behind()
        self.is_active = False

    def close(self) -> None:
        """Ends the threads, each after its current part."""
        self._forget()
        self._threads.end()
        self._submitted.clear()
        self.is_active = False

    @locked
    def _forget(self) -> None:
        self._coming.clear()

    def _wait(self) -> None:
        """Returns once the first part is done, or raises what was the first to fail."""
        self._submitted.popleft().result()
        failed = self._failed
        if failed is not None:
            assert failed.error is not None
            if isinstance(failed.error, ValueError):
                failed.explain()
            raise failed.error

    def _call_due(self) -> None:
        for point in self._taken_due():
            point.action(point.ids, point.crc)

    @locked
    def _taken_due(self) -> list[_Point]:
        due, self._due = self._due, []
        return due

    # ---- on the threads ----

    def _run(self, text: _Text) -> None:
        if self._failed is None:
            self._encode(text)
            self._place(text)
            self._write_ready()

    def _encode(self, text: _Text) -> None:
        try:
            room = self._take(self._rooms) or memoryview(OwnMemory(np.empty(self.part + LARGEST_REST, np.uint8)))
            data = room[: text.size]
            with disk.named(self._source):
                read_part(text.file, text.start, data)
            part = self._take(self._idle) or Part()
            part.encode(self._coder, data, *self._matchers, self._sink.dtype.itemsize)
            self._rooms.append(room)
            text.part = part
        except BaseException as error:
            text.error = error

    @locked
    def _take(self, those: list[Any]) -> Any:
        return those.pop() if those else None

    @locked
    def _place(self, item: _Text | _Point) -> None:
        """Gives a place to all that is done and has only such in front. A point stands behind what was submitted."""
        if isinstance(item, _Text):
            item.is_done = True
        elif self._failed is None:  # else the next call raises; the point would lie behind what has failed
            self._coming.append(item)
        while self._coming:
            first = self._coming[0]
            if isinstance(first, _Point):
                first.ids, first.crc = self._sink.ids, self._sink.crc
            elif not first.is_done:
                break
            elif first.part is None:
                self._fail(first)
                break
            else:
                first.at = self._sink.place(first.part.count, first.part.crc)
                self._ready.append(first)
            self._placed.append(self._coming.popleft())
        self._settle()

    def _write_ready(self) -> None:
        """Writes what has its place, if no other thread does so. Two that wrote to one file would wait for each other,
        and burn their time: file systems let one in."""
        text = self._first_ready()
        while text is not None:
            try:
                assert text.at is not None and text.part is not None
                self._sink.write_at(text.at, text.part)
            except BaseException as error:
                text.error = error
            text = self._following(text)

    @locked
    def _first_ready(self) -> _Text | None:
        if self._is_writing or not self._ready:
            return None
        self._is_writing = True
        return self._ready.popleft()

    @locked
    def _following(self, text: _Text) -> _Text | None:
        """What is ready behind a part that is written; nothing behind one that could not be."""
        if text.error is not None:
            self._fail(text)
            return None
        assert text.part is not None
        self._idle.append(text.part)
        text.part, text.is_written = None, True
        self._settle()
        self._is_writing = bool(self._ready)
        return self._ready.popleft() if self._ready else None

    def _settle(self) -> None:
        while self._placed and self._placed[0].is_written:
            first = self._placed.popleft()
            if isinstance(first, _Point):
                self._due.append(first)

    def _fail(self, text: _Text) -> None:
        """The first error is raised. Nothing behind it gets a place, or makes a point."""
        if self._failed is None:
            self._failed = text
            self._coming.clear()
