"""A machine in its smallest form, as a table: equal states are one, and equal classes are one."""

from __future__ import annotations

import array
import sys

from .compiled import (
    DROPPED,
    EMIT,
    EMIT_BACK,
    MOST_MARKS,
    OP_DROPPED,
    OP_EMIT_BACK,
    OP_EMIT_HERE,
    OP_EMIT_MARK,
    OP_END,
    OP_MARK_BACK,
    OP_MARK_HERE,
    OP_MOVE,
    OP_SHIFT,
    SLOW,
    CompiledPattern,
    NotCompilable,
)  # fmt: skip
from .levels import BACK, HERE, Machine, Step
from .live import Live
from .partition import Partition

_MOST_OPS = 4096
_SPARE = MOST_MARKS - 1
"""The mark that breaks a ring of moves."""


def smallest(machine: Machine) -> Machine:
    """The same machine without states that no text tells apart."""
    machine = Live(machine).pruned()
    return _renumbered(machine, _blocks(machine))


def _blocks(machine: Machine) -> list[int]:
    """For each state the number of its block: states of one block split every text alike.

    Blocks begin as the states that give the same ends, and are divided until those of one block lead to the same
    blocks. The largest part of a block keeps its number, so that a state is looked at again a few times, however many
    blocks there come to be."""
    outs: dict[tuple[object, ...], int] = {}
    blocks = [outs.setdefault(tuple((step.emits, step.moves) for step in row), len(outs)) for row in machine]
    members: list[set[int]] = [set() for _ in outs]
    above: list[set[int]] = [set() for _ in machine]
    for state, row in enumerate(machine):
        members[blocks[state]].add(state)
        for step in row:
            above[step.next].add(state)
    todo = set(range(len(machine)))
    while todo:
        touched: dict[int, dict[tuple[int, ...], set[int]]] = {}
        for state in todo:
            after = tuple([blocks[step.next] for step in machine[state]])
            touched.setdefault(blocks[state], {}).setdefault(after, set()).add(state)
        todo = set()
        for block, parts in touched.items():
            rest = members[block].difference(*parts.values())  # they lead where they led, and so differ from all others
            groups = sorted([*parts.values(), *([rest] if rest else [])], key=len)
            members[block] = groups.pop()
            for group in groups:
                for state in group:
                    blocks[state] = len(members)
                    todo |= above[state]
                members.append(group)
    return blocks


def _renumbered(machine: Machine, blocks: list[int]) -> Machine:
    """One state for each block, in the order in which texts come to them: the same machine always looks the same."""
    one_of = {block: state for state, block in reversed(list(enumerate(blocks)))}
    order = {blocks[0]: 0}
    todo = [blocks[0]]
    rows: Machine = []
    for block in todo:
        row = []
        for step in machine[one_of[block]]:
            after = blocks[step.next]
            if after not in order:
                order[after] = len(order)
                todo.append(after)
            row.append(step._replace(next=order[after]))
        rows.append(row)
    return rows


def merge_classes(machine: Machine, classes: Partition) -> tuple[Machine, Partition]:
    """Classes that no state tells apart become one."""
    columns: dict[tuple[Step, ...], int] = {}
    new = [columns.setdefault(column, len(columns)) for column in zip(*machine)]
    keep = [new.index(number) for number in range(len(columns))]
    if 0 in new[1:]:
        raise AssertionError("the end of the text is like a character")
    return [[row[c] for c in keep] for row in machine], classes.merged(new)


class _Ops:
    """The list of ops, each once. Number 0 is none."""

    def __init__(self) -> None:
        self.words: list[int] = [0]
        self._known: dict[tuple[int, ...], int] = {}

    def number(self, step: Step) -> int:
        code = self._code(step)
        if code not in self._known:
            self._known[code] = len(self.words)
            self.words += code
            if len(self.words) > _MOST_OPS:
                raise NotCompilable("it needs too many ops")
        return self._known[code]

    def _code(self, step: Step) -> tuple[int, ...]:
        out = []
        for place, dropped in step.emits:
            if dropped:
                out.append(OP_DROPPED << 8)
            plain = {BACK: OP_EMIT_BACK << 8, HERE: OP_EMIT_HERE << 8}
            out.append(plain.get(place, OP_EMIT_MARK << 8 | place))
        return (*out, *_moves(step.moves), OP_END << 8)


def _moves(moves: tuple[tuple[int, int], ...]) -> list[int]:
    """Moves that happen at once, one after the other: a mark is written when nobody reads it any more."""
    left = dict(moves)
    out = []
    while left:
        ready = next((mark for mark in left if mark not in left.values()), None)
        if ready is None:  # a ring: one of its marks goes aside
            mark = next(iter(left))
            out.append(OP_MOVE << 8 | mark << 4 | _SPARE)
            left = {to: _SPARE if place == mark else place for to, place in left.items()}
            continue
        place = left.pop(ready)
        plain = {BACK: OP_MARK_BACK << 8 | ready, HERE: OP_MARK_HERE << 8 | ready}
        out.append(plain.get(place, OP_MOVE << 8 | place << 4 | ready))
    return out


def _entry(step: Step, ops: _Ops) -> int:
    places = [place for place, _ in step.emits]
    dropped = {flag for _, flag in step.emits}
    if not step.moves and places in ([], [HERE], [BACK], [BACK, HERE]) and (len(places) < 2 or dropped == {False}):
        flags = (EMIT if HERE in places else 0) | (EMIT_BACK if BACK in places else 0)
        return step.next | flags | (DROPPED if True in dropped else 0)
    return step.next | SLOW | ops.number(step) << OP_SHIFT


def _little(code: str, values: list[int]) -> bytes:
    data = array.array(code, values)
    if sys.byteorder == "big":
        data.byteswap()
    return data.tobytes()


def pack(machine: Machine, classes: Partition) -> CompiledPattern:
    """The table of a machine, made as small as it gets."""
    machine, classes = merge_classes(smallest(machine), classes)
    ops = _Ops()
    entries = [_entry(step, ops) for row in machine for step in row]
    index, blocks = classes.map()
    return CompiledPattern(
        classes=classes.classes,
        class_index=index,
        class_blocks=blocks,
        states=len(machine),
        entries=_little("I", entries),
        ops=_little("H", ops.words),
        drops=any(flag for row in machine for step in row for _, flag in step.emits),
    )
