"""The C core under AddressSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer, for a few seconds.

tools/sanitize.py runs for a time that can be chosen, and tools/fuzz.py searches. All use the harnesses of tests/fuzz.
"""

import pathlib
import re
import subprocess
import sys

import fuzz_build
import oracle
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HARNESSES = sorted(path.stem for path in (ROOT / "tests" / "fuzz").glob("fuzz_*.c"))
SECONDS = 0.4  # for each harness; building them takes longer


def tool(name: str, *arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, str(ROOT / "tools" / f"{name}.py"), *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1200)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the harnesses use POSIX memory protection")
def test_no_harness_finds_anything_under_sanitizers():
    """With one compiler: clang if it is installed, as it finds more. The long profile uses GCC too, and optimizes."""
    one = [] if oracle.LONG else fuzz_build.compilers(None, fuzz_build.MEMORY)[-1:]
    quick = [] if oracle.LONG else ["--quick-build"]
    done = tool("sanitize", "--seconds", str(SECONDS), *quick, *(f"--cc={cc}" for cc in one))
    if done.returncode == 77:  # this compiler may lack the libraries of the sanitizers
        done = tool("sanitize", "--seconds", str(SECONDS))
    if done.returncode == 77:
        pytest.skip("no C compiler here builds with sanitizers")
    assert done.returncode == 0, done.stdout
    if "[address,undefined] skipped" not in done.stdout:
        ran = re.findall(r"^\[address,undefined\] (fuzz_\w+): .*no (?:difference|crash|leak)", done.stdout, re.M)
        assert sorted(set(ran)) == HARNESSES


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the harnesses use POSIX memory protection")
def test_a_finding_is_kept_and_repeated(tmp_path):
    """A harness with a deliberate error: the input that triggers it is written to a file, which triggers it again."""
    (tmp_path / "planted.c").write_text(
        '#include "fuzz.h"\n'
        "int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)\n"
        "{ rng r = rng_of(data, n); CHECK(rng_below(&r, 256) != 3); return 0; }\n"
        "void harness_close(void) {}\nvoid patterns_close(void) {}\n"
    )
    sources = [str(ROOT / "tests" / "fuzz" / f"{name}.c") for name in ("driver", "support")]
    includes = [f"-I{ROOT / 'csrc'}", f"-I{ROOT / 'tests' / 'fuzz'}"]
    sources += [str(tmp_path / "planted.c"), str(ROOT / "csrc" / "base" / "alloc.c")]
    program = tmp_path / "planted"
    try:
        subprocess.run(["cc", "-std=c11", *includes, *sources, "-o", program], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("needs a C compiler")
    command = [program, "--seed", "5", "--iterations", "100000", "--save", tmp_path / "found"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "rng_below(&r, 256) != 3" in done.stderr
    [kept] = tmp_path.glob("found-5-*")
    assert kept.read_bytes()[8] == 3
    again = subprocess.run([program, kept], capture_output=True, text=True)
    assert again.returncode == 1 and str(kept) in again.stderr
    assert subprocess.run(command, capture_output=True, text=True).stderr == done.stderr  # the seed is enough
