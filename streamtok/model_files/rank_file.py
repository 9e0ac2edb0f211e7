"""Files of ranks, a line a token, as tiktoken has them: the JSON that train.save() writes beside one says the rest."""

from __future__ import annotations

import hashlib
import os
import re

from ..errors import VocabularyError, shown
from ..load import load_tiktoken_bpe, read_file
from .description import Ranks
from .field import Field

_FORMAT = "streamtok vocabulary"


def is_rank_file(data: bytes) -> bool:
    """Whether the bytes look like a file of ranks: base64, a blank and a number."""
    return re.match(rb"[A-Za-z0-9+/]+=* [0-9]+\r?\n", data[:4096]) is not None


def read_rank_file(data: bytes, path: str) -> Ranks:
    """What the file and the JSON say. VocabularyError.

    Such a file does not say how text is split, nor which special tokens there are; programs that publish one have both
    in their code. So only one with the JSON of train.save() loads."""
    beside = f"{path}.json"
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
    pattern, special = facts.member("pattern"), facts.member("special_tokens")
    return Ranks(
        facts.member("name").text(),
        None if pattern.value is None else pattern.text(),
        load_tiktoken_bpe(path),
        {name: special.member(name).number() for name in special.object()},
    )
