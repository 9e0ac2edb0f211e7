"""Calls that take an array or a buffer, each while another thread writes to it. Run as a program, which a crash ends.

A row of calls() is (good, bad, call): right values, wrong values, and a function of an array that has any
mixture of both. It may raise a documented error. After each row a text must still have its ids: what a call keeps for
later ones must not come from two different readings.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

import streamtok
from streamtok.native import buffers, decoders, job, lists, prepared, rows, texts, trainer
from streamtok.native.normal import Normalizer
from streamtok.train import train

SECONDS = 0.03  # of each row
DOCUMENTED = (ValueError, KeyError, IndexError, OverflowError)

TEXT = ("hello world, don't <|endoftext|> élan 中文 12345\r\n   " * 40 + "a" * 300 + "的" * 99).encode()
BYTES = b"abcdefgh <|endoftext|>\xc3\xa9\xe4\xb8\xad"

enc = streamtok.get_encoding("r50k_base")
normal = streamtok.Encoding(
    "normal",
    pat_str=enc._pat_str,
    mergeable_ranks=enc._mergeable_ranks,
    special_tokens=enc._special_tokens,
    normalizer=[("NFKD",), ("Lowercase",), ("Replace", "ll", "llll")],
)
custom = streamtok.Encoding(
    "custom", pat_str=r"\w+(?=\s)|\W|\w", mergeable_ranks=enc._mergeable_ranks, special_tokens=enc._special_tokens
)
longest = streamtok.Encoding.longest_match(
    "longest",
    {bytes([i]): i for i in range(256)} | {b"hello": 300, " 中".encode(): 301},
    special_tokens={"<|endoftext|>": 302},
)

WANT = enc.encode_ordinary(TEXT.decode())
GONE = 4 * 10**9  # an id, a place or a number that is nowhere


class Dlpack:
    """An object that has only the two methods of DLPack."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    def __dlpack__(self, **options: Any) -> Any:
        return self._values.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._values.__dlpack_device__()


def at_a_guard(values: np.ndarray) -> np.ndarray:
    """A copy that ends where a page ends that nobody may read, if the system can do that."""
    size = -(-values.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, size + mmap.PAGESIZE)
    copy = np.frombuffer(memory, values.dtype, len(values), size - values.nbytes)
    copy[:] = values
    if sys.platform == "linux":
        end = np.frombuffer(memory, np.uint8).ctypes.data + size
        ctypes.CDLL(None).mprotect(ctypes.c_void_p(end), mmap.PAGESIZE, 0)
    KEPT.append(memory)
    return copy


KEPT: list[Any] = []


