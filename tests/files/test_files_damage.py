"""Another program changes an unfinished file at random moments and places: what is finished is right, or nothing is."""

from __future__ import annotations

import os
import pathlib
import random
import shutil

import pytest
from file_runs import _enc, _here, encode, expected, has_leases, leftovers, without_leases  # noqa: F401

from streamtok import disk

pytestmark = pytest.mark.skipif(os.name == "nt", reason="an open file cannot be changed there")

PARTIAL = "out.bin.partial"
MOMENTS = ("progress", "os_write", "os_fsync")


def damage(rng: random.Random) -> None:
    size = os.path.getsize(PARTIAL)
    at, kind = rng.randrange(size + 1), rng.choice(["bytes", "bytes", "cut", "cut and refilled", "longer", "replaced"])
    if kind == "replaced":
        shutil.copyfile(PARTIAL, "copy")
        os.replace("copy", PARTIAL)
        return
    if kind in ("cut", "cut and refilled"):
        os.truncate(PARTIAL, at)
    if kind in ("longer", "cut and refilled"):
        os.truncate(PARTIAL, size + (kind == "longer"))
    if kind == "bytes":
        with open(PARTIAL, "r+b") as file:
            file.seek(at)
            other = bytes(byte ^ 1 << rng.randrange(8) for byte in file.read(rng.choice([1, 7, 5000])))
            file.seek(at)
            file.write(other)


class Somebody:
    """Damages the unfinished file once, before or after a random one of the calls named `moment`."""

    def __init__(self, patch: pytest.MonkeyPatch, rng: random.Random, moment: str) -> None:
        self.is_done, self._rng = False, rng
        self._left, self._after = rng.randrange(20), rng.random() < 0.5
        if moment != "progress":
            real = getattr(disk, moment)

            def call(*arguments):
                self.step(False)
                result = real(*arguments)
                self.step(True)
                return result

            patch.setattr(disk, moment, call)

    def watch(self, at) -> None:
        self.step(self._after)

    def step(self, after: bool) -> None:
        if after != self._after or self.is_done or not os.path.exists(PARTIAL):
            return
        self._left -= 1
        if self._left < 0:
            self.is_done = True
            damage(self._rng)


@pytest.mark.parametrize("leases", ["leases", "no leases"])
@pytest.mark.parametrize("run", ["text", "lines"])
@pytest.mark.parametrize("num_threads", [1, 2])
def test_damage_at_random_moments_and_places(enc, here, monkeypatch, leases, run, num_threads):
    wanted, found = expected(enc, run), 0
    if leases == "no leases":
        without_leases(monkeypatch)
    for seed in range(15):
        rng = random.Random(f"{leases} {run} {num_threads} {seed}")
        moment = rng.choice(MOMENTS)
        with monkeypatch.context() as patch:
            somebody = Somebody(patch, rng, moment)
            watch = somebody.watch if moment == "progress" else None
            try:
                encode(enc, run, progress=watch, num_threads=num_threads)
            except OSError as error:
                assert somebody.is_done and "another program changed this unfinished file" in str(error), seed
                assert not os.path.exists("out.bin"), seed
                found += 1
                encode(enc, run, resume=True)
        assert pathlib.Path("out.bin").read_bytes() == wanted and leftovers() == [], seed
        os.unlink("out.bin")
    assert found >= 8  # the other damage came to a file without ids, or to the header, which is written last


def test_nothing_is_read_back_where_nobody_opened_it(enc, here, monkeypatch):
    if not has_leases():
        pytest.skip("no leases here")
    wanted, read = expected(enc), []
    real = disk.checksum
    monkeypatch.setattr(disk, "checksum", lambda file, *rest: read.append(file.path) or real(file, *rest))
    for num_threads in (1, 2):
        encode(enc, num_threads=num_threads)
        assert not read

    def look(at):
        pathlib.Path(PARTIAL).read_bytes()

    encode(enc, progress=look)
    assert [os.path.basename(path) for path in read] == [PARTIAL]
    assert pathlib.Path("out.bin").read_bytes() == wanted


def test_nobody_can_write_between_the_last_look_and_the_rename(enc, here, monkeypatch):
    if not has_leases():
        pytest.skip("no leases here")
    wanted, tried = expected(enc), []

    def replace(path, target):
        for name in (path, target):
            with pytest.raises(BlockingIOError):
                os.close(os.open(name, os.O_RDWR | os.O_NONBLOCK))
            tried.append(name)
            if name == path:
                os.replace(path, target)

    monkeypatch.setattr(disk, "os_replace", replace)
    encode(enc)
    assert len(tried) == 2 and pathlib.Path("out.bin").read_bytes() == wanted
    with open("out.bin", "r+b") as file:
        assert file.read() == wanted


def test_who_has_an_earlier_runs_file_open_is_noticed(enc, here):
    from file_runs import stop_at

    wanted = expected(enc)
    stop_at(enc, 2500)
    with open(PARTIAL, "r+b") as other:

        def write(at):
            if at.bytes_read > 3500:
                other.seek(40)
                other.write(b"other bytes")
                other.flush()

        with pytest.raises(OSError, match="another program changed this unfinished file"):
            encode(enc, resume=True, progress=write)
    encode(enc, resume=True)
    assert pathlib.Path("out.bin").read_bytes() == wanted


def test_bytes_changed_while_they_are_read_back_are_found(enc, here, monkeypatch):
    wanted = expected(enc)
    without_leases(monkeypatch)
    real = disk.checksum

    def checksum(file, *rest):
        result = real(file, *rest)
        os.utime(PARTIAL, ns=(1, 1))  # a write, as the times of the file tell it
        return result

    with monkeypatch.context() as patch:
        patch.setattr(disk, "checksum", checksum)
        with pytest.raises(OSError, match="somebody wrote to it while it was read back"):
            encode(enc)
    encode(enc, resume=True)
    assert pathlib.Path("out.bin").read_bytes() == wanted
