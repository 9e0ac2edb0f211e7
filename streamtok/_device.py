"""Where texts are encoded: device="cpu", "cuda", "cuda:N" or "auto".

This module imports streamtok.gpu only in calls that name a device.
"""

from __future__ import annotations

import _thread
from collections.abc import Callable

from . import _batch
from ._checks import lies_on_a_device
from .errors import shown
from .native.steps import holding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from ._protocols import Encoding, Ids, NamePair, Names, Places, SomeText, Text
    from .gpu._select import Auto
    from .gpu.decode_pipeline import GpuDecodePipeline
    from .gpu.pipeline import GpuPipeline
    from .gpu.stream import GpuStream
    from .native.texts import Texts

    _T = TypeVar("_T")

# Bytes of a file that a device gets at once. They keep it busy long enough, and the text and ids in flight fit memory
# that is reused. Fresh memory costs more than anything else here: with 32 MB the host alone reached 0.4 GB/s.
_FILE_CHUNK = 8 << 20

LITTLE = 4096
"""Bytes that the CPU encodes before a device has begun: a launch alone takes 30 us and more."""

_LITTLE_ROWS = 64
"""The same for the texts that have these bytes."""

_lock = _thread.allocate_lock()


def check_device(device: str) -> str:
    """Raises ValueError unless it is "cpu", "auto", "cuda" or "cuda:N"."""
    if device in ("cpu", "cuda", "auto"):
        return device
    import re

    if not isinstance(device, str) or not re.fullmatch(r"cpu|auto|cuda(:\d+)?", device):
        raise ValueError(f"device={shown(device)} is unknown: write 'cpu', 'cuda', 'cuda:N' or 'auto'")
    return device


class Devices:
    """The devices that an encoding was asked for; each is opened at its first use and kept with the encoding."""

    def __init__(self, encoding: Encoding) -> None:
        from .gpu._fits import family_or_reason

        self._encoding = encoding
        self._family, _ = family_or_reason(encoding)
        self._pipelines: dict[str, GpuPipeline] = {}
        self._decoders: dict[str, GpuDecodePipeline] = {}
        self._auto: Auto | None = None

    def pipeline(self, device: str) -> GpuPipeline | None:
        """The pipeline of a device that was asked for by name; None where the CPU takes its place: gpu/_fits.py says
        why. Raises DeviceError."""
        if self._family is None:
            return None
        return holding(_lock, self._pipeline_of, device)

    def _pipeline_of(self, device: str) -> GpuPipeline:
        if device not in self._pipelines:
            from .gpu.pipeline import GpuPipeline

            self._pipelines[device] = GpuPipeline(self._encoding, device)
        return self._pipelines[device]

    def decoder(self, device: str, tokens: object) -> GpuDecodePipeline | None:
        """What decodes ids; None for the CPU, which does it where no kernel does (gpu/ids/tables.py), and under "auto"
        for ids that lie on the host. Raises DeviceError."""
        if check_device(device) == "cpu" or (device == "auto" and not lies_on_a_device(tokens)):
            return None
        from .gpu.ids.tables import why_not

        if why_not(self._encoding):
            return None
        if device == "auto":
            device = f"cuda:{tokens.__dlpack_device__()[1]}" if hasattr(tokens, "__dlpack_device__") else "cuda"
        return holding(_lock, self._decoder_of, device)

    def _decoder_of(self, device: str) -> GpuDecodePipeline:
        if device not in self._decoders:
            from .gpu.decode_pipeline import GpuDecodePipeline

            self._decoders[device] = GpuDecodePipeline(self._encoding, device)
        return self._decoders[device]

    @property
    def auto(self) -> Auto:
        return self._auto or holding(_lock, self._auto_once)

    def _auto_once(self) -> Auto:
        if self._auto is None:
            from .gpu._select import Auto

            self._auto = Auto(self._encoding, self._family)
        return self._auto

    def run(
        self,
        device: str,
        facts: tuple[str, int, int, int | None] | None,
        on_gpu: Callable[[GpuPipeline], _T],
        on_cpu: Callable[[], _T],
    ) -> _T:
        """on_gpu(pipeline), or on_cpu(): where no kernel serves the encoding; and under "auto" where the CPU is faster,
        or the device fails. facts: what "auto" is to encode, as gpu/_calibration.py's Load has it; else None."""
        if facts is not None:
            return self.auto.choose(*facts, on_gpu, on_cpu)
        pipeline = self.pipeline(check_device(device))
        return on_cpu() if pipeline is None else on_gpu(pipeline)


