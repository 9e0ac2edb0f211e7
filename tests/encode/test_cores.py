"""How many threads help: the cores of the affinity mask, and no more than the quota of the container gives."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import oracle
import pytest

from streamtok import _batch as batch
from streamtok.native import cores
from streamtok.native.ids import free_spare
from streamtok.native.job import Job


def quota(tmp_path, own: str, files: dict[str, str]) -> float:
    (tmp_path / "own").write_text(own)
    for name, text in files.items():
        path = tmp_path / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return cores._read_quota(str(tmp_path / "groups"), str(tmp_path / "own"))


def test_second_version(tmp_path):
    assert quota(tmp_path, "0::/\n", {"cpu.max": "250000 100000\n"}) == 2.5
    assert quota(tmp_path, "0::/a:b\n", {"a:b/cpu.max": "150000 100000\n"}) == 1.5
    assert cores._read_quota.__defaults__ == ("/sys/fs/cgroup", "/proc/self/cgroup")


def test_the_least_of_the_groups_around_counts(tmp_path):
    files = {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "300000 100000\n", "cpu.max": "800000 100000\n"}
    assert quota(tmp_path, "0::/a/b\n", files) == 3


def test_first_version(tmp_path):
    own = "4:memory:/x\n3:cpu,cpuacct:/docker/1\n"
    files = {"cpu,cpuacct/cpu.cfs_quota_us": "150000\n", "cpu,cpuacct/cpu.cfs_period_us": "100000\n"}
    assert quota(tmp_path, own, files) == 1.5


@pytest.mark.parametrize("text", ["max 100000\n", "", "x y\n", "-1 100000\n", "0 100000\n", "1 0\n"])
def test_no_bound(tmp_path, text):
    assert quota(tmp_path, "0::/a\n", {"a/cpu.max": text}) == math.inf


def test_nothing_to_read(tmp_path):
    assert cores._read_quota(str(tmp_path), str(tmp_path / "none")) == math.inf


def test_cores_are_bounded_by_the_quota(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(16 - 9 * process)), raising=False)
    for bound, count in ((math.inf, 16), (20.0, 16), (2.5, 3), (0.1, 1)):
        monkeypatch.setattr(cores, "_quota", bound)
        assert (batch.cores(), batch.threads_for(None), batch.threads_for(4)) == (count, count, min(4, count))
    assert batch.threads_for(1) == 1
    monkeypatch.setattr(cores, "_quota", math.inf)
    monkeypatch.delattr(os, "sched_getaffinity")
    for known, count in ((5, 5), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda known=known: known)
        assert batch.cores() == count


def test_threads_that_copy_are_no_more_than_the_quota_gives():
    """The threads of native/workers.pyx, one fewer than cores, as the caller has one to itself."""
    code = """
import os
os.sched_getaffinity = lambda _: set(range(16))
from streamtok.native import cores
from streamtok.native.workers import thread_count
cores._quota = 2.5
print(thread_count())
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "2"


def test_none_means_as_many_as_help():
    enc, text = oracle.ours("r50k_base"), oracle.topics()
    assert enc.encode_batch([text] * 3, num_threads=None) == [enc.encode(text)] * 3
    assert enc.encode_to_numpy(text, num_threads=None).tolist() == enc.encode(text)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere room that is not used may take memory")
@pytest.mark.parametrize("text", [b"ab, c\n" * 4_000_000, "äbc, 中\n" * 2_000_000], ids=["bytes", "str"])
def test_a_long_result_is_never_moved(make_tiny, text):
    """A new encoding does not know yet how many ids such text has. Then the memory of the first array serves again."""
    free_spare()
    enc = make_tiny()
    few = enc.encode_to_numpy(text[: len(text) // 1000])
    places = []
    for _ in range(2):
        job = Job(enc._coder_for("strict"), [text], None, None, 3, 1 << 18)
        job.work()
        ids = job.array()
        assert job.moved == 0
        places.append(ids.ctypes.data)
        assert len(ids) == 1000 * len(few) > 1 << 22
        assert all((part == few).all() for part in ids.reshape(1000, -1)[::99])
        del ids
    assert places[0] == places[1]
    free_spare()
