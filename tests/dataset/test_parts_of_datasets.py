"""Single steps of datasets: what is joined, whose fault an error is, what is refused before any work."""

from __future__ import annotations

import errno
import json
import os
import pathlib
import sys

import pytest
from datasets import make_corpus, make_spec

from streamtok import get_encoding
from streamtok.dataset import build, merge, plan, plot_stats, sample, stats
from streamtok.dataset.build import _is_of_folder
from streamtok.dataset.manifest import difference, facts_of_file, read_dataset
from streamtok.dataset.reading import open_shard
from streamtok.dataset.shard import check_source
from streamtok.dataset.spec import SpecError, read_spec

LINE = '{"text": "word"}\n'


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("parts")
    make_corpus(folder / "corpus", 2, 40)
    build(make_spec(folder), workers=1)
    return folder


def sources(shards) -> list[tuple[str, ...]]:
    return [shard.sources for shard in shards]


def test_the_short_end_of_a_file_is_joined_with_no_other_file(here):
    size = 10_000
    pathlib.Path("a.jsonl").write_text(LINE * (size // len(LINE) + 10))
    for name in ("b", "c"):
        pathlib.Path(f"{name}.jsonl").write_text(LINE)
    made = plan(["a.jsonl", "b.jsonl", "c.jsonl"], size)
    assert sources(made) == [("a.jsonl",), ("a.jsonl",), ("b.jsonl", "c.jsonl")]
    assert made[1].size * 16 < size and made[1].range.end == os.path.getsize("a.jsonl")


def test_files_are_joined_up_to_a_quarter_of_a_shard_and_a_count(here, monkeypatch):
    from streamtok.dataset import plan as _

    module = sys.modules["streamtok.dataset.plan"]
    for i in range(8):
        pathlib.Path(f"{i}.jsonl").write_text("x" * 50)
    names = [f"{i}.jsonl" for i in range(8)]
    assert _ and [len(each) for each in sources(plan(names, 801))] == [4, 4]  # 50 is below a sixteenth, 200 no quarter
    assert [len(each) for each in sources(plan(names, 800))] == [1] * 8
    monkeypatch.setattr(module, "_MOST_JOINED", 3)
    assert [len(each) for each in sources(plan(names, 8000))] == [3, 3, 2]
    pathlib.Path("0.jsonl").rename("0.jsonl.GZ")
    assert [len(each) for each in sources(plan(["0.jsonl.GZ", *names[1:]], 8000))] == [3, 3, 2]
    assert [len(each) for each in sources(plan(["0.jsonl.GZ", *names[1:]], 3200))] == [1, 3, 3, 1]


def test_a_plan_of_row_groups_has_all_rows_once(here):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    import pyarrow.parquet as pq

    table = pa.table({"text": [f"document {i:3} " * 20 for i in range(100)]})
    pq.write_table(table, "a.parquet", row_group_size=10, compression="none", use_dictionary=False)
    unpacked = pq.ParquetFile("a.parquet").metadata.row_group(0).total_byte_size
    made = plan(["a.parquet"], 3 * unpacked)
    assert (made[0].range.begin, made[0].range.end) == (0, 3)
    assert [each.range.begin for each in made[1:]] == [each.range.end for each in made[:-1]]
    assert made[-1].range.end == 10 and all(each.range.unit == "row groups" for each in made)
    whole = os.path.getsize("a.parquet")
    assert 0.99 * whole < sum(each.size for each in made) <= whole
    assert [each.range for each in plan(["a.parquet"], 100 * unpacked)] == [None]
    some = plan(["a.parquet"], unpacked + 1)
    assert [each.range.end - each.range.begin for each in some] == [2] * 5


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_folder_is_no_fault_of_a_source(base, number):
    assert _is_of_folder(OSError(number, "full", str(base / "corpus" / "a-0.jsonl")), make_spec(base))


def test_whose_fault_another_error_is(base):
    spec = make_spec(base)
    for name, is_folder in ((base / "out" / "x", True), (base / "corpus" / "x", False), (None, True)):
        assert _is_of_folder(OSError(errno.EIO, "failed", name and str(name)), spec) == is_folder


def test_a_shard_that_is_not_what_the_manifest_says(base):
    dataset = read_dataset(str(base / "out"))
    shard = dataset.shards[0]
    assert len(open_shard(str(base / "out"), dataset, shard)) == shard["documents"]
    for change in ({"ids": shard["ids"] + 1}, {"documents": shard["documents"] - 1}):
        with pytest.raises(ValueError, match=r"and the manifest says .* verify the dataset, and build it again"):
            open_shard(str(base / "out"), dataset, {**shard, **change})


def test_a_source_that_cannot_be_read_twice_is_refused(base):
    with pytest.raises(ValueError, match=r"/dev/null is a pipe, a device or a stream, .*: put the text into a file"):
        check_source("/dev/null", make_spec(base), get_encoding("r50k_base"))


def test_a_file_that_is_as_the_manifest_says_has_no_difference(base):
    spec = make_spec(base)
    name = os.path.basename(spec.source_names()[0])
    facts = facts_of_file(base / "corpus", name)
    assert difference(base / "corpus", facts) == difference(base / "corpus", facts, is_hashed=False) == ""


def test_numbers_that_ask_for_nothing(base):
    with pytest.raises(ValueError, match="workers=0 does no work: write 1 or more"):
        build(make_spec(base, "other"), workers=0)
    for options in ({"count": 0}, {"length": 0}):
        with pytest.raises(ValueError, match="=0 shows nothing: write 1 or more"):
            sample(base / "out", **options)
    with pytest.raises(ValueError, match="shard_bytes=0 takes no bytes: write 1 or more"):
        plan([], 0)
    (place,) = sample(base / "out", 1)
    assert 1 <= place.ids <= 64 and sample(base / "out", 1) == [place]


def test_missing_packages_are_named(base, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"a plot needs matplotlib: pip install 'streamtok\[plot\]'"):
        plot_stats(stats(base / "out"), base / "x.png")
    (base / "spec.toml").write_text("sources = []")
    for name in ("tomllib", "tomli"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="pip install tomli, or write the spec as JSON"):
        read_spec(base / "spec.toml")


def test_statistics_of_nothing(here):
    pathlib.Path("corpus").mkdir()
    pathlib.Path("corpus/a.jsonl").write_text("")
    build(make_spec(here), workers=1)
    found = stats("out")
    assert (found.documents, found.ids) == (0, 0) and not found.histogram and found.ids_per_document == {}


def test_merging_leaves_no_file_open(base, tmp_path):
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("this system does not list what is open")
    before = len(os.listdir("/proc/self/fd"))
    merge(base / "out", tmp_path / "a.bin")
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_source_that_is_a_url_is_no_pattern(here):
    pytest.importorskip("fsspec", reason="fsspec is not installed")
    spec = make_spec(here, sources=("memory://a*.txt",))
    assert spec.source_names() == ["memory://a*.txt"]
    pathlib.Path("spec.json").write_text(json.dumps({"sources": ["a"]}))
    with pytest.raises(SpecError, match="the spec has no output"):
        read_spec("spec.json")
