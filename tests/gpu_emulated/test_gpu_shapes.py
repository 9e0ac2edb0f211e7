"""Rows for models on emulated devices: padded, truncated and packed, against a definition in numpy."""

from __future__ import annotations

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


def test_arguments_that_are_refused():
    encoder = gpu.GpuEncoder(oracle.named("r50k_base"))
    for options, what in [
        ({"length": 0}, "length=0"),
        ({"length": 2.0}, "length=2.0"),
        ({"side": "top"}, "side='top'"),
        ({"dtype": "float32"}, "dtype='float32'"),
        ({"dtype": "int16"}, "ids up to 32767, and this encoding has ids up to 50256"),
        ({"dtype": "uint16", "pad_id": -1}, "pad_id=-1 does not fit uint16"),
        ({"pad_id": None}, "pad_id"),
        ({"length": 2, "max_length": 1}, "max_length=1 and length=2"),
    ]:
        with pytest.raises(ValueError, match=what):
            encoder.encode_padded(["a"], **options)
    for length, options, what in [
        (8, {"how": "best-fit"}, "how='best-fit' is unknown: write 'concatenate'; streamtok.pack knows"),
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
