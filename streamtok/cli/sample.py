"""The text that `streamtok bench` measures: the beginning of a file, in slices none of which is encoded twice."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from .._offsets import border_before, border_from
from ..files.sources import make_sources

WARM_PASSES = 5
_LARGEST_SLICE = 4 << 20
_SMALLEST_SLICE = 96 << 10  # less is encoded in a millisecond, which is within the noise of the machine
_DOCUMENT = 16 << 10


@dataclass(frozen=True)
class Sample:
    """UTF-8, and where its slices begin and end: one for the first call, one for each warm pass."""

    name: str
    data: bytes
    borders: list[int]
    file_bytes: int  # that were read of the file
    is_whole: bool  # whether that is all of it

    @property
    def slices(self) -> list[tuple[int, int]]:
        """Byte ranges."""
        return list(pairwise(self.borders))

    @property
    def repeats(self) -> int:
        """How often the text of the file is there; more than once where it is too small."""
        return len(self.data) // self.file_bytes


def read_sample(name: str, source: Any, limit: int | None = None) -> Sample:
    """The sample of a path or an open stream, decompressed where the name says so.

    At most its first `limit` bytes, by default as many as the slices may have together.

    Raises ValueError for a file that is empty or not UTF-8, OSError for one that cannot be read.
    """
    count = WARM_PASSES + 1
    data, is_whole = _read(source, count * _LARGEST_SLICE if limit is None else limit)
    if not data:
        raise ValueError(f"{name} is empty: name a file with text to measure")
    try:
        data.decode()
    except UnicodeDecodeError as error:
        byte = data[error.start]
        raise ValueError(
            f"{name} is not UTF-8: byte 0x{byte:02x} at position {error.start}, {error.reason}; "
            "convert it first, ids can be compared only for text"
        ) from None
    size = len(data)
    data *= -(-count * _SMALLEST_SLICE // size) if size < count * _SMALLEST_SLICE else 1
    borders = [border_from(data, len(data) * i // count) for i in range(count + 1)]
    return Sample(name, data, borders, size, is_whole)


def _read(source: Any, limit: int) -> tuple[bytes, bool]:
    """(text, whether it is all): at most `limit` bytes, cut between characters."""
    data = bytearray()
    with make_sources(source)[0].open() as reader:
        while len(data) <= limit and (chunk := reader.read(limit + 1 - len(data))):
            data += chunk
    if len(data) <= limit:
        return bytes(data), True
    return bytes(data[: border_before(data, limit)]), False


def documents(data: bytes) -> list[bytes]:
    """The text cut at ends of lines into texts of some 16 KB: what a batch is made of."""
    texts, begin = [], 0
    while begin < len(data):
        end = data.find(b"\n", begin + _DOCUMENT) + 1 or len(data)
        texts.append(data[begin:end])
        begin = end
    return texts


def joined(parts: list[Any]) -> Any:
    """Arrays or lists of ids as one array."""
    import numpy as np

    return np.concatenate([np.asarray(part, dtype=np.uint32) for part in parts] or [np.empty(0, dtype=np.uint32)])


def difference(ids: Any, right: Any, encoding: Any, sample: Sample, begin: int) -> tuple[str, str, str] | None:
    """Where ids of the sample's text from byte `begin` on are not the right ones: the place, which id stands there, and
    which is right, in words. None where all are right."""
    import numpy as np

    if np.array_equal(ids, right):
        return None
    both = min(len(ids), len(right))
    unequal = np.nonzero(ids[:both] != right[:both])[0]
    first = int(unequal[0]) if len(unequal) else both
    byte = (begin + len(encoding.decode_bytes(right[:first]))) % sample.file_bytes
    given, wanted = (str(a[first]) if first < len(a) else "no more" for a in (ids, right))
    return f"ids differ at byte {byte} of {sample.name}", given, wanted
