"""The .model files of SentencePiece, where they are of type BPE or Unigram.

SentencePiece merges the two neighbours whose joined text is the piece with the highest score, the leftmost of equal
ones first. That is a list of merges: each way to cut a piece into two, in the order of the scores of the pieces, as
long as no two pieces have one score (but _check_scores).
"""

from __future__ import annotations

import base64
import math
import struct
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from ..bundled.characters import BYTE_NAMES, byte_places, pack_symbols, symbols
from ..bundled.packed import MAX_ENTRIES, MAX_TOKEN_BYTES
from ..bundled.scored import UNKNOWN_BELOW, Scored, pack_scored
from ..errors import VocabularyError, shown
from .field import Field
from .kinds import SENTENCES
from .model import Model, parts_of
from .wire import Message, Value

_NORMAL, _UNKNOWN, _CONTROL, _USER, _UNUSED, _BYTE = range(1, 7)
TYPES = {1: "Unigram", 2: "BPE", 3: "Word", 4: "Char"}
_UNIGRAM, _BPE = 1, 2
_MARK = "\u2581"
_MOST_RUNS = 16
"""Characters whose runs may have one score: ten times as many as in any published file. Each costs a look at all
pieces."""


def is_sentencepiece(data: bytes) -> bool:
    """Whether the bytes of a file look like those of a .model rather than of JSON: its first field is a piece."""
    return data[:1] == b"\n" and data.lstrip(b" \t\r\n")[:1] != b"{"


class _Piece(NamedTuple):
    text: str
    score: float
    kind: int
    at: int


class _Rules(NamedTuple):
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


def read_sentencepiece(data: bytes, path: str) -> Model:
    """The model of the bytes of a .model file. VocabularyError: it is damaged, or says what is not supported."""
    whole = Message(data, path)
    pieces: list[_Piece] = []
    rules = _Rules()
    for value in whole.fields():
        if value.number == 1:
            message = whole.message(value)
            pieces.append(_usual_piece(message) or _piece(message))
        elif value.number in (2, 3):
            rules = (_trainer if value.number == 2 else _normalizer)(whole.message(value), rules)
        elif value.number not in (4, 5):  # a self test, and what is done to decoded text, which is checked below
            raise whole.refused(value.at, f"field {value.number} of a model is not known here; what it does is unsure")
        elif value.number == 5:
            _check_denormalizer(whole.message(value))
        if len(pieces) > MAX_ENTRIES:
            raise whole.refused(value.at, f"there are more than {MAX_ENTRIES} pieces")
    if rules.type == _UNIGRAM:
        return _scored(pieces, rules, whole)
    _check_rules(rules, whole)
    _check_pieces(pieces, rules.prefix, whole)
    return _model(pieces, rules, whole)


# ==== Messages ====


def _usual_piece(message: Message) -> _Piece | None:
    """A piece as it nearly always is, a text, a score, and a type if it is no normal one, read in a fraction of the
    time: files have tens of thousands. None: another one, or a wrong one."""
    data, start = message.data, message.start
    behind = start + 2 + data[start + 1] if message.end - start > 1 else message.end
    kinds = message.end - behind - 5  # bytes of the type
    if kinds not in (0, 2) or data[start] != 0x0A or not 0 < data[start + 1] < 0x80 or data[behind] != 0x15:
        return None
    if kinds and (data[behind + 5] != 0x18 or not _NORMAL <= data[behind + 6] <= _BYTE):
        return None
    (score,) = struct.unpack_from("<f", data, behind + 1)
    try:
        text = data[start + 2 : behind].decode()
    except UnicodeDecodeError:
        return None
    return _Piece(text, score, data[behind + 6] if kinds else _NORMAL, start) if score == score else None


def _piece(message: Message) -> _Piece:
    text, score, kind = "", 0.0, _NORMAL
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
    if not _NORMAL <= kind <= _BYTE or score != score:
        raise message.refused(message.start, f"the piece {shown(text)} has the type {kind} and the score {score}")
    return _Piece(text, score, kind, message.start)


