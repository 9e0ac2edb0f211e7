"""From the lists of a model file to a vocabulary: which tokens text becomes, in which order pairs merge."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

import numpy as np

from ..bundled.characters import BYTE_NAMES, byte_places, pack_symbols, symbols
from ..bundled.gpt2_files import LETTERS
from ..bundled.listed import ListedVocabulary
from ..bundled.marks import BEGINNING, BYTE, ENDING
from ..bundled.merged import MergedVocabulary, check_sizes, packed
from ..bundled.packed import MAX_RANK, check_single_bytes
from ..bundled.scored import UNKNOWN_BELOW, Scored, pack_scored
from ..bundled.symbols import NOT_THERE, Affixes, pack_units, unmarked
from ..errors import VocabularyError, shown
from ..native.listing import Listing
from ..native.merges import FIRST_FRAGMENT, KINDS, SILENT, ordered
from ..native.steps import lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    import numpy.typing as npt

    from .._protocols import Ids
    from ..patterns.letters import ByteRule

_MAY_LACK = bytes([0xC0, 0xC1, *range(0xF0, 0x100), *set(range(32)).difference(b"\t\n\r"), 0x7F])
"""Bytes that UTF-8 never has, those that begin characters of four bytes, and control characters. A vocabulary that was
trained on text alone may lack their tokens. Text with one that UTF-8 has is an error then."""


_NO_TEXT = b"\xff"
"""What stands for an unknown token that is not there: no text has it."""


class Tokens:
    """The tokens and merges of a file.

    Args:
        listing: the tokens.
        merges: numbers of tokens (left, right, made), a row a merge, in the order of their ranks.
        path: the file, for errors.
        added: names of added tokens, of which several may have one id.
    """

    def __init__(self, listing: Listing, merges: Ids, path: str, added: set[str]) -> None:
        self.listing, self.merges, self.path = listing, merges, path
        self._added = added
        self.ids = np.frombuffer(listing.ids, np.uint32)
        self.lengths = np.frombuffer(listing.lengths, np.uint32)
        self.order = np.argsort(self.ids, kind="stable")  # of numbers, by id
        self._check_ids()

    def _check_ids(self) -> None:
        if not len(self.ids):
            raise self.refused("model.vocab", "there are no tokens")
        ids = self.ids[self.order]
        (twice,) = np.nonzero(ids[1:] == ids[:-1])
        for at in twice.tolist():
            names = [self.listing.text(int(self.order[at + i])) for i in (0, 1)]
            if not self._added.issuperset(names):
                raise self.refused(
                    "model.vocab",
                    f"{shown(names[0])} and {shown(names[1])} both have id {ids[at]}; give each its own",
                )
        if ids[-1] > MAX_RANK:
            name = shown(self.listing.text(int(self.order[-1])))
            raise self.refused("model.vocab", f"the id of {name} is {ids[-1]}; ids go from 0 to {MAX_RANK}")

    def refused(self, place: str, reason: str) -> VocabularyError:
        return VocabularyError(f"{place}: {reason}", self.path)

    def find(self, token: str) -> int | None:
        """The id of a token as the file has it."""
        number = self.listing.find(token)
        return None if number is None else int(self.ids[number])

    def name_of(self, token: int) -> str | None:
        """The token with an id as the file has it."""
        at = int(np.searchsorted(self.ids, token, sorter=self.order))
        if at == len(self.ids) or self.ids[self.order[at]] != token:
            return None
        return self.listing.text(int(self.order[at]))

    @property
    def raw(self) -> tuple[int, ...]:
        """The ids of the tokens that are not in letters."""
        return tuple(self.ids[np.frombuffer(self.listing.letters, np.uint8) == 0].tolist())

    def pack(self, keep_whole: bool, apart: set[str], rules: Sequence[ByteRule] = ()) -> MergedVocabulary:
        """The vocabulary (csrc/vocab/merge_list.h shows why it merges as the list says).

        Args:
            rules: which bytes are cut apart before they are merged.
            keep_whole: a piece that is a token is never merged (ignore_merges): tokens that no merge makes count, too.
            apart: tokens that are found in another way, before text is split.
        """
        merges = self._without_cut(rules)
        letters = np.frombuffer(self.listing.letters, np.uint8)
        kinds = np.where(letters == 0, KINDS["silent"], np.where(self.lengths == 1, KINDS["start"], KINDS["made"]))
        missing = self._missing_bytes(kinds == KINDS["start"])
        kinds[self.lengths == 0] = KINDS["silent"]
        listed = np.zeros(len(kinds), bool)
        listed[merges[:, 2]] = True
        for name in apart:
            number = self.listing.find(name)
            if number is not None and kinds[number] == KINDS["made"] and not listed[number]:
                kinds[number] = KINDS["silent"]
        more = np.arange(len(missing), dtype=np.uint32) + np.uint32(FIRST_FRAGMENT)
        left, right, made = (np.ascontiguousarray(column).tobytes() for column in merges.T)
        joined = ordered(
            self.listing.blob + missing,
            self.listing.lengths + np.ones_like(more).tobytes(),
            self.listing.ids + more.tobytes(),
            np.concatenate([kinds, np.full(len(missing), KINDS["start"])]).astype(np.uint8).tobytes(),
            left,
            right,
            made,
            keep_whole,
        )
        return packed(joined)

    @property
    def empty(self) -> int | None:
        """The id of a token without letters, which is decoded only."""
        return self.find("")

    def _without_cut(self, rules: Sequence[ByteRule]) -> Ids:
        """The merges without those that join two bytes which a rule cuts apart (patterns/letters.py)."""
        if not rules:
            return self.merges
        data = np.frombuffer(self.listing.blob, np.uint8)
        ends = np.cumsum(self.lengths, dtype=np.int64)
        is_cut = np.array([[any(rule.cuts(a, b) for rule in rules) for b in range(256)] for a in range(256)])
        left, right = self.merges[:, 0], self.merges[:, 1]
        between = data[ends[left] - 1], data[ends[right] - self.lengths[right]]
        kept: Ids = self.merges[~is_cut[between]]
        return kept

    def pack_characters(self) -> tuple[MergedVocabulary, tuple[int, ...]]:
        """The same where text begins as characters (bundled/characters.py), and the ids of the tokens of bytes, -1 for
        none."""
        try:
            of_bytes = byte_places(self.listing.find)
        except VocabularyError as error:
            raise self.refused("model.vocab", error.reason) from None
        starts = np.frombuffer(self.listing.starts, np.uint32)
        found = symbols(self.listing.texts, starts[1:] - starts[:-1], self.ids, of_bytes)
        self._check_merges(of_bytes)
        ids = tuple(-1 if place is None else int(self.ids[place]) for place in of_bytes)
        return pack_symbols(found, self.merges), ids

    @lazy
    def of_bytes(self) -> list[int | None]:
        """The places of the tokens <0x00> to <0xFF>."""
        return [self.listing.find(name) for name in BYTE_NAMES]

    @property
    def has_all_bytes(self) -> bool:
        """Whether no character is without tokens: where that of a byte is missing, its character is one."""
        return all(
            place is not None or (byte < 0x80 and self.listing.find(chr(byte)) is not None)
            for byte, place in enumerate(self.of_bytes)
        )

    def pack_units(self, kind: Any, apart: Collection[str] = ()) -> tuple[MergedVocabulary, tuple[int, ...]]:
        """The vocabulary where not all characters, or bytes, are tokens (bundled/symbols.py), and the ids of tokens
        whose bytes are those of their text. kind: a description.Pairs; apart: as for pack()."""
        number = self._unknown(kind.unknown)
        starts = np.frombuffer(self.listing.starts, np.uint32)
        data, lengths = self.listing.texts, starts[1:] - starts[:-1]
        silent: set[int] = set()
        affixes = Affixes(kind.prefix.encode(), kind.suffix.encode())
        if kind.by_bytes:
            data, lengths = self.listing.blob, self.lengths
            silent = set(np.nonzero(np.frombuffer(self.listing.letters, np.uint8) == 0)[0].tolist())
            affixes = Affixes(*(bytes(map(LETTERS.__getitem__, text)) for text in (kind.prefix, kind.suffix)))
        ends = np.cumsum(lengths, dtype=np.int64).tolist()
        tokens = [data[start:end] for start, end in zip([0, *ends], ends)]
        unseen = self._unseen(tokens, affixes) if kind.by_bytes else set()
        silent |= unseen
        merges, is_unit = self.merges, _is_byte if kind.by_bytes else _is_character
        if any(affixes):
            merges = self._mark_ends(tokens, affixes, is_unit)
            for place in silent:
                tokens[place] = self.listing.text(place).encode()
        if unseen:
            merges = merges[~np.isin(merges, list(unseen)).any(axis=1)]
        raw = tuple(self.ids[[*silent]].tolist()) if any(affixes) else self.raw
        found = {self.listing.find(name) for name in apart if kind.ignore_merges} - {None, *merges[:, 2].tolist()}
        silent |= {place for place in found if place is not None and not is_unit(unmarked(tokens[place], affixes)[0])}
        of_bytes = b""
        if kind.fallback and not kind.by_bytes and any(self.of_bytes):
            self._check_merges(self.of_bytes)
            of_bytes = bytes(byte for byte, place in enumerate(self.of_bytes) if place is not None)
            for byte in of_bytes:
                tokens[self.of_bytes[byte]] = BYTE + bytes([byte])  # type: ignore[index]
        packed = pack_units(
            tokens,
            self.ids,
            merges,
            silent,
            unknown=number,
            joins=kind.joins,
            by_bytes=kind.by_bytes,
            keeps_whole=kind.ignore_merges,
            affixes=affixes,
            of_bytes=of_bytes,
        )
        return packed, raw

    def _unknown(self, name: str | None) -> int | None:
        if name is None:
            return None
        number = self.listing.find(name)
        if number is None:
            return NOT_THERE
        if (self.merges[:, :2] == number).any():
            raise self.refused("model.unk_token", f"{shown(name)} takes part in merges, as a part of texts does, too")
        return number

    def _unseen(self, tokens: list[bytes], affixes: Affixes) -> set[int]:
        """The numbers of tokens with a byte that is a mark, which no text has; where there are no affixes, but those
        that are one byte."""
        least = 1 if any(affixes) else 2
        marks = affixes.marks
        return {i for i, token in enumerate(tokens) if len(token) >= least and any(mark in token for mark in marks)}

    def _mark_ends(self, tokens: list[bytes], affixes: Affixes, is_unit: Callable[[bytes], bool]) -> Ids:
        """Puts ENDING in the place of what tokens end with at the end of a piece, and BEGINNING in front of those that
        do not go on in one, and returns the merges that can come up: in front of the latter nothing stands, and behind
        the former."""
        prefix, suffix = affixes
        places = [_place(token, affixes, is_unit) for token in tokens]
        for number, readings in enumerate(places):
            if len(readings) > 1:
                raise self.refused(
                    "model.vocab",
                    f"{shown(self.listing.text(number))} is a character at one place of a word, and another one at "
                    "another place, by continuing_subword_prefix and end_of_word_suffix: not supported",
                )
        goes_on, is_end = np.array([readings[0] for readings in places], bool).reshape(-1, 2).T
        left, right, made = self.merges.T
        can_be = ~is_end[left] & goes_on[right]
        (wrong,) = np.nonzero(can_be & ((is_end[made] != is_end[right]) | (goes_on[made] != goes_on[left])))
        if len(wrong):
            raise self.refused(
                f"model.merges[{wrong[0]}]",
                f"{shown(self.listing.text(int(made[wrong[0]])))} is made with characters of end_of_word_suffix, or of "
                "continuing_subword_prefix, and looks like a token at another place of a word: not supported",
            )
        for number, token in enumerate(tokens):
            if token:
                token = token[: len(token) - len(suffix)] + ENDING if is_end[number] else token
                tokens[number] = token[len(prefix) :] if goes_on[number] else BEGINNING + token
        kept: Ids = self.merges[can_be]
        return kept

    def no_beginning(self) -> str:
        """A text that no token begins with."""
        texts, starts = self.listing.texts, np.frombuffer(self.listing.starts, np.uint32)
        first = {texts[start : start + 4] for start in starts[:-1].tolist()}
        points = (chr(point) for point in range(0x10FFFF, 0xFFFFF, -1))
        return next(text for text in points if text.encode() not in first)

    def pack_words(self, name: str, most: int, prefix: str) -> ListedVocabulary:
        """The vocabulary where words are matched by WordPiece, in the order of ids. name: of the unknown token; where
        it is no token, a text that needs one has no ids. most: characters of a word; prefix: of tokens that go on in
        one."""
        unknown = self.listing.find(name)
        if unknown is not None and not name:
            raise self.refused("model.unk_token", "the unknown token has no text")
        texts = self.listing.texts
        starts = np.frombuffer(self.listing.starts, np.uint32).astype(np.int64)
        begun = np.concatenate([[0], np.cumsum((np.frombuffer(texts, np.uint8) & 0xC0) != 0x80)])
        too_long = begun[starts[1:]] - begun[starts[:-1]] > most
        sizes = starts[1:] - starts[:-1]
        order = self.order[sizes[self.order] > 0]
        blob = b"".join(texts[starts[i] : starts[i + 1]] for i in order.tolist())
        lengths, ids = array("I", sizes[order].tolist()), array("I", self.ids[order].tolist())
        splits = array("I", np.where(too_long, SILENT, 0)[order].tolist())
        if unknown is None:
            blob += _NO_TEXT
            for row, value in ((lengths, 1), (ids, FIRST_FRAGMENT), (splits, SILENT)):
                row.append(value)
        check_sizes(blob, lengths)
        place = len(order) if unknown is None else int(np.nonzero(order == unknown)[0][0])
        return ListedVocabulary(blob, lengths, ids, splits, "wordpiece", (place, most, prefix.encode()))

    def pack_scored(self, unknown: int | None, fallback: bool) -> ListedVocabulary:
        """The vocabulary where pieces are divided by scores, as tokenizers does. unknown: the id of the unknown token;
        None: a text with an unknown character has no ids. fallback: unknown characters become tokens of bytes, where
        these are there."""
        listing = self.listing
        scores = np.frombuffer(listing.scores, np.float64)
        if unknown is not None and unknown >= len(scores):
            raise self.refused("model.unk_id", f"{unknown} is no id of a token: there are {len(scores)}")
        silent = np.zeros(len(scores), bool)  # of equal tokens, all but the last
        silent[np.frombuffer(listing.repeated, np.uint32)] = True
        starts = np.frombuffer(listing.starts, np.uint32).astype(np.int64)
        lengths = starts[1:] - starts[:-1]
        if unknown is not None and not lengths[unknown]:
            raise self.refused("model.unk_id", "the unknown token has no text")
        found = [listing.find(name) for name in BYTE_NAMES]
        of_bytes = [-1 if place is None else place for place in found]
        least = float(scores.min()) - UNKNOWN_BELOW
        texts, ids = listing.texts, self.ids
        if unknown is None:
            unknown, texts = len(scores), texts + _NO_TEXT
            lengths, ids = np.append(lengths, 1), np.append(ids, np.uint32(FIRST_FRAGMENT))
            scores, silent = np.append(scores, scores.min()), np.append(silent, True)
        tokens = Scored(texts, lengths, ids, scores, silent, unknown, least, of_bytes, False, fallback)
        try:
            return pack_scored(tokens)
        except VocabularyError as error:
            raise self.refused("model.vocab", error.reason) from None

    def _check_merges(self, of_bytes: list[int | None]) -> None:
        """Raises VocabularyError for a merge of the token of a byte."""
        is_byte = np.zeros(len(self.ids), bool)
        is_byte[[place for place in of_bytes if place is not None]] = True
        (wrong,) = np.nonzero(is_byte[self.merges].any(axis=1))
        if len(wrong):
            parts = " and ".join(shown(self.listing.text(int(place))) for place in self.merges[wrong[0], :2])
            raise self.refused(f"model.merges[{wrong[0]}]", f"{parts} are joined; tokens of bytes merge with nothing")

    @property
    def lacks_bytes(self) -> bool:
        """Whether a byte that is common in texts is no token."""
        single = (np.frombuffer(self.listing.letters, np.uint8) != 0) & (self.lengths == 1)
        return len({*self._singles(single), *_MAY_LACK}) < 256

    def _singles(self, single: npt.NDArray[np.bool_]) -> bytes:
        starts = np.cumsum(self.lengths, dtype=np.int64) - self.lengths
        found: bytes = np.frombuffer(self.listing.blob, np.uint8)[starts[single]].tobytes()
        return found

    def _missing_bytes(self, single: npt.NDArray[np.bool_]) -> bytes:
        """The bytes that are no tokens; VocabularyError for one that is common in texts."""
        found = self._singles(single)
        check_single_bytes([bytes([byte]) for byte in {*found, *_MAY_LACK}], self.path)
        return bytes(byte for byte in _MAY_LACK if byte not in found)


def _is_byte(unit: bytes) -> bool:
    return len(unit) == 1


def _is_character(unit: bytes) -> bool:
    return 0 < len(unit) <= 4 and len(unit.decode(errors="ignore")) == 1 == len(unit.decode(errors="replace"))


def _place(token: bytes, affixes: Affixes, is_unit: Callable[[bytes], bool]) -> list[tuple[bool, bool]]:
    """(whether it goes on in a piece, whether it ends one) by what a token begins and ends with, which is one way for
    most. One unit of text may be that in several."""
    prefix, suffix = affixes
    goes_on = not prefix or (token.startswith(prefix) and len(token) > len(prefix))
    is_end = bool(suffix) and token.endswith(suffix) and len(token) > len(suffix)
    found = []
    for goes, ends in {(goes, ends) for goes in {goes_on, not prefix} for ends in {is_end, False}}:
        if is_unit(token[len(prefix) * goes : len(token) - len(suffix) * ends]):
            found.append((goes, ends))
    inner = token[: len(token) - len(suffix)] if is_end else token
    return found or [(not prefix or (inner.startswith(prefix) and len(inner) > len(prefix)), is_end)]
