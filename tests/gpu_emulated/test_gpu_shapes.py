"""Rows for models on emulated devices: padded, truncated and packed, against a definition in numpy."""

from __future__ import annotations

import inspect
import random
import shutil

import numpy as np
import oracle
import pytest
from host_device import DeviceArray, HostDevice
from row_shapes import packed, padded
from test_gpu_kernels import hard_text

import streamtok
from streamtok import gpu
from streamtok._rows.shape import HOW
from streamtok.gpu import _open
from streamtok.gpu._shapes import ENCODING

SHAPES = [
    {"side": "left", "dtype": "int64"},
    {"length": 7, "dtype": "int32", "truncate": "left"},
    {"length": 33, "side": "left", "dtype": "uint16"},
    {"length": 1, "dtype": "uint64"},
    {"max_length": 9, "pad_to_multiple_of": 8, "dtype": "int32", "truncate": "left", "side": "left"},
]

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ to compile the kernels for the CPU")


@pytest.fixture(autouse=True)
def devices(monkeypatch):
    made: dict[str, HostDevice] = {}

    def open_device(family, ordinal, modules=ENCODING):
        return made.setdefault(family, HostDevice(family, ordinal, modules))

    monkeypatch.setattr(_open, "open_device", open_device)
    return made


def batches(rng: random.Random) -> list[list[bytes]]:
    texts = [hard_text(rng, rng.choice([0, 1, 9, 60])) for _ in range(50)]
    return [[], [b""], [b"", b"", b"a", b""], texts, [b"", *texts[:9], b"", b""], [b"x"] * 700, [hard_text(rng, 700)]]


@pytest.mark.parametrize("ids", ["uint16", "uint32", "int64"])
def test_padded_and_truncated(devices, ids):  # and what the CPU makes of the same arguments
    enc, rng = oracle.named("r50k_base"), random.Random(ids)
    encoder = gpu.GpuEncoder(enc, ids=ids)
    for number, texts in enumerate(batches(rng)):
        rows = [enc.encode_ordinary(text.decode()) for text in texts]
        for options in SHAPES:
            pad = rng.choice([0, 50_256])
            made, mask = encoder.encode_padded(texts, pad_id=pad, disallowed_special=(), **options)
            assert isinstance(made, DeviceArray) and made.dtype == mask.dtype == options["dtype"]
            most, multiple = options.get("max_length"), options.get("pad_to_multiple_of", 1)
            side, truncate = options.get("side", "right"), options.get("truncate", "right")
            want = padded(rows, options.get("length"), side, pad, truncate, most, multiple)
            on_cpu = enc.encode_padded(texts, pad_id=pad, disallowed_special=(), **options)
            assert made.shape == mask.shape == want[0].shape, number
            for each, other in ((want[0], want[1]), on_cpu):
                np.testing.assert_array_equal(made, each)
                np.testing.assert_array_equal(mask, other)
    assert encoder.encode_padded(["a"], length=2, pad_id=-100)[0].tolist() == [[*enc.encode("a"), -100]]


def test_packed(devices):
    enc, rng = oracle.named("cl100k_base"), random.Random(3)
    encoder = gpu.GpuEncoder(enc)
    ways = [(64, enc.eot_token, "int64"), (5, None, "int32"), (1, 7, "int64"), (100_000, None, "int64")]
    for number, texts in enumerate(batches(rng)):
        rows = [enc.encode_ordinary(text.decode()) for text in texts]
        for length, eot, dtype in ways:
            with devices["none"].shuffled(number + 1) if number else devices["cl100k"].shuffled(0):
                made = encoder.pack(texts, length, eot=eot, pad_id=9, dtype=dtype, disallowed_special=())
            on_cpu = streamtok.pack(rows, length, eot=eot, pad_id=9, dtype=dtype)
            for each, other in zip(made, on_cpu):
                assert each.dtype == other.dtype
                np.testing.assert_array_equal(each, other)
            ids, cu_seqlens, positions = packed(rows, length, eot, 9)
            assert made[0].dtype == made[2].dtype == dtype and made[1].dtype == np.int32
            np.testing.assert_array_equal(made[0], ids)
            assert made[1].tolist() == cu_seqlens
            np.testing.assert_array_equal(made[2], positions)
    assert encoder.memory > 0


def test_packed_by_best_fit_and_with_sources(devices):
    enc, rng = oracle.named("cl100k_base"), random.Random(4)
    encoder = gpu.GpuEncoder(enc, ids="int64")
    ways = [(64, enc.eot_token, "int64"), (5, None, "int32"), (1, 7, "int64"), (3000, None, "uint32"), (9, 3, "int32")]
    for number, texts in enumerate([*batches(rng), [b"ab " * rng.choice((0, 1, 7, 70)) for _ in range(1500)]]):
        rows = [enc.encode_ordinary(text.decode()) for text in texts]
        for length, eot, dtype in ways:
            options = {"eot": eot, "pad_id": 9, "dtype": dtype, "sources": True}
            for how in HOW:
                with devices["none"].shuffled(number + 1) if number else devices["cl100k"].shuffled(0):
                    made = encoder.pack(texts, length, how=how, disallowed_special=(), **options)
                want = streamtok.pack(rows, length, how=how, **options)
                assert len(made) == len(want) == 4
                for each, other in zip(made, want):
                    assert isinstance(each, DeviceArray) and each.dtype == other.dtype and each.shape == other.shape
                    np.testing.assert_array_equal(each, other)


