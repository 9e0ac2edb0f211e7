r"""Reads a pat_str as tiktoken's engine (Rust's fancy-regex) reads it, into a tree of six kinds of node.

Only sets of characters, sequence, choice, repetition, commitment and looking around are left in the tree. Case
folding, named classes and their algebra become plain sets; the anchors become what they mean: `$` is (?!.) over all
characters, \b is a look at either side. So nothing that engines define differently, and nothing whose meaning hangs
on a Unicode version, reaches the engine that does the matching.

What is not understood, or is not known to mean the same here, raises ValueError with the place.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..errors import shortened
from . import char_sets as charsets
from .char_sets import EVERYTHING, NEWLINE, Ranges
from .read_class import ClassReader


class Set(NamedTuple):
    """One character out of `ranges`."""

    ranges: Ranges


class Cat(NamedTuple):
    """All parts one after the other; no parts match the empty text."""

    parts: tuple[Node, ...]


class Alt(NamedTuple):
    """The first choice that lets the rest match."""

    choices: tuple[Node, ...]


class Rep(NamedTuple):
    """`body` from `low` to `high` times (None: no limit); `mode` is "" (greedy), "?" (lazy) or "+" (possessive)."""

    body: Node
    low: int
    high: int | None
    mode: str


class Atomic(NamedTuple):
    """`body`, whose first way to match is the only one tried."""

    body: Node


class Look(NamedTuple):
    """Whether `body` matches ahead of (or up to) this place, or does not."""

    body: Node
    ahead: bool
    negative: bool


Node = Set | Cat | Alt | Rep | Atomic | Look

_ANY = Set(EVERYTHING)
_NOT_NEWLINE = Set(charsets.invert(NEWLINE))
_MOST_TIMES = 100_000  # tiktoken's engine refuses a little later, by the size of its program

_FLAGS = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]*))?([:)])")
_COUNT = re.compile(r"\{([0-9]*)(?:(,)([0-9]*))?\}")
_NAME = re.compile(r"\(\?P?<[^\W\d]\w*>")
_REFUSED_GROUPS = {
    "(?P=": "a back-reference", "(?P>": "a subroutine call", "(?(": "a conditional group", "(?|": "a branch reset",
    "(?~": "an absent operator", "(?R": "recursion", "(?&": "a subroutine call", "(*": "a backtracking verb",
}  # fmt: skip
_REFUSED_ESCAPES = {
    "G": r"\G (where the last match ended)", "K": r"\K", "k": "a named back-reference", "g": "a subroutine call",
    "X": r"\X (grapheme clusters)",
}  # fmt: skip


def word_edge(negative: bool, word: Set) -> Node:
    r"""\b or \B: a word character on one side only, or on both or none."""
    sides = [(Look(word, False, not left), Look(word, True, not right))
             for left in (True, False) for right in (True, False) if (left == right) is negative]  # fmt: skip
    return Alt(tuple(Cat(pair) for pair in sides))


class Reader(ClassReader):
    """Recursive descent over one pat_str; `read` gives the tree."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.flags = frozenset("")

    def read(self) -> Node:
        try:
            tree = self._choice()
        except RecursionError:  # the caller stands deep in a stack of his own
            self.fail("is nested too deeply")
        if self.at < len(self.text):
            self.fail("has a ')' that closes nothing")
        return tree

    def _choice(self) -> Node:
        """Alternatives up to the end of the group, or of the pattern."""
        self.deeper()
        choices = [self._sequence()]
        while self.take("|"):
            choices.append(self._sequence())
        self.depth -= 1
        return choices[0] if len(choices) == 1 else Alt(tuple(choices))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        self._skip_comments()
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            start = self.at
            item = self._item()
            if item is not None:
                self.spend(len(item.ranges) if isinstance(item, Set) else 0)
                parts.append(self._repeated(item, start))
            self._skip_comments()
        return parts[0] if len(parts) == 1 else Cat(tuple(parts))

    def _skip_comments(self) -> None:
        """Past (?#...) and, under (?x), white space and comments to the end of the line."""
        gap = r"(?:\(\?#[^)]*\)|\s+|#[^\n]*)*" if "x" in self.flags else r"(?:\(\?#[^)]*\))*"
        self.at = re.compile(gap).match(self.text, self.at).end()  # type: ignore[union-attr]

    def _item(self) -> Node | None:
        """One thing that a quantifier may follow; None for a group that only sets flags."""
        c = self.text[self.at]
        if c == "(":
            return self._group()
        if c == "[":
            return Set(self.char_class())
        if c == "\\":
            return self._escape()
        if c in "*+?":
            self.fail(f"has a {c!r} with nothing to repeat")
        self.at += 1
        if c == ".":
            return _ANY if "s" in self.flags else _NOT_NEWLINE
        if c == "^":
            return Look(_NOT_NEWLINE if "m" in self.flags else _ANY, False, True)
        if c == "$":
            return Look(_NOT_NEWLINE if "m" in self.flags else _ANY, True, True)
        return Set(self.literal(ord(c)))

    def _repeated(self, item: Node, start: int) -> Node:
        """`item` with the quantifier that follows it, if one does."""
        self._skip_comments()
        bounds = self._bounds()
        if bounds is None:
            return item
        if isinstance(item, Look):
            self.fail("repeats an assertion", start)
        low, high = bounds
        if high is not None and high < low:
            self.fail("has a quantifier whose upper bound is below the lower one", start)
        if max(low, high or 0) > _MOST_TIMES:
            self.fail(f"repeats something more than {_MOST_TIMES} times", start)
        mode = next((m for m in "?+" if self.take(m)), "")
        self._skip_comments()
        if self._bounds() is not None:
            self.fail("puts a quantifier on a quantifier; write a group around the inner one", start)
        return Rep(item, low, high, mode)

    def _bounds(self) -> tuple[int, int | None] | None:
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.take(sign):
                return bounds
        found = _COUNT.match(self.text, self.at)
        if found is None or found[0] == "{}":
            return None  # a brace that is no quantifier stands for itself
        self.at = found.end()
        low = _count(found[1].lstrip("0"))
        return low, (_count(found[3].lstrip("0")) if found[3] else None) if found[2] else low

    def _group(self) -> Node | None:
        start = self.at
        for sign, what in _REFUSED_GROUPS.items():
            if self.text.startswith(sign, start):
                self.fail(f"uses {what}, which streamtok does not support")
        for sign, make in (
            ("(?:", lambda body: body), ("(?>", Atomic),
            ("(?=", lambda body: Look(body, True, False)), ("(?!", lambda body: Look(body, True, True)),
            ("(?<=", lambda body: Look(body, False, False)), ("(?<!", lambda body: Look(body, False, True)),
        ):  # fmt: skip
            if self.take(sign):
                return make(self._to_close(start))
        name = _NAME.match(self.text, start)
        if name:
            self.at = name.end()
            return self._to_close(start)
        if self.text.startswith("(?", start):
            return self._flags(start)
        self.at += 1
        return self._to_close(start)

    def _to_close(self, start: int) -> Node:
        body = self._choice()
        if not self.take(")"):
            self.fail("has a '(' that is never closed", start)
        return body

    def _flags(self, start: int) -> Node | None:
        found = _FLAGS.match(self.text, start)
        if found is None:
            self.fail("has a group of unknown kind")
        on, off, end = set(found[1]), set(found[2] or ""), found[3]
        if "U" in on | off:
            self.fail("sets the flag 'U', which swaps greedy and lazy in some engines; write *? for *, and * for *?")
        unknown = (on | off) - set("imsxu") or off & {"u"}
        if unknown or on & off:
            self.fail(f"sets the flag {min(unknown or on & off)!r} in a way that streamtok does not support")
        self.at = found.end()
        before = self.flags
        self.flags = (before | on - {"u"}) - off
        if end == ")":
            if self.depth > 1:  # tiktoken's engine lets them leak out of the group around, others do not
                self.fail(
                    f"sets flags inside a group; write (?{shortened(found[1])}:...) around what they are for", start
                )
            return None
        body = self._to_close(start)
        self.flags = before
        return body

    def _escape(self) -> Node:
        """What a backslash outside a class stands for."""
        letter = self.text[self.at + 1 : self.at + 2]
        if letter in _REFUSED_ESCAPES or letter.isdecimal():
            what = _REFUSED_ESCAPES.get(letter, "a back-reference")
            self.fail(f"uses {what}, which streamtok does not support")
        simple = {
            "A": lambda: Look(_ANY, False, True),
            "z": lambda: Look(_ANY, True, True),
            "Z": lambda: Look(Cat((Rep(Set(NEWLINE), 0, None, ""), Look(_ANY, True, True))), True, False),
            "B": lambda: word_edge(True, Set(self.perl("w"))),
            "b": lambda: word_edge(False, Set(self.perl("w"))),
            "<": lambda: _word_start(True),
            ">": lambda: _word_start(False),
            "N": lambda: _NOT_NEWLINE,
            "O": lambda: _ANY,
            "R": _line_break,
        }
        if letter in simple:
            self.at += 2
            if letter in "bB" and self.text.startswith("{", self.at):
                return self._word_half(letter)
            return simple[letter]()
        return Set(self.class_escape())

    def _word_half(self, letter: str) -> Node:
        for name, start in (("{start}", True), ("{end}", False)):
            if letter == "b" and self.take(name):
                return _word_start(start)
        self.fail(rf"has a \{letter}{{...}} that streamtok does not support")


def _count(digits: str) -> int:
    return int(digits[:10] or 0)  # ten digits are too many already, thousands are an error of int() itself


def _word_start(start: bool) -> Node:
    word = Set(charsets.perl("w"))
    return Cat((Look(word, False, start), Look(word, True, not start)))


def _line_break() -> Node:
    """CR LF, or one of these; a CR in front of an LF never by itself."""
    carriage, others = Set(((13, 13),)), Set(((10, 12), (0x85, 0x85), (0x2028, 0x2029)))
    return Alt((Cat((carriage, Set(NEWLINE))), Cat((carriage, Look(Set(NEWLINE), True, True))), others))


def read_pattern(pat_str: str) -> Node:
    """The tree of `pat_str`. Raises ValueError where it is wrong or not supported."""
    return Reader(pat_str).read()
