"""Standard streams that are full, closed or left by their reader: one line and a status, never a traceback."""

from __future__ import annotations

import os
import subprocess

import pytest
from cli_runs import COMMAND, ENVIRONMENT

pytest.importorskip("click")
pytest.importorskip("rich")

ARGUMENTS = [["--help"], ["encode", "--help"], ["encode", "in.txt"], ["info"]]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="streams are closed by a shell of POSIX")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_text("some text")


def shell(line, **options):
    """The line runs in sh; $0 and what follows are the command."""
    command = ["sh", "-c", line.replace("CMD", '"$0" "$@"'), *COMMAND]
    return subprocess.run([*command, *options.pop("args", [])], env=ENVIRONMENT, capture_output=True, **options)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("args", ARGUMENTS)
def test_full_standard_output(args):
    done = shell("CMD > /dev/full", args=args)
    assert (done.returncode, done.stderr) == (1, b"streamtok: No space left on device\n")


@pytest.mark.parametrize("args", ARGUMENTS)
def test_closed_standard_output(args):
    done = shell("CMD >&-", args=args)
    assert (done.returncode, done.stderr) == (1, b"streamtok: standard output: the stream is closed\n")


@pytest.mark.parametrize("args", [["--help"], ["encode", "--help"], ["info"]])
def test_a_reader_that_is_gone_is_no_error(args):
    done = shell('{ sleep 0.3; CMD; echo "$?" >&2; } | true', args=args)
    assert done.stderr == b"141\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_full_disk_for_a_completion_script():
    done = shell("_STREAMTOK_COMPLETE=fish_source CMD > /dev/full")
    assert (done.returncode, done.stderr) == (1, b"streamtok: No space left on device\n")


def test_closed_streams_that_are_not_used():
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        assert shell(f"CMD {closed}", args=["encode", "in.txt", "-o", "out.bin"]).returncode == 0, closed
        assert os.path.getsize("out.bin") == 8


def test_closed_standard_input():
    done = shell("CMD <&-", args=["count"])
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"streamtok: standard input: the stream is closed\n"
    assert shell("CMD 2>&-", args=["count", "none.txt"]).returncode == 1
