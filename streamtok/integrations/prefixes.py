"""The PrefixCache that a tokenizer and its copies share, for prompts that begin alike."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..serving.prefix_cache import PrefixCache

if TYPE_CHECKING:
    from ..core import Encoding

CACHE_BYTES = 1 << 28
"""Memory of a process for prompts that begin alike; STREAMTOK_PREFIX_CACHE gives another number, 0 for none."""


class Prefixes:
    """Copies of a tokenizer have encodings of their own with the same ids, and all use the cache of the first one.

    Args:
        max_bytes: as for PrefixCache.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._cache: PrefixCache | None = None

    def of(self, encoding: Encoding) -> PrefixCache:
        """The cache; another one where the tokenizer has changed, as after tokens were added."""
        cache = self._cache
        if cache is None or cache.encoding.fingerprint != encoding.fingerprint:
            cache = self._cache = PrefixCache(encoding, max_bytes=self.max_bytes)
        return cache

    def __copy__(self) -> Prefixes:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Prefixes:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Prefixes, (self.max_bytes,)


def cache_bytes() -> int:
    """What STREAMTOK_PREFIX_CACHE says."""
    given = os.environ.get("STREAMTOK_PREFIX_CACHE", str(CACHE_BYTES))
    if not given.isdecimal():
        raise ValueError(f"STREAMTOK_PREFIX_CACHE={given!r}: write a number of bytes, 0 for no cache")
    return int(given)
