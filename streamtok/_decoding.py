"""Ids back to bytes and text: the methods of class Encoding that decode.

Ids are a list or another iterable of ints, or an array of integers of any kind: numpy's, a tensor (torch's, JAX's,
CuPy's), array.array, a memoryview. They are one row; decode_batch() and decode_bytes_batch() take a list of such rows,
or an array of two dimensions. Every method raises TypeError for an array of other things than integers, OverflowError
for an id below 0 or beyond 32 bits, ValueError for an array with too many dimensions.
"""

from __future__ import annotations

from . import _device as devices
from ._batch import map_shares, shares, threads_for
from ._checks import id_array, id_rows
from ._stream import StreamDecoder
from .errors import at_row, raise_of_row, unknown_handler_error
from .native.rule_decoder import RuleDecoderStream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._protocols import Encoding, TokenIds, TokenRows


def decode_bytes(
    self: Encoding, tokens: Sequence[int] | TokenIds, *, skip_special_tokens: bool = False, device: str = "cpu"
) -> bytes:
    """The bytes of all ids, joined.

    >>> enc.decode_bytes([24912, 2375])
    b'hello world'

    Args:
        tokens: ids: an iterable of ints, or an array or tensor of integers of one dimension.
        skip_special_tokens: leave out the ids of special tokens.
        device: "cpu"; "cuda" or "cuda:N", a CUDA device; "auto", the device that the ids lie on, if it is one. The
            bytes do not depend on it.

    Raises:
        KeyError: an unknown id.
        OverflowError: an id below 0 or beyond 32 bits.
        TypeError: an array of other things than integers.
        ValueError: an array of more than one dimension.
        streamtok.gpu.DeviceError: a device asked for by name cannot be used.
    """
    if device != "cpu":
        data = devices.decode_bytes(self, device, tokens, skip_special_tokens)
        if data is not None:
            return data
    return self._bytes_of(tokens, False, skip_special_tokens)


def _bytes_of(
    self: Encoding, tokens: Sequence[int] | TokenIds, later: bool = False, skip_special_tokens: bool = False
) -> bytes:
    """decode_bytes() of a part of a text. later: ids stand in front of these, and none at all where it is False."""
    if self._rule_decoder is None:
        return self._decoder.to_bytes(tokens, skip_special_tokens)
    data: bytes = self._rule_decoder.core.bytes_of(self._decoder, tokens, skip_special_tokens, later)
    return data


def decode(
    self: Encoding,
    tokens: Sequence[int] | TokenIds,
    errors: str = "replace",
    *,
    skip_special_tokens: bool = False,
    device: str = "cpu",
) -> str:
    """The text of ids.

    >>> enc.decode([24912, 2375])
    'hello world'

    Args:
        tokens: as for decode_bytes().
        errors: as for bytes.decode(). Tokens may cut characters, so the bytes need not be UTF-8; "replace" puts
            U+FFFD in the place of what is not.

    Raises:
        KeyError: an unknown id; other ids are refused as by decode_bytes().
        UnicodeDecodeError: bytes that are not UTF-8, with errors="strict".
        LookupError: an unknown name for `errors`.
        streamtok.gpu.DeviceError: as for decode_bytes().
    """
    try:
        if device != "cpu":
            found = devices.decode_text(self, device, tokens, errors, skip_special_tokens)
            if found is not None:
                return found
        if self._rule_decoder is not None:
            return RuleDecoderStream(self._rule_decoder, self._decoder, errors, skip_special_tokens).text_of(tokens)
        return self._decoder.to_text(tokens, errors, skip_special_tokens)
    except LookupError as error:
        raise _named(error, errors) from None


def decode_single_token_bytes(self: Encoding, token: int) -> bytes:
    """The bytes of one id, special tokens included. KeyError: the id is unknown."""
    data: bytes = self._vocab.token_bytes(token) if self._rule_decoder is None else self._rule_decoder.token(token)
    return data


def decode_tokens_bytes(self: Encoding, tokens: Sequence[int] | TokenIds) -> list[bytes]:
    """The bytes of each id, in a list.

    >>> enc.decode_tokens_bytes([24912, 2375])
    [b'hello', b' world']

    Args:
        tokens: as for decode_bytes().

    Raises:
        KeyError: an unknown id; other ids are refused as by decode_bytes().
    """
    ids = id_array(tokens).tolist()
    return list(map(self._vocab.token_bytes, ids) if self._rule_decoder is None else self._rule_decoder.pieces(ids))


