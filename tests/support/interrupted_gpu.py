"""Calls of a device, which is emulated (host_device.py): rows of interrupted_rows.py."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
import oracle
from english import ENGLISH
from host_device import HostDevice
from interrupted import Row

from streamtok import gpu
from streamtok.gpu import _open

SMALL = [(_open, "open_device", HostDevice)] if shutil.which("g++") else []
"""What is set while the rows are made and called: (owner, name, value)."""

_TEXT = ENGLISH[:260].decode("latin-1") + " naïve ☕ <|endoftext|> "
_SPECIAL: dict[str, Any] = {"allowed_special": "all"}


def _pipeline_rows() -> list[Row]:
    enc = oracle.ours("r50k_base")

    def new() -> Any:
        return gpu.GpuPipeline(enc, chunk_size=96)

    def future(pipeline: Any) -> object:
        short, long = pipeline.encode("a short text"), pipeline.encode(_TEXT, **_SPECIAL)
        return short.tolist(), long.tolist(), pipeline.encode_batch(["a", "b c"])[0].tolist(), len(pipeline._free)

    calls: dict[str, Callable[[Any], object]] = {
        "a short text": lambda pipeline: pipeline.encode("another text"),
        "a long text": lambda pipeline: pipeline.encode(_TEXT, **_SPECIAL),
        "several texts": lambda pipeline: pipeline.encode_batch(["one", _TEXT[:120], "two"], **_SPECIAL),
        "broken bytes": lambda pipeline: pipeline.encode(b"ab \xff cd", errors="replace"),
    }
    return [Row(f"GpuPipeline: {what}", new, call, future, 15) for what, call in calls.items()]


def _encoder_rows() -> list[Row]:
    enc = oracle.ours("r50k_base")

    def new() -> Any:
        return gpu.GpuEncoder(enc)

    def future(encoder: Any) -> object:
        short, long = encoder.encode("a short text"), encoder.encode(_TEXT, **_SPECIAL)
        ids, starts = encoder.encode_batch(["a", "b c"])
        return short.tolist(), long.tolist(), ids.tolist(), starts.tolist(), encoder._lock.locked()

    calls: dict[str, Callable[[Any], object]] = {
        "a short text": lambda encoder: encoder.encode("another text"),
        "several texts": lambda encoder: encoder.encode_batch(["one", _TEXT[:120]], **_SPECIAL),
        "rows": lambda encoder: encoder.encode_padded(["one", "two words"], length=8),
    }
    return [Row(f"GpuEncoder: {what}", new, call, future, 15) for what, call in calls.items()]


def _decoder_rows() -> list[Row]:
    enc = oracle.ours("r50k_base")
    ids = np.array(enc.encode(_TEXT, **_SPECIAL), np.uint32)
    emoji = enc.encode("☕")

    def pipeline() -> Any:
        return gpu.GpuDecodePipeline(enc, chunk_size=24)

    def decoded(decoder: Any) -> object:
        return decoder.decode_bytes(ids).tobytes(), decoder._lock.locked()

    def stream() -> Any:
        made = gpu.GpuDecoder(enc).stream(rows=2)
        made.feed(np.array([emoji[0], ids[0]], np.uint32))
        return made

    def streamed(decoder: Any) -> object:
        made = [decoder.feed(np.array([token, ids[1]], np.uint32)) for token in emoji[1:]]
        return [(bytes(data), starts.tolist()) for data, starts in [*made, decoder.flush()]]

    feed = np.array([emoji[1], ids[3]], np.uint32)
    return [
        Row("GpuDecodePipeline: decode_bytes", pipeline, lambda it: it.decode_bytes(ids[:70]), decoded, 15),
        Row("GpuStreamDecoder: feed", stream, lambda it: it.feed(feed), streamed, 15),
        Row("GpuStreamDecoder: flush", stream, lambda it: it.flush(), streamed, 15),
    ]


def gpu_rows() -> list[Row]:
    """Where there is a compiler for the kernels."""
    return [*_pipeline_rows(), *_encoder_rows(), *_decoder_rows()] if SMALL else []
