"""A quick test whether all special tokens of a rendered text are those of the template.

It says yes only where no text of a caller can hold a part of a name: none has the first two characters of one, or ends
in the first; and where a constant of the template ends in the beginning of a name, none begins with what would come
next. So a name neither begins nor ends in a text, as long as the template takes texts as they are, trims them, or
divides them where it is known to (Template.cuts).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from ..errors import shown
from .template import Template

_MOST = 24
"""Beginnings of names that are looked for. Published vocabularies have 1 to 20."""

_JSON = ('["', '{"', '"', "[", "{", "[[", "[{", ", ", ': "', ": ", "\\", '", "')
"""What tojson writes in front of texts."""


class Quick:
    """names: of special tokens; named: the texts of bos_token and others; roles: of the messages."""

    def __init__(self, names: frozenset[str], template: Template, named: Iterable[str]) -> None:
        self._begun = begun(names)
        self.cuts = template.cuts
        constants = (*template.constants, *named, *(_JSON if "tojson" in template.source else ()))
        next_ones = {rest for constant in constants for rest in self._begun.rests(constant)}
        self._starts = tuple(sorted({f"\0{rest[:2]}" for rest in next_ones} | {f"\0{rest[0]}\0" for rest in next_ones}))
        if (
            any(name != name.strip() for name in names)
            or len(self._begun.pairs) > _MOST
            or len(self._starts) > 4 * _MOST
        ):
            self.cuts = None

    def holds(self, texts: list[str], roles: Iterable[str]) -> bool:
        if self.cuts is None or any(self._begun.rests(role) for role in roles):
            return False
        joined = "\0".join(["", *map(str.strip, texts), ""])
        if any(first in joined for first in self._begun.firsts):  # one character is found in less time than two
            if any(pair in joined for pair in self._begun.pairs) or any(end in joined for end in self._begun.ends):
                return False
        return not any(cut in joined for cut in self.cuts) and not any(start in joined for start in self._starts)


class Begun:
    """The beginnings of names."""

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        self.pairs = tuple(sorted({name[:2] for name in names}))
        self.firsts = tuple(sorted({name[0] for name in names}))
        self.ends = tuple(first + "\0" for first in self.firsts)
        self._rests: dict[str, set[str]] = {}
        for name in names:
            for n in range(1, len(name)):
                self._rests.setdefault(name[:n], set()).add(name[n : n + 2])
        self._longest = max(map(len, names), default=0)

    def rests(self, text: str) -> set[str]:
        """What comes next in the names that a text ends in the beginning of: two characters, or the last one."""
        found: set[str] = set()
        for n in range(1, min(len(text), self._longest) + 1):
            found |= self._rests.get(text[-n:], set())
        return found

    def is_clean(self, text: str) -> bool:
        """Whether a text has nothing that a name begins with."""
        return not any(pair in text for pair in self.pairs) and not text.rstrip().endswith(self.firsts)

    def is_apart(self, text: str) -> bool:
        """Whether no name can have characters of a text, whatever stands beside it."""
        if self.rests(text) or any(name in text or text in name for name in self.names):
            return False
        return not any(name.endswith(text[:n]) for name in self.names for n in range(1, min(len(text), len(name))))

    def stand_apart(self, text: str, regions: Iterable[tuple[int, ...]]) -> bool:
        """Whether no name in a text has characters of a region."""
        at = 0
        for start, end, *_ in regions:
            given = text[start:end]
            if self.rests(given) or any(pair in given and self._has_one(given, pair) for pair in self.pairs):
                return False
            rests = self.rests(text[max(at, start - self._longest) : start])
            if any(rest.startswith(given[:2]) or given.startswith(rest) for rest in rests):
                return False
            at = end
        return True

    def _has_one(self, text: str, pair: str) -> bool:
        return any(name in text for name in self.names if name.startswith(pair))

    def check_role(self, role: str) -> None:
        """Raises ValueError for a role that spells a special token: roles are names that the template writes."""
        found = next((name for name in self.names if name in role), None)
        if found is not None:
            raise ValueError(
                f"the role {shown(role)} spells the special token {shown(found)}: a role is a name, as user, and no "
                "text of a user"
            )


@lru_cache(64)
def begun(names: frozenset[str]) -> Begun:
    return Begun(names)
