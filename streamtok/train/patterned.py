"""Pieces by a custom pattern, or by none at all: the `regex` package splits, the core counts."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Any

import numpy as np

from ..native.text import mend_surrogates
from ..patterns.coder import encode_segments
from ..patterns.splitter import PatternSplitter
from .inputs import How

if TYPE_CHECKING:
    from .._protocols import Places
    from ..native.trainer import Counter

_NO_IDS = np.zeros(0, np.uint32)


class PatternCounter:
    """Takes a text in chunks and counts its pieces; pat_str None: what lies between special tokens is one piece."""

    def __init__(self, pat_str: Any, counter: Counter, how: How) -> None:
        self.counter, self.special = counter, how.special
        self.spans = self  # what encode_segments() takes the two methods below from
        self._decoder = codecs.getincrementaldecoder("utf-8")(how.errors)
        self._pieces: Any = PatternSplitter(pat_str).stream() if pat_str is not None else _Whole()
        self._held = 0  # node of the beginning of a name

    def take(self, chunk: str | bytes | memoryview, ends: bool) -> None:
        """The next chunk of a text; ends: it is the last."""
        held = len(self._decoder.getstate()[0])
        try:
            text = mend_surrogates(chunk) if isinstance(chunk, str) else self._decoder.decode(bytes(chunk), ends)
        except UnicodeDecodeError as error:
            start = max(error.start - held, 0)
            raise UnicodeDecodeError("utf-8", bytes(chunk), start, start + 1, error.reason) from None  # type: ignore[arg-type]
        _, self._held = encode_segments(self, text.encode(), self.special, ends, self._pieces, self._held)  # type: ignore[arg-type]

    def encode_spans(self, text: bytes, spans: Places) -> Any:
        self.counter.count_spans(text, spans)
        return _NO_IDS


class _Whole:
    """As a PatternStream, of a pattern that matches everything."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def feed(self, text: str) -> tuple[str, Places]:
        self._parts.append(text)
        return "", np.zeros((0, 2), np.int64)

    def flush(self) -> tuple[str, Places]:
        text = "".join(self._parts)
        self._parts.clear()
        return text, np.array([[0, len(text.encode())]], np.int64)
