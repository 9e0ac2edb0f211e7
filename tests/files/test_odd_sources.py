"""Sources that are no ordinary files, or fail while they are read: which error names them, and what is read."""

from __future__ import annotations

import errno
import io
import os
import pathlib
import sys

import pytest
from file_runs import _enc  # noqa: F401

from streamtok import disk
from streamtok.files import RangeSource, SourceError, TableSource, encode_file, remote
from streamtok.files.remote import RemoteSource
from streamtok.files.sources import PathSource, StreamSource

TEXT = "".join(f"line {i} of some words, naïve ones\n" for i in range(200)).encode()


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("a.txt").write_bytes(TEXT)


# ==== files ====


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_a_pipe_has_neither_ranges_nor_row_groups(enc):
    os.mkfifo("pipe")
    with pytest.raises(ValueError, match="'pipe' is no regular file: only such a file has ranges of bytes"):
        encode_file(enc, RangeSource("pipe"), "out.bin", documents="lines")
    with pytest.raises(ValueError, match="'pipe' is no regular file: a table is read in several places"):
        TableSource("pipe").fingerprint()


def test_sizes_that_are_known_before_a_file_is_looked_at(tmp_path):
    assert PathSource("a.txt").bytes_on_disk() == len(TEXT)
    assert PathSource("missing").bytes_on_disk() == 0
    for begin, end, size in [(0, None, len(TEXT)), (10, 30, 20), (10, None, len(TEXT) - 10), (9000, None, 0)]:
        assert RangeSource("a.txt", begin, end).bytes_on_disk() == size
    assert TableSource("a.txt").bytes_on_disk() == len(TEXT)
    with open("a.txt", "rb") as file:
        assert StreamSource(file).bytes_on_disk() == len(TEXT)
    assert StreamSource(io.BytesIO(TEXT)).bytes_on_disk() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads a file whose first byte cannot be read")
def test_a_failing_disk_names_the_file(enc):
    with pytest.raises(OSError, match="/proc/self/mem") as raised:
        encode_file(enc, "/proc/self/mem", "out.bin")
    assert raised.value.errno == errno.EIO


def test_memory_is_filled_by_sources_without_a_way_of_their_own():
    with disk.open_plain("a.txt") as file:
        room = bytearray(7)
        assert file.read_into(memoryview(room)) == 7 and room == TEXT[:7]
    with StreamSource(io.BytesIO(b"abc")).open() as reader:
        assert reader.read_into(memoryview(bytearray(10))) == 3 and reader.position() == 3


# ==== streams ====


class Stream:
    """A stream that cannot seek and gives these."""

    def __init__(self, *chunks: object) -> None:
        self.chunks = list(chunks)

    def read(self, n: int) -> object:
        return self.chunks.pop(0) if self.chunks else b""


def test_a_stream_may_give_any_bytes_but_has_to_give_some(enc):
    encode_file(enc, "a.txt", "want.bin")
    halves = [bytearray(TEXT[:100]), memoryview(TEXT[100:])]
    encode_file(enc, Stream(*halves), "out.bin")
    assert pathlib.Path("out.bin").read_bytes() == pathlib.Path("want.bin").read_bytes()
    with pytest.raises(BlockingIOError, match="the stream does not block and has no data now") as raised:
        encode_file(enc, Stream(TEXT, None), "none.bin")
    assert raised.value.errno == errno.EAGAIN
    with pytest.raises(TypeError, match=r"the stream gives str; open it in binary mode \('rb'\)"):
        encode_file(enc, Stream("text"), "none.bin")


def test_a_stream_that_grows_while_it_is_read_is_refused(enc):
    class Growing(io.BytesIO):
        def read1(self, n: int = -1) -> bytes:
            place = self.tell()
            self.seek(0, os.SEEK_END)
            self.write(b"x" if self.tell() == len(TEXT) else b"")
            self.seek(place)
            return super().read1(n)

    with pytest.raises(
        SourceError, match=f"changed while it was read: {len(TEXT)} bytes were there .* {len(TEXT) + 1}"
    ):
        encode_file(enc, Growing(TEXT), "out.bin")
    assert not os.path.exists("out.bin")


# ==== URLs ====


@pytest.fixture
def memory():
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    files = fsspec.filesystem("memory")
    files.pipe_file("/a.txt", TEXT)
    yield files
    files.store.clear()
    files.pseudo_dirs.clear()


