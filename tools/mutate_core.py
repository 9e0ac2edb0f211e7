"""Which test finds a mutant of the C core: for mutate.py.

One build has all mutants of a run (mutate_build.py). A run without any notes which mutants each harness and each test
reaches, and what it takes. Then the harnesses of tests/fuzz, with sanitizers, are asked about a mutant, then the tests
of Python.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import fuzz_build
import mutate_build
import mutate_c
from mutate import Mutant, Verdict, in_order
from mutate_pytest import Reached, Server

from streamtok.native import library

# "": what this machine takes by itself
TIERS = ("", *(name for name in ("portable", "avx2") if name != library.tier()))
MOST = 65536  # bytes of the file of notes, as in mutate_c.SWITCH
HARNESS_SECONDS = 1.0  # of a processor, for each harness
HARNESS_LIMIT = 20  # seconds of a processor: a harness that takes more hangs
HARNESS_HANGS = 200.0  # of the clock

# Other tests do not run this core, or take the sources of the project instead of it.
FOLDERS = ("text", "split", "merge", "vocab", "encode", "stream", "normal", "rows", "models", "train", "serving")
MORE_FOLDERS = (
    *("files", "dataset", "cli", "integrations", "house/test_mutations.py", "house/test_library.py"),
    "gpu_emulated",  # tables that csrc/ makes for a device
)
TIER_FOLDERS = (
    "split",
    "merge",
    "encode",
    "stream",
    "normal",
    "rows",
)  # with the tiers that this machine would not take

# The tests whose subject is a room of csrc/, where their folder is not called like it.
ROOM_TESTS = {
    "base": "encode",
    "checksum": "files",
    "cut": "merge",
    "decoders": "serving",
    "endless": "stream",
    "image": "vocab",
    "listing": "models",
    "longest": "encode",
    "lookup": "encode",
    "pairs": "merge",
    "special": "encode",
    "text": "encode",
    "threads": "encode",
}
OF_A_TIER = re.compile(r"avx|portable|template|vector|/block|/tier")


def runs_here(name: str) -> bool:
    """Whether the machine has the instructions that a file is for."""
    return "avx512" not in name or library.tier() == "avx512"


class C:
    """The language "c" of mutate.py."""

    def mutants(self, folder: pathlib.Path, jobs: int) -> list[Mutant]:
        names = [name for name in mutate_c.sources() if runs_here(name)]
        found = [mutant for name in names for mutant in mutate_c.mutants_of(name)]
        return mutate_build.compiled_here(found, folder / "all", jobs)

    def prepare(self, folder: pathlib.Path, chosen: Sequence[Mutant], options: argparse.Namespace) -> None:
        self.folder, self.options, self.chosen = folder.resolve(), options, chosen
        self.numbers = {mutant.id: number for number, mutant in enumerate(chosen, 1)}
        self.library = mutate_build.Library(self.folder / "core", chosen, options.jobs)
        self.tree = self.folder / "tree"
        mutate_build.copy_tree(self.tree)
        self.library.link(self.tree)
        self.programs = mutate_build.harnesses(self.library, self.folder / "harnesses")
        self.servers: dict[tuple[int, str], Server] = {}
        self.lock = threading.Lock()
        self.reach = Reach(self)

    def server(self, worker: int, tier: str = "") -> Server:
        with self.lock:
            server = self.servers.get((worker, tier))
        if server is None:
            folders: tuple[str, ...] = TIER_FOLDERS if tier else (*FOLDERS, *MORE_FOLDERS)
            if self.options.tests:
                folders = tuple(name for name in folders if name in self.options.tests)
            paths = [f"tests/{name}" for name in folders if (self.tree / "tests" / name).exists()]
            paths += ["-m", "not slow"] if self.options.quick else []
            scratch = self.folder / f"worker{worker}{tier}"
            server = Server(self.tree, paths, scratch, {"STREAMTOK_TIER": tier} if tier else {})
            with self.lock:
                self.servers[worker, tier] = server
        return server

    def close(self) -> None:
        for server in self.servers.values():
            server.close()

    # ---- a verdict ----

    def judge(self, mutant: Mutant, worker: int) -> Verdict:
        number = self.numbers[mutant.id]
        if number in self.library.bad:
            return Verdict("no build", self.library.bad[number])
        asked = 0
        for name, tier in self.harnesses_for(mutant):
            asked += 1
            outcome, _ = self.run_harness(name, tier, number, self.reach.harnesses[tier][name].iterations)
            if outcome:
                return Verdict(outcome, f"fuzz_{name} {tier}".strip())
        total = 0
        for tier in self.tiers_for(mutant, self.reach.tests):
            tests = self.tests_for(mutant, tier)
            total += len(tests)
            found = self.run_tests(worker, tier, number, tests) if tests else None
            if found:
                return found
        return Verdict("survived" if asked or total else "unreached", f"{asked} harnesses, {total} tests")

    def tiers_for(self, mutant: Mutant, reached: dict[str, dict[str, Any]]) -> list[str]:
        number = self.numbers[mutant.id]
        tiers = [t for t in TIERS if any(number in note.numbers for note in reached.get(t, {}).values())]
        return tiers if OF_A_TIER.search(mutant.file) else tiers[:1]

    def harnesses_for(self, mutant: Mutant) -> Iterator[tuple[str, str]]:
        number = self.numbers[mutant.id]
        for tier in self.tiers_for(mutant, self.reach.harnesses):
            notes = self.reach.harnesses[tier]
            for name in sorted(notes, key=lambda name: len(notes[name].numbers)):  # those for few things first
                if number in notes[name].numbers:
                    yield name, tier

    def run_harness(self, name: str, tier: str, number: int, iterations: int, reached: str = "") -> tuple[str, float]:
        """The outcome, "" if it finds nothing, and the seconds of a processor that it took."""
        environment = dict(os.environ, STREAMTOK_MUTANT=str(number), STREAMTOK_MUTANT_REACHED=reached)
        environment["STREAMTOK_FUZZ_VOCAB"] = ":".join(map(str, fuzz_build.VOCABULARIES))
        environment["ASAN_OPTIONS"] = (
            "detect_leaks=0:hard_rss_limit_mb=4000:allocator_may_return_null=1:log_path=/dev/null"
        )
        environment["UBSAN_OPTIONS"] = "log_path=/dev/null"
        if tier:
            environment["STREAMTOK_TIER"] = tier
        limit = f"ulimit -t {HARNESS_LIMIT}; exec {self.programs[name]} --iterations {iterations} --seed 1"
        process = subprocess.Popen(
            ["/bin/sh", "-c", limit],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        timer = threading.Timer(HARNESS_HANGS, os.killpg, (process.pid, signal.SIGKILL))
        timer.start()
        _, status, used = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        outcome = (
            "timeout"
            if process.returncode in (-signal.SIGKILL, -signal.SIGXCPU)
            else "killed"
            if process.returncode
            else ""
        )
        return outcome, used.ru_utime

    def tests_for(self, mutant: Mutant, tier: str) -> list[str]:
        """Those that reach it, in order; as many as the budget has time for."""
        number, room = self.numbers[mutant.id], mutant.room.split("/")[-1]
        notes = self.reach.tests.get(tier, {})
        reaching = {name: note.seconds for name, note in notes.items() if number in note.numbers and not note.fails}
        chosen: list[str] = []
        left = self.options.budget or float("inf")
        for name in in_order(reaching, ROOM_TESTS.get(room, room)):
            left -= reaching[name]
            if left >= 0 or not chosen:
                chosen.append(name)
        return chosen

    def run_tests(self, worker: int, tier: str, number: int, tests: list[str]) -> Verdict | None:
        """A test that fails is run again without the mutant: one that fails then as well says nothing."""
        server = self.server(worker, tier)
        seconds = {name: note.seconds for name, note in self.reach.tests[tier].items()}
        while tests:
            said = server.run(number, tests, seconds)
            name = said.get("hung") or said.get("died") or next(iter(said.get("failing", [])), "")
            if not name:
                return None
            again = server.run(0, [name], seconds)
            if not (again.get("hung") or again.get("died") or again.get("failing")):
                return Verdict("timeout" if "hung" in said else "killed", f"{name} {tier}".strip())
            tests = tests[tests.index(name) + 1 :]
        return None


class Note:
    """What a harness or a test reaches and takes; whether it fails without any mutant."""

    def __init__(self, seconds: float, numbers: Sequence[int], fails: bool, iterations: int = 0):
        self.numbers, self.seconds, self.fails, self.iterations = frozenset(numbers), seconds, fails, iterations


class Reach:
    """Notes of all harnesses and tests, kept in a file of lines: a run that was stopped does not take them again."""

    def __init__(self, core: C):
        self.core = core
        self.harnesses: dict[str, dict[str, Note]] = {}  # tier -> harness -> note
        self.tests: dict[str, dict[str, Note]] = {}
        key = hashlib.sha256("".join(core.numbers).encode()).hexdigest()[:12]
        self.path = core.folder / f"reach-{key}.jsonl"
        self.known = self.read()
        for tier in TIERS:
            self.of_harnesses(tier)
            if not core.options.harnesses and (not tier or not core.options.tests):
                self.of_tests(tier)

    def read(self) -> dict[str, dict[str, Any]]:
        known = {}
        for line in self.path.read_text().splitlines() if self.path.exists() else ():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            known[record["of"]] = record["notes"]
        return known

    def keep(self, of: str, notes: dict[str, Any]) -> None:
        self.known[of] = notes
        with self.path.open("a") as file:
            file.write(json.dumps({"of": of, "notes": notes}) + "\n")

    def notes_file(self, worker: int) -> str:
        path = self.core.folder / f"reached{worker}"
        path.write_bytes(bytes(MOST))
        return str(path)

    def of_harnesses(self, tier: str) -> None:
        names = list(self.core.programs)

        def note(name: str) -> None:
            of = f"{name} {tier} {self.core.programs[name].stat().st_mtime_ns}"
            if of not in self.known:
                _, seconds = self.core.run_harness(name, tier, 0, 50)
                iterations = int(50 * HARNESS_SECONDS / max(seconds, 0.005))
                path = self.notes_file(1000 + names.index(name))
                outcome, seconds = self.core.run_harness(name, tier, -1, iterations, path)
                if outcome:
                    raise RuntimeError(f"fuzz_{name} finds something in the code as it is")
                self.keep(of, {name: [seconds, Reached(path).take(), False, iterations]})
                os.unlink(path)
            self.harnesses.setdefault(tier, {}).update(self.made(of))

        mutate_build.each(note, names, self.core.options.jobs)

    def made(self, of: str) -> dict[str, Note]:
        return {name: Note(*note) for name, note in self.known[of].items()}

    def of_tests(self, tier: str) -> None:
        """Each file of tests in a process of its own, so that what a file loads is noted for it."""
        files: dict[str, list[str]] = {}
        for test in self.core.server(0, tier).tests:
            files.setdefault(test.split("::")[0], []).append(test)
        free = list(range(self.core.options.jobs))

        def note(file: str) -> None:
            text = (self.core.tree / file).read_bytes()
            of = f"{file} {tier} {hashlib.sha256(text).hexdigest()[:12]}"
            if of not in self.known:
                with self.core.lock:
                    worker = free.pop()
                start = time.monotonic()
                self.keep(of, self.of_file(worker, tier, files[file]))
                print(f"noted {file} {tier} in {time.monotonic() - start:.1f} s", flush=True)
                free.append(worker)
            self.tests.setdefault(tier, {}).update(self.made(of))

        mutate_build.each(note, sorted(files), self.core.options.jobs)

    def of_file(self, worker: int, tier: str, tests: list[str]) -> dict[str, Any]:
        notes: dict[str, Any] = {}
        while tests:
            said = self.core.server(worker, tier).run(-1, tests, {}, None, self.notes_file(worker))
            for name, (seconds, numbers) in said.get("notes", {}).items():
                notes[name] = [seconds, numbers, name in said["failing"]]
            ended = said.get("hung") or said.get("died")
            if not ended:
                break
            print(f"{ended} ends or hangs without a mutant", flush=True)
            tests = [name for name in tests if name != ended]
        return notes
