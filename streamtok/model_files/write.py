"""A Model as a tokenizer.json, and as a folder that transformers loads."""

from __future__ import annotations

import json
from itertools import accumulate
from typing import Any

from ..bundled.gpt2_files import in_letters
from ..native.merges import FIRST_FRAGMENT, SILENT
from .model import Model

_UNLIMITED = 10**30
"""What transformers writes for a model whose texts may have any length."""


def tokenizer_json(model: Model) -> str:
    """The text of a tokenizer.json that gives the same ids.

    Merges are those by which tokens are made, one for each, in their order; others of the file that it came from are
    never used (csrc/vocab/merge_list.h).
    """
    packed = model.vocabulary
    assert packed.splits is not None
    if model.parts.words is not None:
        return _of_words(model)
    if not model.parts.by_bytes:
        return _written(model, *_of_characters(model))
    ends = list(accumulate(packed.lengths))
    vocab: dict[str, int] = {}
    merges = []
    raw = set(model.raw)
    if model.empty is not None:
        vocab[""] = model.empty
    for start, end, token, half in zip([0, *ends], ends, packed.ranks, packed.splits):
        if token >= FIRST_FRAGMENT:
            continue
        data = packed.blob[start:end]
        vocab[data.decode() if token in raw else in_letters(data)] = token
        if half not in (0, SILENT):
            merges.append([in_letters(data[:half]), in_letters(data[half:])])
    return _written(model, vocab, merges)


def _of_words(model: Model) -> str:
    packed = model.vocabulary
    vocab = {token.decode(): number for token, number in zip(packed.tokens(), packed.ranks)}
    if model.empty is not None:
        vocab[""] = model.empty
    return _as_text({**model.record, "model": {**model.record["model"], "vocab": vocab}})


def _of_characters(model: Model) -> tuple[dict[str, int], list[list[str]]]:
    """Tokens and merges of text that begins as characters; what makes these of bytes is not written."""
    packed = model.vocabulary
    assert packed.splits is not None
    ends = list(accumulate(packed.lengths))
    vocab = {f"<0x{byte:02X}>": token for byte, token in enumerate(model.raw) if token >= 0}
    of_bytes = set(vocab.values())
    if model.empty is not None:
        vocab[""] = model.empty
    merges = []
    for start, end, token, half in zip([0, *ends], ends, packed.ranks, packed.splits):
        if token in of_bytes or token >= FIRST_FRAGMENT:
            continue
        data = packed.blob[start:end]
        name = data.decode()
        vocab[name] = token
        if len(name) > 1 and half not in (0, SILENT):
            merges.append([data[:half].decode(), data[half:].decode()])
    return vocab, merges


def _written(model: Model, vocab: dict[str, int], merges: list[list[str]]) -> str:
    ordered = dict(sorted(vocab.items(), key=lambda item: item[1]))
    record = {**model.record, "model": {**model.record["model"], "vocab": ordered, "merges": merges}}
    return _as_text(record)


def _as_text(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, indent=2) + "\n"


def tokenizer_config(model: Model) -> str:
    """The text of a tokenizer_config.json beside it."""
    flags = ("content", "lstrip", "normalized", "rstrip", "single_word", "special")
    added = {str(token.id): {name: getattr(token, name) for name in flags} for token in model.parts.added}
    config: dict[str, Any] = {
        "added_tokens_decoder": added,
        "clean_up_tokenization_spaces": False,
        "model_max_length": _UNLIMITED,
        "tokenizer_class": "PreTrainedTokenizerFast",
    }
    return json.dumps(config, ensure_ascii=False, indent=2) + "\n"
