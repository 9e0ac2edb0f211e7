"""Ids on a device in the shapes that models take: rows of one length, and documents packed into rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._rows.shape import Shape, check_room, check_template
from ...native.rows import Plan, Ragged
from .decode import Kernels
from .jobs import PACK, PAD, PLANNED, TEMPLATE, TILE

if TYPE_CHECKING:
    from ..._protocols import DeviceArray, Record, Template
    from .._waiting import Steps


class Packed(NamedTuple):
    """ids and positions: of shape (rows, length). places: int32, where sequences begin and the last one ends. sources:
    int64, the number of each sequence's document, -1 for pads; None where they are not asked for."""

    ids: DeviceArray
    places: DeviceArray
    positions: DeviceArray
    sources: DeviceArray | None


def _put_template(kernels: Kernels, job: Record, template: Template) -> DeviceArray:
    """Puts the template on the device, for a job that is launched before what is returned is given up."""
    prefix, suffix = (np.array(part, np.uint32) for part in template)
    there = kernels.device.put(np.concatenate([prefix, suffix]))
    job["prefix"] = kernels.device.pointer(there)
    job["suffix"] = job["prefix"] + np.uint64(prefix.nbytes)
    job["prefix_size"], job["suffix_size"] = len(prefix), len(suffix)
    return there


def in_template(
    kernels: Kernels, ids: DeviceArray, row_starts: DeviceArray, template: Template
) -> tuple[DeviceArray, DeviceArray]:
    """(ids, row starts), with the ids of the template around those of each row."""
    device, rows, around = kernels.device, len(row_starts) - 1, sum(map(len, template))
    job, total = np.zeros((), TEMPLATE), len(ids) + rows * around
    held = _put_template(kernels, job, template)
    out = device.empty(total, ids.dtype)
    job["ids"], job["id_bytes"], job["total"] = device.pointer(ids), ids.dtype.itemsize, total
    job["row_starts"], job["row_count"], job["out"] = device.pointer(row_starts), rows, device.pointer(out)
    if total:
        kernels.warps("template", job, -(-total // TILE))
    starts: Any = device.put(np.arange(rows + 1) * around)
    starts += row_starts
    del held
    return out, starts


def padded(
    kernels: Kernels, ids: DeviceArray, row_starts: DeviceArray, shape: Shape, template: Template
) -> Steps[tuple[DeviceArray, DeviceArray]]:
    """(ids, mask), both of shape (rows, length): ids of each row and of the template around it, with pads; 1 in the
    mask for each id."""
    device, rows, around = kernels.device, len(row_starts) - 1, sum(map(len, template))
    job = np.zeros((), PAD)
    job["ids"], job["id_bytes"] = device.pointer(ids), ids.dtype.itemsize
    job["row_starts"], job["row_count"], job["report"] = device.pointer(row_starts), rows, kernels.report_there()
    longest = shape.length
    if longest is None:
        device.launch("longest_row", job, device.blocks_for("longest_row", -(-max(1, rows) // 256)), 256)
        kernels.tell()
        yield device.moment()
        longest = int(kernels.reported()["longest_row"]) + (around if rows else 0)
    length = shape.row_length(longest)
    check_template(shape.ids_kept(longest), around if rows else 0)
    held = _put_template(kernels, job, template)
    out, mask = (device.empty(rows * length, shape.dtype) for _ in range(2))
    job["length"], job["most"], job["keeps_end"] = length, shape.ids_kept(longest), shape.keeps_end
    job["is_left"], job["pad"] = shape.is_left, shape.pad % 2**64
    job["out"], job["mask"], job["out_bytes"] = device.pointer(out), device.pointer(mask), shape.dtype.itemsize
    if rows * length:
        kernels.warps("pad", job, rows)
    del held
    return out.reshape(rows, length), mask.reshape(rows, length)


def packed(
    kernels: Kernels, ids: DeviceArray, doc_starts: DeviceArray, shape: Shape, with_sources: bool
) -> Steps[Packed]:
    """Documents one behind the other, cut into rows."""
    device, docs = kernels.device, len(doc_starts) - 1
    assert shape.length is not None
    total = len(ids) + (docs if shape.end is not None else 0)
    rows = -(-total // shape.length)
    capacity = rows * shape.length
    check_room(capacity)
    out, positions = (device.empty(capacity, shape.dtype) for _ in range(2))
    most = min(total, docs + rows)
    sequences, sources = device.empty(most + 1, np.int32), device.empty(most if with_sources else 0, np.int64)
    tiles = -(-capacity // TILE)
    job = np.zeros((), PACK)
    job["ids"], job["id_bytes"] = device.pointer(ids), ids.dtype.itemsize
    job["doc_starts"], job["doc_count"] = device.pointer(doc_starts), docs
    job["length"], job["total"], job["capacity"], job["pad"] = shape.length, total, capacity, shape.pad % 2**64
    job["has_end"], job["end"] = shape.end is not None, (shape.end or 0) % 2**64
    job["out"], job["positions"], job["out_bytes"] = (
        device.pointer(out),
        device.pointer(positions),
        shape.dtype.itemsize,
    )
    job["tiles"], job["sequences"] = kernels.buffers.address("tiles", tiles + 1, np.uint64), device.pointer(sequences)
    job["sources"] = device.pointer(sources) if with_sources else 0
    if tiles:
        kernels.warps("pack_rows", job, tiles)
        kernels.add_up(int(job["tiles"]), tiles)
        kernels.warps("sequences", job, tiles)
    else:
        device.assign(sequences, 0)
    yield device.moment()
    count = int(kernels.reported()["total"]) if tiles else 0
    shaped = out.reshape(rows, shape.length), sequences[: count + 1], positions.reshape(rows, shape.length)
    return Packed(*shaped, sources[:count] if with_sources else None)


def packed_best_fit(
    kernels: Kernels, ids: DeviceArray, doc_starts: DeviceArray, shape: Shape, with_sources: bool
) -> Packed:
    """The same by best fit. Which document goes where depends on all placed before it, so the host plans it, from the
    sizes alone, by the code of streamtok.pack; the ids stay on the device."""
    device, length = kernels.device, shape.length
    assert length is not None
    plan = Plan(Ragged(None, device.get(doc_starts)), shape.end is not None, length, True)
    rows = -(-plan.total // length)
    check_room(rows * length)
    places, numbers = np.empty(plan.count + 1, np.int32), np.empty(plan.count, np.int64)
    plan.places(places, numbers)
    there = device.put(np.frombuffer(memoryview(plan), np.uint64))
    out, positions = (device.empty(rows * length, shape.dtype) for _ in range(2))
    job = np.zeros((), PLANNED)
    job["ids"], job["id_bytes"], job["plan"] = device.pointer(ids), ids.dtype.itemsize, device.pointer(there)
    job["count"], job["capacity"] = plan.count, rows * length
    job["end"], job["pad"] = (shape.end or 0) % 2**64, shape.pad % 2**64
    job["out"], job["positions"], job["out_bytes"] = (
        device.pointer(out),
        device.pointer(positions),
        shape.dtype.itemsize,
    )
    if rows:
        kernels.warps("pack_plan", job, -(-rows * length // TILE))
    shaped = out.reshape(rows, length), device.put(places), positions.reshape(rows, length)
    return Packed(*shaped, device.put(numbers) if with_sources else None)
