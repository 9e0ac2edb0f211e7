"""Encoding with a custom pattern: the `regex` package splits (splitter.py), the core merges.

PatternCoder and PatternCoreStream have the methods of Coder and CoreStream (native/encode.pyx), so that core.py and
_stream.py need not know which of the two they hold.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from .._checks import checked
from ..errors import at_row, disallowed_special_error, stream_busy_error
from ..native.encode import Coder
from ..native.gate import Gate
from ..native.matcher import FOUND
from ..native.steps import Alone
from ..native.text import mend_surrogates
from .splitter import PatternSplitter, PatternStream

if TYPE_CHECKING:
    from .._protocols import Ids, Names, SomeText, Text
    from ..native.vocab import Vocab


class PatternCoder:
    """Encodes whole texts with one error mode; see native.encode.Coder. Safe to share between threads."""

    has_cuts = False

    def __init__(self, vocab: Vocab, pat_str: str, engine: str, errors: str, seconds: float | None) -> None:
        self.splitter = PatternSplitter(pat_str, seconds)
        self.spans = Coder(vocab, None, engine, errors)
        self.vocab = vocab
        self.errors = errors

    def encode_array(self, source: Text, allowed: Names, disallowed: Names, longer: object = None) -> Ids:
        """As that of native.encode.Coder; one thread encodes long texts, too, since the splitter holds the GIL."""
        text = as_text(source, self.errors)
        data = text.encode()
        if disallowed is not None:
            kind, _, _, index = disallowed.search(data).next(True)
            if kind == FOUND and index is not None:
                raise disallowed_special_error(disallowed.names[index])
        parts, _ = encode_segments(self, data, allowed, final=True)
        return _joined(parts)

    def encode(self, source: str, allowed: Names, disallowed: Names) -> list[int]:
        ids: list[int] = self.encode_array(checked(source), allowed, disallowed).tolist()
        return ids

    def encode_many(self, sources: list[SomeText], allowed: Names, disallowed: Names) -> tuple[Ids, list[int]]:
        parts: list[Ids] = []
        try:
            for source in sources:
                parts.append(self.encode_array(source, allowed, disallowed))
        except Exception as error:
            raise at_row(error, len(parts)) from error.__cause__
        starts = [0]
        for part in parts:
            starts.append(starts[-1] + len(part))
        return _joined(parts), starts

    def count(self, source: Text, allowed: Names, disallowed: Names, longer: object = None) -> int:
        return len(self.encode_array(source, allowed, disallowed))

    def encode_piece(self, piece: bytes) -> list[int]:
        return self.spans.encode_piece(piece)

    def piece_spans(self, source: Text) -> bytes:
        return self.splitter.split(as_text(source, self.errors)).tobytes()

    def split(self, source: Text) -> list[int]:
        ends: list[int] = self.splitter.split(as_text(source, self.errors))[:, 1].tolist()
        return ends

    def stream(self, allowed: Names, disallowed: Names, copies: bool) -> PatternCoreStream:
        return PatternCoreStream(self, allowed, disallowed)

    def encode_ordinary(self, text: str) -> Ids:
        return self.spans.encode_spans(text.encode(), self.splitter.split(text))


def encode_segments(
    coder: PatternCoder, data: bytes, allowed: Names, final: bool, stream: PatternStream | None = None, node: int = 0
) -> tuple[list[Ids], int]:
    """(arrays of ids, node of the text held back) of UTF-8: ordinary text between allowed special tokens.

    A stream takes the ordinary text and gives back what is decided; without one it is split as a whole. node: what was
    held back of the text in front of `data`, as native.matcher.NameSearch has it.
    """
    import numpy as np

    parts, at = [], 0
    held = len(_text_of(allowed, node))

    def ordinary(end: int, ends: bool) -> None:
        before = allowed.bytes_of(node, at, min(end, held)) if allowed is not None and at < held else b""
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


class PatternCoreStream:
    """The machine of a StreamEncoder; see native.encode.CoreStream. Its arrays always own their memory.

    Text passes a Gate first, as a device's stream does: whole characters of valid UTF-8, and no disallowed name.
    """

    _now: _State

    def __init__(self, coder: PatternCoder, allowed: Names, disallowed: Names) -> None:
        self.coder, self.allowed, self.disallowed = coder, allowed, disallowed
        self._alone = Alone(stream_busy_error)
        self.reset()

    def feed(self, chunk: Text) -> Ids:
        return self._alone.run(self._run, chunk, False)

    def flush(self) -> Ids:
        return self._alone.run(self._run, "", True)

    def _run(self, chunk: Text, final: bool) -> Ids:
        now = self._now
        gate, pieces = now.gate.copy(), now.pieces.twin()
        data = gate.take(chunk, final)
        parts, held = encode_segments(self.coder, data, self.allowed, final, pieces, now.held)
        ids = _joined(parts)
        self._now = _State(gate, 0 if final else held, pieces)
        return ids

    @property
    def pending(self) -> int:
        now = self._now
        held = now.gate.held
        waiting = 3 if isinstance(held, str) else len(held)  # a high surrogate, or the beginning of a character
        return waiting + len(_text_of(self.allowed, now.held)) + now.pieces.pending_bytes

    @property
    def offset(self) -> int:
        return self._now.gate.offset

    def reset(self) -> None:
        self._now = _State(Gate(self.coder.spans, self.disallowed), 0, self.coder.splitter.stream())

    def pass_over(self, n: int) -> None:
        self._now.gate.pass_over(n)

    def copy(self) -> PatternCoreStream:
        other, now = PatternCoreStream(self.coder, self.allowed, self.disallowed), self._now
        other._now = _State(now.gate.copy(), now.held, now.pieces.copy())
        return other

    def save(self) -> bytes:
        gate, node, pieces = self._now
        held = gate.held
        partial, high = ("", held) if isinstance(held, str) else (held.hex(), "")
        names = _text_of(self.allowed, node), gate.watched
        parts = [partial, high, *(text.hex() for text in names), gate.offset]
        return json.dumps([*parts, pieces.context, pieces.pending]).encode()

    def load(self, data: bytes) -> bool:
        try:
            partial, high, held, watch, offset, context, pending = json.loads(data)
            gate = Gate(self.coder.spans, self.disallowed)
            gate.restore(bytes.fromhex(watch), high or bytes.fromhex(partial), offset)
            node = _node(self.allowed, bytes.fromhex(held))
            pieces = self.coder.splitter.stream()
            decided, _ = pieces.feed(pending)
            fits = len(context) <= (self.coder.splitter._compiled.context or 0)
        except (ValueError, TypeError, OverflowError, RecursionError):
            return False
        if decided and not context:
            return False  # more could have left than had
        self._now = _State(gate, node, self.coder.splitter.stream(context, pending))
        return fits


class _State(NamedTuple):
    """What a PatternCoreStream holds. held: the node of the text that may become an allowed special token."""

    gate: Gate
    held: int
    pieces: PatternStream


def _text_of(names: Names, node: int) -> bytes:
    """The text that a search stands at."""
    return b"" if names is None or not node else names.bytes_of(node)


def _node(names: Names, held: bytes) -> int:
    """The node of a search through a text that ended with what was held."""
    node = names.node_of(held) if held and names is not None else 0
    if held and not node:
        raise ValueError
    return node


def as_text(source: Text, errors: str) -> str:
    if isinstance(source, str):
        return mend_surrogates(source) if not source.isascii() else source
    return _view(source).tobytes().decode("utf-8", errors)


def _view(source: Text) -> memoryview:
    """The bytes of a buffer. Not bytes(source), which takes an int for a number of NULs."""
    try:
        return memoryview(source)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"expected str or a buffer of UTF-8 bytes, got {type(source).__name__}") from None


def _joined(parts: list[Ids]) -> Ids:
    import numpy as np

    ids = parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.zeros(0, np.uint32)
    ids.flags.writeable = False
    return ids
