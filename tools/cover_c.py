#!/usr/bin/env python3
"""Which lines and branches of csrc/ the tests run.

    python tools/cover_c.py run FOLDER --jobs 2             builds the core with counters, runs harnesses and tests
    python tools/cover_c.py run FOLDER tests/split          these tests alone; counts are added up
    python tools/cover_c.py report FOLDER                   the shares by room
    python tools/cover_c.py missing FOLDER                  lines that no test runs, branches that none takes

The harnesses of tests/fuzz run in each tier that this machine has; the tests of Python in the machine's own tier, and
those of mutate_core.TIER_FOLDERS in the others as well. A line that several files include counts once, and so do the
copies of a template for each tier: it is covered if one copy runs. Needs GCC and gcov. Code for other machines is not
compiled, and not counted. Lines that no test can run on the machine have their reason in tools/unreached_lines.txt.
"""

from __future__ import annotations

import argparse
import collections
import functools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

import cover
import fuzz_build
import mutate_build
from mutate import ROOT
from mutate_core import FOLDERS, MORE_FOLDERS, TIER_FOLDERS, TIERS

# Without optimization each branch of the source is one of the program. Functions that are inlined into each family of
# patterns would be counted for each: here the compiler does not inline.
COUNTING = ["-O0", "--coverage", fuzz_build.INLINES, "-fprofile-update=atomic"]
BUILD = fuzz_build.Build("coverage", ["-O0", "--coverage"], ["--coverage"])
HARNESS_SECONDS = "3"
LONGEST = 300.0  # seconds for a file of tests
OWN = "csrc/base/mutant"

Lines = dict[int, tuple[int, list[bool]]]  # line -> how often it ran, which of its branches were taken


def build(folder: pathlib.Path, jobs: int) -> tuple[pathlib.Path, dict[str, pathlib.Path]]:
    library = mutate_build.Library(folder / "core", [], jobs, COUNTING)
    mutate_build.copy_tree(folder / "tree")
    library.link(folder / "tree")
    return folder / "tree", mutate_build.harnesses(library, folder / "harnesses", BUILD)


def run(options: argparse.Namespace) -> int:
    folder = options.folder.resolve()
    tree, programs = build(folder, options.jobs)
    if not options.tests:
        vocabularies = ":".join(map(str, fuzz_build.VOCABULARIES))
        for program in programs.values():
            for tier in TIERS:
                environment = dict(os.environ, STREAMTOK_FUZZ_VOCAB=vocabularies, STREAMTOK_TIER=tier)
                subprocess.run([program, "--seconds", HARNESS_SECONDS], env=environment, check=True)
    for tier in TIERS:
        usual = TIER_FOLDERS if tier else (*FOLDERS, *MORE_FOLDERS)
        given = [name.removeprefix("tests/") for name in options.tests]
        names = [name for name in given if not tier or name.split("/")[0] in usual] if given else usual
        files = [file for name in names for file in test_files(tree, name)]
        mutate_build.each(functools.partial(test, tree, tier, options.quick), files, options.jobs)
    return 0


def test_files(tree: pathlib.Path, name: str) -> list[str]:
    path = tree / "tests" / name
    files = sorted(path.glob("test_*.py")) if path.is_dir() else [path]
    return [file.relative_to(tree).as_posix() for file in files if file.exists()]


def test(tree: pathlib.Path, tier: str, quick: bool, file: str) -> None:
    """One file in a process of its own. One that takes too long is interrupted, so that it still writes its counts."""
    start = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line", file]
    command += ["-m", "not slow"] if quick else []
    environment = dict(os.environ, STREAMTOK_TIER=tier, PYTHONDONTWRITEBYTECODE="1")
    process = subprocess.Popen(command, cwd=tree, env=environment, stdout=subprocess.PIPE, text=True)
    timer = threading.Timer(LONGEST, process.send_signal, (signal.SIGINT,))
    timer.start()
    said = process.communicate()[0].strip().splitlines()
    timer.cancel()
    print(f"{file} {tier}: {said[-1] if said else 'nothing'} ({time.monotonic() - start:.0f} s)", flush=True)


# ==== What gcov says ====


def records(folder: pathlib.Path, jobs: int) -> Iterator[dict[str, Any]]:
    """One for each file of each object."""

    def of(counts: pathlib.Path) -> list[dict[str, Any]]:
        command = ["gcov", "--json-format", "--stdout", "--branch-probabilities", str(counts)]
        done = subprocess.run(command, cwd=folder / "core", capture_output=True, text=True)
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    # An object without counts never ran; its notes say what there is.
    notes = sorted([*folder.glob("core/objects/csrc/**/*.gcno"), *folder.glob("harnesses/*.gcno")])
    for said in mutate_build.each(of, notes, jobs):
        for record in said:
            yield from record["files"]


