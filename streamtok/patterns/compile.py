"""Compiles a pattern: from its text or tree to the table that splits."""

from __future__ import annotations

import functools

from ..errors import shown
from .char_sets import EVERYTHING
from .compiled import CompiledPattern, NotCompilable
from .levels import Joins, Machine, build, joins
from .pack import pack
from .partition import Partition, partition
from .read import Look, Node, Reader, Set
from .read_oniguruma import OnigurumaReader
from .threads import GAP, MATCH, Budget, Lists
from .tree import nullable, walk

MOST_CHARACTERS = 20_000
"""Of a pattern; those of models have a few hundred."""


def machine_of(tree: Node, classes: Partition, joined: Joins, budget: Budget, empties: bool = False) -> Machine:
    """The machine of a tree whose sets `classes` tells apart. empties: matches of the empty text are matches, as to a
    Split of Hugging Face: each character that no other match holds is a piece by itself. Raises NotCompilable."""
    if not nullable(tree):
        return build(Lists(tree, classes, budget), joined, budget)
    if not empties or any(isinstance(node, Look) for node in walk(tree)):  # at some places it may not match
        raise NotCompilable("it can match the empty text")
    if joined == joins("Isolated"):
        return build(Lists(tree, classes, budget, MATCH), joined, budget)
    if joined == joins("Removed"):
        return build(Lists(tree, classes, budget, GAP), joined._replace(joined=((False,) * 2,) * 2), budget)
    raise NotCompilable("it can match the empty text, and its behavior is neither Isolated nor Removed, or inverted")


def sets_of(tree: Node) -> list[tuple[tuple[int, int], ...]]:
    return [EVERYTHING, *(node.ranges for node in walk(tree) if isinstance(node, Set))]


def compile_tree(tree: Node, joined: Joins, budget: Budget | None = None) -> CompiledPattern:
    """The table of a tree. Raises NotCompilable."""
    classes = partition(sets_of(tree))
    return pack(machine_of(tree, classes, joined, budget or Budget()), classes)


DIALECTS = ("tiktoken", "oniguruma")
"""The programs that a pattern may be written for; Hugging Face's Split reads its regular expressions by Oniguruma."""


_READING = 8
"""Ranges of characters, as Reader counts its work, that take as long as a visit of a thread."""


def read(pat_str: str, dialect: str = "tiktoken", budget: Budget | None = None) -> Node:
    """The tree of a pattern that is written for `dialect`: "tiktoken", or "oniguruma", as for Hugging Face's Split.

    Args:
        budget: what pays for the reading; with None it has a bound of its own, which it always has, too.

    Raises ValueError where the pattern is wrong, or not certain to mean what streamtok takes it for."""
    if dialect not in DIALECTS:
        raise ValueError(f"no dialect of patterns is called {shown(dialect)}; there are {' and '.join(DIALECTS)}")
    if len(pat_str) > MOST_CHARACTERS:
        raise NotCompilable(f"it has {len(pat_str)} characters; at most {MOST_CHARACTERS} are supported")
    tree, work = _read(pat_str, dialect)
    if budget is not None:
        budget.spend(work // _READING)
    return tree


@functools.lru_cache(maxsize=32)
def _read(pat_str: str, dialect: str) -> tuple[Node, int]:
    """The tree, and the work of reading it."""
    reader = OnigurumaReader(pat_str) if dialect == "oniguruma" else Reader(pat_str)
    return reader.read(), reader.work


@functools.lru_cache(maxsize=16)
def compile_matches(pat_str: str, dialect: str = "oniguruma") -> CompiledPattern:
    """The table that drops what a pattern matches, and keeps all between two matches as one piece. Raises as
    compile_pattern() does."""
    budget = Budget()
    try:
        return compile_tree(read(pat_str, dialect, budget), joins("Removed"), budget)
    except RecursionError:
        raise NotCompilable("it is nested too deeply") from None


@functools.lru_cache(maxsize=16)
def compile_pattern(pat_str: str, dialect: str = "tiktoken", *, drop_gaps: bool | None = None) -> CompiledPattern:
    """The table that splits as the program does that the pattern is written for.

    Args:
        pat_str: the pattern.
        dialect: "tiktoken" or "oniguruma".
        drop_gaps: text that no alternative matches is dropped; False: it is a piece. None: as that program does it;
            tiktoken drops it.

    Raises ValueError where the pattern is wrong; NotCompilable, which is one, where it has no table, with the reason.
    """
    budget = Budget()
    try:
        tree = read(pat_str, dialect, budget)
        return compile_tree(tree, joins(drop_gaps=dialect == "tiktoken" if drop_gaps is None else drop_gaps), budget)
    except RecursionError:
        raise NotCompilable("it is nested too deeply") from None
