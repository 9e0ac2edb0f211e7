"""Fixtures that several test files use, and the profiles: STREAMTOK_PROFILE=default, ci (20,000 random strings) or
long (1,000,000, and all that the markers slow and long leave out). With STREAMTOK_TESTS_TABLES=all every test uses the
tables of all frequent words."""

from __future__ import annotations

import atexit
import gc
import os
import pathlib
import secrets
import shutil
import tempfile

import hypothesis
import left_out
import oracle
import pytest

import streamtok
from streamtok import tables

# A folder of this run. The worker processes of pytest-xdist inherit it from the process that started them.
if "STREAMTOK_TESTS_RUN" not in os.environ:
    os.environ["STREAMTOK_TESTS_RUN"] = tempfile.mkdtemp(prefix="streamtok-tests-")
    atexit.register(shutil.rmtree, os.environ["STREAMTOK_TESTS_RUN"], ignore_errors=True)
# The processes that tests start, some thousands, do not compile the package each, whatever the environment says.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.setdefault("PYTHONPYCACHEPREFIX", os.path.join(os.environ["STREAMTOK_TESTS_RUN"], "bytecode"))
# Nothing here reads or writes the user's cache.
os.environ["STREAMTOK_CACHE"] = tempfile.mkdtemp(prefix="streamtok-tests-")
atexit.register(shutil.rmtree, os.environ["STREAMTOK_CACHE"], ignore_errors=True)
if os.environ.get("STREAMTOK_TESTS_TABLES") == "all":
    tables.build()

EXAMPLES = {"default": 100, "ci": 500, "long": 20_000}
for profile, examples in EXAMPLES.items():
    hypothesis.settings.register_profile(
        profile,
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=profile == "default",  # what passes here passes elsewhere; the other profiles draw anew in each run
        suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
    )
hypothesis.settings.load_profile(oracle.PROFILE)


# Files that take ten seconds or more, the longest first. Several processes begin with them: --dist loadfile gives a
# process a whole file, and one that is begun last would leave the others idle.
LONG_FILES = (
    *("platforms", "house", "gpu_source", "sanitizers", "interrupted", "gpu_face", "matrix", "gpu_kernels", "merge"),
    *("interrupts", "stream_endless", "files_threads", "custom", "tiers", "gpu_rows", "small_files", "normal", "gguf"),
    *("unstable", "gpu_decode", "rivals", "memory", "code_points", "files_resume", "corpora", "model_campaign"),
    *("files_crash", "docs_site", "examples"),
)


SEED = "STREAMTOK_TESTS_SEED"
"""What a run of all tests draws their cases by, or "all"; one that names files or tests takes all of their cases."""


def pytest_configure(config: pytest.Config) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:  # these inherit what their parent chose
        is_whole = config.args == config.getini("testpaths") and not oracle.LONG
        os.environ[SEED] = os.environ.get(SEED, str(secrets.randbelow(10_000))) if is_whole else "all"
    # pytest-xdist by itself begins with the files that have the most tests.
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_report_header() -> str | None:
    seed = os.environ[SEED]
    words = f"{left_out.CASES} cases of each test are drawn: {SEED}={seed} draws them again, {SEED}=all takes all"
    return None if seed == "all" else words


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not oracle.LONG:
        long = [item for item in items if item.get_closest_marker("long")]
        left_out.leave_out(config, items, long, left_out.function_of, "only with STREAMTOK_PROFILE=long")
    if not oracle.SHARED.exists():
        shared = [item for item in items if item.get_closest_marker("shared")]
        left_out.leave_out(config, items, shared, left_out.function_of, "../shared is not here")
    if os.environ[SEED] != "all":
        left_out.draw(config, items, os.environ[SEED])
    if "PYTEST_XDIST_WORKER" in os.environ:
        order = {f"test_{name}": place for place, name in enumerate(LONG_FILES)}
        items.sort(key=lambda item: order.get(item.path.stem, len(order)))


def pytest_collection_finish() -> None:
    """What was imported is no garbage: tests that collect look at what they have made alone, in a tenth of the time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(params=oracle.NAMES)
def pair(request: pytest.FixtureRequest) -> oracle.Pair:
    """Each of the seven encodings, with tiktoken's encoding of that name."""
    return oracle.pair(request.param)


@pytest.fixture(params=oracle.FAMILIES)
def family(request: pytest.FixtureRequest) -> oracle.Pair:
    """One encoding for each way to split text, with tiktoken's encoding of that name."""
    return oracle.pair(request.param)


@pytest.fixture(params=oracle.DAMAGED)
def damaged(request: pytest.FixtureRequest) -> oracle.Pair:
    """Vocabularies with unreachable tokens and ranks out of order, with tiktoken's encoding of the same dict."""
    return oracle.damaged_pair(request.param)


@pytest.fixture(scope="session")
def enc() -> streamtok.Encoding:
    """An encoding for tests that pass or fail alike with all of them."""
    return oracle.ours("cl100k_base")


def tiny_arguments() -> dict:
    ranks = {bytes([value]): value for value in range(256)}
    for token in (b"ab", b"abc", b"bc", b"  ", b"    ", b" a", b"aa", b"aaaa", b"\xc3\xa9", b"\xe4\xb8", "中".encode()):
        ranks[token] = len(ranks)
    special = {"<|x|>": 1000, "<|xy|>": 1001, "<|endoftext|>": 1002}
    return {"pat_str": streamtok.patterns.CL100K, "mergeable_ranks": ranks, "special_tokens": special}


@pytest.fixture
def make_tiny():
    """Makes a new small encoding, with nothing built or cached yet."""
    return lambda **changes: streamtok.Encoding("tiny", **(tiny_arguments() | changes))


@pytest.fixture(scope="session")
def tiny() -> streamtok.Encoding:
    return streamtok.Encoding("tiny", **tiny_arguments())


@pytest.fixture(scope="session")
def built(tmp_path_factory) -> dict[str, pathlib.Path]:
    """The tables of three vocabularies, one for each way to split; not to be changed."""
    folder = tmp_path_factory.mktemp("built")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STREAMTOK_CACHE", str(folder))
        return {name: pathlib.Path(tables.build(name)[name]) for name in oracle.FAMILIES}


@pytest.fixture
def here(tmp_path, monkeypatch) -> pathlib.Path:
    """An empty folder, in which the test runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cache(tmp_path, monkeypatch) -> pathlib.Path:
    """An empty cache folder."""
    monkeypatch.setenv("STREAMTOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("STREAMTOK_TABLES", raising=False)
    return tmp_path / "cache"
