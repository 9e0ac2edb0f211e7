"""Files of ids as batches for torch: the same batches in the same order, however many workers make them.

It needs torch (the extra `torch`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from ..errors import shown
from .order import Order
from .tokens import Tokens, names_of

if TYPE_CHECKING:
    from .._protocols import Path

__all__ = ["TokenDataset", "TokenLoader"]

Batch = dict[str, torch.Tensor]


class TokenDataset(IterableDataset[Batch]):
    """Batches of ids from files that encode_file, or another program, has written. Files are mapped, not read as a
    whole.

    A sample is a row of `length` ids of all files one behind the other, or a document where there is no length. Samples
    have an order that is a function of `seed`, the epoch and `shuffle` alone. Each `batch_size` of them are a batch. Of
    the batches each rank takes every world_size-th, and of these each worker every num_workers-th, which a DataLoader
    gives in turn. So the batches are the same for any number of workers, and those of all ranks together are the same
    for any number of ranks.

    A batch is a dict of tensors, int64 but for cu_seqlens (int32). Of rows: `input_ids` of shape (batch_size, length),
    and with documents=True `position_ids` of the same shape, which count from 0 in each document, and `cu_seqlens`, as
    streamtok.pack() has them. Of documents: all of them one behind the other in one row, with both.

    >>> dataset = TokenDataset(["a.bin", "b.bin"], 1024, batch_size=8, shuffle=10_000, seed=1)
    >>> loader = TokenLoader(dataset, num_workers=4)
    >>> for batch in loader: ...

    A DataLoader of torch's does as well: DataLoader(dataset, batch_size=None, num_workers=4), and for each epoch
    dataset.set_epoch(n). It cannot say how many batches were used, as its workers are ahead; TokenLoader can.

    Args:
        paths: a path, or paths in the order in which the files follow each other: what files.open_documents takes.
        length: ids of a row. What is left behind the last whole row is not given. None: a sample is a document.
        batch_size: samples of a batch.
        overlap: ids that a row shares with the next: 1 with length=1025 for 1,024 inputs and their targets.
        shuffle: samples of the buffer that shuffles; 0: they come as they lie. Rows are taken in runs of a 64th of the
            buffer from all over the files, fill it, and leave it in a random order. With as many as there are, all
            orders are possible.
        seed: of the order.
        documents: whether a batch of rows says where documents begin.
        drop_last: leave out a last batch that is not full, and batches that not every rank would have one of.
        rank: number of this process among world_size. None: that of torch.distributed if it is running, else 0.
        world_size: processes that share the batches. None: as for rank.
        format: of the files, as for files.open_documents.
        dtype: of the files, as for files.open_documents.

    Raises:
        ValueError: an argument that cannot be meant; files without a row; world_size above 1 without drop_last, as the
            ranks would have unequal numbers of batches.
        OSError: a file cannot be read.
    """

    def __init__(
        self,
        paths: Path | Iterable[Path],
        length: int | None = None,
        *,
        batch_size: int = 1,
        overlap: int = 0,
        shuffle: int = 0,
        seed: int = 0,
        documents: bool = False,
        drop_last: bool = False,
        rank: int | None = None,
        world_size: int | None = None,
        format: str | None = None,
        dtype: str | None = None,
    ) -> None:
        _check(length, overlap, {"batch_size": (batch_size, 1), "shuffle": (shuffle, 0), "seed": (seed, 0)})
        self._rank, self._world = _place(rank, world_size, drop_last)
        self._length, self._step, self._batch = length, (length or 0) - overlap, batch_size
        self._shuffle, self._seed, self._documents, self._drop_last = shuffle, seed, documents, drop_last
        self._tokens = Tokens(names_of(paths), format, dtype)
        self.samples = self._tokens.documents
        if length is not None:
            self.samples = max(0, (self._tokens.ids - length) // self._step + 1)
        if not len(self):
            least = f"{length} ids" if length is not None else "one document"
            raise ValueError(
                f"{self._tokens.ids} ids in {self._tokens.documents} documents are not enough: each of {self._world} "
                "ranks "
                f"needs a batch, and a sample is {least}"
            )
        self._epoch = self._taken = 0

    def __len__(self) -> int:
        """Batches of an epoch, for this rank."""
        whole = self.samples // self._batch if self._drop_last else -(-self.samples // self._batch)
        return whole // self._world

    @property
    def epoch(self) -> int:
        """The epoch that is being given, from 0."""
        return self._epoch

    def set_epoch(self, epoch: int) -> None:
        """Begin with this epoch, from its first batch."""
        if not isinstance(epoch, int) or isinstance(epoch, bool) or epoch < 0:
            raise ValueError(f"epoch={shown(epoch)}: write 0 or more")
        self._epoch, self._taken = epoch, 0

    def __iter__(self) -> Iterator[Batch]:
        """The batches from where it stands to the end of the epoch; in a worker those that are the worker's."""
        info = get_worker_info()
        worker, workers = (0, 1) if info is None else (info.id, info.num_workers)
        start = self._taken
        for number, batch in enumerate(self._batches(start, worker, workers)):
            # The state of a worker is that of all: a worker that begins there goes on with its own next batch.
            self._taken = start + (number + 1) * workers
            yield batch
        self.set_epoch(self._epoch + 1)

    def _batches(self, start: int, worker: int, workers: int) -> Iterator[Batch]:
        order = Order(self.samples, self._shuffle, self._seed, self._epoch)
        for number in range(start + worker, len(self), workers):
            first = (number * self._world + self._rank) * self._batch
            samples = order.samples(first, min(first + self._batch, self.samples)).tolist()
            yield self._joined(samples) if self._length is None else self._rows(samples)

    def _rows(self, samples: list[int]) -> Batch:
        assert self._length is not None
        ids = np.empty((len(samples), self._length), np.int64)
        starts = []
        for row, sample in enumerate(samples):
            begin = sample * self._step
            ids[row] = self._tokens.read(begin, begin + self._length)
            if self._documents:
                borders = self._tokens.borders(begin, begin + self._length)
                starts += [row * self._length, *(borders + row * self._length).tolist()]
        batch = {"input_ids": torch.from_numpy(ids)}
        return batch | _sequences(starts, ids.shape) if self._documents else batch

    def _joined(self, samples: list[int]) -> Batch:
        parts = [self._tokens.document(sample) for sample in samples]
        ids = np.concatenate(parts).astype(np.int64)
        starts = np.cumsum([0, *(len(part) for part in parts[:-1])]).tolist()
        return {"input_ids": torch.from_numpy(ids)} | _sequences(starts, ids.shape)

    def state_dict(self) -> dict[str, Any]:
        """Where it stands, for load_state_dict() in this or another process: JSON can hold it."""
        return {"epoch": self._epoch, "batches": self._taken * self._world, **self._facts()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where another stood, exactly. The number of ranks may be another one if the batches that were given
        divide by it, and so may that of workers.

        Raises ValueError for the state of another dataset, and says what differs."""
        for name, own in self._facts().items():
            if state.get(name) != own:
                raise ValueError(
                    f"the state is that of another dataset: its {name} is {shown(state.get(name))}, and this one's "
                    f"{shown(own)}"
                )
        taken, rest = divmod(state["batches"], self._world)
        if rest:
            raise ValueError(
                f"{state['batches']} batches were given, which {self._world} ranks cannot share: go on with as many "
                "ranks as "
                "before, or from a state whose batches divide by that number"
            )
        self._epoch, self._taken = state["epoch"], taken

    def _facts(self) -> dict[str, Any]:
        """What decides the order."""
        names = ("length", "step", "batch", "shuffle", "seed")
        return {name: getattr(self, f"_{name}") for name in names} | {"files": self._tokens.digest}


class TokenLoader:
    """A DataLoader over a TokenDataset that knows how many batches were taken from it, not how many its workers have
    made.

    Each iteration goes on where the last one ended, to the end of the epoch; the one behind that begins the next epoch.

    >>> loader = TokenLoader(dataset, num_workers=4, pin_memory=True)
    >>> state = loader.state_dict()          # any time
    >>> TokenLoader(dataset, num_workers=9).load_state_dict(state)  # exactly there

    Args:
        dataset: whose place it moves.
        options: of torch.utils.data.DataLoader: num_workers, pin_memory, prefetch_factor, timeout and others.

    Raises:
        ValueError: options that the dataset decides (batch_size, shuffle, sampler, batch_sampler, drop_last), or that
            would change the order (in_order, persistent_workers).
    """

    def __init__(self, dataset: TokenDataset, **options: Any) -> None:
        for name in ("batch_size", "shuffle", "sampler", "batch_sampler", "drop_last"):
            if name in options:
                raise ValueError(
                    f"{name}={shown(options[name])}: the dataset makes the batches: give it to TokenDataset"
                )
        if options.get("persistent_workers") or not options.get("in_order", True):
            raise ValueError(
                "persistent_workers keeps workers that do not learn of a new place, and in_order=False gives batches "
                "in any order: leave them out"
            )
        self.dataset, self._options = dataset, options
        self._loader()  # torch checks the options now

    def _loader(self) -> DataLoader[Batch]:
        return DataLoader(_Part(self.dataset), batch_size=None, **self._options)

    def __len__(self) -> int:
        """Batches of an epoch, for this rank."""
        return len(self.dataset)

    def __iter__(self) -> Iterator[Batch]:
        dataset = self.dataset
        for taken, batch in enumerate(self._loader(), dataset._taken + 1):
            dataset._taken = taken
            yield batch
        dataset.set_epoch(dataset.epoch + 1)

    def state_dict(self) -> dict[str, Any]:
        """As TokenDataset.state_dict(): behind the last batch that was taken."""
        return self.dataset.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """As TokenDataset.load_state_dict()."""
        self.dataset.load_state_dict(state)


class _Part(IterableDataset[Batch]):
    """What a worker gives. Unlike the dataset it does not move."""

    def __init__(self, dataset: TokenDataset) -> None:
        self._dataset = dataset

    def __iter__(self) -> Iterator[Batch]:
        info = get_worker_info()
        worker, workers = (0, 1) if info is None else (info.id, info.num_workers)
        return self._dataset._batches(self._dataset._taken, worker, workers)


def _sequences(starts: list[int], shape: tuple[int, ...]) -> Batch:
    """cu_seqlens and position_ids of sequences that begin at these places."""
    count = int(np.prod(shape))
    places = np.unique(np.array([0, *starts, count], np.int64))  # an empty document is no sequence
    positions = np.arange(count, dtype=np.int64) - np.repeat(places[:-1], np.diff(places))
    return {
        "position_ids": torch.from_numpy(positions.reshape(shape)),
        "cu_seqlens": torch.from_numpy(places.astype(np.int32)),
    }


def _check(length: int | None, overlap: int, counts: dict[str, tuple[int, int]]) -> None:
    if length is not None:
        counts = {"length": (length, 1), **counts}
    for name, (value, least) in {**counts, "overlap": (overlap, 0)}.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ValueError(f"{name}={shown(value)}: write an int, {least} or more")
    if overlap and overlap >= (length or 0):
        raise ValueError(
            f"overlap={overlap} and length={shown(length)}: a row shares fewer ids with the next than it has"
        )


def _place(rank: int | None, world_size: int | None, drop_last: bool) -> tuple[int, int]:
    """(rank, world_size), checked."""
    if (rank is None) != (world_size is None):
        raise ValueError("rank and world_size go together: give both, or none")
    if rank is None or world_size is None:
        runs = torch.distributed.is_available() and torch.distributed.is_initialized()
        rank, world_size = (torch.distributed.get_rank(), torch.distributed.get_world_size()) if runs else (0, 1)
    if not 0 <= rank < world_size:
        raise ValueError(f"rank={shown(rank)} and world_size={shown(world_size)}: ranks count from 0 to world_size - 1")
    if world_size > 1 and not drop_last:
        raise ValueError(
            f"world_size={world_size} with drop_last=False: some ranks would have a batch more and wait for the "
            "others; "
            "write drop_last=True"
        )
    return rank, world_size
