"""Files that training and encoding read back, changed in hundreds of ways: the documented errors, and no others."""

from __future__ import annotations

import copy
import json
import pathlib
import random
import shutil
import zlib
from collections.abc import Callable, Iterator

import oracle
import pytest

import streamtok
from streamtok.files import encode_file
from streamtok.train import ResumeError, checkpoint, load, save, train

TEXT = oracle.topics()[:3000].encode()
ODD = [None, True, -1, 0, 7, 1 << 70, 1.5, "", "x", "\ud800", "../up", [], [None], [-1], {}, {"name": 5}, "9" * 5000]


def places(value, path=()) -> Iterator[tuple]:
    """Where a JSON value can be changed."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inside:
        yield (*path, key)
        yield from places(each, (*path, key))


def mutated(record: dict, rng: random.Random) -> dict:
    """A copy with one to three values changed, taken out or moved."""
    record = json.loads(json.dumps(record))
    for _ in range(rng.choice((1, 1, 2, 3))):
        *path, key = rng.choice(list(places(record)))
        inside = record
        for each in path:
            inside = inside[each]
        if rng.random() < 0.2:
            del inside[key]
        else:
            inside[key] = copy.deepcopy(rng.choice(ODD))  # a list may be changed next
        if not record:
            return record
    return record


def damaged(data: bytes, rng: random.Random) -> bytes:
    """One change of bytes; sometimes a number becomes one of 10,000 digits."""
    at, kind = rng.randrange(len(data)), rng.randrange(5)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + data[at + rng.randint(1, 40) :]
    if kind == 2:
        return data[:at] + rng.randbytes(rng.randint(1, 8)) + data[at:]
    if kind == 3:
        digits = [i for i, byte in enumerate(data) if 48 <= byte < 58]
        at = rng.choice(digits) if digits else at
        return data[:at] + b"7" * 10_000 + data[at:]
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def refused_or_fine(call: Callable[[], object], *kinds: type[Exception]) -> bool:
    """Whether it was refused. Any other error fails the test."""
    try:
        call()
    except kinds as error:
        assert str(error)
        return True
    return False


@pytest.fixture(scope="module")
def stopped(tmp_path_factory) -> pathlib.Path:
    """The checkpoints of two runs: one has read a part of the text, one has merged."""
    folder = tmp_path_factory.mktemp("stopped")

    class Stop(Exception):
        pass

    def stop(at) -> None:
        calls.append(at)
        if len(calls) == 2:
            raise Stop

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streamtok.train.run.CHECKPOINT_SECONDS", 0.0)
        patch.setattr("streamtok.train.inputs.CHUNK", 500)
        (folder / "text").write_bytes(TEXT)
        calls: list[object] = []
        with pytest.raises(Stop):
            train([folder / "text"], 300, checkpoint=folder / "counting", progress=stop, threads=1)
        train([folder / "text"], 300, checkpoint=folder / "merging", threads=1)
    assert list((folder / "counting").glob("spill-*")) and list((folder / "merging").glob("state-*"))
    return folder


def go_on(stopped: pathlib.Path, folder: pathlib.Path) -> object:
    return train([stopped / "text"], 310, checkpoint=folder, threads=1)


@pytest.mark.parametrize("stage", ["counting", "merging"])
@pytest.mark.parametrize("forged", [False, True])
def test_a_damaged_train_json(stopped, stage, forged, tmp_path):
    """forged: with a correct checksum, so that the checks behind it run."""
    rng, refused = random.Random(f"{stage} {forged}"), 0
    record = json.loads((stopped / stage / "train.json").read_text())
    for _ in range(120):
        folder = tmp_path / "copy"
        shutil.copytree(stopped / stage, folder)
        changed = mutated(record, rng)
        if forged and "crc" in changed:
            changed["crc"] = checkpoint._sum_of(changed)
        (folder / "train.json").write_text(json.dumps(changed))
        kinds = (ValueError, OSError) if forged else (streamtok.VocabularyError, ResumeError)
        refused += refused_or_fine(lambda folder=folder: go_on(stopped, folder), *kinds)
        shutil.rmtree(folder)
    assert refused > (60 if forged else 115)


@pytest.mark.parametrize("stage", ["counting", "merging"])
def test_damaged_files_of_a_checkpoint(stopped, stage, tmp_path):
    rng, wanted = random.Random(stage), go_on(stopped, tmp_path / "anew")._mergeable_ranks
    names = sorted(path.name for path in (stopped / stage).iterdir() if path.name != "lock")
    for turn in range(60):
        folder = tmp_path / "copy"
        shutil.copytree(stopped / stage, folder)
        path = folder / names[turn % len(names)]
        path.write_bytes(damaged(path.read_bytes(), rng))
        try:
            assert go_on(stopped, folder)._mergeable_ranks == wanted
        except (streamtok.VocabularyError, ResumeError) as error:
            assert str(folder) in str(error)
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("saved")
    enc = train(TEXT, 330, special_tokens=["<|endoftext|>", "<|é|>"])
    for form in ("mine.tiktoken", "tokenizer.json", "folder"):
        save(enc, folder / form)
    return folder


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("mine.tiktoken", "mine.tiktoken"),
        ("mine.tiktoken", "mine.tiktoken.json"),
        ("tokenizer.json", "tokenizer.json"),
        ("folder", "folder/vocab.json"),
        ("folder", "folder/merges.txt"),
        ("folder", "folder/training.json"),
    ],
)
def test_a_damaged_saved_vocabulary(saved, form, name, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(saved, folder)
    path, rng = folder / name, random.Random(name)
    whole, refused = path.read_bytes(), 0
    record = json.loads(whole) if name.endswith(".json") else None
    for turn in range(150):
        if record is not None and turn % 2:
            path.write_text(json.dumps(mutated(record, rng), ensure_ascii=True))
        else:
            path.write_bytes(damaged(whole, rng))
        refused += refused_or_fine(lambda: load(folder / form), streamtok.VocabularyError)
    assert refused > 60


def test_a_number_of_many_digits_is_refused(saved, tmp_path):
    text = (saved / "tokenizer.json").read_text()
    at = text.index(": 300")
    path = tmp_path / "tokenizer.json"
    path.write_text(text[:at] + ": " + "3" * 10_000 + text[at + 5 :])
    with pytest.raises(streamtok.VocabularyError, match=r"no whole number from 0 to 2\*\*31 - 1"):
        load(path)


def test_a_damaged_journal(tmp_path, monkeypatch):
    """Entries with a right checksum, so that what they say is looked at, too."""
    monkeypatch.chdir(tmp_path)
    enc, rng, wanted = streamtok.get_encoding("r50k_base"), random.Random(3), None
    pathlib.Path("text").write_bytes(TEXT)
    options = {"chunk_size": 256, "journal_bytes": 500}

    class Stop(BaseException):
        pass

    def stop(at) -> None:
        if at.bytes_read > 1500:
            raise Stop

    encode_file(enc, "text", "wanted", **options)
    wanted = pathlib.Path("wanted").read_bytes()
    with pytest.raises(Stop):
        encode_file(enc, "text", "out", progress=stop, **options)
    left = {name: pathlib.Path(name).read_bytes() for name in ("out.partial", "out.journal")}
    lines = [json.loads(line[9:]) for line in left["out.journal"].splitlines()]
    for _ in range(150):
        for name, data in left.items():
            pathlib.Path(name).write_bytes(data)
        bodies = [json.dumps(mutated(line, rng) if rng.random() < 0.5 else line).encode() for line in lines]
        pathlib.Path("out.journal").write_bytes(b"".join(b"%08x %s\n" % (zlib.crc32(body), body) for body in bodies))
        if not refused_or_fine(lambda: encode_file(enc, "text", "out", resume=True, **options), ResumeError):
            assert len(pathlib.Path("out").read_bytes()) % 2 == 0 and len(wanted) > 0
