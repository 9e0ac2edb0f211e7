"""Tables of all frequent words in the user's cache: the same ids, and no error, whatever happens to file and folder."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
import types

import nasty
import oracle
import pytest

import streamtok
from streamtok import _cache, _tables, _vocab, table_builder, tables

NAME = "r50k_base"
TEXT = "Frequent words, and unfrequentable ones: юбилейный, भारतीय, 数据. " * 3


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> dict[str, pathlib.Path]:
    """The tables of three vocabularies, one for each way to split; not to be changed."""
    folder = tmp_path_factory.mktemp("built")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STREAMTOK_CACHE", str(folder))
        return {name: pathlib.Path(tables.build(name)[name]) for name in oracle.FAMILIES}


@pytest.fixture
def cache(tmp_path, monkeypatch) -> pathlib.Path:
    """An empty cache folder, and a process that has built nothing yet."""
    monkeypatch.setenv("STREAMTOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("STREAMTOK_TABLES", raising=False)
    monkeypatch.setattr(table_builder, "_begun", set())
    return tmp_path / "cache"


def put(path: pathlib.Path, name: str = NAME) -> pathlib.Path:
    """Puts a file where the tables of a vocabulary belong; as a link, so that no bytes are copied."""
    place = pathlib.Path(_tables.cached_file(name))
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    os.link(path, place)
    return place


def opened(name: str = NAME) -> streamtok.Encoding:
    """The encoding anew, as a new process would open it."""
    return streamtok.registry.ENCODING_CONSTRUCTORS[name].build()  # type: ignore[attr-defined]


def uses_cache(encoding: streamtok.Encoding) -> bool:
    return table_builder.is_cached(encoding._vocab.path)


def leftovers(cache: pathlib.Path) -> list[str]:
    return sorted(path.name for path in cache.rglob("*") if path.is_file() and path.suffix != ".tables")


def wait_for(condition, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it never happened"
        time.sleep(0.02)


# ==== The ids ====


@pytest.mark.parametrize("name", oracle.FAMILIES)
def test_ids_are_the_same(name, built, cache):
    put(built[name], name)
    full, packaged, rng = opened(name), oracle.ours(name), random.Random(name)
    assert uses_cache(full) and full._vocab.path != packaged._vocab.path
    for text in (*nasty.random_strings(rng, 1500, 300), oracle.topics(), oracle.stdlib_sources(500_000)):
        expected = packaged.encode_ordinary(text)
        assert full.encode_ordinary(text) == expected
        if len(text) < 300:
            assert (
                oracle.streamed(full.stream_encoder(disallowed_special=()), oracle.random_cuts(rng, text)) == expected
            )


@pytest.mark.parametrize("name", oracle.FAMILIES)
def test_every_word_has_the_ids_that_merging_gives(name, built, cache):
    put(built[name], name)
    full, rng = opened(name), random.Random(3)
    joined, lengths = streamtok._words.read_words(_tables.WORDS[name][0])
    at, count = 0, 0
    for n in lengths:
        if rng.random() < 0.02:
            word = joined[at : at + n]
            assert full._coder.encode_piece(word) == full._vocab.merge(word)
            count += 1
        at += n
    assert count > 5000


@pytest.mark.parametrize("name", oracle.FAMILIES)
@pytest.mark.parametrize("text", ["english", "code", "multilingual"])
def test_ids_of_corpora_are_the_same(name, text, built, cache):
    corpus = oracle.corpus(text)[:3_000_000]
    put(built[name], name)
    full, packaged, rng = opened(name), oracle.ours(name), random.Random(text)
    expected = packaged.encode_to_numpy(corpus, disallowed_special=())
    oracle.assert_same(full.encode_to_numpy(corpus, disallowed_special=()), expected, packaged)
    chunks = oracle.random_cuts(rng, corpus.encode(), (1, 100, 4096, 70_000))
    oracle.assert_same(oracle.streamed(full.stream_encoder(disallowed_special=()), chunks), expected, packaged)


TIER = """
import hashlib, os, random, sys
import nasty, oracle, streamtok
from streamtok import table_builder
assert streamtok.info()["simd"] == os.environ["STREAMTOK_TIER"]
enc, digest = streamtok.get_encoding(sys.argv[1]), hashlib.sha256()
for text in (*nasty.random_strings(random.Random(5), 1000, 300), oracle.topics()):
    digest.update(enc.encode_to_numpy(text, disallowed_special=()).tobytes())
