"""Are ids what encoding their own text would give, and from where on are they not?

Ids that a model made, or that a program joined, can spell a text in another way than the encoder does. A model that is
trained on them, or asked to go on behind them, then sees ids that no text has.
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

import numpy as np

from ..checks import id_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..protocols import AllowedSpecial, Encoding, Ids, TokenIds


SLICE = 1 << 15
"""Ids whose text is made at a time: some 140 KB, in memory that is used again. A long text at once takes fresh memory,
which costs more than its bytes. In smaller slices decoding and encoding take the caches from each other more often."""


class CanonicalCheck:
    """Encoding.first_difference() for ids that come in parts. Made by Encoding.canonical_check.

    The text of the ids goes through a StreamEncoder, and what comes out is compared with what came in. So memory holds
    the ids whose text is not final yet, and nothing else.

    >>> check = enc.canonical_check()
    >>> for ids in parts:
    ...     if check.feed(ids) is not None:
    ...         break
    >>> check.finish()

    Attributes:
        difference: the index of the first id that is not what encoding gives, or None so far.
    """

    def __init__(self, encoding: Encoding, allowed_special: AllowedSpecial = "all") -> None:
        self._encoding = encoding
        self._stream = encoding.stream_encoder(allowed_special=allowed_special, disallowed_special=())
        self._given: Ids = np.empty(0, np.uint32)  # ids whose text is not final
        self._compared = 0  # ids in front of them
        self._cut = b""  # the beginning of a character
        self._later = False
        self.difference: int | None = None

    def feed(self, ids: Sequence[int] | TokenIds) -> int | None:
        """Takes the next ids and returns `difference`. It may be known only after more ids, or at the end.

        Raises:
            KeyError: an unknown id; other ids are refused as by Encoding.decode. The check is then as it was.
        """
        if self.difference is not None:
            return self.difference
        row = np.asarray(id_array(ids), np.uint32)
        text = self._encoding._bytes_of(row, self._later)
        self._given = np.concatenate([self._given, row])
        self._later = True
        try:
            made = self._stream.feed(text)
        except UnicodeDecodeError:
            self._end_at_fault(text)
        else:
            self._compare(made)
            self._cut = _unfinished(self._cut + text[-3:])
        return self.difference

    def finish(self) -> int | None:
        """Ends the ids and returns `difference`. The check is then ready for others."""
        if self.difference is None:
            try:
                self._compare(self._stream.flush())
            except UnicodeDecodeError:
                self._end_at_fault(b"")
        if self.difference is None and len(self._given):
            self.difference = self._compared
        difference = self.difference
        self._stream.reset()
        self._given, self._compared, self._cut, self._later = self._given[:0], 0, b"", False
        self.difference = None
        return difference

    def _compare(self, made: Ids) -> None:
        self.difference = _difference(self._given, made, self._compared)
        self._compared += len(made)
        self._given = self._given[len(made) :]

    def _end_at_fault(self, text: bytes) -> None:
        """`text` makes bytes that are no UTF-8. No text has the id that holds the first of them; one in front of it may
        be wrong already."""
        data = self._cut + text
        try:
            data.decode()
        except UnicodeDecodeError as error:
            fault = error.start
        behind = len(data) - fault
        sizes = np.array([len(piece) for piece in self._encoding.decode_tokens_bytes(self._given)], np.int64)
        ends = np.cumsum(sizes[::-1])  # bytes from the start of each id to the end of the text
        place = self._compared + len(sizes) - 1 - int(np.searchsorted(ends, behind))
        if fault > len(self._cut):
            self._compare(self._stream.feed(data[len(self._cut) : fault]))
        self.difference = place if self.difference is None else self.difference


def _unfinished(data: bytes) -> bytes:
    """The beginning of a character at the end of UTF-8."""
    return data[codecs.utf_8_decode(data, "ignore", False)[1] :]


def _difference(given: Ids, made: Ids, before: int = 0) -> int | None:
    """The index of the first id of `made` that is not the one given, or that was not given. `before` is that of its
    first one."""
    count = min(len(given), len(made))
    same = made[:count] == given[:count]
    if not same.all():
        return before + int(np.argmin(same))
    return before + count if count < len(made) else None


def first_difference(enc: Encoding, ids: Sequence[int] | TokenIds, allowed_special: AllowedSpecial) -> int | None:
    """Serving.first_difference() has the arguments."""
    row = np.asarray(id_array(ids), np.uint32)
    check = CanonicalCheck(enc, allowed_special)
    if len(row) > SLICE:
        for at in range(0, len(row), SLICE):
            if check.feed(row[at : at + SLICE]) is not None:
                break
        return check.finish()
    try:
        made = enc.encode_to_numpy(enc._bytes_of(row), allowed_special=allowed_special, disallowed_special=())
    except UnicodeDecodeError:
        check.feed(row)
        return check.finish()
    found = _difference(row, made)
    return len(made) if found is None and len(made) < len(row) else found
