"""Threads share an Encoding, never a stream; the GIL is released while the core works; fork is safe."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import nasty
import numpy as np
import oracle
import pytest

import streamtok
from streamtok.native import trainer


def together(count: int, job) -> list:
    """Runs job(0), job(1), ... on threads that start at one moment, and gives their results."""
    barrier = threading.Barrier(count)

    def run(n: int):
        barrier.wait()
        return job(n)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def test_sixteen_threads_on_one_encoding(family):
    _, ours, _ = family
    texts = [*nasty.FIXED[:400], oracle.topics()[:50_000], "的" * 3000, "a" * 5000, " " * 5000]
    want = [ours.encode_ordinary(text) for text in texts]

    def job(n: int) -> bool:
        order = list(range(len(texts)))
        random.Random(n).shuffle(order)
        for i in order:
            if ours.encode_ordinary(texts[i]) != want[i] or ours.decode(want[i]) != texts[i]:
                return False
            if ours.count(texts[i], disallowed_special=()) != len(want[i]):
                return False
        return True

    assert all(together(16, job))


def test_sixteen_threads_that_are_the_first_to_use_an_encoding():
    """What is built on first use is built once, whichever thread is first."""
    bundled = oracle.ours("r50k_base")
    text = "的" * 200 + "a" * 300 + " hello world " + "ÃÂ" * 90 + " " * 400
    want = bundled.encode(text)
    for engine in ("fast", "fast", "reference"):
        enc = streamtok.Encoding(
            "new",
            pat_str=bundled._pat_str,
            mergeable_ranks=bundled._mergeable_ranks,
            special_tokens=bundled._special_tokens,
            engine=engine,
        )

        def job(n: int, enc=enc) -> list[int]:
            stream = enc.stream_encoder(allowed_special="all")
            return oracle.streamed(stream, oracle.random_cuts(random.Random(n), text.encode(), (1, 10, 100)))

        assert together(16, job) == [want] * 16


def test_a_stream_for_each_of_sixteen_threads(family):
    _, ours, _ = family
    data = (oracle.topics()[:80_000] + "中文" * 2000).encode()
    want = ours.encode_to_numpy(data)

    def job(n: int) -> bool:
        stream = ours.stream_encoder()
        parts = [stream.feed(chunk).copy() for chunk in oracle.random_cuts(random.Random(n), data, (1, 100, 5000))]
        return np.array_equal(np.concatenate([*parts, stream.flush()]), want)

    assert all(together(16, job))


def test_second_thread_inside_a_stream_gets_a_runtime_error(enc):
    data = (oracle.topics() * 30).encode()
    stream = enc.stream_encoder()
    calls = [
        lambda: stream.feed(b"x"),
        lambda: stream.flush(),
        lambda: stream.reset(),
        lambda: stream.copy(),
        lambda: stream.getstate(),
        lambda: stream.setstate(state),
    ]
    state = stream.getstate()
    for call in calls:
        for _ in range(50):  # the feed may have ended before the other call comes
            ids: list = []
            feeder = threading.Thread(target=lambda ids=ids: ids.append(stream.feed(data)))
            feeder.start()
            time.sleep(0.003)
            try:
                call()
            except RuntimeError as error:
                assert "thread" in str(error)
                feeder.join()
                rest = stream.flush()
                oracle.assert_same(np.concatenate([ids[0], rest]), enc.encode_to_numpy(data), enc)
                break
            feeder.join()
            stream.reset()
        else:
            pytest.fail("no call met another inside the stream")


@pytest.mark.parametrize("kind", ["fast", "custom pattern"])
def test_many_threads_in_one_stream_never_corrupt_it(tiny, kind):
    enc = tiny
    if kind == "custom pattern":
        pytest.importorskip("regex")
        enc = streamtok.Encoding(
            "own", pat_str=r"\w+|\s+|[^\w\s]", mergeable_ranks=tiny._mergeable_ranks, special_tokens={}
        )
    stream = enc.stream_encoder(disallowed_special=())
    chunk = "abc " * 5000

    def job(n: int) -> list:
        taken = []
        for _ in range(30):
            try:
                taken.append(stream.feed(chunk).copy())
            except RuntimeError:
                taken.append(None)
        return taken

    results = [part for parts in together(8, job) for part in parts]
    fed = sum(part is not None for part in results)
    assert fed >= 1
    total = sum(len(part) for part in results if part is not None) + len(stream.flush())
    assert total == enc.count(chunk * fed)


def test_what_is_read_beside_a_feed(enc):
    """The offset can be read at any time; `pending` is refused while another thread is inside the stream."""
    for tries in range(50):
        data = (oracle.topics() * (30 + 3 * tries)).encode()  # a longer feed is more likely to overlap
        stream = enc.stream_encoder()
        feeder = threading.Thread(target=stream.feed, args=(data,))
        feeder.start()
        refused = []
        while feeder.is_alive() and not refused:
            assert stream.offset in (0, len(data))
            try:
                assert stream.pending < len(data)
            except RuntimeError as error:
                refused.append(str(error))
        feeder.join()
        if refused:
            assert "thread" in refused[0] and stream.offset == len(data)
            return
    pytest.fail("no call met another inside the stream")


def test_second_thread_inside_a_counter_gets_a_runtime_error():
    data = (oracle.topics() * 30).encode()
    want = trainer.Counter("cl100k", None)
    want.count(data)
    for _ in range(50):
        counter = trainer.Counter("cl100k", None)
        worker = threading.Thread(target=counter.count, args=(data,))
        worker.start()
        refused = []
        while worker.is_alive() and not refused:
            assert counter.pieces <= want.pieces and counter.bytes <= len(data)
            try:
                assert counter.distinct <= want.distinct
            except RuntimeError as error:
                refused.append(str(error))
        worker.join()
        if refused:
            assert "thread" in refused[0] and counter.write() == want.write()
            return
    pytest.fail("no call met another inside the counter")


def test_threads_share_an_encoding_and_nothing_else(tiny):
    """Whole texts, batches, new matchers, streams, states and pickles, on many threads at once."""
    names = [f"<|{n}|>" for n in range(200)]
    enc = streamtok.Encoding(
        "shared",
        pat_str=tiny._pat_str,
        mergeable_ranks=tiny._mergeable_ranks,
        special_tokens={name: 10_000 + n for n, name in enumerate(names)},
    )
    texts = [f"hello world {name} 的的的 {n} " + "ab" * 300 for n, name in enumerate(names)]
    plain = [enc.encode_ordinary(text) for text in texts]
    special = [enc.encode(text, allowed_special="all") for text in texts]

    def job(n: int) -> bool:
        draw = random.Random(n)
        for _ in range(150):
            i = draw.randrange(len(texts))
            allowed = {names[i], names[draw.randrange(len(names))]}
            same = enc.encode(texts[i], allowed_special=allowed) == special[i]
            same &= enc.encode(texts[i], disallowed_special=()) == plain[i]
            stream = enc.stream_encoder(allowed_special=allowed)
            half = draw.randrange(len(texts[i]))
            ids = stream.feed(texts[i][:half]).tolist()
            stream = pickle.loads(pickle.dumps(stream)) if draw.random() < 0.2 else stream.copy()
            ids += stream.feed(texts[i][half:]).tolist() + stream.flush().tolist()
            same &= ids == special[i] and enc.decode(ids) == texts[i]
            same &= enc.encode_batch(texts[i : i + 9], allowed_special="all", num_threads=2) == special[i : i + 9]
            with pytest.raises(ValueError, match="special token"):
                enc.encode(texts[i])
            if not same:
                return False
        return True

    assert all(together(12, job))


LONG_CALLS = {
    "encode": lambda enc, text, data, ids: enc.encode(text),
    "encode_to_numpy": lambda enc, text, data, ids: enc.encode_to_numpy(text),
    "count": lambda enc, text, data, ids: enc.count(data),
    "encode_ragged": lambda enc, text, data, ids: enc.encode_ragged([text], num_threads=1),
    "encode_to_numpy on two threads": lambda enc, text, data, ids: enc.encode_to_numpy(text, num_threads=2),
    "feed": lambda enc, text, data, ids: enc.stream_encoder().feed(data),
    "decode_bytes": lambda enc, text, data, ids: [enc.decode_bytes(ids) for _ in range(6)],
    "one long piece": lambda enc, text, data, ids: enc.encode_to_numpy("ab" * 5_000_000),
}


@pytest.mark.parametrize("call", LONG_CALLS.values(), ids=LONG_CALLS)
def test_other_threads_run_during_a_long_call(enc, call):
    """If the core held the GIL, the other thread would not tick meanwhile."""
    text = oracle.topics() * 25
    data, ids = text.encode(), enc.encode_to_numpy(text)
    ticks: list[float] = []
    stop = threading.Event()

    def tick() -> None:
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.0005)

    ticker = threading.Thread(target=tick)
    ticker.start()
    try:
        for _ in range(10):
            begin = time.perf_counter()
            call(enc, text, data, ids)
            end = time.perf_counter()
            inside = sum(begin + 0.002 < at < end - 0.002 for at in list(ticks))
            if inside >= 3:  # of up to 2,000 a second, and the fastest of these calls takes some 7 ms
                return
    finally:
        stop.set()
        ticker.join()
    pytest.fail(f"{inside} ticks in {end - begin:.3f} s")


# ==== fork ====

posix = pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="this system has no fork")


def run_forking(code: str) -> None:
    """Runs the script with a watchdog: a child that waits for a lock nobody holds any more would hang for ever."""
    head = '''
import os, signal, sys, threading, time, warnings
warnings.simplefilter("ignore")  # newer Pythons warn of fork beside threads: just that is tried here
signal.alarm(60)
import streamtok
enc = streamtok.get_encoding("cl100k_base")
text = "hello world 中文 " * 2000 + "的" * 500 + "a" * 500

def in_child(check):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            os._exit(0 if check() else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0

def fork_beside(threads, work, forks, check):
    """check() in children, forked while threads do work() over and over"""
    stop = threading.Event()

    def loop():
        while not stop.is_set():
            work()

    workers = [threading.Thread(target=loop) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for _ in range(forks):
        in_child(check)
    stop.set()
    for worker in workers:
        worker.join()
'''
    script = textwrap.dedent(head) + textwrap.dedent(code)
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr[-2000:]


@posix
def test_fork_after_use():
    run_forking("""
