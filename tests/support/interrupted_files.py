"""Calls that write files: rows of interrupted_rows.py."""

from __future__ import annotations

import atexit
import contextlib
import functools
import itertools
import json
import os
import pathlib
import shutil
import tempfile
from typing import Any

import oracle
from english import ENGLISH
from interrupted import Row
from interrupted_encodings import record_of_characters

import streamtok
from streamtok import disk
from streamtok.dataset import Spec, build
from streamtok.files import encode_file

_numbers = itertools.count()


@functools.cache
def _root() -> pathlib.Path:
    """A folder of this process, for all of these files."""
    folder = tempfile.mkdtemp(prefix="streamtok-interrupted-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return pathlib.Path(folder)


def new_folder() -> pathlib.Path:
    made = _root() / str(next(_numbers))
    made.mkdir()
    return made


def _contents(folder: pathlib.Path) -> object:
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    shutil.rmtree(folder)
    return found


@functools.cache
def sources() -> list[pathlib.Path]:
    folder = new_folder()
    for name in ("a.txt", "b.txt"):
        (folder / name).write_bytes(ENGLISH[:2500] + f"naïve café ☕ 日本語 {name}\n".encode() * 4)
    return sorted(folder.iterdir())


class _Enough(BaseException):
    pass


def encoding_rows(name: str, options: dict[str, Any]) -> list[Row]:
    enc, output = oracle.ours("r50k_base"), options.pop("output", "out.bin")
    source, enough = options.pop("src", None) or sources(), options.pop("enough", 700)

    def encode(folder: pathlib.Path, **more: Any) -> None:
        encode_file(enc, source, folder / output, chunk_size=256, journal_bytes=700, append_eot=True, **options, **more)

    def stopped() -> pathlib.Path:
        """A folder with what is left of a run that did not end."""

        def progress(at: Any) -> None:
            if at.ids >= enough:
                raise _Enough

        folder = new_folder()
        with contextlib.suppress(_Enough):
            encode(folder, progress=progress)
        return folder

    def future(folder: pathlib.Path) -> object:
        encode(folder, resume=True)
        return _contents(folder)

    return [
        Row(f"encode_file, {name}: a first run", new_folder, encode, future, 40),
        Row(f"encode_file, {name}: a run that goes on", stopped, lambda it: encode(it, resume=True), future, 40),
    ]


def file_rows() -> list[Row]:
    rows = [
        *encoding_rows("one thread", {"num_threads": 1}),
        *encoding_rows("npy with ends", {"num_threads": 1, "output": "out.npy", "documents": "lines", "index": True}),
    ]

    def written() -> pathlib.Path:
        folder = new_folder()
        (folder / "x").write_bytes(b"old")
        return folder

    def replace(folder: pathlib.Path) -> None:
        disk.replace(str(folder / "x"), lambda file: file.write(b"new" * 10), durable=True)

    def replaced(folder: pathlib.Path) -> object:
        names = [path.name for path in folder.iterdir() if not path.name.endswith(".partial")]
        found = (folder / "x").read_bytes()
        shutil.rmtree(folder)
        return names, found

    rows.append(Row("disk.replace", written, replace, replaced))
    return [*rows, *_dataset_rows(), *_model_rows()]


def _dataset_rows() -> list[Row]:
    def spec(folder: pathlib.Path) -> Spec:
        names = tuple(map(str, sources()))
        return Spec(
            sources=names, output="out", encoding="r50k_base", append_eot=True, shard_bytes=2000, base=str(folder)
        )

    def future(folder: pathlib.Path) -> object:
        build(spec(folder), workers=1)
        return _contents(folder)

    def begun() -> pathlib.Path:
        def progress(at: Any) -> None:
            if at.shards == 2:
                raise _Enough

        folder = new_folder()
        with contextlib.suppress(_Enough):
            build(spec(folder), workers=1, progress=progress)
        return folder

    def call(folder: pathlib.Path) -> None:
        build(spec(folder), workers=1)

    return [
        Row("dataset.build: a first one", new_folder, call, future, 40),
        Row("dataset.build: one that goes on", begun, call, future, 40),
    ]


def _model_rows() -> list[Row]:
    def saved() -> pathlib.Path:
        folder = new_folder()
        (folder / "tokenizer.json").write_text(json.dumps(record_of_characters()), encoding="utf-8")
        return folder

    def load(folder: pathlib.Path) -> Any:
        before = os.environ["STREAMTOK_CACHE"]
        os.environ["STREAMTOK_CACHE"] = str(folder / "cache")
        try:
            return streamtok.Encoding.from_file(folder / "tokenizer.json", cache=True)
        finally:
            os.environ["STREAMTOK_CACHE"] = before

    def future(folder: pathlib.Path) -> object:
        made = [load(folder).encode("a bc é") for _ in range(2)]
        shutil.rmtree(folder)
        return made

    return [Row("Encoding.from_file with a cache", saved, load, future, 60)]
