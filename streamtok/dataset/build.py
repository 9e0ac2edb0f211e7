"""build: all shards of a spec on this machine; Build: what every driver of shards shares, whatever runs them."""

from __future__ import annotations

import concurrent.futures
import contextlib
import errno
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import disk
from .._named import load_encoding
from ..errors import shortened, shown
from ..files.journal import ResumeError, changes_of_ids
from ..native.cores import cores
from . import manifest as manifests
from .manifest import MANIFEST, DatasetManifest, Manifest
from .plan import Shard, plan
from .shard import check_source, encode_shard, options_of, remove_shard
from .spec import Spec

if TYPE_CHECKING:
    from ..core import Encoding

_IDENTITY = "dataset.json"  # vocabulary and options, from the first build on
_LOCK = "dataset.lock"
OWN_FILES = (MANIFEST, _IDENTITY, _LOCK)
"""Files in the folder that are no shard's."""

_MOST_DEATHS = 3  # workers that died, after which a build gives up: something kills each of them
_BUSY_SECONDS = 10.0  # a worker of a build that was killed needs no longer to end


class BuildProgress(NamedTuple):
    """How far a build is.

    Attributes:
        shards: that are done, failed ones included.
        of_shards: of the plan.
        bytes_read: of the sources of these shards, as they lie on the disk.
        bytes_total: of all.
        ids: in the shards that are done.
        found: shards that an earlier build had finished.
        failed: shards that could not be made.
        seconds: since the build began.
        rates: ids a second since the build began, by where they were made: a process, or a node of a cluster.
    """

    shards: int
    of_shards: int
    bytes_read: int
    bytes_total: int
    ids: int
    found: int
    failed: int
    seconds: float
    rates: dict[str, float]


@dataclass(frozen=True)
class Outcome:
    """What became of a shard: its manifest, or what is wrong with its source. made: in this build. refused: of a shard
    of several sources those that it is without, and what is wrong with each."""

    manifest: Manifest | None
    error: str = ""
    made: bool = True
    worker: str = ""
    refused: tuple[tuple[str, str], ...] = ()

    def failures_of(self, shard: Shard) -> list[tuple[str, str]]:
        """The sources that were not encoded, and why."""
        if self.refused or self.manifest is not None:
            return list(self.refused)
        return [(source, self.error) for source in shard.sources]


class Build:
    """A build that is going on: the folder is held for it, the plan is made.

    A driver runs work() for each of `shards`, in any order, anywhere, and passes the outcomes to take(); then finish()
    writes the manifest. Use it as a context manager.

    Raises:
        BlockingIOError: another build writes this folder.
        ResumeError: the folder holds a dataset with another vocabulary or other options.
        ValueError, OSError: the spec cannot be carried out.
    """

    def __init__(self, spec: Spec, progress: Callable[[BuildProgress], object] | None = None) -> None:
        self.spec, self._progress = spec, progress
        self._began = time.monotonic()
        self.encoding = load_encoding(spec.encoding, spec.base)
        self.identity = identity_of(spec, self.encoding)
        self.shards = plan(spec.source_names(), spec.shard_bytes, base=spec.base, documents=spec.documents)
        self._outcomes: dict[int, Outcome] = {}
        self._ids_by: dict[str, int] = {}
        self._lock: disk.File | None = None

    def __enter__(self) -> Build:
        folder = self.spec.folder
        os.makedirs(folder, exist_ok=True)
        try:
            self._lock = disk.open_locked(os.path.join(folder, _LOCK))
        except BlockingIOError:
            raise BlockingIOError(
                errno.EWOULDBLOCK, "another build is writing this dataset; wait for it or choose another output", folder
            ) from None
        try:
            check_identity(self.spec, self.identity)
            disk.remove(os.path.join(folder, MANIFEST))  # it speaks of an earlier state of the folder
            manifests.remove_unfinished(folder)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        if self._lock is not None:
            if os.name != "nt":
                with contextlib.suppress(OSError):
                    disk.remove(self._lock.path)  # before the lock goes with the descriptor
            self._lock.close()
            self._lock = None

    def order(self) -> list[int]:
        """The places of the shards, the largest first: so the workers end at about the same time."""
        return sorted(range(len(self.shards)), key=lambda place: -self.shards[place].size)

    def take(self, place: int, outcome: Outcome) -> None:
        """The outcome of shards[place]."""
        self._outcomes[place] = outcome
        if outcome.manifest is not None and outcome.made:
            self._ids_by[outcome.worker] = self._ids_by.get(outcome.worker, 0) + outcome.manifest.ids
        if self._progress is not None:
            self._progress(self._state())

    def _state(self) -> BuildProgress:
        outcomes, seconds = self._outcomes.values(), time.monotonic() - self._began
        return BuildProgress(
            len(self._outcomes),
            len(self.shards),
            sum(self.shards[each].size for each in self._outcomes),
            sum(each.size for each in self.shards),
            sum(each.manifest.ids for each in outcomes if each.manifest),
            sum(not each.made for each in outcomes),
            sum(each.manifest is None or bool(each.refused) for each in outcomes),
            seconds,
            {worker: ids / max(seconds, 1e-9) for worker, ids in self._ids_by.items()},
        )

    @property
    def count(self) -> int:
        """Shards of which there is an outcome."""
        return len(self._outcomes)

    def has(self, place: int) -> bool:
        """Whether there is an outcome of shards[place]."""
        return place in self._outcomes

    def finish(self) -> DatasetManifest:
        """Write the manifest, once there is an outcome of every shard, and return it."""
        made = [self._outcomes[place] for place in range(len(self.shards))]
        failed: list[dict[str, Any]] = [
            {"source": source, "range": shard.range and list(shard.range), "error": error}
            for shard, outcome in zip(self.shards, made)
            for source, error in outcome.failures_of(shard)
        ]
        done = [outcome.manifest for outcome in made if outcome.manifest is not None]
        result = DatasetManifest.of(
            self.encoding.name, self.encoding.fingerprint, self.identity["options"], done, failed
        )
        manifests.remove_unfinished(self.spec.folder)
        self._remove_replaced(done, {each["source"] for each in failed})
        manifests.write(os.path.join(self.spec.folder, MANIFEST), result.as_json())
        return result

    def _remove_replaced(self, done: list[Manifest], failed: set[str]) -> None:
        """Remove shards of small files that were joined otherwise in an earlier build: their documents would be in the
        folder twice."""
        joined = {each["name"] for shard in done for each in shard.joined} - failed
        sources = {shard.source["name"] for shard in done} - failed | joined
        names = {shard.name for shard in done}
        for each in os.listdir(self.spec.folder):
            name = each.removesuffix(manifests.SHARD_SUFFIX)
            if name == each or name in names:
                continue
            try:
                found = manifests.read_shard(os.path.join(self.spec.folder, each))
            except (OSError, ValueError):
                continue
            of = {one["name"] for one in found.joined or (found.source,)}
            if (found.joined or of <= joined) and of <= sources:
                remove_shard(self.spec.folder, name)


