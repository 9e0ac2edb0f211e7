"""Vocabularies that are a list of tokens, of models that do not merge."""

from __future__ import annotations

from array import array
from collections.abc import Mapping

from .packed import PackedVocabulary, pack_ranks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class ListedVocabulary(PackedVocabulary):
    """Tokens as they are written, in the order of their ids, which `ranks` holds. Nothing merges: a split of SILENT is
    that of a token that no whole piece is, all others are 0; None where there is none such."""

    __slots__ = ("model", "rest")
    is_ranked = False

    def __init__(
        self,
        blob: bytes,
        lengths: bytes | array[int],
        ids: array[int],
        splits: array[int] | None,
        model: str,
        rest: Any = None,
    ) -> None:
        super().__init__(blob, lengths, ids, splits, None)
        self.model, self.rest = model, rest


def pack_listed(tokens: Mapping[bytes, int], model: str = "longest", rest: Any = None) -> ListedVocabulary:
    """The vocabulary of {token bytes: id}. For longest match: at each place of a text the longest token is taken.

    Raises:
        TypeError: not a mapping, a token is not bytes, or an id is not an int.
        VocabularyError: an empty or too long token, an id below 0, above MAX_RANK or given twice, a byte that is no
            token by itself, more than MAX_ENTRIES entries.
    """
    packed = pack_ranks(tokens, number="id")
    return ListedVocabulary(packed.blob, packed.lengths, array("I", packed.ranks), None, model, rest)