class DeviceCoder:
    """A coder, as files/documents.py takes one, of the device that suits each text."""

    def __init__(self, encoding: Encoding, device: str, errors: str) -> None:
        self._devices, self._device, self._errors = devices_of(encoding), device, errors
        self._coder = encoding._coder_for(errors)

    def encode_array(self, source: Text, allowed: Names, disallowed: Names) -> Ids:
        return self._devices.run(
            self._device,
            facts_of(source, 1) if self._device == "auto" else None,
            lambda gpu: gpu.coder(self._errors).encode_array(source, allowed, disallowed),
            lambda: self._coder.encode_array(source, allowed, disallowed),
        )

    def encode_many(
        self, sources: list[SomeText] | Texts, allowed: Names, disallowed: Names
    ) -> tuple[Ids, list[int] | Places]:
        """Texts are read where they lie: no object is made for one."""
        return self._devices.run(
            self._device,
            facts_of_all(sources, 1) if self._device == "auto" else None,
            lambda gpu: gpu.coder(self._errors).encode_many(sources, allowed, disallowed),
            lambda: _batch.encode_many_aside(self._coder, sources, allowed, disallowed),
        )


def devices_of(encoding: Encoding) -> Devices:
    found: Devices = encoding._devices or holding(_lock, _devices_once, encoding)
    return found


def _devices_once(encoding: Encoding) -> Devices:
    if encoding._devices is None:
        encoding._devices = Devices(encoding)
    found: Devices = encoding._devices
    return found


def file_chunk(encoding: Encoding, device: str, size: int, num_threads: int) -> int | None:
    """Bytes of a file to take at once for a device; None where the CPU takes it. size: of all text, as far as known."""
    devices = devices_of(encoding)
    if check_device(device) == "auto":
        pipeline = devices.auto.for_file(size, num_threads)
    else:
        pipeline = devices.pipeline(device)
    return None if pipeline is None else min(pipeline.chunk, _FILE_CHUNK)


def is_device_error(error: BaseException) -> bool:
    """Is it a streamtok.gpu.DeviceError? Decided without importing streamtok.gpu, which may not be loaded."""
    names = {(kind.__module__, kind.__name__) for kind in type(error).__mro__}
    return ("streamtok.gpu._errors", "DeviceError") in names


def cuda_facts() -> dict[str, object]:
    """For info(): devices, versions of driver and CuPy, and what has kernels; or {"missing": why}."""
    from .gpu._open import describe
    from .patterns import KERNELS

    return {**describe(), "kernels": list(KERNELS), "other patterns": "encoded on the CPU"}


# ==== What class Encoding calls where a device was named ====


def facts_of(text: Any, num_threads: int | None) -> tuple[str, int, int, int | None]:
    """What a call has to do, for "auto"."""
    kind = "str" if isinstance(text, str) and not text.isascii() else "bytes"
    try:
        return kind, len(text), 1, num_threads
    except TypeError:
        return kind, 0, 1, num_threads  # not a text: the CPU's encoder raises the error


def facts_of_all(
    texts: list[Any] | Texts, num_threads: int | None, kind: str = "texts"
) -> tuple[str, int, int, int | None]:
    if not isinstance(texts, list):
        return "column", texts.size, len(texts), num_threads
    if kind == "texts" and len(texts) == 1:
        return facts_of(texts[0], num_threads)
    try:
        return kind, sum(map(len, texts)), len(texts), num_threads
    except TypeError:
        return kind, 0, 1, num_threads  # as above


