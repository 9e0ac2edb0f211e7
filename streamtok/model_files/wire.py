"""Messages of Protocol Buffers, read strictly: every byte is accounted for, and what is damaged has its place."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from ..errors import VocabularyError

_MOST_VARINT = 10
_SIZES = {1: 8, 5: 4}  # of numbers with a fixed size, by wire type


class Value(NamedTuple):
    """A field of a message.

    number: of the field. at, end: where its value lies in the file. wire: 0 for a number of any size, 2 for bytes, 1
    and 5 for eight and four bytes. varint: the number, where wire is 0.
    """

    number: int
    at: int
    end: int
    wire: int
    varint: int = 0


class Message:
    """A message that lies in data[start:end]. path: for errors."""

    def __init__(self, data: bytes, path: str, start: int = 0, end: int | None = None) -> None:
        self.data, self.path, self.start = data, path, start
        self.end = len(data) if end is None else end

    def refused(self, at: int, reason: str) -> VocabularyError:
        return VocabularyError(f"byte {at}: {reason}", self.path)

    def fields(self) -> Iterator[Value]:
        """All fields, in order. VocabularyError: the message is damaged."""
        at = self.start
        while at < self.end:
            key, behind = self._varint(at)
            number, wire = key >> 3, key & 7
            if not number or number >= 1 << 29:
                raise self.refused(at, f"{number} is no number of a field; the file is damaged, or of another kind")
            value, at = self._value(number, wire, behind)
            yield value

    def _value(self, number: int, wire: int, at: int) -> tuple[Value, int]:
        if wire == 0:
            varint, end = self._varint(at)
            return Value(number, at, end, wire, varint), end
        size = _SIZES.get(wire)
        if wire == 2:
            size, at = self._varint(at)
        if size is None:
            raise self.refused(at, f"{wire} is no type of a field; the file is damaged, or of another kind")
        if size > self.end - at:
            raise self.refused(at, f"a field of {size} bytes, and {self.end - at} are left: it is cut off or damaged")
        return Value(number, at, at + size, wire), at + size

    def _varint(self, at: int) -> tuple[int, int]:
        value = 0
        for i in range(_MOST_VARINT):
            if at + i >= self.end:
                raise self.refused(at, "a number goes on behind the end: the file is cut off or damaged")
            byte = self.data[at + i]
            value |= (byte & 0x7F) << 7 * i
            if byte < 0x80:
                return value, at + i + 1
        raise self.refused(at, f"a number has more than {_MOST_VARINT} bytes; the file is damaged")

    def _of(self, value: Value, wire: int) -> Value:
        if value.wire != wire:
            raise self.refused(value.at, f"field {value.number} is of another type; the file is damaged")
        return value

    def message(self, value: Value) -> Message:
        value = self._of(value, 2)
        return Message(self.data, self.path, value.at, value.end)

    def text(self, value: Value) -> str:
        value = self._of(value, 2)
        try:
            return self.data[value.at : value.end].decode()
        except UnicodeDecodeError as error:
            raise self.refused(value.at + error.start, f"this text is not UTF-8: {error.reason}") from None

    def whole(self, value: Value) -> int:
        """A number that is not negative."""
        return self._of(value, 0).varint

    def flag(self, value: Value) -> bool:
        number = self.whole(value)
        if number > 1:
            raise self.refused(value.at, f"{number} stands where 0 or 1 is needed; the file is damaged")
        return number == 1

    def real(self, value: Value) -> float:
        value = self._of(value, 5)
        number: float = struct.unpack_from("<f", self.data, value.at)[0]
        return number
