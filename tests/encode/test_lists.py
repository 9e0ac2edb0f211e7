"""Lists of ids that several threads fill: the same lists as one thread makes, and an int has a reference a place."""

from __future__ import annotations

import gc
import random
import sys
import sysconfig

import numpy as np
import oracle
import pytest

from streamtok import _batch as batch
from streamtok.native.job import Job
from streamtok.native.lists import lists_over

HAS_LOCK = not sysconfig.get_config_var("Py_GIL_DISABLED")
COUNTS_ALL = hasattr(sys, "gettotalrefcount")
steps = pytest.mark.skipif(
    not HAS_LOCK or COUNTS_ALL, reason="this Python's lists are made by their own threads, or by one"
)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """Empty, short and long ones, with more ids than one thread alone would make lists of."""
    rng, topics = random.Random(1), oracle.topics()
    some = [topics[i : i + rng.randrange(4000)] for i in range(0, 200_000, 100)]
    return ["", *some, "", "", topics[:1_000_000], ""]


def lists_of(coder, texts):
    job = Job(coder, texts, None, None, 4, 1 << 16)
    job.work()
    return job.lists()


def test_lists_are_those_of_one_thread(texts, monkeypatch):
    monkeypatch.setattr(batch, "cores", lambda: 8)
    enc = oracle.ours("o200k_base")
    want = [enc.encode_ordinary(text) for text in texts]
    for threads in (2, 8):
        assert enc.encode_ordinary_batch(texts, num_threads=threads) == want
    assert enc.encode_batch(texts, num_threads=3) == want


def test_lists_of_ids_in_an_array(texts, monkeypatch):
    """A device gives ids as an array."""
    monkeypatch.setattr(batch, "cores", lambda: 4)
    enc = oracle.ours("o200k_base")
    ids, indptr = enc.encode_ragged([*texts, "<|endoftext|>"], allowed_special="all")
    for some in (ids.size, 5000, 0):
        starts = np.unique(np.minimum(indptr, some)) if some else np.zeros(3, np.int64)
        want = [ids[a:b].tolist() for a, b in zip(starts.tolist(), starts.tolist()[1:])]
        for threads in (1, 4):
            assert batch.listed(enc._vocab, ids[:some], starts, threads) == want
    assert batch.listed(enc._vocab, ids, indptr, 4)[-1] == [enc.eot_token]
    for starts in ([0, 3], [1, len(ids)], [0, -1, len(ids)], [0, 9, 4, len(ids)], [0, 1 << 40, len(ids)]):
        with pytest.raises(ValueError):
            lists_over(enc._vocab, ids, np.array(starts))


def test_the_steps_are_for_a_python_that_they_are_right_for(texts):
    """Not without the lock, nor where all references are counted, or all objects listed."""
    lists = lists_of(oracle.ours("r50k_base")._coder, texts)
    assert lists.are_shared == (HAS_LOCK and not COUNTS_ALL)
    assert [len(each) for each in lists.all()] == [len(oracle.ours("r50k_base").encode_ordinary(t)) for t in texts]


def test_a_python_that_counts_all_references_counts_those_of_lists(texts, monkeypatch):
    """No other Python has such a count."""
    monkeypatch.setattr(batch, "cores", lambda: 4)
    total, enc = getattr(sys, "gettotalrefcount", int), oracle.ours("r50k_base")
    enc.encode_ordinary_batch(texts, num_threads=4)
    gc.collect()
    before = total()
    made = enc.encode_ordinary_batch(texts, num_threads=4)
    places = sum(map(len, made))
    assert not COUNTS_ALL or total() - before > places
    del made
    gc.collect()
    assert abs(total() - before) < places // 100


@steps
@pytest.mark.parametrize("by", ["job", "array"])
def test_each_place_is_a_reference(texts, by):
    coder = oracle.ours("r50k_base")._coder
    lists = lists_of(coder, texts)
    if by == "array":
        lists = lists_over(coder.vocab, *oracle.ours("r50k_base").encode_ragged(texts))
    assert lists.are_shared
    lists.work()
    assert lists.make()
    lists.work()
    made = lists.finish()
    number = max(made[-2])  # no int that Python itself keeps
    assert number > 1000
    places = sum(each.count(number) for each in made)
    with_lists = sys.getrefcount(number)
    del made, lists
    gc.collect()
    assert with_lists - sys.getrefcount(number) == places > 0


@steps
@pytest.mark.parametrize("filled", [False, True])
def test_lists_that_are_given_up_leave_nothing(texts, filled):
    coder = oracle.ours("r50k_base")._coder
    number = max(oracle.ours("r50k_base").encode_ordinary(texts[-2]))
    before = sys.getrefcount(number)
    lists = lists_of(coder, texts)
    assert lists.are_shared
    lists.work()
    assert lists.make()
    assert sys.getrefcount(number) > before
    if filled:
        lists.work()
    else:
        lists.stop()
        lists.work()
        with pytest.raises(RuntimeError):
            lists.finish()
    del lists
    gc.collect()
    assert sys.getrefcount(number) == before


def test_ids_without_a_shared_int(tiny, monkeypatch):
    """Special tokens may have ids far above all others: one thread makes the lists then."""
    import streamtok

    monkeypatch.setattr(batch, "cores", lambda: 4)
    special = {"<|far|>": 1_000_000_000}
    enc = streamtok.Encoding(
        "far", pat_str=tiny._pat_str, mergeable_ranks=tiny._mergeable_ranks, special_tokens=special
    )
    texts = ["ab " * 200_000 + "<|far|>", "abc"] * 2
    want = [enc.encode(text, allowed_special="all") for text in texts]
    assert want[0][-1] == 1_000_000_000
    assert enc.encode_batch(texts, allowed_special="all", num_threads=4) == want
