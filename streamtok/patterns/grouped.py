r"""Splits by how many characters stand side by side, which no table counts: digits in groups from the right, as
`\d{1,3}(?=(?:\d{3})*\b)` has it, and white space in groups whose sizes are named.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .char_sets import Ranges
from .compile import read
from .compose import Groups, Split, Stage
from .read import Set

_DIGIT = r"(\\d|\\p\{Nd\}|\[0-9\])"
_FROM_RIGHT = re.compile(_DIGIT + r"\{1,([1-9][0-9]{0,3})\}\(\?=\((?:\?:)?\1\{\2\}\)\*(\\b|\(\?!\1\))\)")
_BORDERS = re.compile(r"\(\?=\((?:\?:)?" + _DIGIT + r"\{([1-9][0-9]{0,3})\}\)\+\(\?!\1\)\)")

IN_THREE_STEPS = (
    r"\p{Nd}{1,510}(?=(?>\p{Nd}{510})*(?:\P{Nd}|$))|\G\p{Nd}{510}",
    r"\A\p{Nd}{1,2}(?=\p{Nd}{3}+\z)",
    r"\A\p{Nd}{3}|\G\p{Nd}{3}",
)
"""Runs in parts of 510 from the right, what is in front of the groups of three in a part, and these groups."""

_SPACE_IN_GROUPS = re.compile(
    r"(.*\|\\p\{N\}(?:\{1,3\})?\| \?\[\^\\s\\p\{L\}\\p\{N\}\]\+\[\\r\\n\]\*\|\\s\*\[\\r\\n\]\+)"
    r"((?:\|\\s\{[1-9][0-9]{0,3}\}\(\?!\\S\))+)\|\\s\{1,2\}\(\?!\\S\)\|\\s(?:\{1\})?",
    re.DOTALL,
)
_BEGINNINGS = (
    r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+",
)
"""What a pattern with white space in groups begins with: nothing in it is white space alone."""

ANY = r"[\s\S]+"


def grouped(stages: Sequence[Stage]) -> tuple[Stage, ...]:
    """The same stages, with a Groups for each Split that is one, or for the three that are."""
    found: list[Stage] = []
    for stage in stages:
        found.append(_read(stage))
        if tuple(map(_pattern, found[-3:])) == IN_THREE_STEPS:
            found[-3:] = [Groups(r"\p{Nd}+", r"\p{Nd}", (3,))]
    return tuple(found)


def class_of(of: str) -> Ranges:
    """The characters that the field `of` of a Groups names."""
    node = read(of, "oniguruma")
    assert isinstance(node, Set)
    return node.ranges


def _pattern(stage: Stage) -> str | None:
    """The regular expression of a Split that isolates what it finds."""
    isolates = isinstance(stage, Split) and stage.behavior == "Isolated" and not (stage.invert or stage.literal)
    return stage.pattern if isolates and isinstance(stage, Split) and stage.dialect == "oniguruma" else None


def _read(stage: Stage) -> Stage:
    pattern = _pattern(stage) or ""
    if found := _FROM_RIGHT.fullmatch(pattern):
        digit, size, end = found.groups()
        return Groups(digit + (r"+(?!\w)" if end == r"\b" else "+"), digit, (int(size),))
    if found := _BORDERS.fullmatch(pattern):
        return Groups(ANY, found[1], (int(found[2]),), each=True)
    if (found := _SPACE_IN_GROUPS.fullmatch(pattern)) and found[1].startswith(_BEGINNINGS):
        sizes = tuple(map(int, re.findall(r"\{([0-9]+)\}", found[2])))
        if sorted({*sizes, 2}, reverse=True) == [*sizes, 2]:
            return Groups(found[1] + r"|\s+(?!\S)|\s", r"[^\S\r\n]", (*sizes, 2, 1), False)
    return stage
