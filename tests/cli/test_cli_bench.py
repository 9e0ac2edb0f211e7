"""streamtok bench: the ids are right before any time is taken, and the figures say what they are of."""

import dataclasses
import json
import pathlib
import pydoc_data.topics
import sys

import numpy as np
import pytest

import streamtok

click_testing = pytest.importorskip("click.testing")
pytest.importorskip("rich")

from streamtok.cli import bench  # noqa: E402
from streamtok.cli.app import app  # noqa: E402
from streamtok.cli.bench import contenders, gate, sample, timing  # noqa: E402

ENGLISH = pathlib.Path(pydoc_data.topics.__file__).read_bytes()
NASTY = "naïve café ☕ 日本語 👩‍👩‍👧 \t <|endoftext|> 12345\r\n 'll\n".encode() * 50


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_bytes(ENGLISH[:20_000])
    monkeypatch.setattr(sample, "_SMALLEST_SLICE", 4_000)  # quick; what the figures are is no matter here
    monkeypatch.setattr(timing, "COLD_STARTS", 1)
    return tmp_path


def run(*args, input=None, status=0):
    result = click_testing.CliRunner().invoke(app, ["bench", *args], input=input)
    assert result.exit_code == status, (result.stderr, result.exception)
    assert "Traceback" not in result.stderr and bool(result.stderr) == bool(status)
    return result


def figures(*args):
    return json.loads(run(*args, "--json").stdout)


def replaced(monkeypatch, table, name, load):
    """Another way to encode in the place of a contender's; whose module is there."""
    changed = dataclasses.replace(table[name], load=load, module="json")
    monkeypatch.setitem(table, name, changed)


def shifted(vocabulary, threads):
    """Right ids but for the hundredth of each text."""
    encode = streamtok.get_encoding(vocabulary.name).encode_ordinary
    return lambda texts: [[token + (i == 100) for i, token in enumerate(encode(text))] for text in texts]


def broken(vocabulary, threads):
    raise RuntimeError("has no such\nencoding")


def not_timed(*args):
    raise AssertionError("timed")


# ==== Figures ====


def test_figures_of_a_file():
    pytest.importorskip("tiktoken")
    report = figures("in.txt", "--threads", "1,2")
    assert report["checked_against"] == "tiktoken" and report["bytes"] == 20_000 and report["is_whole_file"]
    assert report["encoding"] == "o200k_base" and report["refused"] == []
    assert report["machine"]["streamtok"] == streamtok.__version__ and report["machine"]["cores"] >= 1
    rows = {(row["library"], row["mode"]): row for row in report["rows"]}
    count = click_testing.CliRunner().invoke(app, ["count", "--json", "in.txt"])
    assert report["ids"] == json.loads(count.stdout)["tokens"] and report["slices"] == 6
    modes = ["one-shot", "stream, 4 KB", "batch, 1 thread", "batch, 2 threads"]
    assert [mode for library, mode in rows if library == "streamtok"] == modes
    assert [mode for library, mode in rows if library == "tiktoken"] == [modes[0], *modes[2:]]
    for (library, _), row in rows.items():
        assert row["cold_mb_per_s"] > 0 and len(row["all_warm"]) == 5 and row["load_seconds"] > 0
        assert list(row["times_as_fast_as"]) == (["tiktoken"] if library == "streamtok" else [])
        assert row["peak_bytes"] is None or 5e6 < row["peak_bytes"] < 2e9


def test_table_names_machine_and_versions_and_text_that_was_repeated(here):
    shown = run("in.txt", "-e", "r50k_base").stdout
    ids = int(click_testing.CliRunner().invoke(app, ["count", "-e", "r50k_base", "in.txt"]).stdout)
    assert "in.txt: 20,000 bytes, r50k_base; " in shown and "one-shot" in shown and "stream, 4 KB" in shown
    assert f"streamtok {streamtok.__version__} (" in shown and "cores; " in shown
    assert "too small: its text was repeated 2 times" in shown and f"r50k_base; {ids:,} ids. Compared: " in shown
    (here / "large.txt").write_bytes(ENGLISH[:24_000])
    assert "too small" not in run("large.txt", "-e", "r50k_base").stdout
    assert "standard input: 24,000 bytes" in run("-", "-e", "r50k_base", input=ENGLISH[:24_000]).stdout


def test_without_tiktoken_the_reference_engine_says_what_is_right(monkeypatch):
    monkeypatch.setattr(bench, "_is_installed", lambda name: False)
    report = figures("in.txt", "-e", "r50k_base")
    assert report["checked_against"] == "streamtok's reference engine"
    assert [row["mode"] for row in report["rows"]] == ["one-shot", "stream, 4 KB"]


# ==== The gate ====


