"""Runs chosen tests in a process that has collected all of them, a copy of the process for each request: for
mutate_core.py.

As a plugin of pytest (`-p mutate_pytest`) it reads requests, a line of JSON each, and answers each with a line. Server
is the other side. A request has the number of the mutant, the names of the tests, the seconds that they take without
one, variables of the environment, and the file for notes of what is reached, or null.
"""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from typing import Any

import pytest

CHANNEL = "STREAMTOK_MUTATE_CHANNEL"
MEMORY = 6 << 30  # bytes that a test may use; a mutant may use them all
GRACE = 30.0  # seconds that any test may take; others take up to TIMES of what they took without a mutant
TIMES = 15.0
PATIENCE = 1800.0  # where it is not known yet what a test takes


class Reached:
    """The bytes of the file in which all processes note the mutants that run."""

    def __init__(self, path: str):
        self.path = path

    def take(self) -> list[int]:
        with open(self.path, "r+b") as file:
            noted = file.read()
            file.seek(0)
            file.write(bytes(len(noted)))
        return [number for number, is_noted in enumerate(noted) if is_noted]


def run_items(session: pytest.Session, request: dict[str, Any], say: Any) -> dict[str, Any]:
    """In the copy of the process."""
    from streamtok.native import library

    by_name = {item.nodeid: item for item in session.items}
    items = [by_name[name] for name in request["tests"] if name in by_name]
    os.environ.update(request["environment"], STREAMTOK_MUTANT=str(request["number"]))
    reached = Reached(request["reached"]) if request["reached"] else None
    if reached:
        os.environ["STREAMTOK_MUTANT_REACHED"] = reached.path
    set_mutant = ctypes.CDLL(library.__file__).st_mutant_set
    set_mutant(request["number"], request["reached"].encode() if request["reached"] else None)
    notes: dict[str, tuple[float, list[int]]] = {}
    failing = []
    for item, following in zip(items, [*items[1:], None]):
        say({"begins": item.nodeid})
        start, before = time.monotonic(), session.testsfailed
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed > before:
            failing.append(item.nodeid)
            if not reached:
                break
        if reached:
            notes[item.nodeid] = (round(time.monotonic() - start, 4), reached.take())
    return {"failing": failing, "notes": notes}


def copy_of_process(session: pytest.Session, request: dict[str, Any], to: int) -> None:
    def say(record: dict[str, Any]) -> None:
        os.write(to, json.dumps(record).encode() + b"\n")

    os.setpgid(0, 0)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        say(run_items(session, request, say))
    finally:
        os._exit(0)


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    if CHANNEL not in os.environ:
        return None
    requests, answers = map(int, os.environ[CHANNEL].split(","))
    session.config.option.maxfail = 0
    with os.fdopen(requests) as lines, os.fdopen(answers, "w") as out:
        print(json.dumps({"tests": [item.nodeid for item in session.items]}), file=out, flush=True)
        for line in lines:
            print(json.dumps(answer(session, json.loads(line))), file=out, flush=True)
    return True


def answer(session: pytest.Session, request: dict[str, Any]) -> dict[str, Any]:
    """What the copy says last. "died": it ended in a test; "hung": a test took too long."""
    read, write = os.pipe()
    process = os.fork()
    if not process:
        os.close(read)
        copy_of_process(session, request, write)
    os.close(write)
    last: dict[str, Any] = {"begins": ""}
    rest, outcome = b"", "died"
    while True:
        limit = max(GRACE, TIMES * request["seconds"].get(last["begins"], 0)) if request["number"] >= 0 else PATIENCE
        if not select.select([read], [], [], limit)[0]:
            outcome = "hung"
            break
        data = os.read(read, 1 << 20)
        if not data:
            break
        *whole, rest = (rest + data).split(b"\n")
        for text in whole:
            last = json.loads(text)
        if "begins" not in last:
            break
    try:
        os.killpg(process, signal.SIGKILL)
    except ProcessLookupError:
        pass
    os.waitpid(process, 0)
    os.close(read)
    return {outcome: last["begins"]} if "begins" in last else last


class Server:
    """A pytest in the folder of a tree that has collected `paths`. `tests`: their names."""

    def __init__(self, tree: pathlib.Path, paths: Iterable[str], scratch: pathlib.Path, environment: dict[str, str]):
        self.scratch = scratch
        scratch.mkdir(parents=True, exist_ok=True)
        requests, self.requests = os.pipe()
        self.answers, answers = os.pipe()
        tools = str(pathlib.Path(__file__).parent)
        variables = dict(os.environ, PYTHONPATH=tools, PYTHONDONTWRITEBYTECODE="1", **environment)
        variables[CHANNEL] = f"{requests},{answers}"
        plain = ["-p", "no:cacheprovider", "-p", "no:xdist", "-q", "--tb=no", f"--basetemp={scratch / 'tmp'}"]
        command = [sys.executable, "-m", "pytest", "-p", "mutate_pytest", *plain, *paths]
        self.log = (scratch / "log").open("w")
        self.process = subprocess.Popen(
            command, cwd=tree, env=variables, pass_fds=(requests, answers), stdout=self.log, stderr=self.log
        )
        os.close(requests)
        os.close(answers)
        self.lines = os.fdopen(self.answers)
        self.tests: list[str] = json.loads(self.lines.readline() or '{"tests": []}')["tests"]
        if not self.tests:
            raise RuntimeError(f"pytest collects nothing; see {scratch / 'log'}")

    def run(
        self,
        number: int,
        tests: list[str],
        seconds: dict[str, float],
        environment: dict[str, str] | None = None,
        reached: str | None = None,
    ) -> dict[str, Any]:
        """The answer to a request. number: of the mutant; 0: none. seconds: what the tests take without one."""
        shutil.rmtree(self.scratch / "tmp", ignore_errors=True)
        request = {"number": number, "tests": tests, "seconds": seconds}
        request |= {"environment": environment or {}, "reached": reached}
        os.write(self.requests, json.dumps(request).encode() + b"\n")
        said: dict[str, Any] = json.loads(self.lines.readline())
        return said

    def close(self) -> None:
        os.close(self.requests)
        self.process.wait(60)
        self.log.close()
