"""Files of ranks, a line a token, as tiktoken has them: the JSON that train.save() writes beside one says the rest."""

from __future__ import annotations

import hashlib
import io
import os
import re

from ..errors import VocabularyError, shown
from ..load import parse_ranks, read_file
from .description import Ranks
from .field import Field
from .folder_tokens import decoder_of, json_of
from .rank_facts import KNOWN, Known, unnamed

_FORMAT = "streamtok vocabulary"


def is_rank_file(data: bytes) -> bool:
    """Whether the bytes look like a file of ranks: base64, a blank and a number."""
    return re.match(rb"[A-Za-z0-9+/]+=* [0-9]+\r?\n", data[:4096]) is not None


def read_rank_file(data: bytes, path: str) -> Ranks:
    """What the file and the JSON say. VocabularyError.

    Such a file does not say how text is split, nor which special tokens there are; programs that publish one have both
    in their code. So one loads with the JSON of train.save(), or where its content is known."""
    beside = f"{path}.json"
    if not os.path.isfile(beside):
        known = KNOWN.get(hashlib.sha256(data).hexdigest())
        if known is not None:
            return _known(known, data, path)
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
        parse_ranks(io.BytesIO(data), path),
        {name: named.member(name).number() for name in named.object()},
    )


def _known(known: Known, data: bytes, path: str) -> Ranks:
    """A file that is known. An added_tokens_decoder in the tokenizer_config.json beside it names the special tokens, as
    for the classes of Kimi, GLM-4 and Phi-3-small."""
    ranks = parse_ranks(io.BytesIO(data), path)
    config = json_of(os.path.dirname(path) or os.curdir, "tokenizer_config.json")
    named = {} if config is None else {token["id"]: token["content"] for token in decoder_of(config)}
    special = unnamed(len(ranks), known.reserved) | named if named else known.special(len(ranks))
    normalizer = None if known.normalizer is None else ((known.normalizer,),)
    return Ranks(
        path if named else known.name, known.pattern, ranks, {text: i for i, text in special.items()}, normalizer
    )