def test_what_a_server_gives_instead_of_a_file(enc, memory, monkeypatch):
    assert RemoteSource("memory://a.txt").bytes_on_disk() == len(TEXT)
    assert RemoteSource("memory://missing").bytes_on_disk() == 0
    memory.mkdir("/folder")
    with pytest.raises(IsADirectoryError, match="memory://folder"):
        encode_file(enc, "memory://folder", "out.bin")
    whole = memory.cat_file
    monkeypatch.setattr(type(memory), "cat_file", lambda self, path, start=None, end=None: whole(path, start, end)[:-1])
    with pytest.raises(
        SourceError, match=rf"{len(TEXT)} bytes from byte 0 on were asked for, and {len(TEXT) - 1} came"
    ):
        encode_file(enc, "memory://a.txt", "out.bin")


def test_a_missing_package_is_named(enc, memory, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "fsspec.core", None)
        with pytest.raises(ImportError, match=r"needs the fsspec package: pip install 'streamtok\[fsspec\]'"):
            encode_file(enc, "memory://a.txt", "out.bin")

    def no_package(url: str) -> None:
        raise ImportError("Install s3fs to access S3")

    import fsspec.core

    monkeypatch.setattr(fsspec.core, "url_to_fs", no_package)
    with pytest.raises(ImportError, match="Install s3fs"):
        encode_file(enc, "s3://bucket/a.txt", "out.bin")


def test_times_of_files_are_numbers_or_dates():
    import datetime

    when = datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone.utc)
    assert remote._time_of({"mtime": 1.5}) == 1_500_000_000
    assert remote._time_of({"mtime": "text", "created": when}) == int(when.timestamp()) * 10**9
    assert remote._time_of({}) == 0


def test_a_file_of_one_byte_is_not_asked_for_a_part(memory):
    class NoParts:
        def open(self, *arguments: object, **options: object) -> None:
            raise AssertionError

    source = RemoteSource("memory://a.txt")
    assert source._gives_parts(NoParts(), "http://x", 1) and not source._gives_parts(NoParts(), "http://x", 2)


# ==== tables ====


def test_columns_of_damaged_tables_and_of_odd_types(enc):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    import pyarrow.parquet as pq

    pathlib.Path("bad.parquet").write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(SourceError, match="the table cannot be read") as raised:
        encode_file(enc, "bad.parquet", "out.parquet", carry=["x"])
    assert raised.value.filename == "bad.parquet"
    words = pa.array([["a"], ["b"]], pa.list_(pa.dictionary(pa.int8(), pa.string())))
    pq.write_table(pa.table({"text": ["a", "b"], "words": words}), "a.parquet")
    with pa.ipc.new_file("a.arrow", (held := pa.table({"text": ["a", "b"], "words": words})).schema) as file:
        file.write_table(held)
    with pytest.raises(ValueError, match=r"a\.arrow: column 'words': a column of type dictionary.* cannot be carried"):
        encode_file(enc, "a.arrow", "out.parquet", carry=["words"])


def test_runs_extensions_and_lists_of_a_size_are_carried_as_their_values(enc):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    import pyarrow.parquet as pq

    if not hasattr(pa, "uuid"):
        pytest.skip("this pyarrow has no type of UUIDs")
    rows = 6
    values = {
        "text": pa.array([f"text {i}" for i in range(rows)]),
        "runs": pa.RunEndEncodedArray.from_arrays(pa.array([2, 6], pa.int32()), pa.array(["x", "y"])),
        "id": pa.array([bytes([i]) * 16 for i in range(rows)], pa.binary(16)).cast(pa.uuid()),
        "pair": pa.array([[i, i + 1] if i != 3 else None for i in range(rows)], pa.list_(pa.int8(), 2)),
    }
    with pa.ipc.new_file("a.arrow", (held := pa.table(values)).schema) as file:
        file.write_table(held)
    encode_file(enc, "a.arrow", "out.parquet", carry=["runs", "id", "pair"])
    found = pq.read_table("out.parquet")
    assert found["runs"].to_pylist() == ["x"] * 2 + ["y"] * 4
    assert found["id"].to_pylist() == [bytes([i]) * 16 for i in range(rows)]
    assert found["pair"].to_pylist() == values["pair"].to_pylist()


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("n:int64", 1 << 70, f"'n' is {1 << 70}, and the column is of type int64"),
        ("n:bool", 1, "'n' is 1, and the column is of type bool"),
        ("n:string", True, "'n' is True, and the column is of type string"),
    ],
)
def test_values_that_do_not_fit_the_stated_type(enc, column, value, message):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    import json

    pathlib.Path("a.jsonl").write_text(json.dumps({"text": "a", "n": value}))
    with pytest.raises(ValueError, match=message):
        encode_file(enc, "a.jsonl", "out.parquet", carry=[column])


def test_names_of_columns_are_str(enc):
    for name in ("", 5):
        with pytest.raises(TypeError, match=f"carry has {name!r}: the name of a column is a str, and not empty"):
            encode_file(enc, "a.txt", "out.parquet", carry=[name])
