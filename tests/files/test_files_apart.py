"""A run never writes over a source, never through a link, and never continues what another program changed."""

from __future__ import annotations

import os
import pathlib
import stat

import oracle
import pytest
from click.testing import CliRunner
from file_runs import TEXT, _enc, _here, encode, expected, leftovers, stop_at, without_leases  # noqa: F401

from streamtok import disk
from streamtok.cli.app import app
from streamtok.files import encode_file
from streamtok.train import save, train

needs_posix = pytest.mark.skipif(os.name == "nt", reason="no such links or permissions there")


def contents() -> dict[str, bytes]:
    return {name: pathlib.Path(name).read_bytes() for name in sorted(os.listdir()) if os.path.isfile(name)}


# ==== A source is named like something that is written ====


@pytest.mark.parametrize("name", ["out", "out.partial", "out.journal"])
@pytest.mark.parametrize("way", ["itself", "link", "second name", "open file"])
def test_a_source_is_not_written_over(enc, here, name, way):
    source = pathlib.Path("a.txt") if way in ("link", "second name") else pathlib.Path(name)
    source.write_bytes(TEXT)
    if way == "link":
        pathlib.Path(name).symlink_to(source)
    elif way == "second name":
        os.link(source, name)
    before = contents()
    for resume in (False, True):
        with open(source, "rb") as file, pytest.raises(ValueError, match="is the source") as caught:
            encode_file(enc, file if way == "open file" else str(source), "out", resume=resume)
        assert name in str(caught.value) and str(source) in str(caught.value)
    assert contents() == before


def test_an_output_that_is_a_link_to_a_source_is_refused_too(enc, here):
    pathlib.Path("out").symlink_to("a.txt")
    with pytest.raises(ValueError, match="is the source"):
        encode_file(enc, ["b.txt", "a.txt"], "out")
    with pytest.raises(ValueError, match="is the source"):
        encode_file(enc, "out", "a.txt")


@pytest.mark.parametrize(
    "arguments",
    [
        ["encode", "out.partial", "-o", "out"],
        ["encode", "out.journal", "-o", "out"],
        ["encode", "a.txt", "--vocab", "mine.tiktoken", "-o", "mine.tiktoken", "--format", "bin"],
        ["encode", "a.txt", "--vocab", "mine.tiktoken", "-o", "mine.tiktoken.json", "--format", "bin"],
        ["decode", "ids.bin", "-o", "ids.bin"],
        ["decode", "out.partial", "--format", "bin", "-o", "out"],
        ["decode", "ids.bin", "--vocab", "mine.tiktoken", "-o", "mine.tiktoken"],
        ["train", "a.txt", "t.json", "--vocab-size", "300", "-o", "t.json"],
        ["train", "a.txt", "*.json", "--vocab-size", "300", "-o", "t.json"],
        ["train", "a.txt", "vocab.json", "--vocab-size", "300", "-o", "."],
        ["train", "mine.tiktoken.json", "--vocab-size", "300", "-o", "mine.tiktoken"],
        ["train", "a.txt", "--vocab-size", "300", "-o", "new.json", "--held-out", "b.txt", "--plot", "b.txt"],
        ["train", "a.txt", "--vocab-size", "300", "-o", "b.txt.json", "--held-out", "b.txt.json"],
        ["train", "pieces.bin", "--vocab-size", "300", "-o", "new.json", "--checkpoint", "."],
        ["train", "a.txt", "--vocab-size", "300", "-o", "train.json", "--checkpoint", "."],
    ],
)
def test_no_command_writes_over_what_it_reads(here, arguments):
    save(train(TEXT, 300), "mine.tiktoken")
    for name in ("out.partial", "out.journal", "t.json", "vocab.json", "b.txt.json", "ids.bin", "pieces.bin"):
        pathlib.Path(name).write_bytes(b"some text " * 6)
    before = contents()
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2 and "itself: name another output" in done.output, (done.output, done.exception)
    assert contents() == before


def test_what_was_learned_is_not_saved_over_the_text(here):
    pathlib.Path("t.json").write_bytes(TEXT)
    learned = train("t.json", 300)
    with pytest.raises(ValueError, match=r"is the source .t\.json. itself"):
        save(learned, "t.json")
    assert pathlib.Path("t.json").read_bytes() == TEXT
    with pytest.raises(ValueError, match="is the source"):
        os.makedirs("ck")
        pathlib.Path("ck/train.json").write_bytes(TEXT)
        train("ck/train.json", 300, checkpoint="ck")
    assert pathlib.Path("ck/train.json").read_bytes() == TEXT


# ==== Side files that somebody else put there ====


@needs_posix
@pytest.mark.parametrize("kind", ["link", "dangling link", "second name", "pipe"])
def test_a_planted_partial_is_refused_and_nothing_is_written_through_it(enc, here, kind):
    pathlib.Path("victim").write_bytes(b"precious")
    if kind == "second name":
        os.link("victim", "out.bin.partial")
    elif kind == "pipe":
        os.mkfifo("out.bin.partial")
    else:
        pathlib.Path("out.bin.partial").symlink_to("victim" if kind == "link" else "nowhere")
    for resume in (False, True):
        with pytest.raises(PermissionError, match=r"remove it, or name another output.*out\.bin\.partial"):
            encode(enc, resume=resume)
    assert pathlib.Path("victim").read_bytes() == b"precious" and not os.path.exists("nowhere")
    assert not os.path.exists("out.bin") and not os.path.exists("out.bin.journal")


