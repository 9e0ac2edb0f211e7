"""What programs that serve models ask, beside what is wanted of it: sessions, decoders, tables, checks, batches.

    python benchmarks/serving.py                 # with an English text that every Python has
    python benchmarks/serving.py corpus.txt      # UTF-8, 4.2 MB or more
    python benchmarks/serving.py --only update   # rows whose name has this word

The ids are checked before anything is timed, with tiktoken where it is installed. Times are the least and the median of
many calls. Hugging Face's DecodeStream is timed in the same run where tokenizers is installed.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import importlib.util
import json
import pathlib
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import streamtok
from streamtok.serving import MicroBatcher

REQUESTS = 1024


class Row(NamedTuple):
    name: str
    wanted: str
    times: list[float]  # seconds
    note: str = ""

    def __str__(self) -> str:
        least, median = min(self.times) * 1e6, statistics.median(self.times) * 1e6
        return f"| {self.name} | {least:,.1f} | {median:,.1f} | {self.wanted} | {self.note} |"


def timed(call: Callable[[], Any], repeats: int, before: Callable[[], Any] | None = None) -> list[float]:
    """Seconds of each of many calls."""
    times = []
    gc.disable()
    try:
        for _ in range(repeats):
            if before is not None:
                before()
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
    finally:
        gc.enable()
    return times


def check(enc: streamtok.Encoding, text: str) -> None:
    """Ends the program if ids are not tiktoken's, or not those of a session."""
    ids = enc.encode(text)
    if importlib.util.find_spec("tiktoken"):
        import tiktoken

        theirs = tiktoken.Encoding(
            enc.name,
            pat_str=enc._pat_str,
            mergeable_ranks=enc._mergeable_ranks,
            special_tokens=enc._special_tokens,
        )
        assert theirs.encode(text, disallowed_special=()) == ids, "the ids are not tiktoken's"
    else:
        print("tiktoken is not installed: ids are compared with those of encode() alone")
    session = enc.session()
    rng = random.Random(1)
    at = 0
    while at < len(text):
        size = rng.randint(1, 5000)
        session.append(text[at : at + size])
        at += size
    assert session.ids.tolist() == ids, "a session has other ids"


# ==== sessions ====


def sessions(enc: streamtok.Encoding, text: str) -> Iterator[Row]:
    long = enc.session(text[:4_190_000])
    more = iter(range(10**9))
    pieces = [text[at : at + 256] for at in range(0, 256 * 2000, 256)]
    yield Row("append 256 characters to 4.19 M", "15", timed(lambda: long.append(pieces[next(more)]), 300))
    assert long.ids[-300:].tolist() == enc.encode(long.text)[-300:]
    data = text.encode()[: 128 << 10].decode(errors="ignore")
    short = enc.session(data)
    letters = iter("xyz" * 1000)
    middle = short.size // 2
    while not 0x20 <= data.encode()[middle] < 0x7F:
        middle += 1
    times = timed(lambda: short.replace(middle, middle + 1, next(letters)), 300)
    yield Row("replace one character in 128 KB, in the middle", "30", times)
    rng = random.Random(2)
    plain = [at for at, byte in enumerate(short.text.encode()) if 0x20 <= byte < 0x7F]
    places = iter(rng.choices(plain, k=1000))

    def anywhere() -> None:
        at = next(places)
        short.replace(at, at + 1, "x")

    yield Row("replace one character in 128 KB, anywhere", "30", timed(anywhere, 300))
    assert short.ids.tolist() == enc.encode(short.text)
    for name, size, wanted in (("200 B", 200, "40"), ("1 KB", 1024, "100")):
        base = enc.session(data)
        whole = data + text[-size:]
        what = "update: 128 KB, {} new at its end" if size < 1024 else "a chat of 128 KB, {} new: update"
        times = timed(lambda: base.update(whole), 200, lambda: base.update(data))  # noqa: B023
        yield Row(what.format(name), wanted, times)
        base.update(whole)
        assert base.ids.tolist() == enc.encode(whole)
    held = sum(sys.getsizeof(mark.state) + sys.getsizeof(mark) + 4 * 28 for mark in long._now.marks)
    print(f"memory of a session of {long.size:,} bytes beside its ids: {held / long.size:.1%} of the text; wanted 10 %")


# ==== caches ====


def caches(enc: streamtok.Encoding, text: str) -> Iterator[Row]:
    data = text.encode()[: 127 << 10].decode(errors="ignore")
    for kind in ("encode", "encode_to_numpy"):
        cache = streamtok.PrefixCache(enc)
        cache.encode(data)
        texts = iter([data + text[at : at + 1024] for at in range(200_000, 600_000, 1_000)])
        call, plain = getattr(cache, kind), getattr(enc, kind)
        known = timed(lambda: call(next(texts)), 150)  # noqa: B023
        yield Row(f"128 KB, 1 KB of it new: PrefixCache.{kind}", "60", known)
        yield Row(f"the same: Encoding.{kind}", "", timed(lambda: plain(next(texts)), 150))  # noqa: B023
    assert cache.encode(data + text[:900]) == enc.encode(data + text[:900])
    fresh = iter([text[at : at + (128 << 10)] for at in range(0, 2_000_000, 10_000)])
    cache = streamtok.PrefixCache(enc, max_bytes=1 << 22)
    times = timed(lambda: cache.encode_to_numpy(next(fresh)), 150)
    yield Row("128 KB, none of it known: PrefixCache.encode_to_numpy", "", times)


