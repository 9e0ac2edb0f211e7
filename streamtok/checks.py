"""Arguments checked and brought into the form that the core takes; the messages say what to write instead."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ._packed import PackedVocabulary
from .errors import VocabularyError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def checked(text: str) -> str:
    if not isinstance(text, str):
        raise TypeError(
            f"expected str, got {type(text).__name__}; for UTF-8 bytes use encode_to_numpy or stream_encoder"
        )
    return text


def checked_all(texts: Iterable[str]) -> list[str]:
    return [checked(text) for text in texts]


def id_array(tokens: Iterable[int]) -> array[int] | npt.NDArray[np.uint32]:
    """Ids as a C array of uint32. OverflowError and TypeError as tiktoken has them."""
    dtype = getattr(tokens, "dtype", None)
    if dtype is None:
        return array("I", tokens)
    import numpy as np

    if dtype.kind not in "iu":
        raise TypeError(f"ids are integers, got an array of {dtype}")
    if dtype != np.uint32 and len(tokens) and (tokens.min() < 0 or tokens.max() > 0xFFFFFFFF):  # type: ignore
        raise OverflowError("an id is negative or does not fit in 32 bits")
    return np.ascontiguousarray(tokens, np.uint32)


def check_special(packed: PackedVocabulary, special_tokens: dict[str, int]) -> None:
    ranks = packed.ranks if isinstance(packed.ranks, range) else set(packed.ranks) if special_tokens else ()
    for name, token in special_tokens.items():
        if not isinstance(name, str) or not isinstance(token, int) or isinstance(token, bool):
            raise TypeError(f"special_tokens maps str to int, got {name!r}: {token!r}")
        if not name:
            raise VocabularyError("the name of a special token is empty; every text would hold it")
        if not 0 <= token <= 0x7FFFFFFF:
            raise VocabularyError(f"special token {name!r} has id {token}; ids go from 0 to 2**31 - 1")
        if token in ranks:
            raise VocabularyError(
                f"special token {name!r} has id {token}, which an ordinary token has; give it its own"
            )


def check_n_vocab(count: int, largest: int, explicit: int | None) -> None:
    if explicit and (count != explicit or largest != explicit - 1):
        raise VocabularyError(
            f"explicit_n_vocab is {explicit}, but there are {count} tokens and the largest id is {largest}; "
            "leave it out, or give a vocabulary without gaps"
        )
