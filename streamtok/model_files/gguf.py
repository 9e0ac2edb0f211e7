"""The tokenizer in the head of a GGUF file, read as the tokenizer.json that says the same.

Ids are those of the file's array. Text is split as the models' own files do it: `tokenizer.ggml.pre` names how, and
a name that is not known is refused. Normalizers do not stand in such files, and none is guessed.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..bundled.listed import pack_listed
from ..bundled.packed import MAX_ENTRIES
from ..bundled.scored import scored_text
from ..errors import VocabularyError, shown
from .description import Ranks
from .gguf_head import MAGIC, parse_head
from .gguf_splits import BEGUN, OF_CHARACTERS, SPLIT_OF, UNSURE, WHOLE, level, steps_of
from .piece_pairs import read_pieces
from .pieces import BYTE, CONTROL, MARK, NORMAL, UNUSED, USER
from .records import metaspace, record_text

if TYPE_CHECKING:
    from .model import Model

    Reader = Callable[[bytes, str], Model]


def is_gguf(data: bytes) -> bool:
    """Whether the bytes are the head of such a file."""
    return data[: len(MAGIC)] == MAGIC


class _File:
    """The values of a head that concern the tokenizer. VocabularyError: one is missing, or of another type."""

    def __init__(self, data: bytes, path: str) -> None:
        self.path = path
        self._values = parse_head(data, path)

    def refused(self, key: str, reason: str) -> VocabularyError:
        return VocabularyError(f"tokenizer.ggml.{key}: {reason}", self.path)

    def get(self, key: str, kind: type, default: Any) -> Any:
        value = self._values.get(f"tokenizer.ggml.{key}", default)
        if value is not default and (type(value) is not kind):
            raise self.refused(key, f"{shown(value)} is of another type than such a file has there")
        return value

    def text(self, key: str) -> str | None:
        value = self.get(key, bytes, None)
        return None if value is None else self._decoded(value, key)

    def _decoded(self, value: Any, key: str) -> str:
        try:
            found: str = value.decode()
        except (AttributeError, UnicodeDecodeError):
            raise self.refused(key, f"{shown(value)} is no text in UTF-8") from None
        return found

    def texts(self, key: str) -> list[str]:
        return [self._decoded(value, f"{key}[{i}]") for i, value in enumerate(self.get(key, list, []))]

    def flag(self, key: str, default: bool) -> bool:
        return bool(self.get(key, bool, default))

    def token(self, key: str, count: int) -> int | None:
        value = self.get(key, int, None)
        if value is not None and not 0 <= value < count:
            raise self.refused(key, f"there is no token with id {value}")
        return value  # type: ignore[no-any-return]


FORMS = ("NFC", "NFD", "NFKC", "NFKD")
"""What from_file(normalizer=) takes."""


def read_gguf(data: bytes, path: str, read: Reader, normalizer: str | None = None) -> Model | Ranks:
    """The model of a head. read: makes one of the bytes of a tokenizer.json. normalizer: a form of Unicode that texts
    are brought to first, which such a file does not say. VocabularyError."""
    file = _File(data, path)
    kind = file.text("model")
    if kind is None:
        raise file.refused("model", "it is missing: of a model in several files the first one has the tokenizer")
    tokens = file.texts("tokens")
    if not 0 < len(tokens) <= MAX_ENTRIES:
        raise file.refused("tokens", f"there are {len(tokens)} tokens; 1 to {MAX_ENTRIES} are supported")
    kinds = file.get("token_type", list, [NORMAL] * len(tokens))
    if len(kinds) != len(tokens) or not all(type(each) is int and NORMAL <= each <= BYTE for each in kinds):
        raise file.refused("token_type", "it has not a type from 1 to 6 for each token")
    if normalizer is not None and kind != "gpt2":
        raise file.refused("model", f"normalizer={normalizer!r} is for the model gpt2, and this one is {shown(kind)}")
    if kind == "rwkv":
        return _world(file, tokens, kinds)
    if kind == "llama":
        return _sentencepiece(file, tokens, kinds)
    makers = {"gpt2": _of_bytes, "bert": _of_words, "gemma4": _of_characters, "t5": _of_scores}
    if kind not in makers:
        raise file.refused(
            "model",
            f"{shown(kind)} is not supported; rwkv, llama, {', '.join(makers)} are: take the model's tokenizer.json",
        )
    record = makers[kind](file, tokens, kinds)
    if normalizer is not None:
        if record["normalizer"] is not None:
            raise file.refused("pre", f"normalizer={normalizer!r} is for text that begins as bytes")
        record["normalizer"] = {"type": normalizer}
    return read(record_text(record).encode("utf-8", "surrogatepass"), path)


def _added(tokens: list[str], kinds: list[int], more: tuple[int | None, ...] = ()) -> list[dict[str, Any]]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return [
        {"id": i, "content": token, **flags, "special": kind != USER}
        for i, (token, kind) in enumerate(zip(tokens, kinds))
        if kind in (CONTROL, USER) or i in more
    ]


def _template(
    file: _File, tokens: list[str], begun: bool, ended: bool = False, end: int | None = None
) -> dict[str, Any] | None:
    """What stands around a text: the tokens that the file names for it. end: the one behind it where none is named."""
    ends = ("cls_token_id", "seperator_token_id") if file.text("model") == "bert" else ("bos_token_id", "eos_token_id")
    steps: list[dict[str, Any]] = [{"Sequence": {"id": "A", "type_id": 0}}]
    listed = {}
    for place, (key, name, default) in enumerate(zip(ends, ("add_bos_token", "add_eos_token"), (begun, ended))):
        if not file.flag(name, default):
            continue
        token = file.token(key, len(tokens))
        token = end if token is None and place else token
        if token is None:
            raise file.refused(key, f"it is missing, and {name} is set")
        listed[tokens[token]] = {"id": tokens[token], "ids": [token], "tokens": [tokens[token]]}
        steps.insert(place * len(steps), {"SpecialToken": {"id": tokens[token], "type_id": 0}})
    return {"type": "TemplateProcessing", "single": steps, "pair": [], "special_tokens": listed} if listed else None


def _record(**parts: Any) -> dict[str, Any]:
    made = dict.fromkeys(("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder"))
    return {"version": "1.0", **made, **parts}


def _merges(file: _File) -> list[tuple[str, str]]:
    found = []
    for i, merge in enumerate(file.texts("merges")):
        at = merge.find(" ", 1)
        if at < 0:
            raise file.refused(f"merges[{i}]", f"{shown(merge)} is not two tokens with a blank between")
        found.append((merge[:at], merge[at + 1 :]))
    return found


# ==== BPE ====


def _of_bytes(file: _File, tokens: list[str], kinds: list[int]) -> dict[str, Any]:
    """Tokens behind the last one of merges are no letters for bytes, but the texts of added tokens."""
    name = file.text("pre")
    if name in OF_CHARACTERS:
        return _of_characters(file, tokens, kinds)
    if name not in SPLIT_OF:
        said = "it is missing" if name is None else f"{shown(name)} is not known here"
        said = f"{shown(name)}: {UNSURE[name]}" if name in UNSURE else f"{said}: how text is split is not certain"
        raise file.refused("pre", f"{said}; take the model's tokenizer.json")
    base = 1 + max((i for i, kind in enumerate(kinds) if kind not in (CONTROL, USER)), default=-1)
    model: dict[str, Any] = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "fuse_unk": False,
        "byte_fallback": False,
    }
    model |= {"ignore_merges": name in WHOLE, "vocab": _vocab(file, tokens[:base]), "merges": _merges(file)}
    return _record(
        added_tokens=_added(tokens, kinds),
        pre_tokenizer={"type": "Sequence", "pretokenizers": steps_of(SPLIT_OF[name])},
        post_processor=_template(file, tokens, name in BEGUN),
        decoder=level(False),
        model=model,
    )


def _vocab(file: _File, tokens: list[str]) -> dict[str, int]:
    vocab: dict[str, int] = {}
    for i, token in enumerate(tokens):
        if token in vocab:
            raise file.refused(f"tokens[{i}]", f"{shown(token)} is token {vocab[token]}, too")
        vocab[token] = i
    return vocab


_BLANKS = {"type": "Replace", "pattern": {"String": " "}, "content": MARK}
_BACK = {"type": "Replace", "pattern": {"String": MARK}, "content": " "}


def _of_characters(file: _File, tokens: list[str], kinds: list[int]) -> dict[str, Any]:
    """Gemma 4's: merges of characters, with blanks as marks, and tokens of bytes."""
    unknown = file.token("unknown_token_id", len(tokens))
    model: dict[str, Any] = {"type": "BPE", "dropout": None, "unk_token": None if unknown is None else tokens[unknown]}
    model |= {"fuse_unk": True, "byte_fallback": True, "vocab": _vocab(file, tokens), "merges": _merges(file)}
    return _record(
        added_tokens=_added(tokens, kinds, (unknown,)),
        normalizer=_BLANKS,
        post_processor=_template(file, tokens, file.text("pre") != "sarvam-moe"),
        decoder={"type": "Sequence", "decoders": [_BACK, {"type": "ByteFallback"}, {"type": "Fuse"}]},
        model=model,
    )


