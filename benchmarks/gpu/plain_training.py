"""Training over the running text, as plain GPU trainers do it (plain_training.cu), beside the engine, which works on
distinct pieces with an index: seconds for the same merges, compared one by one.

    python benchmarks/gpu/plain_training.py --corpus FOLDER [--mb 24 100 --sizes 2304 32000]

The text is English, over and over where more is asked for: that favours the engine, because repeated text has no new
pieces. training.py measures text that has. Both begin with text on the host; the split is the engine's in both.
"""

from __future__ import annotations

import argparse
import pathlib
import time
from typing import Any

import numpy as np
from shared import machine, markdown, repeated, text_of
from training import Bench, plain_options

from streamtok.gpu._shapes import Module
from streamtok.train.gpu.jobs import BUCKETS, LEARNED, LEARNING, MOST_BYTES, PAIR, SIDE, SIDES, TRAINING
from streamtok.train.gpu.learn import TUNING

HERE = pathlib.Path(__file__).resolve().parent
CSRC = HERE.parent.parent / "csrc"
PAIRS = 1 << 24

PLAIN = np.dtype(
    [("learning", LEARNING)]
    + [
        (name, "<u8")
        for name in "symbols moved length matches match_count chunk_sizes chunk_starts text starts".split()
    ]
)


def source() -> str:
    """plain_training.cu with all that it includes."""
    import re

    done: set[pathlib.Path] = set()

    def text_of_file(path: pathlib.Path) -> str:
        if path in done:
            return ""
        done.add(path)
        return re.sub(r'#include "([^"]+)"\n', lambda found: text_of_file(CSRC / found[1]), path.read_text())

    return text_of_file(HERE / "plain_training.cu")


class PlainModule(Module):
    def source(self) -> str:
        return source()


PLAIN_MODULE = PlainModule(
    "plain_training", {"plain": 1}, {}, {"plain": TRAINING.block_memory["learn"]}, together=("plain",)
)


def starts_of(bench: Any, data: bytes) -> tuple[Any, Any]:
    """(text as packed on the device, a bit a byte for where pieces start)."""
    from streamtok.gpu._text import pack
    from streamtok.train.counting import Counting
    from streamtok.train.gpu.count import DeviceCounting, _Slice
    from streamtok.train.inputs import How
    from streamtok.train.records import Store

    device = bench.device
    counting = DeviceCounting(device, Counting(bench.options.pat_str, How(), 1, None, Store("", False)))
    raw = device.put(np.frombuffer(data + bytes(64), np.uint8))
    one = np.zeros(1, np.uint64)
    text = pack(device, raw, one, one + np.uint64(len(data)), np.zeros(0, np.int64), 2048)
    counting._split(_Slice([], text, None, len(data), None))
    return text, counting._buffers.kept("starts")


