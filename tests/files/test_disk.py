"""The layer under files: what is written whole, with which permissions, and what an unhelpful system makes of it."""

from __future__ import annotations

import errno
import os
import pathlib
import stat
import sys
import time

import pytest

from streamtok import disk
from streamtok.disk import cache_folder, lease
from streamtok.native.checksum import crc32

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="permissions and links are those of POSIX")


@pytest.fixture
def plain_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode_of(path: str) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


# ==== bytes ====


def test_a_system_that_takes_no_bytes_ends_the_write(here, monkeypatch):
    with disk.open_new("a") as file:
        monkeypatch.setattr(disk, "os_write", lambda *arguments: 0)
        with pytest.raises(OSError, match="took no bytes and named no error") as raised:
            file.write(b"x")
    assert (raised.value.errno, raised.value.filename) == (errno.EIO, "a")


def test_bytes_that_are_taken_a_few_at_a_time_are_all_written(here, monkeypatch):
    write = os.write
    monkeypatch.setattr(disk, "os_write", lambda fd, data: write(fd, data[:3]))
    with disk.open_new("a") as file:
        file.write(b"0123456789")
        assert file.written == 10
    assert pathlib.Path("a").read_bytes() == b"0123456789"


def test_reading_without_the_calls_that_some_systems_lack(here, monkeypatch):
    pathlib.Path("a").write_bytes(b"0123456789")
    monkeypatch.setattr(disk, "os_readv", None)
    with disk.open_read("a") as file:
        room = bytearray(4)
        assert file.read_into(memoryview(room)) == 4 and room == b"0123"
        assert file.read_all(100) == b"456789" and file.read_all(5) == b""
        file.seek(8)
        assert file.read_into(memoryview(room)) == 2 and room == b"8923"


def test_checksums_of_whole_and_of_short_files(here, monkeypatch):
    monkeypatch.setattr(disk, "_READ_AT_ONCE", 4)
    pathlib.Path("a").write_bytes(b"0123456789")
    for size, missing in ((10, 0), (12, 2), (3, 0), (0, 0)):
        with disk.open_read("a") as file:
            assert disk.checksum(file, size) == (missing, crc32(b"0123456789"[:size]))


def test_a_file_that_another_program_changed_is_put_nowhere(here):
    with disk.open_new("a") as file:
        file.write(b"0123")
        disk.check_whole(file, 4, crc32(b"0123"))
        for size, crc, reason in ((3, None, "it has 4 bytes, and 3 were written"), (4, 1, "its bytes are not those")):
            with pytest.raises(OSError, match=reason) as raised:
                disk.check_whole(file, size, crc)
            assert raised.value.errno == errno.ESTALE
        os.rename("a", "b")
        with pytest.raises(OSError, match="somebody removed or replaced it"):
            disk.check_whole(file, 4)


# ==== permissions ====


def test_permissions_are_those_of_the_file_that_was_there(here, plain_umask):
    disk.open_new("new").close()
    disk.open_new("own", mode=0o640).close()
    pathlib.Path("private").write_bytes(b"")
    os.chmod("private", 0o600)
    disk.open_new("like", "private").close()
    disk.open_new("like nothing", "missing").close()
    found = {name: mode_of(name) for name in ("new", "own", "like", "like nothing")}
    assert found == {"new": 0o644, "own": 0o640, "like": 0o600, "like nothing": 0o644}
    os.chmod("private", 0o4711)  # a program's bits are copied behind the file's making, not with it
    opened = disk.open_new("like a program", "private")
    opened.close()
    assert mode_of("like a program") == 0o4711


def test_a_file_is_never_more_open_than_the_one_that_it_follows(here, monkeypatch, plain_umask):
    pathlib.Path("private").write_bytes(b"")
    os.chmod("private", 0o600)
    modes = []
    monkeypatch.setattr(disk.File, "copy_mode", lambda self, other: modes.append(mode_of(self.path)))
    disk.open_new("like", "private").close()
    assert modes == [0o600]


def test_a_file_whose_permissions_cannot_be_set_is_removed(here, monkeypatch):
    pathlib.Path("old").write_bytes(b"")

    def refused(*arguments: object) -> None:
        raise PermissionError(errno.EPERM, "no")

    monkeypatch.setattr(os, "fchmod", refused)
    with pytest.raises(PermissionError, match="new"):
        disk.open_new("new", "old")
    assert os.listdir() == ["old"]


def test_replacing_keeps_permissions_and_leaves_nothing_behind(here, plain_umask):
    disk.replace("a", lambda file: file.write(b"1"))
    assert mode_of("a") == 0o644
    os.chmod("a", 0o600)
    disk.replace("a", lambda file: file.write(b"2"), durable=True)
    assert mode_of("a") == 0o600 and pathlib.Path("a").read_bytes() == b"2"
    disk.replace("a", lambda file: file.write(b"3"), mode=0o640)
    assert mode_of("a") == 0o640

    def fails(file: disk.File) -> None:
        file.write(b"4")
        raise KeyError

    with pytest.raises(KeyError):
        disk.replace("a", fails)
    assert os.listdir() == ["a"] and pathlib.Path("a").read_bytes() == b"3"


def test_a_durable_file_is_synced_and_then_its_name(here, monkeypatch):
    synced = []
    monkeypatch.setattr(disk, "os_fsync", lambda fd: synced.append(stat.S_ISDIR(os.fstat(fd).st_mode)))
    monkeypatch.setattr(disk.fcntl, "F_FULLFSYNC", None, raising=False)
    monkeypatch.delattr(disk.fcntl, "F_FULLFSYNC")
    disk.replace("a", lambda file: file.write(b"1"))
    assert synced == []
    disk.replace("a", lambda file: file.write(b"2"), durable=True)
    assert synced == [False, True]


