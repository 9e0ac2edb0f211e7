"""The bundled vocabularies are the published ones, and a dictionary is packed only if it makes sense."""

import hashlib
import itertools
import os
import sys
from array import array

import numpy as np
import pytest
from linear import assert_at_most

from streamtok import load
from streamtok.bundled import mapped, packed
from streamtok.bundled.packed import (
    FOLDER,
    from_little_endian,
    pack_to_bytes,
    read_packed,
    to_little_endian,
    unpack,
)
from streamtok.errors import VocabularyError

PUBLISHED = {
    "r50k_base": ("306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930", 50256),
    "p50k_base": ("94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069", 50280),
    "cl100k_base": ("223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7", 100256),
    "o200k_base": ("446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d", 199998),
}
URL = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
BYTES = {bytes([value]): value for value in range(256)}
SMALL = {**BYTES, b"ab": 256, b"abc": 257, b"bc": 258}


# ==== Bundled vocabularies ====


@pytest.mark.parametrize("name", PUBLISHED)
def test_bundled_vocabulary_is_the_published_file(name):
    sha256, count = PUBLISHED[name]
    packed = load.load_packed(name)
    assert hashlib.sha256(load.read_file(URL.format(name))).hexdigest() == sha256 == packed.sha256
    assert len(packed.ranks) == len(packed.lengths) == len(packed.splits) == count
    assert type(packed.lengths) is type(packed.splits) is bytes
    assert load.load_tiktoken_bpe(URL.format(name), sha256) == packed.to_dict()


@pytest.mark.parametrize("name", PUBLISHED)
def test_splits_cut_tokens_into_older_tokens(name):
    """Only single bytes have no split (no token here is unreachable), and both halves of one are older."""
    packed = load.load_packed(name)
    ranks = packed.to_dict()
    splits = list(packed.splits)
    born = {token: -1 if len(token) == 1 else rank for token, rank in ranks.items()}
    for (token, rank), split in list(zip(ranks.items(), splits))[:: 1 if len(ranks) < 60_000 else 3]:
        assert (split == 0) == (len(token) == 1)
        if split:
            assert max(born[token[:split]], born[token[split:]]) < rank


@pytest.mark.parametrize("name", PUBLISHED)
def test_splits_agree_with_merging(name):
    packed = load.load_packed(name)
    ranks = packed.to_dict()
    tokens, splits = packed.tokens(), list(packed.splits)
    longest = sorted(range(len(tokens)), key=lambda i: -len(tokens[i]))[:200]
    for i in [*longest, *range(0, len(tokens), 41)]:
        assert splits[i] == last_merge(tokens[i], ranks)


def last_merge(token, ranks):
    parts, split = [token[i : i + 1] for i in range(len(token))], 0
    while len(parts) > 1:
        rank, i = min((ranks.get(a + b, 1 << 40), i) for i, (a, b) in enumerate(itertools.pairwise(parts)))
        if rank == 1 << 40:
            return 0
        split = len(parts[i])
        parts[i : i + 2] = [parts[i] + parts[i + 1]]
    return split


def test_p50k_skips_one_rank():
    ranks = load.load_packed("p50k_base").ranks
    assert 50256 not in ranks and ranks[-1] == 50280 and list(ranks) == sorted(set(ranks))


@pytest.mark.parametrize("name", PUBLISHED)
def test_tables_hold_what_they_were_made_of(name):
    """A wheel has the tables alone. Packed again, they are the file that they were made of, byte for byte."""
    path = os.path.join(FOLDER, f"{name}.stv")
    if not os.path.exists(path):
        pytest.skip("this installation has tables alone")
    with open(path, "rb") as file:
        data = file.read()
    assert pack_to_bytes(unpack(data)) == data == pack_to_bytes(load.load_packed(name))
    built = mapped.build_vocabulary(read_packed(name), {})
    assert pack_to_bytes(mapped.packed_of(built, name)) == data


def test_without_tables_a_vocabulary_comes_from_its_file(monkeypatch, tmp_path):
    for package, names in ((tmp_path / "file", [".stv"]), (tmp_path / "nothing", [])):
        package.mkdir()
        for name in names:
            (package / f"r50k_base{name}").write_bytes(pack_to_bytes(load.load_packed("r50k_base")))
    want = load.load_packed("r50k_base").to_dict()
    monkeypatch.setattr(mapped, "FOLDER", str(tmp_path / "file"))
    monkeypatch.setattr(packed, "FOLDER", str(tmp_path / "file"))
    assert load.load_packed("r50k_base").to_dict() == want
    assert mapped.open_packaged("r50k_base", {}).path is None
    monkeypatch.setattr(packed, "FOLDER", str(tmp_path / "nothing"))
    with pytest.raises(
        VocabularyError, match="the file of this bundled vocabulary is missing; pip install streamtok-vocab=="
    ):
        load.load_packed("r50k_base")


