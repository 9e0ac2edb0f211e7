"""Calls that work on several threads: rows of interrupted_rows.py. No thread may be left behind an interrupted call."""

from __future__ import annotations

import _thread
import functools
import gzip
import importlib.util
import pathlib
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

from english import ENGLISH
from interrupted import Row
from interrupted_encodings import of_own_pattern
from interrupted_files import encoding_rows, new_folder, sources

from streamtok import _batch as batch
from streamtok.files import encoder, readers, remote
from streamtok.train import inputs, run, train

SMALL = [
    (batch, "cores", lambda: 64),
    (batch, "_LEAST_SHARE", 64),
    (encoder, "_PART", 64),
    (readers, "_MOST_HELD", 300),
    (remote, "_BLOCK", 256),
    (inputs, "CHUNK", 2600),
    (run, "CHECKPOINT_SECONDS", 0.0),
    (run, "_WORK", 300),
]
"""What is set while the rows are made and called, so that a short text has all that a long one has: (owner, name,
value)."""


def no_more_threads(before: int) -> bool:
    """Whether there are soon no more threads than `before`."""
    end = time.monotonic() + 3
    while _thread._count() > before and time.monotonic() < end:
        time.sleep(1e-4)
    return _thread._count() <= before


def ending(row: Row) -> Row:
    """The row; and the threads of the call have to end."""

    def make() -> Any:
        return _thread._count(), row.make()

    def future(made: Any) -> object:
        found = row.future(made[1])
        return no_more_threads(made[0]), found

    return row._replace(make=make, call=lambda made: row.call(made[1]), future=future)


@functools.cache
def _packed() -> list[pathlib.Path]:
    """Compressed files, which are read ahead."""
    folder = new_folder()
    for number in range(3):
        (folder / f"{number}.txt.gz").write_bytes(gzip.compress(ENGLISH[number * 900 : (number + 1) * 900]))
    return sorted(folder.iterdir())


def _map_rows() -> list[Row]:
    enc = of_own_pattern()
    texts = [ENGLISH[i * 50 : (i + 1) * 50].decode("latin-1") for i in range(24)]

    def call(_: object) -> object:
        return enc.encode_batch(texts, num_threads=3)

    return [Row("thread_map", list, call, call)]


def _remote_rows() -> list[Row]:
    if importlib.util.find_spec("fsspec") is None:
        return []
    import fsspec

    data = ENGLISH[:3000]
    fsspec.filesystem("memory").pipe_file("/interrupted.txt", data)

    def opened() -> Any:
        file: Any = remote.RemoteSource("memory://interrupted.txt").open_raw()
        assert file.read(100) == data[:100]
        return file

    def future(file: Any) -> object:
        if file.closed:
            return "closed"
        at = file.tell()
        assert file.read(50) == data[at : at + 50]
        file.seek(7)
        found = at, file.read()
        file.close()
        return found

    calls: dict[str, Callable[[Any], object]] = {
        "read": lambda file: file.read(700),
        "seek": lambda file: file.seek(-900, 2),
        "close": lambda file: file.close(),
    }
    return [Row(f"remote.Blocks: {what}", opened, call, future) for what, call in calls.items()]


def thread_rows() -> list[Row]:
    rows = [
        *encoding_rows("two threads", {"num_threads": 2}),
        *encoding_rows("packed, on three threads", {"num_threads": 3, "src": _packed(), "enough": 300}),
        *_map_rows(),
        *_remote_rows(),
    ]
    return [ending(row) for row in rows]


# ==== Training ====


def training_rows() -> list[Row]:
    rows = []
    kinds: dict[str, dict[str, Any]] = {
        "one thread": {"threads": 1},
        "two threads": {"threads": 2},
        "with spills": {"threads": 2, "max_memory": 110_000_000},
        "by regex": {"threads": 2, "pattern": r"\w+(?=\s)|\W|\w"},
    }
    for name, options in kinds.items():
        learn = functools.partial(_learn, options)
        rows.append(Row(f"train, {name}: a first run", new_folder, learn, functools.partial(_learned, options), 15))
        rows.append(
            Row(
                f"train, {name}: a run that goes on",
                functools.partial(_begun, options),
                learn,
                functools.partial(_learned, options),
                15,
            )
        )
        plain = functools.partial(_plain, options)
        rows.append(Row(f"train, {name}: without a checkpoint", _handled, plain, plain, 15))
    return [ending(row) for row in rows]


def _texts() -> Iterator[bytes]:
    for path in sources():
        yield path.read_bytes()


def _handled() -> None:
    """Ctrl-C raises KeyboardInterrupt, as in a terminal. Background programs of a script ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _plain(options: dict[str, Any], _: object) -> object:
    ranks = train(_texts(), 262, **options)._mergeable_ranks
    return ranks, signal.getsignal(signal.SIGINT) is signal.default_int_handler


def _learn(options: dict[str, Any], folder: pathlib.Path, **more: Any) -> Any:
    return train([*map(str, sources())], 262, checkpoint=folder / "run", **options, **more)._mergeable_ranks


def _learned(options: dict[str, Any], folder: pathlib.Path) -> object:
    is_right = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    found = _learn(options, folder)
    names = sorted(path.name for path in (folder / "run").iterdir() if not path.name.startswith("state-"))
    shutil.rmtree(folder)
    return found, names, is_right


class _Enough(BaseException):
    pass


def _begun(options: dict[str, Any]) -> pathlib.Path:
    _handled()
    calls = 0

    def progress(_: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise _Enough

    folder = new_folder()
    try:
        _learn(options, folder, progress=progress)
    except _Enough:
        pass
    return folder
