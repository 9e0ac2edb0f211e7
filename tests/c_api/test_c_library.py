"""The C library: each public symbol under sanitizers, what it exports, its build, its examples, its crate."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import c_library
import compiled_kinds
import pytest

ROOT = c_library.ROOT
HEADER = (ROOT / "csrc" / "streamtok.h").read_text("utf-8")
DECLARED = set(re.findall(r"^STK_API [^;(]*?\b(stk_\w+)\(", HEADER, re.M))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    pytest.importorskip("tokenizers", reason="Hugging Face's tokenizers is not installed")
    folder = tmp_path_factory.mktemp("model")
    compiled_kinds.llama3(folder).compile(folder / "m.stm", words=False)
    return folder / "m.stm"


def sanitized(name: str, *arguments: object) -> None:
    try:
        program = c_library.program(ROOT / "tests" / "c_api" / name)
    except AssertionError as error:
        if "asan" in str(error) or "ubsan" in str(error):
            pytest.skip("this compiler lacks the libraries of the sanitizers")
        raise
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout.endswith("done\n"), done.stdout + done.stderr


def test_every_symbol_under_sanitizers(model):
    sanitized("every_symbol.c", model)


@pytest.mark.slow
def test_hostile_models_are_refused_or_harmless(tmp_path):
    pytest.importorskip("tokenizers", reason="Hugging Face's tokenizers is not installed")
    for name in ("names_with_rules", "characters", "wordpiece"):
        compiled_kinds.KINDS[name](tmp_path).compile(tmp_path / f"{name}.stm", words=False)
    sanitized("hostile.c", 40, *sorted(tmp_path.glob("*.stm")))


def test_every_symbol_has_a_test():
    text = (ROOT / "tests" / "c_api" / "every_symbol.c").read_text("utf-8")
    assert len(DECLARED) > 40 and set(re.findall(r"\b(stk_\w+)\(", text)) >= DECLARED


@pytest.mark.skipif(sys.platform != "linux", reason="names of versions are those of ELF")
def test_the_library_exports_the_header_and_nothing_else():
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("needs nm")
    listed = subprocess.run(
        [nm, "-D", "--defined-only", c_library.shared()], capture_output=True, text=True, check=True
    )
    names = [line.split()[-1] for line in listed.stdout.splitlines()]
    assert {name for name in names if not name.startswith("STREAMTOK_")} == {
        f"{name}@@STREAMTOK_1" for name in DECLARED
    }


def test_the_header_says_of_each_function_what_threads_may_do():
    """Shared or One; what makes or frees an object goes by the head."""
    paragraphs = re.split(r"\n(?=/\*)", HEADER)
    for name in DECLARED:
        if name.endswith(("_free", "_new", "_copy", "_reset")):
            continue
        assert any(
            re.search(r"\b(Shared|One|shared)\b", paragraph) for paragraph in paragraphs if f"{name}(" in paragraph
        ), name


def test_versions_agree():
    assert "SOVERSION 1" in (ROOT / "CMakeLists.txt").read_text("utf-8") and "STK_ABI_VERSION 1" in HEADER
    from streamtok.model_files import compiled
    from streamtok.patterns.compiled import TABLE_VERSION

    said = (ROOT / "csrc" / "compiled" / "compiled.h").read_text("utf-8")
    assert f"ST_COMPILED_VERSION {compiled.VERSION}\n" in said and f"ST_COMPILED_TABLE_VERSION {TABLE_VERSION} " in said


def test_the_example(model, tmp_path):
    source = ROOT / "examples" / "c" / "encode.c"
    program = tmp_path / "encode"
    library = c_library.shared().parent
    c_library.run(
        [
            *c_library.compiler(),
            *c_library.WARNINGS,
            f"-I{ROOT / 'csrc'}",
            source,
            "-o",
            program,
            f"-L{library}",
            "-lstreamtok",
        ]
    )
    environment = {**os.environ, "LD_LIBRARY_PATH": str(library)}
    done = subprocess.run([program, model], input="hello world <s>", capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    from streamtok import Encoding

    ids = Encoding.from_file(model).encode("hello world <s>", allowed_special="all")
    assert done.stdout.splitlines()[0].split() == [str(token) for token in ids]


def test_the_crate(model, tmp_path):
    cargo = shutil.which("cargo") or shutil.which("cargo", path=os.path.expanduser("~/.cargo/bin"))
    if cargo is None:
        pytest.skip("needs cargo")
    library = str(c_library.shared().parent)
    environment = {
        **os.environ,
        "STREAMTOK_LIB_DIR": library,
        "LD_LIBRARY_PATH": library,
        "STREAMTOK_TEST_MODEL": str(model),
    }
    command = [cargo, "test", "--offline", "--quiet", "--target-dir", str(ROOT / "build" / "cargo")]
    done = subprocess.run(command, cwd=ROOT / "bindings" / "rust", env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
