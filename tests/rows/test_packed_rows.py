"""streamtok.pack against its definition in plain Python, and what it refuses."""

from __future__ import annotations

import array
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_shapes import best_fit, packed

import streamtok
from streamtok._arrays import id_dtype
from streamtok._rows import packing
from streamtok._rows.shape import HOW, shape_of
from streamtok.native.rows import Plan, Ragged

DTYPES = {"uint16": 2**16, "int16": 2**15, "int32": 2**31, "uint32": 2**32, "int64": 2**32, "uint64": 2**32}


@st.composite
def batches(draw):
    dtype = draw(st.sampled_from(list(DTYPES)))
    length = draw(st.sampled_from([1, 2, 3, 7, 63, 64, 65, 200, 4100]))
    sizes = draw(st.lists(st.integers(0, draw(st.sampled_from([1, 3, length, 3 * length]))), max_size=40))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    top = DTYPES[dtype] - 1
    documents = [rng.integers(0, top, size, dtype=np.uint32, endpoint=True).tolist() for size in sizes]
    return documents, length, draw(st.sampled_from([None, 0, top])), draw(st.sampled_from([0, 5, top])), dtype


def check(made: tuple[np.ndarray, ...], want: tuple, dtype: str, length: int) -> None:
    ids, places, positions, sources = made
    assert ids.dtype == positions.dtype == dtype and places.dtype == np.int32 and sources.dtype == np.int64
    assert ids.shape == positions.shape == (len(want[0]), length) and ids.flags.writeable and ids.flags.c_contiguous
    np.testing.assert_array_equal(ids, want[0])
    assert places.tolist() == want[1]
    np.testing.assert_array_equal(positions, want[2])
    assert len(sources) == len(places) - 1


@settings(max_examples=150, deadline=None)
@given(batches())
def test_both_ways_are_their_definition(batch):
    documents, length, eot, pad, dtype = batch
    options = {"eot": eot, "pad_id": pad, "dtype": dtype, "sources": True}
    joined = streamtok.pack(documents, length, **options)
    check(joined, packed(documents, length, eot, pad), dtype, length)
    fitted = streamtok.pack(documents, length, how="best-fit", **options)
    want = best_fit(documents, length, eot, pad)
    check(fitted, want, dtype, length)
    assert fitted[3].tolist() == want[3]
    for ids, places, _, sources in (joined, fitted):  # nothing is lost: each document is its sequences, joined
        again: dict[int, list[int]] = {}
        for number, begin, end in zip(sources.tolist(), places[:-1].tolist(), places[1:].tolist()):
            again.setdefault(number, []).append((begin, end))
        ends = [] if eot is None else [eot]
        if ids is joined[0]:
            parts = {n: [t for a, b in spans for t in ids.ravel()[a:b].tolist()] for n, spans in again.items()}
            assert parts == {n: doc + ends for n, doc in enumerate(documents) if doc + ends}
        else:
            sizes = {n: sum(b - a for a, b in spans) for n, spans in again.items() if n >= 0}
            assert sizes == {n: len(doc + ends) for n, doc in enumerate(documents) if doc + ends}


def test_many_documents_are_written_in_several_calls(monkeypatch):
    rng = np.random.default_rng(1)
    documents = [rng.integers(0, 1000, size).tolist() for size in rng.integers(0, 90, 700)]
    wants = packed(documents, 64, 7, 9), best_fit(documents, 64, 7, 9)
    for most in (1, 100, 5000):
        monkeypatch.setattr(packing, "_AT_ONCE", most)
        for how, want in zip(HOW, wants):
            ids, places, positions = streamtok.pack(documents, 64, how=how, eot=7, pad_id=9)
            np.testing.assert_array_equal(ids, want[0])
            np.testing.assert_array_equal(positions, want[2])
            assert places.tolist() == want[1]


