"""Sets of characters as a custom pattern names them, with the members that tiktoken's engine gives them.

A set is a sorted tuple of inclusive ranges of code points that neither touch nor overlap. The tables come from
unicode_ranges.py, so they do not change with the Unicode version of Python or of the `regex` package. Properties
that have no table there (rare scripts, Emoji_Modifier, ...) are asked of `regex`, less what tiktoken's Unicode version
has not assigned yet. There a difference is left where Unicode moved a character that already existed, and where the
installed `regex` is older than that version (before 2024.9 it lacks the characters of Unicode 16).
"""

from __future__ import annotations

import base64
import functools
import re
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from ..errors import shown
from . import unicode_ranges as tables

Ranges = tuple[tuple[int, int], ...]
LAST = 0x10FFFF
EVERYTHING: Ranges = ((0, LAST),)
NEWLINE: Ranges = ((10, 10),)

_LONG_NAMES = {
    "letter": "L", "casedletter": "LC", "uppercaseletter": "Lu", "lowercaseletter": "Ll", "titlecaseletter": "Lt",
    "modifierletter": "Lm", "otherletter": "Lo", "mark": "M", "combiningmark": "M", "nonspacingmark": "Mn",
    "spacingmark": "Mc", "enclosingmark": "Me", "number": "N", "decimalnumber": "Nd", "digit": "Nd",
    "letternumber": "Nl", "othernumber": "No", "punctuation": "P", "punct": "P", "connectorpunctuation": "Pc",
    "dashpunctuation": "Pd", "openpunctuation": "Ps", "closepunctuation": "Pe", "initialpunctuation": "Pi",
    "finalpunctuation": "Pf", "otherpunctuation": "Po", "symbol": "S", "mathsymbol": "Sm", "currencysymbol": "Sc",
    "modifiersymbol": "Sk", "othersymbol": "So", "separator": "Z", "spaceseparator": "Zs", "lineseparator": "Zl",
    "paragraphseparator": "Zp", "other": "C", "control": "Cc", "format": "Cf", "privateuse": "Co",
    "unassigned": "Cn", "surrogate": "Cs",
}  # fmt: skip

_NO_SCRIPTS = frozenset(["alphabetic", "emoji", "lowercase", "uppercase"])

_POSIX = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": "\0-\x7f", "blank": "\t\x20", "cntrl": "\0-\x1f\x7f",
    "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": "\x20-~", "punct": "!-/:-@[-`{-~",
    "space": "\t-\r\x20", "upper": "A-Z", "word": "0-9A-Za-z_", "xdigit": "0-9A-Fa-f",
}  # fmt: skip


