"""Files of ranks, a line a token, as tiktoken has them: the JSON that train.save() writes beside one says the rest."""

from __future__ import annotations

import hashlib
import os
import re

from ..bundled.packed import PUBLISHED
from ..errors import VocabularyError, shown
from ..load import load_tiktoken_bpe, read_file
from ..patterns import CL100K, O200K, R50K
from .description import Ranks
from .field import Field

_FORMAT = "streamtok vocabulary"

_END, _FIM = "<|endoftext|>", {f"<|fim_{name}|>": 100258 + i for i, name in enumerate(("prefix", "middle", "suffix"))}
_KNOWN: dict[str, tuple[str, dict[str, int]]] = {
    "r50k_base": (R50K, {_END: 50256}),
    "p50k_base": (R50K, {_END: 50256}),
    "cl100k_base": (CL100K, {_END: 100257, **_FIM, "<|endofprompt|>": 100276}),
    "o200k_base": (O200K, {_END: 199999, "<|endofprompt|>": 200018}),
}
"""How text is split, and which special tokens there are, where it is known whose file it is by its content."""


def is_rank_file(data: bytes) -> bool:
    """Whether the bytes look like a file of ranks: base64, a blank and a number."""
    return re.match(rb"[A-Za-z0-9+/]+=* [0-9]+\r?\n", data[:4096]) is not None


def read_rank_file(data: bytes, path: str) -> Ranks:
    """What the file and the JSON say. VocabularyError.

    Such a file does not say how text is split, nor which special tokens there are; programs that publish one have both
    in their code. So one loads with the JSON of train.save(), or where its content is known."""
    beside = f"{path}.json"
    if not os.path.isfile(beside):
        digest = hashlib.sha256(data).hexdigest()
        for name, known in PUBLISHED.items():
            if known == digest:
                pattern, special = _KNOWN[name]
                return Ranks(name, pattern, load_tiktoken_bpe(path), dict(special))
    if not os.path.isfile(beside):
        raise VocabularyError(
            "a file of ranks does not say how text is split, nor which special tokens there are: write "
            "Encoding(name, pat_str=..., mergeable_ranks=streamtok.load.load_tiktoken_bpe(path), special_tokens=...) "
            f"with what the model's own code has, and save it once with streamtok.train.save(), which writes "
            f"{os.path.basename(beside)}",
            path,
        )
    facts = Field.parse_bytes(read_file(beside), beside)
    if facts.member("format").text() != _FORMAT or facts.member("version").value != 1:
        raise facts.member("format").refused(f"this is no {_FORMAT} of version 1")
    if hashlib.sha256(data).hexdigest() != facts.member("sha256").text():
        raise facts.member("sha256").refused(f"it is that of another file than {shown(os.path.basename(path))}")
    split, named = facts.member("pattern"), facts.member("special_tokens")
    return Ranks(
        facts.member("name").text(),
        None if split.value is None else split.text(),
        load_tiktoken_bpe(path),
        {name: named.member(name).number() for name in named.object()},
    )
