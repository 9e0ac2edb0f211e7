"""JSON that is certain to mean the same to every reader."""

from __future__ import annotations

import json
from typing import Any

from ..errors import shown


class OddError(Exception):
    """JSON that readers take in different ways. reason: why; near: a part of the text, where it stands last."""

    def __init__(self, reason: str, near: str) -> None:
        super().__init__(reason)
        self.reason, self.near = reason, near


def parse(text: str, most_digits: int) -> Any:
    """json.loads() of a text without members that are there twice, constants such as NaN, and whole numbers of more
    than `most_digits` digits: Python would take long for these, or refuse them with a message about its own settings.

    Raises:
        OddError: there is one of these.
        json.JSONDecodeError, RecursionError: as json.loads().
    """

    def short_int(digits: str) -> int:
        if len(digits) > most_digits:
            raise OddError(f"a number of {len(digits)} digits; no id has as many", digits)
        return int(digits)

    return json.loads(text, object_pairs_hook=_no_key_twice, parse_int=short_int, parse_constant=_no_constant)


def _no_constant(name: str) -> None:
    raise OddError(f"{name} is no value of JSON", name)


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise OddError(
                    f"the member {shown(key)} is there twice; leave one out", json.dumps(key, ensure_ascii=False)
                )
            seen.add(key)
    return record
