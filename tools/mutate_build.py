"""Builds the core with the switches of mutate_c.py: the library of the package, in a copy of the tree, and the
harnesses of tests/fuzz with sanitizers."""

from __future__ import annotations

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import fuzz_build
import mutate_c
from mutate import ROOT, Mutant

T = TypeVar("T")
R = TypeVar("R")

SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
SEEN = re.compile(r"st_mutant == \((\d+)\)")
PLACE = re.compile(r"(csrc/\S+?):(\d+):")


def each(call: Callable[[T], R], items: Iterable[T], jobs: int) -> list[R]:
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(call, items))


def compiled_here(mutants: Sequence[Mutant], folder: pathlib.Path, jobs: int) -> list[Mutant]:
    """Those in code that the compiler sees on this machine."""
    mutate_c.write_switched(folder, mutants)
    names = sorted(path.relative_to(folder) for path in folder.glob("csrc/**/*.c"))

    def seen(name: pathlib.Path) -> set[int]:
        command = ["cc", "-std=c11", "-E", "-P", "-Icsrc", str(name)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        return {int(number) for number in SEEN.findall(done.stdout)}

    numbers = set().union(*each(seen, names, jobs))
    return [mutant for number, mutant in enumerate(mutants, 1) if number in numbers]


class Library:
    """streamtok/native/library with switches, built in `folder`. Mutants that do not compile are left out. how: further
    flags of the compiler."""

    def __init__(self, folder: pathlib.Path, mutants: Sequence[Mutant], jobs: int, how: Sequence[str] = ()):
        self.folder, self.mutants, self.jobs, self.how = folder, list(mutants), jobs, how
        self.bad: dict[int, str] = {}  # the number of a mutant -> what the compiler says
        folder.mkdir(parents=True, exist_ok=True)
        self.kept = folder / "bad.json"
        key = [mutant.id for mutant in mutants]
        if self.kept.exists() and (known := json.loads(self.kept.read_text()))["mutants"] == key:
            self.bad = {int(number): said for number, said in known["bad"].items()}
        for attempt in range(20):
            self.write()
            said = [text for text in each(self.compile, self.sources(), jobs) if text]
            if not said:
                break
            self.leave_out("\n".join(said), alone=attempt > 10)
        else:
            raise fuzz_build.CannotBuild("\n".join(said))
        self.kept.write_text(json.dumps({"mutants": key, "bad": self.bad}))

    def write(self) -> None:
        empty = Mutant("", 0, "", "", "", "", 0, 0, "")
        mutate_c.write_switched(
            self.folder, [empty if i in self.bad else mutant for i, mutant in enumerate(self.mutants, 1)]
        )

    def sources(self) -> list[pathlib.Path]:
        core = sorted(self.folder.glob("csrc/**/*.c"))
        return core + sorted(ROOT.glob("build/streamtok/**/*.c"))

    def object(self, source: pathlib.Path) -> pathlib.Path:
        base = self.folder if source.is_relative_to(self.folder) else ROOT / "build"
        return self.folder / "objects" / source.relative_to(base).with_suffix(".o")

    def is_current(self, made: pathlib.Path) -> bool:
        uses = made.with_suffix(".d")
        if not made.exists() or not uses.exists():
            return False
        names = uses.read_text().replace("\\\n", " ").split(":", 1)[1].split()
        files = [self.folder / name for name in names]
        return all(file.exists() and file.stat().st_mtime <= made.stat().st_mtime for file in files)

    def compile(self, source: pathlib.Path) -> str:
        """What the compiler says, if it fails."""
        import numpy

        made = self.object(source)
        if self.is_current(made):
            return ""
        made.parent.mkdir(parents=True, exist_ok=True)
        includes = ["-Icsrc", f"-I{numpy.get_include()}", f"-I{sysconfig.get_path('include')}"]
        flags = ["-std=c11", "-O1", "-g0", "-fPIC", "-fvisibility=hidden", "-w", "-DNDEBUG", "-MMD", *self.how]
        name = source.relative_to(self.folder) if source.is_relative_to(self.folder) else source
        command = ["cc", *flags, *includes, "-DNPY_NO_DEPRECATED_API=NPY_1_7_API_VERSION", "-c", str(name)]
        done = subprocess.run([*command, "-o", str(made)], cwd=self.folder, capture_output=True, text=True)
        return done.stderr or "failed" if done.returncode else ""

    def leave_out(self, said: str, alone: bool) -> None:
        """Leaves out the mutants on the lines that the compiler names; if that was done, those of the files."""
        places = {(file, int(line)) for file, line in PLACE.findall(said)}
        files = {file for file, _ in places}
        before = len(self.bad)
        for number, mutant in enumerate(self.mutants, 1):
            last = mutant.line + mutant.old.count("\n")
            named = any((mutant.file, line) in places for line in range(mutant.line, last + 1))
            if number not in self.bad and (named or (alone and mutant.file in files)):
                self.bad[number] = "the compiler refuses the switch"
        if len(self.bad) == before and alone:
            raise fuzz_build.CannotBuild(said)

    def link(self, tree: pathlib.Path) -> None:
        """Puts the library into a copy of the project."""
        objects = [str(self.object(source)) for source in self.sources()]
        to = tree / "streamtok" / "native" / f"library{SUFFIX}"
        subprocess.run(["cc", "-shared", "-pthread", *self.how, *objects, "-o", str(to) + ".new"], check=True)
        os.replace(str(to) + ".new", to)


def copy_tree(to: pathlib.Path) -> None:
    """What the project holds, with what its build made."""
    names = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True).splitlines()
    made = [path.relative_to(ROOT).as_posix() for path in ROOT.glob("streamtok/**/*") if path.is_file()]
    for name in {*names, *made}:
        if "__pycache__" not in name and (ROOT / name).exists() and not name.endswith(SUFFIX):
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)


def harnesses(
    library: Library, folder: pathlib.Path, build: fuzz_build.Build = fuzz_build.MEMORY
) -> dict[str, pathlib.Path]:
    """The harnesses over the same sources, with sanitizers. They are made again if a source changed."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [*library.folder.glob("csrc/**/*.[ch]"), *ROOT.glob("tests/fuzz/*.[ch]")]
    newest, stamp = max(file.stat().st_mtime for file in files), folder / "made"
    if not stamp.exists() or stamp.stat().st_mtime < newest:
        (library.folder / "tests").mkdir(exist_ok=True)
        fuzz = library.folder / "tests" / "fuzz"
        if not fuzz.exists():
            fuzz.symlink_to(ROOT / "tests" / "fuzz")
        fuzz_build.ROOT, kept = library.folder, fuzz_build.ROOT
        fuzz_build.FLAGS.append("-w")
        try:
            fuzz_build.compile_all("cc", build, list(fuzz_build.HARNESSES), folder)
        finally:
            fuzz_build.ROOT = kept
        stamp.touch()
    return {name: folder / f"fuzz_{name}" for name in fuzz_build.HARNESSES}
