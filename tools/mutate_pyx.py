"""Which test finds a mutant of streamtok/native/*.pyx: for mutate.py. As mutate_py.py, behind a build of that module.

The objects of the others are those of the build that is there (python setup.py build_ext --inplace). Lines of Cython
are not measured: the tests of a module are those that reach a line of Python that names what the module has.
"""

from __future__ import annotations

import ast
import pathlib
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator

import mutants_py
from mutate import ROOT, Mutant, Verdict
from mutate_py import Place, Python, Selection, Server

NATIVE = ROOT / "streamtok" / "native"
SLOW = 300
"""Seconds that a build may take."""


class CannotBuild(Exception):
    """The compiler's words."""


def imported(path: str) -> Iterator[tuple[str, str]]:
    """(module of streamtok.native, name) for what a file imports from there."""
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            parts = (node.module or "").split(".")
            for alias in node.names:
                if parts[-2:-1] == ["native"]:
                    yield parts[-1], alias.asname or alias.name
                elif parts[-1] == "native":
                    yield alias.name, alias.asname or alias.name


class NativeSelection(Selection):
    """The tests of a mutant of Cython."""

    def reaching(self, mutant: Mutant) -> set[int]:
        module = pathlib.Path(mutant.file).stem
        places: list[Place] = []
        for path, source in self.sources.items():
            for name in {name for of, name in imported(path) if of == module}:
                places += [(path, line) for line in source.names.get(name, ()) if line in source.owner]
        return set().union(*map(self._at, places))


class NativeServer(Server):
    """Its tree gets the library with one module built anew."""

    @property
    def library(self) -> pathlib.Path:
        return self.tree / "streamtok" / "native" / f"library{sysconfig.get_config_var('EXT_SUFFIX')}"

    def build(self, name: str, text: str) -> None:
        """Builds streamtok/native/NAME.pyx of this text. Raises CannotBuild."""
        import numpy

        source = self.tree / "streamtok" / "native" / f"{name}.pyx"
        made, old = self.log.with_name(f"{name}.c"), source.read_text(encoding="utf-8")
        cython = [sys.executable, "-m", "cython", "-3", "-X", "binding=False", "-X", "freethreading_compatible=True"]
        includes = [f"-I{ROOT / 'csrc'}", f"-I{numpy.get_include()}", f"-I{sysconfig.get_path('include')}"]
        macro = "-DNPY_NO_DEPRECATED_API=NPY_1_7_API_VERSION"
        flags = ["-std=c11", "-O1", "-fPIC", "-fvisibility=hidden", "-DNDEBUG", "-w", "-g0", macro, *includes]
        try:
            source.write_text(text, encoding="utf-8")
            self._do([*cython, str(source.relative_to(self.tree)), "-o", str(made)])
        finally:
            source.write_text(old, encoding="utf-8")
        self._do(["cc", *flags, "-c", str(made), "-o", str(made.with_suffix(".o"))])
        others = [each for each in objects_built() if each.parts[-2:] != ("native", f"{name}.o")]
        objects = map(str, [made.with_suffix(".o"), *others])
        self._do(["cc", "-shared", "-pthread", *objects, "-o", f"{self.library}.new"])
        pathlib.Path(f"{self.library}.new").replace(self.library)

    def _do(self, command: list[str]) -> None:
        done = subprocess.run(command, cwd=self.tree, capture_output=True, text=True, timeout=SLOW)
        if done.returncode:
            raise CannotBuild(f"{pathlib.Path(command[0]).name}: {done.stderr[-300:]}")


def objects_built() -> list[pathlib.Path]:
    return [path for path in sorted((ROOT / "build").glob("temp.*/**/*.o")) if "-quick" not in str(path)]


class Cython(Python):
    """What mutate.py asks for."""

    selecting = NativeSelection
    serving = NativeServer

    def files(self) -> list[str]:
        return [path.relative_to(ROOT).as_posix() for path in sorted(NATIVE.glob("*.pyx"))]

    def found(self, path: str, text: str) -> list[Mutant]:
        return mutants_py.cython_mutants(path, text)

    def put(self, server: NativeServer, mutant: Mutant, text: str) -> None:
        if text != (ROOT / mutant.file).read_text(encoding="utf-8"):
            server.build(pathlib.Path(mutant.file).stem, text)
            return
        server.library.unlink(missing_ok=True)  # a new file: the old one may be mapped by a process that is ending
        shutil.copy2(NATIVE / server.library.name, server.library)

    def judge(self, mutant: Mutant, worker: int) -> Verdict:
        try:
            return super().judge(mutant, worker)
        except (CannotBuild, subprocess.TimeoutExpired) as error:
            return Verdict("no build", str(error))
