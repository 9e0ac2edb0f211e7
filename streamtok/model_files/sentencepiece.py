"""The .model files of SentencePiece."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from ..bundled.characters import BYTE_NAMES
from ..bundled.packed import MAX_ENTRIES, MAX_TOKEN_BYTES
from ..bundled.scored import UNKNOWN_BELOW, Scored, pack_scored
from ..errors import VocabularyError, shown
from ..native.gate import is_utf8
from ..native.listing import usual_pieces
from .field import Field
from .kinds import SENTENCES
from .model import Model, parts_of
from .piece_pairs import read_pairs
from .pieces import (
    BYTE,
    BYTES,
    NORMAL,
    TYPES,
    UNIGRAM,
    UNKNOWN,
    USER,
    Columns,
    Piece,
    Rules,
    columns_of,
    sentence_record,
)
from .wire import Message, Value


def is_sentencepiece(data: bytes) -> bool:
    """Whether the bytes of a file look like those of a .model rather than of JSON: its first field is a piece."""
    return data[:1] == b"\n" and data.lstrip(b" \t\r\n")[:1] != b"{"


def read_sentencepiece(data: bytes, path: str) -> Model:
    """The model of the bytes of a .model file. VocabularyError: it is damaged, or says what is not supported."""
    columns, rules = _read(data, path)
    whole = Message(data, path)
    if rules.type == UNIGRAM:
        return _scored(columns, rules, whole)
    _check_type(rules, whole)
    return read_pairs(columns.pieces(), rules, whole)


# ==== Messages ====


def read_messages(data: bytes, path: str) -> tuple[list[Piece], Rules]:
    """What a .model says. VocabularyError: it is damaged, or says what is not known."""
    columns, rules = _read(data, path)
    return columns.pieces(), rules


def _read(data: bytes, path: str) -> tuple[Columns, Rules]:
    usual, behind = _usual_pieces(data)
    pieces: list[Piece] = []
    whole = Message(data, path)
    rules = Rules()
    for value in Message(data, path, behind).fields():
        if value.number == 1:
            message = whole.message(value)
            pieces.append(_piece(message))
        elif value.number in (2, 3):
            rules = (_trainer if value.number == 2 else _normalizer)(whole.message(value), rules)
        elif value.number not in (4, 5):  # a self test, and what is done to decoded text, which is checked below
            raise whole.refused(value.at, f"field {value.number} of a model is not known here; what it does is unsure")
        elif value.number == 5:
            _check_denormalizer(whole.message(value))
        if len(usual.lengths) + len(pieces) > MAX_ENTRIES:
            raise whole.refused(value.at, f"there are more than {MAX_ENTRIES} pieces")
    return columns_of(usual.pieces() + pieces) if pieces else usual, rules


def _usual_pieces(data: bytes) -> tuple[Columns, int]:
    """The pieces that a file begins with, as long as each is as usual, read in a fraction of the time: files have
    hundreds of thousands. And where the first other one begins, or a bad one."""
    texts, sizes, scores, kinds, places, end = usual_pieces(data, MAX_ENTRIES)
    if not is_utf8(texts):
        return columns_of([]), 0
    numbers = np.frombuffer(sizes, np.uint32).astype(np.int64), np.frombuffer(scores, np.float32).astype(np.float64)
    return Columns(
        texts, *numbers, np.frombuffer(kinds, np.uint8).astype(np.int64), np.frombuffer(places, np.uint64)
    ), end


def _piece(message: Message) -> Piece:
    text, score, kind = "", 0.0, NORMAL
    for value in message.fields():
        if value.number == 1:
            text = message.text(value)
        elif value.number == 2:
            score = message.real(value)
        elif value.number == 3:
            kind = message.whole(value)
        else:
            raise message.refused(value.at, f"field {value.number} of a piece is not known here")
    if not text or len(text.encode()) > MAX_TOKEN_BYTES:
        raise message.refused(message.start, f"a piece is empty, or has more than {MAX_TOKEN_BYTES} bytes")
    if not NORMAL <= kind <= BYTE or score != score:
        raise message.refused(message.start, f"the piece {shown(text)} has the type {kind} and the score {score}")
    return Piece(text, score, kind, message.start)


def _trainer(message: Message, rules: Rules) -> Rules:
    """Other fields of TrainerSpec say how the model was trained."""
    for value in message.fields():
        if value.number == 3:
            rules = rules._replace(type=message.whole(value))
        elif value.number == 24:
            rules = rules._replace(suffix=message.flag(value))
        elif value.number == 35:
            rules = rules._replace(byte_fallback=message.flag(value))
        elif value.number == 44:
            rules = rules._replace(surface=message.text(value))
    return rules


def _normalizer(message: Message, rules: Rules) -> Rules:
    for value in message.fields():
        if value.number == 1:
            rules = rules._replace(name=message.text(value))
        elif value.number == 2:
            rules = rules._replace(charsmap=_bytes(message, value))
        elif value.number in (3, 4, 5):
            rules = _with_flag(rules, value.number, message.flag(value))
        elif value.number != 6:  # the rules that the map of characters was made of
            raise message.refused(value.at, f"field {value.number} of a normalizer is not known here")
    return rules


def _with_flag(rules: Rules, number: int, flag: bool) -> Rules:
    if number == 3:
        return rules._replace(prefix=flag)
    return rules._replace(fewer_blanks=flag) if number == 4 else rules._replace(escaped=flag)


def _bytes(message: Message, value: Value) -> bytes:
    inner = message.message(value)
    return inner.data[inner.start : inner.end]


def _check_denormalizer(message: Message) -> None:
    if _normalizer(message, Rules()).charsmap:
        raise message.refused(message.start, "a denormalizer changes decoded text: not supported")


# ==== What is supported ====


def _check_type(rules: Rules, whole: Message) -> None:
    if rules.type not in TYPES:
        raise VocabularyError(
            f"trainer_spec.model_type: {rules.type} is no type that is known here; {', '.join(TYPES.values())} are",
            whole.path,
        )


# ==== Unigram ====

_USER_BYTE = 0.1
"""What a user-defined piece scores for each of its bytes but the first."""


def _scored(columns: Columns, rules: Rules, whole: Message) -> Model:
    """The model of pieces that are divided by scores. Normal and user-defined pieces are what text becomes; control
    pieces, unused ones and those of bytes no text is."""
    kinds, scores, lengths = columns.kinds, columns.scores.copy(), columns.lengths
    _check_scored(columns, rules, whole)
    silent = (kinds != NORMAL) & (kinds != USER)
    users = kinds == USER
    scores[users] = (_USER_BYTE * (lengths[users] - 1)).astype(np.float32)
    least = float(np.float32(scores[kinds == NORMAL].min() - UNKNOWN_BELOW))
    places = {text: place for place, text, _ in columns.of_kinds(BYTE)}
    unknown = int(np.nonzero(kinds == UNKNOWN)[0][0])
    tokens = Scored(
        columns.texts,
        lengths,
        np.arange(len(lengths), dtype=np.uint32),
        np.where(np.isfinite(scores), scores, 0.0) if silent.any() else scores,
        silent,
        unknown,
        least,
        [places.get(name, -1) for name in BYTE_NAMES],
        True,
        rules.byte_fallback,
    )
    try:
        vocabulary = pack_scored(tokens)
    except VocabularyError as error:
        raise VocabularyError(f"pieces: {error.reason}", whole.path) from None
    model = {"type": SENTENCES, "unk_id": unknown, "byte_fallback": rules.byte_fallback, "vocab": None}
    record = sentence_record(columns, rules, unknown) | {"model": model}
    return Model(whole.path, record, vocabulary, (), parts_of(Field(record, whole.path)))


def _check_scored(columns: Columns, rules: Rules, whole: Message) -> None:
    kinds, ends = columns.kinds, np.cumsum(columns.lengths).tolist()
    texts = {columns.texts[a:b] for a, b in pairwise([0, *ends])}
    are_sound = len(texts) == len(kinds) and b"\0" not in columns.texts and bool(np.isfinite(columns.scores).all())
    if not are_sound or (kinds == BYTE).any():
        _check_each(columns.pieces(), whole)
    for kind, count, what in ((UNKNOWN, 1, "unknown piece"), (BYTE, 256 * rules.byte_fallback, "piece of a byte")):
        found = int((kinds == kind).sum())
        if found != count and (kind != BYTE or rules.byte_fallback):
            raise VocabularyError(f"pieces: there are {found} of the kind {shown(what)}, not {count}", whole.path)
    if not (kinds == NORMAL).any():
        raise VocabularyError("pieces: there is no normal piece", whole.path)


def _check_each(pieces: list[Piece], whole: Message) -> None:
    seen: set[str] = set()
    for piece in pieces:
        if piece.text in seen or "\0" in piece.text:
            raise whole.refused(piece.at, f"the piece {shown(piece.text)} is there twice, or holds a NUL")
        seen.add(piece.text)
        if not math.isfinite(piece.score) and piece.kind == NORMAL:
            raise whole.refused(piece.at, f"the piece {shown(piece.text)} has the score {piece.score}")
        if (piece.kind == BYTE) > (piece.text in BYTES):
            raise whole.refused(piece.at, f"{shown(piece.text)} has type {piece.kind}: bytes are <0x00> to <0xFF>")
