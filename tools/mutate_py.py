"""Which test finds a mutant of streamtok/**/*.py: for mutate.py.

FOLDER/coverage must hold what `python tools/cover.py run FOLDER/coverage` measured. The tests of a mutant are those
that reach its line, the fastest of each kind first. A statement of a module or a class runs when it is imported; its
tests are those that reach a line with the name that it sets. --budget bounds the time of a mutant's tests, as it was
under coverage. Each worker has a copy of the project, and a process that forks for each mutant (mutate_server.py).
"""

from __future__ import annotations

import argparse
import ast
import collections
import json
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import mutants_py
from mutate import ROOT, Mutant, Verdict

GENERATED = ("streamtok/patterns/unicode_ranges.py",)
SLOWEST = 30.0
"""Seconds of a test that runs for mutants at most."""
MOST = 300
"""Tests of one mutant."""
START = 4.0
"""Seconds that a mutant gets besides the time of its tests, times SLACK."""
SLACK = 6.0
CLOCKS = ("linear", "memory", "worst_time", "campaign", "rivals", "stream_endless")
"""Test files that measure time or memory: on a busy machine they fail by themselves."""

Place = tuple[str, int]


def package_files() -> list[str]:
    found = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "streamtok").rglob("*.py"))
    return [name for name in found if name not in GENERATED]


# ==== Which tests reach a line ====


