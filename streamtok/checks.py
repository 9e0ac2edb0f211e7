"""Arguments checked and brought into the form that the core takes; the messages say what to write instead."""

from __future__ import annotations

import contextlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from ._packed import PackedVocabulary
from .errors import VocabularyError, not_a_str_error, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    import numpy.typing as npt


def checked(text: str) -> str:
    if not isinstance(text, str):
        raise not_a_str_error(text)
    return text


def checked_all(texts: Iterable[str]) -> list[str]:
    texts = list(texts)
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(
                f"expected str, got {type(text).__name__} at index {index}; for UTF-8 bytes use encode_ragged"
            )
    return texts


@contextlib.contextmanager
def index_named(texts: list[Any]) -> Iterator[list[Any]]:
    """Gives a TypeError or UnicodeDecodeError that one of the texts causes the index of that text."""
    try:
        yield texts
    except TypeError:
        _check_texts(texts)
        raise
    except UnicodeDecodeError:
        raise _first_invalid(texts) from None


def _check_texts(texts: Sequence[Any]) -> None:
    for index, text in enumerate(texts):
        if not isinstance(text, (str, bytes)) and not _is_buffer(text):
            raise TypeError(f"expected str or a buffer of UTF-8 bytes, got {type(text).__name__} at index {index}")


def _is_buffer(value: Any) -> bool:
    try:
        memoryview(value)
    except TypeError:
        return False
    return True


def _first_invalid(texts: Sequence[Any]) -> UnicodeDecodeError:
    """The error of the first text that is not UTF-8; one of them is not."""
    for index, text in enumerate(texts):
        try:
            if not isinstance(text, str):
                bytes(text).decode()
        except UnicodeDecodeError as error:
            return UnicodeDecodeError("utf-8", error.object, error.start, error.end, f"{error.reason} (text {index})")
    raise AssertionError("every text is UTF-8")


def check_allowed(names: Any, disallowed: Any) -> None:
    """Raises TypeError for an `allowed_special` that is no set of names.

    Any other collection is taken where `disallowed` does not need the difference of two sets, and only there.
    """
    if isinstance(names, AbstractSet):
        return
    if isinstance(names, str):
        raise TypeError(f"allowed_special={shown(names)} is one str; write {{{shown(names)}}} for that name, or 'all'")
    if isinstance(names, bytes) or not isinstance(names, Iterable) or disallowed == "all":
        kind = type(names).__name__
        raise TypeError(f"allowed_special is of type {kind}; write a set of names, as {{'<|endoftext|>'}}, or 'all'")


def id_array(tokens: Iterable[int]) -> array[int] | npt.NDArray[np.uint32]:
    """Ids as a C array of uint32. OverflowError and TypeError as tiktoken has them."""
    dtype = getattr(tokens, "dtype", None)
    if dtype is None:
        return array("I", tokens)
    import numpy as np

    if getattr(tokens, "ndim", 1) > 1:
        raise ValueError(
            f"ids are one row, got an array of shape {tokens.shape}; "  # type: ignore[attr-defined]
            "write decode_batch(ids) for a text of each row, or ids.ravel() for a single one"
        )
    if dtype.kind not in "iu":
        raise TypeError(f"ids are integers, got an array of {dtype}")
    if dtype != np.uint32 and len(tokens) and (tokens.min() < 0 or tokens.max() > 0xFFFFFFFF):  # type: ignore
        raise OverflowError("an id is negative or does not fit in 32 bits")
    return np.ascontiguousarray(tokens, np.uint32)


def check_special(packed: PackedVocabulary, special_tokens: dict[str, int]) -> None:
    ranks = packed.ranks if isinstance(packed.ranks, range) else set(packed.ranks) if special_tokens else ()
    for name, token in special_tokens.items():
        if not isinstance(name, str) or not isinstance(token, int) or isinstance(token, bool):
            raise TypeError(f"special_tokens maps str to int, got {shown(name)}: {shown(token)}")
        if not name:
            raise VocabularyError("the name of a special token is empty; every text would hold it")
        if not 0 <= token <= 0x7FFFFFFF:
            raise VocabularyError(f"special token {shown(name)} has id {shown(token)}; ids go from 0 to 2**31 - 1")
        if token in ranks:
            raise VocabularyError(
                f"special token {shown(name)} has id {shown(token)}, which an ordinary token has; give it its own"
            )


def check_n_vocab(count: int, largest: int, explicit: int | None) -> None:
    if explicit and (count != explicit or largest != explicit - 1):
        raise VocabularyError(
            f"explicit_n_vocab is {shown(explicit)}, but there are {count} tokens and the largest id is {largest}; "
            "leave it out, or give a vocabulary without gaps"
        )
