"""Text on the device to ids on the device: the rate by corpus and encoding, and by stage. Ids are checked first.

    python benchmarks/gpu/resident.py --corpus FOLDER [--gb 1] [--encodings r50k_base ...] [--without-pattern]

A corpus (FOLDER/{english,code,multilingual}.txt) is repeated on the device up to the size asked for. Nothing is learned
from a text, so a repeated one is as much work as a fresh one of its kind. Times are those of device events, the median
of five after a warm-up; GB are decimal.
"""

from __future__ import annotations

import argparse
import pathlib
import statistics

import common
import cupy
import numpy as np

import streamtok
from streamtok.gpu._device import CudaDevice
from streamtok.gpu._engine import Engine
from streamtok.gpu._text import DeviceText
from streamtok.patterns import kernels_of

REPEATS = 5


class Timed(CudaDevice):
    """Measures each kernel by device events; for a table of stages only, since events keep kernels apart."""

    def __init__(self, family: str):
        super().__init__(family)
        self.events: list[tuple[str, object, object]] = []
        self.timing = False

    def launch(self, kernel: str, job: object, grid: int, block: int) -> None:
        if not self.timing:
            return super().launch(kernel, job, grid, block)
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        super().launch(kernel, job, grid, block)
        end.record()
        self.events.append((kernel, start, end))

    def stages(self) -> dict[str, float]:
        """Milliseconds by kernel."""
        cupy.cuda.Device().synchronize()
        times: dict[str, float] = {}
        for kernel, start, end in self.events:
            times[kernel] = times.get(kernel, 0) + cupy.cuda.get_elapsed_time(start, end)
        self.events.clear()
        return times


def repeated(data: bytes, size: int) -> cupy.ndarray:
    once = cupy.asarray(np.frombuffer(data, np.uint8))
    return cupy.tile(once, -(-size // len(data)))[: size // len(data) * len(data)]


def check(engine: Engine, encoding: streamtok.Encoding, data: bytes) -> None:
    want = encoding.encode_to_numpy(data, disallowed_special=())
    ids, _ = engine.encode(DeviceText(cupy.asarray(np.frombuffer(data, np.uint8)), len(data)), np.uint32)
    ids = cupy.asnumpy(ids)
    same = len(ids) == len(want) and bool((ids == want).all())
    if not same:
        n = min(len(ids), len(want))
        first = int(np.argmax(np.append(ids[:n] != want[:n], True)))
        there = slice(first, first + 8)
        raise SystemExit(f"ids differ: {len(ids)} and {len(want)}, first at {first}: {ids[there]} {want[there]}")


def measure(engine: Engine, device: Timed, text: DeviceText, dtype: object) -> tuple[float, dict[str, float]]:
    """Milliseconds of the whole, and by stage."""
    engine.encode(text, dtype)
    times = []
    for _ in range(REPEATS):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        engine.encode(text, dtype)
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(start, end))
    device.timing = True
    engine.encode(text, dtype)
    device.timing = False
    return statistics.median(times), device.stages()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=pathlib.Path, required=True)
    parser.add_argument("--gb", type=float, default=1.0)
    parser.add_argument("--encodings", nargs="+", default=["r50k_base", "cl100k_base", "o200k_base"])
    parser.add_argument("--corpora", nargs="+", default=["english", "code", "multilingual"])
    parser.add_argument("--without-pattern", action="store_true")
    arguments = parser.parse_args()
    for name in arguments.encodings:
        encoding = streamtok.get_encoding(name)
        if arguments.without_pattern:
            encoding = common.without_pattern(encoding)
        device = Timed(kernels_of(encoding._pat_str))
        engine = Engine(device, encoding._vocab, encoding._coder.encode_piece)
        dtype = np.uint16 if encoding.max_token_value < 65536 else np.uint32
        for corpus in arguments.corpora:
            data = (arguments.corpus / f"{corpus}.txt").read_bytes()
            check(engine, encoding, data)
            text = repeated(data, int(arguments.gb * 1e9))
            total, stages = measure(engine, device, DeviceText(text, len(text)), dtype)
            rate = len(text) / total / 1e6
            parts = "  ".join(f"{stage} {time:.2f}" for stage, time in stages.items())
            print(f"{encoding.name:12} {corpus:13} {rate:6.1f} GB/s  {total:6.2f} ms: {parts}", flush=True)
            del text


if __name__ == "__main__":
    main()
