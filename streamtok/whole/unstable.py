"""tiktoken's two approximate answers: encode_with_unstable, and the encoding of bytes that are not UTF-8.

Both are defined by what tiktoken does, quirks included; for exact streaming see _stream.py.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import takewhile
from typing import TYPE_CHECKING

from ..errors import shown

if TYPE_CHECKING:
    from .._protocols import Encoding, Names

_BLANKS = frozenset(b" \n\t")


def encode_with_unstable(
    encoding: Encoding, text: str, allowed: Names, disallowed: Names
) -> tuple[list[int], list[list[int]]]:
    """(stable ids, completions). The ids of the last piece are unstable, and those of all-blank tokens before it when
    it is blank itself, since a later character can move such splits."""
    if encoding._rule_decoder is not None and encoding._kind.merges:
        raise ValueError(
            f"{shown(encoding.name)} spells blanks as another character, or does not join the bytes of its tokens, so "
            "that what its ids decode to has other ids: use stream_encoder(), whose ids stay"
        )
    if not encoding._kind.merges:
        raise ValueError(
            f"{shown(encoding.name)} is of {encoding._kind.title}, and completions follow the rules of merging: "
            "use stream_encoder()"
        )
    ids = encoding._coder.encode(text, allowed, disallowed)
    unstable = _blanks_too(encoding, ids, _last_piece(encoding, ids, text))
    if not unstable:
        return ids, []
    stable, tail = ids[: len(ids) - unstable], encoding.decode_bytes(ids[len(ids) - unstable :])
    if not tail:
        return stable, []
    return stable, [list(sequence) for sequence in _completions(encoding, tail)]


def _last_piece(encoding: Encoding, ids: list[int], text: str) -> int:
    """How many ids the last piece has; 0 behind a special token."""
    if not ids or encoding.is_special_token(ids[-1]):
        return 0
    data = encoding.decode_bytes(
        list(takewhile(lambda token: not encoding.is_special_token(token), reversed(ids)))[::-1]
    )
    ends = encoding._coder.split(data)
    return len(encoding._encode_single_piece(data[ends[-2] if len(ends) > 1 else 0 :]))


def _blanks_too(encoding: Encoding, ids: list[int], count: int) -> int:
    def blank(token: int) -> bool:
        return not encoding.is_special_token(token) and _BLANKS.issuperset(encoding.decode_single_token_bytes(token))

    if count and blank(ids[len(ids) - count]):
        while count < len(ids) and blank(ids[len(ids) - count - 1]):
            count += 1
    return count


def _starting_with(tokens: list[bytes], prefix: bytes) -> list[bytes]:
    """The tokens, of a sorted list, that begin with the prefix."""
    at = bisect_left(tokens, prefix)
    return list(takewhile(lambda token: token.startswith(prefix), tokens[at:]))


def _completions(encoding: Encoding, tail: bytes) -> set[tuple[int, ...]]:
    tokens = encoding._sorted_tokens
    found: set[tuple[int, ...]] = {(encoding.encode_single_token(token),) for token in _starting_with(tokens, tail)}
    for cut in range(1, len(tail)):  # a token could begin at any byte of the tail and reach beyond it
        for token in _starting_with(tokens, tail[cut:]):
            found.add(_covering(encoding, _encode_possibility(encoding, tail[:cut] + token), len(tail)))
    last = _last_character(tail)
    if len(tail) > len(last) and last.decode("utf-8", "replace").isspace():
        piece = encoding._encode_by_merging
        found.add((*piece(tail[: len(tail) - len(last)]), *piece(last)))
    return found


def _encode_possibility(encoding: Encoding, data: bytes) -> list[int]:
    try:
        return encoding.encode_ordinary(data.decode())
    except UnicodeDecodeError:
        return encoding._encode_by_merging(data)


def _covering(encoding: Encoding, ids: list[int], size: int) -> tuple[int, ...]:
    """The first ids whose bytes reach `size`."""
    covered, sequence = 0, []
    for token in ids:
        sequence.append(token)
        covered += len(encoding.decode_single_token_bytes(token))
        if covered >= size:
            break
    return tuple(sequence)


def _last_character(data: bytes) -> bytes:
    """The last character, or the last byte where the end is not UTF-8."""
    for size in range(1, min(4, len(data)) + 1):
        try:
            data[-size:].decode()
            return data[-size:]
        except UnicodeDecodeError:
            continue
    return data[-1:]


def encode_bytes(encoding: Encoding, data: bytes) -> list[int]:
    """Bytes to ids: where they are not UTF-8, the last valid piece and all behind it are taken as one piece."""
    try:
        return encoding.encode_ordinary(data.decode())
    except UnicodeDecodeError as error:
        size = error.start
    valid = data[:size].decode()
    ids = encoding.encode_ordinary(valid)
    count = _blanks_too(encoding, ids, _last_piece(encoding, ids, valid))
    head, tail = ids[: len(ids) - count], encoding.decode_bytes(ids[len(ids) - count :])
    return head + encoding._encode_single_piece(tail + data[size:])
