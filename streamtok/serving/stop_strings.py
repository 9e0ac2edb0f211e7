"""Stop strings, which end a text: compiled to a matcher, once for all decoders with the same ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..errors import shown
from ..native.matcher import Matcher

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST = 256
"""Stop strings of one text. Which of them can never end first is found by comparing each with each."""


class StopStrings(NamedTuple):
    """Those that were given; of these, `names` are those that can end first. The matcher knows them by their index."""

    given: tuple[str, ...]
    names: tuple[str, ...]
    matcher: Matcher

    @classmethod
    def of(cls, names: tuple[str, ...]) -> StopStrings:
        kept = tuple(name for name in names if not any(_comes_first(other, name) for other in names))
        return cls(names, kept, Matcher(kept))


def _comes_first(other: str, name: str) -> bool:
    """Whether `other` ends inside `name`, before its end. Then `name` is never what ends a text."""
    return 0 <= name.find(other) < len(name) - len(other)


def stop_names(stop: str | bytes | Iterable[str]) -> tuple[str, ...]:
    """Stop strings as they are given, each once. TypeError, ValueError: they are none."""
    if isinstance(stop, bytes):
        raise TypeError("stop strings are str, got bytes; write stop.decode()")
    names = tuple(dict.fromkeys([stop] if isinstance(stop, str) else stop))
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"stop strings are str, got {type(name).__name__}: {shown(name)}")
        if not name:
            raise ValueError("a stop string is empty; every text would end at once")
        if any("\ud800" <= character <= "\udfff" for character in name):
            raise ValueError(f"the stop string {shown(name)} holds a lone surrogate, which no decoded text has")
    if len(names) > MOST:
        raise ValueError(f"there are {len(names)} stop strings; a text has at most {MOST}")
    return names
