"""One text on several threads: it is cut where its parts encode independently, so ids and errors stay the same."""

from __future__ import annotations

import itertools
import os
import random
import re
import subprocess
import sys

import numpy as np
import oracle
import pytest
from matrix import mixed_text, outcome, small_parts

import streamtok
from streamtok import _batch as batch
from streamtok.native.job import Job, cuts

THREADS = (1, 2, 3, 8, 64)
each_number = pytest.mark.parametrize("num_threads", THREADS)


@pytest.fixture(autouse=True)
def tiny_parts():
    with small_parts():
        yield


SPECIAL = ({"disallowed_special": ()}, {"allowed_special": "all"}, {"allowed_special": {"<|endoftext|>"}}, {})


def assert_threads_do_not_matter(enc, text, rng: random.Random, **options) -> None:
    want = outcome(lambda: enc.encode_to_numpy(text, **options).tolist())
    counted = len(want) if isinstance(want, list) else want
    for n in rng.sample(THREADS[1:], 2):
        assert outcome(lambda n=n: enc.encode_to_numpy(text, num_threads=n, **options).tolist()) == want
        assert outcome(enc.count, text, num_threads=n, **options) == counted


@pytest.mark.parametrize("name", oracle.FAMILIES)
def test_a_text_without_a_pattern_is_cut_where_no_token_spans(name):
    enc = oracle.without_pattern(name)
    text = oracle.topics()[:9000].encode()
    assert len(cuts(text, 100, None, None, enc._coder)) > 60


