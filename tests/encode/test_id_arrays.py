"""Ids to decode come as lists, and as arrays of any package: numpy's, tensors, buffers."""

from __future__ import annotations

import array
import collections
import random
import subprocess
import sys
import textwrap
import types

import numpy as np
import oracle
import pytest

import streamtok

TEXT = "ids of any kind: naïve 🤗 text\n" * 3
DTYPES = ("uint16", "int16", "int32", "uint32", ">u4", "int64", "uint64")


class OnlyArray:
    """An object that has only __array__, as a Series or an EagerTensor."""

    def __init__(self, values, dtype="int64"):
        self._values = np.array(values, dtype)

    def __array__(self, dtype=None, copy=None):
        return self._values if dtype is None else self._values.astype(dtype)


class OnlyDlpack:
    """An object that has only the two methods of DLPack."""

    def __init__(self, values, dtype="int64"):
        self._values = np.array(values, dtype)

    def __dlpack__(self, **options):
        return self._values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._values.__dlpack_device__()


class OnCuda(OnlyDlpack):
    """A CUDA array, as torch's: it names its device, and refuses an implicit copy to the host."""

    def __array__(self, dtype=None, copy=None):
        raise TypeError("can't convert cuda:0 device type tensor to numpy")

    def __dlpack__(self, **options):
        raise BufferError("not on the CPU")

    def __dlpack_device__(self):
        return (2, 0)


def matrix(values):
    return np.stack([np.array(values), np.array(values)])


def strided(values):
    return np.array([values, values]).T[:, 0]


FORMS = {
    "list": list,
    "tuple": tuple,
    "iterator": iter,
    "deque": collections.deque,
    "array.array I": lambda ids: array.array("I", ids),
    "array.array q": lambda ids: array.array("q", ids),
    "memoryview": lambda ids: memoryview(array.array("L", ids)),
    "memoryview, strided": lambda ids: memoryview(array.array("I", ids[::-1]))[::-1],
    "numpy scalars": lambda ids: list(np.array(ids)),
    "__array__": OnlyArray,
    "__dlpack__": OnlyDlpack,
    "column": strided,
    "read-only": lambda ids: np.frombuffer(np.array(ids, np.uint32).tobytes(), np.uint32),
} | {f"numpy {dtype}": lambda ids, dtype=dtype: np.array(ids).astype(dtype) for dtype in DTYPES}


@pytest.fixture(scope="module")
def r50k():
    return oracle.ours("r50k_base")


@pytest.fixture(params=FORMS.values(), ids=FORMS)
def form(request, r50k):
    """A form of ids, in a vocabulary whose ids fit in 16 bits; int16 holds those below 32,768 alone."""
    return request.param


def ids_of(enc):
    return [token for token in enc.encode(TEXT) if token < 1 << 15]


def test_every_decoding_takes_every_form(r50k, form):
    ids = ids_of(r50k)
    data = r50k.decode_bytes(ids)
    assert r50k.decode_bytes(form(ids)) == data == b"".join(r50k.decode_tokens_bytes(form(ids)))
    assert r50k.decode(form(ids)) == data.decode(errors="replace")
    assert r50k.decode_batch([form(ids), form(ids[:3]), form([])]) == [r50k.decode(each) for each in (ids, ids[:3], [])]
    assert r50k.decode_bytes_batch([form(ids)] * 1) == [data]
    whole = r50k.encode("whole text")
    assert r50k.decode_with_offsets(form(whole)) == r50k.decode_with_offsets(whole)


def test_stream_decoder_takes_every_form(r50k, form):
    ids = ids_of(r50k)
    for cuts in (1, 4, len(ids)):
        stream = r50k.stream_decoder()
        text = "".join(stream.feed(form(ids[at : at + cuts])) for at in range(0, len(ids), cuts)) + stream.flush()
        assert text == r50k.decode(ids)


def test_rows_of_a_matrix_are_a_batch(r50k):
    ids = r50k.encode("one row of ids")
    want = [r50k.decode(ids)] * 2
    for rows in (matrix(ids), OnlyArray([ids, ids]), OnlyDlpack([ids, ids]), memoryview(matrix(ids)), (ids, ids)):
        assert r50k.decode_batch(rows) == want
        assert r50k.decode_bytes_batch(rows) == [text.encode() for text in want]
    assert r50k.decode_batch(np.zeros((0, 5), int)) == [] == r50k.decode_batch(iter([]))
    for wrong in (np.array(ids), np.zeros((1, 2, 3), int), OnlyArray(5)):
        with pytest.raises(ValueError, match="a batch is an array of two dimensions"):
            r50k.decode_batch(wrong)


def test_stream_decoder_takes_one_id(enc):
    rng = random.Random(1)
    ids = enc.encode("one at a time: 中文 🤗🤗 naïve")
    forms = (
        int,
        np.int64,
        np.uint32,
        np.uint16 if max(ids) < 1 << 16 else np.int32,
        np.array,
        lambda i: [i],
        OnlyArray0,
    )
    for _ in range(20):
        stream = enc.stream_decoder()
        assert "".join(stream.feed(rng.choice(forms)(token)) for token in ids) + stream.flush() == enc.decode(ids)