def _trainer(message: Message, rules: _Rules) -> _Rules:
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


def _normalizer(message: Message, rules: _Rules) -> _Rules:
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


def _with_flag(rules: _Rules, number: int, flag: bool) -> _Rules:
    if number == 3:
        return rules._replace(prefix=flag)
    return rules._replace(fewer_blanks=flag) if number == 4 else rules._replace(escaped=flag)


def _bytes(message: Message, value: Value) -> bytes:
    inner = message.message(value)
    return inner.data[inner.start : inner.end]


def _check_denormalizer(message: Message) -> None:
    if _normalizer(message, _Rules()).charsmap:
        raise message.refused(message.start, "a denormalizer changes decoded text: not supported")


# ==== What is supported ====


def _check_rules(rules: _Rules, whole: Message) -> None:
    if rules.type != _BPE:
        kind = TYPES.get(rules.type, rules.type)
        raise VocabularyError(
            f"trainer_spec.model_type: the model is of type {shown(kind)}; BPE and Unigram are supported, and others "
            "split in other ways",
            whole.path,
        )
    for wrong, place, reason in (
        (
            not rules.byte_fallback,
            "trainer_spec.byte_fallback",
            "it is not set, so that a character that is no piece would be an unknown one",
        ),
        (rules.suffix, "trainer_spec.treat_whitespace_as_suffix", "blanks would stand behind words"),
        (
            rules.charsmap,
            "normalizer_spec.precompiled_charsmap",
            f"the rules {shown(rules.name)} are compiled into a map of characters; identity has none",
        ),
        (
            rules.fewer_blanks,
            "normalizer_spec.remove_extra_whitespaces",
            "blanks at the ends of a text, and all but one of several, would be left out",
        ),
        (
            not rules.escaped,
            "normalizer_spec.escape_whitespaces",
            f"it is not set, so that blanks would not become {_MARK}",
        ),
    ):
        if wrong:
            raise VocabularyError(f"{place}: {reason}: not supported", whole.path)


def _check_user(piece: _Piece, prefix: bool, whole: Message) -> None:
    """A user-defined piece is found in a text whose blanks are marks, before anything is merged."""
    if prefix:
        raise whole.refused(
            piece.at,
            f"the piece {shown(piece.text)} is user-defined, and add_dummy_prefix is set: what stands in front of a "
            "text that begins with such a piece is not supported",
        )
    if " " in piece.text:
        raise whole.refused(
            piece.at, f"the user-defined piece {shown(piece.text)} holds a blank, where texts have {_MARK}"
        )


def read_pieces(given: list[tuple[str, float, int]], prefix: bool, template: dict[str, Any] | None, path: str) -> Model:
    """The model of pieces as other files have them: (text, score, type). Those that are user-defined are found in the
    text as it was given, and unused ones are decoded only. VocabularyError."""
    pieces = [_Piece(*piece, place) for place, piece in enumerate(given)]
    whole = Message(b"", path)
    rules = _Rules(_BPE, byte_fallback=True, prefix=prefix, fewer_blanks=False)
    _check_pieces(pieces, prefix, whole, True)
    return _model(pieces, rules, whole, {"post_processor": template}, True)


def _check_pieces(pieces: list[_Piece], prefix: bool, whole: Message, as_given: bool = False) -> None:
    """as_given: as read_pieces() says."""
    seen: dict[str, int] = {}
    for piece in pieces:
        if piece.text in seen:
            raise whole.refused(piece.at, f"the piece {shown(piece.text)} is there twice")
        seen[piece.text] = piece.kind
        if piece.kind == _UNUSED and not (as_given and len(piece.text) > 1):
            raise whole.refused(piece.at, f"the piece {shown(piece.text)} is unused: not supported")
        if piece.kind == _USER and not as_given:
            _check_user(piece, prefix, whole)
        if (piece.kind == _BYTE) != (piece.text in _BYTES):
            raise whole.refused(piece.at, f"{shown(piece.text)} has type {piece.kind}: bytes are <0x00> to <0xFF>")
        if len(piece.text) == 1 and piece.kind not in (_NORMAL, _USER):
            raise whole.refused(piece.at, f"the piece {shown(piece.text)} is a character, and no normal piece")
    _check_scores(pieces, whole)
    known = {piece.text for piece in pieces if piece.kind == _NORMAL}
    for piece in pieces:
        if piece.kind == _NORMAL and not known.issuperset(piece.text):
            lost = next(character for character in piece.text if character not in known)
            raise whole.refused(piece.at, f"{shown(piece.text)} holds {shown(lost)}, which is no piece")


