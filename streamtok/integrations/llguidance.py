"""An Encoding as a tokenizer of llguidance.

>>> from streamtok.integrations.llguidance import tokenizer
>>> matcher = llguidance.LLMatcher(tokenizer(enc), grammar)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import llguidance

from .grammar_tokens import end_of_text, token_bytes

if TYPE_CHECKING:
    from ..core import Encoding

__all__ = ["tokenizer"]


class _Source:
    """What llguidance.TokenizerWrapper reads."""

    def __init__(self, encoding: Encoding, eos_token_id: int) -> None:
        self._encoding = encoding
        self.eos_token_id, self.bos_token_id = eos_token_id, None
        self.tokens = token_bytes(encoding, True)
        self.special_token_ids = sorted(encoding._special_token_values)

    def __call__(self, text: bytes) -> list[int]:
        ids: list[int] = self._encoding.encode_to_numpy(text, disallowed_special=(), errors="replace").tolist()
        return ids


def tokenizer(
    encoding: Encoding,
    *,
    vocab_size: int | None = None,
    eos_token_id: int | None = None,
    slices: list[str] | None = None,
) -> Any:
    """An llguidance.LLTokenizer with the ids of an encoding.

    Args:
        encoding: the Encoding.
        vocab_size: rows of the model's table, where these are more than ids.
        eos_token_id: the id that ends a text; None: that of the model's files, or of <|endoftext|>.
        slices: as for llguidance.LLTokenizer.

    Raises:
        ValueError: no token that ends a text is known; llguidance refuses the vocabulary.
    """
    wrapper = llguidance.TokenizerWrapper(_Source(encoding, end_of_text(encoding, eos_token_id)))
    return llguidance.LLTokenizer(wrapper, n_vocab=vocab_size, slices=slices)
