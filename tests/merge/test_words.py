"""The packed list of frequent words: unpacking gives what was packed, and damage is refused."""

from __future__ import annotations

import random
import struct
import zlib

import pytest

from streamtok.bundled.words import _MAGIC, FAMILIES, FIRST, REST, WHEEL, _compress, pack, read_words, unpack
from streamtok.errors import VocabularyError
from streamtok.native import words


def separate(words: tuple[bytes, bytes]) -> list[bytes]:
    joined, lengths = words
    ends = [sum(lengths[: i + 1]) for i in range(len(lengths))]
    return [joined[end - n : end] for end, n in zip(ends, lengths)]


def levels_of(rng: random.Random, count: int) -> dict[bytes, list[int]]:
    """Words of 1 to 15 bytes that share beginnings, each of some family."""
    made = {}
    while len(made) < count:
        word = bytes(rng.choices(b"ab\xe4\xb8", k=rng.randint(1, 15)))
        made[word] = rng.choice([[1, 2, 3], [0, 0, 1], [3, 3, 0], [0, 2, 2], [1, 1, 1]])
    return made


@pytest.fixture(scope="module")
def levels() -> dict[bytes, list[int]]:
    return levels_of(random.Random(1), 500)


def test_each_family_gets_its_words_the_most_frequent_first(levels):
    packed = pack(levels)
    assert packed == pack(dict(reversed(levels.items())))
    for number, family in enumerate(FAMILIES):
        for least in (REST, WHEEL, FIRST):
            words = separate(unpack(packed, family, least))
            expected = {word for word, of in levels.items() if of[number] >= least}
            assert len(words) == len(expected) and set(words) == expected
            order = [levels[word][number] for word in words]
            assert order == sorted(order, reverse=True) and order


def test_no_words_at_all():
    assert unpack(pack({}), "r50k") == (b"", b"")


@pytest.mark.parametrize("family", FAMILIES)
def test_the_bundled_list_is_whole(family):
    joined, lengths = read_words(family)
    assert sum(lengths) == len(joined) and 400_000 < len(lengths) < 600_000
    assert set(lengths) == set(range(2, 16)), "every byte is a token"
    shipped, first = read_words(family, WHEEL), read_words(family, FIRST)
    assert joined.startswith(shipped[0]) and shipped[0].startswith(first[0])
    assert 20_000 < len(first[1]) < len(shipped[1]) < len(lengths)


def test_every_damaged_byte_is_noticed(levels):
    packed, rng = pack(levels), random.Random(2)
    for at in (*range(100), *(rng.randrange(len(packed)) for _ in range(200)), len(packed) - 1):
        damaged = bytearray(packed)
        damaged[at] ^= 1 << rng.randrange(8)
        with pytest.raises(VocabularyError, match=r"install (streamtok anew|it anew)"):
            unpack(bytes(damaged), "r50k", path="words.stw")


def test_another_file_is_refused(levels, tmp_path):
    packed = pack(levels)
    for data in (b"", b"stwords\0", packed[:-1], packed + b"\0", bytes(len(packed)), b"streamtk" + packed[8:]):
        with pytest.raises(VocabularyError, match="install streamtok anew"):
            unpack(data, "r50k")
    other = bytearray(packed)
    other[8] = 2
    with pytest.raises(VocabularyError, match="format version 2, this streamtok reads 1"):
        unpack(bytes(other), "r50k")
    path = tmp_path / "words.stw"
    with pytest.raises(VocabularyError, match=r"words\.stw: there is no list of words; install streamtok anew"):
        read_words("r50k", path=str(path))
    path.write_bytes(packed[:200])
    with pytest.raises(VocabularyError, match=r"words\.stw: the file is damaged"):
        read_words("r50k", path=str(path))


def forged(shared: bytes, rest_lengths: bytes, rests: bytes, levels: bytes) -> bytes:
    """A file with a correct checksum over contents that pack() never writes."""
    streams = [_compress(stream) for stream in (shared, rest_lengths, rests, levels)]
    numbers = struct.pack("<II", len(levels), len(rests)) + struct.pack("<4I", *map(len, streams)) + bytes(24)
    head, rest = _MAGIC + struct.pack("<I", 1), numbers + b"".join(streams)
    return head + struct.pack("<I", zlib.crc32(rest, zlib.crc32(head))) + rest


def test_words_that_contradict_themselves_are_refused():
    good = forged(bytes([0, 1]), bytes([2, 1]), b"abc", bytes([1, 1]))
    assert separate(unpack(good, "r50k")) == [b"ab", b"ac"]
    wrong = {
        "shares more than there is": (bytes([1]), bytes([1]), b"a", bytes([1])),
        "more than the word before": (bytes([0, 3]), bytes([2, 1]), b"abc", bytes([1, 1])),
        "an empty word": (bytes([0]), bytes([0]), b"", bytes([1])),
        "too long": (bytes([0]), bytes([16]), b"a" * 16, bytes([1])),
        "too long with what it shares": (bytes([0, 15]), bytes([15, 1]), b"a" * 16, bytes([1, 1])),
        "rests that end early": (bytes([0]), bytes([3]), b"ab", bytes([1])),
        "rests left over": (bytes([0]), bytes([1]), b"ab", bytes([1])),
    }
    for what, streams in wrong.items():
        with pytest.raises(VocabularyError, match=r"words\.stw: the words and their lengths contradict each other"):
            pytest.fail(f"{what}: {unpack(forged(*streams), 'r50k', path='words.stw')}")
    with pytest.raises(VocabularyError, match="of other lengths than it says"):
        unpack(forged(bytes([0, 0]), bytes([1]), b"a", bytes([1])), "r50k")
    with pytest.raises(VocabularyError, match="different lengths"):
        words.read_word_list(b"\0\0", b"\1", b"a", b"\1", shift=0, least=1)
