"""The tables on a device, made from the package's and from those of all frequent words: the same ids."""

from __future__ import annotations

import random
import shutil

import nasty
import numpy as np
import oracle
import pytest
from cached import opened, packaged, put, uses_cache
from emulated import EmulatedDevice, engine_on

from streamtok.gpu import _tables
from streamtok.gpu._text import DeviceText
from streamtok.patterns.engine import kernels_of, splitter_of


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ to compile the kernels for the CPU")
@pytest.mark.parametrize("name", oracle.FAMILIES)
def test_tables_of_all_words_give_the_same_ids(name, built, cache):
    put(built[name], name)
    encoding, plain, rng = opened(name), packaged(name), random.Random(name)
    assert uses_cache(encoding)
    device = EmulatedDevice(kernels_of(encoding._pat_str))
    engine = engine_on(device, encoding)
    small = _tables.Tables(device, plain._vocab, splitter_of(plain._split))
    assert engine._tables.fields["piece_mask"] > small.fields["piece_mask"] and engine._tables.nbytes > small.nbytes
    for text in ("\n".join(nasty.random_strings(rng, 200, 200)), oracle.topics()[:40_000]):
        data = np.frombuffer(text.encode(), np.uint8)
        ids = engine.encode(DeviceText(device.put(data), len(data)), np.uint32)[0]
        oracle.assert_same(ids, plain.encode_to_numpy(text, disallowed_special=()), plain)


def test_a_limit_of_memory_does_not_depend_on_the_cache(built, cache):
    put(built["r50k_base"])
    encoding, plain = opened("gpt2"), packaged("gpt2")
    assert _tables.vocab_for(encoding, False) is encoding._vocab
    limited = _tables.vocab_for(encoding, True)
    assert limited.path == plain._vocab.path and limited.special_tokens == encoding._special_tokens
    assert _tables.vocab_for(plain, True) is plain._vocab
