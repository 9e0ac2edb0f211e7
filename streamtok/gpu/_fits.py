"""Which encodings a device can take, and why not the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..native.cells import trie_cells
from ..patterns.engine import kernels_of
from ._shapes import ENCODING, LONGEST_MATCH, Module

if TYPE_CHECKING:
    from ..protocols import Encoding


def family_or_reason(encoding: Encoding) -> tuple[str | None, str]:
    """(family of kernels, ""), or (None, why there are none): what the encoding has, for a sentence about it."""
    vocab = encoding._vocab
    if vocab.spells:
        return None, "symbols that are characters, or bytes without tokens, which the kernels do not merge"
    if vocab.wordpiece is not None:
        return None, "words that are matched by WordPiece, for which there are no kernels"
    if vocab.is_longest and trie_cells(vocab) is None:
        return None, "a vocabulary of longest match with too many beginnings of tokens for the kernels"
    if encoding._model is not None and encoding._model.added_names.has_rules:
        return None, "added tokens with lstrip, rstrip, single_word or normalized, which only the CPU finds"
    family = kernels_of(encoding._split)
    return family, "" if family else "a pattern that has no table, or leaves text out, for which there are no kernels"


def modules_for(encoding: Encoding) -> tuple[Module, ...]:
    """The kernels for an encoding that has a family."""
    return LONGEST_MATCH if encoding._vocab.is_longest else ENCODING
