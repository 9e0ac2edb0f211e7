"""A text in segments, each with the special tokens that it may name: a template beside what a user wrote, say.

The names are found first, then the text between two of them goes through a stream, segment after segment. So there is
no copy of the joined text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._checks import checked_text
from ..errors import shown
from ..native.matcher import FOUND, HELD
from ..native.text import to_utf8

if TYPE_CHECKING:
    from .._protocols import AllowedSpecial, Encoding, Ids, Places, Text
    from ..native.matcher import Matcher


class EncodedSegments(NamedTuple):
    """The ids of all segments, and where those of each begin.

    Attributes:
        ids: uint32 array.
        starts: int64 array of one item more than there are segments. Segment i has ids[starts[i]:starts[i + 1]]. In
            joined text an id that holds bytes of several segments counts for the one that it begins in. None where that
            is not known: joined text of an encoding that normalizes it, drops some of it, or has names with rules.
    """

    ids: Ids
    starts: Places | None


class _Part(NamedTuple):
    """UTF-8 with the names that it may have: the Matcher that finds them, and the names as bytes with their ids."""

    data: bytes
    matcher: Matcher | None
    names: dict[bytes, int]


class _Piece(NamedTuple):
    """Text between two names, or within a segment; or the id of a name, and how many bytes that has."""

    data: memoryview
    token: int | None = None
    size: int = 0


def encode_segments(enc: Encoding, segments: Iterable[tuple[Text, AllowedSpecial]], joined: bool) -> EncodedSegments:
    """Encoding.encode_segments() has the arguments."""
    parts = _parts(enc, segments)
    if not joined:
        rows = [enc._coder.encode_array(part.data, part.matcher, None) for part in parts]
        return EncodedSegments(_concatenated(rows), np.cumsum([0, *map(len, rows)], dtype=np.int64))
    if _has_rules(enc, parts):
        return EncodedSegments(_by_one_stream(enc, parts), None)
    return _joined(enc, parts)


def _parts(enc: Encoding, segments: Iterable[tuple[Text, AllowedSpecial]]) -> list[_Part]:
    parts: list[_Part] = []
    known: dict[int, dict[bytes, int]] = {}
    for index, segment in enumerate(segments):
        if not isinstance(segment, (tuple, list)) or len(segment) != 2:
            raise TypeError(f"segment {index} is {shown(segment)}: write (text, names of special tokens allowed in it)")
        text, allowed = checked_text(segment[0]), segment[1]
        matcher = enc._matchers_for(allowed, ())[0]
        if id(matcher) not in known:
            found = [] if matcher is None else matcher.names
            known[id(matcher)] = {name.encode(): enc._added_tokens[name] for name in found}
        data = to_utf8(text) if isinstance(text, str) else bytes(text)
        parts.append(_Part(data, matcher, known[id(matcher)]))
    return parts


def _has_rules(enc: Encoding, parts: list[_Part]) -> bool:
    """Whether what is beside a name, or in front of a part, counts. Then the engine alone can find the names."""
    has_first = enc._normalizer is not None and any(step[0].startswith("Prepend") for step in enc._normalizer.steps)
    return has_first or any(part.matcher is not None and part.matcher.has_rules for part in parts)


def _by_one_stream(enc: Encoding, parts: list[_Part]) -> Ids:
    matchers = {id(part.matcher): part.matcher for part in parts if part.data}
    if len(matchers) > 1:
        raise ValueError(
            f"names of special tokens of {shown(enc.name)} take text beside them, or its texts begin in their own way: "
            "allow the same names in all segments, or write joined=False"
        )
    stream = enc._coder.stream(next(iter(matchers.values()), None), None, True)
    return _concatenated([*(stream.feed(part.data) for part in parts), stream.flush()])


def _joined(enc: Encoding, parts: list[_Part]) -> EncodedSegments:
    stream = enc._coder.stream(None, None, True)
    made: list[Ids] = []
    sizes: list[Places] = []
    for data, token, size in _pieces(parts):
        if token is None:
            made.append(stream.feed(data))
            continue
        made.append(stream.flush())
        made.append(np.array([token], np.uint32))
        sizes += [enc._token_lengths[ids] for ids in made[len(sizes) : -1]]
        sizes.append(np.array([size]))  # an id may have names of several lengths
    made.append(stream.flush())
    sizes += [enc._token_lengths[ids] for ids in made[len(sizes) :]]
    return EncodedSegments(_concatenated(made), _starts(enc, parts, sizes))


def _starts(enc: Encoding, parts: list[_Part], sizes: list[Places]) -> Places | None:
    begins = np.cumsum([0, *(len(part.data) for part in parts)])
    ends = np.cumsum(np.concatenate([np.zeros(1, np.int64), *sizes]))
    if enc._normalizer is not None or not enc._kind.keeps_bytes or ends[-1] != begins[-1]:
        return None
    starts: Places = np.searchsorted(ends[:-1], begins).astype(np.int64)
    return starts


def _pieces(parts: list[_Part]) -> Iterator[_Piece]:
    """The names that count, leftmost first and of those at one place the longest, and what lies between. A name counts
    where each segment that holds bytes of it allows it."""
    skip = 0  # bytes of the next segments that belong to a name
    for index, part in enumerate(parts):
        view = memoryview(part.data)
        at, skip = min(skip, len(view)), max(skip - len(view), 0)
        while at < len(view):
            start, end, token = _next_name(parts, index, at)
            if start > at:
                yield _Piece(view[at:start])
            if token is not None:
                yield _Piece(view[:0], token, end - start)
            at, skip = min(end, len(view)), max(end - len(view), 0)


def _next_name(parts: list[_Part], index: int, at: int) -> tuple[int, int, int | None]:
    """(start, end, id) of the next name that begins in a segment; its end, and None, if there is none."""
    data, matcher, names = parts[index]
    if matcher is not None:
        found, start, end, token = matcher.search(data[at:] if at else data).next(False)
        start, end = start + at, end + at
        if found == FOUND:
            return start, end, token
        if found == HELD:  # the segment ends in what begins a name
            for place in range(start, len(data)):
                name = _name_at(parts, index, place)
                if name is not None:
                    return place, place + len(name), names[name]
    return len(data), len(data), None


def _name_at(parts: list[_Part], index: int, place: int) -> bytes | None:
    """The longest name that counts at a place shortly before the end of a segment."""
    data, _, names = parts[index]
    most = max(map(len, names))
    window = bytearray(data[place : place + most])
    allowed: list[tuple[int, dict[bytes, int]]] = []  # places of the window, and the names that may have bytes there
    for other in parts[index + 1 :]:
        if len(window) >= most:
            break
        if other.data:
            allowed.append((len(window), other.names))
            window += other.data[: most - len(window)]
    fits = (
        name
        for name in names
        if window.startswith(name) and all(name in other for begin, other in allowed if begin < len(name))
    )
    return max(fits, key=len, default=None)


def _concatenated(rows: list[Ids]) -> Ids:
    ids = np.concatenate(rows) if rows else np.empty(0, np.uint32)
    ids.flags.writeable = False
    return ids