def _check_scores(pieces: list[_Piece], whole: Message) -> None:
    """Of pieces with one score, the one that stands first in a text is made first: no order of pieces says that, unless
    all are runs of one character, as those of Llama 2, and no other piece holds two of it. Then the longest in front of
    the others is such an order. Let a run be what is left of one when these pieces come to be merged: characters, each
    by itself. At each time it is chunks that do not go together, a chunk that grows, and characters; so the pieces that
    can be made are, from left to right, the growing chunk with the one in front of it, with the next character, and two
    characters: ever shorter ones. Runs do nothing to each other, and open no way to any other piece."""
    longer = [piece for piece in pieces if piece.kind == _NORMAL and len(piece.text) > 1]
    times = Counter([piece.score for piece in longer])
    equal = [score for score, count in times.items() if count > 1]
    for score in equal:
        group = [piece for piece in longer if piece.score == score]
        two = group[0].text[0] * 2
        holders = sum(two in piece.text for piece in longer)
        if (
            len(equal) > _MOST_RUNS
            or holders != len(group)
            or any(len(set(piece.text)) > 1 or two not in piece.text for piece in group)
        ):
            one, other = group[:2]
            raise whole.refused(
                other.at,
                f"{shown(one.text)} and {shown(other.text)} have one score, {score}: which of them is made first would "
                "depend on where they stand",
            )


_BYTES = frozenset(BYTE_NAMES)


# ==== The model ====


def _model(
    pieces: list[_Piece],
    rules: _Rules,
    whole: Message,
    parts: dict[str, Any] | None = None,
    as_given: bool = False,
) -> Model:
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
    vocabulary = pack_symbols(found, _merges(pieces))
    record = _record(pieces, rules, as_given) | (parts or {})
    raw = tuple(-1 if place is None else place for place in of_bytes)
    return Model(whole.path, record, vocabulary, raw, parts_of(Field(record, whole.path)))


# ==== Unigram ====

_USER_BYTE = 0.1
"""What a user-defined piece scores for each of its bytes but the first."""


def _scored(pieces: list[_Piece], rules: _Rules, whole: Message) -> Model:
    """The model of pieces that are divided by scores. Normal and user-defined pieces are what text becomes; control
    pieces, unused ones and those of bytes no text is."""
    kinds = np.array([piece.kind for piece in pieces], np.int64)
    texts = [piece.text.encode() for piece in pieces]
    scores = np.array([piece.score for piece in pieces], np.float64)
    _check_scored(pieces, kinds, rules, whole)
    silent = (kinds != _NORMAL) & (kinds != _USER)
    lengths = np.array([*map(len, texts)], np.int64)
    users = kinds == _USER
    scores[users] = (_USER_BYTE * (lengths[users] - 1)).astype(np.float32)
    least = float(np.float32(scores[kinds == _NORMAL].min() - UNKNOWN_BELOW))
    places = {piece.text: place for place, piece in enumerate(pieces) if piece.kind == _BYTE}
    unknown = int(np.nonzero(kinds == _UNKNOWN)[0][0])
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
    record = _scored_record(pieces, rules, unknown)
    return Model(whole.path, record, vocabulary, (), parts_of(Field(record, whole.path)))


