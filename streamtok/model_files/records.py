"""Parts of a tokenizer.json, as readers of other files make them, and its text."""

from __future__ import annotations

import json
from typing import Any

_VOCAB = "the tokens of the vocabulary stand here"


def split_step(pattern: str, behavior: str = "Isolated", invert: bool = False) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}


def metaspace(mark: str, scheme: str, split: bool = True) -> dict[str, Any]:
    return {"type": "Metaspace", "replacement": mark, "prepend_scheme": scheme, "split": split}


def record_text(record: dict[str, Any], indent: int | None = None) -> str:
    """The text of the file. Where model.vocab is a str it is text of JSON, as that of tokens with scores, whose digits
    count."""
    vocab = record["model"]["vocab"]
    if not isinstance(vocab, str):
        return json.dumps(record, ensure_ascii=False, indent=indent)
    marked = {**record, "model": {**record["model"], "vocab": _VOCAB}}
    before, behind = json.dumps(marked, ensure_ascii=False, indent=indent).split(f'"vocab": "{_VOCAB}"')
    return f'{before}"vocab": {vocab}{behind}'