def _run(
    encoding: Encoding,
    device: str,
    facts: tuple[str, int, int, int | None] | None,
    on_gpu: Callable[[GpuPipeline], _T],
    on_cpu: Callable[[], _T],
) -> _T:
    """As Devices.run(). Most short calls under "auto" take no longer than it would take to weigh the two sides: these
    are on_cpu() at once."""
    if facts is not None:
        _, size, texts, _ = facts
        if (size <= LITTLE and texts <= _LITTLE_ROWS) or devices_of(encoding).auto.is_for_cpu(*facts):
            return on_cpu()
    return devices_of(encoding).run(device, facts, on_gpu, on_cpu)


def encode_array(
    encoding: Encoding, device: str, text: Text, matchers: NamePair, errors: str, num_threads: int | None
) -> Ids:
    return _run(
        encoding,
        device,
        facts_of(text, num_threads) if device == "auto" else None,
        lambda gpu: gpu.coder(errors).encode_array(text, *matchers),
        lambda: _batch.encode_array(encoding._coder_for(errors), text, *matchers, num_threads),
    )


def encode_many(
    encoding: Encoding,
    device: str,
    texts: list[SomeText] | Texts,
    matchers: NamePair,
    errors: str,
    num_threads: int | None,
) -> tuple[Ids, Places]:
    """(ids of all texts, row starts)."""
    on_cpu: Callable[..., tuple[Ids, Places]] = _batch.encode_ragged if isinstance(texts, list) else _batch.encode_texts
    return _run(
        encoding,
        device,
        facts_of_all(texts, num_threads) if device == "auto" else None,
        lambda gpu: gpu.coder(errors).encode_many(texts, *matchers),
        lambda: on_cpu(encoding._coder_for(errors), texts, *matchers, num_threads),
    )


def encode_lists(
    encoding: Encoding, device: str, texts: list[str], matchers: NamePair, num_threads: int | None
) -> list[list[int]]:
    return _run(
        encoding,
        device,
        facts_of_all(texts, num_threads, "lists") if device == "auto" else None,
        lambda gpu: _batch.listed(encoding._vocab, *gpu.coder("strict").encode_many(texts, *matchers), num_threads),
        lambda: _batch.encode_lists(encoding._coder, texts, *matchers, num_threads),
    )


def stream(encoding: Encoding, device: str, matchers: NamePair, errors: str, copy: bool) -> GpuStream | None:
    """The stream object that gathers text for a device; None where the CPU's is used."""
    devices = devices_of(encoding)
    if check_device(device) == "cpu" or devices._family is None:
        return None
    from .gpu.stream import AutoStream, GpuStream

    if device == "auto":
        return AutoStream(encoding, DeviceCoder(encoding, device, "strict"), matchers, errors, copy)
    devices.pipeline(device)
    return GpuStream(encoding, DeviceCoder(encoding, device, "strict"), matchers, errors, copy)


# ==== What class Decoding calls where a device was named; None: the CPU decodes ====


def decode_bytes(encoding: Any, device: str, tokens: Any, skip_special: bool) -> bytes | None:
    decoder = devices_of(encoding).decoder(device, tokens)
    return None if decoder is None else decoder.as_bytes(tokens, skip_special)


def decode_text(encoding: Any, device: str, tokens: Any, errors: str, skip_special: bool) -> str | None:
    decoder = devices_of(encoding).decoder(device, tokens)
    if decoder is None:
        return None
    from .native.buffers import text_of_bytes

    return text_of_bytes(decoder.decode_bytes(tokens, skip_special_tokens=skip_special), errors)


def decode_rows(encoding: Any, device: str, batch: Any, errors: str | None, skip_special: bool) -> list[Any] | None:
    """Rows of str, or of bytes where `errors` is None."""
    decoder = devices_of(encoding).decoder(device, batch)
    if decoder is None:
        return None
    from .native.buffers import rows_of_bytes

    return rows_of_bytes(*decoder.decode_bytes_batch(batch, skip_special_tokens=skip_special), errors)
