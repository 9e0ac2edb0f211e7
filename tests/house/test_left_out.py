"""Tests that cannot run here are skipped once, with their number; made texts stand for corpora that are not here."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import made_texts
import oracle
import pytest

CONFTEST = """
import left_out
def pytest_collection_modifyitems(config, items):
    chosen = [item for item in items if item.name.startswith("test_far")]
    left_out.leave_out(config, items, chosen, left_out.function_of, "it is too far")
"""
TESTS = """
import pytest
@pytest.mark.parametrize("i", range(5))
def test_far(i):
    assert False
@pytest.mark.parametrize("i", range(3))
def test_near(i):
    pass
def test_far_away():
    assert False
"""


def test_what_is_left_out_is_said_once_for_a_function(tmp_path):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {oracle.PROJECT / 'tests' / 'support'}\n")
    command = [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", "-p", "no:xdist"]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60).stdout
    assert "3 passed, 2 skipped, 4 deselected" in shown, shown
    assert "it is too far (5 tests)\n" in shown and "it is too far\n" in shown


def share_of(text: str, names: tuple[str, ...]) -> float:
    """How many of the letters are of scripts whose names begin so."""
    scripts = [script for script in map(made_texts.script_of, text) if script]
    return sum(script in names for script in scripts) / len(scripts)


@pytest.mark.parametrize("name", made_texts.SCRIPTS)
def test_a_made_text_is_of_its_script(name):
    text = made_texts.of_script(name, 20_000)
    assert 20_000 <= len(text) < 21_000 and text == made_texts.of_script(name, 20_000)
    assert share_of(text, made_texts.SCRIPTS[name]) > 0.75
    assert len(set(text.split())) > 300


def test_made_texts_are_the_same_in_every_process():
    digest = hashlib.sha256(made_texts.of_script("hi", 5000).encode()).hexdigest()
    code = "import hashlib, made_texts; print(hashlib.sha256(made_texts.of_script('hi', 5000).encode()).hexdigest())"
    path = [str(oracle.PROJECT), str(oracle.PROJECT / "tests" / "support")]
    command = [sys.executable, "-c", f"import sys; sys.path[:0] = {path!r}; {code}"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    assert shown.strip() == digest


def test_the_made_multilingual_text_has_many_scripts():
    text = made_texts.multilingual(200_000)
    assert len({made_texts.script_of(character) for character in text}) > 25
    assert len(text.encode()) > 1.8 * len(text)
