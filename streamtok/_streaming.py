"""Streams and files: the methods of class Encoding that take text in chunks."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from types import MethodType

from . import _device as devices
from ._stream import StreamEncoder, TemplateStream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._protocols import AllowedSpecial, DisallowedSpecial, Encoding, Ids, Stream, StreamOptions, Text
    from .files.encode import encode_file as encode_file


def stream_encoder(
    self: Encoding,
    allowed_special: AllowedSpecial = set(),  # noqa: B006
    disallowed_special: DisallowedSpecial = "all",
    errors: str = "strict",
    copy: bool = False,
    device: str = "cpu",
    add_special_tokens: bool = False,
) -> StreamEncoder:
    """An encoder that takes text in chunks, cut anywhere.

    Args:
        errors: what to do with bytes that are not UTF-8: "strict" raises UnicodeDecodeError, "replace" and "ignore"
            do what bytes.decode does on the whole text.
        copy: return arrays that own their memory.
        device: "cpu"; "cuda" or "cuda:N" to gather text to batches of 8 MB for a GPU: the ids are the same, and
            come later than on the CPU; "auto" to send a chunk to the GPU where it is large enough: ids come as
            early as on the CPU. See docs/gpu.md.
        add_special_tokens: put the ids of the model's template around the ids of each text.

    Raises:
        ValueError: the pattern is one of your own and cannot be split as a stream; unknown `errors` or `device`.
        streamtok.gpu.DeviceError: a device asked for by name cannot be used.
    """
    matchers = self._matchers_for(allowed_special, disallowed_special)
    stream: Stream | None = devices.stream(self, device, matchers, errors, copy) if device != "cpu" else None
    if stream is None:
        stream = self._coder_for(errors).stream(*matchers, copy)
    if add_special_tokens:
        stream = TemplateStream(stream, self._template)
    options: StreamOptions = {
        "allowed_special": "all" if allowed_special == "all" else frozenset(allowed_special),
        "disallowed_special": "all" if disallowed_special == "all" else frozenset(disallowed_special),
        "errors": errors,
        "copy": copy,
    }
    if device != "cpu":
        options["device"] = device
    if add_special_tokens:
        options["add_special_tokens"] = True
    return StreamEncoder(self, stream, options)


def encode_stream(
    self: Encoding,
    chunks: Iterable[Text],
    *,
    allowed_special: AllowedSpecial = set(),  # noqa: B006
    disallowed_special: DisallowedSpecial = "all",
    errors: str = "strict",
    copy: bool = True,
    device: str = "cpu",
    add_special_tokens: bool = False,
) -> Iterator[Ids]:
    """Yields the ids of a text that comes as an iterable of chunks: an array as soon as there are ids that no later
    chunk can change.

    Args:
        chunks: str, or buffers of UTF-8 bytes, cut anywhere.
        errors: as for stream_encoder(), which names the errors that are raised, too.
        copy: as for stream_encoder(), but by default each array owns its memory.
    """
    stream = self.stream_encoder(allowed_special, disallowed_special, errors, copy, device, add_special_tokens)
    for chunk in chunks:
        ids = stream.feed(chunk)
        if len(ids):
            yield ids
    ids = stream.flush()
    if len(ids):
        yield ids


async def encode_stream_async(
    self: Encoding,
    chunks: AsyncIterable[Text],
    *,
    allowed_special: AllowedSpecial = set(),  # noqa: B006
    disallowed_special: DisallowedSpecial = "all",
    errors: str = "strict",
    copy: bool = True,
    device: str = "cpu",
    add_special_tokens: bool = False,
) -> AsyncIterator[Ids]:
    """encode_stream() for an asynchronous iterable. Encoding runs in the event loop, a chunk at a time: chunks of
    up to 64 KB keep it responsive.

    Args:
        chunks: str, or buffers of UTF-8 bytes, cut anywhere.
        copy: as for encode_stream().
    """
    stream = self.stream_encoder(allowed_special, disallowed_special, errors, copy, device, add_special_tokens)
    async for chunk in chunks:
        ids = stream.feed(chunk)
        if len(ids):
            yield ids
    ids = stream.flush()
    if len(ids):
        yield ids


class _EncodeFile:
    """streamtok.files.encode_file() as a method. To import it takes longer than to import the package."""

    def __get__(self, encoding: Encoding | None, kind: type[Encoding]) -> Any:
        from .files.encode import encode_file

        return encode_file if encoding is None else MethodType(encode_file, encoding)


if not TYPE_CHECKING:
    encode_file = _EncodeFile()
