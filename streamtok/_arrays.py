"""Ids in the array that a caller asked for: of another dtype, writable, or one of the caller's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._checks import as_numpy, is_masked, lies_on_a_device
from .errors import shown
from .native.ids import writable

if TYPE_CHECKING:
    import numpy.typing as npt

    from ._protocols import Encoding, Ids, Places, Template

DTYPES: dict[str, type[np.integer[Any]]] = {
    "uint16": np.uint16,
    "uint32": np.uint32,
    "int32": np.int32,
    "int64": np.int64,
}


def id_dtype(encoding: Encoding, dtype: npt.DTypeLike | None, argument: str = "dtype") -> np.dtype[Any]:
    """The dtype of ids by its name, or as numpy has it. argument: what it is called where it was given.

    Raises ValueError for another one, and where the largest id of the encoding does not fit."""
    try:
        found: np.dtype[Any] = np.dtype(dtype)
    except Exception:  # also whatever a foreign object raises when numpy inspects it
        found = np.dtype(np.void)
    if found.name not in DTYPES or not found.isnative:
        raise ValueError(f"{argument}={shown(dtype)} is unknown: write one of {', '.join(map(repr, DTYPES))}")
    most = int(np.iinfo(found).max)
    if encoding.max_token_value > most:
        raise ValueError(
            f"{argument}={shown(found.name)} holds ids up to {most}, and {shown(encoding.name)} has ids up to "
            f"{encoding.max_token_value}: write {argument}='uint32', 'int32' or 'int64'"
        )
    return found


class Wanted:
    """The array that the arguments dtype and out ask for. Everything is checked before any work."""

    def __init__(self, encoding: Encoding, dtype: npt.DTypeLike | None, out: npt.ArrayLike | None) -> None:
        self._out = None if out is None else _room(out)
        if self._out is None:
            self._dtype = id_dtype(encoding, dtype)
            return
        self._dtype = id_dtype(encoding, self._out.dtype, "out.dtype")
        if dtype is not None and id_dtype(encoding, dtype) != self._dtype:
            raise ValueError(f"dtype={shown(dtype)}, and out is an array of {self._dtype}: leave out dtype")

    def take(self, ids: Ids) -> npt.NDArray[Any]:
        """The ids in that array. `ids` must have no other user, and must not be used afterwards."""
        if self._out is not None:
            if len(ids) > len(self._out):
                raise ValueError(f"out has room for {len(self._out)} ids, and there are {len(ids)}: give a longer one")
            self._out[: len(ids)] = ids
            return self._out[: len(ids)]
        if self._dtype.itemsize == ids.itemsize:
            return writable(ids).view(self._dtype)
        return ids.astype(self._dtype)


def _room(out: npt.ArrayLike) -> npt.NDArray[Any]:
    if lies_on_a_device(out):
        raise TypeError("out lies on a device: give an array in the CPU's memory, or use streamtok.gpu.GpuEncoder")
    if is_masked(out):
        raise TypeError("out is a masked array: write out.data for the array below the mask")
    room = as_numpy(out)
    if room is None:
        raise TypeError(f"out is of type {type(out).__name__}: give an array of ids")
    if room.ndim != 1:
        raise ValueError(f"out is an array of shape {room.shape}: give one row")
    if not room.flags.writeable:
        raise ValueError("out is read-only: give an array that can be written to")
    return room


def rows_in_template(ids: Ids, indptr: Places, template: Template) -> tuple[Ids, Places]:
    """(ids, indptr) of encode_ragged() with the ids of the template around those of each text."""
    prefix, suffix = (np.array(part, np.uint32) for part in template)
    texts = len(indptr) - 1
    starts = np.repeat(indptr[:-1], len(prefix)), np.repeat(indptr[1:], len(suffix))
    made = np.insert(ids, starts[1], np.tile(suffix, texts))  # at equal places in the order of the texts
    shift = np.arange(texts + 1, dtype=np.int64)
    made = np.insert(made, starts[0] + np.repeat(shift[:-1], len(prefix)) * len(suffix), np.tile(prefix, texts))
    made.flags.writeable = False
    return made, indptr + shift * (len(prefix) + len(suffix))
