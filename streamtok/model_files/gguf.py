"""The tokenizer in the head of a GGUF file, read as the tokenizer.json that says the same.

Ids are those of the file's array. Text is split as the models' own files do it: `tokenizer.ggml.pre` names the way, and
a name that is not known is refused. Normalizers do not stand in such files, and none is guessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..bundled.listed import pack_listed
from ..bundled.packed import MAX_ENTRIES
from ..errors import VocabularyError, shown
from ..patterns.compose import ByteLevel, Digits, Split
from ..patterns.rows import ROWS
from .description import Ranks
from .gguf_head import MAGIC, parse_head
from .piece_pairs import read_pieces

if TYPE_CHECKING:
    from .model import Model

    Reader = Callable[[bytes, str], Model]

_NORMAL, _UNKNOWN, _CONTROL, _USER, _UNUSED, _BYTE = range(1, 7)
_MARK = "\u2581"

# The rows of patterns (patterns/rows.py), or patterns in turn, by the names of llama.cpp; where it only comes near to
# the pattern of the models, it is that one. Not here are names whose models are not certain.
_DEEPSEEK_CODER = (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+", r"\p{N}")
_FALCON = (r"[\p{P}\$\+<=>\^~\|`]+", ByteLevel(), "[0-9][0-9][0-9]")
_BLOOM = " ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+"
_WAYS: dict[Any, str] = {
    "llama3": "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano dbrx smaug-bpe "
    "chatglm-bpe glm4 glm5",
    "qwen2": "qwen2 deepseek-r1-qwen kormo f2llmv2 stablelm2 megrez hunyuan grok-2 solar-open",
    "qwen3_5": "qwen35",
    "r50k": "mpt gpt-2 phi-2 jina-es jina-de gigachat jina-v2-es jina-v2-de a.x-4.0 mellum modern-bert jina-v1-en "
    "jina-v2-code roberta-bpe olmo jais exaone4 trillion granite-docling",
    "starcoder": "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2",
    "deepseek_v3": "deepseek-v3 hunyuan-dense hy_v4 joyai-llm",
    "tekken": "tekken",
    "o200k": "gpt-4o llama4 kanana2 talkie minimax-m2",
    "kimi_k2": "kimi-k2",
    "seed_coder": "seed-coder",
    _DEEPSEEK_CODER: "deepseek-coder",
    _FALCON: "falcon",
    (_BLOOM,): "poro-chat bloom gpt3-finnish",
    (_BLOOM, r"\p{N}"): "viking",
}
_WAY_OF = {name: way for way, names in _WAYS.items() for name in names.split()}
_WHOLE = frozenset(
    "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano tekken glm4 glm5".split()
)
"""Names of models that take a piece that is a token whole."""

_BEGUN = _WHOLE - {"glm4", "glm5"}
"""Names of models with a token in front of texts, where the file does not say."""


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


def read_gguf(data: bytes, path: str, read: Reader) -> Model | Ranks:
    """The model of a head. read: makes one of the bytes of a tokenizer.json. VocabularyError."""
    file = _File(data, path)
    kind = file.text("model")
    if kind is None:
        raise file.refused("model", "it is missing: of a model in several files the first one has the tokenizer")
    tokens = file.texts("tokens")
    if not 0 < len(tokens) <= MAX_ENTRIES:
        raise file.refused("tokens", f"there are {len(tokens)} tokens; 1 to {MAX_ENTRIES} are supported")
    kinds = file.get("token_type", list, [_NORMAL] * len(tokens))
    if len(kinds) != len(tokens) or not all(type(each) is int and _NORMAL <= each <= _BYTE for each in kinds):
        raise file.refused("token_type", "it has not a type from 1 to 6 for each token")
    if kind == "rwkv":
        return _world(file, tokens, kinds)
    if kind == "llama":
        return _sentencepiece(file, tokens, kinds)
    makers = {"gpt2": _of_bytes, "bert": _of_words, "gemma4": _of_characters}
    if kind not in makers:
        raise file.refused("model", f"{shown(kind)} is not supported; rwkv, llama, {', '.join(makers)} are")
    record = makers[kind](file, tokens, kinds)
    return read(json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass"), path)


def _added(tokens: list[str], kinds: list[int], more: tuple[int | None, ...] = ()) -> list[dict[str, Any]]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return [
        {"id": i, "content": token, **flags, "special": kind != _USER}
        for i, (token, kind) in enumerate(zip(tokens, kinds))
        if kind in (_CONTROL, _USER) or i in more
    ]


def _template(file: _File, tokens: list[str], begun: bool, ended: bool = False) -> dict[str, Any] | None:
    """What stands around a text: the tokens that the file names for it."""
    ends = ("cls_token_id", "seperator_token_id") if file.text("model") == "bert" else ("bos_token_id", "eos_token_id")
    steps: list[dict[str, Any]] = [{"Sequence": {"id": "A", "type_id": 0}}]
    listed = {}
    for place, (key, name, default) in enumerate(zip(ends, ("add_bos_token", "add_eos_token"), (begun, ended))):
        if not file.flag(name, default):
            continue
        token = file.token(key, len(tokens))
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


def _split(pattern: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def _level(use_regex: bool) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": use_regex}


def _steps(way: Any) -> list[dict[str, Any]]:
    """The pre-tokenizers of a way to split, with one ByteLevel."""
    if way == "r50k":
        return [_level(True)]
    stages: Any = ROWS[way] if isinstance(way, str) else way
    steps: list[dict[str, Any]] = []
    for stage in (stages,) if isinstance(stages, str) else stages:
        if isinstance(stage, ByteLevel):
            steps.append(_level(stage.use_regex))
        elif isinstance(stage, Digits):
            steps.append({"type": "Digits", "individual_digits": stage.individual_digits})
        else:
            steps.append(_split(stage.pattern if isinstance(stage, Split) else stage))
    return steps if any(step["type"] == "ByteLevel" for step in steps) else [*steps, _level(False)]


def _of_bytes(file: _File, tokens: list[str], kinds: list[int]) -> dict[str, Any]:
    """Tokens behind the last one of merges are no letters for bytes, but the texts of added tokens."""
    name = file.text("pre")
    if name not in _WAY_OF:
        said = "it is missing" if name is None else f"{shown(name)} is not known here"
        raise file.refused("pre", f"{said}: how text is split is not certain; take the model's tokenizer.json")
    base = 1 + max((i for i, kind in enumerate(kinds) if kind not in (_CONTROL, _USER)), default=-1)
    model: dict[str, Any] = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "fuse_unk": False,
        "byte_fallback": False,
    }
    model |= {"ignore_merges": name in _WHOLE, "vocab": _vocab(file, tokens[:base]), "merges": _merges(file)}
    return _record(
        added_tokens=_added(tokens, kinds),
        pre_tokenizer={"type": "Sequence", "pretokenizers": _steps(_WAY_OF[name])},
        post_processor=_template(file, tokens, name in _BEGUN),
        decoder=_level(False),
        model=model,
    )


def _vocab(file: _File, tokens: list[str]) -> dict[str, int]:
    vocab: dict[str, int] = {}
    for i, token in enumerate(tokens):
        if token in vocab:
            raise file.refused(f"tokens[{i}]", f"{shown(token)} is token {vocab[token]}, too")
        vocab[token] = i
    return vocab


_BLANKS = {"type": "Replace", "pattern": {"String": " "}, "content": _MARK}
_BACK = {"type": "Replace", "pattern": {"String": _MARK}, "content": " "}


def _of_characters(file: _File, tokens: list[str], kinds: list[int]) -> dict[str, Any]:
    """Gemma 4's: merges of characters, with blanks as marks, and tokens of bytes."""
    unknown = file.token("unknown_token_id", len(tokens))
    model: dict[str, Any] = {"type": "BPE", "dropout": None, "unk_token": None if unknown is None else tokens[unknown]}
    model |= {"fuse_unk": True, "byte_fallback": True, "vocab": _vocab(file, tokens), "merges": _merges(file)}
    return _record(
        added_tokens=_added(tokens, kinds, (unknown,)),
        normalizer=_BLANKS,
        post_processor=_template(file, tokens, True),
        decoder={"type": "Sequence", "decoders": [_BACK, {"type": "ByteFallback"}, {"type": "Fuse"}]},
        model=model,
    )


# ==== Others ====


def _of_words(file: _File, tokens: list[str], kinds: list[int]) -> dict[str, Any]:
    """BERT's: tokens that begin a word have a mark in front, and others nothing."""
    unknown = file.token("unknown_token_id", len(tokens))
    if unknown is None:
        raise file.refused("unknown_token_id", "it is missing, and words that tokens do not cover need one")
    names = [
        token if kind != _NORMAL or i == unknown else token[1:] if token.startswith(_MARK) else f"##{token}"
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
    special = {token: i for i, (token, kind) in enumerate(zip(tokens, kinds)) if kind == _CONTROL}
    found: dict[bytes, int] = {}
    for i, token in enumerate(tokens):
        data = _unescaped(token)
        if kinds[i] in (_CONTROL, _UNUSED):
            continue
        if data in found:
            raise file.refused(f"tokens[{i}]", f"{shown(data)} is token {found[data]}, too")
        found[data] = i
    try:
        packed = pack_listed(found)
    except VocabularyError as error:
        raise file.refused("tokens", error.reason) from None
    return Ranks(file.path, None, packed, special)
