"""Which engine splits by a pattern: a compiled table for those that are regular, with blocks of 64 bytes beside it for
known ones, and the `regex` package for the rest."""

from __future__ import annotations

import functools

from . import family_of, row_by_meaning, table_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..native.pattern import Pattern
    from . import Split

_KEPT = 32


@functools.lru_cache(maxsize=_KEPT)
def splitter_of(pat_str: Split | None) -> Pattern | None:
    """What of the core splits as the pattern does; None: only `regex` does.

    Args:
        pat_str: the pattern of an Encoding, or pre-tokenizers that run in turn; None: it has none.

    Raises ValueError for a pattern that is wrong, saying why and where.
    """
    from ..native.pattern import Pattern

    family = family_of(pat_str)
    if family is not None:
        return Pattern(family)
    assert pat_str is not None  # that is a family
    table = table_of(pat_str)
    return None if table is None else Pattern(table, row_by_meaning(pat_str))


def engine_of(pat_str: Split | None) -> str:
    """The name of the engine: "blocks", "table", "regex", or "none" without a pattern."""
    splitter = splitter_of(pat_str)
    if splitter is None:
        return "regex"
    return splitter.family if splitter.family in ("none", "table") else "blocks"


def kernels_of(pat_str: Split | None) -> str | None:
    """The family of kernels on the GPU for the pattern, one of KERNELS; None where there are none: `regex` splits, or
    some text is in no piece.

    Args:
        pat_str: as for splitter_of().
    """
    splitter = splitter_of(pat_str)
    return None if splitter is None or splitter.drops else splitter.family
