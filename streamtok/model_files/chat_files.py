"""What the files of a model say of conversations: chat templates, and the tokens that these name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..errors import VocabularyError, shown
from ..load import read_file
from .field import Field, text_of
from .folder import CLASSES
from .folder_tokens import content_of, json_of
from .gguf_head import parse_head, read_head

_PLACES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_FOLDER = "additional_chat_templates"
_SUFFIX = ".jinja"
_BESIDE = ("tokenizer.json", "vocab.json", "merges.txt", "vocab.txt", "tokenizer.model", "spiece.model", "tekken.json")
"""Files beside which a tokenizer_config.json is that of the same model."""

_DEFAULTS: dict[str, dict[str, str]] = {
    "LlamaTokenizer": {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"},
    "GemmaTokenizer": {
        "bos_token": "<bos>",
        "eos_token": "<eos>",
        "unk_token": "<unk>",
        "pad_token": "<pad>",
        "mask_token": "<mask>",
    },
    "CohereTokenizer": {
        "bos_token": "<BOS_TOKEN>",
        "eos_token": "<|END_OF_TURN_TOKEN|>",
        "unk_token": "<UNK>",
        "sep_token": "<SEP>",
        "pad_token": "<PAD>",
        "cls_token": "<CLS>",
        "mask_token": "<MASK_TOKEN>",
    },
    **{name: made.named for name, made in CLASSES.items()},
}
"""What classes of transformers name where the files do not."""


class ChatFiles(NamedTuple):
    """templates: by name, "default" for the only one. named: bos_token and others -> their texts."""

    templates: Mapping[str, str]
    named: Mapping[str, str]


NO_CHAT = ChatFiles({}, {})


def read_chat(path: str) -> ChatFiles:
    """Of a model's file or folder. VocabularyError: a file is damaged. OSError."""
    if os.path.isdir(path):
        return _of_folder(path)
    head = read_head(path)
    if head is not None:
        return _of_gguf(parse_head(head, path), path)
    if os.path.basename(path) in _BESIDE:
        return _of_folder(os.path.dirname(path) or os.curdir)
    return NO_CHAT


def _of_folder(folder: str) -> ChatFiles:
    config = json_of(folder, "tokenizer_config.json")
    templates = dict(_in_files(folder)) or ({} if config is None else _in_config(config))
    return ChatFiles(templates, _named(folder, config))


def _in_files(folder: str) -> Iterator[tuple[str, str]]:
    path = os.path.join(folder, "chat_template.jinja")
    if os.path.isfile(path):
        yield "default", text_of(read_file(path), path)
    more = os.path.join(folder, _FOLDER)
    for name in sorted(os.listdir(more)) if os.path.isdir(more) else ():
        if name.endswith(_SUFFIX):
            path = os.path.join(more, name)
            yield name.removesuffix(_SUFFIX), text_of(read_file(path), path)


def _in_config(config: Field) -> dict[str, str]:
    if not config.has("chat_template"):
        return {}
    field = config.member("chat_template")
    if isinstance(field.value, str):
        return {"default": field.text()}
    if isinstance(field.value, dict):
        return {name: field.member(name).text() for name in field.object()}
    return {each.member("name").text(): each.member("template").text() for each in field.items()}


def _named(folder: str, config: Field | None) -> dict[str, str]:
    """bos_token and others, as transformers has them."""
    found: dict[str, Any] = {}
    if config is not None and config.has("tokenizer_class"):
        found.update(_DEFAULTS.get(config.member("tokenizer_class").text().removesuffix("Fast"), {}))
    sources = [config]
    if config is None or not config.has("added_tokens_decoder"):
        sources.append(json_of(folder, "special_tokens_map.json"))
    for source in sources:
        for place in _PLACES if source is not None else ():
            if source is not None and place in source.object():
                found[place] = content_of(source.member(place)) if source.has(place) else None
    if config is not None and isinstance(config.value.get("extra_special_tokens"), dict):
        extra = config.member("extra_special_tokens")
        found.update((name, content_of(extra.member(name))) for name in extra.object())
    return {place: text for place, text in found.items() if isinstance(text, str)}


# ==== GGUF ====

_KEYS = {
    "bos_token": "bos_token_id",
    "eos_token": "eos_token_id",
    "unk_token": "unknown_token_id",
    "sep_token": "seperator_token_id",
    "pad_token": "padding_token_id",
    "cls_token": "cls_token_id",
    "mask_token": "mask_token_id",
}


def _of_gguf(values: Mapping[str, Any], path: str) -> ChatFiles:
    def text(key: str, value: Any) -> str:
        try:
            found: str = value.decode()
        except (AttributeError, UnicodeDecodeError):
            raise VocabularyError(f"{key}: {shown(value)} is no text in UTF-8", path) from None
        return found

    start = "tokenizer.chat_template"
    templates = {
        "default" if key == start else key.removeprefix(f"{start}."): text(key, value)
        for key, value in values.items()
        if key == start or key.startswith(f"{start}.")
    }
    tokens = values.get("tokenizer.ggml.tokens")
    named = {}
    for place, key in _KEYS.items():
        number = values.get(f"tokenizer.ggml.{key}")
        if isinstance(tokens, list) and isinstance(number, int) and 0 <= number < len(tokens):
            named[place] = text(f"tokenizer.ggml.tokens[{number}]", tokens[number])
    return ChatFiles(templates, named)


def chat_of_hf(tokenizer: Any) -> ChatFiles:
    """Of a tokenizer of transformers."""
    template = getattr(tokenizer, "chat_template", None)
    named = getattr(tokenizer, "special_tokens_map", None) or {}
    texts = {name: text for name, text in named.items() if isinstance(text, str)}
    return ChatFiles(template if isinstance(template, dict) else {"default": template} if template else {}, texts)
