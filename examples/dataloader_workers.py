"""Training batches from text files, encoded in the worker processes of a PyTorch DataLoader.

    pip install torch
    python examples/dataloader_workers.py [FILE ...]

Each worker takes every n-th file and encodes it in a stream, so memory does not grow with the size of a file. An
Encoding is pickled as its name: sending it to a worker costs a few bytes. The ids of a file are cut into blocks of
BLOCK ids; what is left at the end of a file is dropped, as is usual in training.
"""

import pathlib
import sys
import tempfile
from collections.abc import Iterator

import numpy as np
import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

import streamtok

SAMPLE = "Batches are made in the workers, while the model trains on the batch before. 🤗\n" * 300
BLOCK = 128


class Blocks(IterableDataset):
    """Blocks of `size` ids, as int64 tensors, from text files."""

    def __init__(self, paths: list[str], encoding: streamtok.Encoding, size: int = BLOCK) -> None:
        self.paths, self.encoding, self.size = paths, encoding, size

    def __iter__(self) -> Iterator[torch.Tensor]:
        worker = get_worker_info()
        mine = self.paths if worker is None else self.paths[worker.id :: worker.num_workers]
        for path in mine:
            yield from self.blocks_of(path)

    def blocks_of(self, path: str) -> Iterator[torch.Tensor]:
        left = np.empty(0, np.int64)
        with open(path, "rb") as file:
            for ids in self.encoding.encode_stream(iter(lambda: file.read(1 << 20), b""), disallowed_special=()):
                left = np.concatenate([left, ids])
                whole = len(left) // self.size * self.size
                yield from torch.from_numpy(left[:whole].reshape(-1, self.size))
                left = left[whole:]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = sys.argv[1:]
        for number in range(0 if paths else 4):
            sample = pathlib.Path(folder, f"sample-{number}.txt")
            sample.write_text(SAMPLE * (number + 1), encoding="utf-8")
            paths.append(str(sample))
        loader = DataLoader(Blocks(paths, streamtok.get_encoding("gpt2")), batch_size=8, num_workers=2)
        batches = list(loader)
    print(f"{len(paths)} files, {len(batches)} batches; the first has shape {tuple(batches[0].shape)}")


if __name__ == "__main__":  # the workers import this file where processes are spawned, as on Windows and macOS
    main()
