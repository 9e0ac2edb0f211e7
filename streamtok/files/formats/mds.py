"""mds: a folder that MosaicML's StreamingDataset reads, with the ids of a document in the column `tokens`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from .base import STORED, Facts, RowFormat
from .reading import Array, Tokenized, no_file
from .shards import Samples, list_in, read_index, sample_file, tokenized, whole_lengths, write_file, write_samples

SIZE_LIMIT = 1 << 26
"""Bytes of a shard at which MDSWriter begins another, if it is not told otherwise."""

_COLUMN = "tokens"
_BYTES_A_SAMPLE = 4  # that the writer counts beside its bytes: its offset


class Mds(RowFormat):
    """See the module."""

    name = "mds"
    is_folder = True
    keeps_empty = False

    def build(self, out: str, facts: Facts) -> None:
        os.mkdir(out)
        config = _config(facts.dtype)
        header = json.dumps(config, sort_keys=True).encode()
        shards: list[dict[str, Any]] = []
        ids, width = Samples(facts), STORED[facts.dtype].itemsize

        def size_of(count: int) -> int:
            return 5 + _bytes_of(count) + count * width + _BYTES_A_SAMPLE

        for lengths in ids.files(size_of, 4 + 4 + len(header), SIZE_LIMIT):
            name = f"shard.{len(shards):05}.mds"
            heads = {count: _head(count, width) for count in set(lengths)}
            sizes = [size_of(count) - _BYTES_A_SAMPLE for count in lengths]
            size = write_samples(os.path.join(out, name), sizes, _samples(ids, lengths, heads), header)
            raw = {"basename": name, "bytes": size, "hashes": {}}
            shards.append({"samples": len(lengths), "raw_data": raw, "zip_data": None, **config})
        index = json.dumps({"version": 2, "shards": shards}, sort_keys=True)
        write_file(os.path.join(out, "index.json"), index.encode())


def _config(dtype: str) -> dict[str, Any]:
    return {
        "version": 2,
        "format": "mds",
        "compression": None,
        "hashes": [],
        "size_limit": SIZE_LIMIT,
        "column_names": [_COLUMN],
        "column_encodings": [f"ndarray:{dtype}"],
        "column_sizes": [None],
    }


def _bytes_of(count: int) -> int:
    """Of the length of an array of so many ids."""
    return 1 if count < 1 << 8 else 2 if count < 1 << 16 else 4 if count < 1 << 32 else 8


def _head(count: int, width: int) -> bytes:
    """What stands in front of `count` ids in a row of one column: its size, the number of axes and the width of the
    length, the length."""
    size = _bytes_of(count)
    shape = bytes([1 << 2 | size.bit_length() - 1]) + count.to_bytes(size, "little")
    return (len(shape) + count * width).to_bytes(4, "little") + shape


def _samples(ids: Samples, lengths: list[int], heads: dict[int, bytes]) -> Iterator[bytes]:
    following = iter(lengths)
    for block in ids.take(sum(lengths)):  # of whole documents
        parts: list[Any] = []
        view, at = block.data, 0
        while at < len(view):
            count = next(following)
            parts.append(heads[count])
            parts.append(view[at : at + count])
            at += count
        yield b"".join(parts)


def read(path: str, dtype: str | None) -> Tokenized:
    """Rows whose one column is `tokens`, one axis of uint16, uint32 or int32."""
    shards = list_in(path, read_index(path), "shards")
    names = [_dtype_of(path, shard) for shard in shards]
    if len(set(names)) > 1:
        raise no_file(path, "folder of ids", "its shards differ in their columns")
    found = names[0] if names else "uint32"
    files, lengths, begins = [], [], []
    for shard in shards:
        raw = shard.get("raw_data")
        name = raw.get("basename") if isinstance(raw, dict) else None
        data, offsets = sample_file(path, name, shard.get("samples"))
        at = offsets.astype(np.int64)
        sizes = np.diff(at)
        if bool((sizes < 6).any()):
            raise no_file(path, "folder of ids", "a sample is too short for its length")
        shape = data[at[:-1] + 4].astype(np.int64)
        if bool((shape >> 2 != 1).any()):
            raise no_file(path, "folder of ids", "a sample has not one axis")
        begin = 4 + 1 + (1 << (shape & 3))
        files.append(data)
        begins.append(at[:-1] + begin)
        lengths.append(whole_lengths(path, sizes - begin, found))

    def take(file: int, i: int) -> Array:
        begin, count = int(begins[file][i]), int(lengths[file][i])
        stored = STORED[found]
        return np.frombuffer(files[file][begin : begin + count * stored.itemsize], stored)

    return tokenized(path, "mds", found, lengths, take)


def _dtype_of(path: str, shard: dict[str, Any]) -> str:
    columns, kinds = shard.get("column_names"), shard.get("column_encodings")
    kind = kinds[0] if isinstance(kinds, list) and len(kinds) == 1 else None
    found = {f"ndarray:{name}": name for name in STORED}.get(kind if isinstance(kind, str) else "")
    if columns != [_COLUMN] or found is None or shard.get("compression") is not None:
        raise no_file(path, "folder of ids", "only shards with the one column 'tokens', an array of ids, are read here")
    return found
