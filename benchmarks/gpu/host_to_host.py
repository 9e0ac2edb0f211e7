"""Text in host memory to ids in host memory: GB/s by chunk size, pinned and pageable, and over several devices.

    python benchmarks/gpu/host_to_host.py --corpus FOLDER [--gb 1] [--chunks 4 16 32 64] [--devices 1 2]

A corpus is repeated up to the size asked for. Wall time of GpuPipeline.encode, median of five after a warm-up; ids are
checked first, over the whole corpus. GB are decimal, chunks in MiB.
"""

from __future__ import annotations

import common
import cupyx
import numpy as np

import streamtok
from streamtok.gpu import GpuPipeline


def pinned(size: int, dtype: object) -> np.ndarray:
    return cupyx.empty_pinned(size, dtype)


def rates(
    encoding: streamtok.Encoding, data: bytes, source: np.ndarray, out: np.ndarray, chunk: int, devices: int
) -> tuple[float, float]:
    """GB/s from pinned to pinned memory and from pageable to pageable."""
    pipeline = GpuPipeline(encoding, device=list(range(devices)), ids=out.dtype.name, chunk_size=chunk)
    options = {"disallowed_special": ()}
    fast = common.median_seconds(lambda: pipeline.encode(source, out=out, **options))
    slow = common.median_seconds(lambda: pipeline.encode(data, **options), repeats=3)
    return len(data) / fast / 1e9, len(data) / slow / 1e9


def main() -> None:
    options = common.arguments(__doc__, gb=1.0, chunks=[4, 16, 32, 64], devices=[1])
    rows = []
    for name in options.encodings:
        encoding = streamtok.get_encoding(name)
        for corpus in options.corpora:
            data = common.text_of(options.corpus, corpus)
            want = encoding.encode_to_numpy(data, disallowed_special=(), num_threads=16)
            got = GpuPipeline(encoding, chunk_size=1 << 20).encode(data, disallowed_special=())
            common.check(got, want, f"{name} {corpus}")
            text = common.repeated(data, int(options.gb * 1e9))
            source = pinned(len(text), np.uint8)
            source[:] = np.frombuffer(text, np.uint8)
            room = int(len(text) * (len(got) / len(data) + 0.01)) + 1000
            out = pinned(room, "uint16" if encoding.max_token_value < 65536 else "uint32")
            for devices in options.devices:
                found = [rates(encoding, text, source, out, chunk << 20, devices) for chunk in options.chunks]
                rows.append([f"{name}, {corpus}, {devices} device(s)", *(f"{a:.1f} / {b:.1f}" for a, b in found)])
                print(*rows[-1], flush=True)
    print(common.machine())
    print(common.table(["GB/s, pinned / pageable", *(f"chunks of {chunk} MB" for chunk in options.chunks)], rows))


if __name__ == "__main__":
    main()
