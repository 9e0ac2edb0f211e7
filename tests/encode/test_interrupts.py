"""Ctrl-C in one long call: what a signal handler raises ends the call soon, and all is as before it.

Time is counted as the process's own CPU seconds, so other programs do not matter.
"""

from __future__ import annotations

import gc
import signal
import time

import numpy as np
import oracle
import pytest
from linear import cpu_seconds

import streamtok
from streamtok.native import interrupt, trainer
from streamtok.native.text import from_utf8, mend_surrogates, to_utf8
from streamtok.train import train

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="this system has no timer that signals a process"
)

SOON = 0.1  # seconds from the handler to the exception; a busy machine may need more, so calls are tried again
SHARE = 0.3  # of the time of the whole call: after this share the signal comes


class Stop(Exception):
    """Not KeyboardInterrupt: any exception of a handler ends the call."""


class Alarm:
    """A signal after so many seconds, whose handler raises Stop: CPU seconds of the process, or, where several threads
    work, seconds of the clock, because that timer alone signals the main thread, as a terminal does. No garbage is
    collected meanwhile: Python drops what a handler raises in a callback of the collector, and hypothesis has one."""

    def __init__(self, seconds: float, threads: bool = False) -> None:
        self.seconds, self.handled = seconds, 0.0
        self.timer = signal.ITIMER_REAL if threads else signal.ITIMER_PROF
        self.signal = signal.SIGALRM if threads else signal.SIGPROF

    def _handle(self, number, frame) -> None:
        self.handled = time.process_time()
        raise Stop

    def __enter__(self) -> Alarm:
        gc.disable()
        self._before = signal.signal(self.signal, self._handle)
        signal.setitimer(self.timer, self.seconds)
        return self

    def __exit__(self, *error) -> None:
        gc.enable()
        signal.setitimer(self.timer, 0)
        signal.signal(self.signal, self._before)


def seconds_to_end(call, alarm: Alarm) -> float:
    """CPU seconds from the handler to where the call was left."""
    late = float("inf")
    try:
        with alarm:
            try:
                call()
            except Stop:
                late = time.process_time() - alarm.handled
    except Stop:  # the call had ended before the signal
        pass
    return late


def assert_ends_soon(call, threads: int = 1) -> None:
    """The call ends soon after the handler has run. Python may run the handler late, so the time of the whole call is
    checked as well: it is little more than the time until the signal."""
    gc.collect()  # Python drops what a handler raises inside a weak reference's callback: other tests leave none here
    whole = cpu_seconds(call)
    tried = []
    for _ in range(5):
        begin = time.process_time()
        late = seconds_to_end(call, Alarm(SHARE * whole / threads, threads > 1))
        spent = time.process_time() - begin
        tried.append((late, spent))
        if late <= SOON * threads and spent <= SHARE * whole + SOON * threads:
            return
        whole = min(whole, spent)  # the first call may have built what later ones find
    pytest.fail(f"of {whole:.2f} s, (after the handler, all): {tried}")


@pytest.fixture(scope="module")
def enc():
    return oracle.ours("o200k_base")


