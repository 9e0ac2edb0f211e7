"""Stages behind a ByteLevel. They read the letters that stand for bytes, and may so cut inside of a character.

Two kinds of stage are supported. One that looks for a single set of letters cuts between two bytes by what these two
are, whatever else is in the text. So no merge that joins two bytes it cuts between ever happens, and all others happen
as before: leaving out such merges of the vocabulary gives the ids of the pieces, without any piece inside of a
character. `ByteRule` says which they are. The other kind looks for printable ASCII characters alone, whose letters are
they themselves; it splits text as it splits letters. For it, and for whoever asks for pieces, the cuts of a ByteRule
between two ASCII characters are made in the text, too.
"""

from __future__ import annotations

from typing import NamedTuple

from ..bundled.gpt2_files import LETTERS
from .char_sets import Ranges
from .compiled import NotCompilable
from .levels import HERE, Joins, Machine, Step
from .partition import END, Partition
from .read import Cat, Look, Node, Rep, Set
from .threads import GAP, MATCH
from .tree import walk

_PRINTABLE = (0x21, 0x7E)
_ASCII = 0x80


class ByteRule(NamedTuple):
    """kinds: for each byte MATCH where the stage matches its letter, or GAP. joined[a][b]: two bytes of these kinds are
    not cut apart."""

    kinds: tuple[int, ...]
    joined: tuple[tuple[bool, bool], tuple[bool, bool]]

    def cuts(self, left: int, right: int) -> bool:
        """Whether a piece ends between two bytes."""
        return not self.joined[self.kinds[left]][self.kinds[right]]


def byte_rule(tree: Node, joined: Joins) -> ByteRule | None:
    """The rule of a stage that looks for a single set of letters; None for one that is like that in the text.

    Raises NotCompilable for any other."""
    if any(joined.dropped):
        raise NotCompilable("a stage behind ByteLevel leaves out some of the letters for bytes")
    table = [list(row) for row in joined.joined]
    if isinstance(tree, Cat) and len(tree.parts) == 1:
        (tree,) = tree.parts
    if isinstance(tree, Rep) and isinstance(tree.body, Set) and (tree.low, tree.high, tree.mode) == (1, None, ""):
        tree = tree.body
        table[MATCH][MATCH] = True
    if isinstance(tree, Set):
        kinds = [GAP] * 256
        for letter, byte in LETTERS.items():
            if _holds(tree.ranges, ord(letter)):
                kinds[byte] = MATCH
        (a, b), (c, d) = table
        return ByteRule(tuple(kinds), ((a, b), (c, d)))
    low, high = _PRINTABLE
    for node in walk(tree):
        if isinstance(node, Look) or (isinstance(node, Set) and any(a < low or b > high for a, b in node.ranges)):
            raise NotCompilable(
                "a stage behind ByteLevel splits its letters for bytes by more than a set of letters or a pattern of "
                "printable ASCII characters"
            )
    return None


def _holds(ranges: Ranges, code_point: int) -> bool:
    return any(low <= code_point <= high for low, high in ranges)


def ascii_machine(rule: ByteRule) -> tuple[Machine, Partition]:
    """The cuts of a rule that lie between two ASCII characters."""
    kinds = [1 + kind for kind in rule.kinds[:_ASCII]]  # the classes, and the states behind them; 3: not ASCII
    runs = [(at, kind) for at, kind in enumerate(kinds) if not at or kinds[at - 1] != kind]
    rows = []
    for before in range(4):
        steps = [Step(END, ((HERE, False),) if before else (), ())]
        for kind in (1, 2, 3):
            cut = before in (1, 2) and kind < 3 and not rule.joined[before - 1][kind - 1]
            steps.append(Step(kind, ((HERE, False),) if cut else (), ()))
        rows.append(steps)
    return rows, Partition(4, [*runs, (_ASCII, 3)], {})
