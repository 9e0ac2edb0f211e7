"""How long a call takes on the CPU and on a device, measured once a machine, device and family of patterns."""

from __future__ import annotations

import bisect
import contextlib
import dataclasses
import itertools
import json
import math
import pathlib
import platform
import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _batch, disk
from .._version import __version__
from ..disk import cache_folder
from ..native.texts import Texts

if TYPE_CHECKING:
    from .._protocols import ArrayCoder

KINDS = "bytes", "str", "texts", "lists", "column"
"""What a call may be given: bytes or an ASCII str; another str; a list; a list whose ids are to be lists; texts that
lie in memory. Each takes another way to the device, and costs the CPU another time."""

DOCUMENT = 2048
"""Bytes of a text of the lists and columns that are measured."""

_SIZES = 1 << 10, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26

_ENOUGH = 0.05  # seconds of a call: a text of more bytes takes longer in proportion

_FILE_SHARE = 1 / 6
"""Of the time that a CPU thread takes to encode a byte: what the host does around the device for a byte of a file
(reading, two copies, checksums, writing). Measured: 0.55 of 3.3 ns."""

_MOST = 1 << 20  # bytes of the file that is read: a few thousand for each device and family

Curve = list[tuple[int, float]]
"""(bytes, seconds of a call), ascending."""


class Load(NamedTuple):
    """What a call is to encode. size: in bytes, or characters of a str. texts: how many. threads: of the CPU, None for
    as many as there are."""

    kind: str
    size: int
    texts: int = 1
    threads: int | None = 1
    is_file: bool = False


@dataclasses.dataclass(frozen=True)
class Rates:
    """Seconds. cpu: calls with all threads that the process may use, by kind. one: a byte on one thread, by kind.
    device: calls on the device, by kind. cpu_text, device_text: a text of a list, beside its bytes."""

    cpu: dict[str, Curve]
    one: dict[str, float]
    device: dict[str, Curve]
    cpu_text: float = 0.0
    device_text: float = 0.0

    def on_cpu(self, load: Load) -> float:
        """As many threads help as the size has work for, which the calls with all threads tell."""
        plain = self.one[load.kind] * load.size
        alone = max(plain + self.cpu_text * _more_texts(load), plain / 4)
        threads = _batch.threads_for(load.threads)
        if threads == 1 or not plain:
            return alone
        return max(alone / threads, _at(self.cpu[load.kind], load.size) * alone / plain)

    def on_device(self, load: Load) -> float:
        found = _at(self.device[load.kind], load.size) + self.device_text * _more_texts(load)
        if load.is_file:
            found = max(found, _FILE_SHARE * self.one[load.kind] * load.size)
        return max(found, self.device["bytes"][0][1])


def _more_texts(load: Load) -> float:
    """How many texts more there are than in what was measured."""
    return load.texts - load.size / DOCUMENT if load.kind in ("texts", "lists", "column") else 0.0


def _at(curve: Curve, size: int) -> float:
    """Straight lines between the points, and in front of the first and behind the last as these two go on."""
    place = min(max(bisect.bisect(curve, (size, math.inf)), 1), len(curve) - 1)
    (a, first), (b, last) = curve[place - 1], curve[place]
    return max(first + (last - first) * (size - a) / (b - a), min(first, last) / 2)


def cache_file() -> pathlib.Path:
    """Where what was measured is kept. Raises FileNotFoundError where the user has no place for it."""
    return pathlib.Path(cache_folder.folder(), "devices.json")


def _kept() -> bytes:
    with disk.open_read(str(cache_file())) as file:
        return file.read_all(_MOST)


def key_of(identity: str, family: str) -> str:
    return f"{platform.node()} {identity} {family} {__version__}"


