"""Tables of all frequent words in the user's cache: the same ids, and no error, whatever happens to file and folder."""

from __future__ import annotations

import os
import pathlib
import random
import subprocess
import sys
import types

import nasty
import oracle
import pytest
from cached import NAME, TEXT, digest, leftovers, opened, packaged, put, uses_cache

import streamtok
from streamtok import disk, tables
from streamtok.bundled import builder, mapped
from streamtok.disk import cache_folder

# ==== The ids ====


@pytest.mark.parametrize("name", oracle.FAMILIES)
def test_ids_are_the_same(name, built, cache):
    put(built[name], name)
    full, plain, rng = opened(name), packaged(name), random.Random(name)
    assert uses_cache(full) and full._vocab.path != plain._vocab.path
    for text in (*nasty.random_strings(rng, 1500, 300), oracle.topics(), oracle.stdlib_sources(500_000)):
        expected = plain.encode_ordinary(text)
        assert full.encode_ordinary(text) == expected
        if len(text) < 300:
            assert (
                oracle.streamed(full.stream_encoder(disallowed_special=()), oracle.random_cuts(rng, text)) == expected
            )


@pytest.mark.parametrize("name", oracle.FAMILIES)
def test_every_word_has_the_ids_that_merging_gives(name, built, cache):
    put(built[name], name)
    full, rng = opened(name), random.Random(3)
    joined, lengths = streamtok.bundled.words.read_words(mapped.WORDS[name][0])
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
    full, plain, rng = opened(name), packaged(name), random.Random(text)
    expected = plain.encode_to_numpy(corpus, disallowed_special=())
    oracle.assert_same(full.encode_to_numpy(corpus, disallowed_special=()), expected, plain)
    chunks = oracle.random_cuts(rng, corpus.encode(), (1, 100, 4096, 70_000))
    oracle.assert_same(oracle.streamed(full.stream_encoder(disallowed_special=()), chunks), expected, plain)


TIER = """
import os, sys
import cached, streamtok
assert streamtok.info()["simd"] == os.environ["STREAMTOK_TIER"]
for name in sys.argv[1:]:
    assert cached.uses_cache(streamtok.get_encoding(name))
    print(cached.digest(streamtok.get_encoding(name)))
"""


def test_every_tier_gives_the_same_ids(built, cache):
    best = streamtok.info()["simd"]
    for name in oracle.FAMILIES:
        put(built[name], name)
    for tier in {"portable", best} | ({"avx2"} if best == "avx512" else set()):
        here = os.pathsep.join((str(oracle.PROJECT), str(oracle.PROJECT / "tests" / "support")))
        environment = {**os.environ, "STREAMTOK_TIER": tier, "PYTHONPATH": here}
        command = [sys.executable, "-c", TIER, *oracle.FAMILIES]
        digests = subprocess.check_output(command, env=environment, text=True, timeout=120).split()
        assert digests == [digest(packaged(name)) for name in oracle.FAMILIES]


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
            assert mapped.open_cached(NAME, {}) is None, at
            assert not place.exists()
            os.pwrite(file.fileno(), bytes([byte]), at)
    put(copy)
    assert uses_cache(opened())


@pytest.mark.parametrize("content", [b"", b"x", bytes(255), bytes(256), bytes(257), bytes(100_000)])
def test_another_file_is_removed(content, cache, tmp_path):
    (tmp_path / "other").write_bytes(content)
    place = put(tmp_path / "other")
    assert opened().encode(TEXT) == packaged().encode(TEXT)
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
    assert opened().encode(TEXT) == packaged().encode(TEXT)
    assert not place.exists()


def test_tables_of_another_version_are_not_used(built, cache, monkeypatch):
    old = put(built[NAME])
    monkeypatch.setattr(mapped, "__version__", "9.9")
    assert pathlib.Path(mapped.cached_file(NAME)) != old
    assert not uses_cache(opened()) and old.exists()
    place = put(built[NAME])  # under the name of the other version
    assert not uses_cache(opened()) and not place.exists()
    monkeypatch.setattr(mapped, "IMAGE_VERSION", 99)
    assert pathlib.Path(mapped.cached_file(NAME)) not in (old, place)


def test_files_that_cannot_be_read_are_passed_over(built, cache, monkeypatch):
    place = put(built[NAME])
    real = disk.os_open

    def refuse(path, *arguments):
        if os.fspath(path) == str(place):
            raise PermissionError(13, "Permission denied", path)
        return real(path, *arguments)

    monkeypatch.setattr(disk, "os_open", refuse)
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
    pathlib.Path(mapped.cached_file(NAME)).mkdir(parents=True)
    assert not uses_cache(opened())
    with pytest.raises(OSError):
        builder.build(NAME)
    assert leftovers(cache) == []


# ==== Folders ====


def test_the_folder_is_the_users(monkeypatch):
    monkeypatch.delenv("STREAMTOK_CACHE")
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder.folder() == "/somewhere/streamtok"
    for unusable in ("", "relative/folder"):
        monkeypatch.setenv("XDG_CACHE_HOME", unusable)
        assert cache_folder.folder() == "/home/somebody/.cache/streamtok"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache_folder.folder() == "/home/somebody/Library/Caches/streamtok"
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    with pytest.raises(FileNotFoundError, match="STREAMTOK_CACHE"):
        cache_folder.folder()
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
        monkeypatch.setattr(disk, "os_open", refuse)
    assert opened().encode(TEXT) == packaged().encode(TEXT)
    with pytest.raises(OSError):
        tables.build(NAME)
    assert kind == "file" or leftovers(cache) == []
    assert not uses_cache(opened())


def test_a_disk_that_is_full_in_the_middle_leaves_nothing_behind(cache, monkeypatch):
    def fail(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk, "os_replace", fail)
    with pytest.raises(OSError, match="No space left"):
        tables.build(NAME)
    assert list(cache.rglob("*.*")) == []
