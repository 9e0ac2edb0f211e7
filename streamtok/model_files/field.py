"""JSON files of models, value by value: each knows its file and its place there, so that errors name both."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any

from ..bundled import strict_json
from ..errors import VocabularyError, shortened, shown

_MOST_DIGITS = 1000  # the largest number in files of transformers, which stands for "no limit", has 31

_KINDS = {dict: "an object", list: "an array", str: "a string", bool: "true or false", int: "a whole number"}


def text_of(data: bytes, path: str) -> str:
    """The text of the bytes of a file. VocabularyError: they are not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise VocabularyError(f"byte {error.start} is not UTF-8: {error.reason}", path) from None


class Field:
    """A value in a JSON file.

    Attributes:
        value: what json.loads made of it.
        path: the file.
        place: where in the file, as "model.merges[3]"; "" for the whole.
    """

    __slots__ = ("path", "place", "value")

    def __init__(self, value: Any, path: str, place: str = "") -> None:
        self.value, self.path, self.place = value, path, place

    @classmethod
    def parse_bytes(cls, data: bytes, path: str) -> Field:
        """The same of the bytes of a file. VocabularyError: also where they are not UTF-8."""
        return cls.parse(text_of(data, path), path)

    @classmethod
    def parse(cls, text: str, path: str) -> Field:
        """The whole of a JSON file. VocabularyError: it is no JSON, or not certain to mean the same to every reader."""
        try:
            value = strict_json.parse(text, _MOST_DIGITS)
        except json.JSONDecodeError as error:
            raise VocabularyError(f"this is not JSON: {error.msg}", path, error.lineno) from None
        except strict_json.OddError as error:
            raise VocabularyError(error.reason, path) from None
        except RecursionError:
            raise VocabularyError("this JSON is nested too deeply for a model file", path) from None
        return cls(value, path)

    def refused(self, reason: str) -> VocabularyError:
        """The error for this value."""
        return VocabularyError(f"{shortened(self.place)}: {reason}" if self.place else reason, self.path)

    def has(self, name: str) -> bool:
        """Whether it is an object with such a member, whose value is not null."""
        return isinstance(self.value, dict) and self.value.get(name) is not None

    def member(self, name: str) -> Field:
        """A member of this object, which has to be there."""
        if name not in self.object():
            raise self.refused(f"there is no {shown(name)}: it has been lost, or this is another kind of file")
        return Field(self.value[name], self.path, f"{self.place}.{name}" if self.place else name)

    def object(self) -> dict[str, Any]:
        value: dict[str, Any] = self._of(dict)
        return value

    def text(self) -> str:
        """The string that it is, of whole characters."""
        value: str = self._of(str)
        if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
            raise self.refused(f"{shown(value)} holds half a surrogate pair, which no text can hold")
        return value

    def flag(self) -> bool:
        value: bool = self._of(bool)
        return value

    def number(self) -> int:
        """The whole number from 0 to 2**31 - 1 that it is."""
        value: int = self._of(int)
        if not 0 <= value <= 0x7FFFFFFF:
            raise self.refused(f"{shown(value)} is no id; ids go from 0 to 2**31 - 1")
        return value

    def items(self) -> Iterator[Field]:
        for i, value in enumerate(self._of(list)):
            yield Field(value, self.path, f"{self.place}[{i}]")

    def check_members(self, known: Collection[str]) -> None:
        """Raises VocabularyError for a member that is not known: what it would mean is not certain."""
        for name in self.object():
            if name not in known:
                raise self.member(name).refused(
                    f"{shown(name)} is no setting that is known here; what it does is unsure"
                )

    def _of(self, kind: type) -> Any:
        if not isinstance(self.value, kind) or (kind is int and isinstance(self.value, bool)):
            raise self.refused(f"{shown(self.value)} stands where {_KINDS[kind]} is needed")
        return self.value