def test_a_length_of_more_than_a_byte_has_no_packed_form():
    vocab = mapped.build_vocabulary(load.pack_ranks({**BYTES, b"a" * 256: 256}), {})
    with pytest.raises(ValueError, match="a token has 256 bytes"):
        vocab.to_packed()


def test_any_changed_byte_of_a_packed_file_is_seen():
    data = bytearray(pack_to_bytes(load.load_packed("r50k_base")))
    for at in [*range(60), 70, 1000, 60_000, 200_000, len(data) - 1]:
        data[at] ^= 0x40
        with pytest.raises(VocabularyError, match=r"some\.stv: .*install"):
            unpack(bytes(data), "some.stv")
        data[at] ^= 0x40
    for size in (0, 7, 63, 64, 1000, len(data) - 1):
        with pytest.raises(VocabularyError):
            unpack(bytes(data[:size]))
    with pytest.raises(VocabularyError):
        unpack(bytes(data) + b"x")


def test_unknown_bundled_name_is_refused():
    with pytest.raises(VocabularyError, match="no such bundled vocabulary"):
        load.load_packed("no_such")


def test_loading_the_largest_vocabulary_is_quick():
    """No function is called for each of its 200,000 tokens. It takes about 0.005 s."""
    load.load_packed("o200k_base")
    calls: list[str] = []
    sys.setprofile(lambda frame, event, what: calls.append(event))
    try:
        load.load_packed("o200k_base")
    finally:
        sys.setprofile(None)
    assert len(calls) < 1000
    assert_at_most(0.1, lambda: load.load_packed("o200k_base"))


# ==== Dictionaries ====


def test_pack_ranks_sorts_by_rank():
    packed = load.pack_ranks(dict(reversed(SMALL.items())))
    assert packed.to_dict() == SMALL and packed.tokens() == list(SMALL)
    assert packed.splits is None and packed.sha256 is None
    assert packed.lengths.typecode == packed.ranks.typecode == "I"
    assert load.pack_ranks({token: np.int64(rank) for token, rank in SMALL.items()}).to_dict() == SMALL


BAD_RANKS = {
    "str key": ({"ab": 1}, TypeError, "write it as bytes"),
    "bool": ({b"zz": True}, TypeError, "a bool"),
    "float": ({b"zz": 1.0}, TypeError, "a float"),
    "none": ({b"zz": None}, TypeError, "NoneType"),
    "negative": ({b"zz": -1}, VocabularyError, "is -1"),
    "too large": ({b"zz": 1 << 31}, VocabularyError, "2147483648"),
    "huge": ({b"zz": 1 << 100_000}, VocabularyError, "an int of 100001 bits"),
    "empty token": ({b"": 300}, VocabularyError, "empty token"),
    "long token": ({b"z" * 65537: 300}, VocabularyError, "65537 bytes"),
    "duplicate rank": ({b"zz": 257}, VocabularyError, "b'abc' and b'zz' both have rank 257"),
}


@pytest.mark.parametrize("case", BAD_RANKS)
def test_bad_entry_of_a_dictionary_is_named(case):
    extra, kind, message = BAD_RANKS[case]
    with pytest.raises(kind, match=message) as caught:
        load.pack_ranks({**SMALL, **extra})
    if kind is VocabularyError:
        assert caught.value.path is None and caught.value.line is None


def test_dictionary_without_all_bytes_is_refused():
    with pytest.raises(VocabularyError, match="256 of the 256"):
        load.pack_ranks({})
    with pytest.raises(VocabularyError, match="1 of the 256"):
        load.pack_ranks({token: rank for token, rank in SMALL.items() if token != b"q"})
    with pytest.raises(TypeError, match="is of type list"):
        load.pack_ranks([])


def test_numbers_have_the_same_bytes_on_every_machine():
    numbers = [1, 0x01020304, 2**32 - 1]
    data = b"\x01\0\0\0" + b"\x04\x03\x02\x01" + b"\xff" * 4
    assert to_little_endian(numbers) == to_little_endian(array("I", numbers)) == data
    assert from_little_endian(data).tolist() == numbers
    assert to_little_endian(b"\x05\x06") == b"\x05\0\0\0\x06\0\0\0"
