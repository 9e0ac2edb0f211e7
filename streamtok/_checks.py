"""Arguments checked and brought into the form that the core takes; the messages say what to write instead."""

from __future__ import annotations

import operator
import sys
from array import array
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from .bundled.packed import PackedVocabulary
from .errors import VocabularyError, not_a_str_error, shortened, shown
from .native.normal import Normalizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeGuard

    import numpy.typing as npt

    from ._protocols import Data, DeviceArray, Ids, SomeText, TokenIds, TokenRows

# More ids than this are converted in steps, between which Python handles signals.
_AT_ONCE = 1 << 20


def checked(text: str) -> str:
    if not isinstance(text, str):
        raise not_a_str_error(text)
    return text


def checked_text(text: SomeText) -> SomeText:
    """A str, or a buffer of bytes."""
    if not isinstance(text, str) and not _is_buffer(text):
        raise TypeError(f"expected str or a buffer of UTF-8 bytes, got {type(text).__name__}")
    return text


def checked_all(texts: Iterable[str]) -> list[str]:
    texts = list(texts)
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(
                f"expected str, got {type(text).__name__} at index {index}; for UTF-8 bytes use encode_ragged"
            )
    return texts


def _is_buffer(value: object) -> TypeGuard[Data]:
    try:
        memoryview(value)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def check_allowed(names: object, disallowed: object) -> None:
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


def id_array(tokens: TokenIds) -> array[int] | Ids:
    """Ids as one row of uint32 in C memory: of a list, a range or another iterable of ints, or of an array.

    An array is what numpy, DLPack or the buffer protocol reads: tensors, Series, array.array, memoryview. bytes are the
    numbers that iterating over them gives, as in tiktoken. A CUDA array is copied by CuPy where that is installed.

    Raises OverflowError and TypeError as tiktoken has them, TypeError for an array of something else than integers,
    ValueError for one of several rows.
    """
    if isinstance(tokens, (list, tuple, range, array)):
        return array("I", tokens) if len(tokens) <= _AT_ONCE else _long_array(tokens)
    numpy = sys.modules.get("numpy")  # already imported if the program has an array
    if numpy is not None and type(tokens) is numpy.ndarray:
        return _checked_row(tokens)  # type: ignore[arg-type]
    if isinstance(tokens, (bytes, bytearray)):
        return array("I", list(tokens))
    found = as_numpy(tokens)
    return array("I", tokens) if found is None else _checked_row(found)


def _long_array(tokens: Sequence[int]) -> array[int]:
    ids = array("I")
    for at in range(0, len(tokens), _AT_ONCE):
        ids.extend(array("I", tokens[at : at + _AT_ONCE]))
    return ids


def id_rows(batch: TokenRows) -> list[TokenIds]:
    """The rows of a batch of ids: the items of a list, the rows of an array of two dimensions."""
    found = None if isinstance(batch, (list, tuple)) else as_numpy(batch)
    if found is None:
        return list(batch)
    if found.ndim != 2:
        raise ValueError(f"a batch is an array of two dimensions, got one of shape {found.shape}; write decode(ids)")
    return list(found)


def single_id(token: Any) -> int | None:
    """The id, where it is one: an int, a number of numpy's, a tensor without dimensions. None for anything else.

    Raises TypeError for a bool, a float or a masked array."""
    kind = type(token)
    if kind is int:
        return token  # type: ignore[no-any-return]
    if kind is list:
        return None
    if not isinstance(token, int) and getattr(token, "ndim", None) != 0:
        return None
    if is_masked(token):
        raise TypeError("an id is an int, got a masked array")
    if isinstance(token, bool) or "bool" in str(getattr(token, "dtype", "")):
        raise TypeError("an id is an int, got a bool")
    return operator.index(token)


def is_masked(value: object) -> bool:
    """A masked array of numpy: as a plain one it would have the values that are masked."""
    return hasattr(value, "mask") and hasattr(value, "compressed")


def as_numpy(value: Any, what: str = "ids") -> npt.NDArray[Any] | None:
    """An array, of whatever package, as numpy's, without a copy where it lies in the CPU's memory; None for what is no
    array. Raises TypeError for a masked one, and for one on a device that it cannot be copied from; what: the name of
    the values there."""
    if is_masked(value):
        raise TypeError(f"{what} are a masked array: write {what}.compressed()")
    if hasattr(value, "__array__"):
        import numpy as np

        try:
            return np.asarray(value)
        except Exception:  # arrays of CuPy, and of torch on a device, refuse an implicit copy
            if not lies_on_a_device(value):
                raise
        return _from_device(value)
    if hasattr(value, "__dlpack__"):
        import numpy as np

        return _from_device(value) if lies_on_a_device(value) else np.from_dlpack(value)
    try:
        view = memoryview(value)
    except TypeError:
        return None
    import numpy as np

    return np.asarray(view)


_CPU, _PINNED = 1, 3  # device types of DLPack that the CPU reads; CUDA's is 2


def lies_on_a_device(value: object) -> bool:
    if hasattr(value, "__cuda_array_interface__"):
        return True
    return hasattr(value, "__dlpack_device__") and value.__dlpack_device__()[0] not in (_CPU, _PINNED)


def _from_device(value: object) -> npt.NDArray[Any]:
    try:
        import cupy

        found = cupy.asarray(value) if hasattr(value, "__cuda_array_interface__") else cupy.from_dlpack(value)
        return found.get()  # type: ignore[no-any-return]
    except Exception as error:
        raise TypeError(
            f"ids lie on a device, and CuPy cannot copy them ({shortened(str(error))}): "
            "copy them to the CPU first, as with ids.cpu()"
        ) from None


def _checked_row(ids: npt.NDArray[Any]) -> Ids:
    numpy = sys.modules["numpy"]
    if ids.ndim == 1 and ids.dtype == numpy.uint32 and ids.flags.c_contiguous:
        return ids
    check_row(ids)
    row: Ids = numpy.empty(len(ids), numpy.uint32)
    for at in range(0, len(ids), _AT_ONCE):
        part = ids[at : at + _AT_ONCE]
        if ids.dtype != numpy.uint32 and (part.min() < 0 or part.max() > 0xFFFFFFFF):
            raise OverflowError("an id is negative or does not fit in 32 bits")
        row[at : at + _AT_ONCE] = part
    return row


def check_row(ids: Ids | DeviceArray) -> None:
    """Raises ValueError or TypeError for an array that is no row of integers."""
    if ids.ndim > 1:
        raise ValueError(
            f"ids are one row, got an array of shape {ids.shape}; "
            "write decode_batch(ids) for a text of each row, or ids.ravel() for a single one"
        )
    if not ids.ndim:
        raise TypeError("ids are a row, got a single number; write [number]")
    if ids.dtype.kind not in "iu" and len(ids):  # without any, np.array([]) is one of floats
        raise TypeError(f"ids are integers, got an array of {shortened(str(ids.dtype))}")


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


def normalizer_of(steps: Iterable[Iterable[Any]] | None) -> Normalizer | None:
    """None for no steps: the text is then taken as it is."""
    if steps is None:
        return None
    made = Normalizer(steps)
    return made if made.steps else None
