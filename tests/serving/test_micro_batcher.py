"""Calls of asyncio tasks that share batches: the same results, errors for those who caused them, bounds, an end."""

from __future__ import annotations

import array
import asyncio
import gc
import random
import threading

import nasty
import numpy as np
import oracle
import pytest

from streamtok.serving import MicroBatcher

END = "<|endoftext|>"


def run(main) -> None:
    asyncio.run(asyncio.wait_for(main, 60))


class Gate:
    """Holds the thread of a batcher before each batch until it is opened."""

    def __init__(self, batcher: MicroBatcher) -> None:
        self.event, self.sizes, self.begun = threading.Event(), [], threading.Event()
        answer = batcher._core.answer

        def held(batch):
            self.sizes.append(len(batch))
            self.begun.set()
            assert self.event.wait(30)
            return answer(batch)

        batcher._core.answer = held

    async def has_begun(self) -> None:
        assert await asyncio.to_thread(self.begun.wait, 30)


def test_random_calls_of_many_tasks():
    """Every call has the result, or the error, that it has by itself; many share a batch."""
    enc, rng = oracle.ours("o200k_base"), random.Random(1)
    texts = list(nasty.random_strings(rng, 400, 20, [*nasty.ALPHABET, END]))

    async def call(batcher, text: str) -> None:
        kind = rng.randrange(6)
        allowed = rng.choice((set(), {END}, "all"))
        await asyncio.sleep(rng.choice((0, 0, 0.001)))
        if kind == 0:
            want = enc.encode(text, disallowed_special=())
            ids = await batcher.encode(text.encode(), disallowed_special=())
            assert ids.tolist() == want and not ids.flags.writeable
            assert ids.base is None or len(ids.base) == ids.nbytes  # it does not keep those of the batch
        elif kind == 1:
            assert await batcher.count(text, allowed_special="all") == enc.count(text, allowed_special="all")
        elif kind == 2:
            ids = enc.encode(text, disallowed_special=())[rng.randint(0, 2) :]
            assert await batcher.decode(ids) == enc.decode(ids)
        elif kind == 3 and END in text and not allowed:
            with pytest.raises(ValueError, match="disallowed special token"):
                await batcher.encode(text, allowed_special=allowed)
        elif kind == 4:
            with pytest.raises(UnicodeDecodeError, match="invalid start"):
                await batcher.encode(text.encode() + b"\xff", disallowed_special=())
        elif kind == 5:
            with pytest.raises(KeyError, match="10000000"):
                await batcher.decode([1, 10**7])

    async def main() -> None:
        async with MicroBatcher(enc, max_delay=0.002) as batcher:
            await asyncio.gather(*(call(batcher, text) for text in texts))
            assert 0 < batcher.batches < batcher.calls / 4, batcher

    run(main())


def test_calls_that_come_while_a_batch_runs_are_the_next_one():
    enc = oracle.ours("cl100k_base")

    async def main() -> None:
        async with MicroBatcher(enc, max_batch_bytes=100 * (64 + 5)) as batcher:
            gate = Gate(batcher)
            first = asyncio.create_task(batcher.count("first"))
            await gate.has_begun()
            others = [asyncio.create_task(batcher.count("hello")) for _ in range(250)]
            await asyncio.sleep(0)
            gate.event.set()
            assert await asyncio.gather(first, *others) == [1] * 251
            assert gate.sizes == [1, 100, 100, 50]

    run(main())


def test_a_call_that_is_cancelled_leaves_the_others():
    enc = oracle.ours("cl100k_base")

    async def main() -> None:
        async with MicroBatcher(enc) as batcher:
            gate = Gate(batcher)
            first = asyncio.create_task(batcher.encode("first"))
            await gate.has_begun()
            others = [asyncio.create_task(batcher.encode(f"text {i}")) for i in range(20)]
            await asyncio.sleep(0)
            for task in (first, *others[::2]):  # one in the batch that runs, and some in the next one
                task.cancel()
            gate.event.set()
            found = await asyncio.gather(first, *others, return_exceptions=True)
            assert isinstance(found[0], asyncio.CancelledError)
            for i, ids in enumerate(found[1:]):
                assert (
                    isinstance(ids, asyncio.CancelledError) if i % 2 == 0 else ids.tolist() == enc.encode(f"text {i}")
                )
            assert gate.sizes == [1, 10]
            assert await batcher.count("hello world") == 2
            assert (batcher._held, batcher._waiting_bytes) == (0, 0)

    run(main())


