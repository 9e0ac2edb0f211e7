"""The head of a GGUF file: its keys and values, which stand in front of descriptions of tensors and of the tensors.

A file has gigabytes, and its head some megabytes: nothing behind it is read. Lengths and counts in it are somebody
else's numbers: each is compared with what the file still holds before anything of that size is read.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable

from ..bundled.packed import MAX_ENTRIES
from ..errors import VocabularyError, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAGIC = b"GGUF"

MOST_HEAD = 1 << 27
"""Bytes of a head: those of models with 260,000 tokens and 515,000 merges have 16 million."""

_MOST_PAIRS = 1 << 16
_MOST_ITEMS = 4 * MAX_ENTRIES
_BLOCK = 1 << 20
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9


def read_head(path: str) -> bytes | None:
    """The bytes of the head; None: it is no such file. VocabularyError: it is damaged. OSError."""
    if not os.path.isfile(path):
        return None
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        data = bytearray(file.read(min(size, _BLOCK)))
        if data[: len(MAGIC)] != MAGIC:
            return None

        def more(need: int) -> None:
            if need > min(size, MOST_HEAD):
                raise VocabularyError(_beyond(need, size), path)
            data.extend(file.read(max(need - len(data), min(_BLOCK, size - len(data)))))
            if len(data) < need:
                raise VocabularyError("the file became shorter while it was read", path)

        return bytes(data[: _Head(data, path, more).skip_all()])


def parse_head(data: bytes, path: str) -> dict[str, Any]:
    """The values of a head by their keys: str keys; strings are bytes. VocabularyError: it is damaged."""

    def more(need: int) -> None:
        raise VocabularyError(_beyond(need, len(data)), path)

    return _Head(data, path, more).read_all()


def _beyond(need: int, size: int) -> str:
    if need > size:
        return f"a length goes on to byte {need}, and the file has {size}: it is cut off or damaged"
    return f"its keys and values have more than {MOST_HEAD} bytes"


class _Head:
    """data: the beginning of the file; more: makes it at least so long, or raises."""

    def __init__(self, data: bytes | bytearray, path: str, more: Callable[[int], None]) -> None:
        self._data, self._path, self._more, self._at = data, path, more, 0
        self._take(len(MAGIC))
        version = struct.unpack("<I", self._take(4))[0]
        self._order = ">" if version & 0xFFFF == 0 else "<"
        version = int.from_bytes(version.to_bytes(4, "little"), "big") if self._order == ">" else version
        if version not in (2, 3):
            raise self._refused(f"version {version} of GGUF is not supported; 2 and 3 are")
        self._number("Q")
        self._pairs = self._number("Q")
        if self._pairs > _MOST_PAIRS:
            raise self._refused(f"there are {self._pairs} keys, more than {_MOST_PAIRS}")

    def _refused(self, reason: str) -> VocabularyError:
        return VocabularyError(f"byte {self._at}: {reason}", self._path)

    def _take(self, n: int) -> bytes:
        end = self._at + n
        if end > len(self._data):
            self._more(end)
        found = bytes(self._data[self._at : end])
        self._at = end
        return found

    def _pass(self, n: int) -> None:
        if self._at + n > len(self._data):
            self._more(self._at + n)
        self._at += n

    def _number(self, form: str) -> Any:
        return struct.unpack(self._order + form, self._take(struct.calcsize("=" + form)))[0]

    def _key(self) -> str:
        n = self._number("Q")
        if n > 0xFFFF:
            raise self._refused(f"a key has {n} bytes, more than 65535")
        try:
            return self._take(n).decode()
        except UnicodeDecodeError:
            raise self._refused("a key is not UTF-8") from None

    def _kind(self) -> int:
        kind: int = self._number("I")
        if kind not in _NUMBERS and kind not in (_STRING, _ARRAY):
            raise self._refused(f"{kind} is no type of a value")
        return kind

    def _array(self) -> tuple[int, int]:
        kind, count = self._kind(), self._number("Q")
        if kind == _ARRAY:
            raise self._refused("an array of arrays is not supported")
        if count > _MOST_ITEMS:
            raise self._refused(f"an array has {count} items, more than {_MOST_ITEMS}")
        return kind, count

    def _strings(self, count: int) -> list[bytes]:
        return [self._take(self._number("Q")) for _ in range(count)]

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._take(self._number("Q"))
        if kind != _ARRAY:
            return self._number(_NUMBERS[kind])
        kind, count = self._array()
        if kind == _STRING:
            return self._strings(count)
        form = f"{count}{_NUMBERS[kind]}"
        return list(struct.unpack(self._order + form, self._take(struct.calcsize("=" + form))))

    def _skip(self, kind: int) -> None:
        if kind == _STRING:
            self._pass(self._number("Q"))
        elif kind != _ARRAY:
            self._pass(struct.calcsize("=" + _NUMBERS[kind]))
        else:
            kind, count = self._array()
            if kind == _STRING:
                for _ in range(count):
                    self._pass(self._number("Q"))
            else:
                self._pass(count * struct.calcsize("=" + _NUMBERS[kind]))

    def skip_all(self) -> int:
        """Where the head ends."""
        for _ in range(self._pairs):
            self._key()
            self._skip(self._kind())
        return self._at

    def read_all(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for _ in range(self._pairs):
            key = self._key()
            if key in found:
                raise self._refused(f"the key {shown(key)} is there twice")
            found[key] = self._value(self._kind())
        return found
