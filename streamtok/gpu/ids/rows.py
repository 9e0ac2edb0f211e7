"""Ids on a device in the shapes that models take: rows of one length, and documents packed into rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...errors import shown
from .decode import Kernels
from .jobs import PACK, PAD, TILE

if TYPE_CHECKING:
    from ...protocols import DeviceArray
    from .._waiting import Steps

_DTYPES = "uint16", "int16", "uint32", "int32", "int64", "uint64"

_MOST_PLACES = 2**31 - 1
"""Places of sequences are int32, as attention kernels take them."""


class Shape(NamedTuple):
    """Checked arguments. length: ids of a row; None: as many as the longest has. is_left: pads stand in front."""

    length: int | None
    dtype: np.dtype
    pad: int
    is_left: bool = False
    end: int | None = None


def shape_of(
    length: int | None, dtype: str, pad: int, highest: int, side: str = "right", end: int | None = None
) -> Shape:
    """Raises ValueError for an argument that cannot be meant. highest: the largest id that the encoding has."""
    if length is not None and (not isinstance(length, int) or isinstance(length, bool) or length < 1):
        raise ValueError(f"length={shown(length)}: write how many ids a row has, 1 or more")
    if side not in ("right", "left"):
        raise ValueError(f"side={shown(side)}: pads stand at the 'right' or at the 'left'")
    if dtype not in _DTYPES:
        raise ValueError(f"dtype={shown(dtype)}: write one of {', '.join(map(repr, _DTYPES))}")
    found = np.dtype(dtype)
    limits = np.iinfo(found)
    if highest > limits.max:
        raise ValueError(
            f"dtype={shown(dtype)} holds ids up to {limits.max}, and this encoding has ids up to {highest}"
        )
    for name, value in (("pad_id", pad), ("eot", 0 if end is None else end)):
        if not isinstance(value, int) or not limits.min <= value <= limits.max:
            span = f"an int from {limits.min} to {limits.max}"
            raise ValueError(f"{name}={shown(value)} does not fit {dtype}: write {span}")
    if length is not None and length - 1 > limits.max:
        raise ValueError(f"positions up to {length - 1} do not fit {dtype}: write a wider dtype")
    return Shape(length, found, pad, side == "left", end)


def padded(
    kernels: Kernels, ids: DeviceArray, row_starts: DeviceArray, shape: Shape
) -> Steps[tuple[DeviceArray, DeviceArray]]:
    """(ids, mask), both of shape (rows, length): the first ids of each row, with pads; 1 in the mask for each id."""
    device, rows = kernels.device, len(row_starts) - 1
    job = np.zeros((), PAD)
    job["ids"], job["id_bytes"] = device.pointer(ids), ids.dtype.itemsize
    job["row_starts"], job["row_count"], job["report"] = device.pointer(row_starts), rows, kernels.report_there()
    length = shape.length
    if length is None:
        device.launch("longest", job, device.blocks_for("longest", -(-max(1, rows) // 256)), 256)
        kernels.tell()
        yield device.moment()
        length = int(kernels.reported()["longest"])
    out, mask = (device.empty(rows * length, shape.dtype) for _ in range(2))
    job["length"], job["is_left"], job["pad"] = length, shape.is_left, shape.pad % 2**64
    job["out"], job["mask"], job["out_bytes"] = device.pointer(out), device.pointer(mask), shape.dtype.itemsize
    if rows * length:
        kernels.warps("pad", job, rows)
    return out.reshape(rows, length), mask.reshape(rows, length)


def packed(
    kernels: Kernels, ids: DeviceArray, doc_starts: DeviceArray, shape: Shape
) -> Steps[tuple[DeviceArray, DeviceArray, DeviceArray]]:
    """(ids, where sequences begin and the last one ends: int32, positions); ids and positions: (rows, length)."""
    device, docs = kernels.device, len(doc_starts) - 1
    assert shape.length is not None
    total = len(ids) + (docs if shape.end is not None else 0)
    rows = -(-total // shape.length)
    room = rows * shape.length
    if room > _MOST_PLACES:
        raise ValueError(f"{room} ids in one batch: places of sequences are 32-bit numbers, so pack fewer documents")
    out, positions = (device.empty(room, shape.dtype) for _ in range(2))
    sequences = device.empty(min(total, docs + rows) + 1, np.int32)
    tiles = -(-room // TILE)
    job = np.zeros((), PACK)
    job["ids"], job["id_bytes"] = device.pointer(ids), ids.dtype.itemsize
    job["doc_starts"], job["doc_count"] = device.pointer(doc_starts), docs
    job["length"], job["total"], job["room"], job["pad"] = shape.length, total, room, shape.pad % 2**64
    job["has_end"], job["end"] = shape.end is not None, (shape.end or 0) % 2**64
    job["out"], job["positions"], job["out_bytes"] = (
        device.pointer(out),
        device.pointer(positions),
        shape.dtype.itemsize,
    )
    job["tiles"], job["sequences"] = kernels.buffers.address("tiles", tiles + 1, np.uint64), device.pointer(sequences)
    if tiles:
        kernels.warps("pack_rows", job, tiles)
        kernels.add_up(int(job["tiles"]), tiles)
        kernels.warps("sequences", job, tiles)
    else:
        device.assign(sequences, 0)
    yield device.moment()
    count = int(kernels.reported()["total"]) if tiles else 0
    return out.reshape(rows, shape.length), sequences[: count + 1], positions.reshape(rows, shape.length)
