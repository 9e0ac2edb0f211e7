"""A plugin of pytest for tools/cover.py: it tells coverage.py which test runs, and notes how long each takes.

STREAMTOK_TEST holds the name of the running test, so that the processes that a test starts record it as their context.
STREAMTOK_TIMES names the file that gets {test: [outcome, seconds]}.
"""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Iterator
from typing import Any

import coverage
import pytest

TIMES: dict[str, list[Any]] = {}


def switch(name: str) -> None:
    if current := coverage.Coverage.current():
        current.switch_context(name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    os.environ["STREAMTOK_TEST"] = item.nodeid
    switch(item.nodeid)
    try:
        return (yield)
    finally:
        switch("")
        del os.environ["STREAMTOK_TEST"]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    entry = TIMES.setdefault(report.nodeid, ["passed", 0.0])
    entry[1] = round(entry[1] + report.duration, 3)
    if report.outcome != "passed":
        entry[0] = report.outcome


def pytest_sessionfinish() -> None:
    if path := os.environ.get("STREAMTOK_TIMES"):
        pathlib.Path(path).write_text(json.dumps(TIMES))
