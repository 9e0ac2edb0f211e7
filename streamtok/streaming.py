"""Streams and files: the part of class Encoding that takes text in chunks."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Sequence

from . import device as devices
from .stream import StreamEncoder, TemplateStream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .files.encode import EncodedFile, Progress
    from .protocols import AllowedSpecial, DisallowedSpecial, Encoding, Ids, Path, Source, Stream, StreamOptions, Text


class Streaming:
    """What encodes chunk by chunk; Encoding (core.py) adds whole texts."""

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
            allowed_special: as for encode(); names may be split across chunks.
            disallowed_special: as for encode(); names may be split across chunks.
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
            allowed_special: as for encode(); names may be split across chunks.
            disallowed_special: as for encode(); names may be split across chunks.
            errors: as for stream_encoder(), which names the errors that are raised, too.
            copy: as for stream_encoder(), but by default each array owns its memory.
            device: as for stream_encoder().
            add_special_tokens: as for stream_encoder().
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
            allowed_special: as for encode_stream().
            disallowed_special: as for encode_stream().
            errors: as for encode_stream().
            copy: as for encode_stream().
            device: as for encode_stream().
            add_special_tokens: as for encode_stream().
        """
        stream = self.stream_encoder(allowed_special, disallowed_special, errors, copy, device, add_special_tokens)
        async for chunk in chunks:
            ids = stream.feed(chunk)
            if len(ids):
                yield ids
        ids = stream.flush()
        if len(ids):
            yield ids

    def encode_file(
        self: Encoding,
        src: Source | Sequence[Source],
        dst: Path,
        *,
        format: str | None = None,
        dtype: str = "auto",
        index: bool = False,
        documents: str | None = None,
        key: str = "text",
        append_eot: bool = False,
        resume: bool = False,
        progress: Callable[[Progress], object] | None = None,
        chunk_size: int = 1 << 20,
        journal_bytes: int = 64 << 20,
        allowed_special: AllowedSpecial = frozenset(),
        disallowed_special: DisallowedSpecial = frozenset(),
        errors: str = "strict",
        num_threads: int | None = 1,
        device: str = "cpu",
        add_special_tokens: bool = False,
        column: str | None = None,
        nulls: str = "error",
        carry: Sequence[str] = (),
    ) -> EncodedFile:
        """Encodes text files into a file of ids, in bounded memory; a run that was killed can be resumed.

        streamtok.files.encode_file() with this encoding; what is said there of each argument, and of the errors, holds
        here.

        Args:
            src: a path, an open binary stream, a source of streamtok.files, or a list of these.
            dst: the path of the file to write.
            format: "bin", "npy", that of a trainer (docs/formats.md), or None to go by the suffix of `dst`.
            dtype: "uint16", "uint32", or "auto" for the smaller one that every id fits.
            index: keep where documents end in `<dst>.ends`.
            documents: "text", "lines", "jsonl", or None to go by the suffix of each source.
            key: the key of JSON lines that holds the text.
            append_eot: put the end-of-text token behind each document.
            resume: go on where a run that did not finish stopped.
            progress: called with a Progress after each chunk.
            chunk_size: bytes of text that are read at a time.
            journal_bytes: bytes of text after which a point to resume from is kept.
            allowed_special: names of special tokens that become their ids where the text spells them; "all" for all.
            disallowed_special: names that are refused; "all" for all that are not allowed. By default none is.
            errors: what to do with bytes that are not UTF-8: "strict", "replace" or "ignore".
            num_threads: how many threads encode; None for as many as there are cores.
            device: as for encode_to_numpy().
            add_special_tokens: put the ids of the model's template around each document.
            column: the column of parquet and Arrow files that holds the text; None for the name in `key`.
            nulls: what a null in it is: "error", "skip" or "empty".
            carry: names of columns whose values go with the documents, into formats that have columns.
        """
        from .files.encode import encode_file

        return encode_file(
            self,
            src,
            dst,
            format=format,
            dtype=dtype,
            index=index,
            documents=documents,
            key=key,
            append_eot=append_eot,
            resume=resume,
            progress=progress,
            chunk_size=chunk_size,
            journal_bytes=journal_bytes,
            allowed_special=allowed_special,
            disallowed_special=disallowed_special,
            errors=errors,
            num_threads=num_threads,
            device=device,
            add_special_tokens=add_special_tokens,
            column=column,
            nulls=nulls,
            carry=carry,
        )
