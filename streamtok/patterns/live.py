"""Liveness in the table of a pattern: which marks may still be read, and how the open piece may still end."""

from __future__ import annotations

from .levels import BACK, HERE, Machine, Step

KEPT, DROPPED = 1, 2


class Live:
    """marks[state]: the marks that some text may still read, in order. back[state]: whether BACK may be read."""

    def __init__(self, machine: Machine) -> None:
        self.rows = machine
        self._above: list[set[int]] = [set() for _ in machine]
        for state, row in enumerate(machine):
            for step in row:
                self._above[step.next].add(state)
        live: list[set[int]] = [set() for _ in machine]
        todo = set(range(len(machine)))
        while todo:
            state = todo.pop()
            found = {place for step in machine[state] for place in _read(step, live[step.next])}
            if found != live[state]:
                live[state] = found
                todo |= self._above[state]
        self.marks = [tuple(sorted(places - {BACK})) for places in live]
        self.back = [BACK in places for places in live]

    def fates(self) -> list[int]:
        """For each state what may become of the open piece: KEPT, DROPPED, or the sum of both."""
        fates = [0] * len(self.rows)
        todo = set(range(len(self.rows)))
        while todo:
            state = todo.pop()
            found = 0
            for step in self.rows[state]:
                found |= 1 << step.emits[0][1] if step.emits else fates[step.next]
            if found != fates[state]:
                fates[state] = found
                todo |= self._above[state]
        return fates

    def sources(self, step: Step) -> list[int]:
        """Where the live marks of the next state come from."""
        source = dict(step.moves)
        return [source.get(mark, mark) for mark in self.marks[step.next]]

    def pruned(self) -> Machine:
        """The machine without moves to marks that nobody reads."""
        return [
            [
                step._replace(moves=tuple(move for move in step.moves if move[0] in self.marks[step.next]))
                if step.moves
                else step
                for step in row
            ]
            for row in self.rows
        ]


def _read(step: Step, after: set[int]) -> set[int]:
    """The places that a step reads, or the states behind it do."""
    source = dict(step.moves)
    places = {place for place, _ in step.emits} | {source.get(mark, mark) for mark in after if mark != BACK}
    return places - {HERE}
