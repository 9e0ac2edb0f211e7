"""Ids in arrays of other dtypes, in arrays that can be written to, and in the caller's own."""

from __future__ import annotations

import array
import random

import nasty
import numpy as np
import oracle
import pytest

DTYPES = ("uint16", "uint32", "int32", "int64")


@pytest.fixture(scope="module")
def r50k():
    """Its ids fit in 16 bits."""
    return oracle.ours("r50k_base")


def texts():
    rng = random.Random(1)
    return [
        "",
        "a",
        *nasty.random_strings(rng, 60, 40),
        oracle.topics()[:40_000],
        "中文 naïve " * 3000,
        b"bytes \xc3\xa9",
    ]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("num_threads", [1, 3])
def test_dtype_gives_the_same_ids_in_an_array_of_ones_own(r50k, dtype, num_threads):
    for text in texts():
        want = r50k.encode_to_numpy(text, disallowed_special=())
        ids = r50k.encode_to_numpy(text, disallowed_special=(), dtype=dtype, num_threads=num_threads)
        assert ids.dtype == dtype and ids.tolist() == want.tolist() and ids.flags.writeable and not want.flags.writeable
        ids[:] = 7  # which changes no other array
        assert r50k.encode_to_numpy(text, disallowed_special=()).tolist() == want.tolist()
    for same in (np.dtype(dtype), getattr(np, dtype)):
        assert r50k.encode_to_numpy("a b", dtype=same).dtype == dtype


@pytest.mark.parametrize("dtype", DTYPES)
def test_ragged_takes_the_same(r50k, dtype):
    several = [*map(str, range(50)), "", oracle.topics()[:9000], b"x y"]
    want, borders = r50k.encode_ragged(several)
    for num_threads in (1, 8):
        ids, indptr = r50k.encode_ragged(several, dtype=dtype, num_threads=num_threads)
        assert ids.dtype == dtype and ids.tolist() == want.tolist() and ids.flags.writeable
        assert indptr.tolist() == borders.tolist() and indptr.dtype == "int64"
        out = np.full(len(want) + 5, 9, dtype)
        ids, indptr = r50k.encode_ragged(several, out=out, num_threads=num_threads)
        assert ids.base is out and ids.tolist() == want.tolist() and out[len(want) :].tolist() == [9] * 5
    with pytest.raises(UnicodeDecodeError, match="text 1"):
        r50k.encode_ragged(["a", b"\xff"], dtype=dtype)


def test_without_dtype_arrays_are_tiktokens(pair):
    _, ours, theirs = pair
    for text in ("", "a b c", oracle.topics()[:20_000]):
        mine, other = ours.encode_to_numpy(text), theirs.encode_to_numpy(text)
        assert (mine.dtype, mine.flags.writeable, mine.tolist()) == (other.dtype, other.flags.writeable, other.tolist())


@pytest.mark.parametrize("dtype", DTYPES)
def test_out_is_filled_from_its_beginning(r50k, dtype):
    for text in texts():
        want = r50k.encode_to_numpy(text, disallowed_special=()).tolist()
        out = np.full(len(want) + 3, 9, dtype)
        for room in (out, out[: len(want)], np.full(2 * len(want), 9, dtype)[::2], memoryview(out)):
            ids = r50k.encode_to_numpy(text, disallowed_special=(), out=room)
            assert ids.tolist() == want == np.asarray(room)[: len(want)].tolist() and ids.dtype == dtype
            assert np.shares_memory(ids, np.asarray(room)) or not want
        assert out[len(want) :].tolist() == [9, 9, 9]
        assert r50k.encode_to_numpy(text, disallowed_special=(), out=out, dtype=dtype).tolist() == want


def test_out_may_be_an_array_of_the_standard_library(r50k):
    out = array.array("q", [9] * 10)
    ids = r50k.encode_to_numpy("a b c", out=out)
    assert out[: len(ids)].tolist() == ids.tolist() == r50k.encode("a b c") and out[len(ids)] == 9


def test_out_stays_as_it_was_where_the_call_raises(r50k):
    for text, room in (("a b c", 2), (b"a b \xff", 10), ("a <|endoftext|>", 10)):
        out = np.full(room, 9, np.int64)
        with pytest.raises(ValueError):
            r50k.encode_to_numpy(text, out=out)
        assert out.tolist() == [9] * room


def test_patterns_of_ones_own_give_such_arrays(make_tiny):
    enc = make_tiny(pat_str=r"\w+|\W+")
    for dtype in DTYPES:
        ids = enc.encode_to_numpy("ab ab", dtype=dtype)
        assert ids.dtype == dtype and ids.flags.writeable and ids.tolist() == enc.encode("ab ab")


def test_large_arrays_are_not_copied(r50k):
    """uint32 and int32: the memory is the one that the core has written to."""
    for dtype in ("uint32", "int32"):
        ids = r50k.encode_to_numpy("word " * 5000, dtype=dtype)
        base = ids
        while isinstance(base, np.ndarray) and base.base is not None:
            base = base.base
        assert type(base).__name__ == "Lease"


def test_tensors(r50k):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    out = torch.zeros(10, dtype=torch.int64)
    ids = r50k.encode_to_numpy("a b c", out=out)
    assert out[: len(ids)].tolist() == ids.tolist() == r50k.encode("a b c")
    assert torch.from_numpy(r50k.encode_to_numpy("a b c", dtype="int64")).tolist() == ids.tolist()  # warns of nothing
