"""A cache of beginnings of texts: its ids are those of the whole text, whatever other texts were asked for before."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import random
import threading
import tracemalloc

import made_models
import matrix
import nasty
import numpy as np
import oracle
import pytest

import streamtok
from streamtok.serving import marks, prefix_cache

REQUESTS = {"default": 1_000, "ci": 5_000, "long": 100_000}[oracle.PROFILE]
END = "<|endoftext|>"


class Requests:
    """Texts that several threads ask for: they grow, are changed, branch, and are asked for again."""

    def __init__(self, enc, seed: object) -> None:
        self.enc, self.seed = enc, seed
        names = sorted(enc.special_tokens_set)
        self.names = random.Random(f"{seed}").sample(names, min(6, len(names))) or [END]
        self.options = [
            {"disallowed_special": ()},
            {"disallowed_special": (), "allowed_special": set(self.names[:2])},
            {"allowed_special": "all"},
            {"allowed_special": set(self.names[:1])},
            {},
        ]

    def part(self, rng: random.Random) -> str:
        kind, topics = rng.random(), oracle.topics()
        if kind < 0.2:
            name = rng.choice(self.names)
            return rng.choice((name, name[: rng.randint(0, len(name))], name[rng.randint(0, len(name)) :]))
        if kind < 0.5:
            at = rng.randrange(len(topics))
            return topics[at : at + rng.choice((5, 60, 700))]
        if kind < 0.65:
            return rng.choice(" \na中") * rng.choice((3, 40, 300))
        return next(iter(nasty.random_strings(rng, 1, 12, [*nasty.ALPHABET, *self.names, *matrix.HALVES])))

    def next(self, rng: random.Random, texts: list[str]) -> str:
        text, kind = rng.choice(texts), rng.random()
        if kind < 0.2:
            return text
        if kind < 0.6 and len(text) < 6_000:
            return text + self.part(rng)
        at = rng.randint(0, len(text))
        if kind < 0.8:
            return text[:at] + self.part(rng) + text[at + rng.randint(0, 5) :]
        return text[:at]

    def run(self, cache, number: int, count: int) -> None:
        rng = random.Random(f"{self.seed} {number}")
        texts = ["", oracle.topics()[: 2 * marks.STEP]]
        for _ in range(count):
            text, options = self.next(rng, texts), rng.choice(self.options)
            self.check(cache, text, options, rng.choice((None, "a", b"b")), rng.random() < 0.5)
            texts.append(text)
            if len(texts) > 40:
                del texts[rng.randrange(len(texts))]

    def check(self, cache, text: str, options, salt, as_list: bool) -> None:
        want = outcome(lambda: self.enc.encode(text, **options))
        if as_list:
            got = outcome(lambda: cache.encode(text, salt=salt, **options))
        else:
            data = matrix.mended(text).encode() if salt else text
            got = outcome(lambda: cache.encode_to_numpy(data, salt=salt, **options))
            assert isinstance(got, str) or (got.dtype == np.uint32 and not got.flags.writeable)
            got = got if isinstance(got, str) else got.tolist()
        assert got == want, (self.enc.name, text, options)


def outcome(call):
    try:
        return call()
    except ValueError as error:
        return str(error)


def check_threads(enc, seed: object, count: int, max_bytes: int = 1 << 28, threads: int = 4):
    requests, cache = Requests(enc, seed), streamtok.PrefixCache(enc, max_bytes=max_bytes)
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            requests.run(cache, number, count // threads)
        except BaseException as error:
            failed.append(error)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if failed:
        raise failed[0]
    stats = cache.stats()
    assert stats.bytes <= max_bytes
    cache.clear()
    assert cache.stats()[3:] == (0, 0)
    return stats


@pytest.mark.parametrize("step", [16, 100, marks.STEP])
@pytest.mark.parametrize("name", oracle.FAMILIES)
def test_random_requests_of_threads(name, step, monkeypatch):
    monkeypatch.setattr(marks, "STEP", step)
    stats = check_threads(oracle.ours(name), (name, step), REQUESTS)
    assert stats.hits and stats.entries


@pytest.mark.parametrize("name", [name for name in matrix.ROWS if name not in oracle.NAMES])
def test_random_requests_of_other_encodings(name, monkeypatch):
    """Normalizers, patterns of one's own and none, longest match, scores, the reference engine."""
    monkeypatch.setattr(marks, "STEP", 48)
    check_threads(matrix.row(name).ours, name, REQUESTS // 8, threads=2)


@pytest.mark.parametrize("path", made_models.files(), ids=made_models.name_of)
def test_random_requests_of_models(path, monkeypatch):
    monkeypatch.setattr(marks, "STEP", 64)
    try:
        enc = streamtok.Encoding.from_file(made_models.ready(path))
    except ValueError as error:
        pytest.skip(f"not supported: {error}")
    check_threads(enc, path.parent, REQUESTS // 4)


@pytest.mark.parametrize("max_bytes", [0, 400, 3_000, 40_000])
def test_random_requests_with_little_room(max_bytes, monkeypatch):
    monkeypatch.setattr(marks, "STEP", 32)
    check_threads(oracle.ours("o200k_base"), max_bytes, REQUESTS, max_bytes)


def test_a_chat_is_encoded_once():
    enc = oracle.ours("o200k_base")
    cache = streamtok.PrefixCache(enc)
    tools = '{"type": "function", "name": "find", "parameters": {"query": "string"}}\n' * 600
    before = cache.stats().bytes_saved
    for user in range(3):
        text = tools
        for turn in range(5):
            text += f"<|user|>{user} asks {turn}: {oracle.topics()[turn * 900 : turn * 900 + 900]}"
            assert cache.encode(text) == enc.encode(text)
            saved = cache.stats().bytes_saved - before
            before += saved
            assert saved > len(tools) - marks.STEP or (user, turn) == (0, 0)
            assert saved > len(text.encode()) - 2 * marks.STEP or turn == 0
    stats = cache.stats()
    assert (stats.hits, stats.misses) == (14, 1)
    cache.clear()
    assert cache.stats() == stats._replace(entries=0, bytes=0)
    assert cache.encode(tools) == enc.encode(tools)
    assert cache.stats().misses == 2


def test_short_texts_are_not_looked_for():
    enc = oracle.ours("o200k_base")
    cache = streamtok.PrefixCache(enc)
    for text in ("", "hello", "é" * 1_000, "x" * (marks.STEP - 1), "日本" * 600):
        assert cache.encode(text) == enc.encode(text)
    assert cache.stats() == (0, 0, 0, 0, 0)


def test_texts_of_another_salt_are_not_seen():
    enc, text = oracle.ours("o200k_base"), oracle.topics()[:40_000]
    cache = streamtok.PrefixCache(enc, salt="one")
    for salt, hits in ((None, 0), (b"one", 1), ("two", 1), (b"two", 2), (b"", 2), ("one", 3)):
        assert cache.encode(text, salt=salt) == enc.encode(text)
        assert cache.stats().hits == hits


def test_names_of_special_tokens_are_part_of_what_is_asked_for():
    enc, text = oracle.ours("o200k_base"), f"{END} and " * 2_000
    cache = streamtok.PrefixCache(enc)
    for options in matrix.special_of(sorted(enc.special_tokens_set)):
        requests = Requests(enc, 0)
        requests.check(cache, text, options, None, True)
        requests.check(cache, text + "more", options, None, False)


def test_a_template_is_put_around_the_ids():
    found = (streamtok.Encoding.from_file(made_models.ready(path)) for path in made_models.files())
    enc = next(enc for enc in found if enc.prefix_ids)
    cache, text = streamtok.PrefixCache(enc), oracle.topics()[:9_000]
    for _ in range(2):
        for short in (text, text[:50]):
            want = enc.encode(short, add_special_tokens=True)
            assert enc.prefix_ids and want[0] == enc.prefix_ids[0]
            assert cache.encode(short, add_special_tokens=True) == want
            assert cache.encode_to_numpy(short, add_special_tokens=True).tolist() == want


def test_the_memory_is_counted():
    """What stats() says is what Python's allocator was asked for, and a little more, never less."""
    enc, topics = oracle.ours("o200k_base"), oracle.topics()
    texts = [topics[at : at + 40_000 + at % 7_000] for at in range(0, 400_000, 10_000)]
    texts += [texts[0][:20_000] + f"{at}" + texts[1][: 9_000 + at] for at in range(60)]
    for text in texts:
        enc.encode_to_numpy(text)
    cache = streamtok.PrefixCache(enc)
    gc.collect()
    tracemalloc.start()
    try:
        for text in texts:
            cache.encode_to_numpy(text)
        gc.collect()
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    told = cache.stats().bytes
    assert 0.9 * told < taken <= told
    assert told < 2.5 * cache.stats().entries * marks.STEP


def test_what_is_used_least_goes_first():
    enc, topics = oracle.ours("o200k_base"), oracle.topics()
    kept, others = topics[:40_000], [topics[at : at + 40_000] for at in range(50_000, 800_000, 50_000)]
    cache = streamtok.PrefixCache(enc, max_bytes=500_000)
    for other in others:
        cache.encode(kept)
        cache.encode(other)
        assert cache.stats().bytes <= 500_000
    before = cache.stats()
    assert before.hits == len(others) - 1
    cache.encode(kept)
    assert cache.stats().bytes_saved - before.bytes_saved > 35_000
    cache.encode(others[0])
    assert cache.stats().hits == len(others)


def test_of_a_text_that_has_no_room_the_beginning_stays():
    enc, text = oracle.ours("o200k_base"), oracle.topics()[:300_000]
    cache = streamtok.PrefixCache(enc, max_bytes=100_000)
    for _ in range(2):
        assert np.array_equal(cache.encode_to_numpy(text), enc.encode_to_numpy(text))
    assert 30_000 < cache.stats().bytes_saved <= 100_000
    assert 50_000 < cache.stats().bytes <= 100_000


def test_what_waits_long_has_no_marks(monkeypatch):
    """A piece of a pattern that goes through `regex` is held back whole: states would hold it again and again."""
    monkeypatch.setattr(marks, "STEP", 256)
    enc = matrix.row("tiny, a pattern that only regex knows").ours
    cache, text = streamtok.PrefixCache(enc), "ab " * 300 + "x" * 4_000 + " ab" * 300
    for end in (0, 1, 600):
        assert cache.encode(text + "c" * end) == enc.encode(text + "c" * end)
    assert 0 < cache.stats().bytes < 10_000
    session = enc.session(text)
    assert sum(len(mark.state) for mark in session._now.marks) < 4_000
    assert session.ids.tolist() == enc.encode(text)


def test_what_is_refused_changes_nothing():
    enc = oracle.ours("o200k_base")
    cache, text = streamtok.PrefixCache(enc), oracle.topics()[:20_000]
    cache.encode(text)
    before = cache.stats()
    for wrong in (text + END, text[:9_000] + END + text[9_000:]):
        with pytest.raises(ValueError) as told:
            enc.encode(wrong)
        with pytest.raises(ValueError) as found:
            cache.encode(wrong)
        assert str(found.value) == str(told.value)
    with pytest.raises(UnicodeDecodeError, match=r"position 20000"):
        cache.encode_to_numpy(text.encode("ascii", "replace") + b"\xff")
    assert cache.stats()[3:] == before[3:]
    assert cache.encode(text) == enc.encode(text)


def test_texts_that_differ_late():
    """An enemy's texts that are alike up to the last byte of a block, and all different there."""
    enc = oracle.ours("o200k_base")
    cache, block = streamtok.PrefixCache(enc), "abcd efg " * (marks.STEP // 9) + "x" * (marks.STEP % 9)
    for again in range(2):
        for first in range(32, 100):
            text = block[:-1] + chr(first) + block
            assert cache.encode_to_numpy(text).tolist() == enc.encode(text)
        assert cache.stats().hits == again * 68
    assert cache.stats().entries == 2 * 68 + 1


def test_copies_and_pickles_are_empty():
    enc, text = oracle.ours("o200k_base"), oracle.topics()[:20_000]
    cache = streamtok.PrefixCache(enc, max_bytes=10_000_000, salt="s")
    cache.encode(text)
    for twin in (pickle.loads(pickle.dumps(cache)), copy.copy(cache), copy.deepcopy(cache)):
        assert (twin.max_bytes, twin.stats().entries) == (10_000_000, 0)
        assert twin.encode(text) == cache.encode(text)
    assert repr(cache).startswith("<PrefixCache of 'o200k_base', ")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_that_forks_goes_on():
    enc, text = oracle.ours("o200k_base"), oracle.topics()[:60_000]
    cache, is_over = streamtok.PrefixCache(enc, max_bytes=200_000), threading.Event()

    def ask() -> None:
        at = 0
        while not is_over.is_set():
            cache.encode_to_numpy(text[at % 9_000 :])
            at += 700

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(8):
            child = os.fork()
            if not child:
                try:
                    same = np.array_equal(cache.encode_to_numpy(text), enc.encode_to_numpy(text, num_threads=1))
                    os._exit(0 if same else 1)
                finally:
                    os._exit(2)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def test_a_finalizer_that_asks_the_same_cache(monkeypatch):
    """The collector of garbage may run a finalizer at any allocation, and this one changes the cache."""
    monkeypatch.setattr(marks, "STEP", 16)
    enc, rng = oracle.ours("o200k_base"), random.Random(5)
    cache = streamtok.PrefixCache(enc, max_bytes=4_000)
    asked = []

    class Asks:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            asked.append(cache.encode("a bc" * rng.randint(1, 40)))
            if rng.random() < 0.1:
                cache.clear()

    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(300):
            Asks()
            text = "a bc" * rng.randint(1, 30) + rng.choice("xyz") * 20
            assert cache.encode(text) == enc.encode(text)
    finally:
        gc.set_threshold(*before)
        gc.collect()
    assert len(asked) == 300


def test_of_a_long_text_with_little_new_little_is_encoded(monkeypatch):
    enc, text, fed = oracle.ours("o200k_base"), oracle.topics().encode()[:131_072], []
    cache = streamtok.PrefixCache(enc)
    cache.encode_to_numpy(text[:130_048].decode("utf-8", "ignore"))
    take = prefix_cache._Run.take
    monkeypatch.setattr(prefix_cache._Run, "take", lambda run, part: fed.append(len(part)) or take(run, part))
    cache.encode_to_numpy(text.decode("utf-8", "ignore"))
    assert 1_020 < sum(fed) < 1_028 + marks.STEP
