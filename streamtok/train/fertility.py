"""How encodings compress held-out text, source by source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..core import Encoding
from .inputs import How
from .report import texts_of
from .sources import open_named

_WORD = r"[\p{L}\p{M}\p{N}]+"


class SourceFacts(NamedTuple):
    """How the text of a source is compressed by an encoding.

    Attributes:
        name: of the source; without names, of the file.
        documents, bytes: of its text.
        words: runs of letters, marks and digits.
        tokens: that the encoding makes of it; special tokens are plain text.
    """

    name: str
    documents: int
    bytes: int
    words: int
    tokens: int

    @property
    def bytes_per_token(self) -> float:
        """bytes / tokens; 0.0 where there are no tokens."""
        return self.bytes / self.tokens if self.tokens else 0.0

    @property
    def tokens_per_word(self) -> float:
        """tokens / words, which is called fertility; 0.0 where there are no words. Languages that do not write blanks
        between words have long runs, so compare encodings by it, not languages."""
        return self.tokens / self.words if self.words else 0.0

    @property
    def tokens_per_document(self) -> float:
        """tokens / documents: of parallel texts it compares languages. 0.0 where there are none."""
        return self.tokens / self.documents if self.documents else 0.0


def report_sources(
    encoding: Encoding,
    held_out: Any,
    *,
    documents: str | None = None,
    key: str = "text",
    errors: str = "strict",
    column: str | None = None,
    nulls: str = "error",
) -> list[SourceFacts]:
    """Count the tokens of held-out text by source: for a vocabulary before and after weights, or beside another one.

    Args:
        encoding: any Encoding.
        held_out: what train() takes for sources; a dict gives them names. A document is held as a whole.
        documents, key, errors, column, nulls: as for train().

    Raises:
        ValueError: there is no text.
        UnicodeDecodeError, OSError: as train().
    """
    how = How(documents, key, errors, column=column, nulls=nulls)
    (facts,), _ = measure([encoding], held_out, how)
    return facts


def measure(encodings: list[Encoding], held_out: Any, how: How) -> tuple[list[list[SourceFacts]], np.ndarray]:
    """(the facts of each source, for each encoding; how often each id of the first one stands in all of the text)."""
    uses = np.zeros(encodings[0].max_token_value + 1, np.int64)
    import regex

    words = regex.compile(_WORD)
    sums: dict[str, np.ndarray] = {}
    for name, text in _documents(held_out, how):
        ids = encodings[0].encode_to_numpy(text, disallowed_special=())
        uses += np.bincount(ids, minlength=len(uses))
        counts = [len(ids), *(each.count(text) for each in encodings[1:])]
        found = [1, len(text.encode()), sum(1 for _ in words.finditer(text)), *counts]
        sums[name] = sums.get(name, 0) + np.array(found, np.int64)
    if not any(row[1] for row in sums.values()):
        raise ValueError("there is no held-out text to count the tokens of")
    rows = {name: row.tolist() for name, row in sums.items()}
    facts = [
        [SourceFacts(name, row[0], row[1], row[2], row[3 + at]) for name, row in rows.items()]
        for at in range(len(encodings))
    ]
    return facts, uses


def _documents(held_out: Any, how: How) -> Iterator[tuple[str, str]]:
    """(the name of its source, the text) of each document."""
    for index, (each, name) in enumerate(zip(*open_named(held_out))):
        for text in texts_of(each, index, how):
            yield name, text if isinstance(text, str) else str(text, "utf-8", how.errors)
