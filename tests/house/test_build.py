"""The build fails if it cannot make every file of the package, unless it is for another kind of machine."""

from __future__ import annotations

import os
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
    made = script["BuildLibrary"](setuptools.Distribution())
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


def test_a_wheel_has_a_vocabulary_once(script, tmp_path):
    folder = tmp_path / "streamtok" / "vocab"
    folder.mkdir(parents=True)
    for name in ("a.stv", "a.tables", "b.stv", "words.stw"):
        (folder / name).touch()
    command(script, "linux-another").remove_packed(tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == ["a.tables", "b.stv", "words.stw"]


SOURCES = ["csrc/base/tier.c", "csrc/tiers/avx2.c", "csrc/tiers/avx512.c", "csrc/checksum/crc32_pclmul.c"]


class Compiler:
    """A compiler with the methods that setup.py calls, which makes empty objects."""

    def __init__(self, kind: str) -> None:
        self.compiler_type = kind
        self.flags: dict[str, list[str]] = {}

    def object_filenames(self, sources: list[str], output_dir: str) -> list[str]:
        return [str(pathlib.Path(output_dir, source).with_suffix(".obj")) for source in sources]

    def compile(self, sources: list[str], output_dir: str, extra_postargs: list[str], **options: Any) -> None:
        self.flags |= dict.fromkeys(sources, extra_postargs)
        for made in map(pathlib.Path, self.object_filenames(sources, output_dir)):
            made.parent.mkdir(parents=True, exist_ok=True)
            made.touch()


def library(script: dict[str, Any], kind: str, tag: str, folder: pathlib.Path) -> Any:
    """The command, with the compiler above."""
    made = command(script, tag)
    made.compiler, made.build_temp, made.force = Compiler(kind), str(folder), False
    return made


@pytest.mark.parametrize(("tag", "wide"), [("win-amd64", True), ("win-arm64", False)])
def test_microsofts_compiler_is_told_of_instructions_by_the_file(script, tmp_path, tag, wide):
    build = library(script, "msvc", tag, tmp_path)
    objects = build.objects(setuptools.Extension("core", SOURCES, depends=["csrc/base/tier.h"]))
    assert objects == [str((tmp_path / source).with_suffix(".obj")) for source in SOURCES]
    arch = {source: [flag for flag in given if "arch" in flag] for source, given in build.compiler.flags.items()}
    expected = [[], ["/arch:AVX2"], ["/arch:AVX512"], ["/arch:AVX2"]] if wide else [[]] * 4
    assert [arch[source] for source in SOURCES] == expected
    assert all("/std:c11" in given for given in build.compiler.flags.values())


def test_every_file_for_wide_instructions_is_known_by_its_name(script):
    """Each file that includes base/target_end.h, and no other."""
    sources = [str(path) for path in sorted((oracle.PROJECT / "csrc").rglob("*.c"))]
    plain = script["flags"](sources[0], "msvc", "win-arm64")
    told = {name for name in sources if script["flags"](name, "msvc", "win-amd64") != plain}
    assert told == {name for name in sources if '#include "base/target_end.h"' in pathlib.Path(name).read_text()}


def test_what_has_not_changed_is_not_compiled_again(script, tmp_path, monkeypatch):
    header, sources = tmp_path / "a.h", [tmp_path / "a.c", tmp_path / "b.c"]
    for path in (header, *sources):
        path.touch()
    extension = setuptools.Extension("core", [path.name for path in sources], depends=[str(header)])

    def compiled() -> set[str]:
        build = library(script, "unix", "linux-x86_64", tmp_path / "objects")
        assert len(build.objects(extension)) == len(sources)
        return set(build.compiler.flags)

    def later(path: pathlib.Path) -> None:
        now = path.stat().st_mtime + 10
        os.utime(path, (now, now))

    monkeypatch.chdir(tmp_path)
    pathlib.Path("setup.py").touch()
    assert compiled() == {"a.c", "b.c"}
    assert compiled() == set()
    later(sources[0])
    assert compiled() == {"a.c"}


def test_an_editable_build_keeps_its_objects_for_the_next(script, tmp_path):
    """setuptools has it compile in a temporary folder."""
    places = {}
    for editable in (False, True):
        made = script["BuildLibrary"](setuptools.Distribution())
        made.editable_mode = editable
        if editable:
            made.distribution.get_command_obj("build").build_temp = str(tmp_path)
        made.ensure_finalized()
        places[editable] = made.build_temp
    assert places[True] == places[False]


def test_modules_of_an_earlier_build_are_removed(script, tmp_path):
    """Python would find them in place of those in the library, and a wheel would hold them."""
    suffix = script["sysconfig"].get_config_var("EXT_SUFFIX")
    folder = tmp_path / "streamtok" / "native"
    folder.mkdir(parents=True)
    for name in ("text", "library"):
        (folder / f"{name}{suffix}").touch()
    (folder / "text.pyi").touch()
    command(script, "linux-x86_64").remove_old(tmp_path)
    assert {path.name for path in folder.iterdir()} == {f"library{suffix}", "text.pyi"}
