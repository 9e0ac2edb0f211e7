"""Ids back to bytes and text: the decoding half of class Encoding."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from . import batch
from .checks import id_array
from .errors import unknown_handler_error
from .stream import StreamDecoder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Decoding:
    """What decodes with a vocabulary; Encoding (core.py) adds what encodes."""

    name: str
    _vocab: Any

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """The bytes of ids. Raises KeyError for an unknown one.

        >>> enc.decode_bytes([24912, 2375])
        b'hello world'
        """
        return self._vocab.decode_bytes(id_array(tokens))  # type: ignore[no-any-return]

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """The text of ids. Tokens may cut characters, so the bytes need not be UTF-8: `errors` says what then.

        >>> enc.decode([24912, 2375])
        'hello world'
        """
        return text_of(self.decode_bytes(tokens), errors)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """The bytes of one id, special tokens included. Raises KeyError if it is unknown."""
        return self._vocab.token_bytes(token)  # type: ignore[no-any-return]

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        """The bytes of each id.

        >>> enc.decode_tokens_bytes([24912, 2375])
        [b'hello', b' world']
        """
        return [self.decode_single_token_bytes(token) for token in tokens]

    def decode_with_offsets(self, tokens: Sequence[int]) -> tuple[str, list[int]]:
        """(text, offsets): offsets[i] is the index of the first character that holds bytes of token i.

        Raises UnicodeDecodeError for ids whose bytes are not UTF-8.
        """
        from .offsets import token_offsets

        return token_offsets(self.decode_tokens_bytes(tokens))

    def decode_batch(
        self, batch: Sequence[Sequence[int]], *, errors: str = "replace", num_threads: int = 8
    ) -> list[str]:
        """The texts of several sequences of ids, on several threads."""
        return batch_map(functools.partial(self.decode, errors=errors), batch, num_threads)

    def decode_bytes_batch(self, batch: Sequence[Sequence[int]], *, num_threads: int = 8) -> list[bytes]:
        """The bytes of several sequences of ids, on several threads."""
        return batch_map(self.decode_bytes, batch, num_threads)

    def stream_decoder(self, errors: str = "replace") -> StreamDecoder:
        """A decoder that takes ids as they come and returns whole characters only. errors: as for bytes.decode."""
        return StreamDecoder(self, errors)


def text_of(data: bytes, errors: str) -> str:
    try:
        return data.decode("utf-8", errors=errors)
    except LookupError:
        raise unknown_handler_error(errors) from None


def batch_map(function: Any, items: Sequence[Any], num_threads: int) -> list[Any]:
    return batch.thread_map(function, list(items), num_threads)
