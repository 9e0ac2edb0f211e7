r"""Reads a pattern as Oniguruma does, which Hugging Face's Split hands its regular expressions to.

What differs from tiktoken's engine: `a{1,3}+` is (?:a{1,3})+; ^ and $ are beginning and end of a line; (?m) lets the
dot take line breaks, and there is no (?s); [[:alpha:]] and its like are of Unicode; \w lacks the joiners, and outside
of brackets it holds ². Its (?i) takes one character for several, as ß for ss; where that could matter, the pattern is
refused.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_left, bisect_right
from typing import NamedTuple

from . import char_sets as charsets
from . import unicode_ranges as tables
from .char_sets import EVERYTHING, NEWLINE, Ranges
from .read import Alt, Cat, Look, Node, Reader, Rep, Set, word_edge

_ANY, _LINE_BREAK = Set(EVERYTHING), Set(NEWLINE)
_NOT_LINE_BREAK = Set(charsets.invert(NEWLINE))
_COUNT = re.compile(r"\{([0-9]*)(,?)([0-9]*)\}")
_FLAGS = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]*))?([:)])")
_REFUSED = {
    "(?P": "a group in Python's spelling", "(?~": "an absent operator", "(?y": "a text segment mode",
}  # fmt: skip
_HEX = re.compile(r"\\x[89A-Fa-f][0-9A-Fa-f]")
_OWN = frozenset(["any", "assigned", "ascii", "alpha"])


def _is_known(key: str) -> bool:
    """Whether a property, by its name in small letters, was compared character by character."""
    return key in _OWN or charsets.is_category(key) or charsets.is_tabled(key)


_FOLD_TO_SEVERAL = (
    0xDF, 0x130, 0x149, 0x1F0, 0x390, 0x3B0, 0x587, *range(0x1E96, 0x1E9F), *range(0x1F50, 0x2000),
    *range(0xFB00, 0xFB18),
)  # fmt: skip
"""Code points among which all lie that (?i) takes for two or three others, as ß for ss."""


def _held(ranges: Ranges, points: list[int]) -> list[int]:
    """Those of some code points, ascending, that a set holds."""
    return [point for low, high in ranges for point in points[bisect_left(points, low) : bisect_right(points, high)]]


class _Several(NamedTuple):
    """points: the code points that (?i) takes for several, ascending. firsts: those that such a text begins with;
    behind: what may follow each there."""

    points: list[int]
    firsts: list[int]
    behind: dict[int, list[int]]


@functools.cache
def _several() -> _Several:
    folded = {code: chr(code).casefold() for code in _FOLD_TO_SEVERAL}
    behind: dict[int, set[int]] = {}
    for text in folded.values():
        if len(text) > 1:
            behind.setdefault(ord(text[0]), set()).add(ord(text[1]))
    points = sorted(code for code, text in folded.items() if len(text) > 1)
    return _Several(points, sorted(behind), {first: sorted(after) for first, after in behind.items()})


@functools.cache
def _word(in_class: bool) -> Ranges:
    r"""\w; one of its own is another set than one in brackets."""
    word = charsets.subtract(charsets.perl("w"), tables.ONIGURUMA_WORD_LACKS)
    return word if in_class else charsets.union(word, tables.ONIGURUMA_WORD_MORE)


class OnigurumaReader(Reader):
    """Recursive descent over one pattern; `read` gives the tree."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._cased: set[Ranges] = set()
        """The sets that were read under (?i) and fold."""
        self._in_class = False

    def perl(self, letter: str) -> Ranges:
        if letter not in "wW":
            return charsets.perl(letter)
        word = _word(self._in_class)
        return word if letter == "w" else charsets.invert(word)

    # ---- (?i) ----

    def _folded(self, ranges: Ranges) -> Ranges:
        if "i" not in self.flags:
            return ranges
        wide = charsets.fold(ranges)
        if _held(wide, _several().points):
            self.fail("has a character under (?i) that stands for several, which streamtok does not support")
        self._cased.add(wide)
        return wide

    def char_class(self) -> Ranges:
        start, before = self.at, (self.flags, self._in_class)
        self.flags, self._in_class = self.flags - {"i"}, True
        ranges = super().char_class()
        self.flags, self._in_class = before
        if "i" not in self.flags:
            return ranges
        inside = self.text[start + 1 : self.at - 1]
        if charsets.fold(ranges) != ranges and (inside[:1] == "^" or "[" in inside or "&&" in inside or "\\" in inside):
            self.fail("has a class under (?i) whose meaning differs between engines", start)
        return self._folded(ranges)

    def _sequence(self) -> Node:
        tree = super()._sequence()
        if isinstance(tree, Cat):
            for before, after in zip(tree.parts, tree.parts[1:]):
                self._check_pair(before, after)
        return tree

    def _check_pair(self, before: Node, after: Node) -> None:
        """Refuses what one character could stand for under (?i), as ß for ss."""
        if not self._cased:
            return
        several = _several()
        left = [ranges for ranges in _edges(before, True) if ranges in self._cased]
        firsts = {first for ranges in left for first in _held(ranges, several.firsts)}
        self.spend(len(left))
        if not firsts:
            return
        right = [ranges for ranges in _edges(after, False) if ranges in self._cased]
        self.spend(len(right) * len(firsts))
        for first in sorted(firsts):
            if found := next((point for ranges in right for point in _held(ranges, several.behind[first])), None):
                text = chr(first) + chr(found)
                self.fail(f"has {text!r} under (?i), for which one character can stand; streamtok does not support it")

    # ---- classes ----

    def _union(self, start: int, *, first: bool) -> Ranges:
        for sign in ("--", "~~"):
            end = self.text.find("]", self.at)
            if sign in self.text[self.at : end if end >= 0 else len(self.text)]:
                self.fail(f"has {sign} in a class, which engines read differently; write one of them with a backslash")
        return super()._union(start, first=first)

    def posix(self, name: str) -> Ranges:
        named, category, union = charsets.named, charsets.category, charsets.union
        unseen = charsets.normal([*self.perl("s"), *category("Cc"), *category("Cn"), *category("Cs")])
        unicode = {
            "alpha": lambda: named("Alphabetic"), "upper": lambda: named("Uppercase"),
            "lower": lambda: named("Lowercase"), "digit": lambda: category("Nd"), "space": lambda: self.perl("s"),
            "blank": lambda: union(category("Zs"), ((9, 9),)), "cntrl": lambda: category("Cc"),
            "alnum": lambda: union(named("Alphabetic"), category("Nd")), "word": lambda: self.perl("w"),
            "punct": lambda: union(category("P"), category("S")), "graph": lambda: charsets.invert(unseen),
            "print": lambda: union(category("Zs"), charsets.invert(unseen)),
        }  # fmt: skip
        return unicode[name]() if name in unicode else charsets.posix(name)

    def _property(self, inverted: bool) -> Ranges:
        name = re.compile(r"\\[pP]\{\^?([^}]*)\}").match(self.text, self.at)
        if name is None:
            self.fail(r"has a \p without braces")
        key = re.sub(r"[\s_-]", "", name[1]).lower()
        if not _is_known(key):
            self.fail(f"names a property that streamtok does not know in this dialect: {name[0]}")
        before = self.flags
        self.flags -= {"i"}
        ranges = super()._property(inverted)
        self.flags = before
        if "i" in before and charsets.fold(ranges) != ranges:
            self.fail("uses a property under (?i), whose meaning differs between engines")
        return ranges

    def _escaped_code(self, letter: str) -> int:
        if letter and letter in "<>":
            self.at += 2
            return ord(letter)
        if letter == "U" or self.text.startswith("\\u{", self.at) or _HEX.match(self.text, self.at):
            self.fail("names a character in a way that Oniguruma does not")
        return super()._escaped_code(letter)

    # ---- outside of classes ----

    def _item(self) -> Node | None:
        c = self.text[self.at]
        if c not in ".^$":
            return super()._item()
        self.at += 1
        if c == ".":
            return _ANY if "m" in self.flags else _NOT_LINE_BREAK
        if c == "$":
            return Look(_NOT_LINE_BREAK, True, True)
        return Alt((Look(_ANY, False, True), Cat((Look(_LINE_BREAK, False, False), Look(_ANY, True, False)))))

    def _repeated(self, item: Node, start: int) -> Node:
        found = _COUNT.match(self.text, self.at)
        if found is None or found[0] == "{}" or not (found[1] or found[2]):
            repeated = super()._repeated(item, start)
        elif not found[1] and not found[3]:
            self.fail("has a quantifier without numbers", self.at)
        else:
            repeated = self._counted(item, start, found)
        if isinstance(repeated, Rep) and repeated.high != 1:
            self._check_pair(repeated.body, repeated.body)
        return repeated

    def _counted(self, item: Node, start: int, found: re.Match[str]) -> Node:
        after = self.text[found.end() : found.end() + 1]
        if after == "?" and not found[2]:
            self.fail("has a '?' behind a count, which engines read differently; write a group around what is counted")
        if after != "+":
            return super()._repeated(item, start)
        if self.text[found.end() + 1 : found.end() + 2] in ("+", "?", "*"):
            self.fail("puts a quantifier on a quantifier; write a group around the inner one", start)
        kept, self.text = self.text, self.text[: found.end()] + self.text[found.end() + 1 :]
        inner = super()._repeated(item, start)
        self.text = kept
        self.at += 1
        if self._bounds() is not None:
            self.fail("puts a quantifier on a quantifier; write a group around the inner one", start)
        return Rep(inner, 1, None, "")

    def _group(self) -> Node | None:
        for sign, what in _REFUSED.items():
            if self.text.startswith(sign, self.at):
                self.fail(f"uses {what}, which streamtok does not support")
        return super()._group()

    def _flags(self, start: int) -> Node | None:
        found = _FLAGS.match(self.text, start)
        if found is not None:
            unknown = set(found[1] + (found[2] or "")) - set("im")
            if unknown:
                self.fail(f"sets the flag {min(unknown)!r}, which streamtok does not support in this dialect")
            if found[3] == ")" and start > 0:
                self.fail(f"sets flags for what follows; write (?{found[1]}:...) around what they are for")
        return super()._flags(start)

    def _escape(self) -> Node:
        letter = self.text[self.at + 1 : self.at + 2]
        if letter in ("<", ">"):
            return Set(self.class_escape())
        if letter in ("y", "Y"):
            self.fail("uses a text segment, which streamtok does not support")
        if letter in ("b", "B"):
            self.at += 2
            return word_edge(letter == "B", Set(self.perl("w")))
        return super()._escape()


def _edges(node: Node, last: bool) -> list[Ranges]:
    """The sets whose character may be the last (first) of what the node matches."""
    if isinstance(node, Set):
        return [node.ranges]
    if isinstance(node, Look):
        return []
    if isinstance(node, Alt):
        return [ranges for choice in node.choices for ranges in _edges(choice, last)]
    if isinstance(node, Cat):
        parts = node.parts[::-1] if last else node.parts
        return _edges(parts[0], last) if parts else []
    return _edges(node.body, last)


def read_oniguruma(pat_str: str) -> Node:
    """The tree of a pattern that is written for Oniguruma.

    Raises ValueError where it is wrong or not supported, or not certain to mean what streamtok takes it for."""
    return OnigurumaReader(pat_str).read()
