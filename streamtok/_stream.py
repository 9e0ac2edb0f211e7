"""Streams: text in chunks to ids, ids to text."""

from __future__ import annotations

import codecs
import struct
import zlib
from collections.abc import Callable

from ._checks import single_id
from ._identity import stream_fingerprint
from .errors import stream_busy_error, unknown_handler_error
from .native.decode import CoreStreamDecoder
from .native.rule_decoder import RuleDecoderStream
from .native.steps import Alone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from ._protocols import Encoding, Ids, Stream, StreamOptions, Template, Text, TokenIds

_STATE = struct.Struct("<8sI32s")  # magic and version, CRC-32 of what follows, fingerprint of encoding and options
_STATE_MAGIC = b"stream\x00\x02"


class StreamEncoder:
    """Encodes one text after another, each cut into chunks anywhere.

    However the text is cut, the arrays of all feed() calls and of flush(), joined, are the ids of the whole text, token
    for token those of Encoding.encode. feed() returns the ids that no later chunk can change, and holds back the rest:
    the piece that is still open (of a piece longer than 256 bytes only what the finality rule of docs/streaming.md asks
    for), a cut character, the beginning of an allowed special token's name.

    >>> stream = enc.stream_encoder()
    >>> for chunk in chunks:
    ...     consume(stream.feed(chunk))
    >>> consume(stream.flush())

    A call that raises leaves the stream as it was before. A stream serves one thread at a time: a second one inside a
    call gets RuntimeError. Made by Encoding.stream_encoder, which describes the options. It can be copied and pickled.
    As a context manager it resets the stream on leaving, whatever happened; it does not call flush().
    """

    # `feed` is a slot that holds the method of the core's stream: a Python function would add a tenth to a short feed.
    __slots__ = {
        "_options": None,
        "_stream": None,
        "encoding": "The Encoding that made the stream.",
        "feed": """feed(chunk)

        Takes the next chunk: str, or any C-contiguous buffer of UTF-8 bytes, which may end inside a character.

        Returns a read-only uint32 array over the stream's own memory: no copy. An array that is still held when feed()
        is called again keeps its memory, so it never changes; one that was dropped lends it to the next call.

        Raises:
            ValueError: the text of a disallowed special token, also when its name is split across chunks.
            UnicodeDecodeError: bytes that are not UTF-8, with errors="strict".
            RuntimeError: another thread is inside this stream.
        """,
    }

    feed: Callable[[Text], Ids]

    def __init__(self, encoding: Encoding, stream: Stream, options: StreamOptions) -> None:
        self.encoding = encoding
        self._stream = stream
        self._options = options
        StreamEncoder.feed.__set__(self, stream.feed)  # type: ignore[attr-defined, misc]  # also in a subclass

    def __repr__(self) -> str:
        try:
            state = f"{self.pending} bytes pending"
        except RuntimeError:
            state = "in use by another thread"
        return f"<StreamEncoder of {self.encoding.name!r}, {state}>"

    def flush(self) -> Ids:
        """Ends the text and returns the ids that were held back, as feed() does; the stream is then ready for the next
        text.

        Raises:
            UnicodeDecodeError: the text ends inside a character, with errors="strict"; the stream is as it was.
            RuntimeError: another thread is inside this stream.
        """
        return self._stream.flush()

    @property
    def pending(self) -> int:
        """Bytes fed whose ids have not been returned. RuntimeError: another thread is inside this stream."""
        return self._stream.pending

    @property
    def offset(self) -> int:
        """Bytes fed since the text began. Another thread may ask at any time."""
        return self._stream.offset

    def reset(self) -> None:
        """Forgets the text that was begun: the next feed() begins another one."""
        self._stream.reset()

    def _pass_over(self, n: int) -> None:
        """Counts n bytes of text as seen, where nothing is pending: they were encoded elsewhere."""
        self._stream.pass_over(n)

    def copy(self) -> StreamEncoder:
        """An independent stream in the same state."""
        return StreamEncoder(self.encoding, self._stream.copy(), self._options)

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, object]) -> StreamEncoder:
        return self.copy()

    def getstate(self) -> bytes:
        """The state as bytes, for setstate() of a stream of the same encoding and options, in any process. It holds the
        text that is pending, and what is known about it. RuntimeError: another thread is inside this stream."""
        state: bytes = self._stream.save()
        return _STATE.pack(_STATE_MAGIC, zlib.crc32(state), self._fingerprint()) + state

    def setstate(self, state: bytes) -> None:
        """Takes over what getstate() returned.

        Args:
            state: bytes, or another buffer of them.

        Raises:
            ValueError: the bytes are damaged, of another version, or of a stream of another encoding or other options.
                The stream is then as it was, or, if damage was found only after the checksum had passed, reset.
            TypeError: `state` is no buffer of bytes.
        """
        try:
            state = memoryview(state).tobytes()
        except TypeError:
            kind = type(state).__name__
            raise TypeError(f"the state is of type {kind}; pass the bytes that getstate() returned") from None
        if len(state) < _STATE.size or not state.startswith(_STATE_MAGIC[:7]):
            raise ValueError("this is not the state of a StreamEncoder; pass what getstate() returned")
        magic, checksum, fingerprint = _STATE.unpack_from(state)
        if magic != _STATE_MAGIC:
            raise ValueError(f"the state has version {magic[7]}, this streamtok reads version {_STATE_MAGIC[7]}")
        if fingerprint != self._fingerprint():
            raise ValueError(
                "the state belongs to a stream of another encoding, or with other special tokens or error mode; "
                "make the stream with the options of the one that was saved"
            )
        state = state[_STATE.size :]
        right = checksum == zlib.crc32(state)
        if right and state[:1] == b"[" and state[-1:] == b"]" and self.encoding.pattern_engine != "regex":
            raise ValueError(
                "the state was saved where the `regex` package split this pattern; here a table does, which cannot go "
                "on from it; encode the text again from its beginning"
            )
        if not right or not self._stream.load(state):
            raise ValueError("the state is damaged: its parts contradict each other or its checksum")

    def _fingerprint(self) -> bytes:
        return stream_fingerprint(self.encoding, self._options)

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (self.encoding, self._options, self.getstate())

    def __enter__(self) -> StreamEncoder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.reset()


