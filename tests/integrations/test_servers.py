"""The plugins of vLLM and SGLang with the code of these servers, each in an interpreter of its own.

The packages are installed, or lie unpacked in folders vllm and sglang of STREAMTOK_SERVERS, where tools/long_profile.py
puts them. What they import besides and is not here, as kernels, is stood in for (tests/support/stand_ins.py).
"""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import os
import pathlib
import subprocess
import sys

import oracle
import pytest
from fresh import fresh_modules
from plugin_points import entry_points

SERVERS = os.environ.get("STREAMTOK_SERVERS", "")
CASES = pathlib.Path(__file__).parent / "servers"


@pytest.mark.parametrize("server", ["vllm", "sglang"])
def test_the_plugin_with_the_server(server):
    for needed in ("transformers", "torch"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed: pip install 'streamtok[transformers]'")
    if not pathlib.Path(SERVERS, server, server, "__init__.py").exists() and importlib.util.find_spec(server) is None:
        pytest.skip(f"{server} is not installed, and STREAMTOK_SERVERS names no folder with it")
    file = str(CASES / f"{server}_cases.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "filterwarnings=ignore", file]
    run = subprocess.run(command, cwd=oracle.PROJECT, capture_output=True, text=True, timeout=900)
    said = run.stdout[-6_000:] + run.stderr[-2_000:]
    assert run.returncode == 0 and " passed" in run.stdout and "skipped" not in run.stdout, said


def test_the_entry_points_name_functions_that_are_there():
    points = entry_points()
    assert points.keys() == {"vllm.general_plugins", "sglang.srt.plugins"}
    for point in points.values():
        module, _, function = point.partition(" = ")[2].partition(":")
        tree = ast.parse((oracle.PROJECT / (module.replace(".", "/") + ".py")).read_text("utf-8"))
        assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_what_is_installed_names_the_entry_points():
    """In an environment that was made before they were there, they are missing: then a wheel's test has to see them."""
    found = {point.group for point in importlib.metadata.distribution("streamtok").entry_points} - {"console_scripts"}
    assert found in (set(), set(entry_points()))


def test_the_plugins_import_nothing_by_themselves():
    loaded = fresh_modules("import streamtok.integrations.vllm, streamtok.integrations.sglang")
    assert not loaded & {"numpy", "regex", "asyncio"}
