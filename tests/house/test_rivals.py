"""benchmarks/rivals checks the ids before it takes times, and names what each figure is of."""

import dataclasses
import subprocess
import sys

import numpy as np
import oracle
import pytest
from bench_runs import NASTY, _here  # noqa: F401
from english import ENGLISH

import streamtok

pytest.importorskip("click")

sys.path.insert(0, str(oracle.PROJECT / "benchmarks"))
import rivals
from rivals import contenders, gate, timing

from streamtok.cli import sample


@pytest.fixture(autouse=True)
def few_starts(monkeypatch):
    monkeypatch.setattr(timing, "COLD_STARTS", 1)


def figures(name="r50k_base", against=(), threads=()):
    taken = sample.read_sample("in.txt", "in.txt")
    return rivals.measure(taken, streamtok.get_encoding(name), list(against), list(threads))


def replaced(monkeypatch, table, name, load):
    """Gives the contender another function that loads, and a module that is always installed."""
    changed = dataclasses.replace(table[name], load=load, module="json")
    monkeypatch.setitem(table, name, changed)


def shifted(vocabulary, threads):
    """The right ids, except that number 100 of each text is wrong."""
    encode = streamtok.get_encoding(vocabulary.name).encode_ordinary
    return lambda texts: [[token + (i == 100) for i, token in enumerate(encode(text))] for text in texts]


def broken(vocabulary, threads):
    raise RuntimeError("has no such\nencoding")


def not_timed(*args):
    raise AssertionError("timed")


# ==== Figures ====


def test_figures_of_a_file():
    pytest.importorskip("tiktoken")
    report = figures("o200k_base", ["tiktoken"], [1, 2])
    assert report["checked_against"] == "tiktoken" and report["bytes"] == 20_000 and report["is_whole_file"]
    assert report["encoding"] == "o200k_base" and report["refused"] == [] and report["slices"] == 6
    assert report["machine"]["streamtok"] == streamtok.__version__ and report["machine"]["cores"] >= 1
    rows = {(row["library"], row["mode"]): row for row in report["rows"]}
    assert report["ids"] == streamtok.get_encoding("o200k_base").count(ENGLISH[:20_000])
    modes = ["one-shot", "stream, 4 KB", "batch, 1 thread", "batch, 2 threads"]
    assert [mode for library, mode in rows if library == "streamtok"] == modes
    assert [mode for library, mode in rows if library == "tiktoken"] == [modes[0], *modes[2:]]
    for (library, _), row in rows.items():
        assert row["cold_mb_per_s"] > 0 and len(row["all_warm"]) == 5 and row["load_seconds"] > 0
        assert list(row["times_as_fast_as"]) == (["tiktoken"] if library == "streamtok" else [])
        assert row["peak_bytes"] is None or 5e6 < row["peak_bytes"] < 2e9


def test_program_for_one_text():
    program = [sys.executable, str(oracle.PROJECT / "benchmarks" / "peers.py"), "one"]
    options = {"capture_output": True, "text": True, "timeout": 120}
    refused = subprocess.run([*program, "in.txt", "--against", "nobody"], **options)
    assert refused.returncode == 1 and "'nobody' is not installed here, or is none of tiktoken" in refused.stderr
    refused = subprocess.run([*program, "missing.txt", "--against", "tiktoken"], **options)
    assert refused.returncode == 1 and "missing.txt" in refused.stderr and "Traceback" not in refused.stderr


def test_without_tiktoken_the_reference_engine_says_what_is_right(monkeypatch):
    monkeypatch.setattr(rivals, "is_installed", lambda name: False)
    report = figures()
    assert report["checked_against"] == "streamtok's reference engine"
    assert [row["mode"] for row in report["rows"]] == ["one-shot", "stream, 4 KB"]


# ==== The gate ====


