"""The C core under AddressSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer, for a few seconds.

tools/sanitize.py runs as long as one likes; the programs it builds are those of tests/fuzz.
"""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
SECONDS = 5  # for each of four programs; building them takes longer


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the fuzz programs use POSIX memory protection")
def test_fuzz_programs_find_nothing_under_sanitizers():
    command = [sys.executable, str(ROOT / "tools" / "sanitize.py"), "--seconds", str(SECONDS)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    if done.returncode == 77:
        pytest.skip("no C compiler here builds with sanitizers")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("no difference") + done.stdout.count("no leak") + done.stdout.count("skipped") >= 2