def test_calls_wait_for_room():
    """A bounded queue: in order, cancelled ones leave it, and a text larger than the bound passes by itself."""
    enc = oracle.ours("cl100k_base")

    async def main() -> None:
        async with MicroBatcher(enc, max_waiting_bytes=1000) as batcher:
            gate, order = Gate(batcher), []

            async def call(number: int, size: int) -> None:
                assert await batcher.count("a " * (size // 2)) > 0
                order.append(number)

            tasks = [asyncio.create_task(call(0, 600))]
            await gate.has_begun()
            tasks += [asyncio.create_task(call(number, size)) for number, size in enumerate((400, 5000, 10, 300), 1)]
            for _ in range(3):
                await asyncio.sleep(0)
            assert batcher._held == 664 and len(batcher._for_room) == 4
            tasks[1].cancel()
            gate.event.set()
            found = await asyncio.gather(*tasks, return_exceptions=True)
            assert [type(each) for each in found].count(asyncio.CancelledError) == 1
            assert order == [0, 2, 3, 4]
            assert (batcher._held, len(batcher._for_room)) == (0, 0)

    run(main())


def test_the_end():
    enc = oracle.ours("cl100k_base")

    async def main() -> MicroBatcher:
        batcher = MicroBatcher(enc, max_waiting_bytes=70)
        calls = [asyncio.create_task(batcher.count("hello")) for _ in range(10)]
        await asyncio.sleep(0)
        await batcher.aclose()  # those that were made are answered, also if they wait for room
        assert await asyncio.gather(*calls) == [1] * 10
        with pytest.raises(RuntimeError, match="is closed"):
            await batcher.count("hello")
        await batcher.aclose()
        async with MicroBatcher(enc):
            pass
        other = MicroBatcher(enc)
        assert await other.count("hello") == 1
        return other

    other = asyncio.run(main())
    with pytest.raises(RuntimeError, match="belongs to another event loop"):
        asyncio.run(other.count("hello"))
    for thread in threading.enumerate():
        if thread.name.startswith("streamtok-") and thread is not _of(other):
            thread.join(60)  # aclose() does not wait for it
            assert not thread.is_alive()


def _of(batcher: MicroBatcher) -> threading.Thread:
    batcher._tasks.put(None)
    return batcher._thread


def test_what_is_refused():
    enc = oracle.ours("cl100k_base")

    async def main() -> None:
        async with MicroBatcher(enc) as batcher:
            for call, error in (
                (batcher.encode(3), TypeError),
                (batcher.encode("a", allowed_special="b"), TypeError),
                (batcher.decode([-1]), OverflowError),
                (batcher.decode([1.5]), TypeError),
            ):
                with pytest.raises(error):
                    await call
            assert await batcher.count("") == 0

    run(main())


def options_of_calls() -> list[dict]:
    return [
        {"allowed_special": [END]},
        {"allowed_special": [END], "disallowed_special": []},
        {"allowed_special": ["x"]},
        {"allowed_special": [[]], "disallowed_special": ()},
        {"allowed_special": END},
        {"allowed_special": {1}, "disallowed_special": ()},
        {"allowed_special": 5},
        {"allowed_special": None, "disallowed_special": ()},
        {"allowed_special": "all"},
        {"allowed_special": {END: 1}.keys()},
        {"disallowed_special": [[]]},
        {"disallowed_special": 5},
        {"disallowed_special": ["<|fim_middle|>"]},
        {"disallowed_special": {END}},
        {"disallowed_special": iter([END])},
    ]


@pytest.mark.parametrize("kind", ["encode", "count"])
def test_arguments_are_those_of_encode(kind):
    """What encode() refuses is refused in the call, before a thread sees it; and what it takes is taken."""
    enc, text = oracle.ours("cl100k_base"), f"a{END}b"

    async def main() -> None:
        async with MicroBatcher(enc) as batcher:
            for options, again in zip(options_of_calls(), options_of_calls()):
                try:
                    want = enc.encode(text, **again)
                except (TypeError, ValueError) as error:
                    with pytest.raises(type(error)) as found:
                        await getattr(batcher, kind)(text, **options)
                    assert str(found.value) == str(error)
                else:
                    got = await getattr(batcher, kind)(text, **options)
                    assert (got if kind == "count" else got.tolist()) == (len(want) if kind == "count" else want)
            with pytest.raises(TypeError, match="must be str, not list"):
                await batcher.decode([1], errors=[])
            assert await batcher.count("hello world") == 2

    run(main())


def test_what_a_caller_changes_while_a_call_waits_does_not_count():
    enc = oracle.ours("cl100k_base")
    ids = np.array(enc.encode("hello world"), np.uint32)
    held = [ids.copy(), ids.astype(np.int64), array.array("I", ids.tolist()), ids.tolist(), bytearray([1, 2])]

    async def main() -> None:
        async with MicroBatcher(enc) as batcher:
            want = [enc.decode(each) for each in held]
            calls = [asyncio.create_task(batcher.decode(each)) for each in held]
            await asyncio.sleep(0)
            for each in held:
                each[0] = 0
            assert await asyncio.gather(*calls) == want

    run(main())


class Ended(BaseException):
    """No Exception: it passes handlers that take only those."""


FUNCTIONS = ("_core.answer", "_core._group", "_core._together", "_core._alone")
CORE = ("encode_ragged", "decode_batch", "encode_to_numpy", "count", "decode")


@pytest.mark.parametrize("error", [ValueError, MemoryError, Ended, StopIteration, asyncio.CancelledError])
@pytest.mark.parametrize("name", [*FUNCTIONS, *CORE, "_loop.call_soon_threadsafe"])
def test_what_the_thread_raises_reaches_the_callers(name, error, monkeypatch):
    """Each call that waits gets a result or an error, the next ones too, and the end comes."""
    enc = oracle.ours("cl100k_base")

    async def main() -> None:
        batcher = MicroBatcher(enc)
        await batcher.count("warm")
        owner, _, last = name.rpartition(".")
        holder = enc if name in CORE else getattr(batcher, owner)
        before, left = getattr(holder, last), [3]

        def failing(*arguments, **options):
            left[0] -= 1
            if left[0] >= 0 and threading.current_thread() is batcher._thread:
                if name.endswith("threadsafe"):
                    left[0] = 0  # one that fails each time leaves nobody to tell
                raise error("injected")
            return before(*arguments, **options)

        with monkeypatch.context() as patch:
            patch.setattr(holder, last, failing, raising=False)
            calls = [batcher.encode("a"), batcher.encode("b"), batcher.decode([1]), batcher.count("c")]
            found = await asyncio.gather(*calls, return_exceptions=True)
        for each in found:
            if isinstance(each, BaseException):
                assert type(each) is error or (type(each) is RuntimeError and type(each.__cause__) is error)
        assert await batcher.count("hello world") == 2
        await batcher.aclose()

    run(main())


def test_an_exception_at_any_bytecode_of_the_thread(monkeypatch):
    """As one that another thread sends there (PyThreadState_SetAsyncExc)."""
    enc, place, seen = oracle.ours("cl100k_base"), [0, -1], [0]

    def trace(template, event, argument):
        code = template.f_code
        if not code.co_filename.endswith("micro_batcher.py") or code.co_name == "__del__":  # Python drops that error
            return None
        template.f_trace_opcodes, template.f_trace_lines = True, False
        if event == "opcode":
            place[0] += 1
            if place[0] == place[1]:
                raise Ended("injected")
        return trace

    async def main(at: int) -> None:
        place[:] = [0, at]
        async with MicroBatcher(enc) as batcher:
            calls = [batcher.encode("a"), batcher.decode([1]), batcher.encode("b", disallowed_special=())]
            found = await asyncio.gather(*calls, return_exceptions=True)
            failed = sum(type(each) is Ended for each in found)
            assert all(type(each) in (Ended, str, np.ndarray) for each in found) and failed <= 3
            again = await asyncio.gather(batcher.count("hello world"), return_exceptions=True)
            seen[0] += failed > 0 or type(again[0]) is Ended
            place[1] = -1
            assert await batcher.count("hello world") == 2

    monkeypatch.setattr(threading, "_trace_hook", trace)
    run(main(-1))
    for at in range(1, place[0] + 1):
        run(main(at))
    assert seen[0] > 50


def test_a_batcher_that_is_dropped_ends_its_thread():
    import streamtok.serving.micro_batcher

    assert streamtok.serving.MicroBatcher is streamtok.serving.micro_batcher.MicroBatcher

    async def main() -> threading.Thread:
        batcher = MicroBatcher(oracle.ours("r50k_base"))
        assert await batcher.count("a b") == 2
        return batcher._thread

    thread = asyncio.run(main())
    gc.collect()
    thread.join(30)
    assert not thread.is_alive()
