"""Every system call fails once, in files, tables and training: the error names the file, no result is wrong, and the
next run succeeds."""

from __future__ import annotations

import os
import pathlib
import shutil

import oracle
import pytest
from cached import NAME, TEXT, opened, packaged
from click.testing import CliRunner
from faults import CALLS, Fault, each_fault
from file_runs import Crash, _enc, _here, encode, expected, leftovers, without_leases  # noqa: F401

from streamtok import tables
from streamtok.bundled import mapped
from streamtok.cli.app import app
from streamtok.train import load, save, train

WRITES = [name for name in CALLS if name != "os_mmap"]
LEARNED = oracle.topics()[:4000].encode()


def clear() -> None:
    for name in os.listdir():
        if name.startswith("out.bin"):
            os.unlink(name)


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("run", ["text", "lines"])
def test_faults_of_a_run(enc, here, monkeypatch, name, run):
    wanted = expected(enc, run)
    if name == "os_readv":
        without_leases(monkeypatch)  # the file is read back only then

    def after(error):
        assert not os.path.exists("out.bin") or pathlib.Path("out.bin").read_bytes() == wanted
        assert error is not None or name == "os_unlink"
        encode(enc, run, resume=True)
        assert pathlib.Path("out.bin").read_bytes() == wanted and leftovers() == []
        clear()

    step = 11 if name in ("os_write", "os_fsync") else 1  # test_files_crash.py fails each of these
    assert each_fault(name, lambda: encode(enc, run), after, step) >= (0 if name == "os_read" else 1)


@pytest.mark.parametrize("name", WRITES)
def test_faults_of_a_run_that_goes_on(enc, here, name):
    wanted = expected(enc)

    def stop(at):
        if at.bytes_read >= 2500:
            raise Crash

    with pytest.raises(Crash):
        encode(enc, progress=stop)
    left = {each: pathlib.Path(each).read_bytes() for each in leftovers()}

    def put_back():
        clear()
        for each, data in left.items():
            pathlib.Path(each).write_bytes(data)

    def work():
        put_back()
        encode(enc, resume=True)

    def after(error):
        assert not os.path.exists("out.bin") or pathlib.Path("out.bin").read_bytes() == wanted
        encode(enc, resume=True)
        assert pathlib.Path("out.bin").read_bytes() == wanted and leftovers() == []

    step = 5 if name in ("os_write", "os_fsync") else 1
    assert each_fault(name, work, after, step) >= (0 if name in ("os_open", "os_read") else 1)


@pytest.mark.parametrize("name", WRITES)
def test_faults_of_decode(here, name):
    ids = oracle.ours("cl100k_base").encode_to_numpy("some text " * 50)
    pathlib.Path("ids.bin").write_bytes(ids.tobytes())
    command = ["decode", "-e", "cl100k_base", "ids.bin", "-o", "out.bin"]
    index = 0
    while True:
        with pytest.MonkeyPatch.context() as patch:
            fault = Fault(patch, name, index)
            done = CliRunner().invoke(app, command)
        if not fault.hit:
            break
        assert done.exit_code == 1 and "out.bin" in done.output, done.output
        assert not os.path.exists("out.bin") or pathlib.Path("out.bin").read_bytes() == b"some text " * 50
        assert CliRunner().invoke(app, command).exit_code == 0
        assert pathlib.Path("out.bin").read_bytes() == b"some text " * 50
        clear()
        index += 1


# ==== Tables ====


@pytest.mark.parametrize("name", list(CALLS))
def test_faults_of_loading_tables(name, built, cache, tmp_path):
    place = pathlib.Path(mapped.cached_file(NAME))
    place.parent.mkdir(parents=True)

    def work():
        shutil.copyfile(built[NAME], place)
        assert opened().encode(TEXT) == packaged().encode(TEXT)

    def after(error):
        assert error is None, "the package's tables take their place"
        assert opened().encode(TEXT) == packaged().encode(TEXT)

    each_fault(name, work, after)


@pytest.mark.parametrize("name", list(CALLS))
def test_faults_of_loading_the_packages_tables(name, cache, monkeypatch):
    monkeypatch.setenv("STREAMTOK_TABLES", "package")
    ids = packaged().encode(TEXT)

    def after(error):
        assert opened().encode(TEXT) == ids

    each_fault(name, lambda: opened().encode(TEXT), after)


@pytest.mark.parametrize("name", list(CALLS))
def test_faults_of_building_tables(name, built, cache, monkeypatch):
    made = mapped.open_packaged(NAME, {})
    monkeypatch.setattr(mapped, "build_all_words", lambda name: made)

    def work():
        shutil.rmtree(cache, ignore_errors=True)
        tables.build(NAME)

    def after(error):
        assert not [path for path in cache.rglob("*") if path.suffix in (".partial", ".lock")] or name == "os_unlink"
        tables.build(NAME)
        assert opened()._vocab.path == mapped.cached_file(NAME)
        assert opened().encode(TEXT) == packaged().encode(TEXT)

    each_fault(name, work, after)


# ==== Training ====


@pytest.mark.parametrize("name", WRITES)
def test_faults_of_a_checkpoint(name, tmp_path, monkeypatch):
    monkeypatch.setattr("streamtok.train.run.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr("streamtok.train.run._WORK", 3000)
    monkeypatch.setattr("streamtok.train.inputs.CHUNK", 1500)
    (tmp_path / "text").write_bytes(LEARNED)
    folder = tmp_path / "checkpoint"

    def learn():
        return train([tmp_path / "text"], 280, checkpoint=folder, threads=1)._mergeable_ranks

    wanted = learn()
    shutil.rmtree(folder)

    def after(error):
        assert error is not None or name == "os_unlink"
        assert learn() == wanted
        assert not list(folder.glob("*.partial"))
        shutil.rmtree(folder)

    each_fault(name, learn, after, {"os_replace": 1, "os_write": 5, "os_fsync": 5}.get(name, 25))


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("form", ["a.tiktoken", "tokenizer.json", "folder"])
def test_faults_of_saving(name, form, tmp_path):
    old, new = train(LEARNED, 270), train(LEARNED, 280)

    def work():
        save(old, tmp_path / form)
        save(new, tmp_path / form)

    def after(error):
        assert not list(tmp_path.rglob("*.partial")) or name == "os_unlink"
        save(new, tmp_path / form)
        assert load(tmp_path / form)._mergeable_ranks == new._mergeable_ranks

    each_fault(name, work, after)
