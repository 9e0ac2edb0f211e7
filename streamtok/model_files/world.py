"""The vocabulary file of RWKV's World models: a line a token, its id, its text or bytes as Python writes them, and its
length in bytes. Text is matched with the longest token (docs/longest_match.md)."""

from __future__ import annotations

import ast
import re

from ..bundled.listed import pack_listed
from ..bundled.packed import MAX_ENTRIES, MAX_RANK, MAX_TOKEN_BYTES
from ..errors import VocabularyError, shown
from .description import Ranks

_LINE = re.compile(rb"""([0-9]{1,10}) (b?'(?:[^'\\]|\\.)*'|b?"(?:[^"\\]|\\.)*") ([0-9]{1,6})\r?""")
_MOST_BYTES = 4 * MAX_TOKEN_BYTES + 64
"""Of a line: \\x41 for each byte of a token, the id and the length."""


def is_world(data: bytes) -> bool:
    """Whether the bytes begin as such a file."""
    return _LINE.fullmatch(data[:_MOST_BYTES].partition(b"\n")[0]) is not None


def read_world(data: bytes, path: str) -> Ranks:
    """What the file says, which names no special tokens. VocabularyError."""
    lines = data.split(b"\n")
    if lines.pop():
        raise VocabularyError("the last line has no end: the file is cut off", path, len(lines) + 1)
    if len(lines) > MAX_ENTRIES:
        raise VocabularyError(f"{len(lines)} tokens, more than the {MAX_ENTRIES} that are accepted", path)
    found = [_LINE.fullmatch(line) if len(line) <= _MOST_BYTES else None for line in lines]
    tokens: dict[bytes, int] = {}
    line_of: dict[int, int] = {}
    for number, (line, fields, value) in enumerate(zip(lines, found, _values(found)), 1):
        if fields is None or value is None:
            raise VocabularyError(
                f"{shown(line)} is no id, token as Python writes it and number of bytes, with blanks between",
                path,
                number,
            )
        token, token_id = _token_of(value, fields, path, number), int(fields[1])
        if token in tokens:
            raise VocabularyError(f"{shown(token)} has an id already, {tokens[token]}; leave one out", path, number)
        if token_id in line_of:
            raise VocabularyError(f"line {line_of[token_id]} has the id {token_id}, too", path, number)
        tokens[token], line_of[token_id] = token_id, number
    try:
        packed = pack_listed(tokens)
    except VocabularyError as error:
        raise VocabularyError(error.reason, path) from None
    return Ranks(path, None, packed, {})


def _values(found: list[re.Match[bytes] | None]) -> list[str | bytes | None]:
    """What Python reads where a token stands; None where it reads nothing. All at once: that is ten times as fast."""
    try:
        return list(ast.literal_eval("[" + ",".join("None" if m is None else m[2].decode() for m in found) + "]"))
    except (SyntaxError, ValueError):  # an escape that Python does not know, or that ends too early; not UTF-8
        return [_value(fields) for fields in found]


def _value(fields: re.Match[bytes] | None) -> str | bytes | None:
    try:
        value: str | bytes | None = None if fields is None else ast.literal_eval(fields[2].decode())
    except (SyntaxError, ValueError):
        return None
    return value


def _token_of(value: str | bytes, fields: re.Match[bytes], path: str, number: int) -> bytes:
    try:
        token = value if isinstance(value, bytes) else value.encode()
    except UnicodeEncodeError:
        raise VocabularyError(f"{shown(value)} has a surrogate, which no text holds", path, number) from None
    if len(token) != int(fields[3]):
        raise VocabularyError(
            f"{shown(token)} has {len(token)} bytes, and the line says {int(fields[3])}", path, number
        )
    if int(fields[1]) > MAX_RANK:
        raise VocabularyError(f"the id of {shown(token)} is {int(fields[1])}; ids go up to {MAX_RANK}", path, number)
    return token
