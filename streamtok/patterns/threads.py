"""The automaton of a pattern: its threads in order of preference, and what one character makes of them.

A thread is (classes, target): for a next character of one of the classes it goes on to the node `target`, or, where the
target is below 0, the pattern has matched up to here, as a piece of the kind -1 - target. The end of the text is class
0. A list of threads is in order of preference and is cut, class by class, behind the first match; so a match is decided
by the character behind it, and a look at that character is only a narrower set of classes.
"""

from __future__ import annotations

from typing import NamedTuple

from .char_sets import EVERYTHING
from .compiled import NotCompilable
from .partition import Partition
from .read import Alt, Atomic, Cat, Look, Node, Rep, Set
from .tree import nullable

MATCH, GAP = 0, 1
"""Kinds of pieces: what an alternative matches, and what none does."""

MOST_NODES = 5_000
MOST_LISTS = 6_000
MOST_WORK = 150_000
"""Visits of threads while a pattern is compiled: a fifth of a second. The patterns of models take 1,000 to 10,000."""

Threads = tuple[tuple[int, int], ...]
_CHAR, _SPLIT, _AHEAD, _BEHIND, _MATCH = range(5)


class Budget:
    """Counts work, so that no pattern takes long."""

    def __init__(self, left: int = MOST_WORK) -> None:
        self.left = left

    def spend(self, work: int) -> None:
        self.left -= work
        if self.left < 0:
            raise NotCompilable("it takes too long to compile")


class _Build:
    """Nodes for a tree, from the end to the beginning."""

    def __init__(self, classes: Partition) -> None:
        self.masks = classes.masks
        self.all = (1 << classes.classes) - 1
        self.nodes: list[tuple[int, int, tuple[int, ...]]] = []  # (what, classes or kind, next nodes)

    def node(self, what: int, value: int, *after: int) -> int:
        if len(self.nodes) >= MOST_NODES:
            raise NotCompilable("it has too many counted repeats")
        self.nodes.append((what, value, after))
        return len(self.nodes) - 1

    def build(self, node: Node, after: int, free: bool) -> int:
        """The node where `node` begins, in front of `after`. free: what comes behind it always matches, so that no
        choice is ever taken back."""
        if isinstance(node, Set):
            return self.node(_CHAR, self.masks[node.ranges], after)
        if isinstance(node, Cat):
            for part in reversed(node.parts):
                after = self.build(part, after, free)
                free = free and _always(part)
            return after
        if isinstance(node, Alt):
            return self.node(_SPLIT, 0, *[self.build(choice, after, free) for choice in node.choices])
        if isinstance(node, Rep):
            return self._rep(node, after, free)
        if isinstance(node, Atomic):
            return self._atomic(node.body, after, free)
        if node.ahead:
            return self.node(_AHEAD, self.ahead(node), after)
        return self.node(_BEHIND, self.behind(node), after)

    def _atomic(self, body: Node, after: int, free: bool) -> int:
        if free or _one_way(body):
            return self.build(body, after, free)
        if isinstance(body, Rep) and body.mode != "?":
            return self._rep(body._replace(mode="+"), after, free)
        ranges = self.single(body)
        if ranges is not None:
            return self.node(_CHAR, ranges, after)
        raise NotCompilable("it has an atomic group with something behind it")

    def _rep(self, node: Rep, after: int, free: bool) -> int:
        if node.high == 0:
            return after
        if nullable(node.body) and node.high != 1:
            raise NotCompilable("it repeats a group that can match nothing")
        if node.mode == "+" and not free and not (_one_way(node.body) and node.low == node.high):
            return self._possessive(node, after)
        body, low, high, lazy = node.body, node.low, node.high, node.mode == "?"

        def either(more: int, stop: int) -> int:
            return self.node(_SPLIT, 0, *((stop, more) if lazy else (more, stop)))

        if high is None:
            loop = self.node(_SPLIT, 0)
            again = self.build(body, loop, free)
            self.nodes[loop] = (_SPLIT, 0, (after, again) if lazy else (again, after))
            start = loop if low == 0 else again
        else:
            start = after
            for _ in range(high - max(low, 1)):
                start = either(self.build(body, start, free), after)
            start = self.build(body, start, free)
            if low == 0:
                start = either(start, after)
        for _ in range(low - 1):
            start = self.build(body, start, False)
        return start

    def _possessive(self, node: Rep, after: int) -> int:
        """A set's own run cannot be given back: the character behind it lies outside of the set, or it is full."""
        mask = self.single(node.body)
        if mask is None:
            raise NotCompilable("it has a possessive quantifier on a group, with something behind it")
        stop = self.node(_AHEAD, self.all & ~mask, after)
        if node.high is None:
            loop = self.node(_SPLIT, 0)
            again = self.node(_CHAR, mask, loop)
            self.nodes[loop] = (_SPLIT, 0, (again, stop))
            start = loop if node.low == 0 else again
            more = node.low - 1
        else:
            start, more = after, node.low
            for _ in range(node.high - node.low):
                start = self.node(_SPLIT, 0, self.node(_CHAR, mask, start), stop)
        for _ in range(more):
            start = self.node(_CHAR, mask, start)
        return start

    def single(self, node: Node) -> int | None:
        """The classes of a node that is one character out of a set; None for any other."""
        if isinstance(node, Set):
            return self.masks[node.ranges]
        if isinstance(node, Atomic):
            return self.single(node.body)
        if isinstance(node, Cat) and len(node.parts) == 1:
            return self.single(node.parts[0])
        if isinstance(node, Alt):
            masks = [self.single(choice) for choice in node.choices]
            return None if None in masks else _union(masks)  # type: ignore[arg-type]
        return None

    def ahead(self, look: Look) -> int:
        """The classes of next characters for which a look ahead succeeds."""
        found = self._condition(look.body, ahead=True)
        if found is None:
            raise NotCompilable("it looks ahead at more than one character")
        return self.all & ~found if look.negative else found

    def behind(self, look: Look) -> int:
        """The classes of last characters for which a look behind succeeds; class 0: there is none."""
        found = self._condition(look.body, ahead=False)
        if found is None:
            raise NotCompilable("it looks behind at more than one character")
        return self.all & ~found if look.negative else found

    def _condition(self, node: Node, ahead: bool) -> int | None:
        """The classes of the next (last) character for which the node matches from (up to) here; None where these alone
        do not tell."""
        if isinstance(node, Set):
            return self.masks[node.ranges]
        if isinstance(node, Alt):
            found = [self._condition(choice, ahead) for choice in node.choices]
            return None if None in found else _union(found)  # type: ignore[arg-type]
        if isinstance(node, Atomic):
            return self._condition(node.body, ahead)
        if isinstance(node, Rep):
            if node.low == 0 or node.high == 0:
                return self.all
            return self._condition(node.body, ahead) if node.low == 1 else None
        if isinstance(node, Look):
            if node.ahead is not ahead:
                return None
            return self.ahead(node) if ahead else self.behind(node)
        return self._condition_of_parts(node.parts if ahead else node.parts[::-1], ahead)

    def _condition_of_parts(self, parts: tuple[Node, ...], ahead: bool) -> int | None:
        found = self.all
        for at, part in enumerate(parts):
            one = self._condition(part, ahead)
            if one is None:
                return None
            found &= one
            if not isinstance(part, Look):  # it moved, or may have: the rest must match whatever comes
                return found if all(map(_always, parts[at + 1 :])) else None
        return found