def _restore(encoding: Encoding, options: StreamOptions, state: bytes) -> StreamEncoder:
    stream = encoding.stream_encoder(**options)
    stream.setstate(state)
    return stream


def in_template(ids: Ids, template: Template) -> Ids:
    """A read-only array of the ids with those of the template around them."""
    import numpy as np

    made = np.concatenate([np.array(template[0], np.uint32), ids, np.array(template[1], np.uint32)])
    made.flags.writeable = False
    return made


class TemplateStream:
    """A stream that gives the ids of a template, too: those in front with the first feed, those behind with flush()."""

    def __init__(self, stream: Stream, template: Template, begun: bool = False) -> None:
        self._alone, self._template = Alone(stream_busy_error), template
        self._now = stream, begun  # one value: the two never contradict each other

    def feed(self, chunk: Text) -> Ids:
        return self._alone.run(self._feed, chunk)

    def flush(self) -> Ids:
        return self._alone.run(self._flush)

    def _feed(self, chunk: Text) -> Ids:
        stream, begun = self._now
        if begun:
            return stream.feed(chunk)
        twin = stream.copy()
        ids = in_template(twin.feed(chunk), (self._template[0], ()))
        self._now = twin, True
        return ids

    def _flush(self) -> Ids:
        stream, begun = self._now
        twin = stream.copy()
        ids = in_template(twin.flush(), (() if begun else self._template[0], self._template[1]))
        self._now = twin, False
        return ids

    @property
    def pending(self) -> int:
        return self._now[0].pending

    @property
    def offset(self) -> int:
        return self._now[0].offset

    def reset(self) -> None:
        self._alone.run(self._reset)

    def _reset(self) -> None:
        twin = self._now[0].copy()
        twin.reset()
        self._now = twin, False

    def pass_over(self, n: int) -> None:
        self._alone.run(self._now[0].pass_over, n)

    def copy(self) -> TemplateStream:
        stream, begun = self._now
        return TemplateStream(stream.copy(), self._template, begun)

    def save(self) -> bytes:
        stream, begun = self._now
        return bytes([begun]) + stream.save()

    def load(self, state: bytes) -> bool:
        if state[:1] not in (b"\0", b"\1"):
            return False
        return self._alone.run(self._load, state)

    def _load(self, state: bytes) -> bool:
        twin = self._now[0].copy()
        loaded = twin.load(state[1:])
        self._now = twin, loaded and state[0] == 1
        return loaded


