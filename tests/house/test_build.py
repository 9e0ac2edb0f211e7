"""The build fails where it could not make all that belongs to the package, and does not for another kind of machine."""

from __future__ import annotations

import pathlib
import runpy
from typing import Any

import oracle
import pytest

setuptools = pytest.importorskip("setuptools")
build = pytest.importorskip("Cython.Build")
errors = pytest.importorskip("setuptools.errors")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What setup.py defines, without a build."""
    monkeypatch.delenv("STREAMTOK_CROSS_BUILD", raising=False)
    monkeypatch.chdir(oracle.PROJECT)
    monkeypatch.setattr(setuptools, "setup", lambda **options: None)
    monkeypatch.setattr(build, "cythonize", lambda *arguments, **options: [])
    return runpy.run_path("setup.py")


@pytest.mark.parametrize(
    ("machine", "tag", "crosses"),
    [
        ("x86_64", "linux-x86_64", False),
        ("x86_64", "linux-aarch64", True),
        ("x86_64", "macosx-10.9-universal2", False),
        ("x86_64", "macosx-11.0-arm64", True),
        ("arm64", "macosx-11.0-arm64", False),
        ("aarch64", "linux-aarch64", False),
        ("AMD64", "win-amd64", False),
        ("AMD64", "win32", False),
        ("AMD64", "win-arm64", True),
        ("ARM64", "win-arm64", False),
        ("s390x", "linux-s390x", False),
        ("x86_64", "linux-s390x", True),
    ],
)
def test_a_platform_tag_tells_a_cross_build(script, machine, tag, crosses):
    assert script["is_cross_build"](tag, machine) is crosses


def command(script: dict[str, Any], tag: str) -> Any:
    made = script["BuildModules"](setuptools.Distribution())
    made.plat_name = tag
    return made


@pytest.fixture
def broken(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder with modules that do not run."""
    (tmp_path / "streamtok").mkdir()
    (tmp_path / "streamtok" / "__init__.py").write_text("raise ImportError('wrong machine')")
    return tmp_path


def test_modules_that_do_not_run_fail_the_build(script, broken):
    tag = script["platform"].machine().lower()
    with pytest.raises(errors.ExecError, match=r"could not write the package's tables .* set STREAMTOK_CROSS_BUILD=1"):
        command(script, f"linux-{tag}").write_tables(broken)


def test_a_cross_build_does_without_tables(script, broken, monkeypatch):
    said: list[str] = []
    other = command(script, "linux-another")
    monkeypatch.setattr(other, "warn", said.append)
    other.write_tables(broken)
    monkeypatch.setenv("STREAMTOK_CROSS_BUILD", "1")
    own = command(script, f"linux-{script['platform'].machine().lower()}")
    monkeypatch.setattr(own, "warn", said.append)
    own.write_tables(broken)
    assert len(said) == 2 and all("no prebuilt tables" in each for each in said)


SOURCES = ["csrc/base/tier.c", "csrc/merge/words_avx2.c", "csrc/merge/words_avx512.c", "csrc/checksum/crc32_pclmul.c"]


class Compiler:
    """What setup.py asks of Microsoft's."""

    compiler_type = "msvc"

    def __init__(self) -> None:
        self.flags: dict[str, list[str]] = {}
        self.archive: list[str] = []

    def library_filename(self, name: str) -> str:
        return f"{name}.lib"

    def compile(self, sources: list[str], extra_postargs: list[str], **options: Any) -> list[str]:
        self.flags |= dict.fromkeys(sources, extra_postargs)
        return [f"{source}.obj" for source in sources]

    def create_static_lib(self, objects: list[str], name: str, **options: Any) -> None:
        self.archive = objects


@pytest.mark.parametrize(("tag", "wide"), [("win-amd64", True), ("win-arm64", False)])
def test_microsofts_compiler_is_told_of_instructions_by_the_file(script, tmp_path, tag, wide):
    core = script["BuildCore"](setuptools.Distribution())
    core.get_finalized_command("build").plat_name = tag
    core.compiler, core.build_clib, core.build_temp, core.debug = Compiler(), str(tmp_path), str(tmp_path), False
    core.build_libraries([("core", {"sources": SOURCES, "include_dirs": ["csrc"]})])
    assert sorted(core.compiler.archive) == sorted(f"{source}.obj" for source in SOURCES)
    arch = {source: [flag for flag in given if "arch" in flag] for source, given in core.compiler.flags.items()}
    expected = [[], ["/arch:AVX2"], ["/arch:AVX512"], ["/arch:AVX2"]] if wide else [[]] * 4
    assert [arch[source] for source in SOURCES] == expected
    assert all("/std:c11" in given for given in core.compiler.flags.values())


def test_every_file_for_wide_instructions_is_known_by_its_name(script):
    """Each one that base/target_end.h closes, and no other."""
    sources = [str(path) for path in sorted((oracle.PROJECT / "csrc").rglob("*.c"))]
    groups = script["by_instructions"](sources, "win-amd64")
    told = {name for own, names in groups.items() if own for name in names}
    assert told == {name for name in sources if '#include "base/target_end.h"' in pathlib.Path(name).read_text()}
