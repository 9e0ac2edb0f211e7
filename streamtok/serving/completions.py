"""Which tokens may follow a prompt that ends inside a word: token healing.

A prompt is encoded as if its text ended there. A model that goes on behind these ids can no longer choose a token that
holds the end of the prompt and what follows it, though the encoder would give it for the whole text. So generation
begins further in front: behind the last id that no text can change any more. That is the id up to which a stream
(_stream.py) has given ids; the bytes behind it are generated again, and only tokens that agree with them may come.
"""

from __future__ import annotations

import codecs
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._checks import id_array
from ..errors import shown
from ..native.gate import utf8_of
from .token_table import SPECIAL, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from .._protocols import Encoding, Ids, Text, TokenIds
    from .token_table import TokenTable


class Completions:
    """How generation goes on behind a prompt. Made by Encoding.completions.

    The model gets the first `keep` ids that were given and `ids` behind them, and may choose one of `tokens` next. Once
    it has chosen, `after(token)` says which tokens may follow, until the bytes of `prefix` are there.

    Attributes:
        keep: how many of the given ids stay.
        ids: uint32 array of the ids behind them, of text whose ids no continuation changes.
        prefix: the bytes of the prompt behind these ids; b"" if no token could hold its end and more.
        tokens: uint32 array, ascending: the ids of all ordinary tokens that begin with `prefix`, or with which `prefix`
            begins. Special tokens are not among them.
        covers: bool array of the same length: which of them have all bytes of `prefix`.
    """

    __slots__ = ("_tokens_by_bytes", "covers", "ids", "keep", "prefix", "tokens")

    def __init__(self, by_bytes: TokensByBytes, keep: int, ids: Ids, prefix: bytes) -> None:
        self._tokens_by_bytes = by_bytes
        self.keep, self.ids, self.prefix = keep, ids, prefix
        self.tokens, self.covers = by_bytes.along(prefix)

    def __repr__(self) -> str:
        return f"<Completions of {shown(self.prefix)}: {len(self.tokens)} tokens>"

    def after(self, token: int) -> Completions | None:
        """What may follow when the model has chosen this token; None if the end of the prompt is there.

        Raises:
            ValueError: it is none of `tokens`.
        """
        at = int(np.searchsorted(self.tokens, token))
        if at == len(self.tokens) or self.tokens[at] != token:
            raise ValueError(f"{shown(token)} is no token that goes on with {shown(self.prefix)}")
        if self.covers[at]:
            return None
        rest = self.prefix[self._tokens_by_bytes.size_of(token) :]
        return Completions(self._tokens_by_bytes, 0, self.ids[:0], rest)


class TokensByBytes(NamedTuple):
    """The bytes of all ordinary tokens, sorted, and the ids in the same order."""

    table: TokenTable
    tokens: list[bytes]
    ids: npt.NDArray[np.uint32]

    @classmethod
    def of(cls, table: TokenTable) -> TokensByBytes:
        data, offsets = table.data.tobytes(), table.offsets.tolist()
        ordinary = np.flatnonzero((table.flags & (UNKNOWN | SPECIAL)) == 0).tolist()
        both = sorted((data[offsets[token] : offsets[token + 1]], token) for token in ordinary)
        return cls(table, [piece for piece, _ in both], np.array([token for _, token in both], np.uint32))

    def size_of(self, token: int) -> int:
        """Bytes of a token."""
        return int(self.table.offsets[token + 1] - self.table.offsets[token])

    def along(self, prefix: bytes) -> tuple[Ids, npt.NDArray[np.bool_]]:
        """(ids that agree with a prefix, ascending; whether each has all of it)."""
        first = bisect_left(self.tokens, prefix)
        stem = prefix.rstrip(b"\xff")  # what is greater than all that begins with it has a greater last byte
        last = bisect_left(self.tokens, stem[:-1] + bytes([stem[-1] + 1])) if stem else len(self.tokens)
        found = [self.ids[first:last]]
        for size in range(1, len(prefix)):
            begin, end = bisect_left(self.tokens, prefix[:size]), bisect_right(self.tokens, prefix[:size])
            found.append(self.ids[begin:end])
        ids = np.concatenate(found)
        order = np.argsort(ids)
        return ids[order], order < last - first


def complete(enc: Encoding, by_bytes: TokensByBytes, ids: Sequence[int] | TokenIds, text: Text) -> Completions:
    """Encoding.completions() has the arguments."""
    row = np.array(id_array(ids), np.uint32)  # a copy: what is checked is what is used
    enc._bytes_of(row)  # KeyError for an unknown id
    if enc._rule_decoder is not None or not enc._kind.keeps_bytes:
        raise _other_bytes(enc)
    special = np.flatnonzero(np.isin(row, list(enc._special_token_values)))
    first = int(special[-1]) + 1 if len(special) else 0  # behind a special token a text begins
    given = enc._bytes_of(row[first:])
    data = given + bytes(utf8_of(text))
    begin = _valid_from(data, len(given))
    final = np.asarray(enc._coder.stream(enc._plain, None, True).feed(data[begin:]))
    ends = begin + np.cumsum(enc._token_lengths[final])
    decided = int(ends[-1]) if len(ends) else begin
    if enc._bytes_of(final) != data[begin:decided]:
        raise _other_bytes(enc)
    borders = np.cumsum(np.concatenate([np.zeros(1, np.int64), enc._token_lengths[row[first:]]]))
    common = np.flatnonzero((borders <= begin) | np.isin(borders, ends))
    kept = int(common[-1])
    at = int(borders[kept])
    if at < begin:  # the last id that stays is in front of bytes that are no text
        return Completions(by_bytes, first + kept, final[:0], data[at:])
    return Completions(by_bytes, first + kept, final[ends > at], data[decided:])


def _valid_from(data: bytes, most: int) -> int:
    """Where the UTF-8 at the end of bytes begins. UnicodeDecodeError: further in than the first `most`."""
    begin = 0
    while True:
        try:
            codecs.utf_8_decode(memoryview(data)[begin:], "strict", False)
        except UnicodeDecodeError as error:
            if begin + error.end > most:
                raise
            begin += error.end
        else:
            return begin


def _other_bytes(enc: Encoding) -> ValueError:
    return ValueError(
        f"the tokens of {shown(enc.name)} do not spell this text as it is: it is normalized, or blanks are written as "
        "another character; back up by the ids that stream_encoder() holds back"
    )