@pytest.mark.parametrize("template", [((7, 8), (9,)), ((5,), ()), ((), (6, 6, 6)), ((), ())])
@pytest.mark.parametrize("ids", ["uint16", "int64"])
def test_ids_of_a_template_stand_around_each_text(devices, monkeypatch, template, ids):
    enc, rng = oracle.named("r50k_base"), random.Random(str(template))
    monkeypatch.setattr(enc, "_template", template)
    encoder = gpu.GpuEncoder(enc, ids=ids)
    options = {"disallowed_special": (), "add_special_tokens": True}
    for texts in batches(rng):
        want, starts = enc.encode_ragged(texts, **options)
        got, got_starts = encoder.encode_batch(texts, **options)
        assert got.dtype == ids and got_starts.dtype == np.int64
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(got_starts, starts)
        for shape in [each for each in SHAPES if each.get("length", 9) > 3] + [{"length": 3}]:
            for made, other in zip(
                encoder.encode_padded(texts, pad_id=3, **shape, **options),
                enc.encode_padded(texts, pad_id=3, **shape, **options),
            ):
                np.testing.assert_array_equal(made, other)
        for how in HOW:
            made = encoder.pack(texts, 40, how=how, eot=2, **options)
            for each, other in zip(made, streamtok.pack((want, starts), 40, how=how, eot=2)):
                np.testing.assert_array_equal(each, other)
    assert encoder.encode("two words", **options).tolist() == enc.encode("two words", add_special_tokens=True)
    assert len(encoder.encode("two words", timing=True, **options)) == 2
    if sum(map(len, template)) > 2:
        with pytest.raises(ValueError) as theirs:
            enc.encode_padded(["a"], length=2, **options)
        with pytest.raises(ValueError) as ours:
            encoder.encode_padded(["a"], length=2, **options)
        assert str(ours.value) == str(theirs.value)


def test_faces_are_twins():
    """A method of the device takes what the CPU's takes, but for where and how it runs, with the same defaults."""
    choices = {"allowed_special", "disallowed_special", "add_special_tokens", "errors"}
    for theirs, ours, of_cpu, of_device in [
        (streamtok.Encoding.encode_padded, gpu.GpuEncoder.encode_padded, {"num_threads", "device"}, set()),
        (
            streamtok.Encoding.encode_ragged,
            gpu.GpuEncoder.encode_batch,
            {"num_threads", "device", "dtype", "out"},
            {"timing"},
        ),
        (streamtok.pack, gpu.GpuEncoder.pack, {"self"}, {"self"} | choices),
    ]:
        one, other = (inspect.signature(each).parameters for each in (theirs, ours))
        assert {*one} - of_cpu == {*other} - of_device
        shared = {*one} & {*other} - choices
        assert {name: one[name].default for name in shared} == {name: other[name].default for name in shared}


def test_arrays_are_handed_on_without_a_copy():
    encoder = gpu.GpuEncoder(oracle.named("r50k_base"))
    made = encoder.pack(["a b c", "d"], 4, how="best-fit", sources=True)
    for array in (*encoder.encode_padded(["a", "b c"]), *made):
        taken = np.from_dlpack(array)
        assert taken.ctypes.data == array.ctypes.data and taken.shape == array.shape and taken.dtype == array.dtype


def test_arguments_that_are_refused():
    encoder = gpu.GpuEncoder(oracle.named("r50k_base"))
    for options, what in [
        ({"length": 0}, "length=0"),
        ({"length": 2.0}, "length=2.0"),
        ({"side": "top"}, "side='top'"),
        ({"dtype": "float32"}, "dtype='float32'"),
        ({"dtype": "int16"}, "ids up to 32767, and this encoding has ids up to 50256"),
        ({"dtype": "uint16", "pad_id": -1}, "pad_id=-1 does not fit uint16"),
        ({"pad_id": 2**70}, "pad_id"),
        ({"length": 2, "max_length": 1}, "max_length=1 and length=2"),
    ]:
        with pytest.raises(ValueError, match=what):
            encoder.encode_padded(["a"], **options)
    for length, options, what in [
        (8, {"how": "worst-fit"}, "how='worst-fit' is unknown: write 'concatenate' or 'best-fit'"),
        (2**24 + 1, {"how": "best-fit"}, "best-fit makes rows of 16777216 ids at most"),
        (None, {}, "length=None"),
        (8, {"eot": 2**70}, "eot="),
        (70_000, {"dtype": "uint16"}, "positions up to 69999"),
    ]:
        with pytest.raises(ValueError, match=what):
            encoder.pack(["a"], length, **options)
    with pytest.raises(ValueError, match="disallowed special token"):
        encoder.encode_padded(["a<|endoftext|>"])
    with pytest.raises(TypeError, match="at index 1"):
        encoder.pack(["a", 3], 8)
