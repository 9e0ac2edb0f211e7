"""build: the shards of a spec, made by actors on the nodes of a Ray cluster. Ray places the actors and tells which of
them died; what a shard is and when it is finished is the business of streamtok.dataset."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from .._named import load_encoding
from ..dataset import Build, BuildProgress, DatasetManifest, Shard, Spec
from ..dataset.build import Outcome, work
from ..errors import shown

_MOST_DEATHS = 10  # workers that died over one shard, after which it is given up: it seems to kill them


class Worker:
    """An actor that holds the encoding, and a device if it was given one."""

    def __init__(self, spec: Spec, device: str, num_threads: int) -> None:
        ray = _ray()
        self._spec, self._device, self._threads = spec, device, num_threads
        self._encoding = load_encoding(spec.encoding, spec.base)
        context = ray.get_runtime_context()
        self._node = f"{ray.util.get_node_ip_address()}/{context.get_node_id()[:8]}"

    def begin(self) -> str:
        """Returns once the worker is there: the name of its node."""
        return self._node

    def work(self, shard: Shard) -> Outcome:
        """Make a shard, or find it finished."""
        return work(
            self._spec,
            shard,
            encoding=self._encoding,
            device=self._device,
            num_threads=self._threads,
            worker=self._node,
        )


def build(
    spec: Spec,
    *,
    workers: int | None = None,
    gpu_workers: int | None = None,
    threads: int = 1,
    progress: Callable[[BuildProgress], object] | None = None,
) -> DatasetManifest:
    """Make the dataset of a spec on a Ray cluster: streamtok.dataset.build on many machines, with the same files.

    The cluster is that of ray.init(), or of the environment, or begun on this machine. Every node needs this package,
    and the sources and the folder under the same paths (a shared file system). Shards that are finished are not made
    again. Those of a worker or a node that dies are made by another.

    Args:
        spec: what it is made of.
        workers: actors that encode on the CPU; None for as many as the cluster has room for.
        gpu_workers: actors that encode on a GPU; None for one on each GPU. Both kinds work at the same time.
        threads: CPU threads of each actor.
        progress: called with a BuildProgress after each shard; its `rates` are those of the nodes.

    Returns:
        The manifest, as streamtok.dataset.build does.

    Raises:
        ImportError: ray is not installed; other errors are those of streamtok.dataset.build.
    """
    ray = _ray()
    for name, value in (("workers", workers), ("gpu_workers", gpu_workers), ("threads", threads)):
        if value is not None and value < (name == "threads"):
            raise ValueError(f"{name}={shown(value)} makes no sense: write {int(name == 'threads')} or more")
    if not ray.is_initialized():
        ray.init()
    with Build(spec, progress) as job:
        there = ray.cluster_resources()
        gpus = int(there.get("GPU", 0)) if gpu_workers is None else gpu_workers
        cpus = max(0, int(there.get("CPU", 1)) // threads - gpus) if workers is None else workers
        kinds = ["cuda"] * gpus + ["cpu"] * cpus
        if not kinds:
            raise ValueError("workers=0 and no GPU: nothing does the work")
        pool = _ActorPool(ray, job, threads)
        try:
            pool.run(kinds[: max(1, len(job.shards))])
        finally:
            pool.close()
        return job.finish()


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise ImportError("streamtok.ray needs Ray: pip install 'streamtok[ray]'") from None
    return ray


class _ActorPool:
    """The workers, and the shards that wait for one."""

    def __init__(self, ray: Any, job: Build, threads: int) -> None:
        self._ray, self._job, self._threads = ray, job, threads
        self._todo = deque(job.order())
        self._deaths: Counter[int] = Counter()
        self._pending: dict[Any, tuple[Any, str, int | None]] = {}  # what is awaited -> actor, device, place of a shard
        self._losses = (ray.exceptions.RayActorError, ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError)

    def run(self, devices: list[str]) -> None:
        """Begin a worker for each of these, and have all shards made."""
        for device in devices:
            self._begin(device)
        while len(self._job.shards) > self._job.count:
            ready, _ = self._ray.wait(list(self._pending), num_returns=1)
            actor, device, place = self._pending.pop(ready[0])
            try:
                outcome = self._ray.get(ready[0])
            except self._losses:
                self._lose(device, place)
                continue
            except self._ray.exceptions.RayTaskError as error:
                raise error.cause from None
            if place is not None:
                self._job.take(place, outcome)
            self._hand_out(actor, device)

    def _begin(self, device: str) -> None:
        """Ask Ray for a worker, wherever there is room, now or later."""
        options: dict[str, Any] = {"num_cpus": self._threads, "num_gpus": int(device != "cpu"), "max_restarts": 0}
        actor = self._ray.remote(Worker).options(**options).remote(self._job.spec, device, self._threads)
        self._pending[actor.begin.remote()] = actor, device, None

    def _hand_out(self, actor: Any, device: str) -> None:
        if self._todo:
            place = self._todo.popleft()
            self._pending[actor.work.remote(self._job.shards[place])] = actor, device, place
        else:
            self._ray.kill(actor)

    def _lose(self, device: str, place: int | None) -> None:
        """A worker died, of itself or with its node."""
        if place is not None:
            self._deaths[place] += 1
            if self._deaths[place] >= _MOST_DEATHS:
                died = f"{_MOST_DEATHS} workers died over it, perhaps because memory ran out"
                self._job.take(place, Outcome(None, died))
            else:
                self._todo.appendleft(place)
        self._begin(device)

    def close(self) -> None:
        """End the workers."""
        for actor, _, _ in self._pending.values():
            self._ray.kill(actor)
