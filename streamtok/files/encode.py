"""encode_file: text files in, a file of token ids out, in bounded memory and safe against crashes.

Sources (sources.py) are cut into documents and encoded (documents.py), ids go to `<dst>.partial` (id_sink.py), and
every `journal_bytes` of text a point to resume from goes to `<dst>.journal` (journal.py); run.py holds them
together. `dst` itself appears by a rename, whole or not at all.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._batch import threads_for
from .._device import check_device, file_chunk
from ..disk.outputs import check_apart, files_of
from ..errors import short_file_names, shown
from ..native.steps import after_all
from .documents import Documents, Tick
from .finishing import taken
from .formats import Format, RowFormat, format_named
from .formats.base import STORED
from .id_sink import IdSink
from .in_order import Emit
from .journal import ResumeError
from .options import Device, Options
from .passthrough import Passthrough
from .ranges import RangeSource
from .run import Earlier, EncodedFile, FileRun, Progress
from .sources import AnySource, SourceError
from .suffixes import ids_format_to_write
from .tables import TableSource
from .tars import TarSource

if TYPE_CHECKING:
    from .._protocols import AllowedSpecial, DisallowedSpecial, Encoding, Path, Source

__all__ = [
    "Earlier",
    "EncodedFile",
    "Options",
    "Progress",
    "RangeSource",
    "ResumeError",
    "SourceError",
    "TableSource",
    "TarSource",
    "choose_dtype",
    "encode_file",
    "encode_sources",
]

# Bytes of sources, as they lie on the disk, for each thread where nobody says how many there are. A thread takes slices
# of 1 MB (_PART in encoder.py). It has none while the first is read, and none while the last one of another thread is
# encoded: with four slices a thread that is a quarter of its time at most. To start and to end them takes 0.6 ms a run,
# four slices take 12 ms and more.
_LEAST_SHARE = 4 << 20


@short_file_names
def encode_file(
    encoding: Encoding,
    src: Source | Sequence[Source],
    dst: Path,
    *,
    format: str | None = None,
    dtype: str = "auto",
    index: bool = False,
    documents: str | None = None,
    key: str = "text",
    append_eot: bool = False,
    resume: bool = False,
    progress: Callable[[Progress], object] | None = None,
    chunk_size: int = 1 << 20,
    journal_bytes: int = 64 << 20,
    allowed_special: AllowedSpecial = frozenset(),
    disallowed_special: DisallowedSpecial = frozenset(),
    errors: str = "strict",
    num_threads: int | None = None,
    device: str = "cpu",
    add_special_tokens: bool = False,
    column: str | None = None,
    nulls: str = "error",
    carry: Sequence[str] = (),
) -> EncodedFile:
    """Encode text files into the file `dst`, in bounded memory. `dst` appears when all is done, by a rename.

    Args:
        encoding: the Encoding.
        src: a path, an open binary stream, a source of streamtok.files, or a list of these. Paths that end in .gz, .xz
            or .zst are decompressed.
        dst: the path of the file to write.
        format: "bin" is the ids, little-endian, and nothing else; "npy" is what numpy.load reads; docs/formats.md has
            the others, which trainers read. None goes by the suffix of `dst`: .npy, .parquet and .arrow are the formats
            of these names; .bin, no suffix or an unknown one "bin"; that of another format is refused.
        dtype: "uint16" or "uint32", for "megatron" "uint16" or "int32"; "auto" is the one that the format's own program
            takes: uint16 where every id of the encoding fits, else the other.
        index: True keeps where documents end in `<dst>.ends` (uint64, in ids) for "bin", "npy", "nanogpt" and "llmc".
            The other formats always tell it.
        documents: "text" makes each source a document, "lines" each line, "jsonl" the string at `key` of each line's
            object. None is "jsonl" for each source whose name ends in .jsonl or .ndjson (or that and .gz, .xz or
            .zst), "text" for every other. Documents are encoded apart from each other.
        key: the key of JSON lines that holds the text.
        append_eot: put the end-of-text token behind each document.
        resume: True goes on where a run that did not finish stopped, and begins anew where there is nothing to go on
            from; False always begins anew.
        progress: called with a Progress after each chunk.
        chunk_size: bytes of text that are read at a time. A GPU takes 8 MB at a time at least.
        journal_bytes: bytes of text after which a point to resume from is kept. A run that cannot be repeated (a pipe
            as source) keeps none.
        allowed_special: names of special tokens that become their ids where the text spells them; "all" for all.
        disallowed_special: names that are refused; "all" for all that are not allowed. By default none is: what is
            not allowed is ordinary text.
        errors: what to do with bytes that are not UTF-8: "strict", "replace" or "ignore".
        num_threads: how many threads encode, up to the number of cores; None for as many as help: one for each 4 MB of
            the files as they lie on the disk. The file does not depend on it, and a run may be resumed with another
            number.
        device: "cpu", "cuda", "cuda:N" or "auto", as for Encoding.encode_to_numpy. The file does not depend on it, and
            a run may be resumed on another.
        add_special_tokens: put the ids of the model's template around each document. The ids of one text are then made
            by one thread.
        column: the column of parquet and Arrow files (.parquet, .arrow, .arrows, .feather, .ipc) that holds the text,
            each row a document; None for the name in `key`. Of tar archives the extension of the members that are
            documents, "txt" for None.
        nulls: what a null in it is: "error"; "skip", no document; "empty", an empty one.
        carry: names of columns of tables, or keys of JSON objects, whose values go with the documents into formats that
            have columns (docs/formats.md). "NAME:TYPE" states the type of values in JSON: "string", "int64", "double",
            "bool", or "json" for JSON text; else it is the one that all of them have in common.

    Raises:
        ResumeError: source, vocabulary or options are not those of the run to resume.
        OSError: a file cannot be read or written. Once text was taken, `<dst>.partial` and `<dst>.journal` stay, and
            resume=True goes on from them.
        ValueError: text or options that are refused. Both files are removed: the same text would be refused again.
        streamtok.gpu.DeviceError: a device asked for by name cannot be used.
    """
    check_device(device)
    options = Options(
        documents,
        key,
        append_eot,
        allowed_special,
        disallowed_special,
        errors,
        add_special_tokens,
        column,
        nulls,
        carry,
    )
    for name, value in (("chunk_size", chunk_size), ("journal_bytes", journal_bytes)):
        if value < 1:
            raise ValueError(f"{name}={shown(value)} takes no bytes: write 1 or more")
    target, sources = target_of(dst), options.sources_of(src)
    places = [(source.name, source.where()) for source in sources]
    check_apart(files_of(target), places)
    chosen = format_named(ids_format_to_write(os.fsdecode(dst)) if format is None else format)
    check_replaced(target, chosen, resume)
    run = file_run(
        encoding,
        sources,
        target,
        chosen,
        dtype,
        index,
        options,
        chunk_size,
        journal_bytes,
        num_threads,
        device,
        progress,
    )
    return run.run(resume)


def file_run(
    encoding: Encoding,
    sources: list[AnySource],
    target: str,
    format: Format,
    dtype: str,
    index: bool,
    options: Options,
    chunk_size: int,
    journal_bytes: int,
    num_threads: int | None,
    device: str,
    progress: Callable[[Progress], object] | None = None,
    is_shard: bool = False,
) -> FileRun:
    """What encode_file() does, and what each shard of a dataset is: sources into one output, as a function of sources,
    vocabulary and options alone. Nothing is opened for writing before its run().

    Raises as encode_file(). is_shard: of a dataset. Its output is read again soon, a short run of it has no journal,
    and documents_of_sources() tells how many documents are of each source.
    """
    check_device(device)
    threads = threads_of(num_threads, sources)
    passthrough = passthrough_of(options, sources)
    places = [(source.name, source.where()) for source in sources]
    sink = open_sink(target, format, format.choose_dtype(encoding, dtype), index, passthrough, places, is_shard)
    run_on = device_for(encoding, device, sources, threads)
    if run_on is not None:
        chunk_size = max(chunk_size, run_on.chunk)
    return FileRun(encoding, sources, sink, options, progress, chunk_size, journal_bytes, threads, run_on, is_shard)


def threads_of(num_threads: int | None, sources: list[AnySource]) -> int:
    """How many threads encode these sources where a caller asks for so many. Raises ValueError below 1."""
    if num_threads is None:
        num_threads = max(1, sum(source.bytes_on_disk() for source in sources) // _LEAST_SHARE)
    return threads_for(num_threads)


def open_sink(
    target: str,
    format: Format,
    dtype: str,
    index: bool,
    passthrough: Passthrough | None,
    sources: Iterable[tuple[str, str | int | None]],
    keeps_pages: bool = False,
) -> IdSink:
    """The output for ids in this format. sources: as for check_apart().

    Raises ImportError or ValueError where the format cannot be written here, under this name, or with these columns, or
    where a source would be written over.
    """
    format.check_machine()
    format.check_target(target)
    if passthrough is not None:
        format.check_passthrough(passthrough)
    sink = IdSink(target, format, dtype, index, keeps_pages, passthrough)
    check_apart([target, *sink.outputs], sources)
    return sink


def passthrough_of(options: Options, sources: list[AnySource]) -> Passthrough | None:
    """The columns that these options carry of these sources; None for none.

    Raises ValueError for a source without columns, ImportError without pyarrow, OSError.
    """
    if not options.carry:
        return None
    return Passthrough.of(options.columns, ((source, options.kind_of(source)) for source in sources))


def device_for(encoding: Encoding, device: str, sources: list[AnySource], num_threads: int) -> Device | None:
    """The device that makes the ids; None for the CPU."""
    if device == "cpu":
        return None
    chunk = file_chunk(encoding, device, sum(source.bytes_on_disk() for source in sources), num_threads)
    return None if chunk is None else Device(device, chunk)


def encode_sources(
    encoding: Encoding,
    src: Source | Sequence[Source],
    emit: Emit,
    options: Options,
    *,
    chunk_size: int = 1 << 20,
    tick: Tick | None = None,
    wants_ends: bool = False,
    num_threads: int | None = None,
) -> Documents:
    """Encode `src` without a file.

    Args:
        encoding: the Encoding.
        src: as for encode_file().
        emit: called with every array of ids, to which it keeps no reference, and behind how many of them documents end
            (uint64).
        options: what documents are, and how they are encoded.
        chunk_size: bytes of text that are read at a time.
        tick: called with the Documents and the reader after each chunk.
        wants_ends: False leaves the arrays of ends empty.
        num_threads: as for encode_file(). emit is called by the calling thread, in the order of the text.

    Returns:
        The Documents; its `documents` and `text_bytes` are the totals.

    Raises:
        OSError: a source cannot be read.
        ValueError: text that is refused.
    """
    sources = options.sources_of(src)
    documents = Documents(encoding, emit, options, threads_of(num_threads, sources), wants_ends=wants_ends)

    def encode() -> Documents:
        for source in sources:
            documents.begin(source)
            documents.encode_source(source, chunk_size, tick)
        documents.settle()
        return documents

    return after_all(encode, documents.pipeline.close)


def target_of(dst: Path) -> str:
    """The file to write, links followed. Raises FileNotFoundError when its directory is missing, ValueError for what is
    neither a file nor a folder."""
    path = os.path.realpath(os.fsdecode(dst))
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        folder = os.path.dirname(path)
        if not os.path.exists(folder):
            raise FileNotFoundError(errno.ENOENT, "there is no such directory; make it first", folder) from None
        return path
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise _no_file(path)
    return path


def _no_file(path: str) -> ValueError:
    return ValueError(f"dst={shown(path)} is a directory, device or pipe: name a regular file or a new one")


def check_replaced(target: str, format: Format, resume: bool) -> None:
    """Raises ValueError where a rename would destroy what is no output of this format, FileExistsError for a folder
    with files in it."""
    is_folder = isinstance(format, RowFormat) and format.is_folder
    if is_folder and os.path.isfile(target):
        raise ValueError(f"dst={shown(target)} is a file: format={format.name!r} makes a folder, so name a new one")
    if is_folder and os.path.isdir(target) and os.listdir(target) and not resume:
        raise taken(target)  # a run to resume may have been killed right behind its end: put_in_place() compares
    for path in [*format.sides(target), *([] if is_folder else [target])]:
        if os.path.isdir(path):
            raise _no_file(path)


def choose_dtype(encoding: Encoding, dtype: str) -> np.dtype[Any]:
    """The dtype of a file of ids and nothing else: "auto" is the smaller of the two that every id of the encoding fits.

    Raises ValueError where ids would be wrapped.
    """
    return STORED[format_named("bin").choose_dtype(encoding, dtype)]
