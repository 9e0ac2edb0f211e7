"""Builds of a dataset that are killed, on this machine and on a Ray cluster: the files are those of an undisturbed one.

    python benchmarks/dataset/faults.py SPEC.toml build --runs 100     # kill -9 of the whole build at a random moment
    python benchmarks/dataset/faults.py SPEC.toml ray --runs 20        # workers and a node of a cluster die meanwhile

In `build` each run is killed once, with all its processes, at a random moment of the time that a whole build takes, and
then repeated to its end. In `ray` a local cluster has a node for the driver and three that encode; one of these is
removed and several workers are killed while one build goes on, and a new node is added. The folder of each run is
compared with that of the undisturbed build, file by file. Exit status 1 if anything differs.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import hashlib
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any

from streamtok.dataset import Spec, build, read_spec


def contents(folder: str) -> dict[str, str]:
    """Hashes of all files of a dataset."""
    files = sorted(path for path in pathlib.Path(folder).rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def differ(found: dict[str, str], wanted: dict[str, str]) -> bool:
    """Whether two folders differ; says in which files."""
    if found != wanted:
        print("differing:", sorted(name for name, _ in found.items() ^ wanted.items()), flush=True)
    return found != wanted


def at(spec: Spec, folder: str) -> Spec:
    """The spec with another folder."""
    return dataclasses.replace(spec, output=folder)


# ==== kill -9 of a build ====


def begin(path: str, folder: str) -> subprocess.Popen[bytes]:
    """A build with two workers, in a session of its own."""
    command = [sys.executable, "-m", "streamtok", "dataset", "build", path, "-o", folder, "--workers", "2"]
    return subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE)


def finish(path: str, folder: str) -> None:
    """The same, to its end."""
    child = begin(path, folder)
    _, said = child.communicate()
    if child.returncode:
        raise SystemExit(f"a build failed: {said.decode()}")


def kill_builds(path: str, home: str, runs: int, rng: random.Random) -> int:
    """How many runs gave other files, or left none to go on from."""
    whole = os.path.join(home, "whole")
    began = time.monotonic()
    finish(path, whole)
    seconds, wanted = time.monotonic() - began, contents(whole)
    differing = unfinished = 0
    for run in range(runs):
        folder = os.path.join(home, "run")
        child = begin(path, folder)
        time.sleep(rng.uniform(0, seconds))
        # Of half the runs only the parent is killed: its workers have to end by themselves.
        target = child.pid if run % 2 else -child.pid
        os.kill(target, signal.SIGKILL)
        child.communicate()
        unfinished += not os.path.exists(os.path.join(folder, "manifest.json"))
        finish(path, folder)
        differing += differ(contents(folder), wanted)
        shutil.rmtree(folder)
    print(f"{runs} builds killed, {unfinished} of them before their end; {differing} gave other files")
    return differing


# ==== Ray ====


def kill_workers(spec: Spec, home: str, runs: int, rng: random.Random) -> int:
    """How many runs on a cluster, whose workers and nodes die, gave other files."""
    import streamtok.ray

    began = time.monotonic()
    build(at(spec, os.path.join(home, "whole")), workers=1)
    seconds = (time.monotonic() - began) / 6  # three kills, at random moments that are so far apart at most
    wanted, differing, kills = contents(os.path.join(home, "whole")), 0, 0
    cluster = _Cluster()
    for run in range(runs):
        folder, began = os.path.join(home, "run"), time.monotonic()
        over = threading.Event()
        enemy = _Enemy(cluster, rng, over, seconds)
        made = streamtok.ray.build(at(spec, folder), workers=3, progress=enemy.note)
        over.set()
        enemy.join()
        kills += enemy.kills
        differing += differ(contents(folder), wanted) or not made.is_complete
        print(f"run {run}: {time.monotonic() - began:.1f} s, {enemy.kills} workers and a node killed", flush=True)
        shutil.rmtree(folder)
    cluster.close()
    print(f"{runs} builds on Ray, {kills} workers and {runs} nodes killed; {differing} gave other files")
    return differing


class _Cluster:
    """A node for the driver, and three that encode."""

    def __init__(self) -> None:
        import ray
        from ray.cluster_utils import Cluster

        self._ray = ray
        self._cluster: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        self.nodes: list[Any] = []
        for _ in range(3):
            self.add()
        ray.init(address=self._cluster.address, log_to_driver=False)

    def add(self) -> None:
        """One more node."""
        self.nodes.append(self._cluster.add_node(num_cpus=1, object_store_memory=80 << 20))

    def remove(self, node: Any) -> None:
        """Kill a node at once."""
        self._cluster.remove_node(node, allow_graceful=False)
        self.nodes.remove(node)

    def workers(self) -> list[Any]:
        """The processes of actors that encode, on all nodes of this cluster."""
        import psutil

        session, found = self._cluster.head_node.get_session_dir_path(), []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if "ray::Worker" in " ".join(process.cmdline()) and session in " ".join(process.parent().cmdline()):
                    found.append(process)
        return found

    def close(self) -> None:
        """End all of it."""
        self._ray.shutdown()
        self._cluster.shutdown()


class _Enemy(threading.Thread):
    """Kills workers at random moments once the first shard is done. A node is removed behind a random shard, and one
    is added behind a later one."""

    def __init__(self, cluster: _Cluster, rng: random.Random, over: threading.Event, seconds: float) -> None:
        super().__init__(daemon=True)
        self._cluster, self._rng, self._over, self._seconds = cluster, rng, over, seconds
        self.kills = 0

    def note(self, progress: Any) -> None:
        """A shard is done."""
        if progress.shards == 1:
            self.start()
            self._gone, self._back = sorted(self._rng.sample(range(2, progress.of_shards), 2))
        if progress.shards == self._gone:
            self._cluster.remove(self._rng.choice(self._cluster.nodes))
        if progress.shards == self._back:
            self._cluster.add()

    def run(self) -> None:
        for _ in range(3):
            self._over.wait(self._rng.uniform(0, self._seconds))
            if not self._over.is_set():
                self._kill_worker()

    def _kill_worker(self) -> None:
        found = self._cluster.workers()
        if found:
            self._rng.choice(found).kill()
            self.kills += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spec")
    parser.add_argument("what", choices=["build", "ray"])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    rng = random.Random(chosen.seed)
    with tempfile.TemporaryDirectory() as home:
        if chosen.what == "build":
            differing = kill_builds(chosen.spec, home, chosen.runs, rng)
        else:
            differing = kill_workers(read_spec(chosen.spec), home, chosen.runs, rng)
    sys.exit(differing > 0)


if __name__ == "__main__":
    main()
