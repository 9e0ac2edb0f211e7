"""Memory runs out at each allocation of the C core in turn: MemoryError, no leak, and everything goes on as before."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import streamtok
from streamtok.native import library
from streamtok.native.ids import free_spare

TEXT = "abc abcabc é 中中 ab's\n" * 3
LONG = "a" * 200 + "中" * 100 + "é" * 90


def live() -> int:
    gc.collect()
    free_spare()
    return library.allocation_counts()[2]


@pytest.fixture(autouse=True)
def nothing_is_left(make_tiny):
    """Every test here makes its own encodings and drops them: no block may outlive it."""
    make_tiny()  # the table of its pattern is kept
    before = live()
    yield
    library.fail_allocations_after(-1)
    assert live() == before


def fail_each(act, check=lambda: None, most: int = 2000, undo=lambda: None) -> int:
    """Calls act() with 0, 1, 2, ... allocations left, until it succeeds and none was refused; check() after each
    failure. Returns how many allocations it takes. Some refusals only make it slower, so it may succeed before: then
    undo(), and it is called again."""
    for allowed in range(most):
        before = library.allocation_counts()[0]
        library.fail_allocations_after(allowed)
        try:
            result = act()
        except MemoryError:
            failed = True
        else:
            failed = False
            del result
        finally:
            library.fail_allocations_after(-1)
        if failed:
            check()
        elif library.allocation_counts()[0] - before <= allowed:
            return allowed
        else:
            undo()
    pytest.fail("it never succeeded")


def test_failing_to_build_a_vocabulary(make_tiny):
    make_tiny()
    alive = live()

    def check() -> None:
        assert live() == alive

    assert fail_each(make_tiny, check) > 5
    assert make_tiny().encode("abc") == [257]


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize(
    "method", ["encode", "encode_to_numpy", "count", "encode_ragged", "_encode_single_piece", "encode_with_offsets"]
)
def test_failing_to_encode(make_tiny, engine, method):
    """A new encoding each time, so that what is built at first need fails, too."""
    enc = make_tiny(engine=engine)
    for text in (TEXT, LONG, " " * 300, "", "x" * 5000):
        want = getattr(enc, method)([text] if method == "encode_ragged" else text)
        want = [part.tolist() for part in want] if isinstance(want, tuple) else want
        new = make_tiny(engine=engine)

        def act():
            return getattr(new, method)([text] if method == "encode_ragged" else text)  # noqa: B023

        fail_each(act)
        got = act()
        got = [part.tolist() for part in got] if isinstance(got, tuple) else got
        assert got == want if not hasattr(got, "tolist") else got.tolist() == want.tolist()


def test_failing_to_decode(make_tiny):
    enc = make_tiny()
    ids = enc.encode(LONG * 20)
    assert fail_each(lambda: enc.decode_bytes(ids)) > 0
    enc.decode_bytes(ids * 20)  # the slots of csrc/vocab/slots.h are made
    used = live()

    def check() -> None:
        assert live() == used

    assert fail_each(lambda: enc.decode_bytes(ids), check) > 0
    assert fail_each(lambda: enc.decode(np.array(ids, np.uint32)), check) > 0
    assert fail_each(lambda: enc.decode_batch([ids[:100]] * 9, skip_special_tokens=True), check) > 0
    decoder = enc.stream_decoder()
    decoder.feed([0xE4])
    fail_each(lambda: decoder.copy().feed(ids), check)
    assert decoder.pending == 1 and enc.decode(ids) == LONG * 20


def test_failing_to_decode_many_texts(make_tiny):
    """Slots with a stop string that begins in one call and ends, or does not, in a later one: a call that fails leaves
    all of them as they were, and none keeps memory."""
    enc = make_tiny()
    decoder = enc.batch_decoder(3)
    rows = [enc.encode("é" * 40 + text) for text in ("xyab", "xy中", "xyz" * 30)]

    def begin() -> None:
        for slot in range(3):
            decoder.reset(slot, stop=["xyz", "yab", "中中"])

    begin()
    states = [decoder.getstate(slot) for slot in range(3)]

    def check() -> None:
        assert [decoder.getstate(slot) for slot in range(3)] == states

    results: list = []
    ids, counts = [token for row in rows for token in row], [len(row) for row in rows]

    def undo() -> None:
        results.clear()
        begin()

    fail_each(lambda: results.append(decoder.feed([0, 1, 2], ids, counts)), check, undo=undo)
    ends = [decoder.flush(slot) for slot in range(3)]
    assert (results, ends) == ([["é" * 40 + "x", "é" * 40 + "xy", "é" * 40]], ["", "中", ""])
    assert [decoder.stop_of(slot) for slot in range(3)] == ["yab", None, "xyz"]


def test_failing_to_make_a_matcher(make_tiny):
    enc = make_tiny()
    enc.encode("a")
    used = live()

    def act():
        enc._names.kept.clear()
        return enc.encode("a <|x|>", allowed_special={"<|x|>"}, disallowed_special={"<|xy|>", "q"})

    assert fail_each(act) > 3
    assert act()[-1] == 1000
    enc._names.kept.clear()
    assert live() <= used


# The states that a stream can be in between two feeds, and the text that comes next.
STATES = {
    "nothing": ("", "abc abc"),
    "short piece": ("abc ab", "c abc ab"),
    "long piece": ("a" * 150, "a" * 300 + " b"),
    "long piece of atoms": ("é" * 90 + "中" * 70, "中" * 90 + "a"),
    "white space": (" " * 150, " " * 200 + "x\n"),
    "cut character": (b"abc \xe4\xb8", b"\xad abc"),
    "broken bytes": (b"abc \xe4\xb8", b"\xff\xfe abc \xc3"),
    "held allowed name": ("abc <|", "x|> abc"),
    "name that is no name": ("abc <|x", "z|> abc"),
    "watched name": ("abc <|endof", "sometext abc <|endo"),
    "surrogate": ("abc \ud83d", "\ude00 abc"),
    "much text": ("abc", "abc é 中 " * 3000),
    "many ids": ("", "q" * 20_000),
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_failing_feed_leaves_the_stream_as_before(make_tiny, state, engine):
    before, after = STATES[state]
    options = {"allowed_special": {"<|x|>", "<|xy|>"}, "errors": "replace"}
    enc = make_tiny(engine=engine)
    stream = enc.stream_encoder(**options)
    want = stream.feed(before).tolist(), stream.feed(after).tolist(), stream.flush().tolist()

    new = make_tiny(engine=engine)  # nothing built yet
    stream = new.stream_encoder(**options)
    empty, first = stream.getstate(), []

    def undo(made: list, state: bytes) -> None:
        made.clear()
        stream.setstate(state)

    fail_each(lambda: first.append(stream.feed(before).tolist()), undo=lambda: undo(first, empty))
    assert first == [want[0]]
    pending, offset, saved = stream.pending, stream.offset, stream.getstate()

    def check() -> None:
        assert (stream.pending, stream.offset) == (pending, offset)
        assert stream.getstate() == saved

    second: list = []
    fail_each(lambda: second.append(stream.feed(after).tolist()), check, undo=lambda: undo(second, saved))
    third: list = []
    end = stream.getstate()
    fail_each(lambda: third.append(stream.flush().tolist()), undo=lambda: undo(third, end))
    assert (first, second, third) == ([want[0]], [want[1]], [want[2]])
    assert stream.pending == 0 and stream.feed("abc ").tolist() == [257]


@pytest.mark.parametrize("state", STATES)
def test_failing_to_copy_save_and_load(make_tiny, state):
    before, after = STATES[state]
    options = {"allowed_special": {"<|x|>", "<|xy|>"}, "errors": "replace"}
    enc = make_tiny()
    stream = enc.stream_encoder(**options)
    stream.feed(before)
    saved = stream.getstate()
    target = enc.stream_encoder(**options)

    fail_each(stream.copy)
    fail_each(stream.getstate)
    fail_each(lambda: target.setstate(saved))
    assert stream.getstate() == saved == target.getstate()
    target.reset()
    assert target.feed("abc ").tolist() == [257]
    target.setstate(saved)
    twin = stream.copy()
    results = {tuple(one.feed(after).tolist() + one.flush().tolist()) for one in (stream, twin, target)}
    assert len(results) == 1


def test_held_array_while_memory_is_short(make_tiny):
    """The stream needs another buffer then, and must not write into the one that is held."""
    enc = make_tiny()
    stream = enc.stream_encoder()
    held = stream.feed("abc abc abc ")
    copy = held.tolist()
    results: list = []
    fail_each(lambda: results.append(stream.feed("bc " * 50).tolist()))
    assert held.tolist() == copy and len(results) == 1
    assert copy + results[0] + stream.flush().tolist() == enc.encode("abc abc abc " + "bc " * 50)


def test_text_refused_for_another_reason_leaks_nothing(make_tiny):
    enc = make_tiny()
    enc.encode(LONG)
    stream = enc.stream_encoder()
    stream.feed("a" * 100 + "<|endof")
    with pytest.raises(ValueError):
        stream.feed("text|>" + LONG)

    def mistakes() -> None:
        for wrong in (lambda: enc.encode(LONG + "<|endoftext|>"), lambda: stream.feed("text|>" + LONG)):
            with pytest.raises(ValueError):
                wrong()
        broken = LONG.encode() + b"\xff"
        for wrong in (lambda: stream.feed(broken), lambda: enc.encode_to_numpy(broken)):
            with pytest.raises(UnicodeDecodeError):
                wrong()
        with pytest.raises(KeyError):
            enc.decode([97, 500_000])
        with pytest.raises(streamtok.VocabularyError):
            make_tiny(special_tokens={"<|x|>": 5})

    mistakes()  # the first call may leave the stream with larger scratch
    used = live()
    for _ in range(20):
        mistakes()
    assert live() == used


def test_dropped_encodings_leave_no_memory(make_tiny):
    before = live()
    for engine in ("fast", "reference"):
        enc = make_tiny(engine=engine)
        enc.encode(LONG)
        kept = [enc.encode_to_numpy(TEXT), enc.stream_encoder().feed(LONG), enc.encode_ragged([TEXT] * 3)]
        enc.encode_batch([TEXT * 9000] * 4)
        del enc, kept
        assert live() == before


def test_memory_of_a_dropped_array_serves_the_next(make_tiny):
    """Large arrays: a new one gets the memory of one that was dropped, never of one that somebody still holds."""
    enc = make_tiny()
    texts = [TEXT * (3000 + 7 * i) for i in range(8)]
    wanted = [enc.encode(text) for text in texts]
    first = enc.encode_to_numpy(texts[0])
    where = first.ctypes.data
    view = first[5:]
    del first
    assert enc.encode_to_numpy(texts[1]).ctypes.data != where
    assert view.tolist() == wanted[0][5:]
    del view
    again = enc.encode_to_numpy(texts[1])
    assert again.ctypes.data == where and again.tolist() == wanted[1]
    held = []
    for text in texts * 3:
        held.append(enc.encode_to_numpy(text))
        held.append(enc.encode_ragged([text, "abc"])[0])
        if len(held) > 5:
            del held[::2]
        for array in held:
            assert array.tolist() in (*wanted, *([*ids, 257] for ids in wanted))
