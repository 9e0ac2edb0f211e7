"""Vocabularies in which text begins as characters, as models of SentencePiece have them, as merges of bytes.

A character that is a token is made of its bytes by merges in front of all others: the first two bytes, then one byte
after the other. These merges meet nothing else, because their left part begins a character, and their right part is one
byte inside it; so all of them are made before the first merge of the list. What they make on the way is a fragment.
Where no token is the character, its longest fragment is left, or its bytes are; fragments are in no merge of the list,
and bytes are in none either. The encoder puts the tokens of its bytes in the place of a fragment (csrc/vocab/vocab.h).
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence

from ..errors import VocabularyError, shown
from ..native.merges import FIRST_FRAGMENT, HEADING, KINDS, ordered
from .merged import MergedVocabulary, packed
from .packed import MAX_ENTRIES, MAX_RANK

_BYTES = {f"<0x{value:02X}>": value for value in range(256)}


class _Symbols:
    """The tokens by their places, and the merges of bytes that make characters."""

    def __init__(self, vocab: Mapping[str, int]) -> None:
        self.texts: list[bytes] = []
        self.ids = array("I")
        self.kinds = bytearray()
        self.merges: list[tuple[int, int, int]] = []
        self._characters: dict[bytes, int] = {}
        self._check(vocab)
        for place, (name, token) in enumerate(vocab.items()):
            self._add(_text_of(name), token, KINDS["made"])
            if len(name) == 1 or name in _BYTES:
                self._add_symbol(name, place, vocab)
        missing = [value for value in range(256) if bytes([value]) not in self._characters]
        if missing:
            raise VocabularyError(
                f"{len(missing)} of the 256 tokens <0x00> to <0xFF> are missing, the first is <0x{missing[0]:02X}>; "
                "what becomes of a character that is no token would be left open"
            )
        for character in sorted(text for text in self._characters if len(text) > 1):
            self._make(character)

    def _check(self, vocab: Mapping[str, int]) -> None:
        names: dict[int, str] = {}
        for name, token in vocab.items():
            if type(name) is not str:
                raise VocabularyError(f"the token {shown(name)} is of type {type(name).__name__}; a str is needed")
            if type(token) is not int or not 0 <= token <= MAX_RANK:
                raise VocabularyError(
                    f"the id of {shown(name)} is {shown(token)}; ids are integers from 0 to {MAX_RANK}"
                )
            if token in names:
                raise VocabularyError(
                    f"{shown(names[token])} and {shown(name)} both have id {token}; give each its own"
                )
            names[token] = name

    def _add(self, text: bytes, token: int, kind: int) -> None:
        self.texts.append(text)
        self.ids.append(token)
        self.kinds.append(kind)

    def _add_symbol(self, name: str, place: int, vocab: Mapping[str, int]) -> None:
        text = self.texts[place]
        if len(text) > 1:
            self._characters[text] = place
        elif name in _BYTES and text.isascii() and text.decode() in vocab:
            self.kinds[place] = KINDS["silent"]  # text becomes the character
        else:
            self.kinds[place] = KINDS["start"]
            self._characters[text] = place

    def _make(self, character: bytes) -> None:
        made = self._characters[character[:1]]
        for size in range(2, len(character) + 1):
            left, made = made, self._characters.get(character[:size], -1)
            if made < 0:
                made = self._characters[character[:size]] = len(self.texts)
                self._add(character[:size], FIRST_FRAGMENT + made, KINDS["made"])
            elif size < len(character):
                continue  # another character has it, too
            self.merges.append((left, self._characters[character[size - 1 : size]], made))


def _text_of(name: str) -> bytes:
    if not name:
        raise VocabularyError("there is a token without characters, which no text could ever hold")
    if name in _BYTES:
        return bytes([_BYTES[name]])
    try:
        return name.encode()
    except UnicodeEncodeError:
        raise VocabularyError(f"the token {shown(name)} holds a surrogate, which no text does") from None


def _halves(merges: Sequence[str | Sequence[str]]) -> list[tuple[int, str, str]]:
    """(number, left, right) of each merge."""
    found = []
    form = type(merges[0]) is str if merges else False
    for number, merge in enumerate(merges):
        halves = merge.split(" ") if isinstance(merge, str) else merge
        if isinstance(merge, str) and merge.startswith(HEADING):
            continue
        right_form = (type(merge) is str) is form and isinstance(halves, (list, tuple)) and len(halves) == 2
        if not right_form or type(halves[0]) is not str or type(halves[1]) is not str:
            raise VocabularyError(
                f"merges[{number}] is {shown(merge)}, no merge of two tokens in the form of the first one"
            )
        found.append((number, halves[0], halves[1]))
    return found


def pack_characters(
    vocab: Mapping[str, int], merges: Sequence[str | Sequence[str]], ignore_merges: bool
) -> MergedVocabulary:
    """pack_merges() of merges.py where text begins as characters and falls back to bytes.

    Raises:
        VocabularyError: as pack_merges(); a merge of the token of a byte.
    """
    if max(len(vocab), len(merges)) > MAX_ENTRIES:
        raise VocabularyError(
            f"{len(vocab)} tokens and {len(merges)} merges; at most {MAX_ENTRIES} of each are accepted"
        )
    symbols = _Symbols(vocab)
    places = {name: place for place, name in enumerate(vocab) if name not in _BYTES}
    lefts, rights, mades = (array("I", (merge[i] for merge in symbols.merges)) for i in range(3))
    for number, left, right in _halves(merges):
        try:
            found = places[left], places[right], places[left + right]
        except KeyError as error:
            name = error.args[0]
            reason = "is a byte, and bytes merge with nothing" if name in _BYTES else "is not in the vocabulary"
            raise VocabularyError(f"merges[{number}], {shown(merges[number])}: {shown(name)} {reason}") from None
        lefts.append(found[0])
        rights.append(found[1])
        mades.append(found[2])
    lengths = array("I", map(len, symbols.texts)).tobytes()
    texts, kinds, ids = b"".join(symbols.texts), bytes(symbols.kinds), symbols.ids.tobytes()
    joined = lefts.tobytes(), rights.tobytes(), mades.tobytes()
    return packed(ordered(texts, lengths, ids, kinds, *joined, ignore_merges))
