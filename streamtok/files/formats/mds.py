"""mds: a folder that MosaicML's StreamingDataset reads, with the ids of a document in the column `tokens`, and columns
that are carried along.

Of these, text is "str" and numbers are those of NumPy ("int64" ...). All else, and a column with a null in it, which
these cannot hold, is "json".
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .base import STORED, Facts, RowFormat, rows_with_columns
from .mds_columns import MdsColumn, check_column, column_of, decoded, spans_of
from .reading import Tokenized, grouped, no_file
from .shards import Samples, list_in, read_index, sample_file, samples_in, whole_lengths, write_file, write_samples

if TYPE_CHECKING:
    from ..passthrough import Passthrough

SIZE_LIMIT = 1 << 26
"""Bytes of a shard at which MDSWriter begins another, if it is not told otherwise."""

TOKENS = "tokens"
_BYTES_A_SAMPLE = 4  # that the writer counts beside its bytes: its offset


class Writer(RowFormat):
    """See the module."""

    name = "mds"
    is_folder = True
    keeps_empty = False

    def check_passthrough(self, passthrough: Passthrough) -> None:
        for name, kind in zip(passthrough.names, passthrough.types):
            if name == TOKENS:
                raise ValueError(f"format='mds' has a column {name!r} of its own: rename the one in the source")
            check_column(name, kind)

    def build(self, out: str, facts: Facts) -> None:
        os.mkdir(out)
        columns = _columns(facts)
        config = _config(facts.dtype, columns)
        header = json.dumps(config, sort_keys=True).encode()
        shards: list[dict[str, Any]] = []
        files = _files_with_columns(facts, columns, header) if columns else _files(facts, header)
        for sizes, samples in files:
            name = f"shard.{len(shards):05}.mds"
            size = write_samples(os.path.join(out, name), sizes, samples, header)
            raw = {"basename": name, "bytes": size, "hashes": {}}
            shards.append({"samples": len(sizes), "raw_data": raw, "zip_data": None, **config})
        index = json.dumps({"version": 2, "shards": shards}, sort_keys=True)
        write_file(os.path.join(out, "index.json"), index.encode())


def _columns(facts: Facts) -> list[MdsColumn]:
    """The passthrough columns; their values are looked through for nulls."""
    if facts.passthrough is None:
        return []
    has_nulls = [False] * len(facts.passthrough.names)
    for batch in facts.passthrough.read(facts.passthrough.types):
        has_nulls = [known or array.null_count > 0 for known, array in zip(has_nulls, batch)]
    return [column_of(*each) for each in zip(facts.passthrough.names, facts.passthrough.types, has_nulls)]


def _config(dtype: str, columns: list[MdsColumn]) -> dict[str, Any]:
    whole = sorted([MdsColumn(TOKENS, f"ndarray:{dtype}", None), *columns])
    return {
        "version": 2,
        "format": "mds",
        "compression": None,
        "hashes": [],
        "size_limit": SIZE_LIMIT,
        "column_names": [each.name for each in whole],
        "column_encodings": [each.encoding for each in whole],
        "column_sizes": [each.size for each in whole],
    }


def _files(facts: Facts, header: bytes) -> Iterator[tuple[list[int], Iterable[bytes]]]:
    """The sizes and the bytes of the samples of each file, without passthrough columns."""
    ids, width = Samples(facts), STORED[facts.dtype].itemsize

    def size_of(count: int) -> int:
        return 5 + _bytes_of(count) + count * width

    for lengths in ids.files(lambda count: size_of(count) + _BYTES_A_SAMPLE, 4 + 4 + len(header), SIZE_LIMIT):
        heads = {count: (size_of(count) - 4).to_bytes(4, "little") + _head(count) for count in set(lengths)}
        yield [size_of(count) for count in lengths], _samples(ids, lengths, heads)


def _bytes_of(count: int) -> int:
    """Of the length of an array of so many ids."""
    return 1 if count < 1 << 8 else 2 if count < 1 << 16 else 4 if count < 1 << 32 else 8


def _head(count: int) -> bytes:
    """What stands in front of `count` ids: the number of axes and the width of the length, the length."""
    size = _bytes_of(count)
    return bytes([1 << 2 | size.bit_length() - 1]) + count.to_bytes(size, "little")


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


def _files_with_columns(
    facts: Facts, columns: list[MdsColumn], header: bytes
) -> Iterator[tuple[list[int], Iterable[bytes]]]:
    """The same with passthrough columns: a file's samples are made before it is written."""
    samples: list[bytes] = []
    empty = size = 4 + 4 + len(header)
    for sample in _samples_with_columns(facts, columns):
        counted = len(sample) + _BYTES_A_SAMPLE
        if SIZE_LIMIT < size + counted:
            yield list(map(len, samples)), samples
            samples, size = [], empty
        samples.append(sample)
        size += counted
    if samples:
        yield list(map(len, samples)), samples


