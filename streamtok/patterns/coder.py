"""Encoding with a custom pattern: the `regex` package splits (splitter.py), the core merges.

PatternCoder and PatternCoreStream have the methods of Coder and CoreStream (native/encode.pyx), so that core.py and
stream.py need not know which of the two they hold.
"""

from __future__ import annotations

import codecs
import json
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from ..checks import checked
from ..errors import disallowed_special_error, invalid_utf8_error, stream_busy_error
from ..native.encode import Coder
from ..native.text import mend_surrogates
from ..native.vocab import FOUND, NOTHING
from .splitter import PatternSplitter, PatternStream

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_REPLACEMENT = "\ufffd"


class PatternCoder:
    """Encodes whole texts with one error mode; see native.encode.Coder. Safe to share between threads."""

    has_cuts = False

    def __init__(self, vocab: Any, pat_str: str, engine: str, errors: str, seconds: float | None) -> None:
        self.splitter = PatternSplitter(pat_str, seconds)
        self.spans = Coder(vocab, None, engine, errors)
        self.vocab = vocab
        self.errors = errors

    def encode_array(self, source: Any, allowed: Any, disallowed: Any) -> npt.NDArray[np.uint32]:
        text = as_text(source, self.errors)
        data = text.encode()
        if disallowed is not None:
            kind, _, _, index = disallowed.search(data).next(True)
            if kind == FOUND:
                raise disallowed_special_error(disallowed.names[index])
        parts, _ = encode_segments(self, data, allowed, final=True)
        return _joined(parts)

    def encode(self, source: Any, allowed: Any, disallowed: Any) -> list[int]:
        return self.encode_array(checked(source), allowed, disallowed).tolist()  # type: ignore[no-any-return]

    def encode_many(self, sources: list[Any], allowed: Any, disallowed: Any) -> tuple[Any, list[int]]:
        parts = [self.encode_array(source, allowed, disallowed) for source in sources]
        starts = [0]
        for part in parts:
            starts.append(starts[-1] + len(part))
        return _joined(parts), starts

    def count(self, source: Any, allowed: Any, disallowed: Any) -> int:
        return len(self.encode_array(source, allowed, disallowed))

    def encode_piece(self, piece: bytes) -> list[int]:
        return self.spans.encode_piece(piece)

    def split(self, source: Any) -> list[int]:
        return self.splitter.split(as_text(source, self.errors))[:, 1].tolist()  # type: ignore[no-any-return]

    def stream(self, allowed: Any, disallowed: Any, copies: bool) -> PatternCoreStream:
        return PatternCoreStream(self, allowed, disallowed)

    def encode_ordinary(self, text: str) -> npt.NDArray[np.uint32]:
        return self.spans.encode_spans(text.encode(), self.splitter.split(text))


def encode_segments(
    coder: PatternCoder, data: bytes, allowed: Any, final: bool, stream: PatternStream | None = None, node: int = 0
) -> tuple[list[Any], int]:
    """(arrays of ids, node of the text held back) of UTF-8: ordinary text between allowed special tokens.

    A stream takes the ordinary text and gives back what is decided; without one it is split as a whole. node: what was
    held back of the text in front of `data`, as native.vocab.NameSearch has it.
    """
    import numpy as np

    parts, at = [], 0
    held = allowed.length_of(node) if node else 0

    def ordinary(end: int, ends: bool) -> None:
        before = allowed.bytes_of(node, at, min(end, held)) if at < held else b""
        text = (before + data[max(0, at - held) : max(0, end - held)]).decode()
        if stream is None:
            parts.append(coder.encode_ordinary(text))
            return
        # decided, spans: what a feed gives; at the end of a text flush gives the rest
        for decided, spans in [stream.feed(text), stream.flush()] if ends else [stream.feed(text)]:
            parts.append(coder.spans.encode_spans(decided.encode(), spans))

    if allowed is None:
        ordinary(len(data), final)
        return parts, 0
    names = allowed.search(data, node)
    while (found := names.next(final))[0] == FOUND:
        _, start, end, token = found
        ordinary(start, True)
        parts.append(np.array([token], np.uint32))
        at = end
    ordinary(found[1], final)
    return parts, names.node


class _State(NamedTuple):
    """All that a stream remembers, apart from the splitter's own stream. Replaced as a whole when a feed succeeds."""

    partial: bytes = b""  # a cut character
    high: str = ""  # a high surrogate at the end of the last str
    held: int = 0  # node of the text that may become an allowed special token
    watch: int = 0  # node of the end of the text that may become a disallowed one
    offset: int = 0


