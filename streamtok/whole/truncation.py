"""The beginning of a text that has at most n ids.

A longer beginning may have fewer ids: what ends the shorter one may be part of one token in the longer. What only grows
is how many ids a stream has given, which no later text takes back: where these are more than n, all longer ones have
more. From there the search goes back, a character at a time. It is short, because a stream holds back little; where it
holds back much, as it must in a run of blanks behind a line break, the search goes by halves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, overload

from .._offsets import border_from, is_border
from ..errors import shown

if TYPE_CHECKING:
    from .._protocols import AllowedSpecial, Data, DisallowedSpecial, Encoding, Stream, Text

_STEP = 1024
"""Characters, or bytes, read at a time; fewer at the beginning. A step is short compared with most limits, and long
compared with the cost of a call. The stream is copied behind each step, so the search back encodes at most one step."""

_HELD = 1024
"""A stream that holds back more bytes than these is in a run of which all would have to be encoded again for each
character. In all other text it holds back some 300 at most (docs/streaming.md)."""

_NEAR = 64
"""Most searches end within this distance, so they encode only so much again for each character, not a step."""


class _Mark(NamedTuple):
    """A place in the text, the ids that the stream has given up to there, and the stream."""

    at: int
    ids: int
    stream: Stream


class _Search:
    def __init__(self, text: str | memoryview, n: int) -> None:
        self.text, self.n = text, n

    def given(self, mark: _Mark, end: int) -> int:
        """The ids of text[:end] that a stream gives before the text ends."""
        return mark.ids + len(mark.stream.copy().feed(self.text[mark.at : end]))

    def fits(self, mark: _Mark, end: int) -> bool:
        """Whether text[:end] has at most n ids."""
        stream = mark.stream.copy()
        ids = mark.ids + len(stream.feed(self.text[mark.at : end]))
        return ids <= self.n and ids + len(stream.flush()) <= self.n

    def read(self, stream: Stream) -> tuple[list[_Mark], int]:
        """(marks, the end of a beginning that has more than n ids): the marks lie in front of it. No marks: it is the
        whole text that has no more."""
        marks = [_Mark(0, 0, stream.copy())]
        at = ids = 0
        step, tried = min(64 + 8 * self.n, _STEP), _HELD
        while at < len(self.text):
            end = border_from(self.text, min(at + step, len(self.text)))
            ids += len(stream.feed(self.text[at:end]))
            at, step = end, _STEP
            if ids > self.n:
                return marks, at
            if stream.pending <= _HELD:
                marks.append(_Mark(at, ids, stream.copy()))
                tried = _HELD
            elif stream.pending >= 2 * tried:
                tried = stream.pending
                if not self.fits(marks[-1], at):
                    return marks, at
        return ([], at) if self.fits(marks[-1], at) else (marks, at)

    def back(self, mark: _Mark, end: int) -> int | None:
        """The longest beginning that fits, of those that end in front of `end` and not in front of the mark."""
        end = self._first_over(mark, end)
        near = border_from(self.text, max(end - _NEAR, mark.at))
        marks = [mark]
        if near < end:
            stream = mark.stream.copy()
            ids = mark.ids + len(stream.feed(self.text[mark.at : near]))
            marks.append(_Mark(near, ids, stream))
        while marks:
            mark = marks.pop()
            for each in range(end - 1, mark.at - 1, -1):
                if is_border(self.text, each) and self.fits(mark, each):
                    return each
            end = mark.at
        return None

    def _first_over(self, mark: _Mark, end: int) -> int:
        """The first place, up to `end`, before which the stream gives more than n ids: nothing longer fits."""
        low, high = mark.at, end
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.given(mark, middle) > self.n else (middle, high)
        return high

    def halves(self, mark: _Mark, end: int) -> int | None:
        """A beginning that fits, and with its next character no longer does; None if that of the mark does not fit."""
        low, high = mark.at, end
        if not self.fits(mark, low):
            return None
        while True:
            middle = border_from(self.text, (low + high + 1) // 2)
            if middle >= high:
                middle = border_from(self.text, low + 1)
            if middle >= high:
                return low
            low, high = (middle, high) if self.fits(mark, middle) else (low, middle)


@overload
def truncate(encoding: Encoding, text: str, n: int, allowed: AllowedSpecial, disallowed: DisallowedSpecial) -> str: ...
@overload
def truncate(
    encoding: Encoding, text: Data, n: int, allowed: AllowedSpecial, disallowed: DisallowedSpecial
) -> bytes: ...
def truncate(
    encoding: Encoding, text: Text, n: int, allowed: AllowedSpecial, disallowed: DisallowedSpecial
) -> str | bytes:
    """See Encoding.truncate."""
    if n < 0:
        raise ValueError(f"n is {shown(n)}; a text has 0 or more tokens")
    whole = text if isinstance(text, str) else memoryview(text).cast("B")  # type: ignore[arg-type]
    search = _Search(whole, n)
    marks, end = search.read(encoding.stream_encoder(allowed, disallowed)._stream)
    while marks:
        mark = marks.pop()
        is_long = end - mark.at > _STEP + 3  # more than a step, and what its end was moved by: no mark could be made
        found = search.halves(mark, end) if is_long else search.back(mark, end)
        if found is not None:
            end = found
            break
        end = mark.at
    return whole[:end] if isinstance(whole, str) else bytes(whole[:end])
