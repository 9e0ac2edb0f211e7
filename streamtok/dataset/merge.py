"""The shards of a dataset joined in the order of the plan, into one output of any format."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import shown
from ..files.encode import check_replaced, open_sink, target_of
from ..files.formats import Format, format_named
from ..files.id_sink import IdSink
from ..files.passthrough import Passthrough, PassthroughWriter, columns_of, joined_type
from ..files.suffixes import ids_format_to_write
from .manifest import DatasetManifest, read_dataset, sources_of
from .reading import blocks, encoding_of, open_shard

if TYPE_CHECKING:
    from ..core import Encoding

__all__ = ["Merged", "merge"]


@dataclass(frozen=True)
class Merged:
    """What merge() wrote: path, format and dtype of the output, how many documents and ids."""

    path: str
    format: str
    dtype: str
    documents: int
    ids: int


def merge(
    folder: str | os.PathLike[str],
    dst: str | os.PathLike[str],
    *,
    format: str | None = None,
    dtype: str = "auto",
    index: bool = False,
    encoding: Encoding | None = None,
    carry: bool = True,
) -> Merged:
    """Join the shards of a dataset, in the order of the plan. `dst` appears when all is done, by a rename.

    The output is what encode_file writes of the same sources in this format.

    Args:
        folder: of the dataset.
        dst: the file, or the folder, to write.
        format: of the output, as for encode_file; None goes by the suffix of `dst`, and is that of the shards where
            there is none, an unknown one, or theirs.
        dtype: of the ids, as for encode_file.
        index: keep where documents end, as for encode_file.
        encoding: where the dataset was made with one that is not bundled.
        carry: keep the columns that the shards carry; False leaves them out, for a format without columns.

    Raises:
        ValueError: the dataset is not complete, or does not go with the format; shards carry a column in different
            types; as sample().
        OSError: a file cannot be read or written; nothing is left of the output then.
    """
    name, target = os.fspath(folder), target_of(dst)
    dataset = read_dataset(name)
    if not dataset.is_complete:
        raise ValueError(f"{len(dataset.failed)} shards of this dataset failed: mend their sources, and build it again")
    vocabulary = encoding_of(dataset, encoding)
    chosen = format_named(ids_format_to_write(target, dataset.options["format"]) if format is None else format)
    check_replaced(target, chosen, False)
    passthrough = _passthrough_of(name, dataset) if carry else None
    paths = [os.path.join(name, facts.name) for _, files in dataset.files() for facts in files]
    made_of = [(path, path) for path in paths]
    sink = open_sink(target, chosen, chosen.choose_dtype(vocabulary, dtype), index, passthrough, made_of)
    try:
        sink.open()
        sink.start()
        documents = _join(name, dataset, sink)
    except BaseException:
        if sink.is_open:
            sink.discard()
        raise
    finally:
        sink.close()
    return Merged(target, chosen.name, sink.dtype_name, documents, sink.ids)


def _passthrough_of(folder: str, dataset: DatasetManifest) -> Passthrough | None:
    """The columns that the shards carry, in types that hold the values of all. Raises ValueError for one without."""
    columns = columns_of(dataset.options.get("carry", ()))
    if not columns:
        return None
    types: list[Any] = [None] * len(columns)
    seen = [""] * len(columns)
    for shard in dataset.shards:
        found = open_shard(folder, dataset, shard).columns(0, 0).schema
        for at, column in enumerate(columns):
            if column.name not in found.names:
                raise ValueError(f"a shard of {shown(shard['source'])} has no column {shown(column.name)}: verify")
            kind = found.field(column.name).type
            joined = joined_type(types[at], kind)
            if joined is None:
                raise ValueError(
                    f"the column {shown(column.name)} is {types[at]} in {shown(seen[at])} and {kind} in "
                    f'{shown(shard["source"])}: state its type in the spec, as carry = ["{column.name}:json"], and '
                    "build anew; or merge without columns, with carry=False (--no-carry)"
                )
            if joined != types[at]:
                types[at], seen[at] = joined, shard["source"]
    return Passthrough([column.name for column in columns], types)


def _counts(shard: dict[str, Any], documents: int, format: Format) -> list[tuple[str, int]]:
    """How many of a shard's documents are of which source. Raises ValueError where the format has to know, and nothing
    tells."""
    counts = sources_of(shard)
    if len(counts) == 1:
        return [(counts[0][0], documents)]  # a format without empty documents has fewer than the manifest says
    if documents != shard["documents"] and format.wants_starts:
        raise ValueError(
            f"format={format.name!r} tells the source of each document, and a shard of {len(counts)} sources has left "
            "out its empty ones: merge into another format, or build the shards in one that keeps them"
        )
    return counts


def _join(folder: str, dataset: DatasetManifest, sink: IdSink) -> int:
    """All documents into the sink; returns how many."""
    documents: dict[str, int] = {}
    total = 0
    passthrough = None if sink.passthrough is None else PassthroughWriter(sink.passthrough, sink.append_rows)
    for shard in dataset.shards:
        opened, begin = open_shard(folder, dataset, shard), 0
        total += len(opened)
        for source, count in _counts(shard, len(opened), sink.format):
            documents[source] = documents.get(source, 0) + count
        for ids, ends in blocks(opened):
            sink.append(ids, ends)
            if passthrough is not None:
                for batch in opened.columns(begin, begin + len(ends)).to_batches():
                    passthrough.rows(batch)
            begin += len(ends)
    sink.flush()
    sink.flush_passthrough()
    sink.sync()
    starts = [0, *itertools.accumulate(documents.values())][: len(documents)]
    sink.finish(dataset.encoding, list(documents), starts)
    return total
