"""Compressed sources are read to their true end, or refused: compared with the verdicts of gzip, xz and zstd."""

import functools
import gzip
import io
import lzma
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys

import numpy as np
import pytest
from packing import zst

import streamtok
from streamtok.files import SourceError, encode_file
from streamtok.files.members import SUFFIXES, DamagedError, Members
from streamtok.files.sources import PathSource
from streamtok.train.inputs import How, Place, open_inputs

TOOLS = {".gz": "gzip", ".xz": "xz", ".zst": "zstd"}
MUTATIONS = 600  # files of each suffix
SKIPPABLE = struct.pack("<II", 0x184D2A50, 5) + b"hello"


def compressed(data, suffix):
    if suffix == ".gz":
        return gzip.compress(data)
    if suffix == ".xz":
        return lzma.compress(data)
    return zst(data)


def text_of(data, suffix, n=1 << 20):
    reader = Members(io.BytesIO(data), suffix)
    return b"".join(iter(functools.partial(reader.read, n), b""))


@functools.cache
def members(suffix):
    rng = random.Random(suffix)
    texts = [b"", b"a", b"one line\n" * 40, rng.randbytes(300), b"x" * 5000]
    old = [lzma.compress(b"an older format", lzma.FORMAT_ALONE)] if suffix == ".xz" else []
    return [compressed(text, suffix) for text in texts] + old


def joined(rng, suffix):
    """Some members, often with something between and behind them that may or may not belong there."""
    zeros = [bytes(n) for n in (1, 2, 3, 4, 4, 8, 12, 512)]
    between = [b""] * 20 + [bytes(4)] * 5 + [SKIPPABLE] * 5 + zeros + [b"garbage", b"\x1f", b"\xfd7zXZ\0"]
    parts = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        parts += [rng.choice(members(suffix)), rng.choice(between)]
    return b"".join([rng.choice([b""] * 99 + between), *parts])


def mutated(rng, suffix):
    """A file, and whether its members are whole except at its end. Of other files, decoders of different versions may
    differ about a reserved bit, and gzip reads several formats."""
    data = bytearray(joined(rng, suffix))
    act = rng.choice((*["none"] * 5, "cut", "flip", "insert", "drop", "double"))
    at = rng.randrange(len(data) + 1)
    if act == "cut":
        del data[at:]
    elif act == "flip" and at < len(data):
        data[at] ^= 1 << rng.randrange(8)
    elif act == "insert":
        data[at:at] = rng.choice((bytes(4), rng.randbytes(rng.randrange(1, 5))))
    elif act == "drop":
        del data[at : at + rng.randrange(1, 9)]
    elif act == "double":
        data += data[at:]
    return bytes(data), act in ("none", "cut")


def text_or_damage(data):
    try:
        return text_of(data, ".gz")
    except DamagedError as error:
        return str(error)


def test_gzip_is_read_alike_with_zlib_ng_and_without(monkeypatch):
    pytest.importorskip("zlib_ng")
    rng = random.Random(7)
    files = [mutated(rng, ".gz")[0] for _ in range(MUTATIONS)]
    fast = [text_or_damage(data) for data in files]
    monkeypatch.setitem(sys.modules, "zlib_ng", None)
    assert [text_or_damage(data) for data in files] == fast
    assert len({type(each) for each in fast}) == 2


def verdicts(tool, folder, count):
    """For each file: the text that the tool gives, None where it is not content."""
    script = f"i=0; while [ $i -lt {count} ]; do {tool} -dc < $i > $i.text 2> /dev/null; echo $?; i=$((i + 1)); done"
    done = subprocess.run(["sh", "-c", script], cwd=folder, capture_output=True, text=True, check=True)
    for i, status in enumerate(done.stdout.split()):
        yield (folder / f"{i}.text").read_bytes() if status == "0" else None


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_the_tool_accepts_is_read_and_all_else_is_refused(suffix, tmp_path):
    tool = TOOLS[suffix]
    if shutil.which(tool) is None or shutil.which("sh") is None:
        pytest.skip(f"{tool} or sh is not installed")
    rng = random.Random(f"members {suffix}")
    files = [(b"", True), *(mutated(rng, suffix) for _ in range(MUTATIONS))]
    for i, (data, _) in enumerate(files):
        (tmp_path / str(i)).write_bytes(data)
    accepted = refused_alone = 0
    for (data, is_exact), want in zip(files, verdicts(tool, tmp_path, len(files)), strict=True):
        accepted += want is not None
        try:
            got = text_of(data, suffix, rng.choice((1, 7, 100, 1 << 20)))
        except DamagedError:
            got = None
            refused_alone += want is not None
        assert got == want or (got is None and not is_exact), data
    assert MUTATIONS // 10 < accepted < MUTATIONS * 9 // 10  # the files are neither all whole nor all damaged
    assert refused_alone <= MUTATIONS // 100