print(table_builder.is_cached(enc._vocab.path), digest.hexdigest())
"""


def test_every_tier_gives_the_same_ids(built, cache):
    tiers = {"portable", streamtok.info()["simd"]} | ({"avx2"} if streamtok.info()["simd"] == "avx512" else set())
    for name in oracle.FAMILIES:
        put(built[name], name)
        digests = set()
        for tier in tiers:
            for wanted in ("found", "package"):
                here = os.pathsep.join((str(oracle.PROJECT), str(oracle.PROJECT / "tests")))
                environment = {**os.environ, "STREAMTOK_TIER": tier, "STREAMTOK_TABLES": wanted, "PYTHONPATH": here}
                command = [sys.executable, "-c", TIER, name]
                said = subprocess.check_output(command, env=environment, text=True, timeout=120).split()
                assert said[0] == str(wanted == "found")
                digests.add(said[1])
        assert len(digests) == 1


# ==== Damage ====


def test_every_damaged_byte_is_noticed_and_the_file_removed(built, cache, tmp_path):
    """The file is dropped, the package's is used, and so it is built again."""
    copy, rng = tmp_path / "copy", random.Random(4)
    copy.write_bytes(built[NAME].read_bytes())
    size = copy.stat().st_size
    places = [*range(0, 256, 8), *range(256, 3000, 97), *(rng.randrange(size) for _ in range(60)), size - 1]
    with copy.open("r+b", buffering=0) as file:
        for at in places:
            place = put(copy)
            byte = os.pread(file.fileno(), 1, at)[0]
            os.pwrite(file.fileno(), bytes([byte ^ 1 << rng.randrange(8)]), at)
            assert _tables.open_cached(NAME, {}) is None, at
            assert not place.exists()
            os.pwrite(file.fileno(), bytes([byte]), at)
    put(copy)
    assert uses_cache(opened())


@pytest.mark.parametrize("content", [b"", b"x", bytes(255), bytes(256), bytes(257), bytes(100_000)])
def test_another_file_is_removed(content, cache, tmp_path):
    (tmp_path / "other").write_bytes(content)
    place = put(tmp_path / "other")
    assert opened().encode(TEXT) == oracle.ours(NAME).encode(TEXT)
    assert not place.exists()