def identity_of(spec: Spec, encoding: Encoding) -> dict[str, Any]:
    """What all shards of a folder share."""
    return {
        "format_version": manifests.FORMAT_VERSION,
        "encoding": encoding.name,
        "fingerprint": encoding.fingerprint,
        "options": options_of(spec, encoding),
    }


def check_identity(spec: Spec, identity: dict[str, Any]) -> None:
    """Keep this identity in the folder of the spec, or compare it with the one that is there.

    Raises ResumeError where that is another.
    """
    path = os.path.join(spec.folder, _IDENTITY)
    try:
        found = manifests.read_any(path)
    except FileNotFoundError:
        manifests.write(path, identity)
        return
    changes = list(_changes(found, identity))
    if changes:
        raise ResumeError(
            f"{shortened(path)}: this folder holds shards of another dataset: {'; '.join(changes)}. Put back what "
            "they were made with, or choose another output"
        )


def identity_problems(folder: str, dataset: DatasetManifest) -> Iterator[str]:
    """What is wrong with the identity that is kept in the folder of a dataset."""
    wanted = {
        "format_version": manifests.FORMAT_VERSION,
        **{name: getattr(dataset, name) for name in ("encoding", "fingerprint", "options")},
    }
    try:
        found = manifests.read_any(os.path.join(folder, _IDENTITY))
    except FileNotFoundError:
        return
    yield from (f"{_IDENTITY}: {change}" for change in _changes(found, wanted))


def _changes(found: Any, wanted: dict[str, Any]) -> Iterator[str]:
    if not isinstance(found, dict) or not isinstance(found.get("options"), dict):
        yield "its dataset.json is damaged"
        return
    if found.get("format_version") != wanted["format_version"]:
        yield f"another release wrote it (format version {shown(found.get('format_version'))})"
        return
    if found.keys() != wanted.keys():
        yield "its dataset.json is damaged"
        return
    yield from changes_of_ids(found, wanted)


# ==== One shard ====


def work(
    spec: Spec,
    shard: Shard,
    *,
    encoding: Any = None,
    num_threads: int | None = 1,
    device: str = "cpu",
    worker: str = "",
) -> Outcome:
    """Make a shard, or find it finished. A source that is damaged or refused is an outcome.

    spec, encoding, num_threads, device: as for encode_shard. worker: who does it, for the rates.

    Raises OSError where the folder cannot be written, BlockingIOError where another process makes this shard for long.
    """
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            return _work(spec, shard, worker, encoding=encoding, num_threads=num_threads, device=device)
        except BlockingIOError:  # a worker of a build that was killed has not ended yet
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _work(spec: Spec, shard: Shard, worker: str, **how: Any) -> Outcome:
    began = time.time_ns()
    worker = worker or f"process {os.getpid()}"
    refused: list[tuple[str, str]] = []
    try:
        made = _encode(shard.sources, shard, spec, how)
    except _Refused as error:
        if not shard.joined:
            return Outcome(None, str(error), worker=worker)
        refused = list(_refused(shard, spec, how))
        rest = [source for source in shard.joined if source not in dict(refused)]
        if not refused or not rest:
            return Outcome(None, str(error), worker=worker, refused=tuple(refused))
        try:
            made = _encode(rest, shard, spec, how)
        except _Refused as second:
            return Outcome(None, str(second), worker=worker)
    path = os.path.join(spec.folder, made.name + manifests.SHARD_SUFFIX)
    return Outcome(made, "", os.stat(path).st_mtime_ns >= began, worker, tuple(refused))