def test_every_form_of_documents_gives_the_same_rows():
    enc = streamtok.get_encoding("o200k_base")
    texts = ["one text", "", "another, longer text", "x"]
    lists = enc.encode_batch(texts)
    want = streamtok.pack(lists, 4, eot=1)
    ids, indptr = enc.encode_ragged(texts)
    forms = [
        (ids, indptr),
        (ids.astype(np.int64), indptr.astype(np.int32)),
        (ids.tolist(), indptr.tolist()),
        [np.array(row, np.uint16 if max(row, default=0) < 2**16 else np.int64) for row in lists],
        [array.array("I", row) for row in lists],
        [tuple(row) for row in lists],
        (row for row in lists),
    ]
    for form in forms:
        for made, expected in zip(streamtok.pack(form, 4, eot=1), want):
            np.testing.assert_array_equal(made, expected)
    square = np.arange(12, dtype=np.int32).reshape(3, 4)
    np.testing.assert_array_equal(streamtok.pack(square[:, ::-1], 5, eot=99)[0][0], [3, 2, 1, 0, 99])
    assert streamtok.pack([], 5)[0].shape == (0, 5) and streamtok.pack([], 5)[1].tolist() == [0]


def test_arrow_arrays_of_lists():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    rows = [[1, 2, 3], [], [4], [5, 6]]
    whole = pa.array(rows, pa.list_(pa.uint32()))
    for form in (
        whole,
        pa.array(rows, pa.large_list(pa.int64())),
        pa.chunked_array([whole[:1], whole[1:]]),
        whole[0:4],
    ):
        assert streamtok.pack(form, 3, eot=9)[0].tolist() == streamtok.pack(rows, 3, eot=9)[0].tolist()
    for nothing in (whole[:0], pa.chunked_array([], whole.type)):
        assert [each.tolist() for each in streamtok.pack(nothing, 3)] == [[], [0], []]
    assert streamtok.pack(whole[2:], 3, eot=9)[0].tolist() == [[4, 9, 5], [6, 9, 0]]
    for holed in (pa.array([[1], None]), pa.array([[1, None]])):
        with pytest.raises(ValueError, match="are null: leave them out"):
            streamtok.pack(holed, 3)


def test_tensors_share_the_memory():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    ids, places, _ = streamtok.pack([torch.tensor([1, 2, 3]), torch.tensor([4])], 3, eot=9)
    assert ids.tolist() == [[1, 2, 3], [9, 4, 9]]
    for tensor in (torch.from_numpy(ids), torch.from_dlpack(ids)):
        assert tensor.data_ptr() == ids.ctypes.data and tensor.dtype == torch.int64
    assert torch.from_dlpack(places).dtype == torch.int32


def test_native_functions_check_what_would_leave_memory():
    ids, starts = np.arange(4, dtype=np.uint32), np.array([0, 1, 4])
    for wrong in ([0, 5, 4], [1, 1, 4], [0, 1, 3], [-1, 0, 4], []):
        with pytest.raises(ValueError):
            Ragged(ids, np.array(wrong, np.int64))
    plan = Plan(Ragged(ids, starts), False, 2, True)
    row = np.zeros(4, np.int64)
    for room, first, last in [(row[:3], 0, 2), (row, 0, 9), (row, 2, 1)]:
        with pytest.raises(IndexError):
            plan.write(0, 0, 8, room, row[: len(room)].copy(), first, last)
    with pytest.raises(ValueError):
        plan.write(0, 0, 4, row, row.copy(), 0, 2)


def test_documents_and_dtypes_that_do_not_fit_are_named():
    for document in (np.zeros((1, 2), np.uint32), np.array(7, np.uint32), np.array([0.5]), np.array([-1])):
        with pytest.raises((ValueError, TypeError, OverflowError), match="document 1: "):
            streamtok.pack([[1], document], 3)
    most = np.array([2**15 - 1], np.uint32)
    assert streamtok.pack([most], 1, dtype="int16")[0].tolist() == [[2**15 - 1]]
    with pytest.raises(ValueError, match="document 1 has the id 32768: write a wider dtype"):
        streamtok.pack([most, most + 1], 3, dtype="int16")
    assert streamtok.pack([[1, 2]], 4, eot=-1, pad_id=-100, dtype="int64")[0].tolist() == [[1, 2, -1, -100]]


def test_an_id_may_be_the_largest_of_its_dtype():
    assert shape_of(1, "int16", 0, 2**15 - 1).dtype == np.int16
    encoding = types.SimpleNamespace(name="any", max_token_value=2**16 - 1)
    assert id_dtype(encoding, "uint16") == np.uint16
    encoding.max_token_value += 1
    with pytest.raises(ValueError, match="holds ids up to 65535"):
        id_dtype(encoding, "uint16")
