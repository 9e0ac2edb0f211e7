"""Compiles a pattern: from its text or tree to the table that splits."""

from __future__ import annotations

from .char_sets import EVERYTHING
from .compiled import CompiledPattern, NotCompilable
from .levels import Joins, Machine, build, joins
from .pack import pack
from .partition import Partition, partition
from .read import Node, Set, read_pattern
from .threads import Budget, Lists
from .tree import nullable, walk


def machine_of(tree: Node, classes: Partition, joined: Joins) -> Machine:
    """The machine of a tree whose sets `classes` tells apart. Raises NotCompilable."""
    if nullable(tree):
        raise NotCompilable("it can match the empty text")
    budget = Budget()
    return build(Lists(tree, classes, budget), joined, budget)


def sets_of(tree: Node) -> list[tuple[tuple[int, int], ...]]:
    return [EVERYTHING, *(node.ranges for node in walk(tree) if isinstance(node, Set))]


def compile_tree(tree: Node, joined: Joins) -> CompiledPattern:
    """The table of a tree. Raises NotCompilable."""
    classes = partition(sets_of(tree))
    return pack(machine_of(tree, classes, joined), classes)


def compile_pattern(pat_str: str, *, drop_gaps: bool = True) -> CompiledPattern:
    """The table that splits as tiktoken does with the pattern.

    Args:
        pat_str: the pattern.
        drop_gaps: text that no alternative matches is dropped, as tiktoken does; False: it is a piece.

    Raises ValueError where the pattern is wrong; NotCompilable, which is one, where it has no table, with the reason.
    """
    try:
        tree = read_pattern(pat_str)
        return compile_tree(tree, joins(drop_gaps=drop_gaps))
    except RecursionError:
        raise NotCompilable("it is nested too deeply") from None
