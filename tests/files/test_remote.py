"""Files by URL: the ids of the same file on this machine, resumed, and with clear errors."""

from __future__ import annotations

import contextlib
import gzip
import http.server
import itertools
import pathlib
import random
import re
import threading

import pytest
from cli_runs import run
from file_runs import Crash, _enc  # noqa: F401

from streamtok.files import RangeSource, ResumeError, SourceError, TableSource, encode_file, remote

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")

TEXT = "".join(f"line {i} of some words, naïve ones\n" for i in range(900)).encode()


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(remote, "_BLOCK", 1000)
    pathlib.Path("a.txt").write_bytes(TEXT)
    return tmp_path


@pytest.fixture
def memory():
    files = fsspec.filesystem("memory")
    yield files
    files.store.clear()


def put(files, name: str, data: bytes) -> str:
    files.pipe_file(f"/{name}", data)
    return f"memory://{name}"


def same(enc, url, path, **options) -> None:
    for threads in (1, 3):
        encode_file(enc, url, "far.bin", num_threads=threads, **options)
        encode_file(enc, path, "near.bin", **options)
        assert pathlib.Path("far.bin").read_bytes() == pathlib.Path("near.bin").read_bytes()


def test_the_same_ids(enc, memory):
    for kind in ("text", "lines"):
        same(enc, put(memory, "a.txt", TEXT), "a.txt", documents=kind)
    pathlib.Path("a.txt.gz").write_bytes(packed := gzip.compress(TEXT))
    same(enc, put(memory, "a.txt.gz", packed), "a.txt.gz")
    url = put(memory, "a.txt", TEXT)
    rng = random.Random(1)
    cuts = [0, *sorted(rng.randrange(len(TEXT)) for _ in range(5)), None]
    ranges = [RangeSource(url, a, b) for a, b in itertools.pairwise(cuts)]
    same(enc, ranges, "a.txt", documents="lines", append_eot=True)
    assert run("count", "-e", enc.name, url).stdout == run("count", "-e", enc.name, "a.txt").stdout


def test_sizes_around_those_of_blocks(enc, memory):
    for size in (1, 2, 999, 1000, 1001, 1999, 2000, 2001, 5001):
        pathlib.Path("part.txt").write_bytes(TEXT[:size].replace(b"\xc3", b"c").replace(b"\xaf", b"a"))
        url = put(memory, "part.txt", pathlib.Path("part.txt").read_bytes())
        encode_file(enc, url, "far.bin")
        encode_file(enc, "part.txt", "near.bin")
        assert pathlib.Path("far.bin").read_bytes() == pathlib.Path("near.bin").read_bytes()


def test_tables(enc, memory):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"text": TEXT.decode().splitlines()}), "a.parquet", row_group_size=200)
    url = put(memory, "a.parquet", pathlib.Path("a.parquet").read_bytes())
    same(enc, url, "a.parquet")
    same(enc, [TableSource(url, row_groups=(2, None)), TableSource(url, row_groups=(0, 2))], [
        TableSource("a.parquet", row_groups=(2, None)), TableSource("a.parquet", row_groups=(0, 2))
    ])  # fmt: skip


def test_resumed_and_changed(enc, memory):
    url = put(memory, "a.txt", TEXT)
    how = {"documents": "lines", "chunk_size": 700, "journal_bytes": 2000}

    def stop(progress):
        if progress.bytes_read > 9000:
            raise Crash

    with pytest.raises(Crash):
        encode_file(enc, url, "far.bin", progress=stop, **how)
    assert encode_file(enc, url, "far.bin", resume=True, **how).resumed_ids
    encode_file(enc, "a.txt", "near.bin", **how)
    assert pathlib.Path("far.bin").read_bytes() == pathlib.Path("near.bin").read_bytes()
    with pytest.raises(Crash):
        encode_file(enc, url, "far.bin", progress=stop, **how)
    put(memory, "a.txt", TEXT.replace(b"line 0", b"line 9"))
    with pytest.raises(ResumeError, match=re.escape(url)):
        encode_file(enc, url, "far.bin", resume=True, **how)
    with pytest.raises(SourceError, match="the file changed while it was read"):
        encode_file(enc, url, "far.bin", progress=lambda at: put(memory, "a.txt", TEXT + b"x"), **how)


class Handler(http.server.BaseHTTPRequestHandler):
    """Gives a file, or a part of it where the server says so."""

    def do_HEAD(self) -> None:
        self.do_GET(False)

    def do_GET(self, has_body: bool = True) -> None:
        if self.path != "/a.txt":
            return self.send_error(500 if self.path == "/broken.txt" else 404)
        part = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", "")) if self.server.in_parts else None
        data = TEXT[int(part[1]) : int(part[2]) + 1] if part else TEXT
        self.send_response(206 if part else 200)
        if self.server.in_parts:
            self.send_header("Accept-Ranges", "bytes")
        if part:
            self.send_header("Content-Range", f"bytes {part[1]}-{int(part[1]) + len(data) - 1}/{len(TEXT)}")
        self.send_header("ETag", '"one"')
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if has_body:
            with contextlib.suppress(ConnectionError):
                self.wfile.write(data)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.mark.parametrize("in_parts", [True, False])
def test_a_server(enc, in_parts):
    pytest.importorskip("aiohttp", reason="aiohttp is not installed")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.in_parts = in_parts
    threading.Thread(target=server.serve_forever, daemon=True).start()
    root = f"http://127.0.0.1:{server.server_port}"
    try:
        same(enc, f"{root}/a.txt", "a.txt")
        same(enc, f"{root}/a.txt", "a.txt", documents="lines")
        source = remote.RemoteSource(f"{root}/a.txt")
        found = source.fingerprint()
        assert (found is not None) == in_parts
        if found is not None:
            assert found["etag"] == '"one"' and found["size"] == len(TEXT)
        with pytest.raises(FileNotFoundError, match=re.escape(f"{root}/none.txt")):
            encode_file(enc, f"{root}/none.txt", "o.bin")
        with pytest.raises(OSError, match=re.escape(f"{root}/broken.txt")):
            encode_file(enc, f"{root}/broken.txt", "o.bin")
    finally:
        server.shutdown()
        server.server_close()


def test_what_is_no_url(enc, memory):
    for path in ("C:/a.txt", "c://a", "a.txt", "see http://a.b/c", "no: //x"):
        assert not remote.is_url(path)
    with pytest.raises(FileNotFoundError, match="memory://none"):
        encode_file(enc, "memory://none", "o.bin")
    with pytest.raises(OSError, match="it cannot be read: Protocol not known: nope"):
        encode_file(enc, "nope://x/y.txt", "o.bin")