def _union(masks: list[int]) -> int:
    found = 0
    for mask in masks:
        found |= mask
    return found


def _always(node: Node) -> bool:
    """Whether the node matches at any place, whatever is there."""
    if isinstance(node, Rep):
        return node.low == 0 or _always(node.body)
    if isinstance(node, Cat):
        return all(map(_always, node.parts))
    if isinstance(node, Alt):
        return any(map(_always, node.choices))
    return isinstance(node, Atomic) and _always(node.body)


def _one_way(node: Node) -> bool:
    """Whether the node can match in one way at most from a place."""
    if isinstance(node, Rep):
        return node.low == node.high and _one_way(node.body)
    if isinstance(node, Cat):
        return all(map(_one_way, node.parts))
    if isinstance(node, Alt):
        return False
    return _one_way(node.body) if isinstance(node, Atomic) else True


class Row(NamedTuple):
    """What each class makes of a list of threads: the next list, and the kind of a match that ends before it (-1: no
    match)."""

    next: list[int]
    kind: list[int]


class Lists:
    """All lists of threads that a pattern comes to, by number; number 0 is the empty one.

    rows[n]: the Row of list n. sure[n]: whatever follows, its threads end in a match. kinds[n]: the kinds of piece that
    it may still make, as bits. contexts[c]: a number for all that the pattern may ask of a character of class c once it
    lies behind (class 0: of the beginning of the text).
    """

    def __init__(self, tree: Node, classes: Partition, budget: Budget, single: int | None = None) -> None:
        """single: where the pattern matches the empty text, the next character is a piece of this kind; None: it never
        does."""
        self.classes = classes.classes
        self.budget = budget
        self._every = classes.masks[EVERYTHING]
        build = _Build(classes)
        self.all = build.all
        # Without the alternative of one character that nothing matched, the search would go on behind it; see GAP.
        gap = build.node(_CHAR, classes.masks[EVERYTHING], build.node(_MATCH, GAP))
        start = build.node(_SPLIT, 0, build.build(tree, build.node(_MATCH, MATCH), True), gap)
        self._start, self._single = start, build.node(_MATCH, single or 0)
        self.nodes = build.nodes
        behinds = [mask for what, mask, _ in self.nodes if what == _BEHIND]
        signs: dict[tuple[int, ...], int] = {}
        self.contexts = [
            signs.setdefault(tuple(mask >> c & 1 for mask in behinds), len(signs)) for c in range(self.classes)
        ]
        self._numbers: dict[Threads, int] = {(): 0}
        self._lists: list[Threads] = [()]
        self._memo: dict[tuple[tuple[int, ...], int], int] = {}
        self.rows: list[Row] = []
        self.sure: list[bool] = []
        self.kinds: list[int] = []
        self._starts = {self.contexts[c]: self._closed((start,), c) for c in range(self.classes)}
        self._grow()

    def _grow(self) -> None:
        """Rows and what follows from them for lists that are new, and all that they lead to."""
        first = len(self.rows)
        while len(self.rows) < len(self._lists):
            self.rows.append(self._row(self._lists[len(self.rows)]))
        self._find_sure(first)
        self._find_kinds(first)

    def without(self, number: int, lower: list[int]) -> int:
        """A list without the threads that lists of lower levels hold too."""
        held: dict[int, int] = {}
        for other in lower:
            for mask, target in self._lists[other]:
                held[target] = held.get(target, 0) | mask
        threads = self._lists[number]
        left = ((mask & ~held.get(target, 0), target) for mask, target in threads)
        found = self._number(tuple((mask, target) for mask, target in left if mask))
        self.budget.spend(len(threads))
        self._grow()
        return found

    def starts_row(self, context: int) -> Row:
        """The Row of the list where a piece begins behind a character of this context."""
        return self.rows[self._starts[context]]

    def _closed(self, starts: tuple[int, ...], last: int) -> int:
        """The list of all threads at these nodes, behind a character of class `last`."""
        key = (starts, self.contexts[last])
        if key not in self._memo:
            self._memo[key] = self._number(self._closure(starts, last))
        return self._memo[key]

    def _number(self, threads: Threads) -> int:
        if threads not in self._numbers:
            if len(self._lists) >= MOST_LISTS:
                raise NotCompilable("it needs too many states")
            self._numbers[threads] = len(self._lists)
            self._lists.append(threads)
        return self._numbers[threads]

    def _closure(self, starts: tuple[int, ...], last: int) -> Threads:
        out: list[tuple[int, int]] = []
        seen: dict[int, int] = {}
        have: dict[int, int] = {}
        alive = self.all
        todo = [(node, self.all) for node in reversed(starts)]
        visits = 0
        while todo:
            visits += 1
            node, mask = todo.pop()
            mask &= alive & ~seen.get(node, 0)
            if not mask:
                continue
            seen[node] = seen.get(node, 0) | mask
            what, value, after = self.nodes[node]
            if what == _CHAR:
                mask &= value & ~have.get(after[0], 0)
                if mask:
                    have[after[0]] = have.get(after[0], 0) | mask
                    out.append((mask, after[0]))
            elif what == _SPLIT:
                todo += [(one, mask) for one in reversed(after)]
            elif what == _AHEAD:
                todo.append((after[0], mask & value))
            elif what == _MATCH and starts == (self._start,):
                free = mask & self._every & ~have.get(self._single, 0)
                out += [(free, self._single)] * bool(free)
                alive &= ~mask
            elif what == _MATCH:
                out.append((mask, -1 - value))
                alive &= ~mask
            elif value >> last & 1:
                todo.append((after[0], mask))
        self.budget.spend(visits + len(out))
        return tuple(out)

    def _row(self, threads: Threads) -> Row:
        row = Row([], [])
        self.budget.spend(len(threads) * self.classes // 8)
        for c in range(self.classes):
            after = [target for mask, target in threads if mask >> c & 1]
            matched = bool(after) and after[-1] < 0
            row.kind.append(-1 - after.pop() if matched else -1)
            row.next.append(self._closed(tuple(after), c) if after else 0)
        return row

    def _find_sure(self, first: int) -> None:
        """Of the lists from `first` on: by taking away, until nothing changes, what may come to nothing."""
        sure = self.sure
        sure += [number > 0 for number in range(first, len(self.rows))]
        changed = True
        while changed:
            changed = False
            for number in range(len(self.rows) - 1, first - 1, -1):
                row = self.rows[number]
                if sure[number] and not all(k >= 0 or sure[n] for n, k in zip(row.next, row.kind)):
                    sure[number] = False
                    changed = True
            self.budget.spend(len(self.rows) - first)

    def _find_kinds(self, first: int) -> None:
        kinds = self.kinds
        kinds += [_union([1 << k for k in set(row.kind) if k >= 0]) for row in self.rows[first:]]
        changed = True
        while changed:
            changed = False
            for number in range(len(self.rows) - 1, first - 1, -1):
                more = kinds[number] | _union([kinds[n] for n in set(self.rows[number].next)])
                if more != kinds[number]:
                    kinds[number] = more
                    changed = True
            self.budget.spend(len(self.rows) - first)
