"""Runs tests for mutate_py.py: reads lines [tests, seconds] of JSON, answers each by [outcome, the test that failed].

What the tests import takes longer than most tests, so it is imported once, and each line is served by a fork. streamtok
itself is imported by the fork, since it is what was changed.
"""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import pathlib
import resource
import signal
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from typing import Any

IMPORTED = (
    *("numpy", "numpy.testing", "regex", "hypothesis", "hypothesis.strategies", "pytest", "tiktoken", "tokenizers"),
    *(
        "sentencepiece",
        "click",
        "click.testing",
        "rich",
        "rich.console",
        "orjson",
        "backports.zstd",
        "pyarrow",
        "fsspec",
    ),
    *("asyncio", "http.server", "concurrent.futures", "multiprocessing", "psutil", "unittest.mock", "urllib.request"),
)
OPTIONS = [
    *("-x", "-q", "--tb=short", "-p", "no:cacheprovider", "-p", "no:faulthandler", "-p", "no:xdist"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # for what is imported before
]
MEMORY = 16 << 30
"""Bytes of address space for a fork: a mutant may ask for all there is."""


class Chosen:
    """A plugin that runs these tests in this order, and notes the first that fails."""

    name = ""

    def __init__(self, tests: Sequence[str]) -> None:
        self.rank = {test: rank for rank, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = sorted((item for item in items if item.nodeid in self.rank), key=lambda item: self.rank[item.nodeid])

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.name:
            self.name = report.nodeid

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and not self.name:
            self.name = f"import of {report.nodeid}"


def tested(tests: Sequence[str], log: pathlib.Path) -> None:
    """The fork: runs the tests until one fails, and writes down its name."""
    import pytest

    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for standard in (0, 1, 2):
        os.dup2(os.open(os.devnull, os.O_RDONLY) if standard == 0 else file, standard)
    chosen = Chosen(tests)
    files = dict.fromkeys(test.partition("::")[0] for test in tests)
    status = 3
    try:
        status = int(pytest.main([*OPTIONS, *files], plugins=[chosen]))
        log.with_suffix(".failed").write_text(chosen.name)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        atexit._run_exitfuncs()
        os._exit(status)


def judged(tests: Sequence[str], seconds: float, log: pathlib.Path) -> tuple[str, str]:
    failed = log.with_suffix(".failed")
    failed.unlink(missing_ok=True)
    child = os.fork()
    if not child:
        tested(tests, log)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            end(child)
            name = failed.read_text() if failed.exists() else ""
            return (
                ("survived", "")
                if status == 0
                else ("killed", name or f"ended with {os.waitstatus_to_exitcode(status)}")
            )
        time.sleep(0.02)
    end(child)
    os.waitpid(child, 0)
    return "timeout", f"{seconds:.0f} s"


def end(child: int) -> None:
    """Ends the fork and what it has started."""
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        pass


def main() -> None:
    log = pathlib.Path(sys.argv[1])
    sys.path[:] = [path for path in sys.path if pathlib.Path(path) != pathlib.Path(__file__).parent]
    sys.path.insert(0, os.getcwd())
    for name in IMPORTED:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    found = importlib.util.find_spec("streamtok")
    assert found and found.origin and pathlib.Path(found.origin).is_relative_to(os.getcwd()), found
    assert "streamtok" not in sys.modules and threading.active_count() == 1
    for line in sys.stdin:
        print(json.dumps(judged(*json.loads(line), log)), flush=True)


if __name__ == "__main__":
    main()
