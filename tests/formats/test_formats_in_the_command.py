"""The formats in `streamtok encode` and `streamtok decode`."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

click_testing = pytest.importorskip("click.testing")
pytest.importorskip("rich")

from streamtok.cli.app import app  # noqa: E402
from streamtok.files.formats import open_documents  # noqa: E402
from streamtok.files.suffixes import IDS_FORMATS  # noqa: E402

TEXT = "One line.\nAnother, naïve one.\n\nThe last ☕\n"


def run(*arguments):
    return click_testing.CliRunner().invoke(app, list(arguments))


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")


@pytest.mark.parametrize("format", IDS_FORMATS)
def test_a_format_is_written_and_decoded(format):
    if format in ("parquet", "arrow"):
        pytest.importorskip("pyarrow")
    done = run(
        "encode", "-e", "r50k_base", "a.txt", "--documents", "lines", "--format", format, "--index", "-o", out(format)
    )
    assert done.exit_code == 0, done.output
    decoded = run("decode", "-e", "r50k_base", "--format", format, out(format))
    assert decoded.exit_code == 0, decoded.output
    assert decoded.stdout == TEXT.replace("\n", "")


def out(format):
    return {"npy": "o.npy", "dolma": "o.npy"}.get(format, "o.bin")


def test_an_index_beside_bin():
    assert run("encode", "-e", "r50k_base", "a.txt", "--documents", "lines", "--index", "-o", "o.bin").exit_code == 0
    assert np.fromfile("o.bin.ends", "<u8").tolist() == open_documents("o.bin").ends.tolist()
    assert len(np.fromfile("o.bin.ends", "<u8")) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "megatron"], "--format megatron is for files: name one with -o"),
        (["--index"], "--index makes a second file: name the first with -o"),
        (
            ["--format", "megatron", "-o", "o.dat"],
            "--format megatron writes NAME.bin and its index NAME.idx: name it so",
        ),
        (
            ["--format", "nanogpt", "-o", "o.bin"],
            "--format nanogpt holds ids up to 65535, and 'o200k_base' has ids up to",
        ),
        (["--format", "megatron", "--dtype", "uint32", "-o", "o.bin"], "--dtype uint32 is none of --format megatron"),
    ],
)
def test_what_a_format_cannot_do(arguments, message):
    done = run("encode", "-e", "o200k_base", "a.txt", *arguments)
    assert done.exit_code == 2 and message in done.output, done.output
    assert sorted(path.name for path in pathlib.Path().iterdir()) == ["a.txt"]