def test_wrong_ids_of_ours_end_it_before_anything_is_timed(monkeypatch):
    replaced(monkeypatch, contenders.OURS, "streamtok", shifted)
    monkeypatch.setattr(timing, "time_entries", not_timed)
    ids = streamtok.get_encoding("r50k_base").encode_ordinary(ENGLISH[:6_000].decode())
    byte = len(streamtok.get_encoding("r50k_base").decode_bytes(ids[:100]))
    with pytest.raises(ValueError, match="nothing was timed") as error:
        figures()
    assert f"ids differ at byte {byte} of in.txt: streamtok (one-shot) gives {ids[100] + 1}, " in str(error.value)


@pytest.mark.parametrize(
    ("load", "reason"),
    [
        (shifted, "ids differ at byte "),
        (broken, "failed: RuntimeError: has no such encoding"),
        (lambda vocabulary, threads: lambda texts: [[]], "gives no more, "),
        (lambda vocabulary, threads: lambda texts: [["x"]], "failed: ValueError"),
    ],
)
def test_rival_with_wrong_ids_is_marked_and_not_timed(monkeypatch, load, reason):
    replaced(monkeypatch, contenders.RIVALS, "quicktok", load)
    report = figures("r50k_base", ["quicktok"], [1])
    assert {row["library"] for row in report["rows"]} == {"streamtok"}
    assert all(row["times_as_fast_as"] == {} for row in report["rows"])
    refused = [(row["library"], row["mode"]) for row in report["refused"]]
    assert refused == [("quicktok", "one-shot"), ("quicktok", "batch, 1 thread")]
    assert reason.replace("such encoding", "such\nencoding") in report["refused"][0]["reason"]


def checked(name="r50k_base", data=ENGLISH[:30_000]):
    """A gate that the entries of ours have passed, and the sample in a file."""
    with open("sample", "wb") as file:
        file.write(data)
    encoding = streamtok.get_encoding(name)
    taken = sample.read_sample("sample", "sample")
    vocabulary = rivals.write_vocabulary(encoding, ".")
    return gate.Gate(taken, vocabulary, contenders.REFERENCE)


def test_ids_that_change_while_they_are_timed_are_noticed():
    entry = contenders.Entry("streamtok")
    door = checked()
    door.check([entry])
    assert len(timing.time_entries(door, [entry], "sample")[0].warm) == 5
    door.expected(entry)[3] = gate.Digest(1, 2)
    with pytest.raises(ValueError, match=r"streamtok \(one-shot\): gave other ids while it was timed"):
        timing.time_entries(door, [entry], "sample")


def test_process_that_fails_or_dies_refuses_its_rival(monkeypatch):
    ours, rival = contenders.Entry("streamtok"), contenders.Entry("tiktoken")
    door = checked()
    door.check([ours])
    monkeypatch.setattr(timing, "_START", "import sys; sys.exit(3)")
    with pytest.raises(ValueError, match="its process ended with status 3"):
        timing.time_entries(door, [ours], "sample")
    assert timing.time_entries(door, [rival], "sample") == []
    assert door.refused == {rival: "its process ended with status 3"}
    monkeypatch.setattr(timing, "_START", """import sys; print('{"error": "it broke"}'); sys.stdin.read()""")
    timing.time_entries(door, [rival], "sample")
    assert door.refused == {rival: "failed: it broke"}


@pytest.mark.parametrize("rival", contenders.RIVALS)
@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_rivals_that_are_installed_are_called_rightly(rival, name):
    pytest.importorskip(contenders.RIVALS[rival].module)
    door = checked(name, ENGLISH[:30_000] + NASTY.replace(b"<|endoftext|>", b""))
    entries = [contenders.Entry(rival), contenders.Entry(rival, 2)]
    door.check(entries)
    assert door.refused == {}
    assert [timed.entry for timed in timing.time_entries(door, entries, "sample")] == entries


def test_ids_are_joined_from_all_that_rivals_return():
    parts = [[1, 2], np.array([3]), memoryview(np.array([4], np.uint32).tobytes()).cast("I")]
    assert sample.joined(parts).tolist() == [1, 2, 3, 4] and sample.joined(parts).dtype == np.uint32
    assert sample.joined([]).tolist() == []


def test_rivals_are_not_imported_unless_they_are_asked_for():
    modules = {rival.module for rival in contenders.RIVALS.values()} - {"tiktoken"}
    figures()
    assert not modules & set(sys.modules)
