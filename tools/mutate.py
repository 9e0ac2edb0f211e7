#!/usr/bin/env python3
"""Changes the code in small ways, one at a time, and counts the changes that the tests find.

    python tools/mutate.py run FOLDER --language c --sample 20 --seed 1 --jobs 2
    python tools/mutate.py run FOLDER --again survived          the same sample, these alone, after an edit of the tests
    python tools/mutate.py report FOLDER                        the share that is found, by room
    python tools/mutate.py survivors FOLDER                     those that no test finds

A mutant is the code with one change: a comparison, a constant, an operator, a dropped statement, a swapped branch. The
seed determines the sample, which has the same number of mutants in each room. The tests of its room run first, then all
others that reach it, until one fails. FOLDER holds the builds and a ledger, a line for each verdict; a run that is
stopped goes on where it stopped. tools/equivalent_mutants.txt lists changes that no test can find, with the reason;
those of them that survive are counted apart.

The measure of C needs the packages tree-sitter and tree-sitter-c, a C compiler, and a checkout whose build is current.
After an edit of what is mutated use another FOLDER.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import itertools
import json
import math
import pathlib
import queue
import random
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Protocol

ROOT = pathlib.Path(__file__).resolve().parent.parent
EQUIVALENT = ROOT / "tools" / "equivalent_mutants.txt"

FOUND = ("killed", "timeout")
NOT_FOUND = ("survived", "unreached")  # unreached: no test runs the changed line
NOT_COUNTED = ("equivalent", "no build")


class Mutant(NamedTuple):
    """One change: bytes [start, end) of the file, which are `old`, become `new`."""

    file: str  # relative to the root of the project
    line: int
    function: str  # around it; "" if there is none
    operator: str
    old: str
    new: str
    start: int
    end: int
    source: str  # the line, without blanks around it

    @property
    def id(self) -> str:
        key = "\0".join(map(str, (self.file, self.start, self.end, self.operator, self.new)))
        return hashlib.sha256(key.encode()).hexdigest()[:12]

    @property
    def room(self) -> str:
        parts = self.file.split("/")
        return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


class Verdict(NamedTuple):
    outcome: str  # of FOUND, NOT_FOUND or NOT_COUNTED
    by: str = ""  # the test that found it, or the reason


class Language(Protocol):
    """What the driver asks of a language. `mutants`: all that there are; the folder is there to work in. `prepare` is
    called once, with those of the run; `judge` by several threads, each with a number of its own below `jobs`."""

    def mutants(self, folder: pathlib.Path, jobs: int) -> list[Mutant]: ...

    def prepare(self, folder: pathlib.Path, chosen: Sequence[Mutant], options: argparse.Namespace) -> None: ...

    def judge(self, mutant: Mutant, worker: int) -> Verdict: ...

    def close(self) -> None: ...


def language(name: str) -> Language:
    if name == "c":
        import mutate_core

        core: Language = mutate_core.C()
        return core
    if name == "cython":
        import mutate_pyx

        modules: Language = mutate_pyx.Cython()
        return modules
    import mutate_py

    python: Language = mutate_py.Python()
    return python


def sample(mutants: Iterable[Mutant], count: int, seed: int) -> list[Mutant]:
    """`count` of each room, or all if there are fewer, the rooms in turn: a run that ends early has as many of each. A
    smaller sample is the head of a larger one."""
    rooms: dict[str, list[Mutant]] = collections.defaultdict(list)
    for mutant in mutants:
        rooms[mutant.room].append(mutant)
    for room, all_of_it in rooms.items():
        all_of_it.sort(key=lambda mutant: mutant.id)
        random.Random(f"{seed} {room}").shuffle(all_of_it)
    turns = itertools.zip_longest(*(all_of_it[:count] for _, all_of_it in sorted(rooms.items())))
    return [mutant for turn in turns for mutant in turn if mutant is not None]


def in_order(tests: dict[str, float], folder: str) -> list[str]:
    """The names of tests, of which the seconds are given: those of the folder of tests/ first, then the quick ones."""
    own = f"tests/{folder}/"
    return sorted(tests, key=lambda name: (not name.startswith(own), tests[name], name))


# ==== Equivalent mutants ====


class Equivalent(NamedTuple):
    """A line of the list. Each part may be *, which stands for any; a `source` of *TEXT* stands for lines with TEXT."""

    file: str
    function: str
    operator: str
    source: str
    reason: str

    def covers(self, mutant: Mutant) -> bool:
        change = f"{mutant.operator} {mutant.old} -> {mutant.new}"
        return (
            self.file in ("*", mutant.file)
            and self.function in ("*", mutant.function)
            and self.operator in ("*", mutant.operator, change)
            and self.is_source(mutant.source)
        )

    def is_source(self, line: str) -> bool:
        if self.source.startswith("*") and self.source.endswith("*"):
            return self.source.strip("*") in line
        return self.source == line


def equivalents() -> list[Equivalent]:
    """Lines "FILE | FUNCTION | OPERATOR | SOURCE LINE" under a heading "# REASON". The operator may go on with the
    change: "constant 1 -> 2"."""
    found, reason = [], ""
    for line in EQUIVALENT.read_text().splitlines() if EQUIVALENT.exists() else ():
        if line.startswith("#"):
            reason = line.lstrip("# ")
        elif line.strip():
            file, function, operator, source = (part.strip() for part in line.split(" | ", 3))
            found.append(Equivalent(file, function, operator, source, reason))
    return found


def equivalent_reason(mutant: Mutant, known: Iterable[Equivalent]) -> str | None:
    return next((entry.reason for entry in known if entry.covers(mutant)), None)


# ==== The ledger ====


class Entry(NamedTuple):
    mutant: Mutant
    verdict: Verdict
    seconds: float


class Ledger:
    """A file of JSON lines; the last one of a mutant counts."""

    def __init__(self, folder: pathlib.Path):
        self.path = folder / "ledger.jsonl"
        self.lock = threading.Lock()

    def read(self) -> dict[str, Entry]:
        entries = {}
        for line in self.path.read_text().splitlines() if self.path.exists() else ():
            try:
                record = json.loads(line)
            except ValueError:  # cut off when the run was stopped
                continue
            mutant = Mutant(*record["mutant"])
            entries[mutant.id] = Entry(mutant, Verdict(record["outcome"], record["by"]), record["seconds"])
        return entries

    def add(self, entry: Entry) -> None:
        record = {
            "outcome": entry.verdict.outcome,
            "by": entry.verdict.by,
            "seconds": round(entry.seconds, 2),
            "mutant": entry.mutant,
        }
        with self.lock, self.path.open("a") as file:
            file.write(json.dumps(record) + "\n")


# ==== A run ====


def wanted(chosen: list[Mutant], done: dict[str, Entry], again: Sequence[str]) -> list[Mutant]:
    return [m for m in chosen if m.id not in done or done[m.id].verdict.outcome in again]


def run(options: argparse.Namespace) -> int:
    options.folder.mkdir(parents=True, exist_ok=True)
    tested, ledger = language(options.language), Ledger(options.folder)
    rooms = tested.mutants(options.folder, options.jobs)
    (options.folder / "sizes.json").write_text(json.dumps(collections.Counter(mutant.room for mutant in rooms)))
    chosen = sample(rooms, options.sample, options.seed)
    left = [m for m in wanted(chosen, ledger.read(), options.again) if m.file.startswith(tuple(options.only or [""]))]
    print(f"{len(rooms)} mutants, {len(chosen)} in the sample, {len(left)} to run", flush=True)
    tested.prepare(options.folder, chosen, options)
    workers: queue.SimpleQueue[int] = queue.SimpleQueue()
    for worker in range(options.jobs):
        workers.put(worker)

    def one(mutant: Mutant) -> None:
        worker, start = workers.get(), time.monotonic()
        try:
            verdict = tested.judge(mutant, worker)
        finally:
            workers.put(worker)
        entry = Entry(mutant, verdict, time.monotonic() - start)
        ledger.add(entry)
        print(line_of(entry), flush=True)

    try:
        with ThreadPoolExecutor(options.jobs) as pool:
            for done in [pool.submit(one, mutant) for mutant in left]:
                done.result()
    finally:
        tested.close()
    return 0


def line_of(entry: Entry) -> str:
    mutant, verdict = entry.mutant, entry.verdict
    change = f"{mutant.old!r} -> {mutant.new!r}" if mutant.new else f"without {mutant.old!r}"
    return f"{verdict.outcome:10} {mutant.file}:{mutant.line} {mutant.operator} {change} [{verdict.by}]"


# ==== Reports ====


def interval(found: int, count: int) -> tuple[float, float]:
    """Wilson's interval of 95 % for a share."""
    if not count:
        return 0.0, 1.0
    z, share = 1.96, found / count
    middle = share + z * z / (2 * count)
    width = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    whole = 1 + z * z / count
    return (middle - width) / whole, (middle + width) / whole