# ==== Others ====


def _of_scores(file: _File, tokens: list[str], kinds: list[int]) -> dict[str, Any]:
    """T5's, XLM-R's: Unigram as tokenizers has it. Tokens that no text becomes score 0, as there."""
    scores = file.get("scores", list, [])
    if len(scores) != len(tokens):
        raise file.refused("scores", f"there are {len(scores)} scores for {len(tokens)} tokens")
    unknown = file.token("unknown_token_id", len(tokens))
    unknown = 2 if unknown is None and len(tokens) > 2 else unknown
    if unknown is None:
        raise file.refused("unknown_token_id", "it is missing, and characters that are no tokens need one")
    _vocab(file, tokens)
    charsmap = bytes(value & 0xFF for value in file.get("precompiled_charsmap", list, []))
    marks = metaspace(MARK, "always" if file.flag("add_space_prefix", True) else "never")
    fewer = [{"type": "WhitespaceSplit"}] * file.flag("remove_extra_whitespaces", False)
    each = (float(score) if kind == NORMAL else 0.0 for score, kind in zip(scores, kinds))
    encoded = base64.b64encode(charsmap).decode()
    return _record(
        added_tokens=_added(tokens, kinds, (unknown,)),
        normalizer={"type": "Precompiled", "precompiled_charsmap": encoded} if charsmap else None,
        pre_tokenizer={"type": "Sequence", "pretokenizers": [*fewer, marks]},
        post_processor=_template(file, tokens, False, True, 1),
        decoder=marks,
        model={
            "type": "Unigram",
            "unk_id": unknown,
            "byte_fallback": False,
            "vocab": scored_text(zip(tokens, each)),
        },
    )