class StreamDecoder:
    """Decodes ids as they come; returns whole characters only.

    The joined results equal Encoding.decode of all ids, wherever they are cut. Bytes of an unfinished character wait
    for the next ids. Made by Encoding.stream_decoder. It can be copied and pickled; as a context manager it resets the
    decoder on leaving.

    >>> decoder = enc.stream_decoder()
    >>> for token in ids:
    ...     print(decoder.feed(token), end="")
    >>> print(decoder.flush())

    Args:
        encoding: the Encoding whose ids are decoded.
        errors: as for bytes.decode().
        skip_special_tokens: leave out the ids of special tokens.

    Raises:
        LookupError: an unknown name for `errors`.
    """

    # `feed` is a slot that holds the method of the core's decoder, as in StreamEncoder.
    __slots__ = {
        "_core": None,
        "encoding": "The Encoding whose ids are decoded.",
        "errors": "What to do with bytes that are not UTF-8, as for bytes.decode().",
        "feed": """feed(tokens)

        The text that these ids complete; "" while a character is unfinished. A call that raises leaves the decoder as
        it was.

        Args:
            tokens: an int, or what Encoding.decode takes.

        Raises:
            KeyError: an unknown id; other ids are refused as by Encoding.decode.
            UnicodeDecodeError: bytes that are not UTF-8, with errors="strict".
        """,
        "skip_special_tokens": "Whether the ids of special tokens are left out.",
    }

    feed: Callable[[int | TokenIds], str]

    def __init__(self, encoding: Encoding, errors: str = "replace", skip_special_tokens: bool = False) -> None:
        self.encoding = encoding
        self.errors = errors
        self.skip_special_tokens = skip_special_tokens
        try:  # fail now, not at the first broken character
            codecs.lookup_error(errors)
        except LookupError:
            raise unknown_handler_error(errors) from None
        decoder, rules = encoding._decoder, encoding._rule_decoder
        self._core: CoreStreamDecoder | RuleDecoderStream
        if rules is None:
            self._core = CoreStreamDecoder(decoder, errors, skip_special_tokens, single_id)
        else:
            self._core = RuleDecoderStream(rules, decoder, errors, skip_special_tokens, single_id)
        StreamDecoder.feed.__set__(self, self._core.feed)  # type: ignore[attr-defined, misc]  # also in a subclass

    def __repr__(self) -> str:
        return f"<StreamDecoder of {self.encoding.name!r}, {self.pending} bytes pending>"

    def flush(self) -> str:
        """Ends the text and returns what is left of an unfinished character, handled as `errors` says. The decoder is
        then ready for the next text.

        Raises:
            UnicodeDecodeError: a character is unfinished, with errors="strict"; the decoder is as it was.
        """
        return self._core.flush()

    @property
    def pending(self) -> int:
        """Bytes that wait: those of an unfinished character, 0 to 3. Where a model has tokens of bytes, those of a run
        of such tokens, since it is known at its end only whether it is text."""
        return self._core.pending

    def reset(self) -> None:
        """Forgets the unfinished character."""
        self._core.reset()

    def copy(self) -> StreamDecoder:
        """An independent decoder in the same state."""
        return _restore_decoder(*self.__reduce__()[1])

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, object]) -> StreamDecoder:
        return self.copy()

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return _restore_decoder, (self.encoding, self.errors, self._core.getstate(), self.skip_special_tokens)

    def __enter__(self) -> StreamDecoder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.reset()


def _restore_decoder(encoding: Encoding, errors: str, pending: Any, skip_special_tokens: bool = False) -> StreamDecoder:
    decoder = StreamDecoder(encoding, errors, skip_special_tokens)
    # A manipulated state must not bring in bytes that no decoder holds back.
    if encoding._rule_decoder is None:
        if len(pending) > 3 or codecs.getincrementaldecoder("utf-8")("strict").decode(pending):
            raise ValueError("the saved state of a StreamDecoder holds more than the beginning of one character")
    decoder._core.setstate(pending)
    return decoder


_restore.__module__ = _restore_decoder.__module__ = f"{__package__}.stream"  # where pickles find them