class PatternCoreStream:
    """What a StreamEncoder calls; see native.encode.CoreStream. Its arrays always own their memory."""

    def __init__(self, coder: PatternCoder, allowed: Any, disallowed: Any) -> None:
        self.coder, self.allowed, self.disallowed = coder, allowed, disallowed
        self._state = _State()
        self._pieces = coder.splitter.stream()
        self._busy = threading.Lock()

    def feed(self, chunk: Any) -> npt.NDArray[np.uint32]:
        return self._run(chunk, final=False)

    def flush(self) -> npt.NDArray[np.uint32]:
        return self._run("", final=True)

    def _run(self, chunk: Any, final: bool) -> npt.NDArray[np.uint32]:
        if not self._busy.acquire(blocking=False):
            raise stream_busy_error()
        try:
            text, size, state = self._take(chunk, final)
            data = text.encode()
            watch = self._check(state, data, final)
            before = self._pieces.mark()
            try:
                parts, held = encode_segments(self.coder, data, self.allowed, final, self._pieces, state.held)
            except BaseException:
                self._pieces.go_back(before)
                raise
            self._state = _State() if final else state._replace(held=held, watch=watch, offset=state.offset + size)
            return _joined(parts)
        finally:
            self._busy.release()

    def _take(self, chunk: Any, final: bool) -> tuple[str, int, _State]:
        """(text, bytes fed, state) of a chunk: cut characters and surrogates joined with what came before."""
        state = self._state
        if isinstance(chunk, str):
            text = state.high + chunk
            high = text[-1:] if not final and "\ud800" <= text[-1:] < "\udc00" else ""
            text = mend_surrogates(text[: len(text) - len(high)])
            size = len(text.encode())
            if state.partial and (chunk or final):  # whole characters cannot continue a cut one
                text = self._decode(state.partial, True)[0] + text
                state = state._replace(partial=b"")
            return text, size, state._replace(high=high)
        fed = _view(chunk).cast("B")
        text, partial = self._decode(state.partial + bytes(fed), final)
        lone = _REPLACEMENT if state.high else ""  # bytes cannot continue a surrogate pair
        return lone + text, len(fed), state._replace(partial=partial, high="")

    def _decode(self, data: bytes, final: bool) -> tuple[str, bytes]:
        decoder = codecs.getincrementaldecoder("utf-8")(self.coder.errors)
        try:
            return decoder.decode(data, final), decoder.getstate()[0]
        except UnicodeDecodeError as error:
            offset = self._state.offset - len(self._state.partial) + error.start
            raise invalid_utf8_error(data, error.start, error.end, error.reason, offset) from None

    def _check(self, state: _State, data: bytes, final: bool) -> int:
        """The new watch; raises if a disallowed name is complete."""
        if self.disallowed is None:
            return 0
        names = self.disallowed.search(data, state.watch)
        kind, start, _, index = names.next(final)
        if kind != NOTHING and index is not None:
            offset = state.offset - self.disallowed.length_of(state.watch) - len(state.partial) + start
            raise disallowed_special_error(self.disallowed.names[index], offset)
        return names.node  # type: ignore[no-any-return]

    @property
    def pending(self) -> int:
        state = self._state
        held: int = self.allowed.length_of(state.held) if state.held else 0
        return len(state.partial) + held + (3 if state.high else 0) + self._pieces.pending_bytes

    @property
    def offset(self) -> int:
        return self._state.offset

    def reset(self) -> None:
        self._state = _State()
        self._pieces.reset()

    def copy(self) -> PatternCoreStream:
        other = PatternCoreStream(self.coder, self.allowed, self.disallowed)
        other._state, other._pieces = self._state, self._pieces.copy()
        return other

    def save(self) -> bytes:
        state = self._state
        held = self.allowed.bytes_of(state.held) if state.held else b""
        watch = self.disallowed.bytes_of(state.watch) if state.watch else b""
        parts = [state.partial.hex(), state.high, held.hex(), watch.hex(), state.offset]
        return json.dumps([*parts, self._pieces._context, self._pieces.pending]).encode()

    def load(self, data: bytes) -> bool:
        try:
            partial, high, held, watch, offset, context, pending = json.loads(data)
            nodes = _node(self.allowed, bytes.fromhex(held)), _node(self.disallowed, bytes.fromhex(watch))
            state = _State(bytes.fromhex(partial), high, *nodes, int(offset))
            pieces = self.coder.splitter.stream()
            decided, _ = pieces.feed(pending)
            fits = len(context) <= (self.coder.splitter._compiled.context or 0)
        except (ValueError, TypeError, UnicodeError):
            return False
        if decided and not context:
            return False  # more was decided than the state says
        self._state, self._pieces = state, self.coder.splitter.stream(context, pending)
        return fits


def _node(names: Any, held: bytes) -> int:
    """The node of a search through a text that ended with what was held."""
    node: int = names.node_of(held) if held and names is not None else 0
    if held and not node:
        raise ValueError
    return node


def as_text(source: Any, errors: str) -> str:
    if isinstance(source, str):
        return mend_surrogates(source) if not source.isascii() else source
    return _view(source).tobytes().decode("utf-8", errors)


def _view(source: Any) -> memoryview:
    """The bytes of a buffer. Not bytes(source), which takes an int for a number of NULs."""
    try:
        return memoryview(source)
    except TypeError:
        raise TypeError(f"expected str or a buffer of UTF-8 bytes, got {type(source).__name__}") from None


def _joined(parts: list[Any]) -> npt.NDArray[np.uint32]:
    import numpy as np

    ids = parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.zeros(0, np.uint32)
    ids.flags.writeable = False
    return ids