@pytest.fixture(scope="module")
def text() -> str:
    topics = oracle.topics()
    return topics * (24_000_000 // len(topics))


@pytest.fixture(scope="module")
def mixed() -> str:
    topics = oracle.topics()[:3000] + "naïve 中文字符和日本語 русский текст 🤗 "
    return topics * (24_000_000 // len(topics))


WHOLE = {
    "encode": lambda enc, text: enc.encode(text),
    "encode_to_numpy": lambda enc, text: enc.encode_to_numpy(text),
    "encode_to_numpy with special tokens": lambda enc, text: enc.encode_to_numpy(text, allowed_special="all"),
    "encode_batch": lambda enc, text: enc.encode_batch([text[:1_000_000]] * 24, num_threads=1),
    "encode_ragged of short texts": lambda enc, text: enc.encode_ragged(["a b"] * 1_000_000, num_threads=1),
    "encode_with_offsets": lambda enc, text: enc.encode_with_offsets(text),
    "count": lambda enc, text: enc.count(text),
    "count of broken bytes": lambda enc, text: enc.count(b"\xff a" * 3_000_000, errors="replace"),
    "count of surrogates": lambda enc, text: enc.count("\ud800 ab" * 2_000_000),
    "an endless word": lambda enc, text: enc.encode_to_numpy("a" * 100_000_000),
    "an endless ruler": lambda enc, text: enc.encode_to_numpy("ab" * 50_000_000),
    "without_pattern": lambda enc, text: without_pattern(enc).encode_to_numpy(text),
    "truncate": lambda enc, text: enc.truncate(text[:20_000_000], 4_000_000),
}


def without_pattern(enc):
    with pytest.warns(UserWarning):
        return enc.without_pattern()


@pytest.mark.parametrize("call", WHOLE.values(), ids=WHOLE)
def test_a_call_ends_soon_after_a_signal(enc, text, call):
    assert_ends_soon(lambda: call(enc, text))
    assert enc.decode(enc.encode(text[:5000])) == text[:5000]


@pytest.mark.parametrize("call", ["encode", "encode_to_numpy", "count", "encode_with_offsets"])
def test_text_beyond_ascii_ends_soon(enc, mixed, call):
    assert_ends_soon(lambda: getattr(enc, call)(mixed))


def test_decoding_ends_soon(enc, text):
    ids = enc.encode_to_numpy(text)
    as_list = ids.tolist()
    for given in (ids, as_list, ids.astype(np.int64)):
        assert_ends_soon(lambda given=given: enc.decode(given))
    decoder = enc.stream_decoder()
    head = decoder.feed(enc.encode("🤗")[:1])
    assert_ends_soon(lambda: decoder.copy().feed(ids))
    with Alarm(0.005), pytest.raises(Stop):
        decoder.feed(ids)
    assert head + decoder.feed(enc.encode("🤗")[1:]) + decoder.flush() == "🤗"


@pytest.mark.parametrize(
    ("engine", "piece", "size"),
    [
        ("fast", "text", 70_000_000),
        ("fast", "a", 30_000_000),
        ("fast", " ", 30_000_000),
        ("fast", "\n ", 100_000_000),  # none of it is decided before it ends
        ("reference", "text", 1_000_000),
        ("reference", "a", 150_000),
    ],
)
def test_a_stream_is_as_before_the_feed(tiny, enc, text, engine, piece, size):
    """At whatever point the feed was interrupted."""
    if engine == "reference":
        enc = streamtok.Encoding(
            "r", pat_str=enc._pat_str, mergeable_ranks=tiny._mergeable_ranks, special_tokens={}, engine=engine
        )
    data = ((text * 3)[:size] if piece == "text" else piece[0] + piece[-1] * size).encode()
    data += b" ." if engine == "reference" else b""  # it encodes a piece only when the piece has ended
    head = ("hello" + piece[-1] * 300).encode()
    stream = enc.stream_encoder()
    stream.feed(head)
    state, whole = stream.getstate(), cpu_seconds(lambda: stream.copy().feed(data))
    ended = 0
    for share in (0.0, 0.2, 0.5, 0.8, 0.9, 0.97):
        twin = stream.copy()
        try:
            with Alarm(0.001 + share * whole):
                twin.feed(data)
        except Stop:
            if twin.offset == len(head):  # else the feed had ended before the handler ran
                assert twin.getstate() == state
                ended += 1
                if share == 0.5:
                    ids = np.concatenate([twin.feed(data[:50_000]), twin.flush()])
                    want = stream.copy()
                    assert np.array_equal(ids, np.concatenate([want.feed(data[:50_000]), want.flush()]))
    assert ended >= 1


def test_a_feed_ends_soon(enc, text):
    data = text.encode()
    assert_ends_soon(lambda: enc.stream_encoder().feed(data))
    assert_ends_soon(lambda: enc.stream_encoder(errors="replace").feed(data + b"\xff"))


def test_threads_leave_their_shares(enc, text):
    """Helping threads too: none of them goes on after the call has ended. The last text has a share without a place to
    cut, which a helper may take and the calling thread waits for."""
    whole = cpu_seconds(lambda: enc.encode_to_numpy(text, num_threads=2))
    for call in (
        lambda: enc.encode_to_numpy(text, num_threads=2),
        lambda: enc.count("a" * 100_000_000, num_threads=2),
        lambda: enc.encode_batch([text[:1_000_000]] * 24, num_threads=2),
        lambda: enc.count("a b " * 20_000 + "a" * 100_000_000, num_threads=2),
    ):
        with Alarm(SHARE * whole / 2, threads=True), pytest.raises(Stop):
            call()
        begin = time.process_time()
        time.sleep(0.1)
        assert time.process_time() - begin < 0.05
    assert np.array_equal(enc.encode_to_numpy(text, num_threads=2), enc.encode_to_numpy(text))


def test_a_pool_of_threads_is_told_to_stop(enc, text):
    ids = np.tile(enc.encode_to_numpy(text), 4)
    assert_ends_soon(lambda: enc.decode_batch([ids, ids], num_threads=2), threads=2)


def test_building_a_vocabulary_ends_soon(enc):
    ranks = dict(enc._mergeable_ranks)
    assert_ends_soon(
        lambda: [streamtok.Encoding("b", pat_str=enc._pat_str, mergeable_ranks=ranks, special_tokens={}) for _ in "abc"]
    )


def test_training_on_one_long_text_ends_soon(text, mixed):
    for given in (text * 8, mixed * 3):
        assert_ends_soon(lambda given=given: train(iter([given]), vocab_size=300, threads=1))


def test_counting_one_long_text_ends_soon(text):
    data = text * 8
    assert_ends_soon(lambda: trainer.Counter("cl100k", None).count(data))


def test_a_handler_that_raises_nothing_does_not_end_a_call(enc, text):
    seen = []
    before = signal.signal(signal.SIGPROF, lambda number, frame: seen.append(enc.encode("hello world")))
    try:
        signal.setitimer(signal.ITIMER_PROF, 0.02, 0.02)
        ids = enc.encode_to_numpy(text * 6)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    assert np.array_equal(ids, enc.encode_to_numpy(text * 6))
    assert len(seen) > 1 and all(one == enc.encode("hello world") for one in seen)


def test_a_handler_cannot_enter_the_stream_that_it_interrupts(enc, text):
    stream = enc.stream_encoder()
    before = signal.signal(signal.SIGPROF, lambda number, frame: stream.feed("x"))
    try:
        signal.setitimer(signal.ITIMER_PROF, 0.03)
        with pytest.raises(RuntimeError, match="thread"):
            stream.feed(text * 6)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    assert stream.offset == 0 and np.array_equal(
        np.concatenate([stream.feed("a b"), stream.flush()]), enc.encode("a b")
    )


def test_lists_are_freed_aside():
    lists = [[1, 2, 3], [[4] * 300_000, [[]], []], []]
    interrupt.free_in_parts(lists)
    assert lists == []


@pytest.mark.parametrize("errors", ["strict", "replace", "ignore", "backslashreplace"])
def test_long_decoding_is_python_s(errors):
    data = ("a中🤗é" * 500_000).encode()
    for broken in (data, data[1:] + b"\xff" + data, data + data[:3], data[:-1]):
        try:
            want = broken.decode("utf-8", errors)
        except UnicodeDecodeError as error:
            with pytest.raises(UnicodeDecodeError) as seen:
                from_utf8(broken, errors)
            assert (seen.value.start, seen.value.end, seen.value.reason) == (error.start, error.end, error.reason)
        else:
            assert from_utf8(broken, errors) == want


def test_surrogates_at_the_border_of_two_steps():
    """A step never ends between the two halves of a character, whatever stands before them."""
    for before in range(262_140, 262_148):
        for run in ("\ud83d\ude00", "\ud83d\ud83d\ude00", "\ud83d\ud83d\ud83d\ude00", "\ude00\ud83d"):
            text = "é" * before + run + "x"
            assert to_utf8(text) == mend_surrogates(text).encode()
