"""When an id of an endless piece is final, computed exactly as docs/internals/streaming.md defines it. Slow.

The piece is x, of p bytes. A place q <= p is live where x[q:p] is empty or properly begins a token: the token over the
end of x may begin there. What stands in front of it is then the merge of x[:q]. So an id is final once the merges of
all x[:q] share it.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any


class Finality:
    """Of the tokens of one encoding, for pieces of which nothing is a token as a whole."""

    def __init__(self, encoding: Any) -> None:
        self._merge = encoding._vocab.merge
        self._tokens = encoding.token_byte_values()
        self.longest = max(map(len, self._tokens))

    @functools.cached_property
    def _beginnings(self) -> set[bytes]:
        return {token[:n] for token in self._tokens for n in range(1, len(token))}

    def live(self, text: bytes) -> list[int]:
        first = max(0, len(text) - self.longest)
        return [q for q in range(first, len(text) + 1) if q == len(text) or text[q:] in self._beginnings]

    def final(self, text: bytes) -> list[int]:
        """The ids at the beginning of the piece that no later byte can change."""
        merges = zip(*(self._merge(text[:q]) for q in self.live(text)))
        return [ids[0] for ids in itertools.takewhile(lambda ids: len(set(ids)) == 1, merges)]