def normal(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The union of any ranges, sorted, with what touches joined."""
    out: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if out and low <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(out[-1][1], high))
        else:
            out.append((low, high))
    return tuple(out)


def invert(ranges: Ranges) -> Ranges:
    """All code points that the set does not hold."""
    out = []
    start = 0
    for low, high in ranges:
        if low > start:
            out.append((start, low - 1))
        start = high + 1
    if start <= LAST:
        out.append((start, LAST))
    return tuple(out)


def union(a: Ranges, b: Ranges) -> Ranges:
    return normal((*a, *b))


def intersect(a: Ranges, b: Ranges) -> Ranges:
    return invert(union(invert(a), invert(b)))


def subtract(a: Ranges, b: Ranges) -> Ranges:
    return intersect(a, invert(b))


_FEW = 256
"""A set of so few characters is folded character by character; for a larger one each orbit is looked at."""


@functools.lru_cache(maxsize=256)
def fold(ranges: Ranges) -> Ranges:
    """The set and everything that (?i) takes for one of its members."""
    orbits = _orbit_of()
    if sum(high - low + 1 for low, high in ranges) <= _FEW:
        members = {code for low, high in ranges for code in range(low, high + 1) if code in orbits}
    else:
        starts = [low for low, _ in ranges]
        members = {code for code in orbits if (at := bisect_right(starts, code)) and code <= ranges[at - 1][1]}
    more = [(code, code) for member in members for code in orbits[member]]
    return normal((*ranges, *more)) if more else ranges


@functools.cache
def _orbit_of() -> dict[int, tuple[int, ...]]:
    """Each character that (?i) takes for others -> all of them."""
    lines = zlib.decompress(base64.b85decode(tables.FOLDS)).decode().split("\n")
    return {ord(c): tuple(map(ord, line)) for line in lines for c in line}


def _varints(blob: str) -> Iterator[int]:
    """The numbers of a table of unicode_ranges.py."""
    number = shift = 0
    for byte in zlib.decompress(base64.b85decode(blob)):
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield number
            number = shift = 0


@functools.cache
def _categories() -> dict[str, Ranges]:
    """The ranges of each two-letter general category."""
    found: dict[str, list[tuple[int, int]]] = {name: [] for name in tables.CATEGORIES}
    start = 0
    numbers = _varints(tables.CATEGORY_RUNS)
    for length, code in zip(numbers, numbers):
        found[tables.CATEGORIES[code]].append((start, start + length - 1))
        start += length
    return {name: tuple(ranges) for name, ranges in found.items()}


def is_tabled(key: str) -> bool:
    """Whether there is a table of the property with this name in small letters."""
    return key in tables.PROPERTIES


@functools.cache
def _tabled(key: str) -> Ranges:
    found = []
    start = 0
    numbers = _varints(tables.PROPERTIES[key])
    for outside, inside in zip(numbers, numbers):
        found.append((start + outside, start + outside + inside - 1))
        start += outside + inside
    return tuple(found)


def script_runs() -> Iterator[tuple[int, int]]:
    """Runs of one script: (first code point, the number of the script; 0: it goes with each), from 0 on."""
    start = 0
    numbers = _varints(tables.SCRIPT_RUNS)
    for length, number in zip(numbers, numbers):
        yield start, number
        start += length


@functools.cache
def category(name: str) -> Ranges:
    """A general category by its short name: "L", "Lu", "LC", ..."""
    members = ("Lu", "Ll", "Lt") if name == "LC" else [n for n in _categories() if n.startswith(name)]
    return normal(r for member in members for r in _categories()[member])


@functools.cache
def perl(letter: str) -> Ranges:
    r"""The set of \d, \s, \w, \h, or of the capital letter, which holds the rest."""
    if letter.isupper():
        return invert(perl(letter.lower()))
    if letter == "d":
        return category("Nd")
    if letter == "s":
        return tables.WHITE_SPACE
    if letter == "h":  # a hexadecimal digit to tiktoken's engine, where other engines take it for white space
        return posix("xdigit")
    return normal((*tables.WORD_EXTRA, *(r for name in ("L", "M", "Nd", "Nl", "Pc") for r in category(name))))


def posix(name: str) -> Ranges:
    """The set of [:name:], ASCII only. Raises KeyError for an unknown name."""
    pairs = re.findall(r"(?s)(.)(?:-(.))?", _POSIX[name])
    return normal((ord(low), ord(high or low)) for low, high in pairs)


def is_category(key: str) -> bool:
    """Whether a name in small letters, without blanks and lines, is that of a general category."""
    return key in _LONG_NAMES or key == "lc" or any(name.lower().startswith(key) for name in tables.CATEGORIES if key)


def named(text: str) -> Ranges:
    r"""The set of \p{text}. Raises ValueError when no such property is known."""
    found = of_tables(text)
    return asked(text) if found is None else found


def of_tables(text: str) -> Ranges | None:
    """The same where there are tables of the property; None where there are none. Raises ValueError for no name."""
    if "!=" in text:
        found = of_tables(text.replace("!=", "=", 1))
        return None if found is None else invert(found)
    key = re.sub(r"[\s_-]", "", text).lower()
    key = re.sub(r"^(?:gc|generalcategory)[=:]|^is(?=.)", "", key)
    if not key:
        raise ValueError(f"no character property is called {shown(text)}")
    short = _LONG_NAMES.get(key, "LC" if key == "lc" else key.capitalize())
    if short == "LC" or any(name.startswith(short) for name in tables.CATEGORIES):
        return category(short)
    own = {
        "any": EVERYTHING, "ascii": ((0, 127),), "assigned": invert(category("Cn")),
        "whitespace": tables.WHITE_SPACE, "space": tables.WHITE_SPACE, "wspace": tables.WHITE_SPACE,
    }  # fmt: skip
    key = "alphabetic" if key == "alpha" else key
    script = re.sub(r"^(?:sc|script)[=:]", "", key)
    if is_tabled(script) and (script == key or script not in _NO_SCRIPTS):
        return _tabled(script)
    return own.get(key)


@functools.lru_cache(maxsize=64)
def asked(text: str) -> Ranges:
    """A property that only the `regex` package has a table for, within what tiktoken knows as assigned. Raises
    ValueError when it has none."""
    import regex

    if "!=" in text:
        return invert(asked(text.replace("!=", "=", 1)))

    try:
        pattern = regex.compile(rf"\p{{{text}}}+")
    except regex.error:
        raise ValueError(f"no character property is called {shown(text)}") from None
    every = "".join(map(chr, range(LAST + 1)))
    found = normal((match.start(), match.end() - 1) for match in pattern.finditer(every))
    return intersect(found, invert(category("Cn")))
