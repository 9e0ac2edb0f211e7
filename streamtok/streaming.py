"""Streams and files: the part of class Encoding that takes text in chunks."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Collection, Iterable, Iterator
from collections.abc import Set as AbstractSet

from . import device as devices
from .native import encode
from .patterns import family_of
from .stream import StreamEncoder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    import numpy as np
    import numpy.typing as npt

    from .files.encode import EncodedFile

    _AllowedSpecial = Literal["all"] | AbstractSet[str]
    _DisallowedSpecial = Literal["all"] | Collection[str]


class Streaming:
    """What encodes chunk by chunk; Encoding (core.py) adds whole texts."""

    name: str
    _pat_str: str | None

    def _matchers_for(self, allowed: _AllowedSpecial, disallowed: _DisallowedSpecial) -> tuple[Any, Any]:
        raise NotImplementedError

    def _coder_for(self, errors: str) -> Any:
        raise NotImplementedError

    def stream_encoder(
        self,
        allowed_special: _AllowedSpecial = set(),  # noqa: B006
        disallowed_special: _DisallowedSpecial = "all",
        errors: str = "strict",
        copy: bool = False,
        device: str = "cpu",
    ) -> StreamEncoder:
        """An encoder that takes text in chunks, cut anywhere.

        Args:
            allowed_special: as for encode(); names may be split across chunks.
            disallowed_special: as for encode(); names may be split across chunks.
            errors: what to do with bytes that are not UTF-8: "strict" raises UnicodeDecodeError, "replace" and "ignore"
                do what bytes.decode does on the whole text.
            copy: return arrays that own their memory.
            device: "cpu"; "cuda" or "cuda:N" to gather text to batches of 8 MB for a GPU: the ids are the same, and
                come later than on the CPU; "auto" to send a chunk to the GPU where it is large enough: ids come as
                early as on the CPU. See docs/gpu.md.

        Raises:
            ValueError: the pattern is one of your own and cannot be split as a stream; unknown `errors` or `device`.
            streamtok.gpu.DeviceError: a device asked for by name cannot be used.
        """
        allowed, disallowed = self._matchers_for(allowed_special, disallowed_special)
        stream = devices.stream(self, device, (allowed, disallowed), errors, copy) if device != "cpu" else None
        if stream is not None:
            pass
        elif family_of(self._pat_str) is not None:
            stream = encode.CoreStream(self._coder_for(errors), allowed, disallowed, copy)
        else:
            stream = self._coder_for(errors).stream(allowed, disallowed, copy)
        options = {
            "allowed_special": "all" if allowed_special == "all" else frozenset(allowed_special),
            "disallowed_special": "all" if disallowed_special == "all" else frozenset(disallowed_special),
            "errors": errors,
            "copy": copy,
        }
        if device != "cpu":
            options["device"] = device
        return StreamEncoder(self, stream, options)  # type: ignore[arg-type]

    def encode_stream(self, chunks: Iterable[str | bytes], **options: Any) -> Iterator[npt.NDArray[np.uint32]]:
        """Yields the ids of a text that comes as an iterable of chunks: an array as soon as there are ids that no later
        chunk can change.

        Args:
            chunks: str, or buffers of UTF-8 bytes, cut anywhere.
            options: those of stream_encoder(), which names the errors too; `copy` is True unless it is given, so that
                each array owns its memory.
        """
        stream = self.stream_encoder(**{"copy": True} | options)
        for chunk in chunks:
            ids = stream.feed(chunk)
            if len(ids):
                yield ids
        ids = stream.flush()
        if len(ids):
            yield ids

    async def encode_stream_async(
        self, chunks: AsyncIterable[str | bytes], **options: Any
    ) -> AsyncIterator[npt.NDArray[np.uint32]]:
        """encode_stream() for an asynchronous iterable. Encoding runs in the event loop, a chunk at a time: chunks of
        up to 64 KB keep it responsive.

        Args:
            chunks: str, or buffers of UTF-8 bytes, cut anywhere.
            options: as for encode_stream().
        """
        stream = self.stream_encoder(**{"copy": True} | options)
        async for chunk in chunks:
            ids = stream.feed(chunk)
            if len(ids):
                yield ids
        ids = stream.flush()
        if len(ids):
            yield ids

    def encode_file(self, src: Any, dst: Any, **options: Any) -> EncodedFile:
        """Encodes text files into a file of ids, in bounded memory; a run that was killed can be resumed.

        Args:
            src: a path, an open binary stream, or a list of these.
            dst: the path of the file to write.
            options: those of streamtok.files.encode_file(), which names the errors too.
        """
        from .files.encode import encode_file

        return encode_file(self, src, dst, **options)
