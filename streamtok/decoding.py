"""Ids back to bytes and text: the decoding half of class Encoding."""

from __future__ import annotations

import functools

from . import _text
from .batch import thread_map
from .checks import id_array, id_rows
from .errors import unknown_handler_error
from .stream import StreamDecoder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    import numpy as np
    import numpy.typing as npt

    _Ids = Iterable[int] | npt.NDArray[np.integer[Any]]
    _Batch = Iterable[_Ids] | npt.NDArray[np.integer[Any]]


class Decoding:
    """What decodes with a vocabulary; Encoding (core.py) adds what encodes.

    Ids are a list or another iterable of ints, or an array of integers of any kind: numpy's, a tensor (torch's, JAX's,
    CuPy's), array.array, a memoryview. They are one row; decode_batch() and decode_bytes_batch() take a list of such
    rows, or an array of two dimensions. TypeError: an array of other things than integers. OverflowError: an id below 0
    or beyond 32 bits. ValueError: an array with too many dimensions.
    """

    name: str
    _vocab: Any

    def decode_bytes(self, tokens: Sequence[int] | _Ids) -> bytes:
        """The bytes of ids. Raises KeyError for an unknown one.

        >>> enc.decode_bytes([24912, 2375])
        b'hello world'
        """
        return self._vocab.decode_bytes(id_array(tokens))  # type: ignore[no-any-return]

    def decode(self, tokens: Sequence[int] | _Ids, errors: str = "replace") -> str:
        """The text of ids. Tokens may cut characters, so the bytes need not be UTF-8: `errors` says what then.

        >>> enc.decode([24912, 2375])
        'hello world'
        """
        return text_of(self.decode_bytes(tokens), errors)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """The bytes of one id, special tokens included. Raises KeyError if it is unknown."""
        return self._vocab.token_bytes(token)  # type: ignore[no-any-return]

    def decode_tokens_bytes(self, tokens: Sequence[int] | _Ids) -> list[bytes]:
        """The bytes of each id.

        >>> enc.decode_tokens_bytes([24912, 2375])
        [b'hello', b' world']
        """
        return list(map(self._vocab.token_bytes, id_array(tokens).tolist()))

    def decode_with_offsets(self, tokens: Sequence[int] | _Ids) -> tuple[str, list[int]]:
        """(text, offsets): offsets[i] is the index of the first character that holds bytes of token i.

        Raises UnicodeDecodeError for ids whose bytes are not UTF-8.
        """
        from .offsets import token_offsets

        return token_offsets(self.decode_tokens_bytes(tokens))

    def decode_batch(
        self, batch: Sequence[Sequence[int]] | _Batch, *, errors: str = "replace", num_threads: int = 8
    ) -> list[str]:
        """The texts of several sequences of ids, on several threads."""
        return thread_map(functools.partial(self.decode, errors=errors), id_rows(batch), num_threads)

    def decode_bytes_batch(self, batch: Sequence[Sequence[int]] | _Batch, *, num_threads: int = 8) -> list[bytes]:
        """The bytes of several sequences of ids, on several threads."""
        return thread_map(self.decode_bytes, id_rows(batch), num_threads)

    def stream_decoder(self, errors: str = "replace") -> StreamDecoder:
        """A decoder that takes ids as they come and returns whole characters only. errors: as for bytes.decode."""
        return StreamDecoder(self, errors)


def text_of(data: bytes, errors: str) -> str:
    try:
        return _text.from_utf8(data, errors)
    except LookupError:
        raise unknown_handler_error(errors) from None
