"""Long texts are cut for a device where the two sides encode independently, whatever they are given as."""

from __future__ import annotations

import itertools
import random
import shutil

import numpy as np
import oracle
import pytest
from host_device import DeviceArray, HostDevice
from test_gpu_face import NAMES
from test_gpu_kernels import hard_text

import streamtok
from streamtok import gpu
from streamtok.gpu import _open, _pieces
from streamtok.gpu._special_tokens import Names
from streamtok.native.texts import Texts

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ to compile the kernels for the CPU")


@pytest.fixture
def devices(monkeypatch):
    monkeypatch.setattr(_open, "open_device", HostDevice)


@pytest.mark.parametrize("name", NAMES[-2:])
def test_pieces_encode_apart_and_are_short_enough(name):
    enc = oracle.named(name)
    names = Names(*enc._names.find("all", ()), enc._special_tokens, enc._coder)
    rng = random.Random(8)
    text = hard_text(rng, 3000) + b"q" * 200_000 + hard_text(rng, 3000)
    want = enc.encode_to_numpy(text, disallowed_special=()).tolist()
    wide = text.decode() + "\u4e00"  # the characters of a str that has two bytes for each
    many = Texts([wide])
    device = HostDevice("o200k")
    there = device.put(np.frombuffer(text, np.uint8)).view(DeviceArray)
    for size in (5_000, 50_000, 90_000, 1 << 20):
        found = [
            (text, _pieces.cut_host(text, size, names)),
            (text, _pieces.cut_device(device, there, size, names)),
            (wide, _pieces.cut_characters(many, 0, len(wide), size, names)),
        ]
        for whole, borders in found:
            assert borders[0] == 0 and borders[-1] == len(whole) and sorted(set(borders)) == borders
            assert max(np.diff(borders)) < 200_000 + size + _pieces._WINDOW
            pieces = [whole[a:b] for a, b in itertools.pairwise(borders)]
            ids = [i for piece in pieces for i in enc.encode_to_numpy(piece, disallowed_special=()).tolist()]
            assert ids[: len(want) - 9] == want[: len(want) - 9]
            assert whole is wide or ids == want


def test_a_text_of_common_words_gives_pieces_of_the_size_asked_for():
    text = b"some words that are cut " * 40_000
    borders = _pieces.cut_host(text, 100_000, Names(None, None, {}, oracle.ours("o200k_base")._coder))
    assert max(np.diff(borders)) <= 100_000
    assert len(borders) <= len(text) // 100_000 + 3


WIDE = ["caf\xe9 \xfc. ", "\u4e2d\u6587 and \u0416\u0438\u0437\u043d\u044c. ", "\U0001f600 \u0915\u094d\u0937 ok "]


def test_str_of_wide_characters_goes_to_the_device_in_pieces(devices):
    """Long ones are cut, short ones share a slice; with surrogates in them too, wherever these stand."""
    rng, chunk = random.Random(12), 3000
    enc = streamtok.get_encoding("o200k_base")
    pipeline, encoder = gpu.GpuPipeline(enc, chunk_size=chunk), gpu.GpuEncoder(enc)
    encoder._slice = chunk
    plain = hard_text(rng, 250).decode()
    texts = [unit * rng.randint(200, 400) + plain[: rng.randint(0, 500)] for unit in WIDE]
    texts += [unit * 3 for unit in WIDE] * 3 + ["", "ascii " * 100, plain * 2]
    want = enc.encode_ragged(texts, disallowed_special=())
    named = [*texts, "a<|endoftext|>" + WIDE[1] * 30, WIDE[0] * 90 + "<|endoftext|>"]
    for part, wanted in zip(
        pipeline.encode_batch(named, allowed_special="all"), enc.encode_ragged(named, allowed_special="all")
    ):
        np.testing.assert_array_equal(part, wanted)
    for made in (
        pipeline.encode_batch(texts, disallowed_special=()),
        encoder.encode_batch(texts, disallowed_special=()),
    ):
        for part, wanted in zip(made, want):
            np.testing.assert_array_equal(part, wanted)
    for at, broken in ((0, "\udc00x"), (len(plain), "\ud83d\ude00"), (2 * len(plain), "\ud800")):
        texts[-1] = texts[-1][:at] + broken + texts[-1][at:]
    want = enc.encode_ordinary(texts[-1])
    for subject in (pipeline, encoder):
        assert subject.encode(texts[-1], disallowed_special=()).tolist() == want
