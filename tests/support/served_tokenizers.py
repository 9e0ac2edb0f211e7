"""Folders of tokenizers as a server loads them, and texts and ids for them."""

from __future__ import annotations

import json
import os
import pathlib
import random
from typing import Any

import nasty
from kinds_of_tokenizers import KINDS, NAMES
from twins import texts_of

CHAT = "{% for m in messages %}<x>{{ m.role }}\n{{ m.content }}</s>{% endfor %}{{ '<x>' if add_generation_prompt }}"
SETTINGS = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}


def folder_of(kind: str, where: pathlib.Path) -> str:
    """A folder with the files of a small tokenizer of a kind; or that of a published model."""
    if kind not in KINDS:
        return kind
    folder = where / kind
    folder.mkdir(exist_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps(KINDS[kind](), ensure_ascii=False), "utf-8")
    settings = SETTINGS | {"chat_template": CHAT, "model_max_length": 100_000}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), "utf-8")
    (folder / "config.json").write_text(json.dumps({"model_type": "llama", "vocab_size": 1000}), "utf-8")
    return str(folder)


def all_kinds() -> list[str]:
    """Small ones, and folders with a tokenizer_config.json below STREAMTOK_MODELS."""
    root = pathlib.Path(os.environ["STREAMTOK_MODELS"]) if os.environ.get("STREAMTOK_MODELS") else None
    found = sorted(root.rglob("tokenizer_config.json")) if root else []
    return [*KINDS, *(str(path.parent) for path in found if (path.parent / "tokenizer.json").exists())]


def prompts(rng: random.Random, count: int) -> list[str]:
    return texts_of(rng, NAMES, count, False) + [" ".join(nasty.random_strings(rng, 400, 30))[:20_000]]


def answers(rng: random.Random, twin: Any, count: int) -> list[tuple[list[int], list[int]]]:
    """(prompt, answer) as ids: of texts that are cut between two characters, behind a name of a special token too."""
    made = []
    for text in texts_of(rng, NAMES, count, False):
        at = rng.randint(0, len(text))
        prompt = twin.encode(rng.choice(("", "<s>", "hello <x>")) + text[:at] or "a")
        made.append((prompt, twin.encode(text[at:] or "b", add_special_tokens=False)))
    return made