def _check_scored(
    pieces: list[_Piece], kinds: np.ndarray[Any, np.dtype[np.int64]], rules: _Rules, whole: Message
) -> None:
    seen: set[str] = set()
    for piece in pieces:
        if piece.text in seen or "\0" in piece.text:
            raise whole.refused(piece.at, f"the piece {shown(piece.text)} is there twice, or holds a NUL")
        seen.add(piece.text)
        if not math.isfinite(piece.score) and piece.kind == _NORMAL:
            raise whole.refused(piece.at, f"the piece {shown(piece.text)} has the score {piece.score}")
        if (piece.kind == _BYTE) > (piece.text in _BYTES):
            raise whole.refused(piece.at, f"{shown(piece.text)} has type {piece.kind}: bytes are <0x00> to <0xFF>")
    for kind, count, what in ((_UNKNOWN, 1, "unknown piece"), (_BYTE, 256 * rules.byte_fallback, "piece of a byte")):
        found = int((kinds == kind).sum())
        if found != count and (kind != _BYTE or rules.byte_fallback):
            raise VocabularyError(f"pieces: there are {found} of the kind {shown(what)}, not {count}", whole.path)
    if not (kinds == _NORMAL).any():
        raise VocabularyError("pieces: there is no normal piece", whole.path)


def _scored_record(pieces: list[_Piece], rules: _Rules, unknown: int) -> dict[str, Any]:
    """The parts of the file as those of a tokenizer.json, which can say all but the normalizer and the model."""
    record = _record([], rules, True)
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    record["added_tokens"] = [
        {"id": place, "content": piece.text, **flags, "special": True}
        for place, piece in enumerate(pieces)
        if piece.kind in (_UNKNOWN, _CONTROL)
    ]
    record["decoder"] = {
        "type": "SentencePiece",
        "mark": _MARK,
        "unknown": pieces[unknown].text,
        "unk_surface": rules.surface,
        "add_dummy_prefix": rules.prefix,
        "remove_extra_whitespaces": rules.fewer_blanks,
        "byte_fallback": rules.byte_fallback,
    }
    record["normalizer"] = {
        "type": "SentencePiece",
        "precompiled_charsmap": base64.b64encode(rules.charsmap).decode(),
        "symbols": [piece.text for piece in pieces if piece.kind == _USER],
        "add_dummy_prefix": rules.prefix,
        "treat_whitespace_as_suffix": rules.suffix,
        "remove_extra_whitespaces": rules.fewer_blanks,
        "escape_whitespaces": rules.escaped,
    }
    record["model"] = {"type": SENTENCES, "unk_id": unknown, "byte_fallback": rules.byte_fallback, "vocab": None}
    return record


def _merges(pieces: list[_Piece]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Places (left, right, made), the highest score first; of one score the longest (_check_scores)."""
    normal = {piece.text: place for place, piece in enumerate(pieces) if piece.kind == _NORMAL}
    rows = []
    for made in sorted(normal.values(), key=lambda place: (-pieces[place].score, -len(pieces[place].text))):
        text = pieces[made].text
        for at in range(1, len(text)):
            left, right = normal.get(text[:at]), normal.get(text[at:])
            if left is not None and right is not None:
                rows.append((left, right, made))
    return np.array(rows, np.int64).reshape(-1, 3)


def _record(pieces: list[_Piece], rules: _Rules, as_given: bool) -> dict[str, Any]:
    """The tokenizer.json that says the same, without tokens and merges."""
    late = -1 if as_given else _USER  # the type of those that are sought in normalized text
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
    added = [
        {"id": place, "content": piece.text, **flags, "normalized": piece.kind == late, "special": piece.kind != _USER}
        for place, piece in enumerate(pieces)
        if piece.kind in (_UNKNOWN, _CONTROL, _USER)
    ]
    blanks: dict[str, Any] = {"type": "Replace", "pattern": {"String": " "}, "content": _MARK}
    back: list[dict[str, Any]] = [
        {"type": "Replace", "pattern": {"String": _MARK}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
    ]
    if rules.prefix:
        blanks = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": _MARK}, blanks]}
        back.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    unknown = next((piece.text for piece in pieces if piece.kind == _UNKNOWN), None)
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
