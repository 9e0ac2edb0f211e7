"""Checks of what is no behaviour: style, types, stubs, generated tables, what a wheel holds."""

from __future__ import annotations

import importlib.machinery
import importlib.metadata
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile
import zlib

import numpy as np
import pytest

from streamtok.bundled import pins
from streamtok.bundled.mapped import WORDS

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = [".c", ".h", ".pxd", ".pxi", ".pyx"]


def run(*arguments: object, cwd: pathlib.Path = ROOT, succeeds: bool = True) -> str:
    """Runs `python ARGUMENTS`, and returns what it says, which is the failure's message."""
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert (done.returncode == 0) is succeeds, f"{' '.join(command)}\n{done.stdout}"
    return done.stdout


def needs(*modules: str) -> pytest.MarkDecorator:
    # PathFinder only: when the finder of setuptools is asked for pip, it removes the distutils that other tests use.
    missing = [name for name in modules if not importlib.machinery.PathFinder.find_spec(name)]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


# ==== style and types ====


@needs("ruff")
def test_ruff_check():
    run("-m", "ruff", "check", ".")


@needs("ruff")
def test_ruff_format():
    run("-m", "ruff", "format", "--check", ".")


@needs("mypy")
@pytest.mark.slow
def test_stubs_agree_with_the_built_modules():
    options = ["--mypy-config-file", ROOT / "pyproject.toml", "--allowlist", ROOT / "tests" / "stubtest_allowlist.txt"]
    run("-m", "mypy.stubtest", "--concise", *options, "--ignore-unused-allowlist", "streamtok")


# ==== generated files ====


def made_from_other(package: str, path: pathlib.Path) -> None:
    """Skips the test where another version of a package is installed than a generated file names in its head."""
    found = re.search(rf"{package} (\d+(?:\.\d+)+)", path.read_text(encoding="utf-8")[:2000])
    assert found, f"{path} does not say which {package} it was made from"
    here = importlib.metadata.version(package)
    if found[1] != here:
        pytest.skip(f"the tables were made from {package} {found[1]}, and {here} is installed")


@pytest.mark.parametrize(
    "tables", ["split/unicode_tables", "split/row_tables", "normal/normal_tables", "normal/cluster_tables"]
)
def test_numbers_of_tables_are_those_that_were_generated(tables):
    """The header has the checksum of the numbers, and what the compiler reads has the numbers."""
    path = ROOT / "csrc" / f"{tables}.npz"
    with np.load(path) as found:
        arrays = dict(found.items())
    (said,) = re.findall(r"Checksum (0x[0-9a-f]{8})", path.with_suffix(".h").read_text())
    assert f"{zlib.crc32(b''.join(array.tobytes() for array in arrays.values())):#010x}" == said
    made = path.with_name(path.name.replace("_tables.npz", "_data.h")).read_text()
    read = re.findall(r"ST_NUMBERS\((\w+)_t, (\w+), (\d+)\) = \{([^}]*)\};", made)
    assert [name for _, name, _, _ in read] == list(arrays)
    for dtype, name, count, numbers in read:
        items = [int(item.strip().removesuffix("u"), 0) for item in numbers.split(",")[:-1]]
        assert (dtype, int(count), items) == (arrays[name].dtype.name, arrays[name].size, arrays[name].tolist())


@needs("tiktoken")
@pytest.mark.long  # test_code_points.py compares each class with tiktoken's in every run
def test_unicode_tables_are_what_tiktoken_gives():
    made_from_other("tiktoken", ROOT / "csrc" / "split" / "unicode_tables.h")
    run("tools/gen_unicode.py", "--check")
    run("tools/gen_rows.py", "--check")


@needs("tokenizers")
@pytest.mark.long  # test_normal.py compares each character with tokenizers in every run
def test_tables_of_normal_forms_are_what_tokenizers_gives():
    made_from_other("tokenizers", ROOT / "csrc" / "normal" / "normal_tables.h")
    run("tools/gen_normal.py", "--check")


def test_the_picture_of_the_rooms_has_the_arrows_of_the_code():
    run("tools/draw_rooms.py", "--check")


def test_each_file_of_tests_has_a_name_of_its_own():
    """pytest imports the files of all folders by their names alone."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert not {name for name in names if names.count(name) > 1}


# ==== what is shipped ====


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A copy of the tree, where an earlier build has left nothing behind but what it compiled. What is older than its
    source is compiled again."""
    folder = tmp_path_factory.mktemp("wheel") / "tree"
    leave_out = shutil.ignore_patterns("build", "dist", ".*", "*.so", "*.pyd", "*.egg-info", "__pycache__", "results")
    shutil.copytree(ROOT, folder, ignore=leave_out)
    for path in (*(ROOT / "build").glob("streamtok"), *compiled()):  # Cython's C, and the objects
        shutil.copytree(path, folder / "build" / path.name)
    return folder