def read(key: str) -> Rates | None:
    """What was measured before; None where nothing was, or the file cannot be read."""
    try:
        kept = json.loads(_kept())[key]
        cpu, device = ({kind: _curve(kept[side][kind]) for kind in KINDS} for side in ("cpu", "device"))
        one = {kind: float(kept["one"][kind]) for kind in KINDS}
        return Rates(cpu, one, device, float(kept["cpu_text"]), float(kept["device_text"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _curve(kept: Any) -> Curve:
    found = [(int(size), float(seconds)) for size, seconds in kept]
    if len(found) < 2 or any(one[0] >= other[0] for one, other in itertools.pairwise(found)):
        raise ValueError(found)
    return found


def write(key: str, rates: Rates) -> None:
    """Keeps what was measured. The file is replaced as a whole; where that cannot be, nothing is kept."""
    try:
        kept = json.loads(_kept())
        kept = kept if isinstance(kept, dict) else {}
    except (OSError, ValueError, RecursionError):
        kept = {}
    text = json.dumps({**kept, key: dataclasses.asdict(rates)}, indent=1)
    with contextlib.suppress(OSError):
        cache_file().parent.mkdir(parents=True, exist_ok=True)
        disk.replace(str(cache_file()), lambda file: file.write(text.encode()))


# ==== What is measured ====


def sample(encoding: Any, size: int) -> bytes:
    """Text of words that the vocabulary has, early ones more often, as in a language; a megabyte is repeated."""
    rng = random.Random(1)
    words = [token for token in encoding.token_byte_values() if token[:1] == b" " and token[1:].isalpha()]
    words = words or [bytes([byte]) for byte in range(97, 123)]
    weights = [1 / (20 + place) for place in range(len(words))]
    most = min(size, 1 << 20)
    text = b""
    while len(text) < most:
        text += b"".join(rng.choices(words, weights, k=most // 4 + 1))
    text = text[:most].decode("utf-8", "ignore").encode()
    return text * (size // max(1, len(text)) + 1)


def made(kind: str, text: bytes, size: int, document: int = DOCUMENT) -> Any:
    """So many bytes of the text as a kind has them."""
    if kind == "bytes":
        return text[:size]
    if kind == "str":
        return _with_marks(text[:size])
    places = range(0, size, document)
    if kind == "column":
        spans = [(0, at, min(at + document, size)) for at in places]
        return Texts([text[:size]]).cut(np.array(spans, np.int64).ravel())
    parts = [text[at : min(at + document, size)] for at in places]
    return [_with_marks(part) if number % 2 else part.decode() for number, part in enumerate(parts)]


def _with_marks(text: bytes) -> str:
    """A str with a few characters beyond ASCII."""
    return "".join(text[at : at + 400].decode("utf-8", "ignore") + "\u2019" for at in range(0, len(text), 401))


def _median(call: Callable[[Any], object], given: Any) -> float:
    times: list[float] = []
    call(given)
    while len(times) < 3 or (len(times) < 9 and sum(times) < _ENOUGH / 5):
        start = time.perf_counter()
        call(given)
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2]


def _measured(kind: str, call: Callable[[Any], object], text: bytes) -> Curve:
    curve: Curve = []
    for size in _SIZES:
        curve.append((size, max(_median(call, made(kind, text, size)), 1e-9)))
        if curve[-1][1] > _ENOUGH and len(curve) > 1:
            break
    return curve


def _text_seconds(call: Callable[[Any], object], text: bytes) -> float:
    """Of a text, by two lists of the same bytes."""
    size, few, many = min(_SIZES[-1], 1 << 18), DOCUMENT, DOCUMENT // 8
    more = _median(call, made("texts", text, size, many)) - _median(call, made("texts", text, size, few))
    return max(more, 0.0) / (size // many - size // few)


def measure(encoding: Any, coder: ArrayCoder) -> Rates:
    """coder: of the device. Takes about half a second, several where the CPU has few cores."""
    text, core = sample(encoding, _SIZES[-1]), encoding._coder
    one, cpu, device = {}, {}, {}
    middle = _SIZES[len(_SIZES) // 2]
    for kind in KINDS:
        one[kind] = _median(_on_cpu(kind, core, 1), made(kind, text, middle)) / middle
        cpu[kind] = _measured(kind, _on_cpu(kind, core, None), text)
        device[kind] = _measured(kind, _on_device(kind, coder), text)
    texts = _text_seconds(_on_cpu("texts", core, 1), text), _text_seconds(_on_device("texts", coder), text)
    return Rates(cpu, one, device, *texts)


def _on_cpu(kind: str, core: Any, threads: int | None) -> Callable[[Any], object]:
    if kind in ("bytes", "str"):
        return lambda text: _batch.encode_array(core, text, None, None, threads)
    if kind == "column":
        return lambda texts: _batch.encode_texts(core, texts, None, None, threads)
    encode = _batch.encode_lists if kind == "lists" else _batch.encode_ragged
    return lambda texts: encode(core, texts, None, None, threads)


def _on_device(kind: str, coder: Any) -> Callable[[Any], object]:
    if kind in ("bytes", "str"):
        return lambda text: coder.encode_array(text, None, None)
    if kind == "lists":
        return lambda texts: _lists(coder, *coder.encode_many(texts, None, None))
    return lambda texts: coder.encode_many(texts, None, None)


def _lists(coder: Any, ids: Any, indptr: Any) -> object:
    return _batch.listed(coder.pipeline.encoding._vocab, ids, indptr, None)
