"""From lists of threads to a machine that reads each character once: pieces that may begin are followed at once.

A state is a stack of levels. Level 0 is the piece that is open. When a level matches before a character, that end may
yet give way to a longer match that the level prefers; so its remaining threads stay, and a level above them follows the
piece that begins here. It lives as long as no longer match takes its place. Where the remaining threads end in a match
whatever comes, there is nothing to follow beside them.

Where this comes to more levels than a table can hold, a thread that a lower level holds too is taken out: it matches in
both at once, and the lower level then drops the other. What is left of such levels are places where pieces end if those
below come to nothing; and where two such pieces are one anyway, their border is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .compiled import MOST_EMITS, MOST_MARKS, MOST_STATES, NotCompilable
from .partition import END
from .threads import GAP, MATCH, Budget, Lists

BACK, HERE = 254, 255
"""Places beside the marks, which are 0, 1, ...: the last character's offset, and this character's."""

MOST_LEVELS = 12

_FEW_ENDS = 4
"""Ends that one step gives at most as long as no level is made smaller: of more, that gives the smaller table."""


class TooManyEnds(NotCompilable):
    """Ends that wait for what follows have to be kept, and there are more and more of them."""


class Step(NamedTuple):
    """One entry: the next state, the ends as (place, whether that piece is dropped) in order, and where the marks of
    the next state come from, as (mark, place)."""

    next: int
    emits: tuple[tuple[int, bool], ...]
    moves: tuple[tuple[int, int], ...]


Machine = list[list[Step]]
"""The Step of each state for each class. State 0 is the beginning."""


class Joins(NamedTuple):
    """What becomes of pieces of the two kinds: joined[a][b]: a piece of kind a and one of kind b behind it are one;
    dropped[a]: pieces of kind a are no part of the result."""

    joined: tuple[tuple[bool, bool], tuple[bool, bool]]
    dropped: tuple[bool, bool]

    def after(self, kind: int) -> bool | None:
        """Whether the next piece joins one of the kind, None where that hangs on its kind."""
        first, second = self.joined[kind]
        return first if first == second else None


def joins(behavior: str = "Isolated", *, invert: bool = False, drop_gaps: bool = False) -> Joins:
    """Joins for the behavior of a Split of Hugging Face; drop_gaps: what nothing matches is dropped, as in tiktoken."""
    kinds = (GAP, MATCH) if invert else (MATCH, GAP)
    match, gap = kinds
    table = [[False, False], [False, False]]
    if behavior == "Contiguous":
        table[MATCH][MATCH] = True
    elif behavior == "MergedWithPrevious":
        table[gap][match] = True
    elif behavior == "MergedWithNext":
        table[match][gap] = True
    elif behavior not in ("Isolated", "Removed"):
        raise NotCompilable(f"a Split has the unknown behavior {behavior!r}")
    table[GAP][GAP] = True  # a gap is all that lies between two matches
    dropped = [False, False]
    dropped[match] = behavior == "Removed"
    dropped[GAP] |= drop_gaps
    return Joins((tuple(table[0]), tuple(table[1])), tuple(dropped))  # type: ignore[arg-type]


class _Level(NamedTuple):
    """threads: the number of its list. kind: that of the match that ended where the level above begins; -1: none."""

    threads: int
    kind: int


class _State(NamedTuple):
    """context: what the pattern may ask of the last character. held: the kind of the piece in front of level 0, whose
    end is given once the kind of level 0 is known; -1: none. back: the last place that the state keeps is the last
    character's."""

    context: int
    held: int
    levels: tuple[_Level, ...]
    back: bool

    def places(self) -> list[int]:
        """Where the levels begin: marks, and BACK; -1 for level 0 where nobody asks."""
        kept = len(self.levels) - (self.held < 0)
        marks = [*range(kept - self.back), *[BACK] * self.back]
        return marks if self.held >= 0 else [-1, *marks]


