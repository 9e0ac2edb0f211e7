"""Texts as a caller gives them, laid out as UTF-8 by the core's threads."""

from __future__ import annotations

import os
import random
import sys
import threading

import numpy as np
import pytest

from streamtok.native.buffers import Block, WritableIds
from streamtok.native.texts import HasSurrogates, Layout, Texts
from streamtok.native.workers import clear, copy, thread_count

CHARACTERS = ["ab c.\n", "ab é\xff", "ab\u07ff\u0800中\uffff", "a😀\U0010ffff中é"]


def laid_out(texts: Texts, behind: int = 3) -> list[bytes]:
    layout, sizes = Layout(texts), np.empty(len(texts), np.int64)
    batch = layout.measure()
    if batch is not None:
        batch.wait()
        assert batch.done()
    layout.sizes(sizes)
    room = np.full(int(sizes.sum()) + behind, 0xA5, np.uint8)
    batch = layout.write(room)
    if batch is not None:
        batch.wait()
    ends = np.cumsum(sizes)
    assert (room[len(room) - behind :] == 0xA5).all()
    return [room[end - size : end].tobytes() for size, end in zip(sizes, ends)]


def random_text(rng: random.Random, size: int) -> object:
    text = "".join(rng.choices(rng.choice(CHARACTERS), k=min(size, 4000)))
    text = text * (size // max(1, len(text))) if size > 4000 else text
    return rng.choice(
        [str, str, str.encode, lambda text: bytearray(text.encode()), lambda text: memoryview(text.encode())]
    )(text)


def utf8(text: object) -> bytes:
    return text.encode() if isinstance(text, str) else bytes(text)


@pytest.mark.parametrize("most", [1, 300, 20_000, 1_200_000])
def test_texts_of_all_kinds_and_sizes(most):
    rng = random.Random(most)
    for count in (0, 1, 3, 40 if most > 1_000_000 else 700):
        given = [random_text(rng, rng.randint(0, most)) for _ in range(count)]
        texts, want = Texts(given), [utf8(text) for text in given]
        assert laid_out(texts) == want and [bytes(text) for text in texts] == want
        assert texts.trusted == all(isinstance(text, str) for text in given)
        units, widths = np.empty((2, count), np.int64)
        texts.facts(units, widths)
        assert (units * widths >= [len(text) for text in want]).all()
        first = rng.randint(0, count)
        assert laid_out(texts.part(first, count)) == want[first:]
        spans = []
        for i, text in enumerate(given):
            at = rng.randint(0, len(text))
            spans += [i, 0, at, i, at, len(text)]
        pieces = laid_out(texts.cut(np.array(spans, np.int64)))
        joined = [a + b for a, b in zip(pieces[::2], pieces[1::2])]
        assert joined == want


def test_surrogates_are_told_and_mended():
    filler = "x中" * 400_000
    for text in ("\ud83d\ude00 \ud800", "\ufeff\ud800中", filler + "\udc00", "\U0010ffff\ud801", filler):
        texts = Texts(["ok", text, b"\xff", "é"])
        if text is filler:
            assert laid_out(texts)[1] == filler.encode()
            continue
        with pytest.raises(HasSurrogates):
            laid_out(texts)
        with pytest.raises(HasSurrogates):
            texts[1]
        want = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
        assert laid_out(texts.mended()) == [b"ok", want, b"\xff", "é".encode()]
        assert Texts([text]).mended().trusted and not texts.mended().trusted


def test_what_is_refused():
    for wrong in (1, None, ["x"]):
        with pytest.raises(TypeError, match=f"got {type(wrong).__name__}"):
            Texts(["x", wrong])
    texts = Texts(["abc", "é"])
    for call in (
        lambda: texts[2],
        lambda: texts.part(1, 3),
        lambda: texts.part(-1, 1),
        lambda: texts.cut(np.array([0, 0, 4])),
        lambda: texts.cut(np.array([2, 0, 0])),
        lambda: texts.cut(np.array([0, 2, 1])),
    ):
        with pytest.raises(IndexError):
            call()
    layout = Layout(texts)
    layout.measure()
    layout.sizes(np.empty(2, np.int64))
    with pytest.raises(ValueError, match="buffer has 4 bytes, and the texts have 5"):
        layout.write(bytearray(4))
    with pytest.raises(BufferError):
        layout.write(b"readonly")


def test_a_list_may_change_and_texts_stay():
    given = ["é" * 1000, bytearray(b"abc")]
    texts = Texts(given)
    given.clear()
    assert laid_out(texts.part(0, 1)) == ["é".encode() * 1000]
    part = texts.part(1, 2)
    del texts
    assert laid_out(part) == [b"abc"]


@pytest.mark.parametrize("count", [3, 5000, 300_000, 5_000_000])
def test_room_for_ids_is_memory_that_was_left(count):
    buffer = WritableIds(count, 4 * count)
    assert buffer.capacity >= count
    view = np.frombuffer(memoryview(buffer), np.uint32)
    view[:count] = np.arange(count)
    with pytest.raises(BufferError, match="still in use"):
        buffer.taken(count)
    del view
    with pytest.raises(ValueError, match="are asked for"):
        buffer.taken(buffer.capacity + 1)
    ids = buffer.taken(count)
    assert ids.flags.writeable and (ids == np.arange(count)).all()
    with pytest.raises(BufferError, match="taken"):
        buffer.taken(1)
    with pytest.raises(BufferError, match="taken"):
        memoryview(buffer)
    place = ids.ctypes.data
    del ids, buffer
    if count == 5_000_000:
        again = WritableIds(count, count)
        assert np.frombuffer(memoryview(again), np.uint32).ctypes.data == place


def test_blocks_are_cleared_by_threads():
    for size in (1, 1 << 21, (5 << 20) + 7):
        array = np.frombuffer(memoryview(Block(size)), np.uint8)
        array[:] = 7
        clear(array[1:]).wait()
        assert array[0] == 7 and not array[1:].any()


def test_many_threads_give_work_at_once():
    source = np.random.default_rng(1).integers(0, 256, 3 << 20, np.uint8)
    wrong = []

    def run() -> None:
        for size in (1, 1 << 18, 3 << 20):
            targets = [np.zeros(size, np.uint8) for _ in range(9)]
            batches = [copy(target, source[:size]) for target in targets]
            for batch in batches[::2]:
                if batch is not None:
                    batch.wait()
            del batches  # what is not waited for is done all the same
            wrong.extend(size for target in targets if not (target == source[:size]).all())

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and 1 <= thread_count() <= 16


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own():
    source, target = np.ones(2 << 20, np.uint8), np.zeros(2 << 20, np.uint8)
    batch = copy(target, source)
    child = os.fork()
    if not child:
        other = copy(target, source)
        other.wait()
        del batch, other
        os._exit(0 if target.all() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    batch.wait()
    assert target.all() and sys.getrefcount(source) < 9


# ==== As kernels take them ====


def in_blocks(texts: list[bytes], rows: list[int]) -> bytes:
    """Blocks, marks and rows, as csrc/cuda/job.h describes them."""
    blocks, marks, begun = [], bytearray(), []
    for text in texts:
        begun.append(len(marks))
        for at in range(0, len(text), 64):
            blocks.append(text[at : at + 64].ljust(64, b"\xfe"))
            marks.append(len(text[at : at + 64]) | (0 if at else 0x80))
    begun.append(len(marks))
    marks += bytes(-len(marks) % 16)
    return b"".join(blocks) + marks + np.array([begun[row] for row in rows], np.uint64).tobytes()


def waited(batch) -> None:
    if batch is not None:
        batch.wait()


@pytest.mark.parametrize("most", [1, 70, 300, 20_000, 400_000])
def test_blocks_marks_and_rows(most):
    rng = random.Random(most)
    for _ in range(4):
        given = [random_text(rng, rng.randint(0, most)) for _ in range(rng.choice([1, 3, 9 if most > 50_000 else 300]))]
        rows = sorted(rng.choices(range(len(given) + 1), k=rng.randint(1, 40)))
        utf8s = [utf8(text) for text in given]
        want = in_blocks(utf8s, rows)
        layout = Layout(Texts(given), True)
        waited(layout.measure())
        assert layout.size() == sum(map(len, utf8s)) and 64 * layout.count_blocks() <= len(want)
        room = np.full(len(want) + 5, 0xA5, np.uint8)
        room[len(want) - 8 * len(rows) - 15 :] = 0
        waited(layout.write_blocks(room, np.array(rows)))
        assert room[: len(want)].tobytes() == want
        with pytest.raises(ValueError, match="give room for"):
            layout.write_blocks(room[: len(want) - 1], np.array(rows))
        with pytest.raises(IndexError):
            layout.write_blocks(np.empty(len(want) + 80, np.uint8), np.array([len(given) + 1]))
