"""What the tests of the user's cache folder share; the fixtures are in conftest.py."""

from __future__ import annotations

import functools
import hashlib
import os
import pathlib
import random
import subprocess
import sys
import time

import nasty
import oracle
import pytest

import streamtok
from streamtok.bundled import mapped

NAME = "r50k_base"
TEXT = "Frequent words, and unfrequentable ones: юбилейный, भारतीय, 数据. " * 3


def put(path: pathlib.Path, name: str = NAME) -> pathlib.Path:
    """Puts a file where the tables of a vocabulary belong; as a link, so that no bytes are copied."""
    place = pathlib.Path(mapped.cached_file(name))
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    os.link(path, place)
    return place


def opened(name: str = NAME) -> streamtok.Encoding:
    """A new Encoding object, as a new process would make it."""
    return streamtok.registry.ENCODING_CONSTRUCTORS[name].build()  # type: ignore[attr-defined]


@functools.cache
def packaged(name: str = NAME) -> streamtok.Encoding:
    """The encoding with the package's tables, whatever lies in the cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STREAMTOK_TABLES", "package")
        encoding = opened(name)
    assert not uses_cache(encoding)
    return encoding


def digest(encoding: streamtok.Encoding) -> str:
    """A digest of the ids of random texts and of English."""
    ids = hashlib.sha256()
    for text in (*nasty.random_strings(random.Random(5), 1000, 300), oracle.topics()):
        ids.update(encoding.encode_to_numpy(text, disallowed_special=()).tobytes())
    return ids.hexdigest()


def uses_cache(encoding: streamtok.Encoding) -> bool:
    return mapped.is_cached(encoding._vocab)


def leftovers(cache: pathlib.Path) -> list[str]:
    return sorted(path.name for path in cache.rglob("*") if path.is_file() and path.suffix != ".tables")


def wait_for(condition, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it never happened"
        time.sleep(0.02)


def spawn(code: str, *arguments: str) -> subprocess.Popen:
    folders = oracle.PROJECT, oracle.PROJECT / "tests" / "support"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
