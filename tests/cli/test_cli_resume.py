"""A run that resumes an earlier one says from where; one that begins anew says why."""

from __future__ import annotations

import pathlib
import re

import oracle
import pytest
from cli_runs import run

import streamtok
from streamtok.files import encode_file

pytest.importorskip("rich")

TEXT = oracle.topics()[:40_000]


class Stop(BaseException):
    """Ends a run as a kill would."""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_text(TEXT, newline="")

    def stop(at):
        if at.bytes_read > 30_000:
            raise Stop

    with pytest.raises(Stop):
        encode_file(
            streamtok.get_encoding("o200k_base"), "in.txt", "out.bin", progress=stop, chunk_size=500, journal_bytes=5000
        )
    return tmp_path


def encoded(*options):
    """The result of the command, once the file is right and nothing else is left."""
    result = run("encode", "in.txt", "-o", "out.bin", *options)
    ids = streamtok.get_encoding("o200k_base").encode_ordinary(TEXT)
    assert pathlib.Path("out.bin").read_bytes() == b"".join(token.to_bytes(4, "little") for token in ids)
    assert not list(pathlib.Path().glob("out.bin.*"))
    return result


def test_where_it_goes_on():
    said = encoded("--resume").stderr
    offset, ids = re.fullmatch(r"streamtok: resuming at byte ([\d,]+) of in.txt, behind ([\d,]+) ids\n", said).groups()
    assert 25_000 <= int(offset.replace(",", "")) <= 31_000 and int(ids.replace(",", "")) > 5000
    assert encoded("--resume").stderr == ""  # the run was complete, so there is nothing to resume


def test_why_it_does_not():
    discarded = "streamtok: the earlier partial result of out.bin was discarded: "
    assert encoded().stderr == f"{discarded}this run was begun without --resume\n"


def test_what_was_damaged_is_told(here):
    (here / "out.bin.partial").write_bytes(b"\0" * 5)
    assert encoded("--resume").stderr.endswith("discarded: its ids are not those that its journal speaks of\n")


def test_json_says_how_much_was_there():
    assert '"resumed_ids": 0' not in encoded("--resume", "--json").stdout
