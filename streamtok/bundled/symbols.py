"""Vocabularies in which not all characters are symbols: what becomes of the others, and of the last one of a piece.

The core writes a piece anew before it merges (csrc/models/symbols.h): a byte that no text has stands for the unknown
token, and another one behind the last character, where tokens that end a word are other ones than inside. Here tokens
get the bytes that they have then.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from ..native.merges import FIRST_FRAGMENT, KINDS, ordered
from .merged import MergedVocabulary, packed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    import numpy.typing as npt

    _Numbers = npt.NDArray[np.integer]

ENDING, UNKNOWN = b"\xff", b"\xfe"
"""Of csrc/models/symbols.h."""

_UNITS_ARE_BYTES, _UNKNOWN_JOINS, _HAS_ENDINGS = 1, 2, 4
_HEAD, _PAGES, _PAGE = 16, 0x1100, 32
_NONE = 0xFFFFFFFF, 0xFFFFFFFF


@dataclass(frozen=True)
class Rule:
    """What a vocabulary has besides its tokens.

    unknown: (index, id) of the token in the place of what is no symbol; None: nothing is in its place.
    joins: several such in a row are one token. by_bytes: the units of text are bytes. has_endings: the last unit of a
    piece is a symbol of its own. inside, at_end: the symbols.
    """

    unknown: tuple[int, int] | None
    joins: bool
    by_bytes: bool
    has_endings: bool
    inside: frozenset[int]
    at_end: frozenset[int]

    @property
    def model(self) -> str:
        """The name of the model in the core."""
        return "affixed" if self.has_endings else "joined" if self.joins or self.unknown is None else "symbols"

    def own(self) -> bytes:
        """As the core keeps it."""
        flags = _UNITS_ARE_BYTES * self.by_bytes + _UNKNOWN_JOINS * self.joins + _HAS_ENDINGS * self.has_endings
        pages = [bytes(_PAGE)]
        tables = b"".join(_page_numbers(points, pages) for points in (self.inside, self.at_end))
        return np.array([*(self.unknown or _NONE), flags, len(pages)], np.uint32).tobytes() + tables + b"".join(pages)

    def units(self, piece: bytes) -> list[tuple[int, int]]:
        """(bytes of a symbol as the core writes it, 0 for the unknown token; bytes of the text that it stands for, of a
        byte those of its letter)."""
        units = [bytes([byte]) for byte in piece] if self.by_bytes else [c.encode() for c in piece.decode()]
        sizes = _letter_sizes(piece) if self.by_bytes else [*map(len, units)]
        found: list[tuple[int, int]] = []
        was_unknown = False
        for i, (unit, size) in enumerate(zip(units, sizes)):
            ends = self.has_endings and i == len(units) - 1
            point = unit[0] if self.by_bytes else ord(unit.decode())
            is_symbol = point in (self.at_end if ends else self.inside)
            if is_symbol:
                found.append((len(unit) + ends, size))
            elif self.joins and was_unknown and self.unknown is not None:
                found[-1] = 0, found[-1][1] + size
            elif self.unknown is not None:
                found.append((0, size))
            was_unknown = not is_symbol
        return found

    def starts(self, ids: Sequence[int], sizes: Sequence[int], piece: bytes) -> list[int]:
        """Where the tokens of a piece begin: behind the text that those in front stand for, so that what is left out of
        a piece moves those behind it, as in the reference."""
        if len(ids) < 2:  # also a whole piece that is a token whatever it is made of
            return [0] * len(ids)
        units = iter(self.units(piece))
        starts, at = [], 0
        for size in sizes:
            starts.append(at)
            made, text = next(units)
            at += text
            while made and made < size:
                more, text = next(units)
                made, at = made + more, at + text
        if not self.by_bytes:
            return starts
        ends = [*accumulate(_letter_sizes(piece))]
        return [bisect_right(ends, start) for start in starts]


def _letter_sizes(piece: bytes) -> list[int]:
    """Bytes of the letters that stand for bytes, in UTF-8."""
    return [1 if 0x21 <= byte <= 0x7E else 2 for byte in piece]


def rule_of(own: bytes) -> Rule:
    """The rule that a vocabulary keeps."""
    unknown, unknown_id, flags, _ = np.frombuffer(own, np.uint32, 4).tolist()
    numbers = np.frombuffer(own, np.uint16, 2 * _PAGES, _HEAD).reshape(2, _PAGES)
    bits = np.frombuffer(own, np.uint8, offset=_HEAD + numbers.nbytes).reshape(-1, _PAGE)
    points = [frozenset(np.nonzero(np.unpackbits(bits[row].ravel(), bitorder="little"))[0].tolist()) for row in numbers]
    return Rule(
        None if unknown == _NONE[0] else (unknown, unknown_id),
        bool(flags & _UNKNOWN_JOINS),
        bool(flags & _UNITS_ARE_BYTES),
        bool(flags & _HAS_ENDINGS),
        *points,
    )


def _page_numbers(points: Iterable[int], pages: list[bytes]) -> bytes:
    numbers = np.zeros(_PAGES, np.uint16)
    found = np.array(list(points), np.int64)
    for page in np.unique(found >> 8).tolist():
        bits = np.zeros(8 * _PAGE, np.uint8)
        bits[found[found >> 8 == page] & 255] = 1
        numbers[page] = len(pages)
        pages.append(np.packbits(bits, bitorder="little").tobytes())
    return numbers.tobytes()


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
    has_endings: bool = False,
) -> MergedVocabulary:
    """The vocabulary.

    Args:
        tokens: their bytes, with ENDING behind those that end a piece.
        ids: of each.
        merges: numbers of tokens (left, right, made), a row a merge, in the order of their ranks.
        silent: the numbers of those that no text becomes.
        unknown: the number of the unknown token.
        joins, by_bytes, has_endings: as in Rule.
        keeps_whole: a piece that is a token is never merged.
    """
    made = _Making(tokens, ids, silent, by_bytes)
    made.add_units(has_endings)
    given = np.concatenate([np.array(made.merges, np.int64).reshape(-1, 3), merges.astype(np.int64)])
    left, right, product = (column.tobytes() for column in given.astype(np.uint32).T)
    lengths, numbers, kinds = (each.tobytes() for each in made.arrays())
    result = packed(ordered(b"".join(made.tokens), lengths, numbers, kinds, left, right, product, keeps_whole))
    place = None
    if unknown is not None:
        token = int(ids[unknown])
        place = list(result.ranks).index(token), token
    rule = Rule(place, joins and place is not None, by_bytes, has_endings, *made.points())
    return MergedVocabulary(
        result.blob, result.lengths, array("I", result.ranks), result.splits, None, rule.model, rule
    )


class _Making:
    """Tokens, and what is made of bytes before anything of the list merges: characters, and endings."""

    def __init__(self, tokens: Sequence[bytes], ids: _Numbers, silent: Collection[int], by_bytes: bool) -> None:
        self.tokens, self._silent, self._by_bytes = list(tokens), silent, by_bytes
        self._ids = [int(token) for token in ids]
        self.kinds = [KINDS["made"]] * len(self.tokens)
        for number in silent:
            self.kinds[number] = KINDS["silent"]
        self.merges: list[tuple[int, int, int]] = []
        self._inside: set[int] = set()
        self._at_end: set[int] = set()
        self._places: dict[bytes, int] = {}

    def add_units(self, has_endings: bool) -> None:
        for number, token in enumerate(self.tokens):
            unit = token[:-1] if has_endings and token.endswith(ENDING) else token
            if number in self._silent or not self._is_unit(unit):
                continue
            point = unit[0] if self._by_bytes else ord(unit.decode())
            (self._inside if unit is token else self._at_end).add(point)
            self._places[token] = number
        for byte in range(256):
            self._add_byte(bytes([byte]))
        units = [token for token in self._places if len(token) > 1]
        for token in sorted(units, key=len):
            self._make(token)

    def points(self) -> tuple[frozenset[int], frozenset[int]]:
        return frozenset(self._inside), frozenset(self._at_end)

    def arrays(self) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.uint8]]:
        lengths = np.array([*map(len, self.tokens)], np.uint32)
        kinds = np.where(lengths == 0, KINDS["silent"], np.array(self.kinds))
        return lengths, np.array(self._ids, np.uint32), kinds.astype(np.uint8)

    def _is_unit(self, unit: bytes) -> bool:
        """Whether it is one unit that texts can have."""
        if self._by_bytes:
            return len(unit) == 1
        return 0 < len(unit) <= 4 and unit[0] < 0xF8 and len(unit.decode()) == 1

    def _add_byte(self, byte: bytes) -> None:
        """Each byte is a symbol to the core. Those of ours are none of a token."""
        number = self._places.get(byte)
        if number is not None and byte in (ENDING, UNKNOWN):
            self.kinds[number] = KINDS["silent"]
            number = None
            self._inside.discard(byte[0])
        if number is None:
            number = self._places[byte] = self._add(byte)
        self.kinds[number] = KINDS["start"]

    def _add(self, token: bytes) -> int:
        self.tokens.append(token)
        self._ids.append(FIRST_FRAGMENT + len(self.tokens))
        self.kinds.append(KINDS["made"])
        return len(self.tokens) - 1

    def _make(self, token: bytes) -> None:
        """The merges of its bytes, from the left; what they make on the way is made once."""
        for size in range(2, len(token) + 1):
            begun = token[:size]
            if begun in self._places and size < len(token):
                continue
            if begun not in self._places:
                self._places[begun] = self._add(begun)
            left, right = self._places[begun[:-1]], self._places[begun[-1:]]
            self.merges.append((left, right, self._places[begun]))