def test_a_cut_file_is_removed(built, cache, tmp_path):
    data = built[NAME].read_bytes()
    for size in (100, 256, 300, 4096, len(data) // 2, len(data) - 1):
        (tmp_path / "cut").write_bytes(data[:size])
        place = put(tmp_path / "cut")
        assert not uses_cache(opened()) and not place.exists()
    (tmp_path / "cut").write_bytes(data + b"\0")
    put(tmp_path / "cut")
    assert not uses_cache(opened())


def test_tables_of_another_vocabulary_are_not_used(built, cache):
    place = put(built["cl100k_base"])
    assert opened().encode(TEXT) == oracle.ours(NAME).encode(TEXT)
    assert not place.exists()


def test_tables_of_another_version_are_not_used(built, cache, monkeypatch):
    old = put(built[NAME])
    monkeypatch.setattr(_tables, "__version__", "9.9")
    assert pathlib.Path(_tables.cached_file(NAME)) != old
    assert not uses_cache(opened()) and old.exists()
    place = put(built[NAME])  # under the name of the other version
    assert not uses_cache(opened()) and not place.exists()
    monkeypatch.setattr(_vocab, "IMAGE_VERSION", 99)
    assert pathlib.Path(_tables.cached_file(NAME)) not in (old, place)


def test_files_that_cannot_be_read_are_passed_over(built, cache, monkeypatch):
    place = put(built[NAME])
    real = open

    def refuse(path, *arguments):
        if os.fspath(path) == str(place):
            raise PermissionError(13, "Permission denied", path)
        return real(path, *arguments)

    monkeypatch.setattr(_tables, "open", refuse, raising=False)
    assert not uses_cache(opened()) and place.exists()
    monkeypatch.undo()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owner here")
def test_tables_of_another_user_are_not_used(built, cache, monkeypatch):
    place = put(built[NAME])
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    ours = place.stat().st_uid in (0, 12345)
    assert uses_cache(opened()) == ours and place.exists()
    if os.getuid() == 0:
        os.chown(place, 4321, -1)
        assert not uses_cache(opened())
        os.chown(place, 0, -1)


def test_a_folder_in_its_place_is_passed_over(cache):
    pathlib.Path(_tables.cached_file(NAME)).mkdir(parents=True)
    assert not uses_cache(opened())
    with pytest.raises(OSError):
        table_builder.build(NAME)
    assert leftovers(cache) == []


# ==== Folders ====


def test_the_folder_is_the_users(monkeypatch):
    monkeypatch.delenv("STREAMTOK_CACHE")
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert _cache.folder() == "/somewhere/streamtok"
    for unusable in ("", "relative/folder"):
        monkeypatch.setenv("XDG_CACHE_HOME", unusable)
        assert _cache.folder() == "/home/somebody/.cache/streamtok"
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    with pytest.raises(FileNotFoundError, match="STREAMTOK_CACHE"):
        _cache.folder()
    assert not uses_cache(opened()) and tables.status()["folder"] is None
    with pytest.raises(FileNotFoundError):
        tables.build(NAME)


@pytest.mark.parametrize("kind", ["file", "read-only", "full"])
def test_where_nothing_can_be_written_the_packages_tables_stay_in_use(kind, cache, monkeypatch):
    if kind == "file":
        cache.write_bytes(b"in the way")
    elif kind == "full":
        monkeypatch.setattr("shutil.disk_usage", lambda path: types.SimpleNamespace(free=1000))
    else:
        real = os.open

        def refuse(path, flags, *mode):
            if flags & os.O_CREAT:
                raise PermissionError(13, "Permission denied", path)
            return real(path, flags, *mode)

        monkeypatch.setattr(os, "open", refuse)
    assert opened().encode(TEXT) == oracle.ours(NAME).encode(TEXT)
    with pytest.raises(OSError):
        tables.build(NAME)
    table_builder._build_quietly(NAME)
    assert not uses_cache(opened())
    assert kind == "file" or leftovers(cache) == []


def test_a_disk_that_is_full_in_the_middle_leaves_nothing_behind(cache, monkeypatch):
    def fail(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        tables.build(NAME)
    assert list(cache.rglob("*.*")) == []


# ==== Building ====


def test_build_find_and_remove(cache):
    assert tables.status() == {"use": "all", "folder": str(cache / "tables"), "built": {}}
    old = cache / "tables" / f"{NAME}-00000000.tables"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"of another version")
    stale, fresh = (old.with_name(f"{NAME}-0.tables.{number}.partial") for number in (1, 2))
    stale.write_bytes(b"killed")
    os.utime(stale, (1, 1))
    fresh.write_bytes(b"being written")
    made = tables.build("gpt2", NAME)
    assert list(made) == [NAME] and made[NAME] == _tables.cached_file(NAME)
    assert not old.exists() and not stale.exists() and fresh.exists()
    assert tables.status()["built"] == {NAME: os.stat(made[NAME]).st_size}
    assert uses_cache(opened()) and uses_cache(opened("gpt2")) and not uses_cache(opened("p50k_base"))
    before = os.stat(made[NAME])
    assert tables.build(NAME) == made and os.path.samestat(os.stat(made[NAME]), before), "it was good"
    assert sorted(tables.remove()) == sorted([made[NAME], str(fresh)]) and tables.remove() == []
    assert not uses_cache(opened())


def test_an_unknown_name_is_refused(cache):
    for call in (tables.build, tables.remove):
        with pytest.raises(ValueError, match=r"'r50k' is no bundled encoding.*gpt2, r50k_base"):
            call("r50k")
    assert tables.vocabularies() == list(_tables.WORDS)
    assert tables.vocabularies(["o200k_harmony", "o200k_base"]) == ["o200k_base"]


BUILD = "import sys; from streamtok import tables; print(tables.build(sys.argv[1]))"


def spawn(code: str, *arguments: str) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(oracle.PROJECT), str(oracle.PROJECT / "tests")))}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_processes_that_build_at_once_agree(cache):
    processes = [spawn(BUILD, NAME) for _ in range(3)]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0 and not errors
    assert uses_cache(opened()) and leftovers(cache) == []
    assert len(list(cache.rglob("*.tables"))) == 1


