r"""Writes a pattern's tree for the `regex` package, once to match with and once to ask what is final.

The characters are first sorted into kinds: two characters that lie in the same sets of the pattern are one kind, and
the text that `regex` sees holds one symbol per character, the number of its kind. A pattern has a few dozen kinds, so
its classes become short ranges of numbers, and no table of the engine takes part.

The second form, the probe, is matched on a text that ends in a symbol END of its own. It walks through the same
attempts in the same order as the pattern; the first attempt that asks for a character beyond the text takes END
instead, and behind END everything succeeds. So

    the probe's match ends behind END  <=>  the pattern's search for this match looked beyond the text,

and any other outcome, a match or none, was reached without it: no continuation can change it. The proof is an
induction over the tree; only ordered choice is assumed of the engine, not its notion of a partial match (which
forgets that (?:ab)* could go on).
"""

from __future__ import annotations

import itertools

import numpy as np

from .char_sets import EVERYTHING, LAST, Ranges
from .read import Alt, Atomic, Cat, Look, Node, Rep, Set
from .tree import walk

_MOST_KINDS = 0xD000  # the symbols are code points below the surrogates
_MOST_MEMBERS = 500_000  # kinds in sets: half a second


class Code:
    """`table`: the kind of each code point. `plain` and `probe`: the two forms. `end`: the symbol END."""

    def __init__(self, tree: Node) -> None:
        self.table, self._members = _kinds(tree)
        count = int(self.table.max()) + 1
        self.end = chr(count)
        self._end = _symbol(count)
        self._past = f"(?<={self._end})"
        self._rest = f"[{_symbol(0)}-{_symbol(count - 1)}]*+(?:{self._end}|{self._past})"
        self.plain = self._write(tree, probe=False)
        self.probe = self._write(tree, probe=True)

    def _write(self, node: Node, *, probe: bool) -> str:
        if isinstance(node, Set):
            symbols = self._class(node.ranges, probe)
            return f"(?:{symbols}|{self._past})" if probe else symbols
        if isinstance(node, Cat):
            return "".join(self._write(part, probe=probe) for part in node.parts)
        if isinstance(node, Alt):
            return "(?:" + "|".join(self._write(choice, probe=probe) for choice in node.choices) + ")"
        if isinstance(node, Atomic):
            return f"(?>{self._write(node.body, probe=probe)})"
        if isinstance(node, Look):
            return self._probe_look(node) if probe else self._plain_look(node)
        if probe and isinstance(node.body, Set):
            return self._probe_run(node.body, node)
        return f"(?:{self._write(node.body, probe=probe)}){_times(node)}"

    def _class(self, ranges: Ranges, probe: bool) -> str:
        """The symbols of a set, END among them for the probe."""
        spans = "".join(_symbol(a) if a == b else f"{_symbol(a)}-{_symbol(b)}" for a, b in self._members[ranges])
        spans += self._end if probe else ""
        return f"[{spans}]" if spans else "(?!)"

    def _plain_look(self, node: Look) -> str:
        sign = ("" if node.ahead else "<") + ("!" if node.negative else "=")
        return f"(?{sign}{self._write(node.body, probe=False)})"

    def _probe_look(self, node: Look) -> str:
        plain = self._plain_look(node)
        if not node.ahead:  # the text behind is known, but behind END everything succeeds
            return f"(?:{self._past}|{plain})"
        if isinstance(node.body, Set):
            return f"(?:{self._end}|{self._past}|{plain})"
        # If the look asks for more text, move to END. If it does not, the plain form gives the same answer.
        asks = f"(?=(?>{self._write(node.body, probe=True)}){self._past})"
        return f"(?:{asks}{self._rest}|{plain})"

    def _probe_run(self, body: Set, node: Rep) -> str:
        """A repeated class stays one instruction of the engine; a run too short before END needs an alternative."""
        run = self._class(body.ranges, True) + _times(node)
        if node.low == 0:
            return f"(?:{run})"
        short = f"{self._class(body.ranges, False)}{{0,{node.low - 1}}}+{self._end}|" if node.low > 1 else ""
        return f"(?:{run}|{short}{self._past})"


def _times(node: Rep) -> str:
    return f"{{{node.low},{'' if node.high is None else node.high}}}{node.mode}"


def _symbol(kind: int) -> str:
    return f"\\x{kind:02x}" if kind < 256 else f"\\u{kind:04x}"


def _kinds(tree: Node) -> tuple[np.ndarray, dict[Ranges, list[tuple[int, int]]]]:
    """The kind of each code point, and the kinds that make up each set of the tree, as ranges."""
    sets = dict.fromkeys([EVERYTHING, *(node.ranges for node in walk(tree) if isinstance(node, Set))])
    flips: dict[int, int] = {}
    for bit, ranges in enumerate(sets):
        for low, high in ranges:
            flips[low] = flips.get(low, 0) ^ 1 << bit
            flips[high + 1] = flips.get(high + 1, 0) ^ 1 << bit
    numbers: dict[int, int] = {}  # the sets that hold a character, as bits -> its kind
    table = np.zeros(LAST + 1, np.uint16)
    here = 0
    edges = sorted(flips)
    for low, beyond in itertools.pairwise(edges):  # the first edge is 0 and the last LAST + 1: EVERYTHING is in
        here ^= flips[low]
        table[low:beyond] = numbers.setdefault(here, len(numbers))
    kinds_of: list[list[int]] = [[] for _ in sets]
    left = _MOST_MEMBERS
    for bits, kind in numbers.items():
        left -= bits.bit_count()
        if kind >= _MOST_KINDS or left < 0:
            raise ValueError(f"pat_str tells more than {kind} kinds of character apart, which is too many")
        while bits:
            low = bits & -bits
            kinds_of[low.bit_length() - 1].append(kind)
            bits ^= low
    members = dict(zip(sets, map(_runs, kinds_of)))
    return table if len(numbers) > 255 else table.astype(np.uint8), members


def _runs(kinds: list[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for kind in kinds:  # in ascending order, as numbers were given out
        if runs and runs[-1][1] == kind - 1:
            runs[-1] = (runs[-1][0], kind)
        else:
            runs.append((kind, kind))
    return runs
