"""Words that a device learns (csrc/cuda/encode/learned.cu): merged once, then looked up, with the CPU core's ids."""

from __future__ import annotations

import itertools
import random
import shutil
import string

import numpy as np
import oracle
import pytest
from emulated import EmulatedDevice, engine_on

from streamtok.gpu import _engine, _tables, _words
from streamtok.gpu._engine import Engine
from streamtok.gpu._text import DeviceText
from streamtok.gpu._words import RECORD
from streamtok.patterns.engine import kernels_of

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ to compile the kernels for the CPU")

FILLER = 2**32 - 1
KNOWN = b"\n of the people that had been there before\n"  # so much that lists of usual room hold the other words
WAYS = {"stages": 0, "one launch": 1 << 30}


class Learner:
    """An encoding, and an engine with tables of its own."""

    def __init__(self, name: str) -> None:
        self.encoding = oracle.named(name)
        self.device = EmulatedDevice(kernels_of(self.encoding._pat_str))
        self.engine: Engine = engine_on(self.device, self.encoding)

    @property
    def words(self) -> _words.Words:
        return self.engine._tables.words.now

    @property
    def places(self) -> np.ndarray:
        """The first table: four numbers a place."""
        return self.words._first.reshape(-1, 4)

    def check(self, *texts: bytes) -> int:
        """Compares the ids of the words, a line each; the number of atoms that were merged in the last slice."""
        data = KNOWN.join(texts)
        text = DeviceText(self.device.put(np.frombuffer(data, np.uint8)), len(data))
        ids = self.engine.encode(text, np.uint32)[0]
        np.testing.assert_array_equal(ids, self.encoding.encode_to_numpy(data, disallowed_special=()))
        return int(self.engine._report[0]["lists"].sum())

    def hashes(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The place of each word's first 12 bytes, and the one for all of its bytes; uint8, a word a row."""
        key = np.zeros((len(words), 76), np.uint8)
        key[:, : words.shape[1]] = words
        a, b, c, *behind = key.view(np.uint32).T.astype(np.uint64)
        shift, rest = np.uint64(self.engine._tables.fields["first_shift"]), np.zeros_like(a)
        for part in behind[: -(-words.shape[1] // 4) - 3]:
            rest = (rest ^ part) * np.uint64(0x27D4EB2F) & np.uint64(FILLER)
        return self._hash(a, b, c) >> shift, self._hash(a ^ rest ^ rest >> np.uint64(15), b, c) >> shift

    def _hash(self, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        low = np.uint64(FILLER)
        mixed = a * np.uint64(0x9E3779B1) ^ b * np.uint64(0x85EBCA77) ^ c * np.uint64(0xC2B2AE3D)
        mixed &= low
        mixed ^= mixed >> np.uint64(15)
        return mixed * np.uint64(0x27D4EB2F) & low


def invented(rng: random.Random, count: int, longest: int = 18) -> list[bytes]:
    """Words that no list holds, most of them, of letters of several scripts."""
    kinds = "etaoinshrdlu", string.ascii_letters, "aeiouéßñşğ", "абвгдежзиклмно", "กขคงจฉชซ", "e\0s", "中文字日本語"
    return [
        "".join(rng.choices(rng.choice(kinds), k=rng.randint(2, longest)))
        .encode()[:longest]
        .decode("utf-8", "ignore")
        .encode()
        for _ in range(count)
    ]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", [*oracle.FAMILIES, "o200k_base without pattern"])
def test_a_word_is_merged_once(name, way, monkeypatch):
    monkeypatch.setattr(_engine, "SHORT", WAYS[way])
    learner, rng = Learner(name), random.Random(name)
    words = invented(rng, 3000, 9)
    first = learner.check(*words)
    for seed in range(2):
        rng.shuffle(words)
        with learner.device.shuffled(seed + 1):
            assert learner.check(*words) < first / 3
    assert learner.words.count(learner.device) > first / 4


def test_a_slice_profits_from_those_before_it(monkeypatch):
    monkeypatch.setattr(_engine, "SHORT", 0)
    learner, rng = Learner("cl100k_base"), random.Random(1)
    words = rng.choices(invented(rng, 1500), k=30_000)
    whole = learner.check(*words)
    monkeypatch.setattr(_words, "FIRST_PART", 4096)
    learner = Learner("cl100k_base")
    assert learner.check(*words) < whole / 8  # those of the last slice
    assert learner.words.read >= len(KNOWN.join(words))


def test_a_table_in_which_most_places_are_taken(monkeypatch):
    monkeypatch.setattr(_tables, "FIRST_PLACES", 1)
    monkeypatch.setattr(_tables, "LEAST_PLACES", 0)
    monkeypatch.setattr(_words, "SHARE", 1)
    learner, rng = Learner("o200k_base"), random.Random(2)
    for _ in range(4):
        words = invented(rng, 3000)
        for _ in range(2):
            learner.check(*words)
    assert 0 < learner.words.count(learner.device) < 6000


def rows_of(parts: list[bytes]) -> np.ndarray:
    """Words of one length as uint8, a word a row."""
    return np.frombuffer(b"".join(parts), np.uint8).reshape(len(parts), -1)


@pytest.mark.parametrize("stem", [b"", b"understand"])
def test_words_that_differ_only_behind_what_the_table_holds(stem):
    """All letters behind the same twelve, or more: some words have the same place, some that of the twelve."""
    learner = Learner("r50k_base")
    tails = rows_of([stem + bytes(some) for some in itertools.product(string.ascii_lowercase.encode(), repeat=3)])
    meet = aliens = 0
    for some in itertools.product((b"that", b"with", b"have", b"from", b"this", b"they"), repeat=3):
        prefix = np.frombuffer(b"".join(some), np.uint8)
        words = np.concatenate([np.tile(prefix, (len(tails), 1)), tails], 1)
        front, own = learner.hashes(words)
        order = np.argsort(own, kind="stable")
        same, alien = np.flatnonzero(np.diff(own[order].astype(np.int64)) == 0), np.flatnonzero(own == front)
        few = same[: 30 if meet < 60 else 0]
        pairs = [words[order[at + k]].tobytes() for at in few for k in range(2)]
        strangers = [words[at].tobytes() for at in alien]
        for group in (pairs[:1], pairs, strangers, strangers):
            if group:
                learner.check(*group)
                learner.check(*(word[:n] + more for word in group for n, more in ((12, b""), (-1, b"Q"), (99, b"q"))))
        meet, aliens = meet + len(pairs), aliens + len(strangers)
    assert meet >= 60 and (aliens or stem)


def test_long_words_and_words_with_one_id_are_learned():
    learner = Learner("o200k_base")
    letters = b"internationalcommunicationsunderstandinginformation" * 2
    words = [letters[:n] + bytes([x]) for n in range(12, 78) for x in b"aeqz"]
    first = learner.check(*words)
    assert learner.check(*words) < first / 6 and learner.words.count(learner.device) > 300
    for word in (" государственного", " правительства"):  # tokens that the first table has no room for
        deferred = []
        for _ in range(2):
            assert not learner.check(*[word.encode()] * 50)
            deferred.append(int(learner.engine._report[0]["deferred"].sum()))
        assert deferred[1] < deferred[0] - 40


def of_many_ids(rng: random.Random, count: int) -> list[bytes]:
    """Words of which most have more ids than the head of a record: signs, letters in an unusual order, white space."""
    kinds = "-=/*!?^~", "qxzjkvwQXZ", "\n   ", "\0\1\2", "ꙮꙗᚠ🧿"
    return ["".join(rng.choices(rng.choice(kinds), k=rng.randint(8, 80))).encode() for _ in range(count)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["r50k_base", "r50k_base without pattern"])
def test_words_of_many_ids_are_learned(name, way, monkeypatch):
    """Up to the bounds and beyond them; then words that begin like others, as long as others."""
    monkeypatch.setattr(_engine, "SHORT", WAYS[way])
    learner, rng = Learner(name), random.Random(way)
    words = of_many_ids(rng, 400)
    ids = [len(learner.encoding.encode_ordinary(word.decode())) for word in words]
    small = [word for word, n in zip(words, ids, strict=True) if len(word) <= 60 and 8 <= n <= 47]
    assert len(small) > 100 and max(ids) > 60
    first = learner.check(*small)
    assert first > 100 and learner.check(*small) < first / 10
    for _ in range(3):
        cut = [word[: rng.randint(1, len(word))] + word[rng.randint(1, len(word)) :] for word in words]
        cut = [word.decode("utf-8", "ignore").encode() for word in cut]
        for some in (words, cut, cut + small):
            with learner.device.shuffled(rng.randint(1, 99)):
                learner.check(*rng.sample(some, len(some)))


def test_an_entry_that_is_half_written_is_no_entry(monkeypatch):
    """Each mixture of the numbers of a free place and of a written one, which kernels of other streams may see; with
    words of the same place that have zeros where others have letters."""
    monkeypatch.setattr(_tables, "FIRST_PLACES", 2)
    monkeypatch.setattr(_tables, "LEAST_PLACES", 0)
    learner = Learner("cl100k_base")
    signs = [bytes(some) for some in itertools.product(b"-=/*!?", repeat=4)]
    first, second = (rows_of([word.replace(b"X", sign) for sign in signs]) for word in (b"X\0\0\0\0\n", b"\0\0\0\0X\n"))
    words = []
    for zeros in first:
        whole = np.concatenate([np.tile(zeros[:4], (len(signs), 1)), second[:, 4:]], 1)
        places = learner.hashes(whole)[0]
        like_first = places == learner.hashes(zeros[None])[0]
        like_second = places == learner.hashes(second)[0]
        words += [(whole[k].tobytes(), zeros.tobytes()) for k in np.flatnonzero(like_first)]
        words += [(whole[k].tobytes(), second[k].tobytes()) for k in np.flatnonzero(like_second)]
    assert len(words) > 5
    before = learner.places.copy()
    learner.check(*(word for word, _ in words))
    after = learner.places.copy()
    changed = np.flatnonzero((before != after).any(1))
    assert len(changed)
    for mask in range(16):
        mixed = np.array([mask >> i & 1 for i in range(4)], bool)
        learner.places[changed] = np.where(mixed, after[changed], before[changed])
        learner.check(*(word for some in words for word in some))
        learner.places[changed] = before[changed]
        learner.places[changed, 3] |= 1  # claimed
        learner.check(*(word for some in words for word in some))


def test_a_full_table_learns_no_more_and_is_renewed_for_other_words(monkeypatch):
    monkeypatch.setattr(_words, "SHARE", 20_000)
    learner, rng = Learner("o200k_base"), random.Random(4)
    old, words = learner.words, invented(rng, 2000, 12)
    assert old.capacity == 104
    records = old._records[RECORD * old.capacity :].copy()
    while learner.words is old:
        learner.check(*words)
    assert old.count(learner.device) == old.capacity
    np.testing.assert_array_equal(old._records[RECORD * old.capacity :], records)  # nothing behind the end
    few = words[:50]
    assert learner.check(*few) > 3 * learner.check(*few)


def test_where_memory_is_limited_or_short_old_words_stay(monkeypatch):
    monkeypatch.setattr(_words, "SHARE", 20_000)
    monkeypatch.setattr(_words, "RENEWAL", 1)
    learner, words = Learner("r50k_base"), invented(random.Random(5), 500)
    known, old = learner.engine._tables.words, learner.words
    assert learner.engine._tables.nbytes > old.nbytes > 16 * len(learner.places) + 4 * RECORD * old.capacity - 1
    monkeypatch.setattr(known, "_is_limited", True)
    for _ in range(3):
        learner.check(*words)
    assert learner.words is old

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(known, "_is_limited", False)
    with monkeypatch.context() as short:
        short.setattr(learner.device, "full", fail)
        learner.check(*words)
    assert learner.words is old
    learner.check(*words)
    assert learner.words is not old