def test_wrong_ids_of_ours_end_it_before_anything_is_timed(monkeypatch):
    replaced(monkeypatch, contenders.OURS, "streamtok", shifted)
    monkeypatch.setattr(timing, "time_entries", not_timed)
    ids = streamtok.get_encoding("r50k_base").encode_ordinary(ENGLISH[:6_000].decode())
    byte = len(streamtok.get_encoding("r50k_base").decode_bytes(ids[:100]))
    error = run("in.txt", "-e", "r50k_base", status=1).stderr
    assert f"ids differ at byte {byte} of in.txt: streamtok (one-shot) gives {ids[100] + 1}, " in error
    assert f" {ids[100]}; nothing was timed" in error and len(error.splitlines()) == 1


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
    report = figures("in.txt", "-e", "r50k_base", "--against", "quicktok", "--threads", "1")
    assert {row["library"] for row in report["rows"]} == {"streamtok"}
    assert all(row["times_as_fast_as"] == {} for row in report["rows"])
    refused = [(row["library"], row["mode"]) for row in report["refused"]]
    assert refused == [("quicktok", "one-shot"), ("quicktok", "batch, 1 thread")]
    assert reason.replace("such encoding", "such\nencoding") in report["refused"][0]["reason"]
    shown = run("in.txt", "-e", "r50k_base", "--against", "quicktok").stdout
    assert (
        f"not timed: quicktok (one-shot): {reason if 'failed' in reason else ''}" in shown and "/ quicktok" not in shown
    )


def checked(name="r50k_base", data=ENGLISH[:30_000]):
    """A gate that the entries of ours have passed, and the sample in a file."""
    with open("sample", "wb") as file:
        file.write(data)
    encoding = streamtok.get_encoding(name)
    taken = sample.read_sample("sample", "sample")
    vocabulary = bench._write_vocabulary(encoding, ".")
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


# ==== The text ====


def test_slices_are_disjoint_and_cut_between_characters(here):
    (here / "in.txt").write_bytes(NASTY * 12)
    taken = sample.read_sample("in.txt", "in.txt")
    assert taken.data == NASTY * 12 and taken.repeats == 1 and taken.is_whole
    parts = [taken.data[a:b].decode() for a, b in taken.slices]
    assert len(parts) == 6 and "".join(parts).encode() == taken.data


def test_large_file_is_cut_between_characters(here, monkeypatch):
    monkeypatch.setattr(sample, "_LARGEST_SLICE", 4_000)
    monkeypatch.setattr(sample, "_SMALLEST_SLICE", 1_000)
    for shift in range(4):
        (here / "in.txt").write_bytes(b"x" * shift + "👩".encode() * 10_000)
        taken = sample.read_sample("in.txt", "in.txt")
        assert not taken.is_whole and 24_000 - 4 < len(taken.data) <= 24_000
        assert taken.data.decode() == "x" * shift + "👩" * (len(taken.data) // 4)


def test_small_file_is_repeated_as_a_whole(here):
    (here / "in.txt").write_bytes("é".encode())
    taken = sample.read_sample("in.txt", "in.txt")
    assert taken.repeats == 12_000 and taken.file_bytes == 2 and taken.data.decode() == "é" * 12_000


def test_documents_are_all_of_the_text():
    for data in (ENGLISH, b"x" * 100_000, b"\n" * 50_000, b"a"):
        texts = sample.documents(data)
        assert b"".join(texts) == data and all(texts)
    assert len(sample.documents(ENGLISH)) > 10


def test_ids_are_joined_from_all_that_rivals_return():
    parts = [[1, 2], np.array([3]), memoryview(np.array([4], np.uint32).tobytes()).cast("I")]
    assert gate.joined(parts).tolist() == [1, 2, 3, 4] and gate.joined(parts).dtype == np.uint32
    assert gate.joined([]).tolist() == []


# ==== Mistakes ====


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["in.txt", "--against", "nobody"], "'nobody' is none of tiktoken, gigatoken"),
        (["in.txt", "--against", "tiktoken,splintr"], "splintr is not installed: pip install splintr-rs, or leave it"),
        (["in.txt", "--threads", "2,x"], "'2,x' is no list of numbers of threads: write 4, or 1,2,4"),
        (["in.txt", "--threads", "0"], "write 4, or 1,2,4"),
        (["in.txt", "-e", "nope"], "Unknown encoding nope: write one of"),
        ([], "FILE"),
    ],
)
def test_wrong_usage_is_status_2(monkeypatch, args, complaint):
    monkeypatch.setattr(bench, "find_spec", lambda name: None if name == "splintr" else object())
    assert complaint in " ".join(run(*args, status=2).stderr.split())


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (None, "in.txt: No such file or directory"),
        (b"", "in.txt is empty: name a file with text"),
        (b"ab\xffc", "in.txt is not UTF-8: byte 0xff at position 2, invalid start byte; convert it first"),
        ("é".encode()[:1], "in.txt is not UTF-8: byte 0xc3 at position 0, unexpected end of data"),
    ],
)
def test_file_that_cannot_be_measured_is_status_1(here, data, complaint):
    (here / "in.txt").unlink()
    if data is not None:
        (here / "in.txt").write_bytes(data)
    error = run("in.txt", "-e", "r50k_base", status=1).stderr
    assert complaint in error and len(error.splitlines()) == 1


def test_rivals_are_not_imported_unless_they_are_asked_for():
    modules = {rival.module for rival in contenders.RIVALS.values()} - {"tiktoken"}
    figures("in.txt", "-e", "r50k_base")
    assert not modules & set(sys.modules)