def _samples_with_columns(facts: Facts, columns: list[MdsColumn]) -> Iterator[bytes]:
    """Each document that has ids: the sizes of the columns whose values differ in size, and the values, by name."""
    places = sorted([(TOKENS, -1), *((each.name, at) for at, each in enumerate(columns))])
    varying = [at < 0 or columns[at].size is None for _, at in places]
    for ids, ends, arrays in rows_with_columns(facts):
        values = [column.encoded(array) for column, array in zip(columns, arrays)]
        begin = 0
        for row, end in enumerate(ends.tolist()):
            if end > begin:
                tokens = _head(end - begin) + ids[begin:end].tobytes()
                data = [tokens if at < 0 else values[at][row] for _, at in places]
                sizes = np.array([len(each) for each, varies in zip(data, varying) if varies], "<u4")
                yield b"".join([sizes.tobytes(), *data])
            begin = end


def is_one(path: str) -> bool:
    """Whether it is a folder; one of litdata is known by its index."""
    return os.path.isdir(path)


def read(path: str, dtype: str | None) -> Tokenized:
    """Rows with the column `tokens`, one axis of uint16, uint32 or int32, beside columns of text, numbers and JSON."""
    shards = list_in(path, read_index(path), "shards")
    layouts = [_layout_of(path, shard) for shard in shards]
    names = [[each.name for each in layout] for layout in layouts]
    kinds = {layout[each.index(TOKENS)].encoding for layout, each in zip(layouts, names)}
    if len(kinds) > 1 or any(each != names[0] for each in names):
        raise no_file(path, "folder of ids", "its shards differ in their columns")
    found = kinds.pop().removeprefix("ndarray:") if kinds else "uint32"
    files, lengths, begins, spans = [], [], [], []
    for shard, layout in zip(shards, layouts):
        raw = shard.get("raw_data")
        name = raw.get("basename") if isinstance(raw, dict) else None
        data, offsets = sample_file(path, name, shard.get("samples"))
        places = spans_of(path, data, offsets.astype(np.int64), layout)
        at, sizes = places[TOKENS]
        if bool((sizes < 2).any()):
            raise no_file(path, "folder of ids", "a sample is too short for its length")
        shape = data[at].astype(np.int64)
        if bool((shape >> 2 != 1).any()):
            raise no_file(path, "folder of ids", "a sample has not one axis")
        begin = 1 + (1 << (shape & 3))
        files.append(data)
        spans.append(places)
        begins.append(at + begin)
        lengths.append(whole_lengths(path, sizes - begin, found))

    def columns(begin: int, end: int) -> Any:
        return decoded(path, files, spans, layouts, begin, end)

    carried = [name for name in names[0] if name != TOKENS] if names else []
    return grouped(path, "mds", found, lengths, samples_in(files, begins, lengths, found), carried, columns)


def _layout_of(path: str, shard: dict[str, Any]) -> list[MdsColumn]:
    """The columns of a shard."""
    names, kinds = shard.get("column_names"), shard.get("column_encodings")
    lists = (
        isinstance(names, list) and isinstance(kinds, list) and len(names) == len(kinds) == len(set(map(str, names)))
    )
    texts = lists and all(isinstance(each, str) for each in [*names, *kinds])  # type: ignore[misc]
    layout = [MdsColumn.named(name, kind) for name, kind in zip(names or (), kinds or ())] if texts else []
    ids = [each.encoding for each in layout if each.name == TOKENS]
    if ids[:1] not in [[f"ndarray:{name}"] for name in STORED] or shard.get("compression") is not None:
        raise no_file(path, "folder of ids", "only shards with a column 'tokens', an array of ids, are read here")
    return layout
