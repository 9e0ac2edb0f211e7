"""Texts that are not in their normal form all through: the host normalizes the stretches of which a device is not sure
(csrc/cuda/form.cu), and the device puts the texts together anew. All other text stays there."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from ..native.normal import FORMS, Normalizer, changes_of, first_bytes
from ..native.prepared import mended
from ._errors import NotNormal
from ._job import PASSAGE_ID, SPLICING
from ._waiting import computed

if TYPE_CHECKING:
    from .._protocols import DeviceArray, HostArray, Places
    from ._lane import Lane
    from ._waiting import Steps

_OF_CHARACTERS = 5
"""ST_FORM_OF_CHARACTERS."""

_AROUND = 128
"""Bytes around a doubtful block that come to the host. A run of marks that is longer is left to it as a whole text."""


# Windows that one call normalizes. Several threads do so where there are many: that takes as long as to check so many
# times as many bytes, and 3 us for each window (a text of many languages has 16 in a megabyte).
_A_PART, _TIMES_A_CHECK = 128, 32


@dataclasses.dataclass(frozen=True)
class Form:
    """A normal form as a job names it: `form`, `form_firsts` and, for one of characters, what `changes` and `map` point
    to."""

    number: int
    firsts: int
    changes: HostArray | None = None
    map: HostArray | None = None


def form_of(normalizer: Normalizer | None, are_words: bool = False) -> Form | None:
    """The form that is all that a normalizer does; None: it does something else, or nothing. are_words: characters
    that it puts blanks around are pieces anyway."""
    if normalizer is None or not normalizer.steps:
        return None
    if len(normalizer.steps) == 1 and normalizer.steps[0][0] in FORMS:
        (name,) = normalizer.steps[0]
        return Form(1 + FORMS[name], first_bytes(name))
    found = changes_of(normalizer)
    if found is None:
        return None
    changes = np.unpackbits(np.frombuffer(found, np.uint8), bitorder="little")
    if are_words:
        changes[apart_in(normalizer)] = 0
    return _form_of_characters(normalizer, changes)


def apart_in(normalizer: Normalizer) -> list[int]:
    """Code points of characters that stay but for blanks around each, which the step Clean puts there."""
    steps = [
        (name, given[0], False, given[2]) if name == "Clean" else (name, *given) for name, *given in normalizer.steps
    ]
    with_blanks, without = (changes_of(each) for each in (normalizer, Normalizer(steps)))
    if with_blanks is None or without is None:
        return []
    bits = [np.unpackbits(np.frombuffer(each, np.uint8), bitorder="little") for each in (with_blanks, without)]
    points: list[int] = np.flatnonzero(bits[0] & ~bits[1] & 1).tolist()
    made = normalizer.normalize("".join(map(chr, points)))
    return points if made == "".join(f" {chr(point)} " for point in points) else []


def _form_of_characters(normalizer: Normalizer, changes: HostArray) -> Form | None:
    """The form of texts without the characters that it changes, but for ASCII that it makes other ASCII of."""
    made = [normalizer.normalize(chr(byte)) for byte in range(0x80)]
    byte_map = np.arange(256, dtype=np.uint8)
    for byte, text in enumerate(made):
        changes[byte] = len(text) != 1 or not text.isascii()
        byte_map[byte] = byte if changes[byte] else ord(text)
    points = [point for point in np.flatnonzero(changes).tolist() if not 0xD800 <= point < 0xE000]
    # What is normalized is mapped, too, and must not change.
    ends = set(normalizer.normalize("".join(map(chr, points))).encode()) | set(byte_map[:0x80][changes[:0x80] == 0])
    if any(byte_map[byte] != byte or changes[byte] for byte in ends if byte < 0x80):
        return None
    firsts = {chr(point).encode()[0] & 63 for point in points if point >= 0x80}
    bits = np.packbits(changes, bitorder="little").view(np.uint64)
    has_map = bool((byte_map != np.arange(256)).any())
    return Form(_OF_CHARACTERS, sum(1 << first for first in firsts), bits, byte_map if has_map else None)


def repaired(
    lane: Lane,
    source: DeviceArray,
    passages: tuple[HostArray, HostArray],
    doubts: tuple[Places, Places],
    normalizer: Normalizer,
) -> Steps[tuple[DeviceArray, HostArray, HostArray]]:
    """(source, starts, sizes): texts anew, all in their normal form.

    Args:
        lane: whose device and pinned memory are used.
        source: uint8 on the device.
        passages: (starts, sizes) as pack() takes them, ascending.
        doubts: (starts, ends) in the source, ascending, of the blocks that may not be in their form.

    Raises NotNormal where the host needs more than what stands around these blocks."""
    starts, sizes = passages
    are_texts = (sizes > 0) & (sizes < np.uint64(PASSAGE_ID))
    begins = starts[are_texts].astype(np.int64)
    ends = begins + sizes[are_texts].astype(np.int64)
    windows = _windows(begins, ends, *doubts)
    if not len(windows):  # names stood there
        return source, starts, sizes
    device = lane.device
    made, runs = yield from _normalized(lane, source, windows, normalizer)
    low, high, grown = runs[:, 0], runs[:, 1], runs[:, 2]
    first, end, count = begins[0], ends[-1], 2 * len(runs) + 1
    # What stays, and between two such parts what was made.
    sources, lengths = np.zeros((2, count), np.int64)
    sources[::2] = device.pointer(source) + np.append(first, high)
    sources[1::2] = device.pointer(made) + np.cumsum(grown) - grown
    lengths[::2], lengths[1::2] = np.append(low, end) - np.append(first, high), grown
    text: DeviceArray = device.empty(-(-int(lengths.sum()) // 16) * 16, np.uint8)
    _splice(lane, sources, lengths, device.pointer(text))
    growth = np.append(0, np.cumsum(grown - (high - low)))

    def moved(places: Places) -> Places:
        there: Places = places - first + growth[np.searchsorted(high, places, "right")]
        return there

    new_starts, new_sizes = starts.copy(), sizes.copy()
    new_starts[are_texts] = moved(begins)
    new_sizes[are_texts] = moved(ends) - moved(begins)
    return text, new_starts, new_sizes


def _windows(begins: Places, ends: Places, firsts: Places, lasts: Places) -> Places:
    """Windows for mended(), five numbers a row, in the source. A block may hold several texts, or parts of them."""
    first, last = np.searchsorted(ends, firsts, "right"), np.searchsorted(begins, lasts, "left")
    counts = np.maximum(last - first, 0)
    block = np.repeat(np.arange(len(firsts)), counts)
    text = np.arange(len(block)) + np.repeat(first - np.cumsum(counts) + counts, counts)
    begin, end = begins[text], ends[text]
    inner, outer = np.maximum(firsts[block], begin), np.minimum(lasts[block], end)
    low, high = np.maximum(inner - _AROUND, begin), np.minimum(outer + _AROUND, end)
    is_apart = np.ones(len(block) + 1, bool)  # from the window in front
    is_apart[1:-1] = (text[1:] != text[:-1]) | (low[1:] >= high[:-1])
    a, b = np.flatnonzero(is_apart[:-1]), np.flatnonzero(is_apart[1:])
    return np.stack([low[a], inner[a], outer[b], high[b], (low == begin)[a] + 2 * (high == end)[b]], axis=1)


def _normalized(
    lane: Lane, source: DeviceArray, windows: Places, normalizer: Normalizer
) -> Steps[tuple[DeviceArray, Places]]:
    """(bytes on the device, one run behind the other; for each run where it begins and ends in the source, and how many
    of these bytes are its own)."""
    lengths = windows[:, 3] - windows[:, 0]
    moves = windows[:, :1] - (np.cumsum(lengths) - lengths)[:, None]
    near = lane.pinned("near", -(-int(lengths.sum()) // 16) * 16)
    _splice(lane, lane.device.pointer(source) + windows[:, 0], lengths, near.ctypes.data)
    yield lane.device.moment()
    windows[:, :4] -= moves
    parts = [windows[at : at + _A_PART] for at in range(0, len(windows), _A_PART)]
    size = _TIMES_A_CHECK * len(near)
    found = yield from computed(lambda part: mended(near, part.ravel(), normalizer), parts, size)
    made = [each for each in found if each is not None]
    if len(made) < len(found):
        raise NotNormal("a long run of marks is not in its normal form")
    runs = np.frombuffer(b"".join(runs for _, runs in made), np.int64).reshape(-1, 3).copy()
    runs[:, :2] += moves
    return lane.put(np.frombuffer(b"".join(text for text, _ in made), np.uint8), "made"), runs


def _splice(lane: Lane, sources: Places, lengths: Places, target: int) -> None:
    """Writes parts at these addresses one behind the other to the address `target`, a multiple of 16."""
    sources, lengths = sources[lengths > 0], lengths[lengths > 0]
    size, device = int(lengths.sum()), lane.device
    facts = lane.put(np.concatenate([sources, np.cumsum(lengths) - lengths]).astype(np.uint64), "parts")
    splicing = np.zeros((), SPLICING)
    splicing["sources"], splicing["places"] = device.pointer(facts), device.pointer(facts[len(sources) :])
    splicing["parts"], splicing["size"], splicing["text"] = len(sources), size, target
    device.launch("splice", splicing, min(-(-size // 4096), 1 << 16), 256)