want = enc.encode(text)
stream = enc.stream_encoder()
left = stream.feed(text[:777]).tolist()

def check():
    twin = stream.copy()
    for one in (stream, twin):
        if left + one.feed(text[777:]).tolist() + one.flush().tolist() != want:
            return False
    return enc.encode(text) == want and enc.encode_batch([text] * 8) == [want] * 8

for _ in range(5):
    in_child(check)
assert check()
""")


@posix
def test_fork_while_other_threads_encode():
    run_forking("""
want = enc.encode(text)

def work():
    assert enc.encode(text) == want
    enc.stream_encoder().feed(text)

fork_beside(4, work, 40, lambda: enc.encode(text) == want and enc.count(text) == len(want))
""")


@posix
def test_fork_after_several_threads_worked_on_one_text():
    """Threads end with the call that started them, so a forked child lacks none, and starts its own."""
    run_forking("""
import tempfile
big = text * 25
want = enc.encode_to_numpy(big)

def check():
    if not (enc.encode_to_numpy(big, num_threads=8) == want).all() or enc.count(big, num_threads=8) != len(want):
        return False
    if enc.encode_batch(["a", big, "b"], num_threads=8)[1] != want.tolist():
        return False
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/in.txt", "w", encoding="utf-8") as file:
            file.write(big)
        return enc.encode_file(folder + "/in.txt", folder + "/out.bin", num_threads=8).ids == len(want)

assert check()
for _ in range(5):
    in_child(check)
assert check()
""")


@posix
def test_fork_while_several_threads_work_on_one_text():
    run_forking("""
big = text * 25
want = enc.encode_to_numpy(big)

def work():
    assert len(enc.encode_to_numpy(big, num_threads=8)) == len(want)

fork_beside(2, work, 15, lambda: (enc.encode_to_numpy(big, num_threads=8) == want).all())
""")


def test_bytes_that_continue_no_character_take_linear_time_on_several_threads(enc):
    """A place for a cut is sought in front of each fault, and no farther."""
    data = b"\x80" * 600_000
    begun = time.process_time()
    ids = enc.encode_to_numpy(data, errors="replace", num_threads=2)
    assert time.process_time() - begun < 5  # a tenth of a second; it was a minute
    assert len(ids) == enc.count(data, errors="replace", num_threads=2) == enc.count(data, errors="replace")