class Reach:
    """tests: their names; seconds: of each; lines: file -> line -> numbers of the tests that reach it."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.tests: list[str] = []
        self.seconds: list[float] = []
        self.lines: dict[str, dict[int, set[int]]] = collections.defaultdict(lambda: collections.defaultdict(set))
        self.at_import: dict[str, set[int]] = collections.defaultdict(set)
        for times in sorted(folder.glob("*.times")):
            if not any(word in times.name for word in CLOCKS):
                self._add(times, times.with_suffix(".data"))

    def _add(self, times: pathlib.Path, path: pathlib.Path) -> None:
        cached = path.with_suffix(".lines")
        if not cached.exists() or cached.stat().st_mtime < path.stat().st_mtime:
            cached.write_bytes(pickle.dumps(_lines_of(path)))
        numbers = {}
        for name, (outcome, seconds) in json.loads(times.read_text()).items():
            if outcome == "passed" and seconds < SLOWEST:
                numbers[name] = len(self.tests)
                self.tests.append(name)
                self.seconds.append(seconds)
        for file, lines in pickle.loads(cached.read_bytes()).items():
            for line, names in lines.items():
                self.lines[file][line] |= {numbers[name] for name in names if name in numbers}
                if "" in names:
                    self.at_import[file].add(line)

    def forget(self, name: str, others: list[str]) -> None:
        """Leaves out a test that fails by itself. Other threads read the sets meanwhile, so each gets a new one."""
        failing = {name} if "::" in name else set(others)
        gone = {number for number, test in enumerate(self.tests) if test in failing}
        for lines in list(self.lines.values()):
            for line in lines:
                lines[line] = lines[line] - gone
        print(f"fails by itself: {name}", flush=True)


def _lines_of(path: pathlib.Path) -> dict[str, dict[int, list[str]]]:
    import coverage

    data = coverage.CoverageData(str(path))
    data.read()
    found = {}
    for file in data.measured_files():
        lines = data.contexts_by_lineno(file)
        found[pathlib.Path(file).relative_to(ROOT).as_posix()] = {line: list(names) for line, names in lines.items()}
    return found


class Source:
    """What a file says about its lines. statement: line -> first line of the statement around it; owner: line -> the
    function around it; sets: first line of a statement outside of functions -> names that it sets; names: -> lines."""

    def __init__(self, path: str) -> None:
        self.statement: dict[int, int] = {}
        self.owner: dict[int, ast.AST] = {}
        self.sets: dict[int, set[str]] = {}
        self.names: dict[str, set[int]] = collections.defaultdict(set)
        self._visit(ast.parse((ROOT / path).read_text(encoding="utf-8")), None)

    def _visit(self, node: ast.AST, owner: ast.AST | None) -> None:
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
            self.names[node.id if isinstance(node, ast.Name) else node.attr].add(node.lineno)
        if isinstance(node, ast.stmt):
            marks = getattr(node, "decorator_list", [])
            for line in range(marks[0].lineno if marks else node.lineno, (node.end_lineno or node.lineno) + 1):
                self.statement[line] = node.lineno
                if owner is not None:
                    self.owner[line] = owner
            if owner is None:
                self.sets[node.lineno] = _set_by(node)
        for field, value in ast.iter_fields(node):
            inner = node if isinstance(node, FUNCTIONS) and field == "body" else owner
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    self._visit(child, inner)


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _set_by(node: ast.stmt) -> set[str]:
    if isinstance(node, FUNCTIONS):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    found = [part for target in targets if target for part in ast.walk(target)]
    return {part.id for part in found if isinstance(part, ast.Name)}


class Selection:
    """The tests of a mutant."""

    def __init__(self, reach: Reach) -> None:
        self.reach = reach
        self.sources = {path: Source(path) for path in package_files()}

    def reaching(self, mutant: Mutant) -> set[int]:
        first = self.sources[mutant.file].statement[mutant.line]
        if first in self.sources[mutant.file].owner:
            return self._at((mutant.file, mutant.line))
        tests = set().union(*map(self._at, self._uses(mutant.file, first)))
        return tests or set().union(*self.reach.lines[mutant.file].values())

    def _at(self, place: Place) -> set[int]:
        """Those that reach a line, or the first one of its statement."""
        lines, line = self.reach.lines[place[0]], place[1]
        return lines.get(line) or lines.get(self.sources[place[0]].statement[line], set())

    def _uses(self, path: str, first: int) -> Iterable[Place]:
        """Where a name is used that a statement of a module or class sets."""
        for name in self.sources[path].sets.get(first, ()):
            for other, source in self.sources.items():
                yield from ((other, line) for line in source.names.get(name, ()))

    def tests(self, mutant: Mutant, budget: float) -> tuple[list[str], float]:
        """The tests to run, in order, and how long they took. Two cases of each function come before a third of any."""
        seconds, names = self.reach.seconds, self.reach.tests
        cases: collections.Counter[str] = collections.Counter()
        ranked = []
        for number in sorted(self.reaching(mutant), key=lambda number: seconds[number]):
            function = names[number].partition("[")[0]
            cases[function] += 1
            ranked.append((cases[function] > 2, seconds[number] + 0.02, number))
        chosen, total = [], 0.0
        for _, cost, number in sorted(ranked)[:MOST]:
            if budget and chosen and total + cost > budget:
                break
            chosen.append(number)
            total += cost
        return self._by_file(mutant, chosen), total

    def _by_file(self, mutant: Mutant, chosen: list[int]) -> list[str]:
        """A file's tests stand together, so that it is imported once; those of the mutant's room come first."""
        room = mutant.room.rpartition("/")[2].removesuffix("_files")
        files: dict[str, list[int]] = collections.defaultdict(list)
        for number in chosen:
            files[self.reach.tests[number].partition("::")[0]].append(number)

        def order(file: str) -> tuple[bool, float]:
            return f"/{room}" not in file, sum(self.reach.seconds[number] for number in files[file]) / len(files[file])

        return [self.reach.tests[number] for file in sorted(files, key=order) for number in files[file]]


# ==== Running them ====


NOT_COPIED = {"build", "dist", "venv", "__pycache__", ".git", ".venv", ".hypothesis", ".mypy_cache", ".ruff_cache"}


def copy_project(to: pathlib.Path) -> None:
    """The project with what its build made in the package. to: may lie in the project."""

    def left_out(folder: str, names: list[str]) -> set[str]:
        inside = {name for name in names if to.is_relative_to(pathlib.Path(folder, name))}
        return inside | NOT_COPIED & set(names)

    shutil.copytree(ROOT, to, ignore=left_out)
    shared = ROOT.parent / "shared"  # where texts lie that some tests read
    if shared.is_dir() and not (to.parent / "shared").exists():
        (to.parent / "shared").symlink_to(shared)


class Server:
    """A process in a copy of the project, which forks for each mutant (mutate_server.py)."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.tree, self.temporary = folder / "tree", folder / "tmp"
        shutil.rmtree(self.tree, ignore_errors=True)
        copy_project(self.tree)
        compiled = folder / "compiled"
        for made in (self.temporary, compiled):
            made.mkdir(exist_ok=True)
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
        self.environment = inherited | {
            "PYTHONPATH": str(self.tree),
            "PYTHONDONTWRITEBYTECODE": "1",
            "STREAMTOK_TESTS_RUN": str(compiled),
            "TMPDIR": str(self.temporary),
            "OPENBLAS_NUM_THREADS": "1",
            "HYPOTHESIS_STORAGE_DIRECTORY": str(self.temporary / "hypothesis"),
        }
        self.log = folder / "log"
        self.process: subprocess.Popen[str] | None = None

    def begin(self) -> subprocess.Popen[str]:
        command = [sys.executable, str(self.tree / "tools" / "mutate_server.py"), str(self.log)]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=self.tree, env=self.environment, stdin=pipe, stdout=pipe, text=True)

    def run(self, tests: list[str], seconds: float) -> tuple[str, str]:
        """The outcome, and the test that failed."""
        if self.process is None or self.process.poll() is not None:
            self.process = self.begin()
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps([tests, seconds]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        for left in self.temporary.iterdir():
            shutil.rmtree(left, ignore_errors=True)
        if not answer:
            return "killed", "the process that runs tests died"
        outcome, by = json.loads(answer)
        return outcome, by

    def close(self) -> None:
        if self.process is not None and self.process.stdin:
            self.process.stdin.close()
            self.process.wait()


class Python:
    """What mutate.py asks for."""

    selecting = Selection
    serving = Server
    servers: list[Any]

    def mutants(self, folder: pathlib.Path, jobs: int) -> list[Mutant]:
        texts = {path: (ROOT / path).read_text(encoding="utf-8") for path in self.files()}
        return [mutant for path, text in texts.items() for mutant in self.found(path, text)]

    def files(self) -> list[str]:
        """Those that are changed."""
        return package_files()

    def found(self, path: str, text: str) -> list[Mutant]:
        """The mutants of a file."""
        return mutants_py.python_mutants(path, text)

    def put(self, server: Any, mutant: Mutant, text: str) -> None:
        """Makes this the text of the mutant's file."""
        (server.tree / mutant.file).write_text(text, encoding="utf-8")

    def prepare(self, folder: pathlib.Path, chosen: Sequence[Mutant], options: argparse.Namespace) -> None:
        folder = folder.resolve()
        measured = folder / "coverage"
        if not list(measured.glob("*.times")):
            sys.exit(f"{measured} is empty: run python tools/cover.py run {measured} before")
        self.selection = self.selecting(Reach(measured))
        self.budget = options.budget
        folders = [folder / f"worker{number}" for number in range(options.jobs)]
        for made in folders:
            made.mkdir(exist_ok=True)
        self.servers = [self.serving(made) for made in folders]
        self.trusted: set[str] = set()

    def judge(self, mutant: Mutant, worker: int) -> Verdict:
        tests, seconds = self.selection.tests(mutant, self.budget)
        if not tests:
            return Verdict("unreached")
        server, text = self.servers[worker], (ROOT / mutant.file).read_text(encoding="utf-8")
        try:
            self.put(server, mutant, mutants_py.apply(mutant, text))
            outcome, by = server.run(tests, (START + seconds) * SLACK)
        finally:
            self.put(server, mutant, text)
        if outcome == "killed" and not self.is_trusted(server, by, tests):
            self.selection.reach.forget(by, tests)
            return self.judge(mutant, worker)
        return Verdict(outcome, by or f"{len(tests)} tests")

    def is_trusted(self, server: Server, by: str, tests: list[str]) -> bool:
        """Whether the test that failed passes without the mutant."""
        if by not in self.trusted:
            alone = [by] if "::" in by else tests
            if server.run(alone, 600)[0] != "survived":
                return False
            self.trusted.add(by)
        return True

    def close(self) -> None:
        for server in self.servers:
            server.close()