def _of_words(file: _File, tokens: list[str], kinds: list[int]) -> dict[str, Any]:
    """BERT's: tokens that begin a word have a mark in front, and others nothing."""
    unknown = file.token("unknown_token_id", len(tokens))
    if unknown is None:
        raise file.refused("unknown_token_id", "it is missing, and words that tokens do not cover need one")
    names = [
        token if kind != NORMAL or i == unknown else token[1:] if token.startswith(MARK) else f"##{token}"
        for i, (token, kind) in enumerate(zip(tokens, kinds))
    ]
    lower, strips = file.flag("normalizer.lowercase", True), file.flag("normalizer.strip_accents", True)
    return _record(
        added_tokens=_added(tokens, kinds, (unknown,)),
        normalizer={
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": strips,
            "lowercase": lower,
        },
        pre_tokenizer={"type": "BertPreTokenizer"},
        post_processor=_template(file, tokens, True, True),
        decoder={"type": "WordPiece", "prefix": "##", "cleanup": True},
        model={
            "type": "WordPiece",
            "unk_token": names[unknown],
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": _vocab(file, names),
        },
    )


def _sentencepiece(file: _File, tokens: list[str], kinds: list[int]) -> Model:
    scores = file.get("scores", list, [])
    if len(scores) != len(tokens):
        raise file.refused("scores", f"there are {len(scores)} scores for {len(tokens)} tokens")
    template = _template(file, tokens, True)
    prefix = file.flag("add_space_prefix", True)
    return read_pieces(list(zip(tokens, map(float, scores), kinds)), prefix, template, file.path)


_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)


def _unescaped(token: str) -> bytes:
    known = {b"t": b"\t", b"n": b"\n", b"r": b"\r"}

    def one(match: re.Match[bytes]) -> bytes:
        name = match[1]
        return bytes([int(name[1:], 16)]) if len(name) == 3 else known.get(name, name)

    return _ESCAPE.sub(one, token.encode())


def _world(file: _File, tokens: list[str], kinds: list[int]) -> Ranks:
    """RWKV's: text is matched with the longest token, whose bytes stand there with escapes."""
    special = {token: i for i, (token, kind) in enumerate(zip(tokens, kinds)) if kind == CONTROL}
    found: dict[bytes, int] = {}
    for i, token in enumerate(tokens):
        data = _unescaped(token)
        if kinds[i] in (CONTROL, UNUSED):
            continue
        if data in found:
            raise file.refused(f"tokens[{i}]", f"{shown(data)} is token {found[data]}, too")
        found[data] = i
    try:
        packed = pack_listed(found)
    except VocabularyError as error:
        raise file.refused("tokens", error.reason) from None
    return Ranks(file.path, None, packed, special)
