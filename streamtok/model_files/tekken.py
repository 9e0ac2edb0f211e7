"""tekken.json, the vocabulary files of Mistral: ranks as tiktoken has them, behind the ids of special tokens."""

from __future__ import annotations

import binascii
from typing import Any

from ..errors import shown
from .description import Ranks
from .field import Field

_TOP = ("config", "vocab", "special_tokens", "type", "image", "multimodal", "audio", "model_settings_builder")


def is_tekken(data: bytes) -> bool:
    """Whether the bytes of a JSON file look like those of a tekken.json rather than of a tokenizer.json."""
    return b'"default_num_special_tokens"' in data and b'"token_bytes"' in data


def read_tekken(data: bytes, path: str) -> Ranks:
    """What the bytes of a tekken.json say. VocabularyError.

    A file without a list of special tokens leaves their names to the program that reads it: none has one here.
    """
    whole = Field.parse_bytes(data, path)
    whole.check_members(_TOP)
    config = whole.member("config")
    size, reserved = (config.member(name).number() for name in ("default_vocab_size", "default_num_special_tokens"))
    ranks: dict[bytes, int] = {}
    for entry in whole.member("vocab").items():
        if len(ranks) + reserved == size:
            break
        token = _usual(entry.value, len(ranks)) or _token(entry, len(ranks))
        if token in ranks:
            raise entry.refused("this token is there twice")
        ranks[token] = len(ranks) + reserved
    if len(ranks) + reserved != size:
        raise config.refused(f"{size} tokens are named, {reserved} of them special, and {len(ranks)} others are there")
    return Ranks(path, config.member("pattern").text(), ranks, _special(whole, reserved))


def _usual(entry: Any, rank: int) -> bytes:
    """The token of an entry as it nearly always is, read in a fraction of the time; empty: another one, or wrong."""
    if type(entry) is not dict or type(entry.get("token_bytes")) is not str or type(entry.get("rank")) is not int:
        return b""
    return _decoded(entry["token_bytes"]) if entry["rank"] == rank else b""


def _decoded(text: str) -> bytes:
    """The bytes of base64; empty where it is wrong."""
    try:
        token = binascii.a2b_base64(text)
        return token if binascii.b2a_base64(token, newline=False).decode() == text else b""
    except ValueError:
        return b""


def _token(entry: Field, rank: int) -> bytes:
    token = _decoded(entry.member("token_bytes").text())
    if not token:
        raise entry.refused(f"{shown(entry.member('token_bytes').value)} is not the base64 of a token")
    if entry.member("rank").number() != rank:
        raise entry.refused("the ranks do not count the tokens")
    return token


def _special(whole: Field, reserved: int) -> dict[str, int]:
    special: dict[str, int] = {}
    for entry in whole.member("special_tokens").items() if whole.has("special_tokens") else ():
        name, rank = entry.member("token_str").text(), entry.member("rank").number()
        if rank >= reserved or name in special:
            raise entry.refused(f"the special token {shown(name)} is there twice, or its id is not below {reserved}")
        special[name] = rank
    return special
