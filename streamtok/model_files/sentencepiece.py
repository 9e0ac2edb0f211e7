"""The .model files of SentencePiece."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np

from ..bundled.characters import BYTE_NAMES
from ..bundled.packed import MAX_ENTRIES, MAX_TOKEN_BYTES
from ..bundled.scored import UNKNOWN_BELOW, Scored, pack_scored
from ..errors import VocabularyError, shown
from .field import Field
from .kinds import SENTENCES
from .model import Model, parts_of
from .piece_pairs import read_pairs
from .pieces import BYTE, BYTES, NORMAL, TYPES, UNIGRAM, UNKNOWN, USER, Piece, Rules, sentence_record
from .wire import Message, Value


def is_sentencepiece(data: bytes) -> bool:
    """Whether the bytes of a file look like those of a .model rather than of JSON: its first field is a piece."""
    return data[:1] == b"\n" and data.lstrip(b" \t\r\n")[:1] != b"{"


def read_sentencepiece(data: bytes, path: str) -> Model:
    """The model of the bytes of a .model file. VocabularyError: it is damaged, or says what is not supported."""
    pieces, rules = read_messages(data, path)
    whole = Message(data, path)
    if rules.type == UNIGRAM:
        return _scored(pieces, rules, whole)
    _check_type(rules, whole)
    return read_pairs(pieces, rules, whole)


# ==== Messages ====


def read_messages(data: bytes, path: str) -> tuple[list[Piece], Rules]:
    """What a .model says. VocabularyError: it is damaged, or says what is not known."""
    pieces, behind = _usual_pieces(data)
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
        if len(pieces) > MAX_ENTRIES:
            raise whole.refused(value.at, f"there are more than {MAX_ENTRIES} pieces")
    return pieces, rules


def _usual_pieces(data: bytes) -> tuple[list[Piece], int]:
    """The pieces that a file begins with, as long as each is a text, a score, and a type if it is no normal one, read
    in a fraction of the time: files have hundreds of thousands. And where the first other one begins, or a bad one."""
    pieces: list[Piece] = []
    at, most = 0, len(data) - _LARGEST_PIECE
    score_at, make = struct.Struct("<f").unpack_from, tuple.__new__
    while at <= most and data[at] == 0x0A and data[at + 2] == 0x0A and len(pieces) < MAX_ENTRIES:
        size, length = data[at + 1], data[at + 3]
        behind, end = at + 4 + length, at + 2 + size
        if not 0 < length < 0x80 > size or data[behind] != 0x15:
            break
        kind = NORMAL
        if size == length + 9:  # a type, which has two bytes
            kind = data[behind + 6]
            if data[behind + 5] != 0x18 or not NORMAL <= kind <= BYTE:
                break
        elif size != length + 7:
            break
        (score,) = score_at(data, behind + 1)
        try:
            text = data[at + 4 : behind].decode()
        except UnicodeDecodeError:
            break
        if score != score:
            break
        pieces.append(make(Piece, (text, score, kind, at + 2)))
        at = end
    return pieces, at


_LARGEST_PIECE = 2 + 0x7F + 0xFF  # bytes that are read of one


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


def _scored(pieces: list[Piece], rules: Rules, whole: Message) -> Model:
    """The model of pieces that are divided by scores. Normal and user-defined pieces are what text becomes; control
    pieces, unused ones and those of bytes no text is."""
    kinds = np.array([piece[2] for piece in pieces], np.int64)
    scores = np.array([piece[1] for piece in pieces], np.float64)
    _check_scored(pieces, kinds, scores, rules, whole)
    texts = [piece[0].encode() for piece in pieces]
    silent = (kinds != NORMAL) & (kinds != USER)
    lengths = np.array([*map(len, texts)], np.int64)
    users = kinds == USER
    scores[users] = (_USER_BYTE * (lengths[users] - 1)).astype(np.float32)
    least = float(np.float32(scores[kinds == NORMAL].min() - UNKNOWN_BELOW))
    places = {pieces[place].text: place for place in np.nonzero(kinds == BYTE)[0].tolist()}
    unknown = int(np.nonzero(kinds == UNKNOWN)[0][0])
    tokens = Scored(
        b"".join(texts),
        lengths,
        np.arange(len(pieces), dtype=np.uint32),
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
    record = sentence_record(pieces, rules, unknown) | {"model": model}
    return Model(whole.path, record, vocabulary, (), parts_of(Field(record, whole.path)))


def _check_scored(
    pieces: list[Piece],
    kinds: np.ndarray[Any, np.dtype[np.int64]],
    scores: np.ndarray[Any, np.dtype[np.float64]],
    rules: Rules,
    whole: Message,
) -> None:
    texts = {piece[0] for piece in pieces}
    are_sound = len(texts) == len(pieces) and "\0" not in "".join(texts) and bool(np.isfinite(scores).all())
    if not are_sound or (kinds == BYTE).any():
        _check_each(pieces, whole)
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
