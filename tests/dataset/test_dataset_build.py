"""A dataset is a function of its spec: the bytes are the same for any workers, order and interruptions."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import pathlib
import random

import numpy as np
import pytest
from datasets import contents, documents, lines, make_corpus, make_spec

import streamtok
from streamtok import disk
from streamtok.dataset import Build, build, encode_shard, plan, read_dataset, verify
from streamtok.dataset.build import work
from streamtok.dataset.manifest import name_of
from streamtok.files import ResumeError


@pytest.fixture
def corpus(tmp_path: pathlib.Path) -> pathlib.Path:
    make_corpus(tmp_path / "corpus")
    return tmp_path


def ids_of(folder: str) -> np.ndarray:
    dataset = read_dataset(folder)
    names = [shard["files"][0]["name"] for shard in dataset.shards]
    return np.concatenate([np.fromfile(os.path.join(folder, name), dataset.options["dtype"]) for name in names])


def test_ranges_cover_a_file_and_begin_at_lines(tmp_path: pathlib.Path):
    data = lines(documents(300)) + b'{"text": "no end of line"}'
    (tmp_path / "a.jsonl").write_bytes(data)
    for shard_bytes in (1, 100, 4096, len(data) - 1):
        ranges = [shard.range for shard in plan(["a.jsonl"], shard_bytes, base=str(tmp_path))]
        borders = [0] + [each.end for each in ranges]
        assert [each.begin for each in ranges] == borders[:-1] and borders[-1] == len(data)
        assert all(data[at - 1 : at] == b"\n" for at in borders[1:-1])
        assert all(each.end - each.begin >= shard_bytes for each in ranges[:-1])
    for name, kind in (("a.jsonl", "text"), ("a.jsonl", None)):
        whole = plan([name], 4096 if kind else len(data), base=str(tmp_path), documents=kind)
        assert [(each.range, each.size) for each in whole] == [(None, len(data))]
    with pytest.raises(ValueError, match="shard_bytes=0"):
        plan(["a.jsonl"], 0, base=str(tmp_path))


def test_the_ids_are_those_of_the_documents(corpus: pathlib.Path):
    spec = make_spec(corpus)
    made = build(spec, workers=1)
    encoding = streamtok.get_encoding("r50k_base")
    wanted = [encoding.encode(text) + [50256] for number in range(6) for text in documents(120, number)]
    assert ids_of(spec.folder).tolist() == [token for each in wanted for token in each]
    assert (made.documents, made.ids) == (720, sum(map(len, wanted))) and made.is_complete
    assert verify(spec.folder) == []


def test_any_order_and_number_of_workers_gives_the_same_files(corpus: pathlib.Path):
    build(make_spec(corpus, "one"), workers=1)
    build(make_spec(corpus, "two"), workers=2)
    spec = make_spec(corpus, "mixed")
    with Build(spec) as job:
        places = list(range(len(job.shards)))
        random.Random(1).shuffle(places)
        for place in places:
            job.take(place, work(spec, job.shards[place]))
        job.finish()
    assert contents(corpus / "one") == contents(corpus / "two") == contents(corpus / "mixed")


def test_finished_shards_are_not_made_again(corpus: pathlib.Path):
    spec, seen = make_spec(corpus), []
    build(spec, workers=1)
    before = contents(spec.folder)
    victim = next(name for name in before if name.endswith(".bin"))
    os.truncate(os.path.join(spec.folder, victim), 100)
    build(spec, workers=1, progress=seen.append)
    last = seen[-1]
    assert last.found == last.shards - 1 and contents(spec.folder) == before
    (made,) = (shard["ids"] for shard in read_dataset(spec.folder).shards if shard["files"][0]["name"] == victim)
    assert sum(last.rates.values()) == pytest.approx(made / last.seconds)  # the ids that this build made
    changed = corpus / "corpus" / "a-0.jsonl"
    os.utime(changed, ns=(1, 1))
    build(spec, workers=1, progress=seen.append)
    assert seen[-1].found == sum(shard["source"] != "corpus/a-0.jsonl" for shard in read_dataset(spec.folder).shards)


def test_a_shard_is_a_function_of_its_inputs(corpus: pathlib.Path):
    spec = make_spec(corpus)
    for folder in ("x", "y"):
        (corpus / folder).mkdir()
        encode_shard("corpus/a-1.jsonl.gz", None, corpus / folder, spec)
    made = encode_shard("corpus/a-1.jsonl.gz", None, corpus / "x", spec)  # found, not made
    assert contents(corpus / "x") == contents(corpus / "y") and len(contents(corpus / "x")) == 1 + len(made.files)
    other = encode_shard("corpus/a-1.jsonl.gz", None, corpus / "x", make_spec(corpus, append_eot=False))
    assert other.name != made.name and other.ids == made.ids - made.documents


def test_a_damaged_source_is_named_and_the_rest_is_finished(corpus: pathlib.Path):
    damaged = corpus / "corpus" / "a-1.jsonl.gz"
    damaged.write_bytes(damaged.read_bytes()[:-100])
    (corpus / "corpus" / "a-2.jsonl").write_text('{"text": 5}\n')
    spec = make_spec(corpus)
    made = build(spec, workers=2)
    assert [each["source"] for each in made.failed] == ["corpus/a-1.jsonl.gz", "corpus/a-2.jsonl"]
    assert "cannot be read past its byte" in made.failed[0]["error"] and "line 1" in made.failed[1]["error"]
    assert str(corpus) not in made.failed[0]["error"] + made.failed[1]["error"]
    assert {each["source"] for each in made.shards} == {f"corpus/a-{n}.jsonl{'.gz' * (n % 2)}" for n in (0, 3, 4, 5)}
    assert not made.is_complete and len(verify(spec.folder)) >= 2
    make_corpus(corpus / "corpus")
    assert build(spec, workers=1).is_complete and verify(spec.folder) == []


def test_another_vocabulary_or_option_in_the_same_folder_is_refused(corpus: pathlib.Path):
    build(make_spec(corpus), workers=1)
    before = contents(corpus / "out")
    for change, said in (
        ({"encoding": "cl100k_base"}, "the encoding was 'r50k_base' and is 'cl100k_base'"),
        ({"append_eot": False}, "option append_eot was True and is False"),
    ):
        with pytest.raises(ResumeError, match=f"another dataset: .*{said}.*choose another output"):
            build(make_spec(corpus, **change), workers=1)
    assert contents(corpus / "out") == before


def test_what_a_killed_process_left_of_a_manifest_is_removed(corpus: pathlib.Path):
    build(make_spec(corpus), workers=1)
    before = contents(corpus / "out")
    (corpus / "out" / f"{'0' * 32}.shard.json.123-0a1b2c3d.partial").write_bytes(b"{")
    build(make_spec(corpus), workers=1)
    assert contents(corpus / "out") == before


def test_two_builds_in_one_folder_do_not_meet(corpus: pathlib.Path):
    with Build(make_spec(corpus)):
        with pytest.raises(BlockingIOError, match="another build is writing this dataset"):
            build(make_spec(corpus), workers=1)
    build(make_spec(corpus), workers=1)


def test_a_full_disk_ends_the_build_and_loses_nothing(corpus: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    spec, left = make_spec(corpus), [40]
    original = disk.os_write

    def write(fd: int, data: memoryview) -> int:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return original(fd, data)

    with monkeypatch.context() as patch:
        patch.setattr(disk, "os_write", write)
        with pytest.raises(OSError, match="finished shards stay: put this right and build again") as caught:
            build(spec, workers=1)
    assert caught.value.errno == errno.ENOSPC and str(spec.folder) in str(caught.value.filename)
    with pytest.raises(FileNotFoundError):
        read_dataset(spec.folder)
    build(spec, workers=1)
    build(make_spec(corpus, "whole"), workers=1)
    assert contents(spec.folder) == contents(corpus / "whole")


def test_verify_finds_every_change(corpus: pathlib.Path):
    spec = make_spec(corpus)
    made = build(spec, workers=1)
    first, second = (os.path.join(spec.folder, shard["files"][0]["name"]) for shard in made.shards[:2])
    with open(first, "r+b") as file:
        file.write(b"\xff\xff")
    os.unlink(second)
    (corpus / "out" / "other.bin").write_bytes(b"")
    found = "\n".join(verify(spec.folder))
    assert "has other content" in found and "is missing" in found and "'other.bin' belongs to no shard" in found
    assert "other content" not in "\n".join(verify(spec.folder, is_quick=True))


@pytest.mark.parametrize("change", [{"ids": -1}, {"shards": [{}]}, {"kind": "shard"}, {"shards": 3}, {"more": 1}])
def test_a_manifest_of_an_enemy_is_refused(corpus: pathlib.Path, change: dict[str, object]):
    spec = make_spec(corpus)
    build(spec, workers=1)
    path = corpus / "out" / "manifest.json"
    record = json.loads(path.read_text())
    del record["sha256"]
    path.write_text(json.dumps(record | change))
    with pytest.raises(ValueError, match=r"manifest\.json: this is not the manifest of a dataset"):
        read_dataset(spec.folder)
    file = record["shards"][0]["files"][0]
    for name in ("../../secret", "/secret", "a\0b", "."):
        file["name"] = name
        path.write_text(json.dumps(record))
        with pytest.raises(ValueError, match="this is not the manifest"):
            read_dataset(spec.folder)


def test_a_manifest_counts_no_negative_documents_of_a_source(corpus: pathlib.Path):
    build(make_spec(corpus), workers=1)
    path = corpus / "out" / "manifest.json"
    record = json.loads(path.read_text())
    del record["sha256"]
    shard = record["shards"][0]
    for more, is_right in ((1, True), (-1, False)):
        shard["joined"] = [["a", shard["documents"] - more], ["b", more]]
        path.write_text(json.dumps(record))
        with contextlib.nullcontext() if is_right else pytest.raises(ValueError, match="this is not the manifest"):
            read_dataset(corpus / "out")


def test_the_name_of_a_shard_stays_the_same_over_releases():
    """Others would be made of sources that are finished."""
    assert name_of({"b": 1, "a": [2, "c"]}) == hashlib.sha256(b'{"a":[2,"c"],"b":1}').hexdigest()[:32]