# ==== whose a file is ====


def test_files_with_other_names_and_links_are_refused(here):
    pathlib.Path("a").write_bytes(b"")
    os.link("a", "b")
    with pytest.raises(PermissionError, match=r"2 names \(hard links\)"):
        disk.open_own("a")
    disk.open_read("a").close()
    os.symlink("a", "c")
    for opens in (disk.open_own, disk.open_read):
        with pytest.raises(PermissionError, match="this is a link"):
            opens("c")
    with pytest.raises(FileExistsError):
        disk.open_new("a")
    disk.open_plain("c").close()


@pytest.mark.parametrize("bit", [stat.S_IWGRP, stat.S_IWOTH])
def test_what_others_can_write_to_is_not_steady(here, bit):
    pathlib.Path("a").write_bytes(b"")
    os.chmod("a", 0o600 | bit)
    disk.open_read("a").close()
    with pytest.raises(PermissionError, match="other users can write to this file"):
        disk.open_read("a", steady=True)


def test_a_file_that_another_process_makes_at_the_same_time_is_opened(here, monkeypatch):
    opened = disk.open_new

    def late(path: str, like: str | None = None) -> disk.File:
        monkeypatch.setattr(disk, "open_new", opened)
        pathlib.Path(path).write_bytes(b"theirs")
        return opened(path, like)

    monkeypatch.setattr(disk, "open_new", late)
    with disk.open_own("a") as file:
        assert file.read(10) == b"theirs"


def test_a_file_that_its_last_holder_renamed_is_not_held(here, monkeypatch):
    lock, paths = disk._lock, []

    def renamed(file: disk.File) -> None:
        lock(file)
        paths.append(file)
        if len(paths) == 1:
            os.rename("a", "b")

    monkeypatch.setattr(disk, "_lock", renamed)
    with disk.open_locked("a") as file:
        assert file is paths[1] and paths[0].fd < 0
    assert sorted(os.listdir()) == ["a", "b"]


def test_a_file_system_without_locks_is_used_without(here, monkeypatch):
    class Fcntl:
        LOCK_EX = LOCK_NB = 0

        def __init__(self, number: int) -> None:
            self.number = number

        def flock(self, *arguments: object) -> None:
            raise OSError(self.number, "no")

    monkeypatch.setattr(disk, "fcntl", Fcntl(errno.ENOLCK))
    disk.open_locked("a").close()
    for number in (errno.EWOULDBLOCK, errno.EACCES):
        monkeypatch.setattr(disk, "fcntl", Fcntl(number))
        with pytest.raises(BlockingIOError, match="another process is writing this file"):
            disk.open_locked("a")


# ==== the user's cache ====


def test_where_the_cache_is(monkeypatch, tmp_path):
    monkeypatch.delenv("STREAMTOK_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder.folder() == str(tmp_path / "streamtok")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    usual = "Library/Caches" if sys.platform == "darwin" else ".cache"
    assert cache_folder.folder() == str(tmp_path / usual / "streamtok")
    monkeypatch.setenv("HOME", "nowhere")
    with pytest.raises(FileNotFoundError, match="no home folder, and STREAMTOK_CACHE names no other"):
        cache_folder.folder()
    monkeypatch.setenv("STREAMTOK_CACHE", str(tmp_path / "own"))
    assert cache_folder.folder() == str(tmp_path / "own")


def test_ages_of_files_in_the_cache(here):
    def aged(seconds: float) -> str:
        pathlib.Path("a").write_bytes(b"")
        os.utime("a", times=(time.time() - seconds,) * 2)
        return "a"

    for seconds, stale, unused in ((0, False, False), (50, False, False), (70, True, False), (31 * 86_400, True, True)):
        for sign in (1, -1):  # a clock that was set back
            path = aged(sign * seconds)
            assert (cache_folder.is_stale(path), cache_folder.is_unused(path)) == (stale, unused)
    assert not cache_folder.is_unused(aged(29 * 86_400))
    for seconds, is_noted in ((80_000, False), (90_000, True)):
        before = os.stat(aged(seconds)).st_mtime
        cache_folder.note_use("a")
        assert (os.stat("a").st_mtime > before + 1) == is_noted
    assert not cache_folder.is_stale("missing")
    cache_folder.note_use("missing")


def test_a_lock_is_taken_once_and_a_stale_one_removed(here):
    lock = str(here / "folder" / "lock")
    assert cache_folder.take_lock(lock) and not cache_folder.take_lock(lock)
    os.utime(lock, times=(time.time() - 100,) * 2)
    assert cache_folder.take_lock(lock) and not cache_folder.is_stale(lock)


def test_a_system_that_tells_no_file_systems_gives_no_lease(here, monkeypatch):
    def no_file(*arguments: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(lease, "open", no_file, raising=False)
    with disk.open_new("a") as file, lease.take(file) as held:
        assert not held.holds()


def test_a_lease_that_cannot_be_begun_is_ended(here, monkeypatch):
    ended = []

    def interrupted(self: lease.Lease) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(lease, "_file_system", lambda path: b"ext4")
    monkeypatch.setattr(lease.Lease, "begin", interrupted)
    monkeypatch.setattr(lease.Lease, "end", lambda self: ended.append(self))
    if not hasattr(disk.fcntl, "F_SETLEASE"):
        pytest.skip("this system has no leases")
    with disk.open_new("a") as file, pytest.raises(KeyboardInterrupt):
        lease.take(file)
    assert len(ended) == 1
