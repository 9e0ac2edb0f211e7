#!/usr/bin/env python3
"""Line and branch coverage of the Python files under the tests, and which tests reach each line. Needs coverage.py.

    python tools/cover.py run FOLDER [--jobs N] [TEST_FILE ...]    can be stopped, and continues where it stopped
    python tools/cover.py report FOLDER                            the share by room, as a table of Markdown
    python tools/cover.py missing FOLDER                           every line and branch that no test reaches

Each test file is run by a process of its own. Processes that tests start are measured too. FOLDER gets a file of data
and one of times for each test file; tools/mutate_py.py reads them. A test file that has changed is run again. Where no
test can reach lines, tools/unreached_lines.txt says why.
"""

from __future__ import annotations

import argparse
import ast
import collections
import json
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "streamtok"
REASONS = ROOT / "tools" / "unreached_lines.txt"
LIMIT = 1800
"""Seconds for one test file."""

SETTINGS = """
[run]
branch = true
parallel = true
sigterm = true
source = {package}
data_file = {data}
context = ${{STREAMTOK_TEST-}}
concurrency = thread, multiprocessing
patch = _exit
disable_warnings = no-data-collected, module-not-measured, trace-changed

[report]
exclude_also =
    if TYPE_CHECKING:
    @overload
    \\.\\.\\.$
    raise NotImplementedError
"""


def test_files(given: list[str]) -> list[str]:
    found = [pathlib.Path(name).resolve() for name in given] or sorted((ROOT / "tests").rglob("test_*.py"))
    return [path.relative_to(ROOT).as_posix() for path in found]


def stem(test_file: str) -> str:
    return test_file.removeprefix("tests/").removesuffix(".py").replace("/", ".")


def done(folder: pathlib.Path, test_file: str) -> bool:
    times = folder / f"{stem(test_file)}.times"
    return times.exists() and times.stat().st_mtime > (ROOT / test_file).stat().st_mtime


def measure(folder: pathlib.Path, test_file: str) -> str:
    """Runs one test file, and returns a line about it."""
    import coverage

    name = stem(test_file)
    data, times, settings = folder / f"{name}.data", folder / f"{name}.times", folder / f"{name}.rc"
    for old in [data, times, *folder.glob(f"{name}.data.*")]:
        old.unlink(missing_ok=True)
    settings.write_text(SETTINGS.format(package=PACKAGE, data=data))
    shared = folder / "shared"  # what the tests compile
    shared.mkdir(exist_ok=True)
    environment = os.environ | {"COVERAGE_PROCESS_START": str(settings), "STREAMTOK_TIMES": f"{times}.partial"}
    environment |= {"STREAMTOK_TESTS_RUN": str(shared)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "cover_tests", "-p", "no:cacheprovider", test_file]
    began = time.monotonic()
    with (folder / f"{name}.log").open("w") as log:
        try:
            status = subprocess.run(
                command, cwd=ROOT, env=environment, stdout=log, stderr=log, timeout=LIMIT
            ).returncode
        except subprocess.TimeoutExpired:
            status = -1
    combined = coverage.Coverage(config_file=str(settings))
    try:
        combined.combine(strict=True)
        combined.save()
    except coverage.exceptions.NoDataError:
        return f"{test_file}: no data, status {status}"
    partial = pathlib.Path(f"{times}.partial")
    if partial.exists():
        partial.replace(times)
    return f"{test_file}: status {status}, {time.monotonic() - began:.0f} s"


