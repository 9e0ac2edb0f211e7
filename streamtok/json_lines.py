"""JSON lines: the string at a key of the object on a line."""

from __future__ import annotations

import json

from .errors import shown


def text_at(key: str, line: str) -> str:
    """The string at `key` of the JSON object that a line holds. Raises ValueError, saying what is there instead."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not a JSON object ({error}); mend the line, or read it with documents='lines'") from None
    if not isinstance(record, dict):
        raise ValueError(f"the line holds a JSON {type(record).__name__}, an object with {shown(key)} is needed")
    if key not in record:
        raise ValueError(f"the object has no {shown(key)}, its keys are {shown(list(record))}; name one with key=")
    value = record[key]
    if not isinstance(value, str):
        raise ValueError(f"the value of {shown(key)} is {shown(value)}, a string is needed")
    return value
