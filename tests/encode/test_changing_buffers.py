"""An array, or text, that another thread changes while a call reads it: a well-formed result or a documented error, and
never a read or write outside of memory, an endless loop, or the ids of one text kept for another."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import oracle
import pytest
import racing

from streamtok.native.job import cuts


@pytest.mark.parametrize("kind", ["ids", "places", "text", "long text"])
def test_calls_survive_a_thread_that_writes_to_their_arguments(kind):
    """Each call of racing.py, in a process that may crash."""
    done = subprocess.run([sys.executable, racing.__file__, kind], capture_output=True, text=True, timeout=100)
    last = done.stdout.split("\n")[-2:]
    assert done.returncode == 0 and done.stdout.endswith("done\n"), (done.returncode, last, done.stderr[-2000:])


def test_a_list_that_changes_while_its_items_are_read_is_read_as_it_was(enc):
    """Python asks an item for its value, and the item may do anything."""

    class Emptying:
        def __init__(self, items: list) -> None:
            self.items = items

        def __index__(self) -> int:
            self.items.clear()
            return 1

    decoder = enc.batch_decoder(4)
    for arguments in range(3):
        lists = [[0, 0, 0], [enc.encode(" a")[0]] * 3, [1, 1, 1]]
        lists[arguments].insert(0, Emptying(lists[arguments]))
        for other in range(3):
            if other != arguments:
                lists[other].append(lists[other][0])
        assert len(decoder.feed(*lists)) == 4


@pytest.mark.parametrize(
    "kind", [bytearray, lambda data: memoryview(bytearray(data)), lambda data: np.frombuffer(data, np.uint8).copy()]
)
def test_text_that_others_may_change_has_the_same_ids(enc, kind):
    """It is copied in slices; their borders do not show."""
    for text in (oracle.topics()[:300_000], "中文é" * 40_000, "a" * 200_000, "x"):
        data = text.encode()
        want = enc.encode_ordinary(text)
        assert enc.encode_to_numpy(kind(data), disallowed_special=()).tolist() == want
        assert enc.encode_to_numpy(kind(data), disallowed_special=(), num_threads=2).tolist() == want
        assert enc.count(kind(data), disallowed_special=()) == len(want)
        ids, indptr = enc.encode_ragged([kind(data), kind(data[:6]), data], disallowed_special=())
        assert ids[: indptr[1]].tolist() == want == ids[indptr[2] :].tolist()
        stream = enc.stream_encoder(disallowed_special=())
        assert [*stream.feed(kind(data)).tolist(), *stream.flush().tolist()] == want


@pytest.mark.parametrize("size", [10, 70_000, 3_000_000])
def test_a_fault_has_its_place_in_the_whole_text(enc, size):
    data = (b"hello world " * (size // 12 + 1))[:size] + b"\xff" + "é".encode() * 50_000
    for text in (data, bytearray(data)):
        for call in (enc.encode_to_numpy, enc.count):
            with pytest.raises(UnicodeDecodeError, match="invalid start byte") as caught:
                call(text)
            assert (caught.value.start, caught.value.end, caught.value.object) == (size, size + 1, data)


def test_a_text_is_cut_at_the_same_places_whether_it_may_change_or_not(enc):
    data = (oracle.topics()[:200_000] + "中文é" * 20_000).encode()
    data = data[:90_000] + b"\xff\xfe" + data[90_000:]
    for size in (1000, 5000, 60_000):
        allowed = enc._matchers_for("all", ())[0]
        places = cuts(data, size, allowed, None, enc._coder)
        assert places and cuts(bytearray(data), size, allowed, None, enc._coder) == places
