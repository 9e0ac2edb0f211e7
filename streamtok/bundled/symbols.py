"""Vocabularies in which not all characters are symbols: what becomes of the others, and of the last one of a piece.

The core writes a piece anew before it merges (csrc/models/symbols.h): a byte that no text has stands for the unknown
token; others stand behind the last character, in front of the first one, where tokens at the ends of a word are other
ones than inside, and in front of a byte that has a token of its own. Here tokens get the bytes that they have then.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..native.merges import FIRST_FRAGMENT, KINDS, ordered
from .marks import BEGINNING, BYTE, ENDING, UNKNOWN
from .merged import MergedVocabulary, packed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    import numpy.typing as npt

    _Numbers = npt.NDArray[np.integer]

NOT_THERE = -1
"""In the place of the number of an unknown token that is named, and is none."""

_UNITS_ARE_BYTES, _UNKNOWN_JOINS, _HAS_ENDINGS, _HAS_BEGINNINGS, _HAS_BYTE_TOKENS, _KEEPS_WHOLE = 1, 2, 4, 8, 16, 32
_HEAD, _PAGES, _PAGE, _PLACES = 56, 0x1100, 32, 4
_NONE = 0xFFFFFFFF, 0xFFFFFFFF
_AT_END, _AT_BEGINNING = 1, 2


@dataclass(frozen=True)
class Rule:
    """What a vocabulary has besides its tokens.

    unknown: (index, id) of the token in the place of what is no symbol; None: nothing is in its place.
    joins: several such in a row are one token. by_bytes: the units of text are bytes.
    symbols: inside of a piece, at its end, at its beginning, alone. has_endings: the last unit of a piece is a symbol
        of its own; has_beginnings: the first one is.
    of_bytes: the bytes that have tokens of their own, by which what is no symbol is written.
    keeps_whole: a piece that is a token as a file writes it is that token; there one that goes on in a piece begins
        with `prefix`, and one that ends it ends with `suffix`.
    """

    unknown: tuple[int, int] | None
    joins: bool
    by_bytes: bool
    has_endings: bool
    has_beginnings: bool
    symbols: tuple[frozenset[int], ...]
    of_bytes: bytes = b""
    keeps_whole: bool = False
    prefix: bytes = b""
    suffix: bytes = b""

    @property
    def model(self) -> str:
        """The name of the model in the core."""
        if self.has_endings or self.has_beginnings or self.keeps_whole:
            return "affixed"
        return "joined" if self.joins or self.unknown is None or self.of_bytes else "symbols"

    def own(self) -> bytes:
        """As the core keeps it."""
        flags = _UNITS_ARE_BYTES * self.by_bytes + _UNKNOWN_JOINS * self.joins + _HAS_ENDINGS * self.has_endings
        flags += _HAS_BEGINNINGS * self.has_beginnings + _HAS_BYTE_TOKENS * bool(self.of_bytes)
        flags += _KEEPS_WHOLE * self.keeps_whole
        pages = [bytes(_PAGE)]
        tables = b"".join(_page_numbers(points, pages) for points in self.symbols)
        sizes = len(pages), len(self.prefix), len(self.suffix)
        head = np.array([*(self.unknown or _NONE), flags, *sizes], np.uint32).tobytes()
        return head + _bits(self.of_bytes) + tables + b"".join(pages) + self.prefix + self.suffix


def rule_of(own: bytes) -> Rule:
    """The rule that a vocabulary keeps."""
    unknown, unknown_id, flags, pages, prefix, suffix = np.frombuffer(own, np.uint32, 6).tolist()
    numbers = np.frombuffer(own, np.uint16, _PLACES * _PAGES, _HEAD).reshape(_PLACES, _PAGES)
    at = _HEAD + numbers.nbytes
    bits = np.frombuffer(own, np.uint8, pages * _PAGE, at).reshape(-1, _PAGE)
    texts = own[at + bits.nbytes :]
    of_bytes = np.unpackbits(np.frombuffer(own, np.uint8, _PAGE, _HEAD - _PAGE), bitorder="little")
    points = (frozenset(np.nonzero(np.unpackbits(bits[row].ravel(), bitorder="little"))[0].tolist()) for row in numbers)
    return Rule(
        None if unknown == _NONE[0] else (unknown, unknown_id),
        bool(flags & _UNKNOWN_JOINS),
        bool(flags & _UNITS_ARE_BYTES),
        bool(flags & _HAS_ENDINGS),
        bool(flags & _HAS_BEGINNINGS),
        tuple(points),
        bytes(np.nonzero(of_bytes)[0].tolist()),
        bool(flags & _KEEPS_WHOLE),
        texts[:prefix],
        texts[prefix : prefix + suffix],
    )


def _bits(values: Iterable[int]) -> bytes:
    """A bit for each number below 256."""
    bits = np.zeros(8 * _PAGE, np.uint8)
    bits[[*values]] = 1
    return np.packbits(bits, bitorder="little").tobytes()


def _page_numbers(points: Iterable[int], pages: list[bytes]) -> bytes:
    numbers = np.zeros(_PAGES, np.uint16)
    found = np.array(list(points), np.int64)
    for page in np.unique(found >> 8).tolist():
        numbers[page] = len(pages)
        pages.append(_bits((found[found >> 8 == page] & 255).tolist()))
    return numbers.tobytes()


class Affixes(NamedTuple):
    """What a file writes at the ends of tokens, where these are other ones than inside of pieces; "" for nothing."""

    prefix: bytes = b""
    suffix: bytes = b""

    @property
    def marks(self) -> set[bytes]:
        """The bytes that stand for something else in tokens."""
        return {ENDING, UNKNOWN, BEGINNING} if self.prefix else {ENDING, UNKNOWN}


NONE = Affixes()


def unmarked(token: bytes, affixes: Affixes) -> tuple[bytes, int]:
    """A token without the marks of its place, and this place."""
    place = 0
    if affixes.suffix and token.endswith(ENDING):
        token, place = token[:-1], _AT_END
    if affixes.prefix and token.startswith(BEGINNING):
        token, place = token[1:], place + _AT_BEGINNING
    return token, place


def pack_units(
    tokens: Sequence[bytes],
    ids: _Numbers,
    merges: _Numbers,
    silent: Collection[int],
    *,
    unknown: int | None,
    joins: bool,
    by_bytes: bool,
    keeps_whole: bool = False,
    affixes: Affixes = NONE,
    of_bytes: bytes = b"",
) -> MergedVocabulary:
    """The vocabulary.

    Args:
        tokens: their bytes, with ENDING behind those that end a piece, with BEGINNING in front of those that begin one,
            BYTE in front of those that are a byte by itself.
        ids: of each.
        merges: numbers of tokens (left, right, made), a row a merge, in the order of their ranks.
        silent: the numbers of those that no text becomes.
        unknown: the number of the unknown token; NOT_THERE: a text with what is no symbol has no ids.
        joins, by_bytes: as in Rule.
        keeps_whole: a piece that is a token is never merged.
        affixes: where either is not empty, tokens at that end are other ones.
        of_bytes: the bytes that have a token with BYTE.
    """
    made = _Making(tokens, ids, silent, by_bytes)
    made.add_units(affixes)
    given = np.concatenate([np.array(made.merges, np.int64).reshape(-1, 3), merges.astype(np.int64)])
    left, right, product = (column.tobytes() for column in given.astype(np.uint32).T)
    lengths, numbers, kinds = (each.tobytes() for each in made.arrays())
    result = packed(ordered(b"".join(made.tokens), lengths, numbers, kinds, left, right, product, keeps_whole))
    place = None
    if unknown is not None:
        token = made.id_of(UNKNOWN) if unknown == NOT_THERE else int(ids[unknown])
        place = list(result.ranks).index(token), token
    says_whole = keeps_whole and (any(affixes) or bool(of_bytes))
    rule = Rule(
        place,
        joins and place is not None,
        by_bytes,
        bool(affixes.suffix),
        bool(affixes.prefix),
        made.points(),
        of_bytes,
        says_whole,
        *(affixes if says_whole else NONE),
    )
    return MergedVocabulary(
        result.blob, result.lengths, array("I", result.ranks), result.splits, None, rule.model, rule
    )


class _Making:
    """Tokens, and what is made of bytes before anything of the list merges: characters, and what marks their place."""

    def __init__(self, tokens: Sequence[bytes], ids: _Numbers, silent: Collection[int], by_bytes: bool) -> None:
        self.tokens, self._silent, self._by_bytes = list(tokens), silent, by_bytes
        self._ids = [int(token) for token in ids]
        self.kinds = [KINDS["made"]] * len(self.tokens)
        for number in silent:
            self.kinds[number] = KINDS["silent"]
        self.merges: list[tuple[int, int, int]] = []
        self._points: tuple[set[int], ...] = (set(), set(), set(), set())
        self._joined: set[tuple[int, int, int]] = set()
        self._places: dict[bytes, int] = {}

    def add_units(self, affixes: Affixes) -> None:
        units: dict[bytes, set[int]] = {}
        for number, token in enumerate(self.tokens):
            unit, place = unmarked(token, affixes)
            if number in self._silent:
                continue
            if len(token) == 2 and token.startswith(BYTE) and not self._by_bytes:
                self._places[token] = number
            elif self._is_unit(unit):
                self._points[place].add(unit[0] if self._by_bytes else ord(unit.decode()))
                self._places[token] = number
                units.setdefault(unit, set()).add(place)
        for byte in range(256):
            self._add_byte(bytes([byte]), affixes.marks)
        for token in [token for token in self._places if len(token) == 2 and token.startswith(BYTE)]:
            self._join(token[:1], token[1:])
        for unit in sorted(units, key=len):
            for size in range(2, len(unit) + 1):
                self._join(unit[: size - 1], unit[size - 1 : size])
        begun = [unit for unit, places in units.items() if any(place & _AT_BEGINNING for place in places)]
        for unit in begun:
            self._join(BEGINNING, unit)
        for unit, places in units.items():
            for place in places:
                if place & _AT_END:
                    self._join(BEGINNING + unit if place & _AT_BEGINNING else unit, ENDING)

    def id_of(self, token: bytes) -> int:
        return self._ids[self._places[token]]

    def points(self) -> tuple[frozenset[int], ...]:
        return tuple(map(frozenset, self._points))

    def arrays(self) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.uint8]]:
        lengths = np.array([*map(len, self.tokens)], np.uint32)
        kinds = np.where(lengths == 0, KINDS["silent"], np.array(self.kinds))
        return lengths, np.array(self._ids, np.uint32), kinds.astype(np.uint8)

    def _is_unit(self, unit: bytes) -> bool:
        """Whether it is one unit that texts can have."""
        if self._by_bytes:
            return len(unit) == 1
        return 0 < len(unit) <= 4 and unit[0] < 0xF8 and len(unit.decode()) == 1

    def _add_byte(self, byte: bytes, marks: set[bytes]) -> None:
        """Each byte is a symbol to the core. Those of ours are none of a token."""
        number = self._places.get(byte)
        if number is not None and byte in marks:
            self.kinds[number] = KINDS["silent"]
            number = None
            self._points[0].discard(byte[0])
        if number is None:
            number = self._places[byte] = self._add(byte)
        self.kinds[number] = KINDS["start"]

    def _add(self, token: bytes) -> int:
        self.tokens.append(token)
        self._ids.append(FIRST_FRAGMENT + len(self.tokens))
        self.kinds.append(KINDS["made"])
        return len(self.tokens) - 1

    def _join(self, left: bytes, right: bytes) -> None:
        """The merge of two, which makes each once."""
        made = left + right
        if made not in self._places:
            self._places[made] = self._add(made)
        row = self._places[left], self._places[right], self._places[made]
        if row not in self._joined:
            self._joined.add(row)
            self.merges.append(row)