def decode_with_offsets(self: Encoding, tokens: Sequence[int] | TokenIds) -> tuple[str, list[int]]:
    """(text, offsets): offsets[i] is the index in `text` of the first character that holds bytes of token i.

    Args:
        tokens: as for decode_bytes().

    Raises:
        UnicodeDecodeError: the bytes of the ids are not UTF-8.
        KeyError: an unknown id; other ids are refused as by decode_bytes().
    """
    from ._offsets import token_offsets

    return token_offsets(self.decode_tokens_bytes(tokens))


def decode_batch(
    self: Encoding,
    batch: Sequence[Sequence[int]] | TokenRows,
    *,
    errors: str = "replace",
    num_threads: int | None = 8,
    skip_special_tokens: bool = False,
    device: str = "cpu",
) -> list[str]:
    """The texts of several sequences of ids, on several threads.

    Args:
        batch: a list of what decode() takes, or an array or tensor of two dimensions.

    Raises:
        streamtok.gpu.DeviceError: as for decode_bytes().
        ValueError: an array of another number of dimensions; num_threads is below 1. Of ids as for decode().
    """
    texts: list[str] = _decode_rows(self, batch, errors, num_threads, skip_special_tokens, device)
    return texts


def decode_bytes_batch(
    self: Encoding,
    batch: Sequence[Sequence[int]] | TokenRows,
    *,
    num_threads: int | None = 8,
    skip_special_tokens: bool = False,
    device: str = "cpu",
) -> list[bytes]:
    """The bytes of several sequences of ids, on several threads.

    Args:
        batch: a list of what decode_bytes() takes, or an array or tensor of two dimensions.

    Raises:
        streamtok.gpu.DeviceError: as for decode_bytes().
        ValueError: an array of another number of dimensions; num_threads is below 1. Of ids as for decode_bytes().
    """
    rows: list[bytes] = _decode_rows(self, batch, None, num_threads, skip_special_tokens, device)
    return rows


def stream_decoder(self: Encoding, errors: str = "replace", *, skip_special_tokens: bool = False) -> StreamDecoder:
    """A decoder that takes ids as they come and returns whole characters only.

    Args:
        errors: as for bytes.decode().

    Raises:
        LookupError: an unknown name for `errors`.
    """
    return StreamDecoder(self, errors, skip_special_tokens)


# ==== Rows ====

_LEAST_SHARE = 1 << 14
"""Ids. Decoding fewer takes less time than starting a thread."""


def _named(error: LookupError, errors: str | None) -> LookupError:
    """That of an unknown mode without all of its name. A KeyError, that of an id, stays as it is."""
    return unknown_handler_error(errors) if errors is not None and type(error) is LookupError else error


def _decode_rows(
    encoding: Encoding,
    batch: Sequence[Sequence[int]] | TokenRows,
    errors: str | None,
    num_threads: int | None,
    skip_special: bool,
    device: str,
) -> list[Any]:
    """The text of each row of ids, or its bytes where `errors` is None."""

    def decode(rows: list[TokenIds]) -> list[Any]:
        if encoding._rule_decoder is not None:
            return _one_by_one(encoding, rows, errors, skip_special)
        if errors is None:
            return encoding._decoder.bytes_of_rows(rows, skip_special)
        return encoding._decoder.texts_of_rows(rows, errors, skip_special)

    try:
        if device != "cpu":
            found = devices.decode_rows(encoding, device, batch, errors, skip_special)
            if found is not None:
                return found
        rows = id_rows(batch)
        if threads_for(num_threads) == 1:
            return decode(rows)
        return map_shares(decode, shares(rows, num_threads, _size, _LEAST_SHARE), num_threads)
    except Exception as error:
        if type(error) is LookupError:
            raise _named(error, errors) from None
        raise_of_row(error, "row", noted=True)


def _one_by_one(encoding: Encoding, rows: list[TokenIds], errors: str | None, skip_special: bool) -> list[Any]:
    made: list[Any] = []
    try:
        for row in rows:
            if errors is None:
                made.append(encoding._bytes_of(row, False, skip_special))
            else:
                made.append(encoding.decode(row, errors, skip_special_tokens=skip_special))
    except Exception as error:
        raise at_row(error, len(made)) from error.__cause__
    return made


def _size(row: TokenIds) -> int:
    return len(row) if hasattr(row, "__len__") else 1  # type: ignore[arg-type]
