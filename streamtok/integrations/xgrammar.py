"""An Encoding as the vocabulary of xgrammar.

>>> from streamtok.integrations.xgrammar import tokenizer_info
>>> compiler = xgrammar.GrammarCompiler(tokenizer_info(enc))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import xgrammar

from .grammar_tokens import end_of_text, token_bytes

if TYPE_CHECKING:
    from ..core import Encoding

__all__ = ["tokenizer_info"]


def tokenizer_info(
    encoding: Encoding, *, vocab_size: int | None = None, stop_token_ids: list[int] | None = None
) -> Any:
    """An xgrammar.TokenizerInfo of the tokens of an encoding. Special tokens are no text of a grammar.

    Args:
        encoding: the Encoding.
        vocab_size: rows of the model's table, where these are more than ids.
        stop_token_ids: ids that end a text; None: that of the model's files, or of <|endoftext|>.

    Raises:
        ValueError: no token that ends a text is known; vocab_size is below the number of ids.
    """
    stops = [end_of_text(encoding, None)] if stop_token_ids is None else list(stop_token_ids)
    tokens = token_bytes(encoding, False, vocab_size)
    return xgrammar.TokenizerInfo(tokens, xgrammar.VocabType.RAW, vocab_size=len(tokens), stop_token_ids=stops)
