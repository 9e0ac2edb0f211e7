"""What `truncation` and `padding` of a tokenizer.json say: rows for models follow them, and ids of texts do not."""

from __future__ import annotations

from typing import Any

from ..errors import shown
from .field import Field

_STRATEGIES = {"LongestFirst": "longest_first", "OnlyFirst": "only_first", "OnlySecond": "only_second"}
_DIRECTIONS = {"Right": "right", "Left": "left"}

Settings = dict[str, Any]


def read_truncation(field: Field) -> Settings | None:
    """As tokenizers.Tokenizer.truncation has it; None: texts are not cut."""
    if field.value is None:
        return None
    field.check_members(("direction", "max_length", "strategy", "stride"))
    return {
        "max_length": field.member("max_length").number(),
        "stride": field.member("stride").number(),
        "strategy": _named(field.member("strategy"), _STRATEGIES),
        "direction": _named(field.member("direction"), _DIRECTIONS) if "direction" in field.object() else "right",
    }


def read_padding(field: Field) -> Settings | None:
    """As tokenizers.Tokenizer.padding has it; None: rows are not padded."""
    if field.value is None:
        return None
    field.check_members(("strategy", "direction", "pad_to_multiple_of", "pad_id", "pad_type_id", "pad_token"))
    multiple = field.member("pad_to_multiple_of").number() if field.has("pad_to_multiple_of") else None
    return {
        "length": _length(field.member("strategy")),
        "pad_to_multiple_of": multiple,
        "pad_id": field.member("pad_id").number(),
        "pad_token": field.member("pad_token").text(),
        "pad_type_id": field.member("pad_type_id").number(),
        "direction": _named(field.member("direction"), _DIRECTIONS),
    }


def _named(field: Field, names: dict[str, str]) -> str:
    name = field.text()
    if name not in names:
        raise field.refused(f"{shown(name)} is unknown; {', '.join(names)} are known")
    return names[name]


def _length(field: Field) -> int | None:
    """Ids of every row; None: as many as the longest of a batch has."""
    if field.value == "BatchLongest":
        return None
    if not isinstance(field.value, dict) or [*field.value] != ["Fixed"]:
        raise field.refused('a strategy of padding is "BatchLongest" or {"Fixed": ids of a row}')
    return field.member("Fixed").number()
