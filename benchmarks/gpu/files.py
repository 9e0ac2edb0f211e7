"""encode_file(device="cuda") compared with what the storage and the bus give: MB of text a second, from file to file.

    python benchmarks/gpu/files.py --corpus FOLDER [--gb 4] [--folders /dev/shm /tmp] [--encodings o200k_base]

The text is paragraphs of the corpora, drawn at random, in a file in each of the folders: one in memory, one on a disk.
Ids are compared with the CPU core's first, all of them. Then, all in MB of text a second:

read         one thread reads the file into one buffer; "cold" is the same once the system has dropped it from memory
storage      one thread reads while another writes as many bytes as the ids have, with an fsync every 64 MB of text:
             the most that any program can reach that writes as many bytes with such a journal
bus          text to the device and as much back at the same time, pinned memory
GPU          encode_file(device="cuda"), the best of three; "of the limit" is this over the smaller of storage and bus
ceiling      the same with the device replaced by a fixed answer of the same size: what the host lets through
CPU          encode_file on all cores

and the seconds for a GB that each stage of a run takes, summed over its threads: one reads, four encode and make
checksums, one writes, one waits for the disk. The stage that takes longest for each of its threads is the one that
binds.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import random
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import rivals
import shared
from host_to_host import copies

from streamtok import disk
from streamtok.files import documents, id_sink, sources

STEP = 8 << 20
SYNC_EVERY = 64 << 20  # of text: encode_file's journal_bytes


# ==== The text ====


def write_text(path: pathlib.Path, options: Any) -> None:
    """Paragraphs of all corpora in random order: about gb * 1e9 bytes."""
    paragraphs = [
        part + b"\n\n"
        for corpus in options.corpora
        for part in shared.text_of(options.corpus, corpus).split(b"\n\n")
        if len(part) < 1 << 20
    ]
    mean = sum(map(len, paragraphs)) / len(paragraphs)
    draw, left = random.Random(0), int(options.gb * 1e9)
    with path.open("wb") as file:
        while left > 0:
            block = b"".join(draw.choices(paragraphs, k=max(1, int(min(left, 64 << 20) / mean))))
            file.write(block)
            left -= len(block)
        file.flush()
        os.fsync(file.fileno())


def drop_from_memory(path: pathlib.Path) -> bool:
    """Makes the system drop its cache of the file; False where a program cannot ask for that."""
    if not hasattr(os, "posix_fadvise"):
        return False
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return True


# ==== What the machine gives ====


def read_through(path: pathlib.Path) -> None:
    room = np.empty(STEP, np.uint8)
    with path.open("rb", buffering=0) as file:
        while file.readinto(room):
            pass


def write_out(path: pathlib.Path, ids: Any, syncs: int) -> None:
    data = ids.view(np.uint8)
    marks = {len(data) * (i + 1) // syncs // STEP for i in range(syncs)}
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        for i, at in enumerate(range(0, len(data), STEP)):
            disk.File(descriptor, str(path)).write(data[at : at + STEP].data)
            if i in marks:
                os.fsync(descriptor)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def both_at_once(source: pathlib.Path, target: pathlib.Path, ids: Any, syncs: int) -> None:
    writer = threading.Thread(target=write_out, args=(target, ids, syncs))
    writer.start()
    read_through(source)
    writer.join()


def best_seconds(call: Callable[[], Any], repeats: int = 2, before: Callable[[], Any] = lambda: None) -> float:
    times = []
    for _ in range(repeats):
        before()
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


# ==== encode_file, as it is and in parts ====


class Fixed:
    """A device whose answer is fixed: the first ids, as many as such a text has."""

    def __init__(self, ids: Any, size: int) -> None:
        self._ids, self._share = ids, len(ids) / size

    def __call__(self, *arguments: Any) -> Fixed:
        return self

    def encode_array(self, source: Any, *matchers: Any) -> Any:
        return self._ids[: int(len(source) * self._share)].astype(np.uint32)


@contextlib.contextmanager
def replaced(*places: tuple[Any, str, Any]) -> Iterator[None]:
    """(object, name, value): its attribute has that value, for a while."""
    before = [(thing, name, getattr(thing, name)) for thing, name, _ in places]
    try:
        for thing, name, value in places:
            setattr(thing, name, value)
        yield
    finally:
        for thing, name, value in before:
            setattr(thing, name, value)


STAGES = {
    "reading": (sources.Reader, "read_into"),
    "encoding": (documents.DeviceCoder, "encode_array"),
    "checksums": (id_sink.IdSink, "prepare"),
    "writing": (disk, "os_write"),
    "fsync": (disk, "os_fsync"),
}


def seconds_by_stage(call: Callable[[], Any]) -> dict[str, float]:
    spent: dict[str, list[float]] = {name: [] for name in STAGES}

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(*arguments)
            finally:
                spent[name].append(time.perf_counter() - start)

        return run

    with replaced(*((*place, timed(name, getattr(*place))) for name, place in STAGES.items())):
        call()
    return {name: sum(times) for name, times in spent.items()}


def measure(encoding: Any, source: pathlib.Path, want: Any, bus: float) -> shared.Row:
    """want: all ids of the source, in the dtype of the file."""
    target, size = source.with_name("out.bin"), source.stat().st_size
    syncs = max(1, size // SYNC_EVERY)

    def encode(device: str = "cuda", threads: int = 1) -> None:
        encoding.encode_file(source, target, device=device, num_threads=threads)

    def rate(call: Callable[[], Any], **how: Any) -> float:
        return round(size / best_seconds(call, **how) / 1e6, 1)

    encode()
    shared.check(np.memmap(target, want.dtype, "r"), want, f"{encoding.name}, {source}")
    row: shared.Row = {"read": rate(lambda: read_through(source))}
    row["storage"] = rate(lambda: both_at_once(source, target, want, syncs))
    row["bus"] = round(bus / 1e6, 1)
    row["GPU"] = rate(encode, repeats=3)
    row["of the limit"] = round(row["GPU"] / min(row["storage"], row["bus"]), 3)
    if drop_from_memory(source):
        row["read, cold"] = rate(lambda: read_through(source), before=lambda: drop_from_memory(source))
        row["GPU, cold"] = rate(encode, before=lambda: drop_from_memory(source))
    with replaced((documents, "DeviceCoder", Fixed(want, size))):
        row["ceiling"] = rate(encode)
    row["CPU"] = rate(lambda: encode("cpu", shared.cores()))
    stages = seconds_by_stage(encode)
    row["stages"] = {name: round(spent / size * 1e9, 3) for name, spent in stages.items()}
    return row


def rows(options: Any) -> Iterator[shared.Row]:
    bus = 1e9 * copies([1], 1 << 30)["1"]
    for folder in options.folders:
        free, needed = shutil.disk_usage(folder).free, int(options.gb * 1e9 * 2.2)
        if free < needed:
            rivals.say(f"{folder} has {free / 1e9:.1f} GB free, and {needed / 1e9:.1f} are needed: left out")
            continue
        with tempfile.TemporaryDirectory(dir=folder) as own:
            source = pathlib.Path(own, "in.txt")
            write_text(source, options)
            text = np.fromfile(source, np.uint8)
            for name in options.encodings:
                encoding = shared.streamtok.get_encoding(name)
                want = encoding.encode_to_numpy(text, num_threads=shared.cores(), **shared.OPTIONS)
                want = want.astype(shared.ids_dtype(encoding), copy=False)
                found = measure(encoding, source, want, bus)
                yield {"folder": folder, "encoding": name, "mb": round(len(text) / 1e6), "mb_s": found}


def table(found: list[shared.Row]) -> str:
    names = [name for name in shared.names_in(found, "mb_s") if name != "stages"]
    stages = list(STAGES)
    cells = []
    for row in found:
        spent = row["mb_s"].get("stages", {})
        what = f"{row['encoding']}, {row['folder']}, {row['mb']} MB"
        cells.append([what, *(row["mb_s"].get(name, "") for name in names), *(spent.get(name, "") for name in stages)])
    return shared.markdown(["MB of text a second", *names, *(f"{name}, s a GB" for name in stages)], cells)


if __name__ == "__main__":
    full = {"encodings": ["r50k_base", "o200k_base"], "folders": ["/dev/shm", tempfile.gettempdir()]}
    shared.main(__doc__, rows, table, brief={"gb": 1.0, "encodings": ["o200k_base"]}, gb=4.0, **full)