X = lzma.compress(b"some text\n")


@pytest.mark.parametrize(
    ("data", "offset", "reason"),
    [
        (X + bytes(4) + X[:9] + b"\0" + X[10:], len(X) + 4, f"the xz member that begins at byte {len(X) + 4}"),
        (X + X[:3], 2 * len(X) - len(X) + 3, "the file ends inside the xz member"),
        (X + b"garbage", len(X), "what follows there is no xz member"),
        (X + bytes(6), len(X) + 6, "multiples of 4 zero bytes, not 6"),
        (b"", 0, "the file is empty"),
    ],
)
def test_damage_is_told_with_its_offset(tmp_path, data, offset, reason):
    (tmp_path / "in.xz").write_bytes(data)
    with PathSource(tmp_path / "in.xz").open() as reader, pytest.raises(SourceError) as caught:
        while reader.read(1000):
            pass
    assert f"past its byte {offset}: " in str(caught.value) and reason in str(caught.value)
    assert caught.value.filename == str(tmp_path / "in.xz")


@pytest.mark.parametrize(
    ("suffix", "between", "behind"),
    [(".gz", b"", bytes(700)), (".xz", bytes(4), bytes(8)), (".zst", b"", SKIPPABLE), (".zst", SKIPPABLE, b"")],
)
def test_all_members_and_their_padding_reach_encode_and_train(tmp_path, suffix, between, behind):
    enc = streamtok.get_encoding("r50k_base")
    text = b"some words and some more, "
    data = compressed(text, suffix) + between + compressed(text * 5000, suffix) + behind
    path = tmp_path / ("in" + suffix)
    path.write_bytes(data)
    done = encode_file(enc, path, tmp_path / "out.bin", chunk_size=1000)
    assert done.bytes == 5001 * len(text)
    assert np.fromfile(tmp_path / "out.bin", "<u2").tolist() == enc.encode_ordinary(text.decode() * 5001)
    (found,) = open_inputs(path)
    stretches = [stretch for stretch, _ in found.stretches(0, Place(), How())]
    assert b"".join(bytes(part) for stretch in stretches for part in stretch.texts) == text * 5001
    path.write_bytes(data + b"more")
    for read in (
        lambda: encode_file(enc, path, tmp_path / "bad.bin"),
        lambda: list(open_inputs(path)[0].stretches(0, Place(), How())),
    ):
        with pytest.raises(SourceError, match=f"past its byte {len(data)}: "):
            read()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_reading_on_from_any_offset(tmp_path, suffix):
    text = bytes(random.Random(3).choices(b"abc \n", k=3000))
    (tmp_path / f"in{suffix}").write_bytes(compressed(text[:1000], suffix) + compressed(text[1000:], suffix))
    source = PathSource(tmp_path / f"in{suffix}")
    source.fingerprint()
    for offset in (0, 1, 999, 1000, 1001, 2999, 3000):
        with source.open(offset) as reader:
            assert reader.read(5000) == text[offset:] and reader.read(5000) == b""
            source.check_unchanged(reader)
    with pytest.raises(SourceError, match="1 bytes before the point"):
        source.open(3001)


_PEAK = """
import sys
from streamtok.files.sources import PathSource
total = 0
with PathSource(sys.argv[1]).open() as reader:
    while chunk := reader.read(1 << 20):
        total += len(chunk)
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(total, int(peak.split()[1]) >> 10)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read from /proc")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_memory_is_bounded_for_data_that_unpacks_to_a_thousand_times_its_size(tmp_path, suffix):
    (tmp_path / f"in{suffix}").write_bytes(compressed(bytes(160 << 20), suffix))
    command = [sys.executable, "-c", _PEAK, str(tmp_path / f"in{suffix}")]
    paths = os.pathsep.join(path for path in [str(pathlib.Path(streamtok.__file__).parents[1]), *sys.path] if path)
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": paths})
    total, peak = map(int, done.stdout.split())
    assert total == 160 << 20 and peak < 120
