"""Models of SentencePiece of the types BPE, Char and Word.

SentencePiece merges the two neighbours whose joined text is the piece with the highest score, the leftmost of equal
ones first. That is a list of merges: each way to cut a piece into two, in the order of the scores of the pieces, as
long as no two pieces have one score (but _is_list). Others are merged by their scores, which is slower.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..bundled.characters import BYTE_NAMES, byte_places, pack_symbols, symbols
from ..bundled.listed import ListedVocabulary
from ..bundled.merged import MergedVocabulary
from ..bundled.scored import Scored, pack_scored
from ..bundled.symbols import pack_units
from ..errors import VocabularyError, shown
from .field import Field
from .kinds import SENTENCE_PAIRS
from .model import Model, parts_of
from .pieces import (
    BPE,
    BYTE,
    BYTES,
    CHAR,
    MARK,
    NORMAL,
    UNKNOWN,
    UNUSED,
    USER,
    WORD,
    Piece,
    Rules,
    columns_of,
    plain_record,
    sentence_record,
)
from .records import split_step
from .wire import Message

if TYPE_CHECKING:
    from ..bundled.packed import PackedVocabulary

_MOST_RUNS = 16
"""Characters whose runs may have one score: ten times as many as in any published file. Each costs a look at all
pieces."""


def read_pairs(pieces: list[Piece], rules: Rules, whole: Message) -> Model:
    """The model of the pieces of a .model. VocabularyError."""
    _check_pieces(pieces, rules, whole)
    is_list = _is_list(pieces, rules)
    if is_list and _is_plain(pieces, rules):
        return _model(plain_record(pieces, rules, False), *_with_bytes(pieces, rules, whole), whole)
    record = sentence_record(columns_of(pieces), rules, _unknown(pieces, whole))
    if rules.type != WORD:
        record["added_tokens"] += _users(pieces)
    return _of_pairs(pieces, rules, record, is_list, whole)


def read_pieces(given: list[tuple[str, float, int]], prefix: bool, template: dict[str, Any] | None, path: str) -> Model:
    """The model of pieces as other files have them: (text, score, type). Those that are user-defined are found in the
    text as it was given, and unused ones are decoded only. VocabularyError."""
    pieces = [Piece(*piece, place) for place, piece in enumerate(given)]
    whole = Message(b"", path)
    rules = Rules(BPE, byte_fallback=True, prefix=prefix, fewer_blanks=False)
    _check_pieces(pieces, rules, whole, True)
    record = plain_record(pieces, rules, True) | {"post_processor": template}
    if _is_list(pieces, rules):
        return _model(record, *_with_bytes(pieces, rules, whole), whole)
    return _of_pairs(pieces, rules, record, False, whole)


def _check_pieces(pieces: list[Piece], rules: Rules, whole: Message, as_given: bool = False) -> None:
    """as_given: as read_pieces() says."""
    seen: set[str] = set()
    for piece in pieces:
        if piece.text in seen or "\0" in piece.text:
            raise whole.refused(piece.at, f"the piece {shown(piece.text)} is there twice, or holds a NUL")
        seen.add(piece.text)
        if piece.kind == UNUSED and not (as_given and len(piece.text) > 1):
            raise whole.refused(
                piece.at,
                f"the piece {shown(piece.text)} is unused, and text that has become it is divided again, which is not "
                "supported: save the model as it was trained, without a choice of pieces",
            )
        if (piece.kind == BYTE) != (piece.text in BYTES and rules.byte_fallback):
            raise whole.refused(
                piece.at,
                f"{shown(piece.text)} has type {piece.kind}: bytes are <0x00> to <0xFF>, where byte_fallback is set",
            )
        if len(piece.text) == 1 and piece.kind not in (NORMAL, USER) and rules.type != WORD:
            raise whole.refused(piece.at, f"the piece {shown(piece.text)} is a character, and no normal piece")


def _is_plain(pieces: list[Piece], rules: Rules) -> bool:
    """Whether a tokenizer.json can say the same: blanks become marks, and nothing else changes; all characters have
    tokens, or their bytes do; user-defined pieces are found in any text."""
    users = "".join(piece.text for piece in pieces if piece.kind == USER)
    changes = rules.charsmap or rules.suffix or rules.fewer_blanks or not rules.escaped
    return rules.byte_fallback and not changes and not (users and (rules.prefix or " " in users))


def _is_list(pieces: list[Piece], rules: Rules) -> bool:
    """Whether merging by scores is merging by a list. Each character of a piece has to be one. And of pieces with one
    score, the one that stands first in a text is made first: no order of pieces says that, unless all are runs of one
    character, as those of Llama 2, and no other piece holds two of it. Then the longest in front of the others is such
    an order. Let a run be what is left of one when these pieces come to be merged: characters, each by itself. At each
    time it is chunks that do not go together, a chunk that grows, and characters; so the pieces that can be made are,
    from left to right, the growing chunk with the one in front of it, with the next character, and two characters: ever
    shorter ones. Runs do nothing to each other, and open no way to any other piece."""
    normal = [piece for piece in pieces if piece.kind == NORMAL]
    known = {piece.text for piece in normal}
    longer = [piece for piece in normal if len(piece.text) > 1]
    equal = [score for score, count in Counter([piece.score for piece in longer]).items() if count > 1]
    if rules.type == CHAR or not longer:
        return rules.type != WORD
    if rules.type == WORD or len(equal) > _MOST_RUNS or not all(known.issuperset(piece.text) for piece in longer):
        return False
    for score in equal:
        group = [piece.text for piece in longer if piece.score == score]
        two = group[0][0] * 2
        if sum(two in piece.text for piece in longer) != len(group):
            return False
        if any(len(set(text)) > 1 or two not in text for text in group):
            return False
    return True


# ==== The model ====


def _model(record: dict[str, Any], vocabulary: PackedVocabulary, raw: tuple[int, ...], whole: Message) -> Model:
    return Model(whole.path, record, vocabulary, raw, parts_of(Field(record, whole.path)))


def _of_pairs(pieces: list[Piece], rules: Rules, record: dict[str, Any], is_list: bool, whole: Message) -> Model:
    """The model where no tokenizer.json can say how text merges, or what is done to it before. is_list: _is_list()."""
    record["model"] = {"type": SENTENCE_PAIRS, "byte_fallback": rules.byte_fallback, "vocab": None}
    if is_list and rules.byte_fallback:
        return _model(record, *_with_bytes(pieces, rules, whole), whole)
    if rules.type != WORD and rules.escaped:
        record["pre_tokenizer"] = _split(pieces)
    unknown = _unknown(pieces, whole)
    vocabulary = _with_unknown(pieces, unknown, rules) if is_list else _by_scores(pieces, unknown, rules, whole)
    return _model(record, vocabulary, (), whole)


def _users(pieces: list[Piece]) -> list[dict[str, Any]]:
    """Those that are found in the text as it is once blanks are marks; a map of characters leaves them alone."""
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "special"), False) | {"normalized": True}
    users = [(place, piece.text) for place, piece in enumerate(pieces) if piece.kind == USER]
    return [{"id": place, "content": text, **flags} for place, text in users]


def _with_bytes(pieces: list[Piece], rules: Rules, whole: Message) -> tuple[MergedVocabulary, tuple[int, ...]]:
    """The vocabulary in which characters that are no pieces become pieces of bytes, and the places of these."""
    places = {piece.text: place for place, piece in enumerate(pieces)}
    try:
        of_bytes = byte_places(places.get)
    except VocabularyError as error:
        raise VocabularyError(f"pieces: {error.reason}", whole.path) from None
    texts = [piece.text.encode() for piece in pieces]
    found = symbols(
        b"".join(texts),
        np.array([*map(len, texts)], np.uint32),
        np.arange(len(texts), dtype=np.uint32),
        of_bytes,
    )
    return pack_symbols(found, _merges(pieces, rules)), tuple(-1 if place is None else place for place in of_bytes)


def _unknown(pieces: list[Piece], whole: Message) -> int:
    found = [place for place, piece in enumerate(pieces) if piece.kind == UNKNOWN]
    if len(found) != 1:
        raise VocabularyError(f"pieces: there are {len(found)} unknown pieces; a model has one", whole.path)
    return found[0]


def _with_unknown(pieces: list[Piece], unknown: int, rules: Rules) -> MergedVocabulary:
    """A character that is no piece is unknown, and unknown ones side by side are one."""
    return pack_units(
        [piece.text.encode() for piece in pieces],
        np.arange(len(pieces), dtype=np.uint32),
        _merges(pieces, rules),
        {place for place, piece in enumerate(pieces) if piece.kind != NORMAL},
        unknown=unknown,
        joins=True,
        by_bytes=False,
    )


_BORDERS = (
    (f"[^{MARK}]{MARK}", f"{MARK}*[^{MARK}]+|{MARK}+"),
    (f"{MARK}[^{MARK}]", f"[^{MARK}]*{MARK}+|[^{MARK}]+"),
)
"""What lies inside of no piece, and how text is split there."""


def _split(pieces: list[Piece]) -> dict[str, Any] | None:
    """Divides text where no piece goes on, so that a stream need not hold all of it: in front of marks, or behind them.
    A mark that is a piece is not unknown, so nothing unknown is divided."""
    normal = [piece.text for piece in pieces if piece.kind == NORMAL]
    for inside, pattern in _BORDERS if MARK in normal else ():
        if not any(re.search(inside, text) for text in normal):
            return split_step(pattern)
    return None


def _by_scores(pieces: list[Piece], unknown: int, rules: Rules, whole: Message) -> ListedVocabulary:
    """Tokens with scores, which the core compares."""
    texts = [piece.text.encode() for piece in pieces]
    places = {piece.text: place for place, piece in enumerate(pieces) if piece.kind == BYTE}
    if rules.byte_fallback and len(places) < 256:
        raise VocabularyError(f"pieces: there are {len(places)} pieces of bytes, not 256", whole.path)
    found = (NORMAL, USER) if rules.type == WORD else (NORMAL,)
    tokens = Scored(
        b"".join(texts),
        np.array([*map(len, texts)], np.int64),
        np.arange(len(pieces), dtype=np.uint32),
        np.array([piece.score for piece in pieces], np.float64),
        np.array([piece.kind not in found for piece in pieces]),
        unknown,
        0.0,
        [places.get(name, -1) for name in BYTE_NAMES],
        False,
        rules.byte_fallback,
    )
    try:
        return pack_scored(tokens, "sentencewords" if rules.type == WORD else "sentencepairs")
    except VocabularyError as error:
        raise VocabularyError(f"pieces: {error.reason}", whole.path) from None


def _merges(pieces: list[Piece], rules: Rules) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Places (left, right, made), the highest score first; of one score the longest (_is_list)."""
    normal = {piece.text: place for place, piece in enumerate(pieces) if piece.kind == NORMAL}
    rows, find = [], normal.get
    by_score = sorted(normal.values(), key=lambda place: (-pieces[place].score, -len(pieces[place].text)))
    for made in by_score if rules.type == BPE else ():
        text = pieces[made].text
        for at in range(1, len(text)):
            left = find(text[:at])
            if left is not None and (right := find(text[at:])) is not None:
                rows.append((left, right, made))
    return np.array(rows, np.int64).reshape(-1, 3)
