"""The prebuilt tables: a vocabulary that maps them gives the ids of one that builds them, and damage is refused."""

from __future__ import annotations

import itertools
import mmap
import pathlib
import random
import subprocess
import sys

import oracle
import pytest

import streamtok
from streamtok import disk
from streamtok.bundled import mapped
from streamtok.bundled.mapped import load_packed
from streamtok.errors import VocabularyError
from streamtok.native.vocab import Vocab

FOLDER = pathlib.Path(streamtok.__file__).parent / "vocab"


def mapped_bytes(image: bytes) -> mmap.mmap:
    """The bytes at the start of a page, as a mapped file has them."""
    memory = mmap.mmap(-1, max(len(image), 1))
    memory.write(image)
    return memory


@pytest.fixture(scope="module")
def small() -> bytes:
    """An image of a small vocabulary, quick to copy and to damage."""
    ranks = {bytes([i]): i for i in range(256)}
    for pair in (b"th", b"the", b" the", b"ab", b"abab", b"\xe4\xb8", b"\xe4\xb8\xad"):
        ranks[pair] = len(ranks)
    encoding = streamtok.Encoding("small", pat_str=r"\S+|\s+", mergeable_ranks=ranks, special_tokens={})
    return encoding._vocab.to_image()


def test_an_image_answers_as_what_it_was_made_of(small):
    vocab = Vocab(None, None, None, None, {"<x>": 300}, image=mapped_bytes(small))
    assert vocab.count == 263
    assert vocab.find(b" the") == 258
    assert vocab.find(b"nothing of the kind") is None
    assert vocab.merge(b"the abab") == [257, 32, 260]
    assert vocab.token_bytes(300) == b"<x>"
    assert vocab.to_image() == small


@pytest.mark.parametrize("name", ["r50k_base", "cl100k_base", "o200k_base"])
def test_what_lies_between_cuts_is_merged_apart(name):
    vocab, rng = oracle.named(name)._vocab, random.Random(name)
    alphabet = "数据的我们是ひらがなカタカナ한국어приветสวัสดีاللغة🙂abc-="
    found = 0
    for _ in range(300):
        piece = "".join(rng.choices(alphabet, k=rng.randint(1, 200))).encode()
        borders = [0, *vocab.cuts(piece), len(piece)]
        assert borders == sorted(set(borders))
        atoms = [piece[start:end] for start, end in itertools.pairwise(borders)]
        assert list(itertools.chain.from_iterable(map(vocab.merge, atoms))) == vocab.merge(piece)
        found += len(atoms) - 1
    assert found > 1000 and vocab.cuts(b"") == vocab.cuts(b"a") == []


@pytest.mark.parametrize("name", sorted(mapped.WORDS))
def test_bundled_tables_hold_the_bundled_vocabulary(name):
    if not (FOLDER / f"{name}.tables").exists():
        pytest.skip("this installation has no prebuilt tables")
    vocab, packed = mapped.open_vocabulary(name, {}), load_packed(name)
    assert vocab.count == len(packed.ranks)
    assert vocab.highest_id == packed.ranks[-1]
    assert vocab.unreachable == 0 and vocab.monotone
    tokens = packed.tokens()
    assert [vocab.token_bytes(rank) for rank in packed.ranks] == tokens
    for rank, token in random.Random(1).sample(list(zip(packed.ranks, tokens)), 3000):
        assert vocab.find(token) == rank


