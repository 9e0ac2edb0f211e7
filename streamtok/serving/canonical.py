"""Whether ids are those that their own text encodes to, and the first place where they are not.

Ids that a model made, or that a program joined, can spell a text in another way than the encoder does. A model that is
trained on such ids, or continues them, sees ids that the encoder never makes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._checks import id_array
from ..model_files.decoder_rules import Begun, bytes_behind, last_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .._protocols import AllowedSpecial, Encoding, Ids, TokenIds


_T = TypeVar("_T")

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
        options: dict[str, Any] = {"allowed_special": allowed_special, "disallowed_special": (), "errors": "replace"}
        self._stream = encoding.stream_encoder(**options)
        self._begin()

    def _begin(self) -> None:
        self._place = Begun()
        self._given: Ids = np.empty(0, np.uint32)
        self._made = self._given  # what the other one has no counterpart for yet: one of them is empty
        self._compared = 0  # ids in front of them
        self.difference: int | None = None

    def feed(self, ids: Sequence[int] | TokenIds) -> int | None:
        """Takes the next ids and returns `difference`. It may be known only after more ids, or at the end.

        Raises:
            KeyError: an unknown id; other ids are refused as by Encoding.decode. The check is then as it was.
        """
        if self.difference is None:
            self._change(CanonicalCheck._feed, ids)
        return self.difference

    def _change(self, method: Callable[..., _T], *arguments: object) -> _T:
        """Calls a method of a twin, and takes over the twin's state in one step: so an exception, wherever it comes,
        leaves the check as it was, or as it is to be."""
        twin = CanonicalCheck.__new__(CanonicalCheck)
        twin.__dict__.update(self.__dict__, _stream=self._stream.copy())
        made = method(twin, *arguments)
        self.__dict__.update(twin.__dict__)
        return made

    def _feed(self, ids: Sequence[int] | TokenIds) -> None:
        row = np.array(id_array(ids), np.uint32)  # a copy: the text and the ids belong together
        text, self._place = bytes_behind(self._encoding, self._place, row)
        self._compare(row, self._stream.feed(text))

    def finish(self) -> int | None:
        """Ends the ids and returns `difference`. The check is then ready for others."""
        return self._change(CanonicalCheck._finish)

    def _finish(self) -> int | None:
        if self.difference is None:
            self._compare(self._given[:0], self._stream.feed(last_bytes(self._encoding, self._place)))
        if self.difference is None:
            self._compare(self._given[:0], self._stream.flush())
        if self.difference is None and (len(self._given) or len(self._made)):
            self.difference = self._compared
        difference = self.difference
        self._stream.reset()
        self._begin()
        return difference

    def _compare(self, given: Ids, made: Ids) -> None:
        given, made = _joined(self._given, given), _joined(self._made, made)
        count = min(len(given), len(made))
        place = _difference(given, made)
        if place is not None and place < count:
            self.difference = self._compared + place
        self._given, self._made = given[count:], made[count:]
        self._compared += count


def _joined(one: Ids, two: Ids) -> Ids:
    return np.concatenate([one, two]) if len(one) else two


def _difference(given: Ids, made: Ids) -> int | None:
    """The index of the first id of one that the other has not."""
    count = min(len(given), len(made))
    same = given[:count] == made[:count]
    if not same.all():
        return int(np.argmin(same))
    return None if len(given) == len(made) else count


def first_difference(enc: Encoding, ids: Sequence[int] | TokenIds, allowed_special: AllowedSpecial) -> int | None:
    """Encoding.first_difference() has the arguments."""
    row = np.asarray(id_array(ids), np.uint32)
    if len(row) <= SLICE:
        row = row.copy()
        try:
            made = enc.encode_to_numpy(enc._bytes_of(row), allowed_special=allowed_special, disallowed_special=())
        except UnicodeDecodeError:
            pass
        else:
            return _difference(row, made)
    check = CanonicalCheck(enc, allowed_special)
    for at in range(0, len(row), SLICE):
        if check.feed(row[at : at + SLICE]) is not None:
            break
    return check.finish()
