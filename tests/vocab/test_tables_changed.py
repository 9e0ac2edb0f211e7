"""Files of tables that are changed, cut or replaced while processes use them, or before: the ids stay right."""

from __future__ import annotations

import mmap
import os
import pathlib
import shutil
import stat

import oracle
import pytest
from cached import NAME, TEXT, opened, packaged, put, spawn, uses_cache

import streamtok
from streamtok import disk, tables
from streamtok.bundled import mapped

HOLDS = """
import os, sys, streamtok
from streamtok.bundled import mapped
where, path, change, text = sys.argv[1:]
if where != "cached":
    mapped.FOLDER = where
enc = streamtok.get_encoding("r50k_base")
assert mapped.is_cached(enc._vocab) == (where == "cached")
size = os.path.getsize(path)
if change.isdigit():
    os.truncate(path, size * int(change) // 100)
else:
    with open(path, "r+b") as file:
        file.write({"zeros": b"\\0", "ones": b"\\xff"}[change] * size)
ids = enc.encode_ordinary(open(text, encoding="utf-8").read())
print(sum(ids), len(ids))
"""


@pytest.mark.parametrize("change", ["0", "50", "zeros", "ones"])
@pytest.mark.parametrize("kind", ["cached", "package"])
def test_a_file_that_is_changed_in_place_changes_nothing_for_those_who_have_it(kind, change, built, cache, tmp_path):
    """Reading a mapped file that was cut kills the process (SIGBUS); one that was written over would give other ids."""
    if kind == "cached":
        shutil.copyfile(built[NAME], tmp_path / "tables")
        path, where = put(tmp_path / "tables"), "cached"
    else:
        (tmp_path / "vocab").mkdir()
        path, where = tmp_path / "vocab" / f"{NAME}.tables", str(tmp_path / "vocab")
        shutil.copyfile(pathlib.Path(mapped._in_package(path.name)), path)
    text = oracle.topics()[:200_000]
    (tmp_path / "text").write_text(text, encoding="utf-8")
    process = spawn(HOLDS, where, str(path), change, str(tmp_path / "text"))
    try:
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    ids = packaged().encode_ordinary(text)
    assert (process.returncode, out.split()) == (0, [str(sum(ids)), str(len(ids))]), err


def test_a_file_that_is_cut_while_it_is_read_is_not_used(built, cache, tmp_path, monkeypatch):
    shutil.copyfile(built[NAME], tmp_path / "tables")
    real, calls = disk.os_readv, 0

    def readv(fd, rooms):
        nonlocal calls
        calls += 1
        if calls == 1:
            count = real(fd, [rooms[0][:5000]])
            os.truncate(tmp_path / "tables", 6000)
            return count
        return real(fd, rooms)

    monkeypatch.setattr(disk, "os_readv", readv)
    place = put(tmp_path / "tables")
    assert mapped.open_cached(NAME, {}) is None and calls > 1 and not place.exists()
    assert opened().encode(TEXT) == packaged().encode(TEXT)


def test_a_file_that_is_written_over_while_it_is_read_is_not_used(built, cache, tmp_path, monkeypatch):
    shutil.copyfile(built[NAME], tmp_path / "tables")
    real = disk.os_readv

    def readv(fd, rooms):
        count = real(fd, [rooms[0][:1_000_000]])
        with open(tmp_path / "tables", "r+b") as file:
            file.seek(2_500_000)
            file.write(b"\xa5" * 100)
        return count

    monkeypatch.setattr(disk, "os_readv", readv)
    put(tmp_path / "tables")
    assert mapped.open_cached(NAME, {}) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_in_its_place_is_passed_over_and_replaced(cache):
    """Opening a pipe to read would wait until another process writes to it."""
    place = pathlib.Path(mapped.cached_file(NAME))
    place.parent.mkdir(parents=True)
    os.mkfifo(place)
    assert not uses_cache(opened()) and stat.S_ISFIFO(place.lstat().st_mode)
    tables.build(NAME)
    assert place.is_file() and uses_cache(opened())


@pytest.mark.skipif(os.name == "nt", reason="no such links or permissions there")
def test_a_link_and_a_file_that_others_can_write_are_passed_over(built, cache, tmp_path):
    shutil.copyfile(built[NAME], tmp_path / "tables")
    place = put(tmp_path / "tables")
    for mode in (0o664, 0o646, 0o666):
        place.chmod(mode)
        assert not uses_cache(opened()) and place.exists()
    place.chmod(0o644)
    assert uses_cache(opened())
    place.unlink()
    place.symlink_to(tmp_path / "tables")
    assert not uses_cache(opened()) and place.is_symlink()
    before = os.umask(0)
    try:
        tables.build(NAME)
    finally:
        os.umask(before)
    assert not place.is_symlink() and stat.S_IMODE(place.stat().st_mode) == 0o644 and uses_cache(opened())


def test_what_this_process_could_change_is_copied(built, cache, monkeypatch):
    kinds = []
    real = mapped.os_mmap
    monkeypatch.setattr(mapped, "os_mmap", lambda fd, *rest, **named: kinds.append(fd) or real(fd, *rest, **named))
    put(built[NAME])
    opened()
    monkeypatch.setenv("STREAMTOK_TABLES", "package")
    opened()
    assert kinds == [-1, -1] or os.geteuid() != os.stat(mapped._in_package(f"{NAME}.tables")).st_uid
    kinds.clear()
    monkeypatch.setattr(disk, "is_fixed", lambda file: True)
    assert opened().encode(TEXT) == packaged().encode(TEXT) and kinds and kinds[-1] >= 0


@pytest.mark.skipif(not hasattr(os, "fork") or os.geteuid() != 0, reason="becomes another user, as only root can")
def test_only_what_the_administrator_alone_can_change_is_mapped(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(mmap.PAGESIZE))

    def is_fixed_for(user: int) -> bool:
        child = os.fork()
        if child == 0:
            with disk.open_plain(str(path)) as file:
                os.setuid(user)
                os._exit(disk.is_fixed(file))
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1

    tmp_path.chmod(0o755)
    path.chmod(0o644)
    assert is_fixed_for(65534) and not is_fixed_for(0)
    path.chmod(0o664)
    assert not is_fixed_for(65534)
    path.chmod(0o644)
    os.chown(path, 65534, 0)
    assert not is_fixed_for(65534) and not is_fixed_for(65533)


# ==== The switch ====


@pytest.mark.parametrize("value", ["no", "all", "FOUND", "0", "package "])
def test_a_value_that_the_switch_does_not_know_is_refused(value, monkeypatch):
    monkeypatch.setenv("STREAMTOK_TABLES", value)
    for call in (opened, streamtok.info, tables.status):
        with pytest.raises(ValueError, match="is unknown: write one of 'found', 'package'"):
            call()


@pytest.mark.parametrize("value", [None, "", "found", "package"])
def test_the_switch_and_what_info_says_have_the_same_values(value, built, cache, monkeypatch):
    if value is not None:
        monkeypatch.setenv("STREAMTOK_TABLES", value)
    assert streamtok.info()["tables"]["use"] == (value or "found")
    put(built[NAME])
    assert uses_cache(opened()) == (value != "package")
