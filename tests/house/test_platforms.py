"""The core as it is compiled for other machines, big-endian ones too, gives the ids of this one and of tiktoken."""

from __future__ import annotations

import collections
import functools
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

import emulate
import fuzz_build
import nasty
import oracle
import pytest

FAMILIES = {"r50k_base": "r50k", "cl100k_base": "cl100k", "o200k_base": "o200k"}
TIERS = ("portable", "avx2", "avx512", "neon")
OTHER_ORDER = "s390x" if sys.byteorder == "little" else "aarch64"
EMULATED = list(emulate.EMULATED)
FOREIGN = [*EMULATED, pytest.param("windows", marks=pytest.mark.slow)]  # wine takes half a minute to set itself up


def block(data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + data


@functools.cache  # for all tests of the file
def folder() -> pathlib.Path:
    return pathlib.Path(tempfile.mkdtemp(prefix="streamtok-platforms-"))


@pytest.fixture(scope="module", autouse=True)
def _no_files_stay():
    yield
    shutil.rmtree(folder(), ignore_errors=True)


@functools.cache
def texts() -> list[str]:
    """Nasty ones, long pieces, special tokens, and real text."""
    rng = random.Random(41)
    long = ["x" * 5000, "中文字符串" * 300, "การทดสอบ" * 200, "\n" + " " * 3000, "aAbB" * 900, "-" * 700, "=" * 90]
    special = ["a<|endoftext|>b", "<|endoftext|>", "<|endof", "<|endoftext|><|endoftext|>" * 9, " <|endoftext|>\n\n  "]
    real = [oracle.topics()[:60_000], oracle.stdlib_sources(40_000)[:40_000]]
    return ["", *nasty.FIXED, *long, *special, *nasty.random_strings(rng, 400, 80), *real]


def encoded_by_tiktoken(name: str) -> list[list[int]]:
    enc = oracle.theirs(name)
    return [enc.encode(text, allowed_special="all") for text in texts()]


@functools.cache
def texts_file() -> str:
    path = folder() / "texts"
    encoded = [text.encode() for text in texts()]
    path.write_bytes(struct.pack("<I", len(encoded)) + b"".join(map(block, encoded)))
    return str(path)


@functools.cache
def vocabulary_file(name: str) -> str:
    """Tokens, frequent words of the texts, and special tokens, as tests/platforms/ids.c reads them."""
    enc = oracle.ours(name)
    tokens = sorted((rank, token) for token, rank in enc._mergeable_ranks.items())
    special = sorted((token, text.encode()) for text, token in enc._special_tokens.items())
    counts = collections.Counter(word for text in texts() for word in text.encode().split(b" "))
    words = [b" " + word for word, count in counts.most_common(3000) if 0 < len(word) < 15]
    path = folder() / f"{name}.vocabulary"
    parts = [struct.pack("<I", len(tokens))]
    parts += [struct.pack("<I", rank) + block(token) for rank, token in tokens]
    parts += [struct.pack("<I", len(words)), *map(block, words), struct.pack("<I", len(special))]
    parts += [struct.pack("<I", token) + block(text) for token, text in special]
    path.write_bytes(b"".join(parts))
    return str(path)


@functools.cache
def core(target: str) -> list[str]:
    """The objects of the core, compiled once."""
    emulate.prefix(emulate.TARGETS[target])  # nothing is compiled that cannot run
    (folder() / target).mkdir()
    return emulate.compile_core(target, folder() / target)


@functools.cache
def program(name: str, target: str) -> list[str]:
    """The command that runs tests/platforms/NAME.c, or skips the test."""
    try:
        return emulate.build(name, target, core(target), folder() / target)
    except emulate.Missing as missing:
        pytest.skip(str(missing))


@functools.cache
def harnesses() -> dict[str, pathlib.Path]:
    target = emulate.TARGETS["aarch64"]
    build = fuzz_build.Build("aarch64", [], list(target.linking))
    cc, objects = emulate.find(target.compilers), core("aarch64")
    return fuzz_build.compile_all(cc, build, ["split", "merge"], folder() / "aarch64", objects)


def on_arm(harness: str) -> list[str]:
    """The command that runs a harness of tests/fuzz on an emulated ARM, or skips the test."""
    try:
        return [*emulate.prefix(emulate.TARGETS["aarch64"]), str(harnesses()[harness])]
    except emulate.Missing as missing:
        pytest.skip(str(missing))


def run(target: str, *arguments: str, status: int = 0) -> str:
    command = [*program("ids", target), *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "STREAMTOK_TIER"}
    environment |= {"WINEDEBUG": "-all", "WINEPREFIX": str(folder() / "wine")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


@functools.cache
def records_of(target: str, name: str) -> tuple[str, str]:
    """The file of records that a machine wrote, and what it said."""
    path = str(folder() / f"{name}.{target}.records")
    said = run(target, "encode", vocabulary_file(name), FAMILIES[name], texts_file(), path)
    return path, said


def ids_in(path: str) -> list[list[int]]:
    data, at, found = pathlib.Path(path).read_bytes(), 0, []
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at)
        found.append(list(struct.unpack_from(f"<{size // 4}I", data, at + 4)))
        _, state = struct.unpack_from("<II", data, at + 4 + size)
        at += 12 + size + state
    return found


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("target", ["native", *FOREIGN])
def test_a_machine_gives_tiktokens_ids(target, name):
    """Whole, in random chunks, through saved states, by both engines; and back."""
    path, said = records_of(target, name)
    ours, theirs = ids_in(path), encoded_by_tiktoken(name)
    for text, got, want in zip(texts(), ours, theirs, strict=True):
        assert got == want, text[:200]
    if target == "aarch64":
        assert said == "tier neon\n"


@pytest.mark.parametrize("target", FOREIGN)
def test_machines_go_on_from_each_others_states(target):
    name = "o200k_base"
    arguments = ("resume", vocabulary_file(name), FAMILIES[name], texts_file())
    run("native", *arguments, records_of(target, name)[0])
    run(target, *arguments, records_of("native", name)[0])


@functools.cache
def image_of(target: str) -> str:
    path = str(folder() / f"image.{target}")
    run(target, "write", vocabulary_file("cl100k_base"), path)
    return path


def opened(target: str, image: str, status: int) -> str:
    return run(target, "open", vocabulary_file("cl100k_base"), image, "cl100k", texts_file(), status=status)


@pytest.mark.parametrize("target", FOREIGN)
def test_an_image_is_for_machines_of_its_byte_order(target):
    """An image of the other byte order is refused; one of the same byte order is opened."""
    mine, theirs = image_of("native"), image_of(target)
    if target != OTHER_ORDER:
        assert pathlib.Path(mine).read_bytes() == pathlib.Path(theirs).read_bytes()
        return
    opened(target, theirs, 0)
    for machine, image in ((target, mine), ("native", theirs)):
        assert "for another kind of machine" in opened(machine, image, 3)


@pytest.mark.parametrize(("target", "tier"), [("native", tier) for tier in TIERS] + [("aarch64", "neon")])
def test_the_stages_of_text_keep_to_their_definitions_on(target, tier):
    """Valid UTF-8 and str to UTF-8: every code point, every fault at every place of a block; in an emulator a fifth."""
    env = os.environ | {"STREAMTOK_TIER": tier}
    command = [*program("stages", target), tier, "1" if target == "native" or oracle.LONG else "5"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    if not done.stdout.startswith(f"tier {tier}:"):
        pytest.skip(f"this machine does not run {tier}")


@pytest.mark.parametrize(("harness", "iterations"), [("split", 1500), ("merge", 100)])
def test_neon_does_as_the_definitions_say(harness, iterations):
    """The ARM splitter against the machine that defines the pieces, and the merge of words side by side against merging
    one by one."""
    env = {name: value for name, value in os.environ.items() if name != "STREAMTOK_TIER"}
    env["STREAMTOK_FUZZ_VOCAB"] = ":".join(map(str, fuzz_build.VOCABULARIES))
    command = [*on_arm(harness), "--iterations", str(iterations)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tier neon" in done.stdout


@pytest.mark.long
@pytest.mark.parametrize("target", EMULATED)
def test_no_harness_finds_a_difference_on(target):
    tool = str(oracle.PROJECT / "tools" / "emulate.py")
    done = subprocess.run([sys.executable, tool, target, "--iterations", "200"], capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


# ==== systems for which there is no emulator here: compiled only ====


def cross(*targets: str) -> None:
    tool = str(oracle.PROJECT / "tools" / "cross.py")
    done = subprocess.run([sys.executable, tool, *targets], capture_output=True, text=True, timeout=1200)
    if done.returncode == 77:
        pytest.skip("needs ziglang: pip install '.[cross]'")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_core_compiles_for_windows_and_macos():
    cross("windows-x86_64", "macos-arm64", "msvc-x86_64", "msvc-arm64")


@pytest.mark.long
def test_the_core_compiles_for_every_target():
    cross()
