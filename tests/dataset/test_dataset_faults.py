"""Builds that are killed, drivers other than build(), and adapters: the files are those of an undisturbed build."""

from __future__ import annotations

import multiprocessing
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import oracle
import pytest
from datasets import contents, documents, make_corpus, make_spec

import streamtok
from streamtok.dataset import build

RUNS = 100 if oracle.LONG else 2
BUILD = """
import sys
from streamtok.dataset import Spec, build
if __name__ == "__main__":
    base, output, workers = sys.argv[1], sys.argv[2], int(sys.argv[3])
    build(Spec(("corpus/*",), output, "r50k_base", append_eot=True, shard_bytes=60_000, base=base), workers=workers)
"""


def begin(base: pathlib.Path, output: str, workers: int) -> subprocess.Popen[bytes]:
    path = base / "build.py"
    path.write_text(BUILD)
    environment = {**os.environ, "PYTHONPATH": str(oracle.PROJECT)}
    command = [sys.executable, str(path), str(base), output, str(workers)]
    return subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE, env=environment)


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="there are no sessions of processes to kill")
def test_a_build_that_is_killed_at_any_moment_is_gone_on_with(tmp_path: pathlib.Path):
    make_corpus(tmp_path / "corpus", 8, 300)
    rng = random.Random(5)
    count = len(build(make_spec(tmp_path, "whole", shard_bytes=60_000), workers=1).shards)
    wanted = contents(tmp_path / "whole")
    for run in range(RUNS):
        child, folder, enough = begin(tmp_path, f"run{run}", 2), tmp_path / f"run{run}", rng.randrange(count)
        while child.poll() is None and len(list(folder.glob("*.shard.json"))) < enough:
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.05))
        # Of half the runs only the parent is killed: its workers have to end by themselves.
        os.kill(child.pid if run % 2 else -child.pid, signal.SIGKILL)
        child.communicate()  # waits for the workers, too: they have its standard error
        build(make_spec(tmp_path, f"run{run}", shard_bytes=60_000), workers=1)
        assert contents(folder) == wanted


def test_workers_that_are_killed_are_replaced(tmp_path: pathlib.Path):
    make_corpus(tmp_path / "corpus", 12, 400)
    build(make_spec(tmp_path, "whole", shard_bytes=60_000), workers=1)
    killed = []

    def kill(progress: object) -> None:
        workers = multiprocessing.active_children()
        if not killed and workers:
            killed.append(workers[0])
            workers[0].kill()

    build(make_spec(tmp_path, "out", shard_bytes=60_000), workers=2, progress=kill)
    assert killed and contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_a_step_of_datatrove_makes_the_same_shards(tmp_path: pathlib.Path):
    pytest.importorskip("datatrove", reason="the step needs datatrove")
    from streamtok.dataset.datatrove import BuildShards

    make_corpus(tmp_path / "corpus")
    build(make_spec(tmp_path, "whole"), workers=1)
    spec = make_spec(tmp_path)
    for rank in (2, 0, 1):
        BuildShards(spec).run(None, rank, 3)
    seen: list[object] = []
    build(spec, workers=1, progress=seen.append)
    assert seen[-1].found == seen[-1].shards  # type: ignore[attr-defined]
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_batches_of_ray_data_get_a_column_of_ids():
    pa = pytest.importorskip("pyarrow", reason="batches are Arrow tables")
    from streamtok.ray import EncodeBatches

    texts = [*documents(20), None]
    table = pa.concat_tables([pa.table({"text": texts, "n": range(21)}), pa.table({"text": ["a b"], "n": [21]})])
    encoded = EncodeBatches("r50k_base", keep=True)(table)
    encoding = streamtok.get_encoding("r50k_base")
    wanted = [None if text is None else encoding.encode(text) for text in [*texts, "a b"]]
    assert encoded.column_names == ["text", "n", "input_ids"]
    assert encoded["input_ids"].to_pylist() == wanted and encoded["input_ids"].type == pa.list_(pa.uint32())
    assert EncodeBatches("r50k_base", output="n")(table).column_names == ["n"]


@pytest.mark.slow
def test_workers_and_nodes_of_a_ray_cluster_may_die(tmp_path: pathlib.Path):
    for name in ("ray", "psutil"):
        pytest.importorskip(name, reason="the extra `ray`, and psutil, which finds the workers")
    make_corpus(tmp_path / "corpus", 12, 400)
    (tmp_path / "spec.json").write_text('{"sources": "corpus/*", "output": "out", "shard_bytes": 60000}')
    script = oracle.PROJECT / "benchmarks" / "dataset" / "faults.py"
    runs = "20" if oracle.LONG else "1"
    environment = {**os.environ, "PYTHONPATH": str(oracle.PROJECT)}
    command = [sys.executable, str(script), str(tmp_path / "spec.json"), "ray", "--runs", runs]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=1200)
    assert done.returncode == 0 and "0 gave other files" in done.stdout, done.stdout + done.stderr[-2000:]
