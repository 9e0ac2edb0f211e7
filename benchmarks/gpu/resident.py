"""Text on the device to ids on the device: the rate by corpus and encoding, and by stage. Ids are checked first.

    python benchmarks/gpu/resident.py --corpus FOLDER [--gb 1] [--encodings r50k_base ...] [--without-pattern]

A corpus (FOLDER/{english,code,multilingual}.txt) is repeated on the device up to the size asked for. The device keeps
words that it merged, so "first" is with an encoder that has seen no text (in which the corpus is still repeated), and
the rest with one that has seen this. Times are those of device events, the median of five after a warm-up; GB are
decimal; milliseconds of stages are for a GB of text, and measured apart from each other.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

import cupy
import numpy as np
import shared

from streamtok.gpu._device import CudaDevice
from streamtok.gpu._engine import Engine
from streamtok.gpu._tables import Tables
from streamtok.gpu._text import DeviceText
from streamtok.patterns.engine import kernels_of, splitter_of

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


def on_device(data: bytes, size: int) -> DeviceText:
    """About `size` bytes of the text over and over."""
    once = cupy.asarray(np.frombuffer(data, np.uint8))
    text = cupy.tile(once, max(1, size // len(data)))
    return DeviceText(text, len(text))


def engine_of(encoding: Any) -> tuple[Engine, Timed]:
    device = Timed(kernels_of(encoding._split))
    tables = Tables(device, encoding._vocab, splitter_of(encoding._split))
    return Engine(device, encoding._coder.encode_piece, tables), device


def checked(engine: Engine, encoding: Any, data: bytes, what: str) -> int:
    """Tokens of the text, once they are known to be right."""
    want = encoding.encode_to_numpy(data, num_threads=shared.cores(), **shared.OPTIONS)
    shared.check(engine.encode(on_device(data, 0), np.uint32)[0], want, what)
    return len(want)


def timed(engine: Engine, text: DeviceText, dtype: object) -> float:
    """Milliseconds of one call."""
    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    start.record()
    engine.encode(text, dtype)
    end.record()
    end.synchronize()
    return float(cupy.cuda.get_elapsed_time(start, end))


def measure(engine: Engine, device: Timed, text: DeviceText, dtype: object) -> tuple[float, float, dict[str, float]]:
    """Milliseconds of the first call of a new encoder; of later ones; and of those by stage."""
    first, words = [], engine._tables.words
    engine.encode(text, dtype)  # buffers
    for _ in range(REPEATS):
        words.renew()
        first.append(timed(engine, text, dtype))
    times = [timed(engine, text, dtype) for _ in range(REPEATS)]
    device.timing = True
    engine.encode(text, dtype)
    device.timing = False
    return statistics.median(first), statistics.median(times), device.stages()


def rows(options: Any) -> Iterator[shared.Row]:
    kept: tuple[str, Any, Any] = ("", None, None)
    for encoding, corpus, data in shared.cases(options):
        encoding = shared.without_pattern(encoding) if options.without_pattern else encoding
        if kept[0] != encoding.name:
            kept = (encoding.name, *engine_of(encoding))
        tokens = checked(kept[1], encoding, data, f"{encoding.name}, {corpus}")
        text = on_device(data, int(options.gb * 1e9))
        first, total, stages = measure(kept[1], kept[2], text, shared.ids_dtype(encoding))
        yield {
            "encoding": encoding.name,
            "corpus": corpus,
            "first_gb_s": round(text.size / first / 1e6, 2),
            "gb_s": round(text.size / total / 1e6, 2),
            "mb": round(text.size / 1e6),
            "bytes_a_token": round(len(data) / tokens, 3),
            "stages": {name: round(spent / text.size * 1e9, 3) for name, spent in stages.items()},
        }


def table(found: list[shared.Row]) -> str:
    stages = shared.names_in(found, "stages")
    cells = [
        [
            f"{row['encoding']}, {row['corpus']}",
            row["first_gb_s"],
            row["gb_s"],
            *(row["stages"].get(name, "") for name in stages),
        ]
        for row in found
    ]
    return shared.markdown(["on the device; ms of stages for a GB", "first, GB/s", "GB/s", *stages], cells)


if __name__ == "__main__":
    shared.main(__doc__, rows, table, brief={"gb": 0.5}, gb=1.0, without_pattern=False)
