"""LlamaIndex's splitter by tokens, with this package's engine.

>>> from streamtok.integrations.llama_index import TokenTextSplitter
>>> TokenTextSplitter("o200k_base", chunk_size=500, chunk_overlap=50).split_text(text)
"""

from __future__ import annotations

import functools
import logging
from collections import deque
from typing import Any

import numpy as np
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.node_parser import TokenTextSplitter as Original

from ..core import Encoding
from ..registry import get_encoding

__all__ = ["TokenTextSplitter"]

_log = logging.getLogger(__name__)


class TokenTextSplitter(Original):  # type: ignore[misc]
    """Splits texts at separators into chunks of at most chunk_size tokens. All words are counted in one call.

    Its chunks are those of llama_index.core.node_parser.TokenTextSplitter for the same encoding.

    Args:
        encoding: a name that get_encoding() knows, or an Encoding, as of a model's file. LlamaIndex's default is
            cl100k_base.
        options: chunk_size, chunk_overlap, separator and others, as for that class, but for `tokenizer`.
    """

    _encoding: Any = PrivateAttr()

    def __init__(self, encoding: str | Encoding = "cl100k_base", **options: Any) -> None:
        found = encoding if isinstance(encoding, Encoding) else get_encoding(encoding)
        super().__init__(tokenizer=functools.partial(found.encode, allowed_special="all"), **options)
        self._encoding = found

    def _counts(self, texts: list[str]) -> list[int]:
        _, indptr = self._encoding.encode_ragged(texts, allowed_special="all", num_threads=1)
        return np.diff(indptr).tolist()  # type: ignore[no-any-return]

    def _split(self, text: str, chunk_size: int) -> list[str]:
        """The smallest parts of a text, with their separators, of which none has to be cut."""
        if self._encoding.count(text, allowed_special="all") <= chunk_size:
            return [text]
        parts = [text]
        for split in self._split_fns:
            parts = split(text)
            if len(parts) > 1:
                break
        made = []
        for part, count in zip(parts, self._counts(parts)):
            made += [part] if count <= chunk_size or len(parts) == 1 else self._split(part, chunk_size)
        return made

    def _merge(self, splits: list[str], chunk_size: int) -> list[str]:
        """Chunks of as many parts as fit. The next one begins with the last parts that the overlap has room for."""
        chunks: list[str] = []
        current: deque[tuple[str, int]] = deque()
        size = 0
        for part, count in zip(splits, self._counts(splits)):
            if count > chunk_size:
                _log.warning("a part has %d tokens, more than the %d of a chunk", count, chunk_size)
            if size + count > chunk_size:
                chunks.append(self._joined(current))
                while current and (size > self.chunk_overlap or size + count > chunk_size):
                    size -= current.popleft()[1]
            current.append((part, count))
            size += count
        chunks.append(self._joined(current))
        return [chunk for chunk in chunks if chunk]

    def _joined(self, parts: deque[tuple[str, int]]) -> str:
        text = "".join(part for part, _ in parts)
        return text if self.keep_whitespaces else text.strip()
