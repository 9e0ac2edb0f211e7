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
