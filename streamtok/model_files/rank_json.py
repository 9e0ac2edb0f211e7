"""JSON of ranks, as programs for tiktoken in JavaScript have it: claude.json of npm's @anthropic-ai/tokenizer.

    {"pat_str": ..., "special_tokens": {text: id}, "bpe_ranks": "! 5 IQ== Ig== ...", "explicit_n_vocab": 64739}

A line of bpe_ranks is a name, the rank of its first token, and tokens in base64. explicit_n_vocab is not read there,
and in claude.json it is not how many tokens there are.
"""

from __future__ import annotations

import binascii

from ..bundled.packed import MAX_ENTRIES
from ..errors import shown
from .description import Ranks
from .field import Field

_TOP = ("name", "explicit_n_vocab", "pat_str", "special_tokens", "bpe_ranks")


def is_rank_json(data: bytes) -> bool:
    """Whether the bytes of a JSON file look like those of such a one rather than of a tokenizer.json."""
    return b'"bpe_ranks"' in data and b'"pat_str"' in data


def read_rank_json(data: bytes, path: str) -> Ranks:
    """What the bytes of such a file say. VocabularyError."""
    whole = Field.parse_bytes(data, path)
    whole.check_members(_TOP)
    named = whole.member("special_tokens")
    special = {text: named.member(text).number() for text in named.object()}
    ranks = _ranks(whole.member("bpe_ranks"))
    name = whole.member("name").text() if whole.has("name") else path
    return Ranks(name, whole.member("pat_str").text(), ranks, special)


def _ranks(field: Field) -> dict[bytes, int]:
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(field.text().split("\n"), 1):
        parts = line.split(" ")
        if not line:
            continue
        if len(parts) < 3 or not parts[1].isdecimal() or len(parts[1]) > 9:
            raise field.refused(f"line {number} is no name, rank and tokens with blanks between")
        for rank, text in enumerate(parts[2:], int(parts[1])):
            token = _token(text)
            if not token or token in ranks:
                raise field.refused(f"line {number}: {shown(text)} is not the base64 of a token, or is there twice")
            ranks[token] = rank
        if len(ranks) > MAX_ENTRIES:
            raise field.refused(f"there are more than {MAX_ENTRIES} tokens")
    return ranks


def _token(text: str) -> bytes:
    try:
        return binascii.a2b_base64(text)
    except ValueError:
        return b""
