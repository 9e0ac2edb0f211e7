"""Which changes tools/mutants_py.py makes, and which tests tools/mutate_py.py chooses for them."""

from __future__ import annotations

import ast

import mutants_py
import pytest


def changes(text: str) -> set[tuple[str, str, str]]:
    """(operator, old, new) of the mutants, each of which is a program."""
    found = mutants_py.python_mutants("streamtok/x.py", text)
    for mutant in found:
        ast.parse(mutants_py.apply(mutant, text))
    return {(mutant.operator, mutant.old, mutant.new) for mutant in found}


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("a < b", {("comparison", "<", "<=")}),
        ("a is not b", {("comparison", "is not", "is")}),
        ("é = b'é' if x not in y else 0".replace("b'é'", "z"), {("comparison", "not in", "in")}),
        ("x = a and b", {("swapped branch", "and", "or")}),
        ("if a:\n    f = 1", {("swapped branch", "a", "not (a)"), ("off by one", "1", "2")}),
        ("x = 5", {("off by one", "5", "6"), ("off by one", "5", "4")}),
        ("x = True", {("constant", "True", "False")}),
        ("x = 'utf-8'", {("constant", "'utf-8'", '""')}),
        ("x = a + b", {("operator", "+", "-")}),
        ("x = a[:n]", {("off by one", "n", "(n) + 1")}),
        ("for i in range(n):\n    f = i", {("off by one", "n", "(n) + 1")}),
        ("def f():\n    return x", {("dropped statement", "return x", "return None")}),
        ("f(x)", {("dropped statement", "f(x)", "pass")}),
        ("self.x = y", {("dropped statement", "self.x = y", "pass")}),
        ("x = [a for a in b if a]", {("swapped branch", "a", "not (a)")}),
    ],
)
def test_what_is_changed(text, want):
    assert want <= changes(text)


@pytest.mark.parametrize(
    "text",
    [
        '"""Text of 5 words, all true."""',
        "x: Literal[3] | None",
        "def f(x: Literal[3]) -> Literal[4]: ...",
        "if TYPE_CHECKING:\n    x = 1",
        "def __repr__(self):\n    return 'x' + y",
        "def size_error(n):\n    return ValueError(n + 1)",
        "x = f'{a + 1}'",
        "x = 'a text with spaces'",
        "__all__ = ['a']",
        "x = yield_error('abc')",
    ],
)
def test_what_is_left_alone(text):
    assert changes(text) == set()


def test_an_error_can_be_left_out_but_its_words_stay():
    assert changes("raise ValueError('n=' + x)") == {("dropped statement", "raise ValueError('n=' + x)", "pass")}


def test_changes_are_placed_behind_wide_characters():
    text = "x = 'é中', a == b  # 'ü'\n"
    (found,) = [mutant for mutant in mutants_py.python_mutants("x.py", text) if mutant.operator == "comparison"]
    assert mutants_py.apply(found, text) == "x = 'é中', a != b  # 'ü'\n"
    assert (found.line, found.source, found.function) == (1, text.strip(), "")


CYTHON = '''
cdef int f(int a, const char *b) except -1:
    """Text of 5 words."""
    cdef int n = 0
    if a < n and not a:
        g(&b, -1, <int> a)
    return a + n
'''


def test_cython_is_changed_by_its_tokens():
    found = mutants_py.cython_mutants("x.pyx", CYTHON)
    assert {(mutant.line, mutant.old, mutant.new) for mutant in found} == {
        (4, "0", "1"),
        (5, "<", "<="),
        (5, "and", "or"),
        (5, "not", "not not"),
        (6, "1", "2"),
        (6, "g(&b, -1, <int> a)", "pass"),
        (7, "+", "-"),
    }
    assert {mutant.function for mutant in found} == {"f"}


def test_tests_of_a_mutant_are_those_that_reach_it_the_fastest_first(monkeypatch, tmp_path):
    import mutate_py

    (tmp_path / "streamtok").mkdir()
    (tmp_path / "streamtok" / "x.py").write_text("LIMIT = 3\n\ndef f(n):\n    return (n <\n        LIMIT)\n")
    monkeypatch.setattr(mutate_py, "ROOT", tmp_path)
    reach = mutate_py.Reach(tmp_path)
    reach.tests = ["tests/a.py::slow", "tests/a.py::fast", "tests/b.py::other"]
    reach.seconds = [2.0, 0.1, 0.1]
    reach.lines["streamtok/x.py"].update({1: {2}, 4: {0, 1}, 3: {2}})
    selection = mutate_py.Selection(reach)
    text = (tmp_path / "streamtok" / "x.py").read_text()
    found = {mutant.old: mutant for mutant in mutants_py.python_mutants("streamtok/x.py", text)}
    # The constant is read in the line that two tests reach.
    assert (
        selection.tests(found["3"], 0)[0]
        == selection.tests(found["<"], 0)[0]
        == ["tests/a.py::fast", "tests/a.py::slow"]
    )
    assert selection.tests(found["<"], 1.0)[0] == ["tests/a.py::fast"]
