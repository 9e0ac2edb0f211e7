"""Tar archives as sources: their members' ids, resumed anywhere, and damage that is never taken for the end."""

from __future__ import annotations

import gzip
import io
import json
import pathlib
import random
import tarfile

import nasty
import numpy as np
import pytest
from file_runs import Crash, _enc  # noqa: F401

from streamtok.files import SourceError, TarSource, encode_file, encode_sources, tars
from streamtok.files.encode import Options


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def archive(members: list[tuple[str, bytes]], **how) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", **how) as file:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
    return made.getvalue()


def ids_of(enc, source, **options) -> list[int]:
    found: list[np.ndarray] = [np.empty(0, np.uint32)]
    encode_sources(enc, source, lambda ids, ends: found.append(ids.copy()), Options(append_eot=True, **options))
    return np.concatenate(found).tolist()


def wanted(enc, texts: list[str]) -> list[int]:
    return [token for text in texts for token in [*enc.encode_ordinary(text), enc.eot_token]]


def test_members_are_documents(enc, monkeypatch):
    rng = random.Random(1)
    for _ in range(15):
        monkeypatch.setattr(tars, "_BATCH", rng.choice((1, 3, 1 << 12)))
        monkeypatch.setattr(tars, "_BATCH_BYTES", rng.choice((1, 300, 1 << 20)))
        strings = nasty.random_strings(rng, rng.choice((0, 1, 30)), 700)
        texts = [text.encode("utf-8", "replace").decode() for text in strings]
        members = []
        for i, text in enumerate(texts):
            data = json.dumps({"words": text}).encode()
            members += [(f"a.b/{i:05}.txt", text.encode()), (f"a.b/{i}.jpg", bytes(900)), (f"{i}.meta.json", data)]
        made = archive(members, format=rng.choice((tarfile.PAX_FORMAT, tarfile.GNU_FORMAT)))
        path = rng.choice(("a.tar", "a.tar.gz", "a.tgz"))
        pathlib.Path(path).write_bytes(made if path == "a.tar" else gzip.compress(made, 1))
        assert ids_of(enc, path) == ids_of(enc, TarSource(path, "txt")) == wanted(enc, texts)
        assert ids_of(enc, path, column="meta.json", key="words") == wanted(enc, texts)


def test_resumed(enc, monkeypatch):
    monkeypatch.setattr(tars, "_BATCH", 20)
    texts = [f"member {i} of some words" for i in range(300)]
    pathlib.Path("a.tar").write_bytes(archive([(f"{i}.txt", text.encode()) for i, text in enumerate(texts)]))
    left = [9]

    def crash(progress):
        left[0] -= 1
        if left[0] < 0:
            raise Crash

    how = {"append_eot": True, "journal_bytes": 900}
    with pytest.raises(Crash):
        encode_file(enc, "a.tar", "a.bin", progress=crash, **how)
    done = encode_file(enc, "a.tar", "a.bin", resume=True, num_threads=2, **how)
    assert done.resumed_ids and done.documents == 300
    assert np.fromfile("a.bin", done.dtype).tolist() == wanted(enc, texts)


def test_what_is_refused_says_where(enc):
    members = [("a.txt", b"one"), ("b.txt", b"t\xffo"), ("a.json", b'{"text": 5}'), ("c.txt", b"x" * 2000)]
    whole = archive(members)
    pathlib.Path("a.tar").write_bytes(whole)
    with pytest.raises(UnicodeDecodeError, match=r"in a\.tar, member b\.txt"):
        ids_of(enc, "a.tar")
    with pytest.raises(ValueError, match=r"a\.tar, member a\.json: the value of 'text' is 5, a string is needed"):
        ids_of(enc, "a.tar", column="json")
    end = len(whole.rstrip(b"\0"))
    for cut in [0, 1, 511, 512, 513, 1024, 1536, 2560, end, end + 48]:  # also where a member ends
        pathlib.Path("a.tar").write_bytes(whole[:cut])
        with pytest.raises(SourceError, match=r"the archive cannot be read"):
            ids_of(enc, "a.tar", errors="replace")
    rng = random.Random(2)
    for _ in range(300):  # damage is an error, or hits a text: it never ends the archive
        data = bytearray(whole)
        data[rng.randrange(end)] ^= 1 << rng.randrange(8)
        pathlib.Path("a.tar").write_bytes(data)
        try:
            assert ids_of(enc, "a.tar", errors="replace").count(enc.eot_token) == 3
        except (SourceError, ValueError) as error:
            assert "a.tar" in str(error)


def header(size: bytes, name: bytes = b"a.txt", kind: bytes = b"0", rest: bytes = b"") -> bytes:
    """A block of a tar archive with this field for the size."""
    block = bytearray(512)
    block[: len(name)], block[124 : 124 + len(size)], block[156:157] = name, size, kind
    block[257:265] = b"ustar  \0" if kind == b"S" else b"ustar\00000"
    block[386 : 386 + len(rest)] = rest
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def number(n: int) -> bytes:
    """A number in base 256, as tar writes those that its octal digits cannot hold."""
    return bytes([0xFF if n < 0 else 0x80]) + (n % (1 << 88)).to_bytes(11, "big")


def test_sizes_that_no_member_has_are_refused(enc):
    for size in (-1, -512, -(1 << 60)):
        for name in (b"a.txt", b"other.bin"):
            pathlib.Path("a.tar").write_bytes(header(number(size), name) + bytes(1024))
            # Some releases of Python's tarfile see a part of them.
            with pytest.raises(SourceError, match=rf"member {name.decode()} has a size of {size} bytes|invalid offset"):
                ids_of(enc, "a.tar")
    pathlib.Path("a.tar").write_bytes(header(number(1 << 62)) + bytes(1024))
    with pytest.raises(SourceError, match=rf"a\.txt has {1 << 62} bytes, and the whole archive 1536"):
        ids_of(enc, "a.tar")


def test_a_sparse_member_is_refused(enc):
    real = b"".join(b"%011o\0" % n for n in (0, 512)) + bytes(24 * 3 + 1) + b"%011o\0" % 200_000_000
    pathlib.Path("a.tar").write_bytes(header(b"%011o\0" % 512, kind=b"S", rest=real) + bytes(512 + 1024))
    with pytest.raises(SourceError, match=r"member a\.txt is a sparse file"):
        ids_of(enc, "a.tar")


def test_a_member_far_larger_than_its_archive_is_refused(enc, monkeypatch):
    monkeypatch.setattr(tars, "_LARGE", 1 << 16)
    for count, is_refused in ((1 << 16, False), (1 << 20, True)):
        packed = archive([("a.txt", b"ab" * (count // 2))])
        pathlib.Path("a.tar.gz").write_bytes(gzip.compress(packed))
        if is_refused:
            with pytest.raises(
                SourceError, match=rf"member a\.txt has {count} bytes, and the whole archive .* unpack it first"
            ):
                ids_of(enc, "a.tar.gz")
        else:
            assert ids_of(enc, "a.tar.gz") == wanted(enc, ["ab" * (count // 2)])
    pathlib.Path("a.tar").write_bytes(packed)
    assert ids_of(enc, "a.tar") == wanted(enc, ["ab" * (1 << 19)])
