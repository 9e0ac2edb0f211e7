"""A text that grows and changes, with its ids after every change.

A session keeps the ids, and every few kilobytes a mark: the state that a stream has there. A change is encoded from the
last mark in front of it. Behind it, as soon as the stream has the state of a later mark, all that follows is encoded as
before: a stream's state decides the ids of the text that follows.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._offsets import border_before, is_border, plain_sizes, shared_names
from ..errors import shown
from ..native.encode import CoreStream
from ..native.gate import utf8_of
from ..native.ids import alike
from ..native.steps import Alone, at_once
from .marks import Mark, Run, state_of, stream_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._protocols import AllowedSpecial, DisallowedSpecial, Encoding, Ids, Places, Text

_VERSION = 1


class Splice(NamedTuple):
    """How the ids changed: the first `keep` stay, and `ids` follow. Of these, the last `same` are as they were, only at
    other places. `ids` is a view that holds until the next change of the session."""

    keep: int
    ids: Ids
    same: int


class _State(NamedTuple):
    """What a session holds, which a call changes by one store.

    stream: behind all of the text; stable: ids that it has given. buffer: an array that begins with the `total` ids;
    is_own: no other session has it. size: bytes of the text.
    """

    stream: Any
    stable: int
    buffer: Ids
    is_own: bool
    total: int
    size: int
    marks: list[Mark]


class Session:
    """A text and its ids, token for token those of Encoding.encode after every call. Made by Encoding.session.

    Places are bytes of the text's UTF-8, between two characters. A call that raises leaves the session as it was. A
    session serves one thread at a time: a second one inside a call gets RuntimeError. It can be copied, which costs
    nothing before one of the two changes, and pickled.

    >>> session = enc.session("You are a helpful assistant.")
    >>> keep, ids, same = session.append(" Answer in verse.")
    >>> session.replace(10, 17, "kind").keep
    3

    Args:
        encoding: the Encoding.
        text: str, or a buffer of UTF-8.
        allowed_special: as for Encoding.encode.
        disallowed_special: as for Encoding.encode.
        max_bytes: the most bytes that the text may have; a change that would make it longer is refused.

    Raises:
        ValueError: the text of a disallowed special token; a text over max_bytes.
        UnicodeDecodeError: bytes that are not UTF-8.
    """

    def __init__(
        self,
        encoding: Encoding,
        text: Text = "",
        *,
        allowed_special: AllowedSpecial = frozenset(),
        disallowed_special: DisallowedSpecial = "all",
        max_bytes: int | None = None,
    ) -> None:
        self.encoding = encoding
        self.max_bytes = max_bytes
        self._options = (
            allowed_special if allowed_special == "all" else frozenset(allowed_special),
            disallowed_special if disallowed_special == "all" else tuple(disallowed_special),
        )
        self._alone = Alone(_busy_error)
        self._new: Callable[[], Any] = _maker(encoding, *self._options)
        stream = self._new()
        self._held = None if _spells_its_text(encoding, stream) else bytearray()
        self._now = _State(stream, 0, np.empty(0, np.uint32), True, 0, 0, [Mark(0, 0, 0, state_of(stream))])
        self.append(text)

    # ---- what is there ----

    def __len__(self) -> int:
        """The number of ids."""
        return self._now.total

    def __repr__(self) -> str:
        return f"<Session of {self.encoding.name!r}, {self.size} bytes, {len(self)} ids>"

    @property
    def ids(self) -> Ids:
        """All ids: a read-only view, without a copy, that holds until the next change."""
        now = self._now
        view = now.buffer[: now.total]
        view.flags.writeable = False
        return view

    @property
    def size(self) -> int:
        """Bytes of the text."""
        return self._now.size

    @property
    def text(self) -> str:
        """The text. It is decoded from the ids, or, where they do not spell it, kept."""
        return self._read(0, self._now.size).decode()

    @property
    def text_offsets(self) -> Places:
        """int64: the byte of the text at which each id begins. Where ids may not spell the text (after a normalizer,
        say), that of the character from which an id came, as Encoding.encode_with_offsets has it."""
        enc, ids = self.encoding, self.ids
        allowed, disallowed = self._options
        if self._held is None:
            sizes: Places | None = enc._token_lengths[ids]
        else:
            sizes = plain_sizes(enc, self._held, ids, enc._matchers_for(allowed, disallowed)[0])
        if sizes is not None:
            return np.cumsum(sizes) - sizes
        text = self.text
        characters = enc.encode_with_offsets(text, allowed_special=allowed, disallowed_special=disallowed)[1]
        borders = np.flatnonzero((np.frombuffer(text.encode(), np.uint8) & 0xC0) != 0x80)
        places: Places = np.append(borders, self._now.size)[characters]
        return places

    # ---- changes ----

    def append(self, text: Text) -> Splice:
        """Adds text at the end. It costs what the new text costs, however long the text in front of it is."""
        return self._alone.run(self._append, text)

    def replace(self, start: int, end: int, text: Text) -> Splice:
        """Puts text in the place of that between two places.

        Raises:
            IndexError: there are no such places.
            ValueError: one of them lies inside a character; and as for append().
        """
        return self._alone.run(self._replace_checked, start, end, text)

    def update(self, text: Text) -> Splice:
        """Makes `text` the whole text. What it has in common with the old one, at its beginning and at its end, is
        found by comparing, and not encoded again."""
        return self._alone.run(self._update, text)

    def truncate(self, tokens: int | None = None, *, bytes: int | None = None) -> Splice:
        """Shortens the text: to its longest beginning that has at most so many tokens, as Encoding.truncate does, or to
        its longest beginning of at most so many bytes that ends between two characters.

        Raises:
            TypeError: not exactly one of the two is given.
            ValueError: it is negative.
        """
        if (tokens is None) == (bytes is None):
            raise TypeError("truncate() takes a number of tokens, or bytes=, and not both")
        return self._alone.run(self._truncate, tokens, bytes)

    # ---- copies ----

    def copy(self) -> Session:
        """A branch: it has the same text, and goes its own way. The ids are shared until one of the two changes."""
        return self._alone.run(self._copy)

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, object]) -> Session:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        text = self._alone.run(self._read, 0, self._now.size)
        return _restore, (self.encoding, (_VERSION, text, *self._options, self.max_bytes))

    # ---- the work, in which nobody else is ----

    def _append(self, text: Text) -> Splice:
        data, now = utf8_of(text), self._now
        self._check_size(now.size + len(data))
        run = Run(now.stream.copy(), now.size, now.stable, now.marks[-1].at)
        run.feed(data)
        made = [*run.made, run.stream.copy().flush()]
        place = now.size, now.size, data
        return self._put(now.stable, made, now.total, run.stream, run.ids, now.marks, run.marks, *place)

    def _replace_checked(self, start: int, end: int, text: Text) -> Splice:
        size = self._now.size
        if not 0 <= start <= end <= size:
            raise IndexError(f"there is no text from {shown(start)} to {shown(end)}: it has {size} bytes")
        return self._replace(start, end, utf8_of(text))

    def _update(self, text: Text) -> Splice:
        data, size = utf8_of(text), self._now.size
        first, behind = self._common(data)
        middle = data[first : len(data) - behind]
        return self._append(middle) if first == size else self._replace(first, size - behind, middle)

    def _truncate(self, tokens: int | None, most: int | None) -> Splice:
        size = self._now.size
        whole = self._read(0, size)
        if tokens is not None:
            allowed, disallowed = self._options
            end = len(self.encoding.truncate(whole, tokens, allowed_special=allowed, disallowed_special=disallowed))
        else:
            if most is None or most < 0:
                raise ValueError(f"bytes={shown(most)} is negative: write how many bytes stay")
            end = border_before(whole, min(most, size))
        return self._replace(end, size, memoryview(b""))

    def _copy(self) -> Session:
        shared = self._now._replace(is_own=False)
        self._now = shared
        twin = Session.__new__(Session)
        twin.__dict__.update(self.__dict__)
        twin._alone = Alone(_busy_error)
        twin._now = shared._replace(stream=shared.stream.copy(), marks=list(shared.marks))
        twin._held = None if self._held is None else bytearray(self._held)
        return twin

    def _replace(self, start: int, end: int, data: memoryview) -> Splice:
        now = self._now
        marks, delta = now.marks, len(data) - (end - start)
        self._check_size(now.size + delta)
        first, later = bisect_right(marks, start, key=_at) - 1, bisect_left(marks, end, key=_at)
        mark = marks[first]
        old = self._read(mark.at, self._at(later))
        if not (is_border(old, start - mark.at) and is_border(old, end - mark.at)):
            raise ValueError(f"{start} or {end} lies inside a character; write places between characters")
        run = Run(stream_at(self._new(), mark.state, mark.at), mark.at, mark.ids, mark.at)
        run.feed(old[: start - mark.at] + data.tobytes() + old[end - mark.at :])
        while later < len(marks) and state_of(run.stream) != marks[later].state:
            later += 1
            run.feed(self._read(marks[later - 1].at, self._at(later)))
        if later < len(marks):
            return self._fall_in(first, run, marks[later:], (start, end, data))
        made = [*run.made, run.stream.copy().flush()]
        place = start, end, data
        return self._put(mark.ids, made, now.total, run.stream, run.ids, marks[: first + 1], run.marks, *place)

    def _fall_in(self, first: int, run: Run, rest: list[Mark], place: tuple[int, int, memoryview]) -> Splice:
        """A run from the mark of this number has the state of the first of `rest`: all behind that stays as it is."""
        now, behind = self._now, rest[0].ids
        more, delta, stream = run.ids - behind, len(place[2]) - (place[1] - place[0]), now.stream
        if run.is_near(rest[0].at + delta):
            rest = rest[1:]
        if delta or more:
            rest = [each.moved(delta, more) for each in rest]
        if delta:
            stream = stream.copy()
            stream.move(delta)
        marks = now.marks[: first + 1] + run.marks
        return self._put(now.marks[first].ids, run.made, behind, stream, now.stable + more, marks, rest, *place)

    def _put(
        self,
        first: int,
        made: list[Ids],
        behind: int,
        stream: Any,
        stable: int,
        marks: list[Mark],
        more: list[Mark],
        start: int,
        end: int,
        data: memoryview,
    ) -> Splice:
        """Writes ids in the place of those from `first` up to `behind`, `data` in the place of the text from `start` to
        `end`, and `more` marks behind those that stay: all in one step, in which nothing is raised."""
        now = self._now
        new = made[0] if len(made) == 1 else np.concatenate(made)
        old, rest = now.buffer[first:behind], now.total - behind
        keep, same = alike(new, old)
        count = first + len(new) + rest
        buffer = now.buffer
        if not now.is_own or count > len(buffer):
            buffer = np.empty(count + count // 8 + 64, np.uint32)
            buffer[:first] = now.buffer[:first]
        steps: list[tuple[Any, ...]] = [(marks.extend, more)] if more else []
        if self._held is not None:
            steps.append((self._held.__setitem__, slice(start, end), data))
        if rest and (len(new) != len(old) or buffer is not now.buffer):
            steps.append((buffer.__setitem__, slice(count - rest, count), now.buffer[behind : now.total]))
        steps.append((buffer.__setitem__, slice(first, first + len(new)), new))
        size = now.size + len(data) - (end - start)
        at_once(*steps, (setattr, self, "_now", _State(stream, stable, buffer, True, count, size, marks)))
        return Splice(first + keep, self.ids[first + keep :], rest + same)

    def _check_size(self, size: int) -> None:
        if self.max_bytes is not None and size > self.max_bytes:
            raise ValueError(f"the text would have {size} bytes; this session takes at most {self.max_bytes}")

    def _at(self, number: int) -> int:
        """The place of a mark; the end of the text behind the last one."""
        marks = self._now.marks
        return marks[number].at if number < len(marks) else self._now.size

    def _read(self, start: int, end: int) -> bytes:
        """Bytes of the text."""
        if self._held is not None:
            return bytes(memoryview(self._held)[start:end])
        now, marks = self._now, self._now.marks
        first, last = bisect_right(marks, start, key=_given) - 1, bisect_left(marks, end, key=_given)
        ids = now.buffer[marks[first].ids : marks[last].ids if last < len(marks) else now.total]
        data = self.encoding._bytes_of(ids, first > 0)
        begin = marks[first].given
        return data[start - begin : end - begin]

    def _common(self, data: memoryview) -> tuple[int, int]:
        """Bytes that a text has in common with this one: at the beginning, and at the end behind these."""
        if self._held is not None:
            # Of a copy: a view of what grows must not outlive this call, as in the traceback of an interrupted one.
            old, new = np.frombuffer(bytes(self._held), np.uint8), np.frombuffer(data, np.uint8)
            first = border_before(data, _common_beginning(old, new))
            behind = _common_beginning(old[first:][::-1], new[first:][::-1])
        else:
            ids, decoder = self.ids, self.encoding._decoder
            count, first = decoder.match(ids, data)
            if count < len(ids):
                token = np.frombuffer(self.encoding._bytes_of(ids[count : count + 1], True), np.uint8)
                first += _common_beginning(token, np.frombuffer(data, np.uint8)[first:])
                first = border_before(data, first)
            behind = decoder.match(ids[count:], data[first:], True)[1]
            behind = min(behind, self.size - first)
        while behind and not is_border(data, len(data) - behind):
            behind -= 1
        return first, behind


def _busy_error() -> RuntimeError:
    return RuntimeError("another thread is inside this session; give each thread a copy of its own")


def _at(mark: Mark) -> int:
    return mark.at


def _given(mark: Mark) -> int:
    return mark.given


def _maker(enc: Encoding, allowed: AllowedSpecial, disallowed: DisallowedSpecial) -> Callable[[], Any]:
    coder, matchers = enc._coder_for("strict"), enc._matchers_for(allowed, disallowed)
    return lambda: coder.stream(*matchers, True)


def _spells_its_text(enc: Encoding, stream: Any) -> bool:
    """Whether the bytes of the ids are those of the text, whatever it is."""
    if enc._rule_decoder is not None or enc._normalizer is not None or not enc._kind.keeps_bytes:
        return False
    if not isinstance(stream, CoreStream):
        return False
    if stream.allowed is not None and (stream.allowed.has_rules or shared_names(enc)):
        return False  # a name takes text beside it, or an id does not say which of its names it was
    return enc.pattern_engine in ("blocks", "none")  # the pattern of a table may drop text


def _common_beginning(left: Any, right: Any) -> int:
    """How many items two arrays begin with alike."""
    count = min(len(left), len(right))
    differ = left[:count] != right[:count]
    found = int(differ.argmax()) if count else 0
    return found if count and differ[found] else count


def _restore(encoding: Encoding, state: tuple[Any, ...]) -> Session:
    if not state or state[0] != _VERSION:
        raise ValueError("the saved state of a session is of another version of streamtok")
    _, text, allowed, disallowed, max_bytes = state
    return Session(encoding, text, allowed_special=allowed, disallowed_special=disallowed, max_bytes=max_bytes)
