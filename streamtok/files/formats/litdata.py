"""litdata: a folder that litdata's StreamingDataset reads with TokensLoader, as `optimize` writes it from 1-D tensors.

litdata has no name for uint32: larger ids are int32. `updated_at` in the index is a time in what litdata writes. Here
it tells what the ids are, so that the same documents give the same folder.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from .base import STORED, Facts, RowFormat
from .reading import Tokenized, grouped, no_file
from .shards import Samples, list_in, read_index, sample_file, samples_in, whole_lengths, write_file, write_samples

CHUNK_BYTES = 64_000_000
"""Bytes of ids that a chunk has at most, if no document is longer: "64MB" for litdata."""

_KINDS = {"uint16": "no_header_tensor:20", "int32": "no_header_tensor:16"}  # its numbers for torch's dtypes


class Writer(RowFormat):
    """See the module."""

    name = "litdata"
    dtypes = ("uint16", "int32")
    is_folder = True
    keeps_empty = False

    def build(self, out: str, facts: Facts) -> None:
        os.mkdir(out)
        chunks: list[dict[str, Any]] = []
        ids, width = Samples(facts), STORED[facts.dtype].itemsize
        for lengths in ids.files(lambda count: count * width, 0, CHUNK_BYTES):
            if lengths:
                name, count = f"chunk-0-{len(chunks)}.bin", sum(lengths)
                size = write_samples(os.path.join(out, name), [each * width for each in lengths], ids.take(count))
                chunks.append({"chunk_bytes": size, "chunk_size": len(lengths), "dim": count, "filename": name})
        index = {"chunks": chunks, "config": _config(facts.dtype), "updated_at": f"{facts.crc}.{facts.ids}"}
        write_file(os.path.join(out, "index.json"), json.dumps(index, sort_keys=True).encode())


def _config(dtype: str) -> dict[str, Any]:
    names = (
        "compression",
        "compression_level",
        "compression_batch_size",
        "ipc_compression",
        "chunk_size",
        "encryption",
    )
    return {
        **dict.fromkeys(names),
        "chunk_bytes": CHUNK_BYTES,
        "data_format": [_KINDS[dtype]],
        "data_spec": '[1, {"type": null, "context": null, "children_spec": []}]',
        "types": "tensor",
        "item_loader": "TokensLoader",
    }


def is_one(path: str) -> bool:
    """Whether it is a folder whose index names chunks."""
    return os.path.isdir(path) and "chunks" in read_index(path)


def read(path: str, dtype: str | None) -> Tokenized:
    """Chunks of 1-D tensors of ids, without compression."""
    index = read_index(path)
    chunks = list_in(path, index, "chunks")
    config = index.get("config")
    if not isinstance(config, dict):
        raise no_file(path, "folder of ids", "its index has no config")
    kinds = config.get("data_format")
    kind = kinds[0] if isinstance(kinds, list) and len(kinds) == 1 else None
    found = {kind: name for name, kind in _KINDS.items()}.get(kind if isinstance(kind, str) else "")
    if found is None or config.get("compression") is not None or config.get("encryption") is not None:
        raise no_file(path, "folder of ids", "only chunks of plain tensors of uint16 or int32 are read here")
    files, begins, lengths = [], [], []
    for chunk in chunks:
        data, offsets = sample_file(path, chunk.get("filename"), chunk.get("chunk_size"))
        at = offsets.astype(np.int64)
        files.append(data)
        begins.append(at[:-1])
        lengths.append(whole_lengths(path, np.diff(at), found))

    return grouped(path, "litdata", found, lengths, samples_in(files, begins, lengths, found))
