"""Texts that are normalized: the host looks whether they are normal already, and normalizes those that are not."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from ..native.prepared import changed, has_names, prepared
from ._errors import NotForDevice
from ._job import PASSAGE_ID
from ._waiting import Steps, computed

if TYPE_CHECKING:
    from .._protocols import HostArray, NamePair, Places
    from ..native.normal import Normalizer
    from ..native.texts import Texts


_A_PART = 8 << 20
"""Bytes of texts that are looked at by one call: worth waking a thread."""

_ONE_PART = 16
"""Bytes of the parts of a text without names, as prepared() gives them."""


@dataclasses.dataclass(frozen=True)
class Ready:
    """Normalized pieces, as pack() takes them: bytes on the host; starts and sizes (uint64) of the passages between
    names, with the ids of the names between them; and the passage that each row begins with (int64)."""

    data: bytes
    starts: HostArray
    sizes: HostArray
    rows: Places


def made_normal(
    texts: Texts, buffer: HostArray, starts: Places, sizes: Places, normalizer: Normalizer, matchers: NamePair
) -> Steps[Texts | None]:
    """The texts, whose UTF-8 is buffer[start : start + size] each, with normalized ones in place of those that the
    normalizer changes; None where that is not enough: a name stands in such a text, before or after.

    Raises NotForDevice for a text that is not UTF-8, or holds a disallowed name: the CPU has the error."""
    size = int(sizes.sum())

    def look(part: range) -> list[int] | None:
        return changed(buffer, starts, sizes, normalizer, texts.trusted, part.start, part.stop)

    found = yield from computed(look, _parts(len(texts), size), size)
    others: dict[int, bytes] = {}
    for numbers in found:
        if numbers is None:
            raise NotForDevice("text that is not UTF-8")
        if numbers and not (yield from _replace(texts, numbers, normalizer, matchers, others)):
            return None
    return texts.replaced(others) if others else texts


def _parts(count: int, size: int) -> list[range]:
    """Numbers of texts, some for each thread."""
    step = max(1, count * _A_PART // max(size, 1))
    return [range(at, min(at + step, count)) for at in range(0, count, step)]


def _replace(
    texts: Texts, numbers: list[int], normalizer: Normalizer, matchers: NamePair, others: dict[int, bytes]
) -> Steps[bool]:
    """Normalizes these texts into `others`; False: a name stands in one of them."""
    pieces = [texts[i] for i in numbers]
    look = functools.partial(_prepared, normalizer=normalizer, matchers=matchers)
    for i, made in zip(numbers, (yield from computed(look, pieces, sum(map(len, pieces))))):
        if made is None:
            raise NotForDevice("text that is refused")
        text, parts = made
        if len(parts) > _ONE_PART or has_names(text, *matchers):
            return False
        others[i] = text
    return True


def made_ready(pieces: list[HostArray], rows: Places, normalizer: Normalizer, matchers: NamePair) -> Steps[Ready]:
    """Pieces of UTF-8, uint8 each, normalized, and their names found, by the host.

    Raises NotForDevice for a piece that is not UTF-8, or holds a disallowed name: the CPU has the error."""
    look = functools.partial(_prepared, normalizer=normalizer, matchers=matchers)
    found = yield from computed(look, pieces, sum(map(len, pieces)))
    if any(each is None for each in found):
        raise NotForDevice("text that is refused")
    return _joined(found, rows)


def _prepared(piece: Any, normalizer: Normalizer, matchers: NamePair) -> Any:
    return prepared(piece, normalizer, *matchers)


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
