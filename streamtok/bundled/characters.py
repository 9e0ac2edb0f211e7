"""Vocabularies in which text begins as characters, as models of SentencePiece have them, as merges of bytes.

A character that is a token is made of its bytes by merges in front of all others: the first two bytes, then one byte
after the other. These merges meet nothing else, because their left part begins a character, and their right part is one
byte inside it; so all of them are made before the first merge of the list. What they make on the way is a fragment.
Where no token is the character, its longest fragment is left, or its bytes are; fragments are in no merge of the list,
and bytes are in none either. The encoder puts the tokens of its bytes in the place of a fragment
(csrc/vocab/fragment_ids.h).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import VocabularyError
from ..native.merges import FIRST_FRAGMENT, KINDS, ordered
from .merged import MergedVocabulary, packed

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy.typing as npt

    _Numbers: TypeAlias = npt.NDArray[np.int64]
    _Bytes: TypeAlias = npt.NDArray[np.uint8]

BYTE_NAMES = [f"<0x{value:02X}>" for value in range(256)]
"""The names of the tokens of bytes."""

_NAME_BYTES = len(BYTE_NAMES[0])


class Symbols(NamedTuple):
    """Tokens and the merges of bytes that make characters. A token has a place, its number in the arrays; fragments
    stand behind the tokens that were given.

    texts: the bytes of all tokens, joined. lengths, ids: uint32. kinds: uint8, as KINDS of native/merges.pyx.
    merges: places (left, right, made), a row a merge.
    """

    texts: bytes
    lengths: npt.NDArray[np.uint32]
    ids: npt.NDArray[np.uint32]
    kinds: _Bytes
    merges: _Numbers


def byte_places(find: Callable[[str], int | None]) -> list[int | None]:
    """The places of the tokens of the 256 bytes; None where the character of one byte is a token, too.

    find: the place of a token, or None. VocabularyError: one is missing."""
    found = [find(name) for name in BYTE_NAMES]
    missing = [
        BYTE_NAMES[byte] for byte in range(256) if found[byte] is None and (byte > 127 or find(chr(byte)) is None)
    ]
    if missing:
        raise VocabularyError(
            f"{len(missing)} of the 256 tokens <0x00> to <0xFF> are missing, the first is {missing[0]}; "
            "what becomes of a character that is no token would be left open"
        )
    return found


def symbols(
    texts: bytes, lengths: npt.NDArray[np.uint32], ids: npt.NDArray[np.uint32], of_bytes: Sequence[int | None]
) -> Symbols:
    """The symbols that text begins as, and what makes them.

    Args:
        texts: the tokens in UTF-8, as a file has them, joined.
        lengths: bytes of each.
        ids: id of each.
        of_bytes: places of the tokens of the 256 bytes, as byte_places() gives them.
    """
    data = np.frombuffer(texts + b"\0", np.uint8).copy()  # a token without text may be the last
    sizes = lengths.astype(np.int64)
    starts = np.cumsum(sizes) - sizes
    characters = _character_sizes(data[starts]) == sizes
    values = np.array([byte for byte, place in enumerate(of_bytes) if place is not None], np.uint8)
    places = np.array([place for place in of_bytes if place is not None], np.int64)
    characters[places] = False
    kinds = np.full(len(sizes), KINDS["made"], np.uint8)
    kinds[places] = KINDS["start"]
    symbol = np.zeros(256, np.int64)  # of each byte
    symbol[values] = places
    (listed,) = np.nonzero(characters & (sizes == 1))
    kinds[places[np.isin(values, data[starts[listed]])]] = KINDS["silent"]  # text becomes the character
    kinds[listed] = KINDS["start"]
    symbol[data[starts[listed]]] = listed
    made = _Making(symbol, len(sizes))
    for size in (2, 3, 4):
        (listed,) = np.nonzero(characters & (sizes == size))
        made.add(data[starts[listed, None] + np.arange(size)], listed)
    # A byte is one byte, whatever the name of its token.
    keep = np.ones(len(data), bool)
    data[starts[places]] = values
    keep[starts[places, None] + np.arange(1, _NAME_BYTES)] = False
    sizes[places] = 1
    fragments = np.arange(len(sizes), len(sizes) + len(made.fragments), dtype=np.uint32) + np.uint32(FIRST_FRAGMENT)
    return Symbols(
        data[keep][:-1].tobytes() + b"".join(made.fragments),
        np.concatenate([sizes, [*map(len, made.fragments)]]).astype(np.uint32),
        np.concatenate([ids, fragments]).astype(np.uint32),
        np.concatenate([kinds, np.full(len(fragments), KINDS["made"], np.uint8)]),
        np.concatenate(made.merges()),
    )


def _character_sizes(leads: _Bytes) -> _Numbers:
    """Bytes of the characters that begin so."""
    sizes = np.ones(256, np.int64)
    sizes[0xC0:0xE0], sizes[0xE0:0xF0], sizes[0xF0:] = 2, 3, 4
    return sizes[leads]


class _Making:
    """The merges that make characters, those of two bytes first. Each beginning of a character is made once.

    symbol: the place of each byte; taken: places that are taken."""

    def __init__(self, symbol: _Numbers, taken: int) -> None:
        self._symbol, self._taken = symbol, taken
        self.fragments: list[bytes] = []
        self._merges: list[list[_Numbers]] = [[], [], []]  # by the bytes of what they make

    def add(self, characters: _Bytes, places: _Numbers) -> None:
        """Characters of one size, a row each, and their places."""
        left = self._symbol[characters[:, 0]]
        for size in range(2, characters.shape[1]):
            begins, one_of, which = np.unique(characters[:, :size], axis=0, return_index=True, return_inverse=True)
            here = np.arange(len(begins), dtype=np.int64) + self._taken + len(self.fragments)
            self.fragments += [begin.tobytes() for begin in begins]
            self._append(size, left[one_of], begins[:, -1], here)
            left = here[which.reshape(-1)]
        self._append(characters.shape[1], left, characters[:, -1], places)

    def _append(self, size: int, left: _Numbers, last: _Bytes, made: _Numbers) -> None:
        self._merges[size - 2].append(np.stack([left, self._symbol[last], made], axis=1))

    def merges(self) -> list[_Numbers]:
        return [rows for of_size in self._merges for rows in of_size]


def pack_symbols(made: Symbols, merges: npt.NDArray[np.integer]) -> MergedVocabulary:
    """The vocabulary. merges: those of the file, places as in Symbols.merges."""
    left, right, product = np.concatenate([made.merges, merges]).astype(np.uint32).T
    joined = left.tobytes(), right.tobytes(), product.tobytes()
    arrays = made.lengths.tobytes(), made.ids.tobytes(), made.kinds.tobytes()
    return packed(ordered(made.texts, *arrays, *joined, False))
