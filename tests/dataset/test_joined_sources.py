"""Small files in a shard: what the plan joins, what a shard of several sources is, what a damaged one costs."""

from __future__ import annotations

import gzip
import pathlib

import pytest
from datasets import contents, documents, lines, make_corpus, make_spec

import streamtok
from streamtok.dataset import build, encode_shard, merge, plan, read_dataset, sample, stats, verify
from streamtok.dataset.manifest import sources_of
from streamtok.files import encode_file
from streamtok.files.formats import open_documents
from streamtok.files.run import FileRun


@pytest.fixture(name="small")
def _small(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Sixty small files, every third one compressed, and two large ones among them."""
    monkeypatch.chdir(tmp_path)
    folder = make_corpus(tmp_path / "corpus", 2, 200)
    for number in range(60):
        data = lines(["", "one"] if number == 9 else documents(number % 4, number))
        if number % 3:
            (folder / f"{'ab'[number % 2]}-{number:02}.jsonl").write_bytes(data)
        else:
            (folder / f"{'ab'[number % 2]}-{number:02}.jsonl.gz").write_bytes(gzip.compress(data, mtime=0))
    return tmp_path


def test_small_files_that_stand_behind_each_other_are_joined(small: pathlib.Path):
    spec = make_spec(small, shard_bytes=100_000)
    names = spec.source_names()
    shards = plan(names, spec.shard_bytes, base=str(small))
    assert [name for each in shards if each.range is None for name in each.sources] == [
        name for name in names if pathlib.Path(name).name != "a-0.jsonl"
    ]
    joined = [each for each in shards if each.joined]
    assert 3 <= len(joined) < 15 and sum(len(each.joined) for each in joined) >= 58
    assert all(each.size <= 25_000 and each.source == each.joined[0] and each.range is None for each in joined)
    assert plan(names, spec.shard_bytes, base=str(small)) == shards


@pytest.mark.parametrize("format", ["bin", "dolma", "mds"])
def test_joined_files_are_encoded_as_if_apart(small: pathlib.Path, format: str):
    spec = make_spec(small, shard_bytes=100_000, format=format, append_eot=format != "mds")
    made = build(spec, workers=2)
    assert made.is_complete and verify(spec.folder) == []
    assert [name for shard in made.shards for name, _ in sources_of(shard) if shard["range"] is None] == [
        name for name in spec.source_names() if not name.endswith("a-0.jsonl")
    ]
    enc, sources = streamtok.get_encoding("r50k_base"), [spec.path_of(name) for name in spec.source_names()]
    ids = [each.tolist() for each in open_documents_of(enc, sources, small, spec.append_eot)]
    total = stats(spec.folder)
    assert (total.ids, total.bytes) == (sum(map(len, ids)), made.bytes)
    if format == "mds":
        with pytest.raises(ValueError, match="has left out its empty ones"):
            merge(spec.folder, small / "o.npy", format="dolma")
        return
    encode_file(enc, spec.source_names(), small / "wanted.npy", format="dolma", append_eot=True)
    merge(spec.folder, small / "o.npy", format="dolma")
    for suffix in (".npy", ".csv.gz"):
        assert (small / f"o{suffix}").read_bytes() == (small / f"wanted{suffix}").read_bytes()
    for place in sample(spec.folder, 40):
        texts = list(open_documents_of(enc, [spec.path_of(place.source)], small, True))
        assert any(place.text in enc.decode(each.tolist()) for each in texts)


def open_documents_of(enc, sources, base, append_eot):
    encode_file(enc, sources, base / "single.bin", index=True, append_eot=append_eot)
    return open_documents(base / "single.bin", "bin")


def test_a_shard_of_several_sources_is_made_once(small: pathlib.Path):
    spec = make_spec(small, shard_bytes=100_000)
    names = next(each.joined for each in plan(spec.source_names(), 100_000, base=str(small)) if each.joined)
    (small / "out").mkdir()
    made = encode_shard(names, None, spec.folder, spec)
    before = contents(spec.folder)
    assert encode_shard(names, None, spec.folder, spec) == made and contents(spec.folder) == before
    assert [each["name"] for each in made.joined] == list(names)
    assert sum(each["documents"] for each in made.joined) == made.documents
    assert encode_shard(names[::-1], None, spec.folder, spec).name != made.name
    (small / names[1]).write_bytes(gzip.compress(lines(["other"])) if names[1].endswith("gz") else lines(["other"]))
    assert encode_shard(names, None, spec.folder, spec).name != made.name


def test_a_shard_that_was_interrupted_knows_the_documents_of_each_source(
    small: pathlib.Path, monkeypatch: pytest.MonkeyPatch
):
    spec = make_spec(small, shard_bytes=100_000)
    names = max((each.joined for each in plan(spec.source_names(), 100_000, base=str(small))), key=len)
    (small / "whole").mkdir()
    whole = encode_shard(names, None, small / "whole", spec)
    monkeypatch.setattr("streamtok.dataset.shard._POINTS", 900)
    (small / "cut").mkdir()
    tick, left = FileRun._tick, [0]

    def crash(*arguments: object) -> None:
        tick(*arguments)  # type: ignore[arg-type]
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt

    monkeypatch.setattr(FileRun, "_tick", crash)
    for count in (5, 4, 3):
        left[0] = count
        with pytest.raises(KeyboardInterrupt):
            encode_shard(names, None, small / "cut", spec)
    assert any(name.name.endswith(".journal") for name in (small / "cut").iterdir())
    assert encode_shard(names, None, small / "cut", spec) == whole
    assert contents(small / "cut") == contents(small / "whole")


def test_a_damaged_file_is_named_and_those_beside_it_are_encoded(small: pathlib.Path):
    spec = make_spec(small, shard_bytes=100_000)
    whole = contents(build(spec, workers=1) and spec.folder)
    good = (small / "corpus" / "a-06.jsonl.gz").read_bytes()
    (small / "corpus" / "a-06.jsonl.gz").write_bytes(good[:-5])
    (small / "corpus" / "b-07.jsonl").write_bytes(b'{"text": 5}\n')
    made = build(spec, workers=1)
    assert sorted(each["source"] for each in made.failed) == ["corpus/a-06.jsonl.gz", "corpus/b-07.jsonl"]
    found = {name for shard in made.shards for name, _ in sources_of(shard)}
    assert found == {*spec.source_names()} - {"corpus/a-06.jsonl.gz", "corpus/b-07.jsonl"}
    assert {line.split()[0] for line in verify(spec.folder) if "was not encoded" in line} == {
        each["source"] for each in made.failed
    }
    assert build(spec, workers=1) == made
    (small / "corpus" / "a-06.jsonl.gz").write_bytes(good)
    (small / "corpus" / "b-07.jsonl").write_bytes(lines(documents(3, 7)))
    assert build(spec, workers=1).is_complete and read_dataset(spec.folder).is_complete
    again = contents(spec.folder)  # shards that were replaced are gone
    assert again.keys() == whole.keys() and again["manifest.json"] == whole["manifest.json"]
    assert verify(spec.folder) == []