class _Refused(Exception):
    """A source is damaged or refused; the text says why."""


def _encode(sources: Sequence[str], shard: Shard, spec: Spec, how: dict[str, Any]) -> Manifest:
    """The shard of these sources. Raises _Refused for a fault of a source, OSError for one of the folder."""
    try:
        return encode_shard(sources, shard.range, spec.folder, spec, **how)
    except (OSError, ValueError, RecursionError) as error:
        cause = error.__cause__ if isinstance(error, OSError) and isinstance(error.__cause__, OSError) else error
        if isinstance(error, BlockingIOError):
            raise
        if isinstance(cause, OSError) and _is_of_folder(cause, spec):
            reason = f"{cause.strerror or cause}; finished shards stay: put this right and build again"
            raise OSError(cause.errno, reason, cause.filename or spec.folder) from None
        raise _Refused(_said(cause, spec)) from None


def _refused(shard: Shard, spec: Spec, how: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Which of a shard's sources cannot be encoded, and why: each is encoded for itself, and its ids are dropped."""
    encoding = how.get("encoding") or load_encoding(spec.encoding, spec.base)
    for source in shard.joined:
        try:
            check_source(source, spec, encoding)
        except (OSError, ValueError, RecursionError) as error:
            yield source, _said(error, spec)


def _is_of_folder(error: OSError, spec: Spec) -> bool:
    """Whether the folder is to blame, not the source: then all other shards would fail, too."""
    name = error.filename
    if error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", -1)) or not isinstance(name, str):
        return True
    return os.path.dirname(os.path.realpath(name)) == os.path.realpath(spec.folder)


def _said(error: BaseException, spec: Spec) -> str:
    """The error in one line, the same wherever the base folder lies."""
    if isinstance(error, OSError) and error.strerror:
        text = f"{shortened(os.fsdecode(error.filename))}: {error.strerror}" if error.filename else error.strerror
    else:
        text = str(error)
    return " ".join(text.split()).replace(os.path.join(spec.base, ""), "")


# ==== This machine ====


def build(
    spec: Spec, *, workers: int | None = None, progress: Callable[[BuildProgress], object] | None = None
) -> DatasetManifest:
    """Make the dataset of a spec on this machine. Shards that an earlier build finished are not made again.

    Args:
        spec: what it is made of.
        workers: processes that encode; None for as many as there are cores. With more than one, a script that calls
            this needs `if __name__ == "__main__":`, as for multiprocessing. The dataset does not depend on it.
        progress: called with a BuildProgress after each shard.

    Returns:
        The manifest, which also lies in the folder. Its `failed` names each source that could not be encoded, and why.

    Raises:
        BlockingIOError: another build writes this folder.
        ResumeError: the folder holds a dataset with another vocabulary or other options.
        ValueError: the spec cannot be carried out.
        OSError: the folder cannot be written; what is finished stays.
        RuntimeError: workers were killed again and again.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"workers={shown(workers)} does no work: write 1 or more")
    with Build(spec, progress) as job:
        count = min(workers or cores(), len(job.shards))
        if count == 1:
            for place in job.order():
                job.take(place, work(spec, job.shards[place], encoding=job.encoding, num_threads=workers))
        else:
            _run_processes(job, count)
        return job.finish()


def _run_processes(job: Build, count: int) -> None:
    todo, deaths = job.order(), 0
    while todo:
        try:
            _run_pool(job, todo, min(count, len(todo)))
        except BrokenProcessPool:
            deaths += 1
            if deaths >= _MOST_DEATHS:
                raise RuntimeError(
                    f"workers were killed {deaths} times, perhaps because memory ran out: run the same with fewer "
                    "workers; shards that are finished stay"
                ) from None
        todo = [place for place in todo if not job.has(place)]


def _run_pool(job: Build, places: list[int], count: int) -> None:
    context = multiprocessing.get_context("spawn")  # this process may have threads
    alive, holder = context.Pipe(duplex=False)
    try:
        with concurrent.futures.ProcessPoolExecutor(
            count, mp_context=context, initializer=_begin_worker, initargs=(alive,)
        ) as pool:
            try:
                futures = {pool.submit(work, job.spec, job.shards[place]): place for place in places}
                for future in concurrent.futures.as_completed(futures):
                    job.take(futures[future], future.result())
            except BaseException:
                holder.close()  # the workers end at once: a shard is safe against that
                raise
    finally:
        holder.close()
        alive.close()


def _begin_worker(alive: Any) -> None:
    """In a worker: end it as soon as the process that began it has ended, or wants no more of it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other one tells, by closing its end

    def watch() -> None:
        with contextlib.suppress(OSError, EOFError):
            alive.recv()
        os._exit(1)

    threading.Thread(target=watch, name="streamtok", daemon=True).start()
