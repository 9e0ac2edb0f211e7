"""Text files written whole or not at all, and JSON whose errors have line numbers."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from ..bundled import strict_json
from ..errors import VocabularyError, shown
from ..load import read_file
from .records import write_file

_MOST_DIGITS = 20  # of the largest number of 64 bits


def write_text(path: str, text: str) -> None:
    """The file appears whole or not at all."""
    write_file(path, [text.encode()], True)


def read_text(path: str) -> str:
    """The file as UTF-8. Raises VocabularyError where it is none, or too large; OSError where it cannot be read."""
    data = read_file(path)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise VocabularyError(f"this is not UTF-8: {error.reason}", path, line) from None


_J = TypeVar("_J", bound="Json")


class Json:
    """A JSON object in a file, whose fields are looked at one by one."""

    def __init__(self, path: str, text: str, record: dict[str, Any]) -> None:
        self.path, self._text, self.record = path, text, record

    @classmethod
    def read(cls: type[_J], path: str) -> _J:
        text = read_text(path)
        try:
            record = strict_json.parse(text, _MOST_DIGITS)
        except json.JSONDecodeError as error:
            raise VocabularyError(f"this is not JSON: {error.msg}", path, error.lineno) from None
        except strict_json.OddError as error:
            line = text.count("\n", 0, max(text.rfind(error.near), 0)) + 1
            raise VocabularyError(error.reason, path, line) from None
        except RecursionError:
            raise VocabularyError("this JSON is nested too deeply to be a vocabulary", path, 1) from None
        if not isinstance(record, dict):
            raise VocabularyError(f"this is JSON of a {type(record).__name__}; an object is needed", path, 1)
        return cls(path, text, record)

    def refused(self, reason: str, *near: str) -> VocabularyError:
        """The error for a fault that is at, or below, the first place where these names stand one behind the other."""
        at = 0
        for name in near:
            found = self._text.find(json.dumps(name, ensure_ascii=False), at)
            at = found if found >= 0 else at
        return VocabularyError(reason, self.path, self._text.count("\n", 0, at) + 1)

    def field(self, name: str, kind: type, *, of: dict[str, Any] | None = None) -> Any:
        """The value of a field, which has to be of this type."""
        record = self.record if of is None else of
        if name not in record:
            raise self.refused(f"there is no {shown(name)}: it has been lost, or this is another kind of file")
        value = record[name]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.refused(f"{shown(name)} is {shown(value)}; a {kind.__name__} is needed", name)
        return value
