"""Compressed sources are unpacked ahead: each by a thread of its own, several at a time, while earlier text is encoded.

The calling thread reads the sources one after the other, as if it unpacked them itself: the same text in the same
portions, and an error when its turn comes. How much text waits is bounded.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..native.steps import Changes, Threads, after_all
from .members import SUFFIXES
from .sources import PathSource, Reader

if TYPE_CHECKING:
    from io import FileIO
    from typing import BinaryIO

    from .sources import AnySource

_BLOCK = 1 << 20  # bytes of text that a thread unpacks at once
_OWN = 2  # blocks that the source which is being read may have, whatever the others have taken

# Bytes of text that wait, for each thread. A source that is read ahead gains what waits of it when its turn comes, so
# for sources of 25 MB and 16 threads all of it.
_ROOM = 16 << 20


class _Unpacked(Reader):
    """A source that another thread unpacks. One thread reads it: what it does not override here is not used."""

    def __init__(self, ahead: Ahead, source: PathSource, offset: int) -> None:
        self.name, self.is_plain = source.name, False
        self._ahead, self._source, self._offset = ahead, source, offset
        self._reader: Reader | None = None
        # Text, and how far the file was read for it and what came with it; the end of a file may have none.
        self._blocks: deque[tuple[bytes, int]] = deque()
        self.held = 0  # bytes in them
        self._is_over = False  # no more blocks come, but this error, or the end
        self._error: BaseException | None = None
        self._rest = memoryview(b"")
        self._position = 0
        self._threads = Threads(1)

    def begin(self) -> None:
        """Raises RuntimeError where there are no more threads."""
        self._threads.do(self._unpack)

    # ---- on the thread ----

    def _unpack(self) -> None:
        error = None
        try:
            reader = self._reader = self._source.open(self._offset)
            self.raw: BinaryIO | FileIO = reader.raw
            while self._ahead.wait_for_room(self) and self._unpack_block(reader):
                pass
        except BaseException as raised:
            error = raised
        self._ahead.changed.run(self._end, error)

    def _end(self, error: BaseException | None) -> None:
        self._error, self._is_over = error, True

    def _unpack_block(self, reader: Reader) -> bool:
        """False at the end of the text. What comes in front of a damage is put down before the error is raised."""
        parts: list[bytes] = []
        left = _BLOCK
        try:
            while left and (part := reader.read_portion(left)):
                parts.append(part)
                left -= len(part)
        finally:
            self._ahead.put(self, parts, reader.position())
        return not left

    # ---- for Ahead, which holds its lock ----

    def add(self, parts: list[bytes], position: int) -> None:
        self._blocks.extend((part, position) for part in parts or [b""])
        self.held += sum(map(len, parts))

    # ---- on the thread that reads ----

    def read(self, n: int) -> bytes:
        parts = self._take(n)
        return bytes(parts[0]) if len(parts) == 1 else b"".join(parts)

    def read_into(self, buffer: memoryview) -> int:
        at, whole = 0, np.frombuffer(buffer, np.uint8)
        for part in self._take(len(buffer)):
            whole[at : at + len(part)] = np.frombuffer(part, np.uint8)  # numpy lets go of Python's lock
            at += len(part)
        return at

    def _take(self, n: int) -> list[memoryview]:
        """`n` bytes, fewer at the end only; an error in front of them is raised instead of any."""
        parts = []
        while n and (self._rest or self._next()):
            part, self._rest = self._rest[:n], self._rest[n:]
            parts.append(part)
            n -= len(part)
        return parts

    def _next(self) -> bool:
        if not self._ahead.changed.until(self._taken) and self._error is not None:
            raise self._error
        return bool(self._rest)

    def _taken(self) -> bool | None:
        """Whether there is text; None: not yet."""
        while not self._rest and self._blocks:
            text, self._position = self._blocks.popleft()
            self.held -= len(text)
            self._rest = memoryview(text)
        return bool(self._rest) if self._rest or self._is_over else None

    def position(self) -> int:
        return self._position

    def close(self) -> None:
        after_all(partial(self._ahead.drop, self), self._threads.end, self._blocks.clear)
        if self._reader is not None:
            self._reader.close()


class Ahead:
    """Opens sources in their order; the compressed ones among the next are being unpacked by then. One thread calls its
    methods, but for those of the unpacking threads. With one thread in all, nothing is done ahead."""

    def __init__(self, sources: list[AnySource], num_threads: int) -> None:
        self._sources, self._threads = sources, num_threads
        self._begun = 0  # sources in front of this one were looked at
        self.changed = Changes()  # its lock is of all that follows, and of each source's blocks
        self._open: dict[int, _Unpacked] = {}  # by the place of the source, in order
        self._is_closed = False

    def open(self, index: int, offset: int = 0, line: int = 0) -> Reader:
        """sources[index], from byte `offset` of its text, behind `line` lines. What a source cannot be opened for is
        raised here or when it is read."""
        if self._threads > 1:
            self._begin(index, offset)
        source = self._sources[index]
        return self._open.get(index) or source.open(offset, line)

    def _begin(self, index: int, offset: int) -> None:
        """Start on the sources from `index` on, as many as there are threads."""
        self._begun = max(self._begun, index)
        while len(self._open) < self._threads and self._begun < len(self._sources):
            place, source = self._begun, self._sources[self._begun]
            self._begun += 1
            # A pipe is opened in its turn: who writes to it may wait for that.
            if isinstance(source, PathSource) and source.suffix in SUFFIXES and source.size is not None:
                unpacked = _Unpacked(self, source, offset if place == index else 0)
                self.changed.run(self._open.__setitem__, place, unpacked)
                try:
                    unpacked.begin()
                except RuntimeError:  # no more threads: it is unpacked in its turn
                    self.drop(unpacked)
                    self._begun = len(self._sources)

    def drop(self, unpacked: _Unpacked) -> None:
        """It is read no more."""
        self.changed.run(self._drop, unpacked)

    def _drop(self, unpacked: _Unpacked) -> None:
        self._open = {place: each for place, each in self._open.items() if each is not unpacked}

    def close(self) -> None:
        """Ends the threads, each after its current block."""
        stop = partial(self.changed.run, setattr, self, "_is_closed", True)
        after_all(stop, *(unpacked.close for unpacked in self._open.values()))

    # ---- on the threads ----

    def wait_for_room(self, unpacked: _Unpacked) -> bool:
        """Returns once there may be another block of this source; False: none is wanted any more."""
        return self.changed.until(self._room_for, unpacked)

    def _room_for(self, unpacked: _Unpacked) -> bool | None:
        waiting = list(self._open.values())
        if self._is_closed or unpacked not in waiting:
            return False
        return self._may_go_on(unpacked, waiting) or None

    def _may_go_on(self, unpacked: _Unpacked, waiting: list[_Unpacked]) -> bool:
        """The nearer a source is, the more of the memory it may fill: its text is wanted sooner."""
        nearer = waiting.index(unpacked)
        if not nearer and unpacked.held < _OWN * _BLOCK:
            return True
        most = _ROOM * (self._threads - nearer)
        return sum(each.held for each in waiting) < most

    def put(self, unpacked: _Unpacked, parts: list[bytes], position: int) -> None:
        """Blocks of a source have come."""
        self.changed.run(unpacked.add, parts, position)