def test_one_process_builds_and_the_others_do_not_wait(cache):
    lock = pathlib.Path(table_builder.lock_of(_tables.cached_file(NAME)))
    assert _cache.take_lock(str(lock)) and not _cache.take_lock(str(lock))
    assert table_builder.build(NAME, patience=0) is None
    os.utime(lock, (time.time() - 100,) * 2)  # who made it was killed
    assert table_builder.build(NAME, patience=0) == _tables.cached_file(NAME)
    assert leftovers(cache) == []


def test_a_builder_that_never_ends_is_named(cache, monkeypatch):
    monkeypatch.setattr(table_builder, "build", lambda name: None)
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
        assert opened().encode(TEXT) == oracle.ours(NAME).encode(TEXT)
        for path in cache.rglob("*.lock"):
            os.utime(path, (1, 1))
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
    monkeypatch.setattr(table_builder, "BUILD_AFTER", 10_000)
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


@pytest.mark.parametrize("way", list(encode_in_many_ways(oracle.ours(NAME), "")))
def test_every_call_counts(way, cache, soon, monkeypatch):
    begun: list[str] = []
    monkeypatch.setattr(table_builder, "build_aside", begun.append)
    encoding = opened()
    call = encode_in_many_ways(encoding, TEXT)[way]
    call()
    assert begun == [], "not before the call after"
    for _ in range(2 * soon // len(TEXT)):
        call()
    assert begun == [NAME], "once"


def test_files_count(cache, soon, monkeypatch, tmp_path):
    begun: list[str] = []
    monkeypatch.setattr(table_builder, "build_aside", begun.append)
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
    assert ids == oracle.ours(NAME).encode(whole + "and more")


def test_a_process_that_encodes_much_builds_for_the_next(cache, soon):
    encoding = opened()
    assert not uses_cache(encoding)
    ids = [encoding.encode(TEXT) for _ in range(200)]
    wait_for(lambda: tables.status()["built"])
    wait_for(lambda: not leftovers(cache))
    ids += [encoding.encode(TEXT) for _ in range(200)]
    assert not uses_cache(encoding) and uses_cache(opened())
    assert all(one == oracle.ours(NAME).encode(TEXT) for one in ids)


def test_whoever_has_them_builds_none(built, cache, soon, monkeypatch):
    begun: list[str] = []
    monkeypatch.setattr(table_builder, "build_aside", begun.append)
    put(built[NAME])
    encoding = opened()
    for _ in range(200):
        encoding.encode(TEXT)
    assert uses_cache(encoding) and begun == []


@pytest.mark.parametrize(("value", "reads"), [("found", True), ("package", False), ("no", False)])
def test_the_switch(value, reads, built, cache, soon, monkeypatch):
    begun: list[str] = []
    monkeypatch.setattr(table_builder, "build_aside", begun.append)
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
from streamtok import table_builder
import streamtok
table_builder.BUILD_AFTER = 1000
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
    assert leftovers(cache) == [], "nobody else has to wait"
    assert opened().encode(TEXT) == oracle.ours(NAME).encode(TEXT)


FORK = """
import os, sys, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)
from streamtok import table_builder, _tables
import streamtok
table_builder.BUILD_AFTER = 1000
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
while not os.path.exists(_tables.cached_file("r50k_base")) and time.monotonic() < until:
    time.sleep(0.02)
assert os.path.exists(_tables.cached_file("r50k_base")), "a child took the file away from its parent"
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
            assert count == oracle.ours(NAME).count(TEXT)
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
    assert made.count("MB") == 1 and _tables.cached_file(NAME) in made
    assert f"{NAME} 40.9 MB" in run("info") and str(cache) in run("info")
    assert "is no bundled encoding" in run("tables", "nothing", status=2)
    assert "removed" in run("tables", "--remove") and not tables.status()["built"]
