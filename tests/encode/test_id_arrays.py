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
