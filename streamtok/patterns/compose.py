"""Pre-tokenizers in turn, as Hugging Face runs them, as one table.

Each stage splits the pieces of the one before it, and sees nothing of their neighbours. So the stages become machines,
and the machines one: product.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from . import unicode_ranges as tables
from .char_sets import Ranges, category, perl, subtract, union
from .compile import machine_of, read, sets_of
from .compiled import CompiledPattern, NotCompilable
from .levels import Joins, Machine, joins
from .pack import merge_classes, pack, smallest
from .partition import Partition, partition
from .product import product
from .read import Cat, Node, Set, read_pattern
from .threads import Budget

BYTE_LEVEL = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""What ByteLevel splits by where it uses its regular expression."""


MOST_STAGES = 32


class Split(NamedTuple):
    """pattern: a regular expression, or, with `literal`, a text. behavior: "Isolated", "Removed", "Contiguous",
    "MergedWithPrevious" or "MergedWithNext"."""

    pattern: str
    behavior: str = "Isolated"
    invert: bool = False
    literal: bool = False
    dialect: str = "oniguruma"


class ByteLevel(NamedTuple):
    use_regex: bool = True
    add_prefix_space: bool = False


class Digits(NamedTuple):
    individual_digits: bool = False


class Punctuation(NamedTuple):
    behavior: str = "Isolated"


class Whitespace(NamedTuple):
    name: str = "Whitespace"  # tuples without fields would be equal, whatever their types


class WhitespaceSplit(NamedTuple):
    name: str = "WhitespaceSplit"


Stage = Split | ByteLevel | Digits | Punctuation | Whitespace | WhitespaceSplit


def digits() -> Ranges:
    """What Digits takes for one."""
    return union(category("N"), tables.DIGITS_MORE)


def punctuation() -> Ranges:
    """What Punctuation takes for a mark."""
    return union(subtract(category("P"), tables.PUNCTUATION_LACKS), tables.PUNCTUATION_MORE)


def _literal(text: str) -> Node:
    if not text:
        raise NotCompilable("a Split has an empty text to split at")
    return Cat(tuple(Set(((ord(c), ord(c)),)) for c in text))


def _stage(stage: Stage) -> tuple[Node, Joins] | None:
    """What a stage matches and what becomes of it; None for one that splits nothing."""
    if isinstance(stage, Split):
        if stage.literal:
            tree = _literal(stage.pattern)
        else:
            tree = read(stage.pattern, stage.dialect)
        return tree, joins(stage.behavior, invert=stage.invert)
    if isinstance(stage, Digits):
        return Set(digits()), joins("Isolated" if stage.individual_digits else "Contiguous")
    if isinstance(stage, Punctuation):
        return Set(punctuation()), joins(stage.behavior)
    if isinstance(stage, Whitespace):
        return read_pattern(r"\w+|[^\w\s]+"), joins("Removed", invert=True)
    if isinstance(stage, WhitespaceSplit):
        return Set(perl("s")), joins("Removed")
    if stage.add_prefix_space:
        raise NotCompilable("a ByteLevel puts a blank in front of the text (add_prefix_space)")
    return (read_pattern(BYTE_LEVEL), joins()) if stage.use_regex else None


def _machine(tree: Node, joined: Joins, budget: Budget) -> tuple[Machine, Partition]:
    classes = partition(sets_of(tree))
    return merge_classes(smallest(machine_of(tree, classes, joined, budget)), classes)


def _common(one: Partition, two: Partition) -> tuple[list[tuple[int, int]], Partition]:
    """(the classes of both for each class that either tells apart, the partition into these)."""
    numbers: dict[tuple[int, int], int] = {(0, 0): 0}
    runs: list[tuple[int, int]] = []
    at = [0, 0]
    for start in sorted({low for part in (one, two) for low, _ in part.runs}):
        for side, part in enumerate((one, two)):
            if at[side] < len(part.runs) and part.runs[at[side]][0] == start:
                at[side] += 1
        both = (one.runs[at[0] - 1][1], two.runs[at[1] - 1][1])
        runs.append((start, numbers.setdefault(both, len(numbers))))
    if len(numbers) > 256:
        raise NotCompilable("its stages tell too many classes of characters apart")
    return list(numbers), Partition(len(numbers), runs, {})


def compose(stages: Sequence[Stage]) -> CompiledPattern | None:
    """The table of pre-tokenizers that run in turn; None where none of them splits: a text is one piece.

    Raises ValueError for a wrong pattern, NotCompilable where there is no table, with the reason.
    """
    if len(stages) > MOST_STAGES:
        raise NotCompilable(f"there are {len(stages)} stages; at most {MOST_STAGES} are supported")
    for at, stage in enumerate(stages):
        if isinstance(stage, ByteLevel) and any(_stage(later) is not None for later in stages[at + 1 :]):
            raise NotCompilable("a stage behind ByteLevel splits its letters for bytes")
    found = [split for split in map(_stage, stages) if split is not None]
    if not found:
        return None
    budget = Budget()
    try:
        machine, classes = _machine(*found[-1], budget)
        for tree, joined in reversed(found[:-1]):
            before, its_classes = _machine(tree, joined, budget)
            pairs, classes = _common(its_classes, classes)
            machine = smallest(product(before, machine, pairs, budget))
            machine, classes = merge_classes(machine, classes)
    except RecursionError:
        raise NotCompilable("it is nested too deeply") from None
    return pack(machine, classes)
