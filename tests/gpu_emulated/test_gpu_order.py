"""The order in which the threads of a kernel run must not change its results."""

from __future__ import annotations

import random
import shutil

import numpy as np
import pytest
from test_gpu_kernels import Subject, subject

from streamtok.gpu import _engine, _job
from streamtok.gpu._text import DeviceText, pack

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ to compile the kernels for the CPU")

# In o200k the block algebra decides little of such text, so most starts are left to the threads that fill gaps.
LEFT_TO_GAPS = ["\u0301", "中", "!", "/", "\n"]


def passage(rng: random.Random, blocks: int) -> str:
    """Text that takes so many blocks of 64 bytes."""
    size = rng.randint(64 * blocks - 61, 64 * blocks)
    return "".join(rng.choices(LEFT_TO_GAPS, k=size)).encode()[:size].decode("utf-8", "ignore")


def gaps_with_ids(s: Subject, count: int) -> tuple[DeviceText, list[int]]:
    """Passages with ids between them, so that a gap holds an id and ends where a segment does; and the ids of all."""
    rng, token = random.Random(3144), s.encoding.eot_token
    passages = [text for _ in range(count) for text in (passage(rng, 2), None, passage(rng, 5))]
    want = [i for text in passages for i in ([token] if text is None else s.encoding.encode_ordinary(text))]
    lengths = np.array([len((text or "").encode()) for text in passages])
    sizes = np.where([text is None for text in passages], np.uint64(_job.PASSAGE_ID + token), lengths.astype(np.uint64))
    source = s.device.put(np.frombuffer("".join(text or "" for text in passages).encode() + b" ", np.uint8))
    return pack(s.device, source, (np.cumsum(lengths) - lengths).astype(np.uint64), sizes, np.array([0])), want


@needs_compiler
def test_a_thread_may_meet_an_id_that_another_one_has_just_passed(monkeypatch):
    """A thread that finds no start in its own gap goes on from the last start that another thread has set. That may be
    the start of the filler behind an id, where there is no text."""
    monkeypatch.setattr(_engine, "SHORT", 0)
    s = subject("o200k_base")
    text, want = gaps_with_ids(s, 600)
    for seed in range(1, 21):
        with s.device.shuffled(seed):
            assert s.engine.encode(text, np.uint32)[0].tolist() == want, seed
