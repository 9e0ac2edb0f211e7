"""Merging, statistics and samples of a dataset, in Python and by the command."""

from __future__ import annotations

import json
import pathlib
from collections import Counter

import numpy as np
import pytest
from datasets import contents, documents, make_corpus, make_spec

import streamtok
from streamtok.dataset import build, merge, read_dataset, sample, stats, verify
from streamtok.dataset.reading import open_shard
from streamtok.files import encode_file
from streamtok.files.formats import open_documents

pytest.importorskip("click")
from cli_runs import run

TEXTS = [text for number in range(4) for text in documents(60, number)] + documents(60, 0)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A dataset in base / "out", whose last source has the documents of the first."""
    base = tmp_path_factory.mktemp("looking")
    make_corpus(base / "corpus", 4, 60)
    (base / "corpus" / "b.jsonl").write_bytes((base / "corpus" / "a-0.jsonl").read_bytes())
    build(make_spec(base), workers=1)
    return base


@pytest.fixture(scope="module")
def ids() -> list[list[int]]:
    """Those of each document."""
    encoding = streamtok.get_encoding("r50k_base")
    return [encoding.encode(text) + [50256] for text in TEXTS]


@pytest.mark.parametrize(
    "format, name",
    [("bin", "m.bin"), ("npy", "m.npy"), ("megatron", "m.bin"), ("datatrove", "m.ds"), ("llmc", "m.bin")],
)
def test_merging_gives_what_encode_file_writes(base: pathlib.Path, tmp_path: pathlib.Path, format: str, name: str):
    sources = [str(path) for path in sorted((base / "corpus").iterdir())]
    for folder in ("whole", "merged"):
        (tmp_path / folder).mkdir()
    index = format in ("bin", "npy")
    encoding = streamtok.get_encoding("r50k_base")
    encode_file(encoding, sources, tmp_path / "whole" / name, format=format, append_eot=True, index=index)
    made = merge(base / "out", tmp_path / "merged" / name, format=format, index=index)
    assert contents(tmp_path / "merged") == contents(tmp_path / "whole")
    assert (made.documents, made.format) == (len(TEXTS), format)


@pytest.mark.parametrize("format", ["megatron", "datatrove", "dolma", "mds", "litdata", "arrow", "parquet"])
def test_a_dataset_in_another_format_has_the_same_documents(base: pathlib.Path, ids: list[list[int]], format: str):
    if format in ("arrow", "parquet"):
        pytest.importorskip("pyarrow")
    spec = make_spec(base, format, format=format, append_eot=False)
    made = build(spec, workers=1)
    dataset, empty = read_dataset(spec.folder), format in ("mds", "litdata")  # these hold no empty documents
    wanted = [each[:-1] for each in ids if len(each) > 1 or not empty]
    found = [each.tolist() for shard in dataset.shards for each in open_shard(spec.folder, dataset, shard)]
    assert found == wanted and len(ids) == made.documents
    joined = merge(spec.folder, base / f"{format}.bin", format="datatrove")
    assert [each.tolist() for each in open_documents(joined.path)] == wanted and joined.documents == len(wanted)
    assert all(not verify(spec.folder) and place.text for place in sample(spec.folder, 2))


def test_statistics_are_those_of_the_documents(base: pathlib.Path, ids: list[list[int]], tmp_path: pathlib.Path):
    found = stats(base / "out")
    lengths = np.array([len(each) for each in ids])
    seen: Counter[tuple[int, ...]] = Counter(map(tuple, ids))
    assert (found.documents, found.ids) == (len(ids), lengths.sum())
    assert found.duplicates == sum(count - 1 for count in seen.values()) >= 60
    assert found.duplicate_ids == sum((count - 1) * len(each) for each, count in seen.items())
    assert sum(count for _, count in found.histogram) == len(ids)
    for (least, count), (most, _) in zip(found.histogram, [*found.histogram[1:], (1 << 40, 0)]):
        assert count == ((lengths >= least) & (lengths < most)).sum()
    of = found.ids_per_document
    assert (of["least"], of["most"], of["median"]) == (
        lengths.min(),
        lengths.max(),
        np.sort(lengths)[len(ids) // 2 - 1 + len(ids) % 2],
    )
    assert abs(of["mean"] - lengths.mean()) < 1e-9
    assert json.loads(run("dataset", "stats", base / "out", "--json").stdout)["duplicates"] == found.duplicates
    assert "duplicate ids" in run("dataset", "stats", base / "out").stdout
    pytest.importorskip("matplotlib", reason="the plot needs matplotlib")
    run("dataset", "stats", base / "out", "--plot", tmp_path / "plot.svg")
    assert b"<svg" in (tmp_path / "plot.svg").read_bytes()


def test_samples_are_parts_of_the_documents(base: pathlib.Path):
    places = sample(base / "out", 20, seed=3, length=10)
    assert places == sample(base / "out", 20, seed=3, length=10) != sample(base / "out", 20, seed=4, length=10)
    assert len({place.document for place in places}) > 5
    for place in places:
        assert 1 <= place.ids <= 10
        text = place.text.removesuffix("<|endoftext|>")
        assert any(text in each for each in TEXTS)
    shown = json.loads(run("dataset", "sample", base / "out", "-n", "2", "--seed", "3", "--json").stdout)
    assert shown[0]["source"] == places[0].source
    said = run("dataset", "sample", base / "out", "-n", "20", "--seed", "3", "--length", "10").stdout
    assert all(f"\n{place.text}\n" in said for place in places)
    with pytest.raises(ValueError, match="another vocabulary"):
        sample(base / "out", encoding=streamtok.get_encoding("cl100k_base"))


def test_a_document_of_a_dataset_is_shown_with_the_encoding_that_made_it(base: pathlib.Path):
    for number in (0, 70, len(TEXTS) - 1):
        page = run("view", base / "out", "--document", number, "--html", "-").stdout
        want = streamtok.view_html(
            TEXTS[number] + "<|endoftext|>",
            "r50k_base",
            title=f"Tokens of document {number} of out",
            allowed_special="all",
        )
        assert page == str(want)
    said = run("view", base / "out", "--document", len(TEXTS), "--html", "-", status=1).stderr
    assert f"there is no document {len(TEXTS)}: the dataset has {len(TEXTS)}" in said
    assert (
        "another vocabulary"
        in run("view", base / "out", "--document", 0, "-e", "o200k_base", "--html", "-", status=1).stderr
    )


def test_what_needs_documents_says_so(base: pathlib.Path):
    spec = make_spec(base, "bare", index=False)
    build(spec, workers=1)
    for call in (stats, sample):
        with pytest.raises(ValueError, match="nothing says where documents end"):
            call(spec.folder)


def test_the_command_builds_and_verifies(base: pathlib.Path, tmp_path: pathlib.Path):
    make_corpus(tmp_path / "corpus", 2, 20)
    values = {"sources": ["corpus/*"], "output": "out", "encoding": "r50k_base", "shard_bytes": "4 KB"}
    (tmp_path / "spec.json").write_text(json.dumps(values))
    planned = json.loads(run("dataset", "plan", tmp_path / "spec.json", "--json").stdout)
    made = json.loads(run("dataset", "build", tmp_path / "spec.json", "--workers", "1", "--json").stdout)
    assert (made["shards"], made["documents"], made["failed"]) == (len(planned["shards"]), 40, [])
    run("dataset", "verify", tmp_path / "out")
    (tmp_path / "corpus" / "a-0.jsonl").write_text("no JSON\n")
    failed = run("dataset", "build", tmp_path / "spec.json", "--workers", "1", status=1)
    assert "not encoded: corpus/a-0.jsonl: " in failed.stderr
    assert "corpus/a-0.jsonl was not encoded" in run("dataset", "verify", tmp_path / "out", status=1).stdout
    with pytest.raises(ValueError, match="1 shards of this dataset failed"):
        merge(tmp_path / "out", tmp_path / "m.bin")