def report(options: argparse.Namespace) -> int:
    entries = list(Ledger(options.folder).read().values())
    sizes = json.loads((options.folder / "sizes.json").read_text())
    known = equivalents()
    rooms: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for entry in entries:
        is_known = entry.verdict.outcome in NOT_FOUND and equivalent_reason(entry.mutant, known)
        rooms[entry.mutant.room]["equivalent" if is_known else entry.verdict.outcome] += 1
    total: collections.Counter[str] = collections.Counter()
    print("| room | all | in the sample | equivalent | not built | found | survived | share |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for room, counts in sorted(rooms.items()):
        total.update(counts)
        print(row(room, sizes.get(room, 0), counts))
    print(row("all", sum(sizes.values()), total))
    found, count = found_and_counted(total)
    low, high = interval(found, count)
    print(f"\n{found} of {count} found: {found / max(1, count):.1%}, between {low:.1%} and {high:.1%} (95 %)")
    return 0


def found_and_counted(counts: collections.Counter[str]) -> tuple[int, int]:
    found = sum(counts[name] for name in FOUND)
    return found, found + sum(counts[name] for name in NOT_FOUND)


def row(room: str, size: int, counts: collections.Counter[str]) -> str:
    found, count = found_and_counted(counts)
    share = f"{found / count:.0%}" if count else ""
    drawn = sum(counts.values())
    cells = (room, size, drawn, counts["equivalent"], counts["no build"], found, count - found, share)
    return f"| {' | '.join(map(str, cells))} |"


def survivors(options: argparse.Namespace) -> int:
    known = equivalents()
    for entry in sorted(Ledger(options.folder).read().values(), key=lambda entry: entry.mutant):
        if entry.verdict.outcome in NOT_FOUND and not equivalent_reason(entry.mutant, known):
            print(f"{entry.mutant.id} {line_of(entry)}\n    {entry.mutant.source}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for action in (run, report, survivors):
        command = commands.add_parser(action.__name__)
        command.add_argument("folder", type=pathlib.Path)
        command.set_defaults(action=action)
        if action is run:
            command.add_argument("--language", choices=("c", "python", "cython"), default="c")
            command.add_argument("--sample", type=int, default=20, help="mutants of each room (default: 20)")
            command.add_argument("--seed", type=int, default=1)
            command.add_argument("--jobs", type=int, default=1, help="mutants that are tested at once")
            command.add_argument(
                "--only", action="append", default=[], help="mutants of files whose names begin so; may be repeated"
            )
            command.add_argument(
                "--again", action="append", default=[], help="an outcome whose mutants are tested again"
            )
            command.add_argument("--budget", type=float, default=0, help="seconds of tests for a mutant; 0: all tests")
            command.add_argument("--quick", action="store_true", help="C: without the tests that are marked slow")
            command.add_argument("--tests", action="append", default=[], help="C: these folders of tests/ alone")
            command.add_argument("--harnesses", action="store_true", help="C: without the tests of Python")
    options = parser.parse_args()
    status: int = options.action(options)
    return status


if __name__ == "__main__":
    sys.exit(main())
