"""Encodes the documents that readers take out of sources: one stream, one pipeline that the ids leave through."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from .._batch import encode_array, encode_many_aside
from .._device import DeviceCoder
from ..errors import shown
from ..native import job
from ..native.encode import Coder
from .in_order import NO_ENDS, Emission, Emit, Ends, Ids, Pipeline, Prepare
from .options import Device, Options
from .reading import Chunk, Explain, Reading

if TYPE_CHECKING:
    from .._protocols import ArrayCoder, Encoding, SomeText, StreamOptions
    from ..native.texts import Texts

_PART = 1 << 20  # bytes of a text that a thread encodes at once
_NO_IDS: Ids = np.empty(0, dtype=np.uint32)

# A device has three texts in flight at once, each on a thread that copies it and waits; a fourth thread handles the ids
# of the text before.
_DEVICE_THREADS = 4


class DocumentEncoder(Reading):
    """Encodes what a reader takes out of a source."""

    def __init__(
        self,
        encoding: Encoding,
        emit: Emit,
        options: Options,
        num_threads: int,
        device: Device | None,
        prepare: Prepare | None,
        wants_ends: bool,
    ) -> None:
        self.pipeline = Pipeline(emit, num_threads if device is None else max(num_threads, _DEVICE_THREADS), prepare)
        self.part = _PART if device is None else device.chunk
        self.options, self.key, self.errors = options, options.key, options.errors
        specials: StreamOptions = {
            "allowed_special": options.allowed_special,
            "disallowed_special": options.disallowed_special,
            "errors": options.errors,
        }
        if options.add_special_tokens:
            specials["add_special_tokens"] = True
        self.template = encoding._template if options.add_special_tokens else ((), ())
        self.stream = encoding.stream_encoder(**specials)
        core = encoding._coder_for(options.errors)
        self.coder: ArrayCoder = core if device is None else DeviceCoder(encoding, device.name, options.errors)
        self.core = core
        self.matchers = encoding._matchers_for(options.allowed_special, options.disallowed_special)
        self._eot = _eot_ids(encoding) if options.append_eot else _NO_IDS
        self._wants_ends = wants_ends
        self._end: Ends = np.array([len(self._eot)], np.uint64) if wants_ends else NO_ENDS

    @property
    def takes_parts(self) -> bool:  # type: ignore[override]
        """Whether several threads share the parts of a text. A template's ids come from the stream, with the first
        chunk and at the end."""
        return self.pipeline.num_threads > 1 and self.core.has_cuts and not any(self.template)

    @property
    def begins_at_cut(self) -> bool:  # type: ignore[override]
        """A run that is resumed inside a source has the text before in its stream."""
        return self.offset == 0

    def feed_part(self, part: str | Chunk) -> None:
        """Encode more of the document in the stream."""
        self.pipeline.put(self.stream.feed(part))

    def flush(self) -> None:
        """What the stream holds ends."""
        self.pipeline.put(self.stream.flush())

    def close_document(self) -> None:
        """The document in the stream ends."""
        self.flush()
        self.count_document()

    def count_document(self) -> None:
        """Count a document whose ids were all passed on."""
        if len(self._eot) or len(self._end):
            self.pipeline.put(self._eot, self._end)
        self.documents += 1
        self.is_open = False

    def cuts(self, data: Chunk) -> list[int]:
        """Where the text may be cut, about self.part apart."""
        return job.cuts(data, self.part, *self.matchers, self.core if isinstance(self.core, Coder) else None)

    def encode_part(self, part: Any, explain: Explain) -> None:
        """Encode a part of a text on a thread."""
        self.pipeline.submit(lambda: Emission(self.coder.encode_array(part, *self.matchers)), explain)

    def encode_certain(self, data: Chunk, explain: Explain) -> int:
        """Encode text without a cut by all threads together, as far as its ids are certain: a token ends there."""
        core = self.core
        if self.coder is not core or not isinstance(core, Coder) or not job.has_loose_cuts(core):
            return 0
        cuts = job.cuts(data, len(data), *self.matchers, core, loose=True)
        if not cuts:
            return 0
        part = memoryview(data)[: cuts[-1]]
        try:
            ids = encode_array(core, part, *self.matchers, self.pipeline.num_threads)
        except ValueError:
            explain()  # raises the error with the offset in the whole text
            raise
        count, size = job.certain_part(core, ids, part) or (0, 0)
        if size:
            self.pipeline.put(ids[:count])
        return size

    def enter_stream(self, offset: int) -> None:
        """Bring the stream to a cut: it has counted the text so far, and holds nothing of it."""
        self.stream.reset()
        self.stream._pass_over(offset)

    def explain(self, chunks: Iterable[Chunk], final: bool = False) -> Explain:
        """What raises the error that a stream raises for these chunks, which begin at self.offset."""
        name, offset = self.name, self.offset

        def explain() -> None:
            self.name, self.kind = name, "text"
            self.enter_stream(offset)
            for chunk in chunks:
                self.stream.feed(chunk)
            if final:
                self.stream.flush()

        return explain

    def encode_batch(self, texts: list[SomeText] | Texts, lines: Iterable[int]) -> None:
        """Encode whole documents in one call, several times as fast as one by one; `lines` are their line numbers."""
        standing = self.name, self.kind, self.place_of

        def explain() -> None:
            self.name, self.kind, self.place_of = standing
            for self.line, text in zip(lines, cast("Iterable[Any]", texts)):  # to find the one that is refused
                self.stream.reset()
                self.stream.feed(text)
                self.stream.flush()

        self.pipeline.submit(lambda: self._batch_ids(texts), explain)
        self.documents += len(texts)

    def _batch_ids(self, texts: list[SomeText] | Texts) -> Emission:
        if isinstance(self.coder, DeviceCoder):
            ids, indptr = self.coder.encode_many(texts, *self.matchers)
        else:
            ids, indptr = encode_many_aside(self.coder, texts, *self.matchers)
        prefix, suffix = self.template
        around = [*prefix, *suffix, *self._eot.tolist()]
        borders = np.asarray(indptr)
        ends: Ends = NO_ENDS
        if self._wants_ends:
            ends = (borders[1:] + len(around) * np.arange(1, len(borders))).astype(np.uint64)
        if not around:
            return Emission(ids, ends)
        places = np.empty((len(texts), len(around)), np.int64)
        places[:, : len(prefix)], places[:, len(prefix) :] = borders[:-1, None], borders[1:, None]
        return Emission(np.insert(ids, places.ravel(), np.tile(np.array(around, np.uint32), len(texts))), ends)

    def pass_objects(self, records: Sequence[Any], numbers: Sequence[int]) -> None:
        """Pass on the passthrough columns of these objects, which are at these lines. Raises ValueError, with self.line
        at the first one that is refused."""
        if self.passthrough is None:
            return
        try:
            self.passthrough.objects(records)
        except ValueError:
            self.line = numbers[self.passthrough.first_refused(records)]
            raise


def _eot_ids(encoding: Encoding) -> Ids:
    try:
        return np.array([encoding.eot_token], dtype=np.uint32)
    except KeyError:
        raise ValueError(
            f"append_eot=True, but the encoding {shown(encoding.name)} has no <|endoftext|> token to append: "
            "leave append_eot out or choose another encoding"
        ) from None