@contextlib.contextmanager
def writing(array: np.ndarray, good: np.ndarray, bad: np.ndarray) -> Iterator[None]:
    """Another thread writes both over the array, again and again, without the GIL."""
    both = np.stack([good, bad])
    times = max(1, 2_000_000 // both.size)
    source = as_strided(both, (times, *both.shape), (0, *both.strides))
    target = as_strided(array, (times, *both.shape), (0, 0, *array.strides))
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            np.copyto(target, source)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


# ==== The calls ====

ID, COUNT = WANT[0], 64
STARTS = np.arange(COUNT + 1)
OVER = np.where(STARTS % COUNT == 0, STARTS, 10**12)  # begins and ends as it should


def values(
    good: Any, bad: Any, dtype: Any, *calls: Callable[[np.ndarray], object]
) -> list[tuple[Any, Any, Callable[[np.ndarray], object]]]:
    pair = (np.resize(np.array(each, dtype), COUNT if np.ndim(each) == 0 else len(each)) for each in (good, bad))
    good, bad = pair
    return [(good, bad, call) for call in calls]


def decoder_of(encoding: streamtok.Encoding) -> Any:
    return encoding.batch_decoder(COUNT)


ids32 = values(
    ID,
    GONE,
    np.uint32,
    enc.decode,
    enc.decode_bytes,
    lambda ids: enc.decode(ids, skip_special_tokens=True),
    lambda ids: enc.decode(Dlpack(ids)),
    lambda ids: enc.decode(memoryview(ids)),
    lambda ids: enc.decode_batch([ids] * 3),
    lambda ids: enc.decode_batch(ids.reshape(8, 8)),
    lambda ids: enc.decode_bytes_batch([ids, list(ids)]),
    enc.decode_tokens_bytes,
    enc.decode_with_offsets,
    lambda ids: enc.stream_decoder().feed(ids),
    lambda ids: enc._decoder.match(ids, "hello" * COUNT),
    lambda ids: enc._decoder.match(ids, "hello" * COUNT, True),
    enc.first_difference,
    lambda ids: enc.canonical_check().feed(ids),
    lambda ids: enc.completions(ids, "hel"),
    lambda ids: streamtok.pack([ids, ids], 32),
    lambda ids: streamtok.pack((ids, [0, 9, COUNT]), 32, dtype="uint16"),
    lambda ids: job.certain_part(longest._coder, ids, b"hello" * COUNT),
)
ids64 = values(
    ID,
    2**40,
    np.int64,
    enc.decode,
    enc.token_strs,
    lambda ids: enc.token_strs(ids.reshape(8, 8)),
    lambda ids: decoder_of(enc).feed(range(COUNT), ids),
    lambda ids: decoder_of(enc).feed(range(8), ids.reshape(8, 8)),
    lambda ids: decoders.pick(["a"] * (ID + 1), ids),
)
places = [
    *values(np.arange(COUNT), 10**9, np.int64, lambda slots: decoder_of(enc).feed(slots, [ID] * COUNT)),
    *values(1, 10**8, np.int64, lambda counts: decoder_of(enc).feed(range(COUNT), [ID] * COUNT, counts)),
    *values(
        STARTS,
        OVER,
        np.int64,
        lambda starts: streamtok.pack((np.full(COUNT, ID, np.uint32), starts), 10),
        lambda starts: streamtok.pack((np.full(COUNT, ID, np.uint32), starts), 10, how="best-fit", eot=1),
        lambda starts: plan_of(starts),
        lambda starts: padded_of(starts),
        lambda starts: lists.lists_over(enc._vocab, np.full(COUNT, ID, np.uint32), starts).all(),
        lambda starts: buffers.rows_of_bytes(bytes(COUNT), starts, "replace"),
        lambda starts: prepared.changed(bytes(COUNT), starts[:8], starts[:8], Normalizer([("NFC",)]), True, 0, 8),
    ),
    *values(
        np.tile([0, 1, 2], COUNT),
        np.tile([10**12, 0, 10**12], COUNT),
        np.int64,
        lambda spans: texts.Texts(["hello"]).cut(spans)[0],
    ),
    *values(
        np.tile([1, 4], COUNT),
        np.tile([10**12, 10**12 + 9], COUNT),
        np.int64,
        lambda spans: enc._coder.encode_spans(b"hello", spans),
        lambda spans: trainer.Counter(None, None).count_spans(b"hello", spans),
    ),
    *values(
        1,
        2**31,
        np.uint32,
        lambda sizes: counter().add(bytes(COUNT), np.arange(COUNT, dtype=np.uint64), sizes, np.ones(COUNT, np.uint64)),
    ),
]


def counter() -> trainer.Counter:
    return trainer.Counter("r50k", None)


def plan_of(starts: np.ndarray) -> None:
    plan = rows.Plan(rows.Ragged(np.zeros(COUNT, np.uint32), starts), False, 10, False)
    plan.write(0, 0, 8, *(np.zeros(10 * (plan.total // 10 + 1), np.int64) for _ in range(2)), 0, plan.count)


def padded_of(starts: np.ndarray) -> None:
    made = [np.zeros(4 * COUNT, np.int64) for _ in range(2)]
    none = np.zeros(0, np.uint32)
    rows.pad(rows.Ragged(np.zeros(COUNT, np.uint32), starts), none, none, 4, 4, False, False, 0, 8, *made, 0, COUNT)


def streamed(encoding: streamtok.Encoding, text: np.ndarray) -> None:
    stream = encoding.stream_encoder(disallowed_special=())
    for at in range(0, len(text), 999):
        stream.feed(text[at : at + 999])
    stream.flush()


def trained(text: np.ndarray) -> None:
    train([memoryview(text)], 260, threads=1)


def column(text: np.ndarray) -> Any:
    """Arrow's memory over the array: 10 rows."""
    import pyarrow

    offsets = (np.arange(11) * (len(text) // 10)).astype(np.int32)
    return pyarrow.Array.from_buffers(pyarrow.binary(), 10, [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(text)])


def moving_column(offsets: np.ndarray) -> Any:
    import pyarrow

    buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(TEXT)]
    # As from a library that does not check: encode_arrow() asks pyarrow's own arrays whether they are valid.
    return Exported(pyarrow.Array.from_buffers(pyarrow.binary(), len(offsets) - 1, buffers))


class Exported:
    def __init__(self, array: Any) -> None:
        self._array = array

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self._array.__arrow_c_array__(requested_schema)


text_calls: tuple[Callable[[np.ndarray], object], ...] = (
    *(lambda text, e=e: e.encode_to_numpy(text, disallowed_special=()) for e in (enc, normal, custom, longest)),
    *(lambda text, e=e: e.count(text, errors="replace", disallowed_special=()) for e in (enc, normal, longest)),
    *(lambda text, e=e: streamed(e, text) for e in (enc, normal, custom, longest)),
    lambda text: enc.encode_to_numpy(text),
    lambda text: enc.encode_to_numpy(memoryview(text), allowed_special="all", errors="ignore"),
    lambda text: normal.encode_to_numpy(text, allowed_special="all", errors="replace"),
    lambda text: enc.encode_to_numpy(np.frombuffer(text, np.uint8), errors="replace", num_threads=2),
    lambda text: enc.encode_ragged([text, text[5:90], "a"], disallowed_special=()),
    lambda text: enc.encode_padded([text[:90]] * 3, errors="replace", add_special_tokens=True, disallowed_special=()),
    lambda text: list(enc.pieces(text)),
    lambda text: normal.pieces(text),
    lambda text: enc.truncate(text, 50, disallowed_special=()),
    lambda text: enc.encode_segments([(text[:99], set()), (text[99:], "all")]),
    lambda text: enc.completions([ID], text[:20]),
    lambda text: enc.session().append(text[:99]),
    lambda text: prepared.prepared(text, Normalizer([("NFKC",)]), None, None),
    lambda text: job.cuts(text, 300, None, None, enc._coder),
    lambda text: job.cuts(text, 300, None, None, longest._coder, loose=True),
    lambda text: enc._coder.piece_spans(text),
    lambda text: counter().count_all([text]),
    trained,
)
long_calls: tuple[Callable[[np.ndarray], object], ...] = (
    lambda text: enc.encode_to_numpy(text, num_threads=2, disallowed_special=()),
    lambda text: longest.encode_to_numpy(text, num_threads=2, errors="replace", disallowed_special=()),
    lambda text: normal.encode_ragged([text, text], num_threads=2, errors="ignore", disallowed_special=()),
    lambda text: enc.count(text, num_threads=2, errors="replace", disallowed_special=()),
)
arrow_calls: tuple[Callable[[np.ndarray], object], ...] = (
    lambda text: enc.encode_arrow(column(text), disallowed_special=()),
    lambda text: enc.encode_arrow(column(text), errors="replace", num_threads=1, disallowed_special=()),
)


def text_rows(good: bytes, calls: tuple[Callable[[np.ndarray], object], ...]) -> list[Any]:
    right = np.frombuffer(good, np.uint8)
    cut = np.where(np.arange(len(right)) % 3, 0xF0, right).astype(np.uint8)  # characters that never end
    tail = np.full(len(right), 0x80, np.uint8)  # no character begins
    other = np.resize(np.frombuffer(BYTES, np.uint8), len(right))
    return [(right, (cut, tail, other)[i % 3], call) for i, call in enumerate(calls)]


def has_arrow() -> bool:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return False
    return True


def calls() -> dict[str, list[Any]]:
    arrow = text_rows(TEXT * 40, arrow_calls) if has_arrow() else []
    offsets = values(STARTS, 2**31 - 1 - STARTS, np.int32, lambda at: enc.encode_arrow(moving_column(at)))
    return {
        "ids": ids32 + ids64,
        "places": places + (offsets if arrow else []),
        "text": text_rows(TEXT, text_calls) + text_rows(TEXT, text_calls[::-1]),
        "long text": text_rows(TEXT * 250, long_calls) + arrow,
    }


# ==== The program ====


def main(kind: str, seconds: float) -> None:
    for number, (good, bad, call) in enumerate(calls()[kind]):
        print(f"{kind} {number}", flush=True)
        array = at_a_guard(good)
        made = 0
        with writing(array, good, bad):
            end = time.monotonic() + seconds
            while time.monotonic() < end or not made:
                with contextlib.suppress(*DOCUMENTED):
                    call(array)
                made += 1
        assert enc.encode_ordinary(TEXT.decode()) == WANT, "a cache has the ids of one text for another"
    print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else SECONDS)
