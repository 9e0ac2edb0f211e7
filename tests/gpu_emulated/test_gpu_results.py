"""Results that lie where the device wrote them: ids are the CPU's, and no result changes as long as somebody has it."""

from __future__ import annotations

import gc
import os
import random
import shutil
import threading

import numpy as np
import oracle
import pytest
from test_gpu_face import OPTIONS, devices, outcome
from test_gpu_short import some_text

import streamtok
from streamtok import gpu
from streamtok.gpu import _results
from streamtok.gpu._results import Results
from streamtok.native.buffers import Lent

__all__ = ["devices"]  # a fixture

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ to compile the kernels for the CPU"),
    pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs memory that is seen at two places"),
]


@pytest.fixture
def small(monkeypatch):
    """Blocks of 64 bytes to 4 KB, and room for four of the largest."""
    sizes = {"LEAST": 64, "SLAB": 4096, "MOST": 4 * 4096, "_ORDERS": 7}
    for name, size in sizes.items():
        monkeypatch.setattr(_results, name, size)


class Driver:
    """What pins memory; `refuses`: it does not."""

    def __init__(self, refuses: bool = False) -> None:
        self.refuses, self.pinned = refuses, set()

    def pin(self, address: int, size: int) -> bool:
        self.pinned.add(address)
        return not self.refuses

    def unpin(self, address: int) -> None:
        self.pinned.remove(address)


def lent(array: np.ndarray) -> bool:
    """Whether an array is no copy."""
    return isinstance(array.base, Lent) or isinstance(getattr(array.base, "obj", None), Lent)


def filled(pool: Results, size: int, value: int) -> np.ndarray | None:
    """A result of so many ids, if there is a block for it."""
    dtype = np.dtype(np.uint32)
    loan = pool.lend(size * 4)
    if loan is None:
        return None
    loan.target(dtype)[:size] = value
    return loan.result(dtype, size)


@pytest.mark.parametrize("name", ["cl100k_base"])
def test_ids_are_the_cpus_and_results_stay(devices, small, name):
    rng, enc = random.Random(name), oracle.named(name)
    coder, kept, way = gpu.GpuPipeline(enc).coder("strict"), [], [0, 0]
    for _ in range(40):
        texts = [some_text(rng) for _ in range(rng.choice([1, 1, 2, 9]))]
        texts = [text + "\x00 \x7f" * rng.choice([0, 0, 90]) if isinstance(text, str) else text for text in texts]
        options = rng.choice(OPTIONS)
        matchers = enc._matchers_for(options.get("allowed_special", set()), options.get("disallowed_special", "all"))
        want = outcome(enc.encode_ragged, texts, **options)
        got = outcome(coder.encode_many, texts, *matchers)
        assert got == want
        try:
            ids = coder.encode_array(texts[0], *matchers)
        except ValueError:
            continue
        assert not ids.flags.writeable
        way[lent(ids)] += 1
        kept.append((ids, enc.encode_to_numpy(texts[0], **options)))
        if rng.random() < 0.5:
            kept.pop(rng.randrange(len(kept)))
    for ids, want in kept:
        np.testing.assert_array_equal(ids, want)
    assert min(way) > 3  # both ways were taken


def test_a_result_cannot_be_written_to(small):
    made = filled(Results(Driver()), 64, 7)
    with pytest.raises(ValueError):
        made.flags.writeable = True
    with pytest.raises(ValueError):
        made[0] = 1


def test_results_that_are_kept_pin_no_more_than_the_bound(small):
    driver = Driver()
    pool = Results(driver)
    rng, kept, refused = random.Random(5), [], 0
    for number in range(4000):
        size = rng.randint(16, 1024)
        made = filled(pool, size, number)
        refused += made is None
        if made is not None:
            kept.append((made, number))
        while kept and rng.random() < 0.5:
            made, value = kept.pop(rng.randrange(len(kept)))
            assert (made == value).all()
            made = None
        assert len(driver.pinned) <= 4
    assert refused and len(kept) > 3
    assert pool.lend(63) is None and pool.lend(4097) is None
    kept.clear()
    made = [filled(pool, 1024, n) for n in range(5)]  # all blocks are whole again
    assert [each is not None for each in made] == [True] * 4 + [False]
    made[1:] = []
    pool.forget()
    assert len(driver.pinned) == 1
    del pool
    assert (made[0] == 0).all() and len(driver.pinned) == 1
    made.clear()
    gc.collect()
    assert not driver.pinned


def test_a_result_that_uses_little_of_its_block_is_copied(small):
    pool = Results(Driver())
    loan = pool.lend(4096)
    loan.target(np.dtype(np.uint32))[:5] = range(5)
    few = loan.result(np.dtype(np.uint32), 5)
    assert few.tolist() == [0, 1, 2, 3, 4] and not few.flags.writeable and few.base is None
    assert len([filled(pool, 1024, 1) for _ in range(4)]) == 4


def test_where_memory_cannot_be_pinned_results_are_copied(small):
    assert Results(Driver(refuses=True)).lend(100) is None


def test_threads_that_drop_results(small):
    pool, wrong = Results(Driver()), []

    def use(seed: int) -> None:
        rng, kept = random.Random(seed), []
        for number in range(1500):
            value = seed << 16 | number
            made = filled(pool, rng.randint(16, 300), value)
            if made is not None:
                kept.append((made, value))
            if len(kept) > 4:
                array, value = kept.pop(rng.randrange(5))
                if not (array == value).all():
                    wrong.append(value)

    threads = [threading.Thread(target=use, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_keeps_its_results(small):
    pool = Results(Driver())
    made = filled(pool, 100, 3)
    (ready, told), (told_back, answer) = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        os.read(ready, 1)
        pool._lock.acquire()  # as if another thread had held it
        grandchild = os.fork()
        if not grandchild:
            os._exit(0)
        well = os.waitpid(grandchild, 0)[1] == 0 and (made == 3).all()
        os.write(answer, b"y" if well else b"n")
        os._exit(0)
    del made
    others = [filled(pool, 100, 9) for _ in range(20)]
    os.write(told, b"!")
    assert os.read(told_back, 1) == b"y"
    assert os.waitpid(child, 0)[1] == 0 and others


def test_a_result_outlives_its_encoding(devices):
    enc = streamtok.get_encoding("r50k_base")
    text = "some words of a text, " * 4000
    pipeline = gpu.GpuPipeline(enc)
    ids = pipeline.coder("strict").encode_array(text, *enc._matchers_for(set(), "all"))
    assert lent(ids)
    del pipeline
    gc.collect()
    np.testing.assert_array_equal(ids, enc.encode_to_numpy(text))
