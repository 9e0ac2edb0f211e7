"""Texts that are normalized: the host looks whether they are normal already, and normalizes those that are not."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from ..native.prepared import prepared
from ._errors import NotForDevice
from ._job import PASSAGE_ID
from ._waiting import Steps, computed

if TYPE_CHECKING:
    from ..native.normal import Normalizer
    from ..protocols import HostArray, NamePair, Places


@dataclasses.dataclass(frozen=True)
class Ready:
    """Normalized pieces, as pack() takes them: bytes on the host; starts and sizes (uint64) of the passages between
    names, with the ids of the names between them; and the passage that each row begins with (int64)."""

    data: bytes
    starts: HostArray
    sizes: HostArray
    rows: Places


def made_ready(
    pieces: list[HostArray], rows: Places, normalizer: Normalizer, matchers: NamePair
) -> Steps[Ready | None]:
    """Pieces of UTF-8, uint8 each, normalized, and their names found, by the host; None: all are normal as they are.

    Raises NotForDevice for a piece that is not UTF-8, or holds a disallowed name: the CPU has the error."""
    size = sum(map(len, pieces))
    look = functools.partial(_prepared, normalizer=normalizer, matchers=matchers)
    found = yield from computed(look, pieces, size)
    if all(each is True for each in found):
        return None
    changed = [i for i, each in enumerate(found) if each is True]
    again = yield from computed(functools.partial(look, again=True), [pieces[i] for i in changed], size)
    for i, each in zip(changed, again):
        found[i] = each
    if any(each is None for each in found):
        raise NotForDevice("text that is refused")
    return _joined(found, rows)


def _prepared(piece: Any, normalizer: Normalizer, matchers: NamePair, again: bool = False) -> Any:
    return prepared(piece, normalizer, *matchers, again)


def _joined(pieces: list[tuple[bytes, bytes]], rows: Places) -> Ready:
    """Of all pieces, one behind the other."""
    parts = [np.frombuffer(each, np.int64).reshape(-1, 2) for _, each in pieces]
    before = np.cumsum([0, *(len(text) for text, _ in pieces)])
    counts = np.array([2 * len(each) - 1 for each in parts])  # a passage for each part, and for each name between two
    starts, sizes = np.zeros((2, int(counts.sum())), np.uint64)
    firsts = np.cumsum(counts) - counts
    for each, at, first, count in zip(parts, before.tolist(), firsts.tolist(), counts.tolist()):
        ends = each[:, 0]
        begins = np.concatenate([np.zeros(1, np.int64), ends[:-1]])
        starts[first : first + count : 2], sizes[first : first + count : 2] = begins + at, ends - begins
        sizes[first + 1 : first + count : 2] = each[:-1, 1].astype(np.uint64) + np.uint64(PASSAGE_ID)
    data = b"".join(text for text, _ in pieces)
    return Ready(data + b" ", starts, sizes, np.append(firsts, counts.sum())[rows])