def run(folder: pathlib.Path, given: list[str], jobs: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    todo = [name for name in test_files(given) if not done(folder, name)]
    with ThreadPoolExecutor(jobs) as pool:
        for line in pool.map(lambda name: measure(folder, name), todo):
            print(line, flush=True)


# ==== Reports ====


class Measured(NamedTuple):
    """Of a file: lines and branches, and those that no test reaches."""

    lines: int
    branches: int
    missing: list[int]
    missing_branches: list[tuple[int, int]]  # from, to; below 0: out of the function that begins there


def measured(folder: pathlib.Path) -> dict[str, Measured]:
    import coverage

    settings, whole, text = folder / "all.rc", folder / "all.data", folder / "all.json"
    settings.write_text(SETTINGS.format(package=PACKAGE, data=whole))
    total = coverage.Coverage(config_file=str(settings))
    total.combine([str(path) for path in sorted(folder.glob("*.data")) if path != whole], keep=True)
    total.save()
    total.json_report(outfile=str(text))
    files = json.loads(text.read_text())["files"]
    return {pathlib.Path(name).as_posix(): _of_file(found) for name, found in sorted(files.items())}


def _of_file(found: dict[str, Any]) -> Measured:
    said = found["summary"]
    branches = [(start, end) for start, end in found["missing_branches"]]
    return Measured(said["num_statements"], said["num_branches"], found["missing_lines"], branches)


def room_of(path: str) -> str:
    return "/".join(path.split("/")[:2]) if path.count("/") > 1 else path.split("/")[0]


def report(folder: pathlib.Path) -> None:
    rooms: dict[str, list[Measured]] = collections.defaultdict(list)
    files = measured(folder)
    for path, found in files.items():
        rooms[room_of(path)].append(found)
    print("| room | lines | reached | branches | reached |\n|---|--:|--:|--:|--:|")
    for room, parts in sorted(rooms.items()):
        print(row(room, parts))
    print(row("all", files.values()))
    explained = reasons()
    apart = {path: without_reason(path, found, explained) for path, found in files.items()}
    print(row("all but what has a reason", apart.values()))


def row(name: str, parts: Iterable[Measured]) -> str:
    parts = list(parts)
    lines, branches = sum(part.lines for part in parts), sum(part.branches for part in parts)
    reached = lines - sum(len(part.missing) for part in parts)
    taken = branches - sum(len(part.missing_branches) for part in parts)
    return f"| {name} | {lines} | {share(reached, lines)} | {branches} | {share(taken, branches)} |"


def share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else ""


class Explained(NamedTuple):
    """A line of the list. function and text may be "", which stands for any."""

    path: str
    function: str
    text: str
    reason: str


def reasons() -> list[Explained]:
    """The list: lines "FILE", "FILE | FUNCTION" or "FILE | FUNCTION | WHAT STANDS IN THE LINE" under "# REASON"."""
    found, reason = [], ""
    for line in REASONS.read_text(encoding="utf-8").splitlines() if REASONS.exists() else ():
        if line.startswith("#"):
            reason = line.lstrip("# ")
        elif line.strip():
            path, function, text = (part.strip() for part in [*line.split(" | ", 2), "", ""][:3])
            found.append(Explained(path, function, text, reason))
    return found


def functions(path: str) -> dict[int, str]:
    """The name of the function or class around each line, with those around it: "Class.function"."""
    names: dict[int, str] = {}

    def visit(node: ast.AST, outer: str) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            outer = f"{outer}.{node.name}".lstrip(".")
            names.update(dict.fromkeys(range(node.lineno, (node.end_lineno or node.lineno) + 1), outer))
        for child in ast.iter_child_nodes(node):
            visit(child, outer)

    visit(ast.parse((ROOT / path).read_text(encoding="utf-8")), "")
    return names


class Reasons:
    """Why a line of a file has no test."""

    def __init__(self, path: str, explained: Iterable[Explained]) -> None:
        self.explained = [each for each in explained if each.path == path]
        self.around = functions(path)
        self.lines = (ROOT / path).read_text(encoding="utf-8").splitlines()

    def of(self, line: int) -> str:
        """The reason, or ""."""
        function, text = self.around.get(line, ""), self.lines[line - 1]
        for each in self.explained:
            if f"{function}.".startswith(f"{each.function}." if each.function else "") and each.text in text:
                return each.reason
        return ""

    def place(self, line: int) -> str:
        return f"{self.around.get(line, '')}: {self.lines[line - 1].strip()}"


def without_reason(path: str, found: Measured, explained: list[Explained]) -> Measured:
    """The file without the unreached lines and branches that have a reason."""
    why = Reasons(path, explained)
    missing = [line for line in found.missing if not why.of(line)]
    branches = [branch for branch in found.missing_branches if not why.of(branch[0])]
    lines = found.lines - len(found.missing) + len(missing)
    return Measured(lines, found.branches - len(found.missing_branches) + len(branches), missing, branches)


def missing(folder: pathlib.Path) -> None:
    """Lines without a reason one by one, then the others by reason."""
    explained = reasons()
    groups: dict[str, list[str]] = collections.defaultdict(list)
    for path, found in measured(folder).items():
        why, gone = Reasons(path, explained), set(found.missing)
        for line in found.missing:
            groups[why.of(line)].append(f"{path}:{line} {why.place(line)}")
        for start, end in found.missing_branches:
            if start not in gone and end not in gone:
                groups[why.of(start)].append(f"{path}:{start} -> {end} {why.place(start)}")
    for reason, places in sorted(groups.items()):
        print(f"\n{reason or 'without a reason'}: {len(places)}")
        for place in places:
            print(f"    {place}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["run", "report", "missing"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_intermixed_args()
    folder = given.folder.resolve()
    if given.verb == "run":
        run(folder, given.files, given.jobs)
    elif given.verb == "report":
        report(folder)
    else:
        missing(folder)


if __name__ == "__main__":
    main()
