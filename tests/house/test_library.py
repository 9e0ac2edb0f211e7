"""All Cython modules and the one copy of the core are in one file, that of streamtok.native.library."""

from __future__ import annotations

import importlib
import importlib.util
import pathlib
import shutil
import subprocess
import sys
import sysconfig

import pytest

import streamtok
from streamtok import native
from streamtok.native import library, matcher, text, trainer

PACKAGE = pathlib.Path(streamtok.__file__).parent
LIBRARY = pathlib.Path(library.__file__)
MARK = b"the stored split of a token names no two tokens"  # a message of csrc/base/status.c


def test_the_package_holds_one_copy_of_the_core():
    compiled = list(PACKAGE.rglob(f"*{sysconfig.get_config_var('EXT_SUFFIX')}"))
    assert compiled == [LIBRARY]
    assert LIBRARY.read_bytes().count(MARK) == 1


@pytest.mark.skipif(not pathlib.Path("/proc/self/maps").exists(), reason="this system does not list what is loaded")
def test_a_process_loads_one_copy_of_the_core():
    names = "".join(f", streamtok.native.{name}" for name in native.MODULES)
    script = f"import streamtok{names}; print(open('/proc/self/maps').read())"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=PACKAGE.parent, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    files = {line.split(maxsplit=5)[-1] for line in done.stdout.splitlines() if "/" in line}
    assert {name for name in files if MARK in pathlib.Path(name).read_bytes()} == {str(LIBRARY)}


def test_every_stub_has_its_module():
    stubs = {path.stem for path in (PACKAGE / "native").glob("*.pyi")}
    assert stubs == {"library", *native.MODULES}
    assert len(native.MODULES) == len(set(native.MODULES))


@pytest.mark.parametrize("name", native.MODULES)
def test_modules_know_their_names_and_their_file(name):
    full = f"streamtok.native.{name}"
    module = importlib.import_module(full)
    assert module is getattr(native, name)
    assert (module.__name__, module.__package__, module.__file__) == (full, "streamtok.native", str(LIBRARY))
    found = importlib.util.find_spec(full)
    assert found is not None and (found.origin, found.has_location) == (str(LIBRARY), True)
    own = [value for value in vars(module).values() if isinstance(value, type) and value.__module__ == full]
    assert all(getattr(module, value.__qualname__) is value for value in own)


@pytest.mark.parametrize(
    "name", ["streamtok.native.csrc.vocab", "streamtok.native.other", "streamtok.native.text.x", "text"]
)
def test_no_other_module_is_found_in_the_file(name):
    assert native.ModuleFinder.find_spec(name) is None
    with pytest.raises(ModuleNotFoundError, match=f"No module named '{name}'"):
        importlib.import_module(name)


def test_all_modules_count_and_refuse_by_the_same_allocator():
    """If one module makes allocations fail, they fail in all others."""
    uses = [
        lambda: matcher.Matcher(["<|x|>"]),
        lambda: trainer.Counter("cl100k", None).count("a b"),
        lambda: text.to_utf8("\N{EURO SIGN}" * 99),
    ]
    for use in uses:
        before = library.allocation_counts()[0]
        use()
        assert library.allocation_counts()[0] > before
    for use in uses[:2]:  # without memory the third takes another path
        library.fail_allocations_after(0)
        try:
            with pytest.raises(MemoryError):
                use()
        finally:
            library.fail_allocations_after(-1)
        use()


def test_sources_that_are_not_built_say_what_to_do(tmp_path):
    """A fresh clone, in which Python takes the sources although a built streamtok is installed."""
    shutil.copytree(
        PACKAGE, tmp_path / "streamtok", ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__", "data")
    )
    done = subprocess.run(
        [sys.executable, "-c", "import streamtok"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    *_, said = done.stderr.strip().splitlines()
    assert said.startswith(
        f"ImportError: streamtok's sources in {tmp_path / 'streamtok'} are not built for this Python"
    )
    assert said.endswith("run Python in another folder, or build them with `pip install -e .` in theirs")
