"""Who builds tables of all frequent words, and when: never an error, whatever happens to the process."""

from __future__ import annotations

import os
import pathlib
import signal
import time

import pytest
from cached import NAME, TEXT, leftovers, opened, packaged, spawn, uses_cache, wait_for

from streamtok import tables
from streamtok.bundled import builder, mapped
from streamtok.disk import cache_folder

# ==== Building ====


def test_build_find_and_remove(cache):
    assert tables.status() == {"use": "found", "folder": str(cache / "tables"), "built": {}, "models": {}}
    old = cache / "tables" / f"{NAME}-00000000.tables"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"of a version that is gone")
    os.utime(old, (1, 1))
    other = old.with_name(f"{NAME}-00000001.tables")
    other.write_bytes(b"of a version that is used")
    stale, fresh = (old.with_name(f"{NAME}-0.tables.{number}.partial") for number in (1, 2))
    stale.write_bytes(b"killed")
    os.utime(stale, (1, 1))
    fresh.write_bytes(b"being written")
    made = tables.build("gpt2", NAME)
    assert list(made) == [NAME] and made[NAME] == mapped.cached_file(NAME)
    assert not old.exists() and not stale.exists() and fresh.exists() and other.exists()
    assert tables.status()["built"] == {NAME: os.stat(made[NAME]).st_size}
    assert uses_cache(opened()) and uses_cache(opened("gpt2")) and not uses_cache(opened("p50k_base"))
    before = os.stat(made[NAME])
    assert tables.build(NAME) == made and os.path.samestat(os.stat(made[NAME]), before), "it was good"
    assert sorted(tables.remove()) == sorted([made[NAME], str(other)]) and tables.remove() == [] and fresh.exists()
    assert not uses_cache(opened())


def test_opening_notes_the_day(cache):
    made = tables.build(NAME)[NAME]
    for age, noted in ((cache_folder.DAY / 2, False), (2 * cache_folder.DAY, True), (-2 * cache_folder.DAY, True)):
        then = time.time() - age
        os.utime(made, (then, then))
        assert uses_cache(opened())
        assert (abs(os.stat(made).st_mtime - then) > 1) == noted


def test_an_unknown_name_is_refused(cache):
    for call in (tables.build, tables.remove):
        with pytest.raises(ValueError, match=r"'r50k' is no bundled encoding.*gpt2, r50k_base"):
            call("r50k")
    assert tables.vocabularies() == list(mapped.WORDS)
    assert tables.vocabularies(["o200k_harmony", "o200k_base"]) == ["o200k_base"]


BUILD = "import sys; from streamtok import tables; print(tables.build(sys.argv[1]))"


def test_processes_that_build_at_once_agree(cache):
    processes = [spawn(BUILD, NAME) for _ in range(3)]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0 and not errors
    assert uses_cache(opened()) and leftovers(cache) == []
    assert len(list(cache.rglob("*.tables"))) == 1


def test_one_process_builds_and_the_others_do_not_wait(cache):
    lock = pathlib.Path(builder.lock_of(mapped.cached_file(NAME)))
    assert cache_folder.take_lock(str(lock)) and not cache_folder.take_lock(str(lock))
    assert builder.build(NAME, patience=0) is None
    os.utime(lock, (time.time() - 100,) * 2)  # the process that made it was killed
    assert builder.build(NAME, patience=0) == mapped.cached_file(NAME)
    assert leftovers(cache) == []


def test_a_builder_that_never_ends_is_named(cache, monkeypatch):
    monkeypatch.setattr(builder, "build", lambda name: None)
    with pytest.raises(TimeoutError, match="another process is building the tables of r50k_base"):
        tables.build(NAME)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_a_killed_builder_leaves_nothing_that_hurts(cache):
    for moment in (0.0, 0.1, 0.3, 0.5, 0.6):
        process = spawn(BUILD, NAME)
        wait_for(lambda: leftovers(cache))
        time.sleep(moment)
        process.kill()
        process.communicate()
        assert opened().encode(TEXT) == packaged().encode(TEXT)
        for path in cache.rglob("*.lock"):
            os.utime(path, (1, 1))
        for path in cache.rglob("*.tables"):  # it was done before it was killed; the next has to build
            path.unlink()
    for path in cache.rglob("*.*"):
        os.utime(path, (1, 1))
    tables.build(NAME)
    assert uses_cache(opened())
    tables.remove()
    assert not list(cache.rglob("*.*"))


# ==== Nothing is built unasked ====

MUCH = """
import pathlib, streamtok
from streamtok.train import train
enc = streamtok.get_encoding("r50k_base")
text = "a text of many words, and more of them\\n" * 25_000
for _ in range(70):
    enc.count(text)
enc.stream_encoder().feed(text)
enc.encode_batch([text] * 3, num_threads=2)
pathlib.Path("text").write_text(text)
enc.encode_file("text", "ids")
train("text", 270)
"""


def test_a_process_that_encodes_much_writes_nothing_that_nobody_asked_for(tmp_path, monkeypatch):
    """70 MB, with all that names a cache folder unset."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    monkeypatch.chdir(work)
    for name in ("STREAMTOK_CACHE", "STREAMTOK_TABLES", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "USERPROFILE", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(home))
    process = spawn(MUCH)
    assert process.communicate(timeout=120) == ("", "") and process.returncode == 0
    assert not list(home.iterdir()) and sorted(os.listdir()) == ["ids", "text"]


# ==== The command ====


def test_the_command(cache):
    click_testing = pytest.importorskip("click.testing")
    pytest.importorskip("rich")
    from streamtok.cli.app import app

    def run(*arguments: str, status: int = 0) -> str:
        result = click_testing.CliRunner().invoke(app, arguments)
        assert result.exit_code == status, result.output
        return str(result.output)

    assert "there are none" in run("tables", "--remove")
    made = run("tables", "gpt2", NAME)
    assert made.count("MB") == 1 and mapped.cached_file(NAME) in made
    size = pathlib.Path(mapped.cached_file(NAME)).stat().st_size / 1e6
    assert size > 30 and f"{NAME} {size:.1f} MB" in run("info") and str(cache) in run("info")
    assert "is no bundled encoding" in run("tables", "nothing", status=2)
    assert "removed" in run("tables", "--remove") and not tables.status()["built"]
