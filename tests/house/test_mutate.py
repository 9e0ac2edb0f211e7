"""tools/mutate.py: its samples, its list of equivalent mutants, its ledger, and the switches of the mutants of C."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

import mutate
import pytest
from mutate import Entry, Equivalent, Ledger, Mutant, Verdict


def mutant(file: str = "csrc/base/a.c", line: int = 1, start: int = 0, source: str = "x = 1;") -> Mutant:
    return Mutant(file, line, "f", "constant", "1", "2", start, start + 1, source)


def test_a_sample_has_the_same_number_of_each_room_and_grows():
    mutants = [mutant(f"csrc/{room}/a.c", start=i) for room in ("base", "rows", "text") for i in range(30)]
    small, large = (mutate.sample(mutants, count, 1) for count in (5, 10))
    assert small == large[:15] and len(set(large)) == 30
    assert [one.room for one in large[:3]] == ["csrc/base", "csrc/rows", "csrc/text"]
    assert mutate.sample(reversed(mutants), 5, 1) == small != mutate.sample(mutants, 5, 2)
    assert len(mutate.sample(mutants, 100, 1)) == 90


def test_the_list_of_equivalents_names_a_line_a_function_or_a_change():
    one = mutant()
    for function, operator, source in (
        ("f", "constant", "x = 1;"),
        ("f", "*", "*"),
        ("*", "constant 1 -> 2", "x = 1;"),
        ("*", "*", "*x = *"),
    ):
        assert Equivalent("csrc/base/a.c", function, operator, source, "why").covers(one)
    for file, function, operator, source in (
        ("csrc/base/b.c", "f", "*", "*"),
        ("csrc/base/a.c", "g", "*", "*"),
        ("csrc/base/a.c", "f", "comparison", "*"),
        ("csrc/base/a.c", "f", "constant 1 -> 0", "*"),
        ("csrc/base/a.c", "f", "*", "x = 1"),
        ("csrc/base/a.c", "f", "*", "*x = 2*"),
        ("csrc/base/a.c", "f", "*", "*x = 1;"),
    ):
        assert not Equivalent(file, function, operator, source, "why").covers(one)


def test_every_line_of_the_list_has_a_reason_and_is_about_a_line_of_the_code():
    for entry in mutate.equivalents():
        files = [entry.file] if entry.file != "*" else sorted((mutate.ROOT / "csrc").rglob("*.[ch]"))
        text = "\n".join((mutate.ROOT / file).read_text() for file in files)
        assert entry.reason
        assert entry.source == "*" or entry.source.strip("*" if entry.source.endswith("*") else "") in text, entry
        assert entry.function == "*" or entry.function in text, entry


def test_the_last_line_of_a_mutant_counts_and_a_cut_line_does_not(tmp_path):
    ledger = Ledger(tmp_path)
    for outcome in ("survived", "killed"):
        ledger.add(Entry(mutant(), Verdict(outcome, "a test"), 1.0))
    with ledger.path.open("a") as file:
        file.write('{"outcome": "surv')
    [entry] = ledger.read().values()
    assert entry == Entry(mutant(), Verdict("killed", "a test"), 1.0)
    other = mutant(start=5)
    assert mutate.wanted([mutant(), other], ledger.read(), []) == [other]
    assert mutate.wanted([mutant(), other], ledger.read(), ["killed"]) == [mutant(), other]


def test_the_interval_of_a_share_is_that_of_the_tables():
    low, high = mutate.interval(90, 100)
    assert (round(low, 3), round(high, 3)) == (0.826, 0.945)
    assert mutate.interval(0, 0) == (0, 1)


# A file with each operator; what it prints depends on all of its parts.
SUBJECT = """
#include <stdint.h>
#include <stdio.h>
#define LIMIT 3
static const int table[3] = {1, 2, 3};
static int f(int a, int b)
{
    static const int fixed = 1 + 1;
    int sum = 0;
    for (int i = 0; i < LIMIT; i++) {
        if (a > b || i == 1)
            sum += table[i % 2] << 1;
        else
            sum = sum - b;
        if (sum > 40)
            break;
    }
    switch (a & 3) {
    case 1: sum += 100; break;
    default: sum++;
    }
    while (sum > 1000)
        sum /= 2;
    return sum + fixed + (a ? 5 : (int)UINT32_C(7));
}
int main(void)
{
    for (int a = 0; a < 5; a++)
        printf("%d %d\\n", f(a, 2), f(a - 1, a));
    return 0;
}
"""


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_a_switch_makes_the_program_that_the_change_makes(tmp_path, monkeypatch):
    pytest.importorskip("tree_sitter_c", reason="tree-sitter-c is not installed: pip install 'streamtok[test]'")
    import mutate_c

    monkeypatch.setattr(mutate_c, "ROOT", tmp_path / "plain")
    source = tmp_path / "plain" / "csrc" / "base" / "subject.c"
    source.parent.mkdir(parents=True)
    source.write_text(SUBJECT)
    mutants = [one for one in mutate_c.mutants_of("csrc/base/subject.c") if "for (" not in one.source][::2]
    assert {one.operator for one in mutants} == {
        *("comparison", "operator", "constant", "off by one", "dropped statement", "swapped branch")
    }
    assert not any(one.source.startswith(("#", "case 1: s", "static")) and one.old in "13" for one in mutants)
    mutate_c.write_switched(tmp_path / "switched", mutants)

    def compiled(name: str, *sources: pathlib.Path) -> pathlib.Path:
        includes = [f"-I{tmp_path / 'switched' / 'csrc'}"]
        subprocess.run(["cc", "-w", "-O0", *includes, *sources, "-o", tmp_path / name], check=True)
        return tmp_path / name

    def printed(program: pathlib.Path, number: int = 0) -> str:
        environment = dict(os.environ, STREAMTOK_MUTANT=str(number))
        try:
            return subprocess.run([program], env=environment, capture_output=True, text=True, timeout=2).stdout
        except subprocess.TimeoutExpired:
            return "hangs"

    folder = tmp_path / "switched" / "csrc" / "base"
    switched = compiled("all", folder / "subject.c", folder / "mutant.c")
    plain = printed(compiled("plain_program", source))
    assert printed(switched) == plain
    text, differ = SUBJECT.encode(), 0
    for number, one in enumerate(mutants, 1):
        source.write_bytes(text[: one.start] + (one.new or ";").encode() + text[one.end :])
        changed = printed(compiled("changed", source))
        assert printed(switched, number) == changed, one
        differ += changed != plain
    assert differ > len(mutants) / 2
