"""Short texts and batches, which one launch takes from and to pinned memory: ids, row starts, errors are the CPU's."""

from __future__ import annotations

import random
import shutil
import weakref

import numpy as np
import oracle
import pytest
from host_device import CUDARuntimeError, HostDevice, OutOfMemoryError
from test_gpu_face import LONGEST, OPTIONS, devices, outcome, text_with_names
from test_gpu_kernels import hard_text

import streamtok
from streamtok import gpu
from streamtok.gpu._engine import Engine

__all__ = ["devices"]  # a fixture

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ to compile the kernels for the CPU")

WIDE = ["caf\xe9 \xfc. ", "\u4e2d\u6587 and \u0416\u0438\u0437\u043d\u044c. ", "\U0001f600 \u0915\u094d\u0937 ok "]


def some_text(rng: random.Random) -> object:
    """A short text of any kind, some of them empty."""
    size = rng.choice([0, 0, 1, 3, 12, 63, 64, 65, 128, 200, 700])
    text = rng.choice([hard_text(rng, 8).decode(), "plain words, don't " * 40, rng.choice(WIDE) * 60])[:size]
    return rng.choice([str, str.encode, lambda text: bytearray(text.encode())])(text)


@pytest.fixture
def launched(monkeypatch):
    """For each text that one launch was to take, whether it did."""
    found: list[bool] = []
    whole = Engine.encode_short

    def spied(*arguments):
        found.append(False)
        result = whole(*arguments)
        found[-1] = True
        return result

    monkeypatch.setattr(Engine, "encode_short", spied)
    return found


@pytest.mark.parametrize("name", ["r50k_base", "cl100k_base", "o200k_base", "o200k_base without pattern", LONGEST[0]])
def test_random_batches(devices, launched, name):
    rng, enc = random.Random(name), oracle.named(name)
    pipeline, encoder = gpu.GpuPipeline(enc, ids="int64" if "100k" in name else "uint32"), gpu.GpuEncoder(enc)
    for turn in range(24):
        texts = [some_text(rng) for _ in range(rng.choice([1, 2, 5, 17, 60]))]
        if turn % 6 == 5:
            texts.insert(rng.randint(0, len(texts)), rng.choice([b"ab\xff", text_with_names(rng, 5), "a\ud800b"]))
        options = rng.choice(OPTIONS)
        want = outcome(enc.encode_ragged, texts, **options)
        assert outcome(pipeline.encode_batch, texts, **options) == want, (texts, options)
        assert outcome(encoder.encode_batch, texts, **options) == want
    if name not in LONGEST:
        assert sum(launched) > 15
    kinds = (bytes, str, np.ndarray)
    for number, kind in enumerate(kinds * 2):
        text = rng.choice(WIDE) * rng.randint(1, 900) + "end"[: rng.randint(0, 3)]
        given = text if kind is str else np.frombuffer(text.encode(), np.uint8) if kind is np.ndarray else text.encode()
        out = np.zeros(len(text.encode()), pipeline.ids) if number % 2 else None
        want = enc.encode_to_numpy(text).tolist()
        assert pipeline.encode(given, out=out).tolist() == want
        assert encoder.encode(given).tolist() == want


def test_many_small_texts_take_one_launch_and_more_take_the_other_way(devices, launched):
    enc = streamtok.get_encoding("cl100k_base")
    pipeline = gpu.GpuPipeline(enc)
    for count, does in ((300, True), ((1 << 14) + 1, False)):
        launched.clear()
        texts = [("a b", "", "x" * 64, "word")[i % 4] for i in range(count)]
        for made, want in zip(pipeline.encode_batch(texts), enc.encode_ragged(texts)):
            np.testing.assert_array_equal(made, want)
        assert launched == [True] * does


def test_a_result_is_no_memory_of_the_next_one(devices):
    enc = streamtok.get_encoding("r50k_base")
    pipeline = gpu.GpuPipeline(enc)
    texts = [["some words " * n, "x" * n] for n in (3, 9, 4000, 5)]
    results = [pipeline.encode_batch(pair) for pair in texts]
    for pair, (ids, starts) in zip(texts, results):
        want, want_starts = enc.encode_ragged(pair)
        assert ids.tolist() == want.tolist() and starts.tolist() == want_starts.tolist()
        assert ids.flags.writeable


def test_a_launch_that_tells_nothing_is_waited_for(devices):
    """The stream's end counts where the host does not see the kernel's word: it looks for a while, then it waits."""
    enc = streamtok.get_encoding("r50k_base")
    pipeline = gpu.GpuPipeline(enc, slots=1)
    device, waits = devices[0], []
    device.synchronize = lambda: waits.append(1)
    assert pipeline.encode("some words").tolist() == enc.encode("some words")
    assert not waits
    device._functions.late = True
    assert pipeline.encode("other words").tolist() == enc.encode("other words")
    assert len(waits) == 1


@pytest.mark.parametrize("error", [CUDARuntimeError("cudaErrorIllegalAddress"), OutOfMemoryError("no memory")])
def test_a_launch_that_fails(devices, error):
    enc = streamtok.get_encoding("r50k_base")
    pipeline = gpu.GpuPipeline(enc, slots=1)
    assert pipeline.encode_batch(["a b", "c"])[1].tolist() == [0, 2, 3]
    device: HostDevice = devices[0]
    device.failure = error
    with pytest.raises(gpu.DeviceError) as caught:
        pipeline.encode_batch(["a b", "c"])
    assert caught.value.lasting == isinstance(error, CUDARuntimeError)
    device.failure = None
    if not caught.value.lasting:
        assert pipeline.encode_batch(["a b", "c"])[1].tolist() == [0, 2, 3]
    assert len(pipeline._free) == 1  # the slot came back


def test_a_call_that_is_interrupted_gives_its_slot_back(devices):
    enc = streamtok.get_encoding("r50k_base")
    pipeline = gpu.GpuPipeline(enc, slots=1)
    for call, argument in ((pipeline.encode, "a b"), (pipeline.encode_batch, ["a b", "c"])):
        call(argument)
        devices[0].failure = KeyboardInterrupt()
        with pytest.raises(KeyboardInterrupt):
            call(argument)
        devices[0].failure = None
        assert pipeline.encode("a b c").tolist() == enc.encode("a b c")


def test_a_launch_keeps_the_names_that_it_looks_for(devices):
    """Also when a launch for other names came between, whose engine then forgets the first ones."""
    pipeline = gpu.GpuPipeline(streamtok.get_encoding("cl100k_base"), slots=1)
    pipeline.encode("some text", allowed_special="all")
    sought = weakref.ref(pipeline._slots[0].engine._names[1])
    pipeline.encode_batch(["some", "text"], allowed_special={"<|endoftext|>"}, disallowed_special=())
    assert sought() is not None
    assert pipeline.encode("some text", allowed_special="all").tolist() == pipeline.encoding.encode("some text")