class _Walk:
    """One character from one state."""

    def __init__(self, lists: Lists, joined: Joins, state: _State, c: int, lean: bool) -> None:
        self.lists, self.joins, self.c = lists, joined, c
        self.emits: list[tuple[int, bool]] = []
        self.held = state.held
        self.levels: list[tuple[int, int]] = []
        self.starts: list[int] = []
        self._step(state)
        if c == END:
            self._end()
            return
        if lean:
            self._thin()
        self._settle()

    def _step(self, state: _State) -> None:
        places = state.places()
        for (threads, kind), place in zip(state.levels, places):
            row = self.lists.rows[threads]
            after, matched = row.next[self.c], row.kind[self.c]
            self.starts.append(place)
            if self.lists.sure[after]:
                self.levels.append((after, -1))
                return
            if matched >= 0:
                self.levels.append((after, matched))
                if self.c != END:
                    first = self.lists.starts_row(state.context)
                    self.levels.append((first.next[self.c], -1))
                self.starts.append(HERE)
                return
            self.levels.append((after, kind))
        if self.levels[-1] != (0, -1):  # all its threads were in lower levels too
            raise AssertionError("the piece that is open ended nowhere")

    def _thin(self) -> None:
        """Takes out what lower levels do as well."""
        for at in range(1, len(self.levels)):
            threads, kind = self.levels[at]
            self.levels[at] = (self.lists.without(threads, [level[0] for level in self.levels[:at]]), kind)
        at = 1
        while at < len(self.levels) - 1:
            threads, kind = self.levels[at]
            if not threads and kind == self.levels[at - 1][1] and self.joins.joined[kind][kind]:
                del self.levels[at], self.starts[at]
            else:
                at += 1

    def _emit(self, place: int, kind: int) -> None:
        self.emits.append((place, self.joins.dropped[kind]))

    def _decide(self, kinds: int) -> None:
        """Level 0 will be a piece of one of these kinds: gives the end in front of it, or drops it, if all agree."""
        if self.held < 0:
            return
        found = {self.joins.joined[self.held][kind] for kind in (MATCH, GAP) if kinds >> kind & 1}
        if len(found) == 1:
            if not found.pop():
                self._emit(self.starts[0], self.held)
            self.held = -1

    def _finish(self) -> None:
        """Level 0 ends where level 1 begins."""
        kind = self.levels[0][1]
        self._decide(1 << kind)
        del self.levels[0], self.starts[0]
        joined = self.joins.after(kind)
        if joined is None:
            self.held = kind
        elif not joined:
            self._emit(self.starts[0], kind)

    def _settle(self) -> None:
        while not self.levels[0][0]:
            self._finish()
        threads, kind = self.levels[0]
        self._decide(self.lists.kinds[threads] | (1 << kind if kind >= 0 else 0))

    def _end(self) -> None:
        while len(self.levels) > 1:
            self._finish()
        kind = self.levels[0][1]
        self._decide(1 << kind)
        self._emit(HERE, kind)

    def result(self) -> tuple[_State, tuple[tuple[int, int], ...]]:
        """The next state, and where its marks come from."""
        kept = self.starts[0 if self.held >= 0 else 1 :]
        back = bool(kept) and kept[-1] == HERE
        moves = tuple((mark, place) for mark, place in enumerate(kept[: len(kept) - back]) if mark != place)
        context = self.lists.contexts[self.c]
        return _State(context, self.held, tuple(_Level(*level) for level in self.levels), back), moves


def build(lists: Lists, joined: Joins, budget: Budget) -> Machine:
    """The machine. Raises NotCompilable where it would be too large."""
    try:
        return _build(lists, joined, budget, lean=False)
    except TooManyEnds:
        return _build(lists, joined, budget, lean=True)


def _build(lists: Lists, joined: Joins, budget: Budget, lean: bool) -> Machine:
    start = _State(lists.contexts[END], -1, (), False)
    numbers = {start: 0}
    todo = [start]
    rows: Machine = []

    def number(state: _State) -> int:
        if state not in numbers:
            if len(numbers) >= MOST_STATES:
                raise NotCompilable("it needs too many states")
            if len(state.levels) > MOST_LEVELS:
                raise TooManyEnds(f"it may have to wait with more than {MOST_MARKS - 1} ends of pieces at a time")
            numbers[state] = len(todo)
            todo.append(state)
        return numbers[state]

    while len(rows) < len(todo):
        state = todo[len(rows)]
        row = []
        for c in range(lists.classes):
            budget.spend(4 + len(state.levels))
            row.append(_step(lists, joined, state, c, number, lean))
        rows.append(row)
    return rows


def _step(lists: Lists, joined: Joins, state: _State, c: int, number: Callable[[_State], int], lean: bool) -> Step:
    if not state.levels:  # at the beginning
        if c == END:
            return Step(0, (), ())
        first = _Level(lists.starts_row(state.context).next[c], -1)
        return Step(number(_State(lists.contexts[c], -1, (first,), False)), (), ())
    walk = _Walk(lists, joined, state, c, lean)
    if len(walk.emits) > (MOST_EMITS if lean else _FEW_ENDS):
        raise TooManyEnds(f"it may have to wait with more than {MOST_MARKS - 1} ends of pieces at a time")
    emits = tuple(walk.emits)
    if c == END:
        return Step(0, emits, ())
    after, moves = walk.result()
    if len(set(after.places()) - {-1, BACK}) > MOST_MARKS - 1:  # one is for moves in a ring
        raise TooManyEnds(f"it may have to wait with more than {MOST_MARKS - 1} ends of pieces at a time")
    return Step(number(after), emits, moves)
