"""Pieces of SentencePiece's models, and what their files say of text; and the parts of a tokenizer.json that say so."""

from __future__ import annotations

import base64
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..bundled.characters import BYTE_NAMES

if TYPE_CHECKING:
    import numpy.typing as npt

NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = range(1, 7)
TYPES = {1: "Unigram", 2: "BPE", 3: "Word", 4: "Char"}
UNIGRAM, BPE, WORD, CHAR = range(1, 5)
MARK = "\u2581"
BYTES = frozenset(BYTE_NAMES)


class Piece(NamedTuple):
    text: str
    score: float
    kind: int
    at: int


class Columns(NamedTuple):
    """Pieces as columns: their texts in UTF-8, joined, and of each the size, the score, the type, and the place in the
    file."""

    texts: bytes
    lengths: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float64]
    kinds: npt.NDArray[np.int64]
    places: npt.NDArray[Any]

    def pieces(self) -> list[Piece]:
        ends = np.cumsum(self.lengths).tolist()
        texts = (self.texts[a:b].decode() for a, b in pairwise([0, *ends]))
        return [*map(Piece, texts, self.scores.tolist(), self.kinds.tolist(), self.places.tolist())]

    def of_kinds(self, *kinds: int) -> list[tuple[int, str, int]]:
        """The numbers, texts and types of the pieces that are of some types."""
        found = np.nonzero(np.isin(self.kinds, kinds))[0]
        ends = np.cumsum(self.lengths)[found]
        spans = zip(found.tolist(), (ends - self.lengths[found]).tolist(), ends.tolist())
        return [(i, self.texts[a:b].decode(), int(self.kinds[i])) for i, a, b in spans]


def columns_of(pieces: list[Piece]) -> Columns:
    texts = [piece.text.encode() for piece in pieces]
    scores = np.array([piece.score for piece in pieces], np.float64)
    kinds, places = (np.array([piece[i] for piece in pieces], np.int64) for i in (2, 3))
    return Columns(b"".join(texts), np.array([*map(len, texts)], np.int64), scores, kinds, places)


class Rules(NamedTuple):
    """What the two specifications say of text."""

    type: int = 1
    suffix: bool = False
    byte_fallback: bool = False
    surface: str = " \u2047 "
    charsmap: bytes = b""
    name: str = ""
    prefix: bool = True
    fewer_blanks: bool = True
    escaped: bool = True


def plain_record(pieces: list[Piece], rules: Rules, as_given: bool) -> dict[str, Any]:
    """The tokenizer.json that says the same, without tokens and merges."""
    late = -1 if as_given else USER  # the type of those that are sought in normalized text
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
    added = [
        {"id": place, "content": piece.text, **flags, "normalized": piece.kind == late, "special": piece.kind != USER}
        for place, piece in enumerate(pieces)
        if piece.kind in (UNKNOWN, CONTROL, USER)
    ]
    blanks: dict[str, Any] = {"type": "Replace", "pattern": {"String": " "}, "content": MARK}
    back: list[dict[str, Any]] = [
        {"type": "Replace", "pattern": {"String": MARK}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
    ]
    if rules.prefix:
        blanks = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": MARK}, blanks]}
        back.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    unknown = next((piece.text for piece in pieces if piece.kind == UNKNOWN), None)
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": blanks,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": back},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": unknown,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": True,
            "byte_fallback": True,
            "vocab": None,
            "merges": None,
        },
    }


def sentence_record(columns: Columns, rules: Rules, unknown: int) -> dict[str, Any]:
    """The parts of the file as those of a tokenizer.json, which can say all but the normalizer and the model."""
    record = plain_record([], rules, True)
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    record["added_tokens"] = [
        {"id": place, "content": text, **flags, "special": True}
        for place, text, _ in columns.of_kinds(UNKNOWN, CONTROL)
    ]
    record["decoder"] = {
        "type": "SentencePiece",
        "mark": MARK,
        "unknown": next(text for place, text, _ in columns.of_kinds(UNKNOWN) if place == unknown),
        "unk_surface": rules.surface,
        "add_dummy_prefix": rules.prefix,
        "remove_extra_whitespaces": rules.fewer_blanks,
        "byte_fallback": rules.byte_fallback,
    }
    record["normalizer"] = {
        "type": "SentencePiece",
        "precompiled_charsmap": base64.b64encode(rules.charsmap).decode(),
        "symbols": [text for _, text, _ in columns.of_kinds(USER)],
        "add_dummy_prefix": rules.prefix,
        "treat_whitespace_as_suffix": rules.suffix,
        "remove_extra_whitespaces": rules.fewer_blanks,
        "escape_whitespaces": rules.escaped,
    }
    return record
