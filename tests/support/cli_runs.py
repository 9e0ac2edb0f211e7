"""What the tests of the command share: a call in this process, another process, and one with a terminal."""

import functools
import os
import signal
import subprocess
import sys

import pytest

import streamtok

click_testing = pytest.importorskip("click.testing")
pytest.importorskip("rich")

from streamtok.cli.app import app  # noqa: E402

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
COMMAND = [sys.executable, "-m", "streamtok"]


@pytest.fixture(scope="module", name="enc")
def _enc():
    """The command's own encoding."""
    return streamtok.get_encoding("o200k_base")


def run(*args, input=None, status=0):
    result = click_testing.CliRunner().invoke(app, [str(arg) for arg in args], input=input)
    assert result.exit_code == status, (result.stderr, result.exception)
    if status:
        assert "Traceback" not in result.stderr and result.stderr
    return result


def process(*args, **options):
    # Background jobs of a shell ignore SIGINT, and their children inherit that. The command has to get the signal.
    heed = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    return subprocess.Popen([*COMMAND, *args], env=ENVIRONMENT, stderr=subprocess.PIPE, preexec_fn=heed, **options)


def on_terminal(*args, status=0, **variables):
    import pty

    leader, follower = pty.openpty()
    without = {name: value for name, value in ENVIRONMENT.items() if name != "NO_COLOR"}
    environment = {**without, "TERM": "xterm-256color", "COLUMNS": "120", **variables}
    child = subprocess.Popen([*COMMAND, *args], env=environment, stdout=follower, stderr=follower)
    os.close(follower)
    shown = b""
    try:
        while block := os.read(leader, 4096):
            shown += block
    except OSError:  # reading from a terminal raises this when its other end is closed
        pass
    os.close(leader)
    assert child.wait() == status, shown
    return shown.decode()
