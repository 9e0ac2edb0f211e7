"""Places of a text from which encoding goes on exactly: what sessions keep of one text, and a cache of many.

A mark is the state that a stream has there: it decides the ids of the text that follows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .._offsets import border_from
from ..native.encode import CoreStream

STEP = 4096
"""Bytes between two marks. A change encodes about so many. A mark takes some 250 bytes, 6 % of the text."""


class Mark(NamedTuple):
    """A place of the text, in bytes; the ids that a stream has given there; the bytes whose ids it holds back; its
    state."""

    at: int
    ids: int
    pending: int
    state: bytes

    @property
    def given(self) -> int:
        """Bytes whose ids are given."""
        return self.at - self.pending

    def moved(self, size: int, ids: int) -> Mark:
        return Mark(self.at + size, self.ids + ids, self.pending, self.state)


class Run:
    """A stream that goes through text, the ids that it gives, and marks."""

    def __init__(self, stream: Any, at: int, ids: int, last: int) -> None:
        self.stream, self.at, self.ids, self.last = stream, at, ids, last
        self.made: list[Any] = []
        self.marks: list[Mark] = []

    def feed(self, data: bytes | memoryview) -> None:
        view, place = memoryview(data), 0
        while place < len(view):
            end = border_from(view, min(place + max(self.last + STEP - self.at, 1), len(view)))
            ids, count = self.take(view[place:end])
            self.made.append(ids)
            self.ids += count
            self.at += end - place
            place = end
            if self.at - self.last >= STEP:
                self._mark()
        if not self.made:
            self.made.append(self.take(view)[0])

    def take(self, part: memoryview) -> tuple[Any, int]:
        """The ids that the stream gives for a part of the text, as they are to be kept, and how many there are."""
        ids = self.stream.feed(part)
        return ids, len(ids)

    def _mark(self) -> None:
        """Where much text waits, as in a long piece of some models, there is no mark: each would hold it again."""
        pending, self.last = self.stream.pending, self.at
        if pending <= STEP:
            self.marks.append(Mark(self.at, self.ids, pending, state_of(self.stream)))

    def is_near(self, at: int) -> bool:
        """Whether a place is too near behind the last mark to be one, too."""
        return at - self.last < STEP // 2


def state_of(stream: Any) -> bytes:
    """The state, the same wherever a text goes on in the same way."""
    state: bytes = stream.save_apart() if isinstance(stream, CoreStream) else stream.save()
    return state


def stream_at(stream: Any, state: bytes, at: int) -> Any:
    """A new stream, brought to where another one had that state."""
    if isinstance(stream, CoreStream):
        loaded = stream.load_apart(state, at)
    else:
        loaded = stream.load(state)
    assert loaded, "a stream takes the states that it has saved"
    return stream