class OnlyArray0:
    """A tensor without dimensions."""

    ndim = 0

    def __init__(self, value):
        self._value = value

    def __index__(self):
        return self._value


WRONG = {
    "floats": (TypeError, "ids are integers, got an array of float64", lambda: np.array([1.0])),
    "floats of a tensor": (TypeError, "ids are integers, got an array of float32", lambda: OnlyArray([1], "float32")),
    "floats by DLPack": (TypeError, "ids are integers, got an array of float16", lambda: OnlyDlpack([1], "float16")),
    "floats in a buffer": (TypeError, "got an array of float64", lambda: memoryview(array.array("d", [1]))),
    "floats in an array": (TypeError, "float", lambda: array.array("d", [1])),
    "floats in a list": (TypeError, "float", lambda: [1.0]),
    "bools": (TypeError, "ids are integers, got an array of bool", lambda: np.array([True])),
    "bools of a tensor": (TypeError, "ids are integers, got an array of bool", lambda: OnlyArray([True], "bool")),
    "masked": (TypeError, r"masked array: write ids\.compressed\(\)", lambda: np.ma.array([1, 2], mask=[0, 1])),
    "objects": (TypeError, "ids are integers, got an array of object", lambda: np.array([1], object)),
    "texts": (TypeError, "ids are integers, got an array of <U1", lambda: np.array(["1"])),
    "a text": (TypeError, "cannot use a str to initialize an array", lambda: "12"),
    "None": (TypeError, "NoneType", lambda: None),
    "negative": (OverflowError, "negative or does not fit in 32 bits", lambda: np.array([-1])),
    "too large": (OverflowError, "negative or does not fit in 32 bits", lambda: OnlyArray([2**32])),
    "too large, unsigned": (OverflowError, "negative or does not fit", lambda: np.array([2**63], np.uint64)),
    "negative in a buffer": (OverflowError, "negative or does not fit", lambda: memoryview(array.array("q", [-1]))),
    "negative in a list": (OverflowError, "negative", lambda: [-1]),
    "rows": (ValueError, r"one row, got an array of shape \(1, 2\); write decode_batch", lambda: np.array([[1, 2]])),
    "rows of a tensor": (ValueError, r"one row, got an array of shape \(1, 2\)", lambda: OnlyArray([[1, 2]])),
    "rows by DLPack": (ValueError, r"one row, got an array of shape \(1, 2\)", lambda: OnlyDlpack([[1, 2]])),
    "rows of a buffer": (ValueError, r"an array of shape \(1, 4\)", lambda: memoryview(np.zeros((1, 4), "u1"))),
    "unknown": (KeyError, "Invalid token for decoding: 4000000", lambda: np.array([4_000_000])),
}  # fmt: skip


@pytest.mark.parametrize("kind, message, make", WRONG.values(), ids=WRONG)
def test_wrong_ids_are_refused_in_every_way(enc, kind, message, make):
    stream = enc.stream_decoder()
    stream.feed(enc.encode("🤗")[:1])
    before = stream.pending
    calls = (enc.decode, enc.decode_bytes, lambda ids: enc.decode_batch([ids]), stream.feed)
    for call in calls:
        with pytest.raises(kind, match=message):
            call(make())
    with pytest.raises(kind):
        enc.decode_tokens_bytes(make())
    assert stream.pending == before > 0


def test_masked_arrays_are_refused_wherever_ids_or_their_places_are_taken(enc):
    """As plain arrays they would have the values that are masked."""
    row, square = np.ma.array([1, 2], mask=[0, 1]), np.ma.array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    decoder = enc.batch_decoder(8)
    calls = {
        "ids are": [
            *(
                lambda call=call: call(row)
                for call in (enc.decode_tokens_bytes, enc.decode_with_offsets, enc.token_strs)
            ),
            *(lambda call=call: call(row) for call in (enc.first_difference, enc.canonical_check().feed)),
            *(lambda call=call: call(square) for call in (enc.decode_batch, enc.decode_bytes_batch, enc.token_strs)),
            lambda: enc.token_strs([row, row]),
            lambda: enc.completions(row, "a"),
            lambda: decoder.feed([0, 1], row),
            lambda: decoder.feed([0, 1], square),
            lambda: streamtok.pack([[1], row], 4),
            lambda: streamtok.pack(square, 4),
            lambda: streamtok.pack((row, [0, 2]), 4),
        ],
        "slots are": [lambda: decoder.feed(row, [1, 2])],
        "counts are": [lambda: decoder.feed([0, 1], [1, 2, 3], row)],
        "indptr are": [lambda: streamtok.pack(([1, 2], np.ma.array([0, 2], mask=[0, 1])), 4)],
        "out is": [lambda: enc.encode_to_numpy("a", out=row)],
        "an id is an int, got": [lambda: enc.stream_decoder().feed(np.ma.array(5, mask=True))],
    }
    for message, refused in calls.items():
        for call in refused:
            with pytest.raises(TypeError, match=f"{message} .*masked array"):
                call()


