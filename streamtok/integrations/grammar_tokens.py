"""What libraries of grammars ask of a vocabulary: the bytes of every id, and which ids are no text."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from ..errors import shown

if TYPE_CHECKING:
    from ..core import Encoding

_ENDS = ("<|endoftext|>", "</s>", "<eos>")
"""Tokens that end a text where neither the caller nor the model's files name one."""


def token_bytes(encoding: Encoding, special: bool, size: int | None = None) -> list[bytes]:
    """The bytes of each id; empty for ids that are no token, and, unless `special`, for special tokens. size: of the
    model's table, which may be larger."""
    table = encoding.token_table()
    data, offsets = table.data.tobytes(), table.offsets.tolist()
    found = [data[start:end] for start, end in pairwise(offsets)]
    for token in () if special else encoding._special_token_values:
        found[token] = b""
    if size is not None and size < len(found):
        raise ValueError(f"vocab_size={shown(size)} is below {len(found)}, the number of ids of {shown(encoding.name)}")
    return found + [b""] * ((size or 0) - len(found))


def end_of_text(encoding: Encoding, given: int | None) -> int:
    """The id that ends a text: the one that is given, that of the model's files, or one of a common name."""
    if given is not None:
        encoding.decode_single_token_bytes(given)  # KeyError: an unknown id
        return given
    named = encoding._chat_files.named.get("eos_token")
    for name in (named, *_ENDS):
        if name in encoding._added_tokens:
            return encoding._added_tokens[name]
    raise ValueError(f"{shown(encoding.name)} does not say which token ends a text: write eos_token_id=")
