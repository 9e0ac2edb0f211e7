"""Who builds tables of all frequent words, and when: never an error, whatever happens to the process."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pathlib
import signal
import time

import pytest
from cached import NAME, TEXT, leftovers, opened, packaged, put, spawn, uses_cache, wait_for

import streamtok
from streamtok import tables
from streamtok.bundled import builder, mapped
from streamtok.disk import cache_folder

# ==== Building ====


def test_build_find_and_remove(cache):
    assert tables.status() == {"use": "all", "folder": str(cache / "tables"), "built": {}}
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
    os.utime(lock, (time.time() - 100,) * 2)  # who made it was killed
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
        for path in cache.rglob("*.tables"):  # it was done before it was killed: the next one has to build again
            path.unlink()
    for path in cache.rglob("*.*"):
        os.utime(path, (1, 1))
    tables.build(NAME)
    assert uses_cache(opened())
    tables.remove()
    assert not list(cache.rglob("*.*"))


# ==== By itself ====


@pytest.fixture
def soon(monkeypatch) -> int:
    """Tables are built after this many bytes."""
    monkeypatch.setattr(builder, "BUILD_AFTER", 10_000)
    return 10_000


def encode_in_many_ways(encoding: streamtok.Encoding, text: str):
    data = text.encode()
    return {
        "encode": lambda: encoding.encode(text),
        "ordinary": lambda: encoding.encode_ordinary(text),
        "array": lambda: encoding.encode_to_numpy(data),
        "long str": lambda: encoding.encode_to_numpy("é" * 70_000),
        "threads": lambda: encoding.encode_to_numpy(data * 300, num_threads=2),
        "count": lambda: encoding.count(text),
        "batch": lambda: encoding.encode_batch([text] * 3, num_threads=2),
        "ragged": lambda: encoding.encode_ragged([text, data]),
        "offsets": lambda: encoding.encode_with_offsets(text),
        "feed": lambda: encoding.stream_encoder().feed(data),
        "stream": lambda: list(encoding.encode_stream([data])),
        "without pattern": lambda: encoding.__dict__.setdefault("bare", bare(encoding)).count(text),
    }


def bare(encoding: streamtok.Encoding) -> streamtok.Encoding:
    with pytest.warns(UserWarning, match="no pattern"):
        return encoding.without_pattern()


@pytest.mark.parametrize("way", list(encode_in_many_ways(packaged(), "")))
def test_every_call_counts(way, cache, soon, monkeypatch):
    begun: list[str] = []
    monkeypatch.setattr(builder, "build_aside", begun.append)
    encoding = opened()
    call = encode_in_many_ways(encoding, TEXT)[way]
    call()
    assert begun == [], "not before the call after"
    for _ in range(2 * soon // len(TEXT)):
        call()
    assert begun == [NAME], "once"


def test_files_count(cache, soon, monkeypatch, tmp_path):
    begun: list[str] = []
    monkeypatch.setattr(builder, "build_aside", begun.append)
    (tmp_path / "text").write_text(TEXT * 1000)
    opened().encode_file(tmp_path / "text", tmp_path / "ids", chunk_size=4096)
    assert begun == [NAME]


def test_what_is_due_may_raise_and_the_stream_stays_as_it_was(cache, soon):
    encoding = opened()
    stream, whole = encoding.stream_encoder(), TEXT * 200

    def interrupted():
        raise KeyboardInterrupt

    ids = stream.feed(whole).tolist()
    encoding._vocab.call_after(1, interrupted)
    with pytest.raises(KeyboardInterrupt):
        stream.feed("and more")
    ids += stream.feed("and more").tolist() + stream.flush().tolist()
    assert ids == packaged().encode(whole + "and more")


def test_a_process_that_encodes_much_builds_for_the_next(cache, soon):
    encoding = opened()
    assert not uses_cache(encoding)
    ids = [encoding.encode(TEXT) for _ in range(200)]
    wait_for(lambda: tables.status()["built"])
    wait_for(lambda: not leftovers(cache))
    ids += [encoding.encode(TEXT) for _ in range(200)]
    assert not uses_cache(encoding) and uses_cache(opened())
    assert all(one == packaged().encode(TEXT) for one in ids)


def test_whoever_has_them_builds_none(built, cache, soon, monkeypatch):
    begun: list[str] = []
    monkeypatch.setattr(builder, "build_aside", begun.append)
    put(built[NAME])
    encoding = opened()
    for _ in range(200):
        encoding.encode(TEXT)
    assert uses_cache(encoding) and begun == []


@pytest.mark.parametrize(("value", "reads"), [("found", True), ("package", False)])
def test_the_switch(value, reads, built, cache, soon, monkeypatch):
    begun: list[str] = []
    monkeypatch.setattr(builder, "build_aside", begun.append)
    monkeypatch.setenv("STREAMTOK_TABLES", value)
    encoding = opened()
    for _ in range(200):
        encoding.encode(TEXT)
    assert begun == [] and not uses_cache(encoding) and not cache.exists()
    put(built[NAME])
    assert uses_cache(opened()) == reads
    assert tables.status()["use"] == ("found" if reads else "package")


EXIT = """
import sys, time
from streamtok.bundled import builder
import streamtok
builder.BUILD_AFTER = 1000
enc = streamtok.get_encoding("r50k_base")
for _ in range(100):
    enc.encode("a text of many words " * 10)
time.sleep(float(sys.argv[1]))
"""


@pytest.mark.parametrize("moment", ["0", "0.02", "0.2", "0.4", "0.55"])
def test_a_process_may_end_while_it_builds(moment, cache):
    process = spawn(EXIT, moment)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output, errors) == (0, "", "")
    assert not list(cache.rglob("*.lock")), "nobody else has to wait"
    assert opened().encode(TEXT) == packaged().encode(TEXT)


FORK = """
import os, sys, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)
from streamtok.bundled import builder, mapped
import streamtok
builder.BUILD_AFTER = 1000
enc = streamtok.get_encoding("r50k_base")
text = "a text of many words " * 10
ids = [enc.encode(text) for _ in range(100)][0]
for _ in range(8):
    child = os.fork()
    if not child:
        ok = all(enc.encode(text) == ids for _ in range(100))
        other = streamtok.get_encoding("cl100k_base").encode(text)
        sys.exit(0 if ok and other else 1)
    assert os.waitpid(child, 0)[1] == 0
    time.sleep(0.06)
until = time.monotonic() + 60
while not os.path.exists(mapped.cached_file("r50k_base")) and time.monotonic() < until:
    time.sleep(0.02)
assert os.path.exists(mapped.cached_file("r50k_base")), "a child took the file away from its parent"
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_while_it_builds_goes_on(cache):
    process = spawn(FORK)
    output, errors = process.communicate(timeout=120)
    assert (process.returncode, output, errors) == (0, "", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_pool_of_forked_workers_builds_once(cache, soon):
    with contextlib.ExitStack() as stack:
        context = multiprocessing.get_context("fork")
        pool = stack.enter_context(context.Pool(2))
        for count in pool.map(count_much, range(4)):
            assert count == packaged().count(TEXT)
        wait_for(lambda: tables.status()["built"])
    assert uses_cache(opened())


def count_much(_: int) -> int:
    encoding = opened()
    return [encoding.count(TEXT) for _ in range(300)][-1]


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
    assert f"{NAME} 40.9 MB" in run("info") and str(cache) in run("info")
    assert "is no bundled encoding" in run("tables", "nothing", status=2)
    assert "removed" in run("tables", "--remove") and not tables.status()["built"]
