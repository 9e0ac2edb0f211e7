"""Splitting by any pat_str that has no scanner of its own, whole or streamed, through the `regex` package.

    splitter = PatternSplitter(r"\\w+|\\s+|[^\\w\\s]")
    splitter.split("two words")                 # [[0, 3], [3, 4], [4, 9]]: spans of the pieces, in UTF-8 bytes
    stream = splitter.stream()
    text, spans = stream.feed("two wor")        # "two ", [[0, 3], [3, 4]]: "wor" may go on
    text, spans = stream.flush()                # "wor", [[0, 3]]

The pieces are tiktoken's, whatever Unicode version Python and `regex` know. Text that the pattern does not match is in
no piece, as in tiktoken: it is dropped. A match of the empty text makes no piece and the character behind it is passed
over; tiktoken's loop does the same, and then panics over the empty piece.

One limit is inherited: `regex` backtracks. A pattern with nested repetition such as (a+)+b can take exponential time
on text chosen for it, in split as in a stream. Patterns that split natural text do not do this; SECONDS ends others.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import regex

from ..errors import pattern_timeout_error
from .read import Atomic, Look, Node, Rep, read_pattern
from .tree import children, looks_back, nullable, walk
from .write import Code

SECONDS = 30.0
"""Seconds of processor time for up to a million characters, about a hundred times what natural text takes. `regex`
counts the time of the whole process, so this leaves room for many busy threads."""

# Pieces that the engine finds in one match, with one look at the clock, which takes longer than finding a piece.
_AT_ONCE = 64

MOST_PARTS = 10_000
"""Of a pattern, as `regex` is given it: a second of its time. The patterns of models have some 100."""

MOST_COPIES = 200_000
"""Of these with each counted repeat written out, as `regex` does it: 100 MB."""

_RETRY_ALWAYS = 1024
"""Pending text up to so many characters is matched anew at each feed; beyond, only when it has doubled."""


class _Compiled:
    """What one pat_str compiles to; shared by all splitters of that pattern."""

    def __init__(self, pat_str: str) -> None:
        tree = read_pattern(pat_str)
        _check(tree)
        _check_size(tree)
        code = Code(tree)
        self.table, self.end = code.table, code.end
        self.ascii = bytes(code.table[:128].astype(np.uint8)) + bytes(128) if code.table.itemsize == 1 else b""
        try:
            self.nullable = nullable(tree)
            forms = [code.plain, code.probe]
            if not self.nullable:  # atomic: a piece is never given up for the sake of a later one
                forms = [f"(?:(?>({form}))){{1,{_AT_ONCE}}}+" for form in forms]
            self.plain, self.probe = (regex.compile(form, regex.V0) for form in forms)
        except regex.error as error:
            raise ValueError(f"pat_str does not compile: {error}") from None
        self.context = looks_back(tree)

    def symbols(self, text: str) -> str:
        """The kinds of the characters, one symbol each."""
        if self.ascii and text.isascii():
            return text.encode("ascii").translate(self.ascii).decode("latin-1")
        kinds = self.table[np.frombuffer(text.encode("utf-32-le"), "<u4")]
        wide = kinds.itemsize > 1
        data: bytes = (kinds.astype("<u2", copy=False) if wide else kinds).tobytes()
        return data.decode("utf-16-le" if wide else "latin-1")

    def matches(
        self, pattern: regex.Pattern, symbols: str, start: int, seconds: float | None
    ) -> Iterator[tuple[int, int]]:
        """The spans of all matches from `start` on that are not empty, in characters.

        seconds: bound on the processor time; None: no bound. Raises TimeoutError."""
        if self.nullable:
            yield from _nonempty(pattern, symbols, start, seconds)
            return
        for match in pattern.finditer(symbols, start, timeout=seconds):
            yield from match.spans(1)


def _nonempty(pattern: regex.Pattern, symbols: str, at: int, seconds: float | None) -> Iterator[tuple[int, int]]:
    # Engines continue differently after an empty match. tiktoken continues one character further.
    end = time.process_time() + (seconds or 0.0)

    def left() -> float | None:
        return None if seconds is None else max(end - time.process_time(), 0.0)

    while match := pattern.search(symbols, at, timeout=left()):
        begin, at = match.span()
        if begin < at:
            yield begin, at
        else:
            at += 1
            if at > len(symbols):
                return


def _check_size(tree: Node) -> None:
    """Refuse what `regex` would take long, or much memory, to compile."""
    parts, copies = 0, 0
    todo = [(tree, 1, 1)]
    while todo:
        node, written, times = todo.pop()
        parts += written
        copies += times
        if parts > MOST_PARTS or copies > MOST_COPIES:
            raise ValueError(
                f"pat_str is too large for the regex package: it has more than {MOST_PARTS} parts, or more than "
                f"{MOST_COPIES} with each counted repeat written out"
            )
        if isinstance(node, Rep):
            times *= max(node.low + (node.high != node.low), 1)
        if isinstance(node, Look) and node.ahead:
            written += 1  # the probe has it twice
        todo += [(child, written, times) for child in children(node)]


def _check(tree: Node) -> None:
    """Refuse what engines may read differently, or what the probe cannot decide."""
    behind: set[int] = set()  # inner nodes that were looked at for an outer look-behind
    for node in walk(tree):
        if isinstance(node, Rep) and node.high != 1 and nullable(node.body):
            raise ValueError(
                "pat_str repeats a group that can match nothing, and regex engines differ on what that means; "
                "let each round of the group match a character at least"
            )
        if isinstance(node, Look) and not node.ahead and id(node) not in behind:
            for inner in walk(node.body):
                behind.add(id(inner))
                if isinstance(inner, Atomic) or (isinstance(inner, Rep) and inner.mode == "+"):
                    raise ValueError("pat_str has an atomic group or a possessive quantifier inside a look-behind")
                if isinstance(inner, Look) and inner.ahead:
                    raise ValueError("pat_str looks ahead inside a look-behind, which streamtok does not support")


@functools.lru_cache(maxsize=16)
def _compiled(pat_str: str) -> _Compiled:
    try:
        return _Compiled(pat_str)
    except RecursionError:
        raise ValueError("pat_str is nested too deeply") from None


def byte_spans(text: str, spans: list[tuple[int, int]]) -> np.ndarray:
    """Spans in characters of `text` as spans in its UTF-8 bytes: int64, shape (k, 2)."""
    array = np.array(spans, np.int64).reshape(-1, 2)
    if text.isascii():
        return array
    codes = np.frombuffer(text.encode("utf-32-le"), "<u4")
    offsets = np.zeros(len(codes) + 1, np.int64)
    np.cumsum(1 + (codes > 0x7F) + (codes > 0x7FF) + (codes > 0xFFFF), out=offsets[1:])
    return offsets[array]


class PatternSplitter:
    """Cuts text into the pieces that tiktoken cuts it into with this pat_str.

    Raises ValueError, saying why and where, for a pattern that is wrong or whose meaning is not certain to be
    tiktoken's: back-references, subroutines, conditionals, \\G, \\K, \\X, flags other than i m s x u, the repetition of
    something that can be empty. Pickles as its pattern and its seconds.

    Args:
        pat_str: the pattern.
        seconds: bound on the processor time for up to a million characters, proportionally more for longer text; None:
            no bound.
    """

    def __init__(self, pat_str: str, seconds: float | None = SECONDS) -> None:
        self.pat_str, self.seconds = pat_str, seconds
        self._compiled = _compiled(pat_str)

    def __reduce__(self) -> tuple[type[PatternSplitter], tuple[str, float | None]]:
        return PatternSplitter, (self.pat_str, self.seconds)

    def matches(self, pattern: regex.Pattern, symbols: str, start: int) -> Iterator[tuple[int, int]]:
        """_Compiled.matches() in the time that this splitter gives. Raises TimeoutError, which says what to do."""
        seconds = None if self.seconds is None else self.seconds * max(1.0, len(symbols) / 1e6)
        try:
            yield from self._compiled.matches(pattern, symbols, start, seconds)
        except TimeoutError:
            raise pattern_timeout_error(self.pat_str, seconds or 0.0, len(symbols) - start) from None

    def split(self, text: str) -> np.ndarray:
        """The pieces of the whole text, as (start, end) in UTF-8 bytes: int64, shape (k, 2).

        Args:
            text: a str without lone surrogates; tiktoken replaces them before it splits, and so must the caller.

        Raises:
            TimeoutError: the pattern takes longer than `seconds` allows.
            UnicodeEncodeError: a lone surrogate.
        """
        compiled = self._compiled
        return byte_spans(text, list(self.matches(compiled.plain, compiled.symbols(text), 0)))

    def stream(self, context: str = "", pending: str = "") -> PatternStream:
        """A new stream; with the context and the pending text of another one, it continues as that would.

        Raises ValueError for a pattern that cannot be streamed.
        """
        stream = PatternStream(self)
        stream._now = _State.of(context, pending)
        return stream


class _State(NamedTuple):
    """What a PatternStream holds. The text that is pending lies in the first `parts` of `pending`: what is behind them
    is of a call that did not end, or of a twin.

    context: the end of what was decided, as far as look-behinds reach. length, size: of what is pending, in characters
    and in bytes of UTF-8."""

    context: str
    pending: list[str]
    parts: int
    length: int
    size: int
    retry_at: int

    @classmethod
    def of(cls, context: str, text: str, retry_at: int = 0) -> _State:
        return cls(context, [text] if text else [], int(bool(text)), len(text), len(text.encode()), retry_at)

    @property
    def text(self) -> str:
        """What is pending."""
        return "".join(self.pending[: self.parts])

    def added(self, text: str) -> _State:
        """The state once more text has come. Of several that follow one state the last one counts."""
        self.pending[self.parts :] = [text]
        length, size = self.length + len(text), self.size + len(text.encode())
        return self._replace(parts=self.parts + 1, length=length, size=size)


class PatternStream:
    """Takes text cut anywhere and returns what is decided: the pieces of split(whole), in parts, never early.

    While at most 1024 characters are pending, a piece is returned by the feed that decides it. A longer pending text is
    matched again only when it has doubled, which keeps an endless piece linear; so a piece of n > 1024 characters may
    be returned up to n characters late, never early. Copies and pickles at any point.
    """

    def __init__(self, splitter: PatternSplitter) -> None:
        if splitter._compiled.context is None:
            raise ValueError(
                "this pat_str cannot be streamed: a look-behind of it has no bound on its length, so that all of the "
                "text would have to be kept; split() can use it"
            )
        self.splitter = splitter
        self.reset()

    def reset(self) -> None:
        """Forget everything; the next feed begins a text."""
        self._now = _State.of("", "")

    @property
    def context(self) -> str:
        """The end of what was decided, as far as look-behinds reach."""
        return self._now.context

    @property
    def pending(self) -> str:
        """The text that is not decided yet."""
        return self._now.text

    @property
    def pending_bytes(self) -> int:
        """Its bytes in UTF-8."""
        return self._now.size

    def feed(self, text: str) -> tuple[str, np.ndarray]:
        """The text that is now decided, and the pieces in it as (start, end) in its UTF-8 bytes.

        What was returned, feed after feed and flush at the end, joins to what was fed. Raises UnicodeEncodeError for
        a lone surrogate, TimeoutError as split does, and is then as before the call.
        """
        if not text:
            return "", byte_spans("", [])
        now = self._now.added(text)
        if now.length < now.retry_at:
            self._now = now
            return "", byte_spans("", [])
        compiled, pending = self.splitter._compiled, now.text
        symbols = compiled.symbols(now.context + pending) + compiled.end
        start, stop = len(now.context), len(symbols) - 1
        spans = []
        for begin, end in self.splitter.matches(compiled.probe, symbols, start):
            if end > stop:  # this one asked for more text
                stop = min(begin, stop)
                break
            spans.append((begin - start, end - start))
        decided, rest = pending[: stop - start], pending[stop - start :]
        found = byte_spans(decided, spans)
        reach, context = compiled.context, now.context
        if reach:
            context = (context + decided[-reach:])[-reach:]
        self._now = _State.of(context, rest, 2 * len(rest) if len(rest) > _RETRY_ALWAYS else 0)
        return decided, found

    def flush(self) -> tuple[str, np.ndarray]:
        """End the text: what is left and its pieces, as feed gives them. The stream is ready for the next text."""
        compiled, text, start = self.splitter._compiled, self.pending, len(self.context)
        symbols = compiled.symbols(self.context + text)
        spans = [(begin - start, end - start) for begin, end in self.splitter.matches(compiled.plain, symbols, start)]
        found = byte_spans(text, spans)
        self.reset()
        return text, found

    def twin(self) -> PatternStream:
        """A stream in the same state, to be used in place of this one, or dropped before this one goes on. Its time
        does not depend on how much is pending, unlike that of copy()."""
        other = PatternStream(self.splitter)
        other._now = self._now
        return other

    def copy(self) -> PatternStream:
        """An independent stream in the same state."""
        other, now = PatternStream(self.splitter), self._now
        other._now = now._replace(pending=now.pending[: now.parts])
        return other

    __copy__ = copy
