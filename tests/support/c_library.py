"""The C library of this tree, built for tests: the objects that the package's build left, where they are no older than
their sources, with those of csrc/api and csrc/compiled, which the package has not."""

from __future__ import annotations

import ctypes
import functools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import oracle
import pytest

ROOT = oracle.PROJECT
OWN = ("api", "compiled")
WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Werror"]
SANITIZED = ["-O0", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]


def compiler() -> list[str]:
    if sys.platform == "win32":
        pytest.skip("the C library is tested where there is a compiler of the kind of GCC")
    found = next((name for name in (os.environ.get("CC"), "cc", "gcc", "clang") if name and shutil.which(name)), None)
    if found is None:
        pytest.skip("needs a C compiler")
    return ["ccache", found] if shutil.which("ccache") else [found]


def run(command: list[object]) -> None:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def compile_all(sources: list[pathlib.Path], folder: pathlib.Path, *flags: str) -> list[pathlib.Path]:
    """The objects of sources."""
    made = [folder / f"{source.stem}.o" for source in sources]

    def one(pair: tuple[pathlib.Path, pathlib.Path]) -> None:
        includes = [f"-I{ROOT / 'csrc'}", "-fPIC", "-fvisibility=hidden", "-DSTK_BUILD"]
        run([*compiler(), *flags, *includes, "-c", pair[0], "-o", pair[1]])

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, zip(sources, made)))
    return made


def own_sources() -> list[pathlib.Path]:
    return sorted(path for room in OWN for path in (ROOT / "csrc" / room).glob("*.c"))


def core_sources() -> list[pathlib.Path]:
    return sorted(set((ROOT / "csrc").rglob("*.c")) - set(own_sources()))


@functools.cache
def core(folder: pathlib.Path) -> list[pathlib.Path]:
    """The objects of the rest of csrc/: those of the package's build that are as new as their sources, and others."""
    headers = [path for path in (ROOT / "csrc").rglob("*/*.h") if path.parent.name not in OWN]
    newest = max(path.stat().st_mtime for path in headers)
    found: dict[pathlib.Path, pathlib.Path] = {}
    for build in (ROOT / "build").glob("temp.*"):
        for source in core_sources():
            made = build / source.relative_to(ROOT).with_suffix(".o")
            if made.exists() and made.stat().st_mtime >= max(newest, source.stat().st_mtime):
                found[source] = made
    rest = [source for source in core_sources() if source not in found]
    return [*found.values(), *compile_all(rest, folder, "-std=c11", "-O1", "-w")]


@functools.cache
def folder() -> pathlib.Path:
    return pathlib.Path(tempfile.mkdtemp(prefix="c-library-", dir=os.environ["STREAMTOK_TESTS_RUN"]))


@functools.cache
def shared() -> pathlib.Path:
    """The shared library."""
    own = folder() / "plain"
    own.mkdir()
    made = compile_all(own_sources(), own, "-O1", *WARNINGS)
    path = own / "libstreamtok.so.1"
    names = [f"-Wl,--version-script={ROOT / 'csrc' / 'api' / 'streamtok.map'}", "-Wl,-soname,libstreamtok.so.1"]
    rest = core(folder())
    run(
        [
            *compiler()[-1:],
            "-shared",
            *(names if sys.platform == "linux" else []),
            *made,
            *rest,
            "-pthread",
            "-lm",
            "-o",
            path,
        ]
    )
    (own / "libstreamtok.so").symlink_to(path.name)
    return path


@functools.cache
def sanitized_core() -> list[pathlib.Path]:
    own = folder() / "sanitized"
    own.mkdir()
    return compile_all(core_sources(), own, *SANITIZED, "-DST_COMPILER_INLINES", "-w")


def program(source: pathlib.Path) -> pathlib.Path:
    """A program of tests/c_api with the library in it. Under the sanitizers of addresses and of undefined behaviour is
    what is the library's own; with the profile long all of the core."""
    own = folder() / source.stem
    own.mkdir(exist_ok=True)
    made = compile_all([*own_sources(), source], own, *SANITIZED, *WARNINGS)
    path = own / "program"
    rest = sanitized_core() if oracle.LONG else core(folder())
    run([*compiler()[-1:], *SANITIZED, *made, *rest, "-pthread", "-lm", "-o", path])
    return path


@functools.cache
def library() -> ctypes.CDLL:
    return ctypes.CDLL(str(shared()))
