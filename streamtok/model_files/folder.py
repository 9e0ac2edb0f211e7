"""Folders of models: which file counts, and what the others say about added tokens, as transformers reads them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import Any

from ..errors import VocabularyError, shown
from ..load import read_file
from .field import Field, text_of
from .model import Model

Reader = Callable[[bytes, str, Callable[[Any], None]], Model]
"""Makes a Model of the bytes of a tokenizer.json; the path is for errors, the function changes the record first."""

_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")

_NAMED_LISTS = ("additional_special_tokens", "extra_special_tokens")

_P4 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
_END = "<|endoftext|>"

# What classes of transformers make of vocab.json and merges.txt: normalizer, pre-tokenizer, and their tokens where the
# configuration names no others. Classes whose tokens depend on the version of transformers are not here.
_GPT2 = (None, {**_LEVEL, "use_regex": True}, {"bos_token": _END, "eos_token": _END, "unk_token": _END})
_QWEN2 = (
    {"type": "NFC"},
    {
        "type": "Sequence",
        "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": _P4}, "behavior": "Isolated", "invert": False},
            {**_LEVEL, "use_regex": False},
        ],
    },
    {"eos_token": _END, "pad_token": _END, "unk_token": _END},
)
_CLASSES: dict[str, tuple[Any, dict[str, Any], dict[str, str]]] = {
    "GPT2Tokenizer": _GPT2,
    "CodeGenTokenizer": _GPT2,
    "Qwen2Tokenizer": _QWEN2,
}


def read_folder(folder: str, read: Reader) -> Model:
    """The model of a folder. VocabularyError, OSError."""
    source = os.path.join(folder, "tokenizer.json")
    if os.path.isfile(source):
        beside = list(_beside(folder))

        def amend(record: Any) -> None:
            for field in beside:
                _amend(record, field)

        model = read(read_file(source), source, amend)
        for field in beside:
            _check_named(field, model)
            _check_blank(field, model)
        return model
    if os.path.isfile(os.path.join(folder, "vocab.json")) and os.path.isfile(os.path.join(folder, "merges.txt")):
        return _read_pair(folder, read)
    if os.path.isfile(os.path.join(folder, "vocab.txt")):
        return _read_words(folder, read)
    raise VocabularyError(
        "this folder has no tokenizer.json, nor vocab.json with merges.txt, nor vocab.txt; how text is split stands "
        "in no other file of a model, so save the tokenizer anew with transformers, or give a file",
        folder,
    )


def _json_of(folder: str, name: str) -> Field | None:
    path = os.path.join(folder, name)
    return Field.parse_bytes(read_file(path), path) if os.path.isfile(path) else None


# ==== What stands beside a tokenizer.json ====


def _beside(folder: str) -> Iterator[Field]:
    for name in ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"):
        field = _json_of(folder, name)
        if field is not None:
            field.object()
            yield field if name != "added_tokens.json" else _as_decoder(field)


def _as_decoder(field: Field) -> Field:
    """added_tokens.json, {text: id}, as a tokenizer_config.json has such tokens."""
    entries = {str(field.member(name).number()): name for name in field.value}
    return Field({"added_tokens.json": entries}, field.path)


def _decoder(config: Field) -> list[dict[str, Any]]:
    """The entries of added_tokens_decoder by id, as a tokenizer.json has them."""
    if not config.has("added_tokens_decoder"):
        return []
    listed = config.member("added_tokens_decoder")
    found = []
    for name in listed.object():
        entry = listed.member(name)
        if not name.isdecimal() or len(name) > 10:
            raise entry.refused(f"{shown(name)} is no id")
        flags = {flag: entry.has(flag) and entry.member(flag).flag() for flag in _FLAGS}
        found.append({"id": int(name), "content": entry.member("content").text(), **flags})
    return sorted(found, key=lambda token: int(token["id"]))


def _amend(record: Any, config: Field) -> None:
    """Puts the added tokens of a tokenizer_config.json into the record of the tokenizer.json: their flags count."""
    listed = record.setdefault("added_tokens", []) if isinstance(record, dict) else None
    if not isinstance(listed, list):
        return
    known = {entry.get("content"): entry for entry in listed if isinstance(entry, dict)}
    for token in _decoder(config):
        content = token["content"]
        if content not in known:
            listed.append(token)
        elif known[content].get("id") != token["id"]:
            raise config.member("added_tokens_decoder").refused(
                f"{shown(content)} has id {token['id']} here and {known[content].get('id')} in the tokenizer.json"
            )
        else:
            known[content].update(token)
    for number, content in config.value.get("added_tokens.json", {}).items():
        if content not in known or known[content].get("id") != int(number):
            raise config.refused(f"{shown(content)} with id {number} is no added token of the tokenizer.json")


def _content(entry: Field) -> str:
    return entry.text() if isinstance(entry.value, str) else entry.member("content").text()


def _named(config: Field) -> dict[str, str]:
    """bos_token and its like: place -> text."""
    found = {}
    for name in config.object():
        value = config.value[name]
        if name.endswith("_token") and isinstance(value, (str, dict)):
            found[name] = _content(config.member(name))
        elif name in _NAMED_LISTS and isinstance(value, list):
            found.update((entry.place, _content(entry)) for entry in config.member(name).items())
    return found


def _check_named(config: Field, model: Model) -> None:
    """Raises VocabularyError where a file names a token that is no added one: transformers would add it."""
    known = {token.content for token in model.parts.added}
    for place, content in _named(config).items():
        if content and content not in known:
            raise config.refused(
                f"{place}: {shown(content)} is no added token of the tokenizer.json, and transformers would add it: "
                "save the tokenizer anew with transformers"
            )


def _class_of(config: Field) -> str:
    return config.member("tokenizer_class").text().removesuffix("Fast") if config.has("tokenizer_class") else ""


def _check_blank(config: Field, model: Model) -> None:
    """Raises VocabularyError where a class of transformers puts a blank in front of texts, and the tokenizer.json does
    not, or the other way round."""
    if _class_of(config) not in _CLASSES or not config.has("add_prefix_space"):
        return
    if config.member("add_prefix_space").flag() != (model.parts.behind > 0):
        raise config.member("add_prefix_space").refused(
            "the tokenizer.json says something else, and transformers would take this: save the tokenizer anew with it"
        )


# ==== vocab.json and merges.txt ====


def _read_pair(folder: str, read: Reader) -> Model:
    """The model of vocab.json and merges.txt. The class that tokenizer_config.json names says how text is split."""
    config, vocab = _json_of(folder, "tokenizer_config.json"), _json_of(folder, "vocab.json")
    assert vocab is not None
    if config is None or not _class_of(config):
        raise VocabularyError(
            "vocab.json and merges.txt do not say how text is split, which tokenizer_config.json does by its "
            'tokenizer_class: for GPT-2\'s way write {"tokenizer_class": "GPT2Tokenizer"} there',
            folder,
        )
    if _class_of(config) not in _CLASSES:
        raise config.member("tokenizer_class").refused(
            f"what {shown(_class_of(config))} makes of vocab.json and merges.txt is not known here, as it is of "
            f"{', '.join(_CLASSES)}; save the tokenizer with its tokenizer.json"
        )
    normalizer, pre_tokenizer, named = _CLASSES[_class_of(config)]
    if config.has("add_prefix_space") and config.member("add_prefix_space").flag():
        if pre_tokenizer["type"] != "ByteLevel":
            raise config.member("add_prefix_space").refused("this class does not put a blank in front of texts")
        pre_tokenizer = {**pre_tokenizer, "add_prefix_space": True}
    record = {
        "version": "1.0",
        "added_tokens": _added_of_pair(folder, config, vocab, named),
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "decoder": {**_LEVEL, "use_regex": True},
        "model": {"type": "BPE", "vocab": vocab.object(), "merges": _merges(os.path.join(folder, "merges.txt"))},
    }
    return read(json.dumps(record, ensure_ascii=False).encode(), folder, lambda record: None)


def _added_of_pair(folder: str, config: Field, vocab: Field, defaults: dict[str, str]) -> list[dict[str, Any]]:
    """Those of added_tokens_decoder, then the tokens that are named, in the order in which transformers adds them."""
    added = _decoder(config)
    named = {name: content for name, content in defaults.items() if name not in config.value} | _named(config)
    for other in (_json_of(folder, "special_tokens_map.json"), _json_of(folder, "added_tokens.json")):
        if other is not None and not {*_named(other).values()} <= {*named.values(), *(t["content"] for t in added)}:
            raise other.refused("it names tokens that tokenizer_config.json does not: save the tokenizer anew")
    known = {token["content"] for token in added}
    for content in named.values():
        if content and content not in known:
            number = vocab.value.get(content)
            free = max([len(vocab.value), *(token["id"] + 1 for token in added)])
            plain = dict.fromkeys(_FLAGS, False) | {"special": True}
            added.append({"id": free if number is None else number, "content": content, **plain})
            known.add(content)
    return added


def _merges(path: str) -> list[str]:
    lines = text_of(read_file(path), path).split("\n")
    heading = lines[0].startswith("#version")
    if lines[-1]:
        raise VocabularyError("the last line is cut off: it has no line break", path, len(lines))
    for number, line in enumerate(lines[heading:-1], 1 + heading):
        if line.count(" ") != 1 or line != line.strip():
            raise VocabularyError(f"{shown(line)} is no merge: two tokens with a blank between", path, number)
    return lines[heading:-1]


# ==== vocab.txt ====

_OF_WORDS = ("BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer")
_WORD_TOKENS = {
    "unk_token": "[UNK]",
    "sep_token": "[SEP]",
    "pad_token": "[PAD]",
    "cls_token": "[CLS]",
    "mask_token": "[MASK]",
}


def _read_words(folder: str, read: Reader) -> Model:
    """The model of a vocab.txt, a line a token, as the class that tokenizer_config.json names makes it."""
    path = os.path.join(folder, "vocab.txt")
    config = _json_of(folder, "tokenizer_config.json")
    if config is None or _class_of(config) not in _OF_WORDS:
        raise VocabularyError(
            f"vocab.txt does not say how text is split, which tokenizer_config.json does by its tokenizer_class: "
            f"{', '.join(_OF_WORDS)} are known here",
            folder,
        )
    lines = text_of(read_file(path), path).split("\n")
    lines = lines if lines[-1] else lines[:-1]
    vocab: dict[str, int] = {}
    for number, line in enumerate(lines):
        token = line.removesuffix("\r")
        if token in vocab:
            raise VocabularyError(f"{shown(token)} is in line {vocab[token] + 1}, too", path, number + 1)
        vocab[token] = number
    tokens = _WORD_TOKENS | {name: text for name, text in _named(config).items() if name in _WORD_TOKENS}
    lower, parts, strips = (
        config.member(name).flag() if config.has(name) else default
        for name, default in (("do_lower_case", True), ("tokenize_chinese_chars", True), ("strip_accents", None))
    )
    ends = {}
    for name, place in (("sep", "sep_token"), ("cls", "cls_token")):
        if tokens[place] not in vocab:
            raise VocabularyError(f"{shown(tokens[place])}, the {place}, is no token", path)
        ends[name] = [tokens[place], vocab[tokens[place]]]
    record = {
        "version": "1.0",
        "added_tokens": _added_of_pair(folder, config, Field(vocab, path), _WORD_TOKENS),
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": parts,
            "strip_accents": strips,
            "lowercase": lower,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", **ends},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": tokens["unk_token"],
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": vocab,
        },
    }
    return read(json.dumps(record, ensure_ascii=False).encode(), folder, lambda record: None)
