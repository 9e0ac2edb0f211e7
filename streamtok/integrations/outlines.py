"""An Encoding as the vocabulary of outlines-core.

>>> from streamtok.integrations.outlines import vocabulary
>>> index = outlines_core.Index(regex, vocabulary(enc))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import outlines_core

from .grammar_tokens import end_of_text, token_bytes

if TYPE_CHECKING:
    from ..core import Encoding

__all__ = ["vocabulary"]


def vocabulary(encoding: Encoding, *, eos_token_id: int | None = None) -> Any:
    """An outlines_core.Vocabulary of the tokens of an encoding, without special ones.

    Args:
        encoding: the Encoding.
        eos_token_id: the id that ends a text; None: that of the model's files, or of <|endoftext|>.

    Raises:
        ValueError: no token that ends a text is known.
    """
    end = end_of_text(encoding, eos_token_id)
    ids: dict[bytes, list[int]] = {}
    for token, data in enumerate(token_bytes(encoding, False)):
        if data and token != end:
            ids.setdefault(data, []).append(token)
    return outlines_core.Vocabulary(end, ids)