def compiled() -> list[pathlib.Path]:
    return [path for path in (ROOT / "build").glob("temp.*") if not path.name.endswith("-quick")]


def built(tree: pathlib.Path, what: str, to: str, **environment: str) -> pathlib.Path:
    """A wheel built in the tree."""
    with pytest.MonkeyPatch.context() as patch:
        if not compiled():
            patch.setenv("STREAMTOK_QUICK_BUILD", "1")  # the names are the same
        for name, value in environment.items():
            patch.setenv(name, value)
        run("-m", "pip", "wheel", what, "--no-deps", "--no-build-isolation", "-w", tree.parent / to, cwd=tree)
    (wheel,) = (tree.parent / to).glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel_names(tree: pathlib.Path) -> list[str]:
    """Names in a wheel."""
    wheel = built(tree, ".", "whole")
    assert wheel.stat().st_size <= 23_000_000, "tables of fewer frequent words, see streamtok/bundled/mapped.py"
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


@needs("pip", "setuptools", "Cython", "numpy")
@pytest.mark.slow
def test_code_and_data_in_wheels_of_their_own(tree: pathlib.Path, wheel_names: list[str]):
    """As a package index has them: small, and together they are what one wheel is."""
    run("setup.py", "build_ext", "--inplace", cwd=tree)
    code, data = built(tree, ".", "apart", STREAMTOK_DATA="apart"), built(tree, "./vocabularies", "data")
    assert code.stat().st_size <= 3_000_000 or not compiled()
    with zipfile.ZipFile(code) as archive, zipfile.ZipFile(data) as other:
        names, files = archive.namelist(), {name for name in other.namelist() if "dist-info" not in name}
        [metadata] = [name for name in names if name.endswith("METADATA")]
        assert f"Requires-Dist: streamtok-vocab=={pins.VERSION}\n" in archive.read(metadata).decode()
    assert {name for name in wheel_names if "/vocab/" in name} == set(wheel_names) - set(names)
    assert files == {
        f"streamtok_vocab/{name}" for name in ("__init__.py", "words.stw", *(f"{each}.tables" for each in WORDS))
    }
    there = tree.parent / "installed"
    run("-m", "pip", "install", "--no-deps", "--no-index", "--target", there, code, data)
    size = sum(path.stat().st_size for path in there.rglob("*") if path.is_file())
    assert size <= 40_000_000 or not compiled()
    names = "r50k_base", "o200k_base"
    program = f"import streamtok; print([streamtok.get_encoding(name).encode('hello') for name in {names}])"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(there))
        assert run("-c", program, cwd=tree.parent) == "[[31373], [24912]]\n"
        (there / "streamtok_vocab" / "r50k_base.tables").write_bytes(b"scompact of another version")
        assert "pip install streamtok-vocab==" in run("-c", program, cwd=tree.parent, succeeds=False)
        shutil.rmtree(there / "streamtok_vocab")
        assert "pip install streamtok-vocab==" in run("-c", program, cwd=tree.parent, succeeds=False)


def test_pins_are_those_of_the_tables():
    for name, pinned in pins.SUMS.items():
        path = ROOT / "streamtok" / "vocab" / f"{name}.tables"
        if not path.exists():
            pytest.skip("this installation has no prebuilt tables")
        assert path.read_bytes()[:16].hex() == pinned, "streamtok/bundled/pins.py: renew it, and the version in it"


@needs("pip", "setuptools", "Cython", "numpy")
@pytest.mark.slow
def test_wheel_holds_what_runs_and_no_sources(wheel_names: list[str]):
    modules = [name for name in wheel_names if pathlib.PurePath(name).suffix in (".so", ".pyd")]
    assert [name.split(".")[0] for name in modules] == ["streamtok/native/library"], "the core is there once"
    assert [name for name in wheel_names if pathlib.PurePath(name).suffix in SOURCES] == []
    assert {name.split("/")[0].split("-")[0] for name in wheel_names} == {"streamtok"}
    licences = {name.split(".dist-info/")[1] for name in wheel_names if ".dist-info/" in name}
    assert {"licenses/LICENSE", "licenses/NOTICE", "sboms/streamtok.cdx.json"} <= licences
    package = ROOT / "streamtok"
    shipped = [path for pattern in ("*.py", "*.pyi", "py.typed") for path in package.rglob(pattern)]
    expected = {path.relative_to(ROOT).as_posix() for path in shipped}
    assert expected - set(wheel_names) == set()
    kernels = {f"streamtok/{name}/kernels.cu" for name in ("gpu", "gpu/ids", "gpu/longest", "train/gpu")}
    assert {"streamtok/py.typed", *kernels} <= set(wheel_names)
    vocabularies = {name for name in wheel_names if name.startswith("streamtok/vocab/")}
    assert vocabularies == {"streamtok/vocab/words.stw", *(f"streamtok/vocab/{name}.tables" for name in WORDS)}
    assert any(name.endswith(".pyi") for name in wheel_names), "no stub"