def name_of(file: str) -> str:
    place = file.find("csrc/")
    return file[place:] if place >= 0 and "tests/" not in file else ""


def merged(files: Iterable[dict[str, Any]]) -> dict[str, Lines]:
    """The union over all copies of a line. A copy may have its branches several times: the shortest list is of one."""
    counts: dict[str, dict[int, int]] = collections.defaultdict(collections.Counter)
    branches: dict[str, dict[int, list[list[bool]]]] = collections.defaultdict(lambda: collections.defaultdict(list))
    for record in files:
        name = name_of(record["file"])
        if not name or name.startswith(OWN):
            continue
        for line in record["lines"]:
            number = line["line_number"]
            counts[name][number] += line["count"]
            taken = [branch["count"] > 0 for branch in line["branches"] if not branch["throw"]]
            if taken:
                branches[name][number].append(taken)
    result: dict[str, Lines] = {}
    for name, lines in counts.items():
        result[name] = {number: (count, union(branches[name][number])) for number, count in sorted(lines.items())}
    return result


def union(copies: list[list[bool]]) -> list[bool]:
    length = min(map(len, copies), default=0)
    taken = [False] * length
    for copy in copies:
        for place, is_taken in enumerate(copy):
            taken[place % length] |= is_taken
    return taken


def measured(options: argparse.Namespace) -> dict[str, Lines]:
    return merged(records(options.folder.resolve(), options.jobs))


def share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else ""


FUNCTION = re.compile(r"^(?!typedef|struct|enum|union|#)\w[^;]*?(\w+)\(", re.M)


def functions(source: list[str]) -> dict[int, str]:
    """The name of the function around each line. A definition begins, as its last brace stands, in the first column."""
    names, name = {}, ""
    for number, line in enumerate(source, 1):
        begins = FUNCTION.match(line)
        name = begins[1] if begins else name
        names[number] = name
        name = "" if line.startswith("}") else name
    return names


class Reasons(cover.Reasons):
    """Why a line of a file has no test."""

    def __init__(self, path: str, explained: Iterable[cover.Explained]) -> None:
        self.explained = [each for each in explained if each.path == path]
        self.lines = (ROOT / path).read_text().splitlines()
        self.around = functions(self.lines)


def without_reasons(files: dict[str, Lines]) -> dict[str, Lines]:
    """The files without the lines that no test can run, and without the branches that none takes there."""
    explained, left = cover.reasons(), {}
    for name, lines in files.items():
        why = Reasons(name, explained)
        left[name] = {
            number: (count, [True] * sum(taken) if why.of(number) else taken)
            for number, (count, taken) in lines.items()
            if count or not why.of(number)
        }
    return left


def numbers(files: Iterable[Lines]) -> list[int]:
    """Lines, those that ran, branches, those that were taken."""
    rows = [(1, count > 0, len(taken), sum(taken)) for lines in files for count, taken in lines.values()]
    return [sum(column) for column in zip((0, 0, 0, 0), *rows)]


def report(options: argparse.Namespace) -> int:
    files = measured(options)
    left, rooms = without_reasons(files), sorted({name.split("/")[1] for name in files})
    print("| room | lines | covered | branches | taken |\n|---|--:|--:|--:|--:|")
    for room in rooms:
        print(row(room, [lines for name, lines in left.items() if name.split("/")[1] == room]))
    print(row("all", left.values()))
    print(row("and what has a reason", files.values()))
    return 0


def row(name: str, files: Iterable[Lines]) -> str:
    lines, ran, branches, taken = numbers(files)
    return f"| {name} | {lines} | {share(ran, lines)} | {branches} | {share(taken, branches)} |"


def missing(options: argparse.Namespace) -> int:
    for name, lines in sorted(without_reasons(measured(options)).items()):
        source = (ROOT / name).read_text().splitlines()
        for number, (count, taken) in lines.items():
            if not count or not all(taken):
                what = "line" if not count else f"{len(taken) - sum(taken)} of {len(taken)} branches"
                print(f"{name}:{number}: {what}: {source[number - 1].strip()}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for action in (run, report, missing):
        command = commands.add_parser(action.__name__)
        command.add_argument("folder", type=pathlib.Path)
        command.add_argument("--jobs", type=int, default=1)
        command.set_defaults(action=action)
        if action is run:
            command.add_argument("tests", nargs="*")
            command.add_argument("--quick", action="store_true", help="without the tests that are marked slow")
    options = parser.parse_args()
    status: int = options.action(options)
    return status


if __name__ == "__main__":
    sys.exit(main())
