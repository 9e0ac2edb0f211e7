"""What test_files_crash.py and test_files_resume.py share: runs of encode_file that make many journal entries."""

import gzip
import json
import os
import pathlib

import pytest
from english import ENGLISH
from faults import SEAM, Crash  # noqa: F401

import streamtok
from streamtok import disk
from streamtok.disk import lease
from streamtok.files import encode_file

TEXT = ENGLISH[:3000] + "naïve café ☕ 日本語 👩‍👩‍👧 \t  \n\n x\r\n".encode() * 9 + b"a" * 700


@pytest.fixture(scope="module", name="enc")
def _enc():
    return streamtok.get_encoding("r50k_base")


@pytest.fixture(name="here")
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_bytes(TEXT)
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(TEXT))
    lines = [json.dumps({"text": line}) for line in TEXT.decode().splitlines()]
    (tmp_path / "d.jsonl").write_text("\n".join(lines))
    return tmp_path


RUNS = {
    "text": {"src": ["a.txt", "c.txt.gz"], "append_eot": True},
    "lines": {"src": ["a.txt", "b.txt"], "documents": "lines", "format": "npy", "append_eot": True},
    "jsonl": {"src": "d.jsonl", "documents": "jsonl", "dtype": "uint32"},
}
SMALL = {"chunk_size": 256, "journal_bytes": 500}


def encode(enc, run="text", dst="out.bin", **options):
    """encode_file with options that make many chunks and many journal entries of a small text."""
    arguments = {**SMALL, **RUNS[run], **options}
    return encode_file(enc, arguments.pop("src"), dst, **arguments)


def expected(enc, run="text"):
    encode(enc, run, "expected")
    return pathlib.Path("expected").read_bytes()


def leftovers():
    return sorted(name for name in os.listdir() if name.endswith((".partial", ".journal")))


def stop_at(enc, n, run="text", **options):
    """Begin a run and stop it before the chunk after `n` bytes."""

    def progress(at):
        if at.bytes_read >= n:
            raise Crash

    with pytest.raises(Crash):
        encode(enc, run, progress=progress, **options)
    assert leftovers() == ["out.bin.journal", "out.bin.partial"]


def entries():
    return pathlib.Path("out.bin.journal").read_bytes().splitlines(keepends=True)


def without_leases(patch):
    """As on a system or a file system without leases, where what was written is read back."""
    patch.setattr(lease, "_LOCAL", set())


def has_leases():
    with disk.open_new(os.path.realpath("probe")) as file, lease.take(file) as held:
        return held.holds()
