"""streamtok bench checks ids before it takes times, and names what each figure is of."""

import json
import sys

import pytest
from bench_runs import NASTY, _here  # noqa: F401
from english import ENGLISH

import streamtok

click_testing = pytest.importorskip("click.testing")

from streamtok.cli import bench, sample  # noqa: E402
from streamtok.cli.app import app  # noqa: E402


def run(*args, input=None, status=0):
    result = click_testing.CliRunner().invoke(app, ["bench", *args], input=input)
    assert result.exit_code == status, (result.stderr, result.exception)
    assert "Traceback" not in result.stderr and bool(result.stderr) == bool(status)
    return result


# ==== Figures ====


def test_figures_of_a_file():
    pytest.importorskip("tiktoken")
    report = json.loads(run("in.txt", "--threads", "2", "--json").stdout)
    assert report["checked_against"] == "tiktoken" and report["bytes"] == 20_000 and report["is_whole_file"]
    assert report["encoding"] == "o200k_base" and report["streamtok"] == streamtok.__version__
    count = click_testing.CliRunner().invoke(app, ["count", "--json", "in.txt"])
    assert report["ids"] == json.loads(count.stdout)["tokens"] and report["slices"] == 6
    ways = [(row["library"], row["mode"]) for row in report["rows"]]
    assert ways == [
        *(("streamtok", "one-shot"), ("tiktoken", "one-shot"), ("streamtok", "stream, 4 KB")),
        *(("streamtok", "batch, 2 threads"), ("tiktoken", "batch, 2 threads")),
    ]
    for row in report["rows"]:
        assert row["warm_mb_per_s"] > 0 and len(row["all_warm"]) == 5
        assert (row["first_mb_per_s"] is not None) == (row["mode"] == "one-shot")
        compared = row["library"] == "streamtok" and not row["mode"].startswith("stream")
        assert (row["times_as_fast_as_tiktoken"] is not None) == compared


def test_text_names_what_was_measured_and_text_that_was_repeated(here):
    shown = run("in.txt", "-e", "r50k_base").stdout
    ids = int(click_testing.CliRunner().invoke(app, ["count", "-e", "r50k_base", "in.txt"]).stdout)
    assert f"in.txt: 20,000 bytes, r50k_base; {ids:,} ids. The ids of all 6 slices are those of " in shown
    assert "one-shot" in shown and "stream, 4 KB" in shown and f"streamtok {streamtok.__version__}\n" in shown
    assert "too small: its text was repeated 2 times" in shown
    (here / "large.txt").write_bytes(ENGLISH[:24_000])
    assert "too small" not in run("large.txt", "-e", "r50k_base").stdout
    assert "standard input: 24,000 bytes" in run("-", "-e", "r50k_base", input=ENGLISH[:24_000]).stdout


def test_without_tiktoken_the_reference_engine_says_what_is_right(monkeypatch):
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    report = json.loads(run("in.txt", "-e", "r50k_base", "--threads", "1", "--json").stdout)
    assert report["checked_against"] == "streamtok's reference engine"
    assert [row["mode"] for row in report["rows"]] == ["one-shot", "stream, 4 KB", "batch, 1 thread"]


@pytest.mark.parametrize(("wrong", "given"), [(lambda ids: ids + 1, None), (lambda ids: ids[:-1], "no more")])
def test_wrong_ids_end_it_before_a_time_is_shown(monkeypatch, wrong, given):
    """Even those of one slice."""
    timed, calls = bench._timed, []

    def changed(way, text):
        calls.append(way)
        ids = timed(way, text)
        return wrong(ids) if way.mode.startswith("stream") and len(calls) > 9 else ids

    monkeypatch.setattr(bench, "_timed", changed)
    result = run("in.txt", "-e", "r50k_base", status=1)
    assert "ids differ at byte " in result.stderr and "of in.txt: streamtok (stream, 4 KB) gives " in result.stderr
    assert "; no time is shown" in result.stderr and (given or "right is") in result.stderr and result.stdout == ""
    assert len(result.stderr.splitlines()) == 1


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


# ==== Mistakes ====


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["in.txt", "--threads", "x"], "'x' is not a valid integer"),
        (["in.txt", "--threads", "0"], "0 is not in the range 1<=x<=1024"),
        (["in.txt", "-e", "nope"], "Unknown encoding nope: write one of"),
        ([], "FILE"),
    ],
)
def test_wrong_usage_is_status_2(args, complaint):
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
