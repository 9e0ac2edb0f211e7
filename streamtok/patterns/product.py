"""Two splitters in turn as one machine: the second splits each piece of the first as if it were a whole text.

Where the first has yet to decide whether a piece ends at some place, the second has to be followed both ways: through
that place, and anew from it. A state holds one run of the second for each place where a piece of the first may have
ended, and what these runs gave and nobody may see yet. A place is a mark, BACK or HERE; in that order they lie in the
text, and marks in the order of their numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .compiled import MOST_MARKS, MOST_STATES, NotCompilable
from .levels import BACK, HERE, Machine, Step
from .live import DROPPED, KEPT, Live
from .partition import END
from .threads import Budget

Ends = tuple[tuple[int, bool], ...]
_WORK = 8
"""What one step of the product costs, in visits of threads."""


class _Run(NamedTuple):
    """A run of the second splitter: its state (-1 where its piece will be dropped), the places of its live marks, and
    the ends that it gave."""

    state: int
    places: tuple[int, ...]
    ends: Ends


class _Pair(NamedTuple):
    """first: the state of the first splitter. places: where its open piece may have ended already. runs: the second
    one's run on the open piece, and one from each of the places. between: for each two of (the beginning of the piece,
    the places), in order, the ends that the second one gives if a piece lies between the two."""

    first: int
    places: tuple[int, ...]
    runs: tuple[_Run, ...]
    between: tuple[Ends, ...]


class _Walk:
    """One character from one state; all places are those of that state, and HERE."""

    def __init__(self, first: Live, fates: list[int], second: Live, pair: _Pair, classes: tuple[int, int]) -> None:
        self.first, self.fates, self.second, self.pair = first, fates, second, pair
        self.cut, self.go_on = classes[0], classes[1]
        self.step = first.rows[pair.first][self.cut]
        self.out: list[tuple[int, bool]] = []
        count = len(pair.places) + 1
        pairs = [(i, j) for i in range(count) for j in range(i + 1, count)]
        self.between = dict(zip(pairs, pair.between))
        self.base = 0  # the run of the open piece; -1: it begins here
        self._emit()

    def _place(self, place: int) -> int:
        """A mark of the first splitter as a place of the pair."""
        if place >= BACK:
            return place
        return self.pair.places[self.first.marks[self.pair.first].index(place)]

    def _run_at(self, place: int) -> int:
        return -1 if place == HERE else self.pair.places.index(place) + 1

    def _ended(self, run: int) -> Ends:
        """What a run has given and gives if its piece ends here."""
        one = self.pair.runs[run]
        if one.state < 0:
            return ((HERE, True),)
        return one.ends + self._seen(one, self.second.rows[one.state][END])

    def _seen(self, run: _Run, step: Step) -> Ends:
        marks = self.second.marks[run.state]
        return tuple((p if p >= BACK else run.places[marks.index(p)], dropped) for p, dropped in step.emits)

    def _emit(self) -> None:
        for place, dropped in self.step.emits:
            place = self._place(place)
            run = self._run_at(place)
            if dropped:
                self.out.append((place, True))
            else:
                self.out += self._ended(self.base) if run < 0 else self.between[self.base, run]
            self.base = run

    def _stepped(self, run: int) -> _Run:
        old = self.pair.runs[run] if run >= 0 else _Run(0, (), ())
        if old.state < 0:
            return old
        step = self.second.rows[old.state][self.go_on]
        marks = self.second.marks[old.state]
        places = [p if p >= BACK else old.places[marks.index(p)] for p in self.second.sources(step)]
        return _Run(step.next, tuple(places), old.ends + self._seen(old, step))

    def after(self) -> _Pair:
        """The next state, in places of this one."""
        places = [self._place(place) for place in self.first.sources(self.step)]
        if self.first.back[self.step.next]:
            places.append(HERE)
        numbers = [self.base, *map(self._run_at, places)]
        if self.base < 0 and places:
            raise AssertionError("a piece may have ended before it began")
        runs = [self._stepped(run) for run in numbers]
        between = [
            self._ended(i) if j < 0 else self.between[i, j] for at, i in enumerate(numbers) for j in numbers[at + 1 :]
        ]
        fate = self.fates[self.step.next]
        if fate == DROPPED:
            runs[0] = _Run(-1, (), ())
            between[: len(places)] = [((place, True),) for place in places]
        elif fate == KEPT:
            self._give(runs, between, len(places))
        return _Pair(self.step.next, tuple(places), tuple(runs), tuple(between))

    def _give(self, runs: list[_Run], between: list[Ends], places: int) -> None:
        """Gives the ends that come whatever happens."""
        ways = [runs[0].ends, *between[:places]]
        same = 0
        while all(len(way) > same and way[same] == ways[0][same] for way in ways):
            same += 1
        self.out += runs[0].ends[:same]
        runs[0] = runs[0]._replace(ends=runs[0].ends[same:])
        between[:places] = [way[same:] for way in between[:places]]


def _used(pair: _Pair) -> set[int]:
    lists = [pair.places, *(run.places for run in pair.runs)]
    ends = [*(run.ends for run in pair.runs), *pair.between]
    return {place for places in lists for place in places} | {place for way in ends for place, _ in way}


def _renamed(pair: _Pair) -> tuple[_Pair, tuple[tuple[int, int], ...]]:
    """The state in places of its own, and where its marks come from."""
    old = sorted(_used(pair) - {HERE})
    if len(old) > MOST_MARKS - 1:
        raise NotCompilable(f"its stages may have to wait with more than {MOST_MARKS - 1} ends of pieces at a time")
    name = {HERE: BACK, **{place: mark for mark, place in enumerate(old)}}

    def ends(way: Ends) -> Ends:
        return tuple((name[place], dropped) for place, dropped in way)

    def places(some: Iterable[int]) -> tuple[int, ...]:
        return tuple(name[place] for place in some)

    runs = tuple(_Run(run.state, places(run.places), ends(run.ends)) for run in pair.runs)
    new = _Pair(pair.first, places(pair.places), runs, tuple(map(ends, pair.between)))
    return new, tuple((mark, place) for mark, place in enumerate(old) if mark != place)


def product(first: Machine, second: Machine, classes: list[tuple[int, int]], budget: Budget) -> Machine:
    """The machine of `first` and, on each of its pieces, `second`. classes: for each class of the result, the
    classes of the two; the first is END. Raises NotCompilable."""
    one, two = Live(first), Live(second)
    fates = one.fates()
    start = _Pair(0, (), (_Run(0, (), ()),), ())
    numbers = {start: 0}
    todo = [start]
    rows: Machine = []

    def step(pair: _Pair, both: tuple[int, int]) -> Step:
        walk = _Walk(one, fates, two, pair, both)
        if both[0] == END:
            return Step(0, tuple(walk.out), ())
        after, moves = _renamed(walk.after())
        if after not in numbers:
            if len(todo) >= MOST_STATES:
                raise NotCompilable("it needs too many states")
            numbers[after] = len(todo)
            todo.append(after)
        return Step(numbers[after], tuple(walk.out), moves)

    for pair in todo:
        budget.spend(_WORK * len(classes) * len(pair.runs))
        row = [step(pair, both) for both in classes]
        rows.append(row)
    return rows