@pytest.mark.parametrize("name", sorted(mapped.WORDS))
def test_ids_do_not_depend_on_frequent_words(name):
    """A table without words, one with a few of them, one with wrong neighbours of them: the same ids."""
    packed, bundled = load_packed(name), oracle.ours(name)
    words = [
        b" streaming",
        b"tokenization",
        "юбилейный".encode()[:14],
        b" untokenized",
        b"\xff\xfe",
        b" the",
        b"x" * 15,
    ]
    joined = b"".join(words), bytes(map(len, words))
    text = " streaming tokenization юбилейный untokenized the xxxxxxxxxxxxxxx xxxxxxxxxxxxxxxx " * 3
    ids = {}
    for kind, some in (("none", None), ("few", joined)):
        vocab = mapped.build_vocabulary(packed, {}, some)
        encoding = streamtok.Encoding._bundled(kind, bundled._pat_str, name, {}, None, "fast")
        encoding._set_up(kind, bundled._pat_str, vocab, {}, None, "fast")
        ids[kind] = encoding.encode_ordinary(text)
    assert (
        ids["none"]
        == ids["few"]
        == bundled.encode_ordinary(text)
        == oracle.ours(name, "reference").encode_ordinary(text)
    )


def test_every_damaged_byte_is_noticed(small):
    rng = random.Random(2)
    places = [*range(0, 200), *(rng.randrange(len(small)) for _ in range(300)), len(small) - 1]
    for at in places:
        damaged = bytearray(small)
        damaged[at] ^= 1 << rng.randrange(8)
        with pytest.raises(VocabularyError, match="damaged"):
            Vocab(None, None, None, None, {}, image=mapped_bytes(bytes(damaged)))


def test_a_cut_or_foreign_image_is_refused(small):
    for image in (b"", b"x", small[:100], small[:-1], small + b"\0", bytes(len(small)), b"streamtk" + small[8:]):
        with pytest.raises(VocabularyError):
            Vocab(None, None, None, None, {}, image=mapped_bytes(image) if image else image)


def test_a_damaged_file_is_named(tmp_path, monkeypatch):
    folder = tmp_path / "vocab"
    folder.mkdir()
    monkeypatch.setattr(mapped, "FOLDER", str(folder))
    for content in (b"", b"not tables", bytes(10_000)):
        (folder / "r50k_base.tables").write_bytes(content)
        with pytest.raises(VocabularyError, match=r"r50k_base\.tables.*install streamtok anew|install streamtok anew"):
            mapped.open_vocabulary("r50k_base", {})


def test_without_tables_the_vocabulary_is_built(tmp_path, monkeypatch):
    monkeypatch.setattr(mapped, "FOLDER", str(tmp_path / "vocab"))
    vocab = mapped.open_vocabulary("r50k_base", {})
    assert vocab.find(b" hello") == 23748
    assert vocab.to_image()[:8] == b"psttable"


@pytest.mark.parametrize("missing", ["MADV_HUGEPAGE", "_MADV_POPULATE_READ", "MAP_ANONYMOUS", "both"])
@pytest.mark.parametrize("is_mapped", [True, False])
def test_what_an_older_system_refuses_is_done_without(missing, is_mapped, monkeypatch):
    if missing in ("MADV_HUGEPAGE", "MAP_ANONYMOUS"):
        monkeypatch.delattr(mmap, missing, raising=False)
    else:
        monkeypatch.setattr(mapped, "_MADV_POPULATE_READ", 12345)  # no advice that any kernel knows
    if missing == "both":
        monkeypatch.setattr(mmap, "MADV_HUGEPAGE", 12346, raising=False)
    monkeypatch.setattr(disk, "is_fixed", lambda file: is_mapped)
    vocab = mapped.open_packaged("r50k_base", {})
    assert vocab.path and vocab.find(b" hello") == 23748


def test_the_mapped_file_outlives_its_encoding():
    """The image belongs to the vocabulary: arrays, streams and copies may live longer than the Encoding object."""
    code = (
        "import gc, streamtok\n"
        "enc = streamtok.get_encoding('r50k_base'); stream = enc.stream_encoder()\n"
        "ids = enc.encode_to_numpy('hello world ' * 9); streamtok.registry.ENCODINGS.clear(); del enc; gc.collect()\n"
        "assert list(stream.feed('hello world')) + list(stream.flush()) == [31373, 995] and ids[0] == 31373\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, cwd=oracle.PROJECT)
