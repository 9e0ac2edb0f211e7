"""Special tokens in texts on a device: which of the places found count, and the texts cut there."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from ..native import job
from ..native.matcher import Matcher
from ._errors import NotForDevice
from ._job import NAME_SET, PASSAGE_ID
from ._respelled import respelled

if TYPE_CHECKING:
    from .._protocols import Data, DeviceArray, Encoding, HostArray, NamePair, Places
    from ..native.encode import Coder
    from ._device import CudaDevice
    from ._respelled import Respelled

# A thread searches 64 bytes and as many behind them as the longest name has. With longer names there are no places to
# cut at either (csrc/threads/safe_cuts.c).
_LONGEST = 4096

# Bits for a name's number in what the kernels find.
_MOST = 0xFFFF


class Sought:
    """Names as the kernels have them, in sets that are searched separately, each for the longest name at a place.

    Args:
        matchers: the core's Matchers. A name's number counts through all of them.
    """

    def __init__(self, matchers: list[Matcher]) -> None:
        self.names = [name for matcher in matchers for name in matcher.names]
        self.fits = len(self.names) <= _MOST and all(matcher.longest_name <= _LONGEST for matcher in matchers)
        self._matchers = matchers
        self._before = np.cumsum([0, *(len(matcher.names) for matcher in matchers)])

    def __len__(self) -> int:
        return len(self._matchers)

    def put(self, device: CudaDevice) -> tuple[DeviceArray, HostArray, list[DeviceArray]]:
        """(sets on the device, bits of the bytes that names begin with, what the sets point to)."""
        sets = np.zeros(len(self), NAME_SET)
        held = []
        for each, matcher, before in zip(sets, self._matchers, self._before):
            tables = matcher.tables()
            each["before"] = before
            hashing = tables["edge_mask"], tables["edge_factor"]
            for field, table in tables.items():
                if isinstance(table, bytes) and table:
                    held.append(device.put(np.frombuffer(table, np.uint64 if len(table) % 8 == 0 else np.uint32)))
                    address = device.pointer(held[-1])
                    each[field] = (address, *hashing) if field == "edges" else address
        firsts = np.zeros(4, np.uint64)
        for first in {name.encode()[0] for name in self.names}:
            firsts[first // 64] |= np.uint64(1 << first % 64)
        return device.put(sets.view(np.uint64)), firsts, held


class Names:
    """The names to look for: allowed ones, which stand for their ids, and disallowed ones, which no text may hold.

    Args:
        allowed, disallowed: the core's Matchers; None where there are none.
        special_tokens: name -> id.
        coder: the core's, whose pattern says where a text may be cut; None: any pattern.
        own: how the device has the encoding (respelled()); None: as it is.
    """

    def __init__(
        self,
        allowed: Matcher | None,
        disallowed: Matcher | None,
        special_tokens: dict[str, int],
        coder: Coder | None = None,
        own: Respelled | None = None,
    ) -> None:
        self.matchers, self._coder, self._own = (allowed, disallowed), coder, own
        ids = [] if allowed is None else [special_tokens[name] for name in allowed.names]
        others = [] if disallowed is None else list(disallowed.names)
        fewer = None if allowed is None or own is None else own.left_in_text(list(allowed.names), ids, others)
        if fewer is not None:
            allowed, ids = Matcher(fewer.names), fewer.ids
        self._sought = allowed, disallowed
        self.sought = Sought([each for each in self._sought if each is not None])
        self.ids = np.array(ids, np.uint64)
        self.lengths = np.array([len(name.encode()) for name in self.sought.names], np.int64)
        if fewer is not None:
            self.lengths[: len(ids)] = fewer.lengths

    @property
    def keep_whole(self) -> bool:
        """Whether texts are not cut: what is encoded as a text gets something in front of it."""
        return self._own is not None and bool(self._own.front)

    def cuts(self, data: Data, size: int) -> list[int]:
        """Places about `size` bytes apart where the two sides encode independently and no name is near."""
        if self.keep_whole:
            return []
        if self._own is not None:
            return self._own.cuts(data, size, self._sought)
        return job.cuts(data, size, *self.matchers, self._coder)

    def taken(self, places: Places, numbers: Places) -> tuple[Places, Places, HostArray]:
        """(starts, ends, ids) of the allowed names that count: leftmost first, the longest of those at one place, none
        inside another. places, numbers: int64, of the names found, in the order of the places.

        Raises NotForDevice where a disallowed name is among them: the CPU has the error.
        """
        if len(numbers) and int(numbers.max()) >= len(self.ids):
            raise NotForDevice("a disallowed special token")
        ends = places + self.lengths[numbers]
        order = np.lexsort((-ends, places))
        places, ends, numbers = places[order], ends[order], numbers[order]
        first = np.ones(len(places), bool)
        first[1:] = places[1:] != places[:-1]
        places, ends, numbers = places[first], ends[first], numbers[first]
        if (places[1:] < ends[:-1]).any():
            kept = _apart(places, ends)
            places, ends, numbers = places[kept], ends[kept], numbers[kept]
        return places, ends, self.ids[numbers]


# Sets of names that a program uses: few programs use more than two.
_KEPT = 64


class KeptNames:
    """The Names of an encoding's matchers, made once."""

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding
        self._made: dict[NamePair, Names] = {}

    def of(self, matchers: NamePair) -> Names:
        names = self._made.get(matchers)
        if names is None:
            if len(self._made) >= _KEPT:
                self._made.clear()
            coder = cast("Coder", self._encoding._coder)  # there are kernels for patterns of the core's scanners only
            own = respelled(self._encoding)
            names = self._made[matchers] = Names(*matchers, self._encoding._added_tokens, coder, own)
        return names


def _apart(starts: Places, ends: Places) -> list[int]:
    """Spans that do not begin inside an earlier one that is kept."""
    kept, done = [], 0
    for i, (start, end) in enumerate(zip(starts.tolist(), ends.tolist())):
        if start >= done:
            kept.append(i)
            done = end
    return kept


def cut_at(
    starts: Places, sizes: Places, rows: Places, taken: tuple[Places, Places, HostArray], passage_of: Places
) -> tuple[HostArray, HostArray, HostArray]:
    """(starts, sizes, rows) for pack(): the passages cut where tokens stand in them, with the tokens between.

    Args:
        starts, sizes: int64 a passage. rows: the passage that each row begins with.
        taken: as Names.taken has them, in the places of `starts`; passage_of: the passage that each of them lies in.
    """
    begins, ends, ids = taken
    passages, names = len(starts), len(begins)
    # Passage p is preceded by p passages and two for each name in them; name m in it stands behind 2 m + p + 1 of them.
    before = np.searchsorted(passage_of, np.arange(passages + 1))
    first = np.arange(passages) + 2 * before[:-1]
    at = passage_of + 2 * np.arange(names)
    new_starts, new_ends = np.zeros((2, passages + 2 * names), np.int64)
    new_starts[first], new_starts[at + 2] = starts, ends
    new_ends[at], new_ends[first + 2 * np.diff(before)] = begins, starts + sizes
    new_sizes = (new_ends - new_starts).astype(np.uint64)
    new_starts[at + 1] = 0
    new_sizes[at + 1] = ids + np.uint64(PASSAGE_ID)
    rows = np.append(first, passages + 2 * names)[rows]
    return new_starts.astype(np.uint64), new_sizes, rows