def test_wrong_single_id_leaves_the_decoder_as_it_was(enc):
    stream = enc.stream_decoder()
    stream.feed(enc.encode("🤗")[0])
    before = stream.pending
    for wrong, kind in ((100_256, KeyError), (2**31, KeyError), (-1, OverflowError), (2**32, OverflowError)):
        with pytest.raises(kind):
            stream.feed(wrong)
        with pytest.raises(kind):
            stream.feed([wrong])
    with pytest.raises(KeyError, match="Invalid token for decoding: 100256"):
        stream.feed(np.int64(100_256))
    assert stream.pending == before > 0


def test_single_numbers_are_no_row(enc):
    for number in (5, np.int64(5), np.array(5), OnlyArray(5)):
        with pytest.raises(TypeError):
            enc.decode(number)
    for wrong in (True, np.bool_(True), np.array(True), 1.0, np.float64(1), np.array(1.0)):
        with pytest.raises(TypeError):
            enc.stream_decoder().feed(wrong)


def test_single_token_that_is_no_int_is_refused(enc):
    for wrong in (1.5, np.float64(1), "1", None, np.array([1.0])):
        with pytest.raises(TypeError):
            enc.decode_single_token_bytes(wrong)
        with pytest.raises(TypeError):
            enc.decode_tokens_bytes([wrong])


def test_bytes_are_the_numbers_in_them_as_in_tiktoken(pair):
    _, ours, theirs = pair
    for ids in (b"ab\x01\x00", bytearray(b"xyz")):
        assert ours.decode_bytes(ids) == theirs.decode_bytes(list(ids))
        assert ours.stream_decoder().feed(ids) == theirs.decode(list(ids))


# ==== On a device ====


def test_array_on_a_device_is_refused_without_cupy(enc, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    for call in (enc.decode, enc.decode_batch, enc.stream_decoder().feed):
        with pytest.raises(TypeError, match=r"ids lie on a device, and CuPy cannot copy them .*ids\.cpu\(\)"):
            call(OnCuda([1, 2]))


def test_array_on_a_device_is_copied_by_cupy(enc, monkeypatch):
    copied = []

    def from_dlpack(value):
        copied.append(value)
        return types.SimpleNamespace(get=lambda: value._values)

    monkeypatch.setitem(sys.modules, "cupy", types.SimpleNamespace(from_dlpack=from_dlpack))
    ids = enc.encode("from a device")
    assert enc.decode(OnCuda(ids)) == "from a device" == enc.decode_batch(OnCuda([ids, ids]))[1]
    assert len(copied) == 2


def test_array_with_the_interface_of_cuda_is_copied_by_cupy(enc, monkeypatch):
    class Numba:
        """A CUDA array, as numba's and CuPy's."""

        def __init__(self, ids):
            self.ids = ids

        __cuda_array_interface__ = {"version": 3}  # noqa: RUF012

        def __array__(self, dtype=None, copy=None):
            raise TypeError("Implicit conversion to a NumPy array is not allowed")

    cupy = types.SimpleNamespace(asarray=lambda value: types.SimpleNamespace(get=lambda: np.array(value.ids)))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    assert enc.decode(Numba(enc.encode("from numba"))) == "from numba"


def test_error_of_an_array_in_memory_is_its_own(enc):
    class Broken:
        def __array__(self, dtype=None, copy=None):
            raise ValueError("closed")

    with pytest.raises(ValueError, match="closed"):
        enc.decode(Broken())


def test_lists_and_arrays_of_the_standard_library_need_no_numpy():
    code = """
        import array, sys, streamtok
        enc = streamtok.get_encoding("r50k_base")
        for ids in ([64], (64,), range(64, 65), array.array("H", [64]), b"@"):
            assert enc.decode(ids) == enc.stream_decoder().feed(ids) == enc.stream_decoder().feed(64) == "a"
        assert "numpy" not in sys.modules
        """
    assert subprocess.run([sys.executable, "-c", textwrap.dedent(code)]).returncode == 0


# ==== torch, where it is installed ====


def test_tensors(r50k):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    ids = r50k.encode(TEXT)
    for dtype in (torch.int32, torch.int64):
        tensor = torch.tensor(ids, dtype=dtype)
        assert r50k.decode(tensor) == TEXT == r50k.decode_bytes(tensor).decode()
        assert r50k.decode_batch(torch.stack([tensor, tensor])) == [TEXT] * 2 == r50k.decode_batch([tensor, tensor])
        assert r50k.decode_tokens_bytes(tensor) == r50k.decode_tokens_bytes(ids)
        assert r50k.decode_with_offsets(tensor) == r50k.decode_with_offsets(ids)
        stream = r50k.stream_decoder()
        assert stream.feed(tensor[:9]) + "".join(map(stream.feed, tensor[9:])) + stream.flush() == TEXT
    with pytest.raises(TypeError, match="ids are integers, got an array of float32"):
        r50k.decode(torch.tensor([1.0]))
    for wrong in (torch.tensor(True), torch.tensor(1.0)):
        with pytest.raises(TypeError):
            r50k.stream_decoder().feed(wrong)
    with pytest.raises(ValueError, match="one row"):
        r50k.decode(torch.zeros((1, 2), dtype=torch.int64))
