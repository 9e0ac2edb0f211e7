"""Arrays without a copy are safe: a held array never changes, and the next call uses the memory of a dropped one."""

from __future__ import annotations

import gc
import random

import numpy as np
import oracle
import pytest

from streamtok.native import library


def test_arrays_are_read_only_uint32(enc):
    stream = enc.stream_encoder()
    for ids in (stream.feed("hello world and"), stream.feed(""), stream.flush()):
        assert ids.dtype == np.uint32 and ids.ndim == 1 and not ids.flags.writeable
        with pytest.raises(ValueError):
            ids.flags.writeable = True
    with pytest.raises(ValueError, match="read-only"):
        enc.encode_to_numpy("hello world")[0] = 7


def test_held_arrays_never_change(enc):
    rng = random.Random(1)
    text = oracle.topics()[:300_000]
    stream = enc.stream_encoder()
    held = []
    for chunk in oracle.random_cuts(rng, text, (1, 50, 1000, 9000)):
        ids = stream.feed(chunk)
        if rng.random() < 0.3:
            held.append((ids, ids.copy()))
        if rng.random() < 0.2 and held:
            held.pop(rng.randrange(len(held)))
    for ids, copy in held:
        assert np.array_equal(ids, copy)


def test_slice_of_an_array_keeps_its_memory(enc):
    stream = enc.stream_encoder()
    tail = stream.feed("one two three four ")[1:]
    copy = tail.tolist()
    view = memoryview(stream.feed("five six seven "))
    seen = view.tolist()
    for _ in range(50):
        stream.feed("eight nine ten eleven twelve ")
    assert tail.tolist() == copy and view.tolist() == seen
    del stream
    gc.collect()
    assert tail.tolist() == copy and view.tolist() == seen


def test_arrays_survive_reset_copy_and_the_stream(make_tiny):
    enc = make_tiny()
    stream = enc.stream_encoder()
    ids = stream.feed("abc abc abc ")
    want = ids.tolist()
    stream.reset()
    twin = stream.copy()
    twin.feed("bc bc bc bc ")
    stream.feed("ab ab ab ab ")
    assert ids.tolist() == want
    del stream, twin, enc
    gc.collect()
    assert ids.tolist() == want


def test_dropped_array_lends_its_memory_to_the_next_call(enc):
    stream = enc.stream_encoder()
    address = stream.feed("one two three ").ctypes.data
    assert stream.feed("four five six ").ctypes.data == address
    held = stream.feed("seven ")
    assert stream.feed("eight ").ctypes.data != held.ctypes.data


def test_copy_option_gives_arrays_that_own_their_memory(enc):
    stream = enc.stream_encoder(copy=True)
    first = stream.feed("one two three ")
    assert first.flags.owndata and not first.flags.writeable
    want = first.tolist()
    stream.feed("four five six ")
    assert first.tolist() == want == enc.encode("one two three")
    assert stream.copy().feed("x y").flags.owndata


@pytest.mark.parametrize("size", [1, 16, 100, 4096, 65_536])
@pytest.mark.parametrize("options", [{}, {"allowed_special": "all"}, {"errors": "replace"}], ids=str)
def test_steady_state_allocates_nothing(family, size, options):
    """0 allocations of the C core in feed(), once buffers have grown, with arrays dropped before the next call."""
    _, ours, _ = family
    data = (oracle.topics()[:200_000] + "中文 naïve 😀 " * 2000).encode()
    stream = ours.stream_encoder(**options)
    rounds = [data[at : at + size] for at in range(0, len(data) if size > 50 else 40_000, size)]
    for chunk in rounds:
        stream.feed(chunk)
    stream.flush()
    before = library.allocation_counts()
    for chunk in rounds:
        stream.feed(chunk)
    stream.flush()
    after = library.allocation_counts()
    assert after[0] - before[0] == 0 and after[2] == before[2]


@pytest.mark.parametrize("unit", ["a", " ", "的", "-=", "😀"])
def test_endless_piece_allocates_nothing_in_steady_state(enc, unit):
    data = (unit * 100_000).encode()
    stream = enc.stream_encoder()
    chunks = [data[at : at + 4096] for at in range(0, len(data), 4096)]
    for _ in range(4):  # how many ids a chunk gives varies by a few, so the buffer may still grow in the second round
        before = library.allocation_counts()
        for chunk in chunks:
            stream.feed(chunk)
    assert library.allocation_counts()[0] == before[0]


def test_dropped_streams_leave_no_memory(make_tiny):
    enc = make_tiny()
    enc.stream_encoder().feed("中" * 1000)
    enc.encode("ab " * 100)  # what is built with the first word that is merged
    gc.collect()
    live = library.allocation_counts()[2]
    for _ in range(50):
        stream = enc.stream_encoder()
        kept = [stream.feed("ab " * 100), stream.feed("é" * 100), stream.copy().feed("中" * 500)]
        del stream
    del kept
    gc.collect()
    assert library.allocation_counts()[2] == live
