"""A MicroBatcher on a device: requests of several threads share launches; each gets what the CPU gives it by itself."""

from __future__ import annotations

import asyncio
import random
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import oracle
import pytest
from test_gpu_face import devices
from test_gpu_short import WIDE, launched, some_text

from streamtok.serving import MicroBatcher

__all__ = ["devices", "launched"]  # fixtures

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ to compile the kernels for the CPU")

END = "<|endoftext|>"
THREADS = 8


def outcome(call: Callable[[], Any]) -> tuple[str, object]:
    try:
        result = call()
    except Exception as error:
        return type(error).__name__, str(error)
    return "result", result.tolist() if hasattr(result, "tolist") else result


class Requests:
    """Of one thread: a batcher whose event loop runs in another one is asked, and the CPU."""

    def __init__(self, batcher: MicroBatcher, loop: asyncio.AbstractEventLoop, number: int) -> None:
        self.batcher, self.loop, self.rng = batcher, loop, random.Random(number)

    def asked(self, call: Any) -> tuple[str, object]:
        return outcome(lambda: asyncio.run_coroutine_threadsafe(call, self.loop).result(60))

    def make_one(self) -> None:
        enc, rng = self.batcher.encoding, self.rng
        text = rng.choice([some_text(rng), rng.choice(WIDE) * rng.randint(0, 40)])
        if rng.random() < 0.05:
            text = rng.choice([f"a{END}b", b"ab\xff", "a\ud800b"])
        allowed: Any = rng.choice([frozenset(), {END}])
        kind = rng.choice(["encode", "encode", "count", "decode"])
        if kind == "decode":
            ids = [rng.randrange(50_000) for _ in range(rng.randint(0, 30))] + [10**7] * (rng.random() < 0.05)
            assert self.asked(self.batcher.decode(ids)) == outcome(lambda: enc.decode(ids))
            return
        own = enc.encode_to_numpy if kind == "encode" else enc.count
        made = self.asked(getattr(self.batcher, kind)(text, allowed_special=allowed))
        assert made == outcome(lambda: own(text, allowed_special=allowed)), (kind, text, allowed)


@pytest.mark.parametrize("device", ["cuda", "auto"])
def test_requests_of_several_threads_share_launches(devices, launched, device):
    enc = oracle.named("r50k_base")
    at_once = threading.Barrier(THREADS)

    def ask(requests: Requests) -> None:
        for _ in range(12):
            at_once.wait(60)
            requests.make_one()

    async def main() -> MicroBatcher:
        async with MicroBatcher(enc, max_delay=0.02, device=device) as batcher:
            loop = asyncio.get_running_loop()
            with ThreadPoolExecutor(THREADS) as pool:
                asked = [loop.run_in_executor(pool, ask, Requests(batcher, loop, n)) for n in range(THREADS)]
                await asyncio.gather(*asked)
            return batcher

    batcher = asyncio.run(asyncio.wait_for(main(), 120))
    assert batcher.calls == 12 * THREADS and batcher.batches < batcher.calls / 2
    if device == "cuda":
        assert sum(launched) > batcher.batches / 2


def test_calls_that_come_together_take_one_launch(devices, launched):
    enc = oracle.named("r50k_base")
    texts = [some_text(random.Random(number)) for number in range(100)]

    async def main() -> None:
        async with MicroBatcher(enc, device="cuda") as batcher:
            found = await asyncio.gather(*map(batcher.encode, texts), *map(batcher.count, texts))
            assert batcher.batches == 1
            for text, ids, count in zip(texts, found, found[len(texts) :]):
                assert ids.tolist() == enc.encode_to_numpy(text).tolist() and count == len(ids)

    asyncio.run(asyncio.wait_for(main(), 60))
    assert launched == [True]


def test_one_bad_text_takes_few_more_launches(devices, launched):
    """By halves: each of the others is not made by itself."""
    enc = oracle.named("r50k_base")
    texts = [f"text {number}".encode() for number in range(64)]
    texts[29] += b"\xff"

    async def main() -> list[Any]:
        async with MicroBatcher(enc, device="cuda") as batcher:
            return await asyncio.gather(*map(batcher.encode, texts), return_exceptions=True)

    for number, found in enumerate(asyncio.run(asyncio.wait_for(main(), 60))):
        if number == 29:
            assert isinstance(found, UnicodeDecodeError) and found.start == len("text 29")
        else:
            assert found.tolist() == enc.encode(f"text {number}")
    assert 5 <= sum(launched) <= len(launched) <= 2 * 6 + 1
