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
from .letters import ByteRule, ascii_machine, byte_rule
from .levels import Joins, Machine, joins
from .pack import merge_classes, pack, smallest
from .partition import Partition, partition
from .product import product
from .read import Cat, Node, Set, read_pattern
from .scripts import script_machine
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


class UnicodeScripts(NamedTuple):
    name: str = "UnicodeScripts"


class Groups(NamedTuple):
    """What `pattern` finds is a piece, as of a Split, and a piece of characters `of` is divided by how many these are:
    from the left, the largest of `sizes` that fits first, or `right`: from the right. each: so is each run of them in a
    piece. No table does that: csrc/normal/match_step.c does."""

    pattern: str
    of: str
    sizes: tuple[int, ...]
    right: bool = True
    each: bool = False


Stage = Groups | Split | ByteLevel | Digits | Punctuation | Whitespace | WhitespaceSplit | UnicodeScripts


def digits() -> Ranges:
    """What Digits takes for one."""
    return union(category("N"), tables.DIGITS_MORE)


def punctuation() -> Ranges:
    """What Punctuation takes for a mark."""
    return union(subtract(category("P"), tables.PUNCTUATION_LACKS), tables.PUNCTUATION_MORE)


def _literal(text: str, budget: Budget) -> Node:
    if not text:
        raise NotCompilable("a Split has an empty text to split at")
    budget.spend(len(text))
    return Cat(tuple(Set(((ord(c), ord(c)),)) for c in text))


def _stage(stage: Stage, budget: Budget) -> tuple[Node, Joins] | None:
    """What a stage matches and what becomes of it; None for one that splits nothing."""
    if isinstance(stage, Groups):
        raise NotCompilable("characters are in groups by how many there are, which no table counts")
    if isinstance(stage, UnicodeScripts):  # scripts.py has the machine of text
        raise NotCompilable("the letters for bytes behind ByteLevel would be told apart by their scripts")
    if isinstance(stage, Split):
        if stage.literal:
            tree = _literal(stage.pattern, budget)
        else:
            tree = read(stage.pattern, stage.dialect, budget)
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
    return merge_classes(smallest(machine_of(tree, classes, joined, budget, True)), classes)


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


def _machines(stages: Sequence[Stage], budget: Budget) -> list[tuple[Machine, Partition]]:
    """Those of the stages that split, as far as they do so between characters. The last one spends first."""
    found = []
    for stage, rule in reversed(list(zip(stages, _rules(stages, budget), strict=True))):
        if isinstance(stage, UnicodeScripts):
            found.append(script_machine())
            continue
        split = _stage(stage, budget)
        if rule is not None:
            machine, classes = ascii_machine(rule)
            if any(len(step.emits) for row in machine[1:] for step in row[1:]):
                found.append(merge_classes(smallest(machine), classes))
        elif split is not None:
            found.append(_machine(*split, budget))
    return found[::-1]


def _rules(stages: Sequence[Stage], budget: Budget) -> list[ByteRule | None]:
    """For each stage the rule by which it cuts between bytes; None for one that splits text."""
    rules: list[ByteRule | None] = []
    is_level = False
    for stage in stages:
        split = _stage(stage, budget) if is_level else None
        if split is not None and isinstance(stage, ByteLevel):
            raise NotCompilable("a second ByteLevel would write letters for the bytes of letters")
        rules.append(None if split is None else byte_rule(*split))
        is_level = is_level or isinstance(stage, ByteLevel)
    return rules


def byte_rules(stages: Sequence[Stage]) -> tuple[ByteRule, ...]:
    """The rules of the stages behind a ByteLevel (letters.py): what they cut apart is no matter of pieces alone.

    Raises NotCompilable for a stage there that is not supported."""
    return tuple(rule for rule in _rules(stages, Budget()) if rule is not None)


def compose(stages: Sequence[Stage]) -> CompiledPattern | None:
    """The table of pre-tokenizers that run in turn; None where none of them splits: a text is one piece.

    Raises ValueError for a wrong pattern, NotCompilable where there is no table, with the reason.
    """
    if len(stages) > MOST_STAGES:
        raise NotCompilable(f"there are {len(stages)} stages; at most {MOST_STAGES} are supported")
    budget = Budget()
    try:
        found = _machines(stages, budget)
        if not found:
            return None
        machine, classes = found[-1]
        for before, its_classes in reversed(found[:-1]):
            pairs, classes = _common(its_classes, classes)
            machine = smallest(product(before, machine, pairs, budget))
            machine, classes = merge_classes(machine, classes)
    except RecursionError:
        raise NotCompilable("it is nested too deeply") from None
    return pack(machine, classes)
