"""Small tokenizer.json files of characters, as SentencePiece has them."""

from __future__ import annotations

import copy
import functools
import json
from typing import Any

from small_models import TEXT
from tokenizers import Tokenizer, models, normalizers, trainers

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
PREPEND = {"type": "Prepend", "prepend": "▁"}
BACK = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
FALLBACK, FUSE = {"type": "ByteFallback"}, {"type": "Fuse"}
WHITE = {"type": "Whitespace"}
STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}


def sequence(kind: str, *steps: object) -> dict[str, object]:
    return {"type": "Sequence", kind: list(steps)}


def metaspace(scheme: str = "always", split: bool = True, replacement: str = "▁") -> dict[str, object]:
    return {"type": "Metaspace", "replacement": replacement, "prepend_scheme": scheme, "split": split}


DECODER = sequence("decoders", BACK, FALLBACK, FUSE)
LLAMA = {
    "normalizer": sequence("normalizers", PREPEND, REPLACE),
    "decoder": sequence("decoders", BACK, FALLBACK, FUSE, STRIP),
}


@functools.cache
def _trained(size: int) -> str:
    tok = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tok.normalizer = normalizers.Replace(" ", "▁")
    special = ["<unk>", "<s>", "</s>", *BYTES]
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=special, show_progress=False, max_token_length=16)
    tok.train_from_iterator([line[at : at + 40] for line in TEXT for at in range(0, len(line), 40)], trainer)
    return str(tok.to_str())


def record(size: int = 600, **changes: Any) -> dict[str, Any]:
    """A tokenizer.json of characters, without added tokens; changes: other values of its members."""
    made: dict[str, Any] = json.loads(_trained(size))
    made |= {"added_tokens": [], "normalizer": REPLACE, "decoder": DECODER}
    for name, value in changes.items():
        (made["model"] if name.startswith("model_") else made)[name.removeprefix("model_")] = copy.deepcopy(value)
    return made


def split(behavior: str, **pattern: str) -> dict[str, object]:
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": False}
