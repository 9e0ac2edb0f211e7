"""The two files of the GPT-2 release, vocab.bpe and encoder.json, from bytes to {token bytes: rank}.

Both write a token in letters, one a byte. A byte that prints stands for itself, the others for the letters
from U+0100 on, so that no token holds white space.
"""

from __future__ import annotations

from typing import Any

from ..errors import VocabularyError, shown

# Parsed JSON takes up to 25 times the room of its text; GPT-2's encoder.json has 1 MB.
MAX_BYTES = 8 << 20
_SPECIAL = ("<|endoftext|>", "<|startoftext|>")


def _letters() -> dict[str, int]:
    printing = [value for value in range(256) if chr(value).isprintable() and chr(value) != " "]
    others = [value for value in range(256) if value not in printing]
    return {chr(value): value for value in printing} | {chr(256 + i): value for i, value in enumerate(others)}


LETTERS = _letters()
"""Letter -> the byte it stands for, in the order of the ranks of the single bytes."""


_LETTER = {value: letter for letter, value in LETTERS.items()}


def in_letters(data: bytes) -> str:
    """Bytes in these letters, one a byte."""
    return "".join(map(_LETTER.__getitem__, data))


def merge_ranks(data: bytes, path: str) -> dict[bytes, int]:
    """Ranks by vocab.bpe: the single bytes, then a token for each merge, a line each below one of heading.

    Raises:
        VocabularyError: with path and line; a line is no merge, or makes a token that was there before.
    """
    ranks = {bytes([value]): rank for rank, value in enumerate(LETTERS.values())}
    for number, line in enumerate(_text(data, path).split("\n")[1:-1], 2):
        halves = line.split()
        name = "".join(halves)
        if len(halves) != 2 or not LETTERS.keys() >= set(name):
            reason = f"{shown(line)} is no merge; write two tokens with a space between"
            raise VocabularyError(reason, path, number)
        token = bytes(LETTERS[letter] for letter in name)
        if token in ranks:
            raise VocabularyError(f"the token {shown(token)} was made before; leave this merge out", path, number)
        ranks[token] = len(ranks)
    return ranks


def encoder_ranks(data: bytes, path: str) -> dict[bytes, int]:
    """Ranks by encoder.json, without the two special tokens that it may list.

    Raises:
        VocabularyError: not JSON, not an object, or an entry that is no token with an int.
    """
    import json

    try:
        listed: Any = json.loads(_text(data, path))
    except (json.JSONDecodeError, RecursionError) as error:
        raise VocabularyError(f"this is not JSON: {error}", path, getattr(error, "lineno", None)) from None
    if not isinstance(listed, dict):
        raise VocabularyError(f"this is JSON of a {type(listed).__name__}; an object of token to rank is needed", path)
    ranks = {}
    for name, rank in listed.items():
        if name in _SPECIAL:
            continue
        if type(rank) is not int or not LETTERS.keys() >= set(name):
            raise VocabularyError(f"the entry {shown(name)}: {shown(rank)} is no token with its rank", path)
        ranks[bytes(LETTERS[letter] for letter in name)] = rank
    return ranks


def _text(data: bytes, path: str) -> str:
    if len(data) > MAX_BYTES:
        raise VocabularyError(f"{len(data)} bytes; at most {MAX_BYTES} are read", path)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise VocabularyError(f"this is not UTF-8 text: {error}", path) from None
