"""The pieces of a text: where the pattern of an encoding splits it, before anything is merged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from ..native.text import to_utf8

if TYPE_CHECKING:
    from .._protocols import Encoding, Places

_StrOrBytes = TypeVar("_StrOrBytes", str, bytes)


class Pieces(Generic[_StrOrBytes]):
    """The pieces of a text, in order: len(), an iterator of their texts, and where they lie.

    Attributes:
        offsets: read-only int64 array of shape (number of pieces, 2): the bytes of the text's UTF-8 at which each piece
            begins and ends. A piece begins where the one before ends, but for text that the pattern does not match,
            which is in no piece and has no ids.
    """

    offsets: Places

    def __init__(self, text: _StrOrBytes, data: bytes, offsets: Places) -> None:
        self._data, self._is_str = data, isinstance(text, str)
        self.offsets = offsets

    def __len__(self) -> int:
        return len(self.offsets)

    def __iter__(self) -> Iterator[_StrOrBytes]:
        """Each piece as text: str of a str, bytes of bytes."""
        for start, end in self.offsets.tolist():
            piece = self._data[start:end]
            yield piece.decode() if self._is_str else piece  # type: ignore[misc]


def pieces_of(encoding: Encoding, text: _StrOrBytes) -> Pieces[_StrOrBytes]:
    """See Encoding.pieces."""
    data = to_utf8(text) if isinstance(text, str) else bytes(text)
    if encoding._normalizer is not None:
        data = encoding._normalizer.normalize(data.decode()).encode()
    spans = np.frombuffer(encoding._coder.piece_spans(data), np.int64).reshape(-1, 2)
    return Pieces(text, data, spans)
