r"""Reads the part of a pat_str that stands for a set of characters: [...], \p{...}, \w, \x41 and plain characters.

Classes nest and have an algebra, as in Rust's regex-syntax: [a-z&&[^b]], [\p{L}--a], [ab~~bc]; the three operators
bind alike, from left to right. Under (?i) every item is folded before anything is taken from it or inverted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn

from ..errors import shown
from . import char_sets as charsets
from .char_sets import Ranges

MOST_READ = 500_000
"""Work of reading one pattern: ranges of characters of which its sets are made, and _EACH for each construct. A third
of a second; the patterns of models take 2,000 to 20,000."""

_EACH = 20
_ASKED = 50_000
"""The same of a property that the `regex` package is asked for, character by character."""

DEEPEST = 100  # nested groups and classes; the reader and the writer of the tree are recursive

_CONTROLS = {"a": 7, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "e": 27}
_HEX = re.compile(r"\\(?:[xuU]\{([0-9A-Fa-f]+)\}|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8}))")
_PROPERTY = re.compile(r"\\[pP](?:\{(\^?)([^}]+)\}|(\^?)([A-Za-z]))")
_POSIX = re.compile(r"\[:(\^?)([a-z]+):\]")
_OPERATORS: dict[str, Callable[[Ranges, Ranges], Ranges]] = {
    "&&": charsets.intersect,
    "--": charsets.subtract,
    "~~": lambda a, b: charsets.subtract(charsets.union(a, b), charsets.intersect(a, b)),
}


class ClassReader:
    """A place in a pattern, the flags that hold there, and the reading of sets."""

    flags: frozenset[str]

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.work = 0
        self.depth = 0

    def take(self, sign: str) -> bool:
        """Step over `sign` if it stands here."""
        if not self.text.startswith(sign, self.at):
            return False
        self.at += len(sign)
        return True

    def fail(self, why: str, at: int | None = None) -> NoReturn:
        at = self.at if at is None else at
        raise ValueError(f"pat_str {why} (at character {at}: {self.text[at : at + 20]!r})")

    def spend(self, ranges: int) -> None:
        self.work += _EACH + ranges
        if self.work > MOST_READ:
            self.fail("takes too long to read: it has too many parts, or sets of too many ranges of characters")

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail(f"nests more than {DEEPEST} groups")

    def perl(self, letter: str) -> Ranges:
        r"""What \d, \s, \w, \h or its opposite stands for."""
        return charsets.perl(letter)

    def posix(self, name: str) -> Ranges:
        """What [:name:] stands for. Raises KeyError for an unknown name."""
        return charsets.posix(name)

    def literal(self, code: int) -> Ranges:
        return self._folded(((code, code),))

    def _folded(self, ranges: Ranges) -> Ranges:
        return charsets.fold(ranges) if "i" in self.flags else ranges

    def char_class(self) -> Ranges:
        """[...] from its bracket on."""
        start = self.at
        self.at += 1
        self.deeper()
        inverted = self.take("^")
        ranges = self._union(start, first=True)
        while (operator := self.text[self.at : self.at + 2]) in _OPERATORS:
            self.at += 2
            other = self._union(start, first=False)
            self.spend(4 * (len(ranges) + len(other)))
            ranges = _OPERATORS[operator](ranges, other)
        self.at += 1
        self.depth -= 1
        return charsets.invert(ranges) if inverted else ranges

    def _union(self, start: int, *, first: bool) -> Ranges:
        """The items up to an operator or the closing bracket, which stays."""
        items: list[tuple[int, int]] = []
        if first:  # a bracket or dashes here stand for themselves
            while self.take("-"):
                items.append((45, 45))
            if not items and self.take("]"):
                items.append((93, 93))
        while not self.text.startswith("]", self.at) and self.text[self.at : self.at + 2] not in _OPERATORS:
            if self.at >= len(self.text):
                self.fail("has a '[' that is never closed", start)
            item = self._class_item()
            self.spend(len(item))
            items += item
        return self._folded(charsets.normal(items))

    def _class_item(self) -> Ranges:
        posix = _POSIX.match(self.text, self.at)
        if posix:
            return self._posix(posix)
        if self.text[self.at] == "[":
            return self.char_class()
        start = self.at
        low = self._class_atom()
        dash = self.text.startswith("-", self.at) and self.text[self.at + 1 : self.at + 2] not in ("-", "]", "")
        if not dash:
            return low
        self.at += 1
        if self.text[self.at] == "[":
            self.fail("has a range that ends in a class", start)
        high = self._class_atom()
        if any(len(end) != 1 or end[0][0] != end[0][1] for end in (low, high)):
            self.fail("has a range between things that are not single characters", start)
        if high[0][0] < low[0][0]:
            self.fail("has a range whose end comes before its start", start)
        return ((low[0][0], high[0][1]),)

    def _class_atom(self) -> Ranges:
        """One character or escape inside a class, not folded."""
        if self.text[self.at] == "\\":
            if self.take("\\b"):
                return ((8, 8),)
            return self.class_escape(fold_single=False)
        self.at += 1
        code = ord(self.text[self.at - 1])
        return ((code, code),)

    def _posix(self, found: re.Match[str]) -> Ranges:
        try:
            ranges = self._folded(self.posix(found[2]))
        except KeyError:
            self.fail(f"names an unknown class {shown(found[0])}")
        self.at = found.end()
        return charsets.invert(ranges) if found[1] else ranges

    def class_escape(self, *, fold_single: bool = True) -> Ranges:
        """The set that an escape stands for; the ends of a range must come unfolded."""
        letter = self.text[self.at + 1 : self.at + 2]
        if letter in "pP" and letter:
            return self._property(letter == "P")
        if letter in "dDsSwWhH" and letter:
            self.at += 2
            return self.perl(letter)
        code = self._escaped_code(letter)
        return self.literal(code) if fold_single else ((code, code),)

    def _property(self, inverted: bool) -> Ranges:
        found = _PROPERTY.match(self.text, self.at)
        if found is None:
            self.fail(r"has a \p without a name")
        name = found[2] or found[4]
        try:
            ranges = charsets.of_tables(name)
            if ranges is None:
                self.spend(_ASKED)
                ranges = charsets.asked(name)
            ranges = self._folded(ranges)
        except ValueError as error:
            self.fail(f"cannot be used: {error}")
        self.at = found.end()
        inverted ^= bool(found[1] or found[3])
        return charsets.invert(ranges) if inverted else ranges

    def _escaped_code(self, letter: str) -> int:
        found = _HEX.match(self.text, self.at)
        if found:
            code = int(next(filter(None, found.groups())), 16)
            if code > charsets.LAST or 0xD800 <= code < 0xE000:
                self.fail("names a code point that is no character")
            self.at = found.end()
            return code
        if letter in _CONTROLS:
            self.at += 2
            return _CONTROLS[letter]
        if not letter or (letter.isascii() and letter.isalnum()) or (letter in "<>"):
            self.fail(f"has an escape that tiktoken refuses or that streamtok does not know: \\{letter}")
        self.at += 2
        return ord(letter)