@pytest.mark.parametrize("widest", ["", "\xff", "ж", "👋"])
@pytest.mark.parametrize("name", [*oracle.FAMILIES, "without pattern"])
def test_a_str_is_cut_by_its_characters(name, widest):
    """Of one, two or four bytes: each part becomes UTF-8 by itself, near a special token or not; several texts too."""
    enc = oracle.without_pattern("o200k_base") if name == "without pattern" else oracle.ours(name)
    rng = random.Random(name + widest)
    for size in [400] * 20 + [3000] * 5 + [40_000, 100_000]:
        text = streamtok.native.text.mend_surrogates(mixed_text(rng, size))
        text = "".join(character for character in text if character <= (widest or "\x7f")) + widest
        job = Job(enc._coder, [text], None, None, 8, 16)
        job.work()
        assert (job.share_count > len(text) // 2000) and not job.has_surrogates()
        assert job.array().tolist() == enc.encode_to_numpy(text.encode(), disallowed_special=()).tolist()
        for options in SPECIAL:
            assert_threads_do_not_matter(enc, text, rng, **options)
        several = [text[at : at + 100] for at in range(0, len(text), 100)] + [text.encode(), text]
        want = [outcome(enc.encode, part, disallowed_special=()) for part in [*several[:-2], text, text]]
        ids, starts = enc.encode_ragged(several, num_threads=8, disallowed_special=())
        assert [ids[a:b].tolist() for a, b in itertools.pairwise(starts)] == want


@pytest.mark.parametrize("odd", ["\ud83d", "\udc4b", "\ud83d\udc4b"])
def test_a_str_with_surrogates_is_mended_on_several_threads_too(enc, odd):
    rng = random.Random(ascii(odd))
    for at in [0, 5, 100, 1500, 2999]:
        text = (mixed_text(rng, 3000) + "é" * 3000)[:3000]
        text = text[:at] + odd + text[at:]
        for options in SPECIAL:
            assert_threads_do_not_matter(enc, text, rng, **options)
        with_name = [text, "well <|endoftext|>", "é" * 100]
        with pytest.raises(ValueError, match="disallowed special token"):
            enc.encode_ragged(with_name, num_threads=8)
        ids, _ = enc.encode_ragged(with_name, num_threads=8, disallowed_special=())
        assert ids.tolist() == [id for part in with_name for id in enc.encode(part, disallowed_special=())]


def test_texts_without_a_place_to_cut(family):
    for unit in ("a", " ", "\n", "的", "中文", "!", "'", "\u0301", "😀", "A"):
        text = unit * 2000
        job = Job(family.ours._coder, [text], None, None, 8, 16)
        job.work()
        assert job.array().tolist() == family.ours.encode(text)
        assert family.ours.encode_to_numpy("x 1 " + text + " 1 x" * 20, num_threads=8).tolist() == family.ours.encode(
            "x 1 " + text + " 1 x" * 20
        )


def test_what_follows_an_allowed_special_token_is_a_new_text(make_tiny):
    """The last characters of a name are no neighbours of the text behind it, wherever that is cut."""
    names = {"!!": 900, ">": 901, "a1": 902, "!": 903, "1": 904, "<|x|>": 905}
    rng = random.Random(9)
    for _ in range(300):
        chosen = dict(rng.sample(sorted(names.items()), 3))
        enc = make_tiny(special_tokens=chosen)
        text = "".join(rng.choice(["!", "!!", "a", "1", ">", " ", "<|x|>", "b", "'s", "中"]) for _ in range(200))
        want = enc.encode_to_numpy(text, allowed_special="all").tolist()
        assert enc.encode_to_numpy(text, allowed_special="all", num_threads=8).tolist() == want
        assert enc.encode_to_numpy(text.encode(), allowed_special="all", num_threads=8).tolist() == want


@each_number
def test_a_long_text_among_short_ones(family, num_threads):
    rng = random.Random(10)
    texts = ["", *[mixed_text(rng, 50) for _ in range(20)], mixed_text(rng, 20_000), "", mixed_text(rng, 300), ""]
    want = [family.ours.encode(text, disallowed_special=()) for text in texts]
    assert family.ours.encode_batch(texts, num_threads=num_threads, disallowed_special=()) == want
    assert family.ours.encode_ordinary_batch(texts, num_threads=num_threads) == want
    forms = [text if i % 3 else bytearray(text.encode()) for i, text in enumerate(texts)]
    ids, indptr = family.ours.encode_ragged(forms, num_threads=num_threads, disallowed_special=())
    assert [ids[a:b].tolist() for a, b in itertools.pairwise(indptr)] == want
    assert ids.dtype == np.uint32 and indptr.dtype == np.int64 and len(indptr) == len(texts) + 1


@each_number
def test_first_mistake_in_order_is_the_one_that_is_raised(enc, num_threads):
    texts = [b"well, 12 " * 50] * 20
    texts[7], texts[12], texts[18] = b"a" * 40 + b"\xff", b"<|endoftext|>", b"\xfe"
    with pytest.raises(UnicodeDecodeError, match="0xff in position 40"):
        enc.encode_ragged(texts, num_threads=num_threads)
    names = ["<|endofprompt|>", "<|endoftext|>" + " well" * 300]
    for first in names, names[::-1]:  # a short one and a long one
        with pytest.raises(ValueError, match=re.escape(first[0].split(">")[0])):
            enc.encode_batch(["well"] * 9 + first, num_threads=num_threads)
    texts[7] = b""
    with pytest.raises(ValueError, match="disallowed special token"):
        enc.encode_ragged(texts, num_threads=num_threads)


def test_ids_behind_an_array_that_is_held_do_not_change(enc):
    text = mixed_text(random.Random(11), 5000)
    first = enc.encode_to_numpy(text, disallowed_special=(), num_threads=4)
    kept = first.tolist()
    enc.encode_to_numpy(text[::-1], disallowed_special=(), num_threads=4)
    assert first.tolist() == kept and not first.flags.writeable


def test_memory_errors_leave_nothing_behind(enc):
    from streamtok.native import library

    text = mixed_text(random.Random(12), 3000)
    want = enc.encode_to_numpy(text, disallowed_special=()).tolist()
    enc.encode_to_numpy(text, disallowed_special=(), num_threads=3)
    live = library.allocation_counts()[2]
    failed = 0
    for allowed in range(200):
        library.fail_allocations_after(allowed)
        try:
            ids = enc.encode_to_numpy(text, disallowed_special=(), num_threads=3).tolist()
        except MemoryError:
            failed += 1
            continue
        finally:
            library.fail_allocations_after(-1)
        assert ids == want
    assert failed > 5
    assert abs(library.allocation_counts()[2] - live) <= 8  # workspaces that threads needed at once for the first time


def test_no_thread_is_left_and_none_is_started_for_short_texts(enc, monkeypatch):
    tasks = "/proc/self/task"
    before = os.listdir(tasks) if os.path.exists(tasks) else []
    enc.encode_to_numpy(mixed_text(random.Random(13), 5000), disallowed_special=(), num_threads=8)
    assert not before or len(os.listdir(tasks)) <= len(before) + 8  # what has ended may stand there for a moment
    monkeypatch.setattr(batch, "_LEAST_PART", 1 << 18)
    jobs = []
    monkeypatch.setattr(batch, "Job", lambda *arguments: jobs.append(Job(*arguments)) or jobs[-1])
    enc.encode_to_numpy("well " * 50_000, num_threads=8)
    enc.count("well " * 50_000, num_threads=8)
    assert enc.encode_batch(["well"] * 2, num_threads=8) == [enc.encode("well")] * 2
    assert len(jobs) == 3 and all(job.share_count < 2 for job in jobs)


NO_THREADS = """
import resource, sys, threading
import numpy as np
import streamtok
from streamtok import _batch as batch

batch.cores = lambda: 8
enc = streamtok.get_encoding("o200k_base")
text = "many words, 1234 numbers, " * 40_000
want = enc.encode_to_numpy(text)
enc.encode_to_numpy(text, num_threads=2)
threading.stack_size(1 << 30)
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 29), used + (1 << 29)))
try:
    threading.Thread(target=print).start()
except RuntimeError:
    assert np.array_equal(enc.encode_to_numpy(text, num_threads=8), want)
    assert enc.encode_batch([text] * 4, num_threads=8) == [want.tolist()] * 4
    print("one thread did it all")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_AS and /proc")
def test_where_no_thread_can_be_started_one_does_it_all():
    done = subprocess.run([sys.executable, "-c", NO_THREADS], capture_output=True, text=True)
    assert done.stdout == "one thread did it all\n", done.stderr


def test_cuts_of_a_stretch_stay_away_from_its_ends(enc):
    """For blocks of a file: the text before and behind a block is not known."""
    rng = random.Random(16)
    allowed, _ = enc._matchers_for("all", ())
    found = 0
    for _ in range(100):
        data = mixed_text(rng, 3000).encode()
        start, end = sorted(rng.sample(range(len(data) + 1), 2))
        at = [start + cut for cut in cuts(data[start:end], 64, allowed, None, enc._coder)]
        assert at == sorted(set(at))
        found += len(at)
        borders = [0, *at, len(data)]
        parts = [enc.encode_to_numpy(data[a:b], allowed_special="all") for a, b in itertools.pairwise(borders)]
        oracle.assert_same(np.concatenate(parts), enc.encode_to_numpy(data, allowed_special="all"), enc)
    assert found > 500