@needs_posix
def test_a_planted_journal_is_not_followed(enc, here):
    wanted = expected(enc)
    pathlib.Path("victim").write_bytes(b"precious")
    pathlib.Path("out.bin.journal").symlink_to("victim")
    with pytest.raises(PermissionError, match="this is a link"):
        encode(enc, resume=True)
    encode(enc)
    assert pathlib.Path("victim").read_bytes() == b"precious" and pathlib.Path("out.bin").read_bytes() == wanted


@needs_posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="gives a file away, as only root can")
def test_a_partial_of_another_user_is_refused(enc, here):
    stop_at(enc, 2500)
    for name in leftovers():
        os.chown(name, 4321, -1)
        with pytest.raises(PermissionError, match=r"belongs to another user \(4321\)"):
            encode(enc, resume=True)
        os.chown(name, 0, -1)
    assert encode(enc, resume=True).resumed_ids > 0 and not [n for n in os.listdir() if "probe" in n]


@needs_posix
@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_what_lies_beside_a_private_target_is_as_private(enc, here, mode):
    pathlib.Path("out.bin").write_bytes(b"")
    os.chmod("out.bin", mode)
    seen, real = set(), disk.os_open

    def look(path, flags, *rest):
        fd = real(path, flags, *rest)
        if "out.bin." in str(path):
            seen.add(stat.S_IMODE(os.fstat(fd).st_mode))
        return fd

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disk, "os_open", look)
        stop_at(enc, 2500)
        encode(enc, resume=True)
    assert seen == {mode} and stat.S_IMODE(os.stat("out.bin").st_mode) == mode


@needs_posix
def test_the_umask_is_kept_and_files_written_whole_keep_their_mode(here):
    before = os.umask(0o077)
    try:
        save(train(TEXT, 300), "mine.tiktoken")
        assert stat.S_IMODE(os.stat("mine.tiktoken").st_mode) == 0o600
        os.chmod("mine.tiktoken", 0o644)
        save(train(TEXT, 301), "mine.tiktoken")
        assert stat.S_IMODE(os.stat("mine.tiktoken").st_mode) == 0o644
    finally:
        os.umask(before)


# ==== Somebody changes the unfinished file ====

CHANGES = {
    "cut": lambda: os.truncate("out.bin.partial", 200),
    "other bytes": lambda: rewrite(300),
    "another file": lambda: (os.rename("out.bin.partial", "moved"), pathlib.Path("out.bin.partial").write_bytes(b"x")),
    "removed": lambda: os.unlink("out.bin.partial"),
}


def rewrite(at: int, name: str = "out.bin.partial") -> None:
    with open(name, "r+b") as file:
        file.seek(at)
        other = bytes(byte ^ 1 for byte in file.read(7)) or b"1234567"
        file.seek(at)
        file.write(other)


@needs_posix
@pytest.mark.parametrize("change", list(CHANGES))
@pytest.mark.parametrize("run", ["text", "lines"])
@pytest.mark.parametrize("num_threads", [1, 2])
@pytest.mark.parametrize("leases", ["leases", "no leases"])
def test_a_partial_that_is_changed_is_never_a_finished_file(enc, here, monkeypatch, change, run, num_threads, leases):
    wanted, calls = expected(enc, run), []
    if leases == "no leases":
        without_leases(monkeypatch)

    def progress(at):
        if at.bytes_read > 2500 and not calls:
            calls.append(at)
            CHANGES[change]()

    with pytest.raises(OSError, match=r"another program changed this unfinished file.*out\.bin\.partial") as caught:
        encode(enc, run, progress=progress, num_threads=num_threads)
    assert calls and not os.path.exists("out.bin") and "resume=True" in str(caught.value)
    encode(enc, run, resume=True)
    assert pathlib.Path("out.bin").read_bytes() == wanted and leftovers() == []


@needs_posix
@pytest.mark.parametrize("leases", ["leases", "no leases"])
def test_what_decode_writes_is_compared_too(here, monkeypatch, leases):
    real = disk.File.sync
    if leases == "no leases":
        without_leases(monkeypatch)

    def sync(self):
        real(self)
        if self.path.endswith("out.txt.partial"):
            rewrite(3, "out.txt.partial")

    pathlib.Path("ids.bin").write_bytes(oracle.ours("cl100k_base").encode_to_numpy("some text " * 50).tobytes())
    monkeypatch.setattr(disk.File, "sync", sync)
    done = CliRunner().invoke(app, ["decode", "-e", "cl100k_base", "ids.bin", "-o", "out.txt"])
    assert done.exit_code != 0 and not os.path.exists("out.txt") and not os.path.exists("out.txt.partial")


# ==== A disk that is full from the beginning ====


def test_a_full_disk_names_the_file_and_keeps_what_is_there(enc, here, monkeypatch):
    """Also before any text was read: docs/files.md promises it."""
    wanted, real = expected(enc), os.write
    for room in (0, 10, 200, 700, 1500):
        left = room

        def write(fd, data):
            nonlocal left
            if left <= 0:
                raise OSError(28, "No space left on device")
            count = real(fd, data[:left])
            left -= count
            return count

        with monkeypatch.context() as patch:
            patch.setattr(disk, "os_write", write)
            with pytest.raises(OSError, match=r"No space left on device.*resume=True.*out\.bin\."):
                encode(enc)
        assert "out.bin.partial" in leftovers()
        encode(enc, resume=True)
        assert pathlib.Path("out.bin").read_bytes() == wanted
        os.unlink("out.bin")
