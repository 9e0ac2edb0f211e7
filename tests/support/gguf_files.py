"""GGUF files with a tokenizer and nothing else, for tests."""

from __future__ import annotations

import struct
from typing import Any

from streamtok.model_files.gguf_head import MAGIC

FORMS = {bool: (7, "?"), int: (4, "I"), float: (6, "f")}


def text(value: str | bytes, order: str = "<") -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack(order + "Q", len(data)) + data


def value(given: Any, order: str = "<") -> bytes:
    """With its type in front."""
    if isinstance(given, str | bytes):
        return struct.pack(order + "I", 8) + text(given, order)
    if isinstance(given, list):
        kind, form = FORMS.get(type(given[0]) if given else str, (8, ""))
        items = [struct.pack(order + form, each) if form else text(each, order) for each in given]
        return struct.pack(order + "IIQ", 9, kind, len(given)) + b"".join(items)
    kind, form = FORMS[type(given)]
    return struct.pack(order + "I" + form, kind, given)


def gguf(pairs: dict[str, Any], order: str = "<", version: int = 3, behind: bytes = b"\xff" * 99) -> bytes:
    """The bytes of a file. behind: what stands in the place of tensors."""
    body = b"".join(text(key, order) + value(given, order) for key, given in pairs.items())
    return MAGIC + struct.pack(order + "IQQ", version, 1, len(pairs)) + body + behind


def of_bytes(made: dict[str, Any], pre: str, **more: Any) -> dict[str, Any]:
    """The keys of a tokenizer.json of BPE over bytes."""
    listed = {token["id"]: (token["content"], 3 if token["special"] else 4) for token in made["added_tokens"]}
    listed |= {i: (token, 1) for token, i in made["model"]["vocab"].items() if i not in listed}
    assert sorted(listed) == list(range(len(listed)))
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in made["model"]["merges"]]
    named = {"model": "gpt2", "pre": pre, "tokens": [listed[i][0] for i in range(len(listed))], "merges": merges}
    named |= {"token_type": [listed[i][1] for i in range(len(listed))], **more}
    return {"general.name": "test", "general.sizes": [1, 2], "general.x": 1.5} | {
        f"tokenizer.ggml.{key}": given for key, given in named.items()
    }
