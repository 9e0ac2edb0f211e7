"""LangChain's splitter by tokens, with this package's engine.

>>> from streamtok.integrations.langchain import TokenTextSplitter
>>> TokenTextSplitter("o200k_base", chunk_size=500, chunk_overlap=50).split_text(text)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_text_splitters import TextSplitter

from ..core import Encoding
from ..model import encoding_name_for_model
from ..registry import get_encoding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .._protocols import AllowedSpecial, DisallowedSpecial

__all__ = ["TokenTextSplitter"]

_CHARACTERS = 16
"""Of a token: text of so many is looked at first. Where that is too little, twice as many are."""


class TokenTextSplitter(TextSplitter):  # type: ignore[misc]
    """Splits texts into chunks of at most chunk_size tokens. Each repeats the last chunk_overlap tokens of that before.

    Its chunks are those of langchain_text_splitters.TokenTextSplitter for the same encoding. These are bounded by the
    tokens that they are cut out of: a character may be cut, and the text of a chunk may have more tokens by itself.
    With `bounded` the text of each chunk has at most chunk_size tokens, no character is cut, and a chunk is as long as
    it can be; it begins with the characters of the last chunk_overlap tokens of the one before.

    Args:
        encoding_name: a name that get_encoding() knows, or an Encoding, as of a model's file.
        model_name: a name that encoding_for_model() knows, in place of an encoding.
        allowed_special: as for Encoding.encode().
        disallowed_special: as for Encoding.encode().
        bounded: whether chunks are bounded as text.
        kwargs: chunk_size, chunk_overlap and others, as for TextSplitter.

    Raises:
        ValueError: when it splits: chunk_overlap is not less than chunk_size; a disallowed special token; with
            `bounded`, a character that has more than chunk_size tokens.
    """

    def __init__(
        self,
        encoding_name: str | Encoding = "gpt2",
        model_name: str | None = None,
        allowed_special: AllowedSpecial | None = None,
        disallowed_special: DisallowedSpecial = "all",
        *,
        bounded: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if model_name is not None:
            self._encoding = get_encoding(encoding_name_for_model(model_name))
        elif isinstance(encoding_name, Encoding):
            self._encoding = encoding_name
        else:
            self._encoding = get_encoding(encoding_name)
        self._special: dict[str, Any] = {
            "allowed_special": set() if allowed_special is None else allowed_special,
            "disallowed_special": disallowed_special,
        }
        self._bounded = bounded

    def split_text(self, text: str) -> list[str]:
        """The chunks of a text."""
        if self._chunk_size <= self._chunk_overlap:
            raise ValueError("tokens_per_chunk must be greater than chunk_overlap")
        if self._bounded:
            return list(self._chunks(text))
        ids = self._encoding.encode_to_numpy(text, **self._special)
        step = self._chunk_size - self._chunk_overlap
        firsts = range(0, max(len(ids) - self._chunk_overlap, min(len(ids), 1)), step)
        rows = [ids[first : first + self._chunk_size] for first in firsts]
        return [chunk for chunk in self._encoding.decode_batch(rows, num_threads=1) if chunk]

    def _chunks(self, text: str) -> Iterator[str]:
        at = end = 0
        while end < len(text):
            chunk = self._beginning(text, at)
            if at + len(chunk) <= end:  # the repeated text has more tokens by itself: less of it is repeated
                at += 1
                continue
            yield chunk
            end = at + len(chunk)
            at = max(end - self._overlap(chunk), at + 1)

    def _beginning(self, text: str, at: int) -> str:
        """The longest chunk that begins at a place."""
        size = self._chunk_size * _CHARACTERS
        while True:
            window = text[at : at + size]
            chunk: str = self._encoding.truncate(window, self._chunk_size, **self._special)
            if len(chunk) < len(window) or at + size >= len(text):
                break
            size *= 2
        if not chunk:
            raise ValueError(
                f"the character {window[0]!r} has more than chunk_size={self._chunk_size} tokens: give a larger one"
            )
        return chunk

    def _overlap(self, chunk: str) -> int:
        """Characters of a chunk that the next one begins with."""
        if not self._chunk_overlap:
            return 0
        _, places = self._encoding.encode_with_offsets(chunk, **self._special)
        return len(chunk) - int(places[-self._chunk_overlap]) if len(places) > self._chunk_overlap else len(chunk) - 1