# ==== decoders and tables ====


def decoders(enc: streamtok.Encoding, text: str) -> Iterator[Row]:
    ids = enc.encode_to_numpy(text)
    rows = np.array([ids[at : at + 400] for at in np.linspace(0, len(ids) - 400, REQUESTS, dtype=int)], np.int64)
    slots = list(range(REQUESTS))
    for stop in ((), ("\n\nUser:", "<stop>")):
        for width, wanted in ((1, "100"), (4, "200")):
            decoder = enc.batch_decoder(REQUESTS)
            for slot in slots:
                decoder.reset(slot, stop)
            steps = iter(range(0, 400, width))
            name = f"1,024 requests, {width} id{'s' * (width > 1)} each" + ", stop strings" * bool(stop)

            def step() -> list[str]:
                at = next(steps)  # noqa: B023
                return decoder.feed(slots, rows[:, at : at + width])  # noqa: B023

            yield Row(name, wanted, timed(step, 400 // width))
    yield from their_decoders(enc, rows)
    candidates = np.random.default_rng(3).choice(ids, (REQUESTS, 20)).astype(np.int64)
    assert enc.token_strs(candidates[:2]) == [[enc.decode([token]) for token in row] for row in candidates[:2].tolist()]
    yield Row("token_strs of 20 x 1,024 ids", "400", timed(lambda: enc.token_strs(candidates), 100))


def their_decoders(enc: streamtok.Encoding, rows: Any) -> Iterator[Row]:
    """Hugging Face's DecodeStream, with the same tokens."""
    if not importlib.util.find_spec("tokenizers"):
        print("tokenizers is not installed: DecodeStream is not timed")
        return
    from tokenizers import Tokenizer
    from tokenizers.decoders import DecodeStream

    from streamtok import train

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "tokenizer.json"
        train.save(enc, path)
        theirs = Tokenizer.from_str(json.dumps(json.loads(path.read_text())))
    streams = [DecodeStream(skip_special_tokens=False) for _ in range(REQUESTS)]
    said = ["".join(filter(None, (streams[0].step(theirs, token) for token in rows[0].tolist())))]
    assert enc.decode(rows[0]).startswith(said[0].rstrip("\ufffd")), "DecodeStream says something else"
    streams = [DecodeStream(skip_special_tokens=False) for _ in range(REQUESTS)]
    steps = iter(rows.T.tolist())

    def step() -> None:
        for stream, token in zip(streams, next(steps), strict=True):
            stream.step(theirs, token)

    yield Row("the same with DecodeStream, 1 id each", "", timed(step, 50), "for scale")


# ==== checks of ids ====


def checks(enc: streamtok.Encoding, text: str) -> Iterator[Row]:
    ids = enc.encode_to_numpy(text)
    data = text.encode()
    assert enc.is_canonical(ids)
    encode, canonical = [], []
    for _ in range(15):  # turn by turn
        encode += timed(lambda: enc.encode_to_numpy(data, disallowed_special=()), 1)
        canonical += timed(lambda: enc.is_canonical(ids), 1)
    ratio = statistics.median(encode) / statistics.median(canonical)
    yield Row(f"encode_to_numpy, {len(data) / 1e6:.1f} MB", "", encode)
    yield Row("is_canonical of these ids", "the same", canonical, f"{ratio:.2f} of encoding's rate")


# ==== batches ====


def batches(enc: streamtok.Encoding, text: str) -> Iterator[Row]:
    texts = [text[at : at + 200] for at in range(0, 200 * 2000, 200)]

    async def shared() -> list[int]:
        async with MicroBatcher(enc) as batcher:
            return [len(ids) for ids in await asyncio.gather(*map(batcher.encode, texts))]

    async def each() -> list[int]:
        loop = asyncio.get_running_loop()
        calls = (loop.run_in_executor(None, enc.encode_to_numpy, each) for each in texts)
        return [len(ids) for ids in await asyncio.gather(*calls)]

    assert asyncio.run(shared()) == asyncio.run(each()) == [enc.count(each) for each in texts]
    mine, theirs = [], []
    for _ in range(7):
        mine += timed(lambda: asyncio.run(shared()), 1)
        theirs += timed(lambda: asyncio.run(each()), 1)
    ratio = statistics.median(theirs) / statistics.median(mine)
    yield Row("2,000 texts of 200 characters, MicroBatcher", "", mine, f"{ratio:.1f} times run_in_executor")
    yield Row("the same, run_in_executor for each", "", theirs)


PARTS = {"sessions": sessions, "caches": caches, "decoders": decoders, "checks": checks, "batches": batches}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", nargs="?", help="a file of UTF-8")
    parser.add_argument("-e", "--encoding", default="o200k_base")
    parser.add_argument("--only", default="", help="sessions, caches, decoders, checks or batches")
    options = parser.parse_args()
    enc = streamtok.get_encoding(options.encoding)
    if options.text:
        text = pathlib.Path(options.text).read_text("utf-8")[:6_000_000]
    else:
        import pydoc_data.topics

        text = "\n".join(pydoc_data.topics.topics.values())
    text *= -(-4_300_000 // len(text))
    check(enc, text)
    rows = [row for name, part in PARTS.items() if options.only in name for row in part(enc, text)]
    print(f"\n{options.encoding}, {streamtok.info()['simd']}, microseconds")
    print("| what | least | median | wanted | |\n|---|---:|---:|---:|---|")
    print(*rows, sep="\n")


if __name__ == "__main__":
    main()
