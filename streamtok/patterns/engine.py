"""Which engine splits by a pattern: blocks of 64 bytes for the published ones, a compiled table for any other that is
regular, and the `regex` package for the rest."""

from __future__ import annotations

import functools

from . import family_of, row_by_meaning, table_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..native.pattern import Pattern
    from . import Split

_TABLES_KEPT = 32


def splitter_of(pat_str: Split | None) -> Pattern | str | None:
    """What of the core splits as the pattern does: the name of a scanner, or a compiled table; None: only `regex` does.

    Args:
        pat_str: the pattern of an Encoding, or pre-tokenizers that run in turn; None: it has none.

    Raises ValueError for a pattern that is wrong, saying why and where.
    """
    family = family_of(pat_str)
    return family if family is not None or pat_str is None else _pattern_of(pat_str)


def engine_of(pat_str: Split | None) -> str:
    """The name of the engine: "blocks", "table", "regex", or "none" without a pattern."""
    splitter = splitter_of(pat_str)
    if splitter is None:
        return "regex"
    if pat_str is None:
        return "none"
    return "table" if not isinstance(splitter, str) and splitter.family == "table" else "blocks"


def kernels_of(pat_str: Split | None) -> str | None:
    """The family of kernels on the GPU for the pattern, one of KERNELS; None where there are none: `regex` splits, or
    some text is in no piece.

    Args:
        pat_str: as for family_of().
    """
    splitter = splitter_of(pat_str)
    if splitter is None or isinstance(splitter, str):
        return splitter
    return None if splitter.drops else splitter.family


@functools.lru_cache(maxsize=_TABLES_KEPT)
def _pattern_of(pat_str: Split) -> Pattern | None:
    """Blocks of 64 bytes beside the table, where it is the table of a row."""
    from ..native.pattern import Pattern

    table = table_of(pat_str)
    return None if table is None else Pattern(table, row_by_meaning(pat_str))