def learn(
    device: Any, text: Any, starts: Any, wanted: int, by_bytes: bool = True
) -> tuple[list[tuple[int, int]], float]:
    """(merges, seconds)."""
    arrays: dict[str, Any] = {}

    def new(name: str, count: int, dtype: Any, value: int | None = None) -> int:
        arrays[name] = device.empty(count, dtype) if value is None else device.full(count, dtype, value)
        return int(device.pointer(arrays[name]))

    n = text.size
    plain = np.zeros((), PLAIN)
    job = plain["learning"]
    for name in ("symbols", "moved"):
        plain[name] = new(name, n + 256, np.uint32, 0x7FFFFFFF)
    plain["length"], plain["match_count"] = new("length", 2, np.uint64, 0), new("match_count", 1, np.uint64, 0)
    device.assign(arrays["length"][:1], n)
    plain["matches"] = new("matches", n // 2 + 64, np.uint32)
    plain["chunk_sizes"], plain["chunk_starts"] = (
        new("sizes", n // 4096 + 64, np.uint32),
        new("at", n // 4096 + 64, np.uint64),
    )
    plain["text"], plain["starts"] = device.pointer(text.data), device.pointer(starts)
    lengths, prefixes = np.zeros(wanted, np.uint32), np.zeros(wanted, np.uint64)
    lengths[:256], prefixes[:256] = 1, np.arange(256, dtype=np.uint64) << np.uint64(56)
    token_starts = np.arange(wanted, dtype=np.uint64)
    for name, array in (("lengths", lengths), ("prefixes", prefixes), ("starts", token_starts)):
        arrays[name] = device.put(array)
        job[name] = device.pointer(arrays[name])
    job["bytes"], job["merged"] = new("bytes", 16 * wanted + MOST_BYTES, np.uint8), new("merged", wanted, np.uint64)
    device.assign(arrays["bytes"][:256], device.put(np.arange(256, dtype=np.uint8)))
    job["wanted"], job["max_token_bytes"], job["floor"], job["by_bytes"] = wanted, 65535, 1, by_bytes
    job["pairs"], job["pair_mask"], job["pair_limit"] = (
        new("pairs", PAIRS * PAIR.itemsize // 8, np.uint64),
        PAIRS - 1,
        PAIRS * 5 // 8,
    )
    job["front"], job["front_wish"], job["histogram"] = (
        new("front", PAIRS, np.uint32),
        TUNING.wish,
        new("hist", BUCKETS, np.uint32),
    )
    job["list_room"] = 1 << 62  # lists are neither written nor read
    job["sides"] = new("sides", SIDES * wanted * SIDE.itemsize // 8, np.uint64, 0)
    job["seen"] = new("seen", SIDES * wanted, np.uint32)
    job["most_merges"] = 1 << 62
    state = np.zeros((), LEARNED)
    state["tokens"], state["least"], state["front_least"], state["byte_top"] = 256, 1, 1 << 62, 256
    arrays["learned"] = device.put(state.reshape(1).view(np.uint64))
    job["learned"] = device.pointer(arrays["learned"])
    device.synchronize()
    begin = time.perf_counter()
    device.launch("clear", plain, 1024, 256)
    device.launch("spread", plain, 4096, 256)
    device.launch("tally", plain, 4096, 256)
    device.launch("plain", plain, device.blocks_for("plain", 1 << 16), 1024)
    device.synchronize()
    seconds = time.perf_counter() - begin
    count = int(device.get(arrays["learned"]).view(LEARNED)[0]["tokens"])
    pairs = device.get(arrays["merged"][256:count]).tolist()
    return [(pair >> 32, pair & 0xFFFFFFFF) for pair in pairs], seconds


def main() -> None:
    from streamtok.gpu._device import CudaDevice

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=pathlib.Path, required=True)
    parser.add_argument("--mb", type=int, nargs="+", default=[24, 240, 960])
    parser.add_argument("--sizes", type=int, nargs="+", default=[2304, 32000])
    parser.add_argument(
        "--most", type=float, default=10.0, help="seconds that a run over the running text may be expected to take"
    )
    options = parser.parse_args()
    print(machine(), flush=True)
    bench, rows = Bench(plain_options()), []
    device = CudaDevice("cl100k", 0, (PLAIN_MODULE,))
    for mb in options.mb:
        data = repeated(text_of(options.corpus, "english"), mb * 1_000_000)
        text, starts = starts_of(bench, data)
        pieces, text_bytes, counted = bench.count(data)
        row, laid = bench.row(pieces)
        pieces.drop()
        expected = 0.0
        for size in options.sizes:
            trainer, seconds = bench.learn(row, size, text_bytes)
            want = [trainer.merge(token) for token in range(256, trainer.count)]
            if expected * size > options.most:
                print(f"{mb} MB, {size}: left out, about {expected * size:.0f} s", flush=True)
                continue
            got, plain_seconds = learn(device, text, starts, size)
            same = "the same" if got == want else f"OTHERS, {len(got)} and {len(want)}"
            expected = plain_seconds / size
            print(f"{mb} MB, {size}: merges are {same}; {plain_seconds:.3f} s, {seconds:.3f} s", flush=True)
            rows.append([f"{mb} MB, {size}", f"{plain_seconds:.3f}", f"{counted + laid:.3f}", f"{seconds:.3f}"])
    print(markdown(["text", "running text, s", "pieces and row, s", "with an index, s"], rows), flush=True)


if __name__ == "__main__":
    main()
