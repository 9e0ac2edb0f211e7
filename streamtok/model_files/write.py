"""A Model as a tokenizer.json, and as a folder that transformers loads."""

from __future__ import annotations

import json
from typing import Any

from .model import Model
from .records import record_text

_UNLIMITED = 10**30
"""What transformers writes for a model whose texts may have any length."""


def tokenizer_json(model: Model) -> str:
    """The text of a tokenizer.json that gives the same ids.

    Merges are those by which tokens are made, one for each, in their order; others of the file that it came from are
    never used (csrc/vocab/merge_list.h).
    """
    listed = list(model.listed())
    by_id = sorted(listed, key=lambda each: each[0])
    lists: dict[str, Any] = {"vocab": model.parts.model.vocab_text(by_id, model.vocabulary)}
    if model.parts.model.has_merges:
        lists["merges"] = [halves for _, _, halves in listed if halves is not None]
    record = {**model.record, "model": {**model.record["model"], **lists}}
    return record_text(record, indent=2) + "\n"


def tokenizer_config(model: Model) -> str:
    """The text of a tokenizer_config.json beside it."""
    flags = ("content", "lstrip", "normalized", "rstrip", "single_word", "special")
    return config_of({str(token.id): {name: getattr(token, name) for name in flags} for token in model.parts.added})


def config_of(added: dict[str, dict[str, Any]]) -> str:
    """The same of added tokens: id -> content and flags."""
    config: dict[str, Any] = {
        "added_tokens_decoder": added,
        "clean_up_tokenization_spaces": False,
        "model_max_length": _UNLIMITED,
        "tokenizer_class": "PreTrainedTokenizerFast",
    }
    return json.dumps(config, ensure_ascii=False, indent=2) + "\n"
