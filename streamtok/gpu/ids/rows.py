"""Ids on a device in the shapes that models take: rows of one length, and documents packed into rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...rows.shape import Shape, check_room
from .decode import Kernels
from .jobs import PACK, PAD, TILE

if TYPE_CHECKING:
    from ...protocols import DeviceArray
    from .._waiting import Steps


def padded(
    kernels: Kernels, ids: DeviceArray, row_starts: DeviceArray, shape: Shape
) -> Steps[tuple[DeviceArray, DeviceArray]]:
    """(ids, mask), both of shape (rows, length): ids of each row, with pads; 1 in the mask for each id."""
    device, rows = kernels.device, len(row_starts) - 1
    job = np.zeros((), PAD)
    job["ids"], job["id_bytes"] = device.pointer(ids), ids.dtype.itemsize
    job["row_starts"], job["row_count"], job["report"] = device.pointer(row_starts), rows, kernels.report_there()
    longest = shape.length
    if longest is None:
        device.launch("longest", job, device.blocks_for("longest", -(-max(1, rows) // 256)), 256)
        kernels.tell()
        yield device.moment()
        longest = int(kernels.reported()["longest"])
    length = shape.row_length(longest)
    out, mask = (device.empty(rows * length, shape.dtype) for _ in range(2))
    job["length"], job["most"], job["keeps_end"] = length, shape.ids_kept(longest), shape.keeps_end
    job["is_left"], job["pad"] = shape.is_left, shape.pad % 2**64
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
    check_room(room)
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
