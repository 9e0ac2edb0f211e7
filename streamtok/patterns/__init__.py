r"""The split patterns of the bundled encodings, and the tables of patterns.

A pattern is one of them by what it means, not by how it is spelled (rows.py). Two spellings that look alike need not
mean the same: the cl100k pattern published before 2024 ends in ``\s*[\r\n]+|\s+(?!\S)|\s+`` where today's has ``\s++$``
before them, so that it cuts the last piece of "a\n " in two.
"""

from __future__ import annotations

import functools

from .published import CL100K, O200K, R50K, TABLE_VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from .compiled import CompiledPattern
    from .compose import Stage

    Split: TypeAlias = str | tuple[Stage, ...]

__all__ = [
    "CL100K",
    "FAMILIES",
    "KERNELS",
    "O200K",
    "R50K",
    "TABLE_VERSION",
    "family_of",
    "give_table",
    "row_by_meaning",
    "table_of",
]

_FAMILY: dict[str, str] = {R50K: "r50k", CL100K: "cl100k", O200K: "o200k"}

_NO_PATTERN = "none"

FAMILIES = tuple(_FAMILY.values())
"""The names of those whose tables the core has (csrc/split/row_table.c): they need not be compiled."""

_LATER = "starcoder llama3 qwen2 qwen3_5 seed_coder tekken kimi_k2 deepseek_v3".split()

KERNELS = (*FAMILIES, *_LATER, "table", _NO_PATTERN)
"""The families that the GPU has kernels for: the rows of patterns (rows.py), "table" for others that have a table, and
"none" for texts without a pattern."""


def family_of(pat_str: Split | None) -> str | None:
    """Which of FAMILIES splits exactly as the pattern does; None where none does. Without a pattern it is "none": a
    text is one piece.

    A pattern that is not one of the three as published is compiled, and its table compared with theirs.

    Args:
        pat_str: the pattern of an Encoding, or pre-tokenizers that run in turn; None: it has none.
    """
    if pat_str is None:
        return _NO_PATTERN
    if isinstance(pat_str, str) and pat_str in _FAMILY:
        return _FAMILY[pat_str]
    row = row_by_meaning(pat_str)
    return row if row in FAMILIES else None


@functools.lru_cache(maxsize=64)
def row_by_meaning(pat_str: Split) -> str | None:
    """The row of patterns (rows.py) that splits exactly as the pattern does, by its table; None where there is none."""
    from .rows import row_of

    try:
        table = table_of(pat_str)
    except ValueError:  # wrong, which its reader says elsewhere
        return None
    return None if table is None else row_of(table)


_given: dict[Split, CompiledPattern] = {}
_MOST_GIVEN = 16


def give_table(split: Split, table: CompiledPattern) -> None:
    """Says what the table of a pattern is, so that it need not be compiled. For tables that were compiled before and
    kept; what they are kept in says for whom."""
    kept = list(_given)  # at once: other threads may be at it, too
    for old in kept[: max(0, len(kept) + 1 - _MOST_GIVEN)]:
        _given.pop(old, None)
    _given[split] = table


@functools.lru_cache(maxsize=16)
def table_of(pat_str: Split) -> CompiledPattern | None:
    """The table of a pattern, or of pre-tokenizers in turn, kept for the next call; None: it has none. Raises
    ValueError for a wrong pattern."""
    from .compile import compile_pattern
    from .compiled import NotCompilable
    from .compose import compose

    given = _given.get(pat_str)  # once: another thread may take it out
    if given is not None:
        return given
    try:
        return compile_pattern(pat_str) if isinstance(pat_str, str) else compose(pat_str)
    except NotCompilable:
        return None
