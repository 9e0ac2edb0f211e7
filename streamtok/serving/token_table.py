"""What every id stands for, as arrays: for log-probabilities, masks of constrained text, and listings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._checks import as_numpy, is_masked
from ..errors import shown
from ..native.decoders import pick

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._protocols import Encoding

UNKNOWN, SPECIAL, PARTIAL = 1, 2, 4


class TokenTable(NamedTuple):
    """The tokens of an encoding by id, for ids 0 to n - 1, where n - 1 is the largest id.

    Attributes:
        data: uint8 array, the bytes of all tokens, one behind the other.
        offsets: uint32 array of n + 1 items: the bytes of id i are data[offsets[i]:offsets[i + 1]].
        strs: list of n str: the text of each, with U+FFFD in the place of what is not UTF-8; "" for unknown ids.
        flags: uint8 array of n items, a sum of UNKNOWN (1, no token has this id), SPECIAL (2, a special token) and
            PARTIAL (4, the bytes are not whole characters).
    """

    data: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.uint32]
    strs: list[str]
    flags: npt.NDArray[np.uint8]

    @classmethod
    def of(cls, enc: Encoding) -> TokenTable:
        """The table of an encoding. Its memory is that of the strs, about 60 bytes a token, and of the bytes."""
        count = enc.max_token_value + 1
        special = enc._special_token_values
        pieces: list[bytes] = []
        flags = np.zeros(count, np.uint8)
        for token in range(count):
            try:
                piece = enc.decode_single_token_bytes(token)
            except KeyError:
                piece = b""
                flags[token] = UNKNOWN
            pieces.append(piece)
            if token in special:
                flags[token] |= SPECIAL
        strs = []
        for token, piece in enumerate(pieces):
            try:
                text = piece.decode()
            except UnicodeDecodeError:
                text = piece.decode(errors="replace")
                flags[token] |= PARTIAL
            strs.append(text)
        offsets = np.zeros(count + 1, np.uint32)
        np.cumsum([len(piece) for piece in pieces], out=offsets[1:], dtype=np.uint32)
        data = np.frombuffer(b"".join(pieces), np.uint8)
        for array in (offsets, flags):
            array.flags.writeable = False
        return cls(data, offsets, strs, flags)


def token_strs(table: TokenTable, ids: Any) -> Any:
    """The strs of ids of any shape (Encoding.token_strs has the arguments)."""
    array = as_numpy(ids) if not isinstance(ids, (int, list, tuple, range)) else None
    if array is None:
        array = _array_of(ids)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"ids are integers, got an array of {array.dtype}")
    array = array.astype(np.int64, "C")  # a copy: what is checked is what is looked up, whoever writes to the caller's
    _check(table, array)
    made = pick(table.strs, array.ravel())
    return _nested(made, array.shape) if array.ndim else made[0]


def _nested(items: list[str], shape: tuple[int, ...]) -> list[Any]:
    if len(shape) == 1:
        return items
    size = math.prod(shape[1:])
    return [_nested(items[at * size : (at + 1) * size], shape[1:]) for at in range(shape[0])]


def _array_of(ids: Any) -> npt.NDArray[Any]:
    if isinstance(ids, bool):
        raise TypeError("an id is an int, got a bool")
    try:
        array = np.asarray(ids)
        if array.ndim > 1 and any(map(is_masked, ids)):
            raise TypeError("ids are masked arrays: call token_strs() for each of them with ids.compressed()")
    except ValueError:
        raise ValueError("ids are lists of different lengths: call token_strs() for each of them") from None
    if array.dtype == object:
        raise TypeError(f"ids are integers of up to 32 bits, got {shown(ids)}")
    return array


def _check(table: TokenTable, array: npt.NDArray[Any]) -> None:
    if not array.size:
        return
    least, largest = int(array.min()), int(array.max())
    if least < 0 or largest > 0xFFFFFFFF:
        raise OverflowError("an id is negative or does not fit in 32 bits")
    if largest < len(table.strs):
        wrong = table.flags[array] & UNKNOWN
        if not wrong.any():
            return
        largest = int(array.ravel()[int(np.argmax(wrong.ravel()))])
    raise KeyError(f"Invalid token for decoding: {largest}")
