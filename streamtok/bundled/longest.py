"""Vocabularies that text is matched with by the longest token, instead of being merged."""

from __future__ import annotations

from array import array
from collections.abc import Mapping

from .packed import PackedVocabulary, pack_ranks


class LongestVocabulary(PackedVocabulary):
    """Tokens in the order of their ids, which `ranks` holds. Nothing merges; `splits` is None."""

    __slots__ = ()
    is_ranked = False
    is_longest = True


class WordVocabulary(LongestVocabulary):
    """Tokens of WordPiece, as they are written, in the order of their ids. A split of SILENT is that of a token that no
    whole word is: without its prefix it may still go on in a word."""

    __slots__ = ("wordpiece",)

    def __init__(
        self,
        blob: bytes,
        lengths: array[int],
        ids: array[int],
        splits: array[int] | None,
        wordpiece: tuple[int, int, bytes],
    ) -> None:
        super().__init__(blob, lengths, ids, splits, None)
        self.wordpiece = wordpiece


def pack_longest(tokens: Mapping[bytes, int]) -> LongestVocabulary:
    """The vocabulary of {token bytes: id} for longest match: at each place of a text the longest token is taken.

    Raises:
        TypeError: not a mapping, a token is not bytes, or an id is not an int.
        VocabularyError: an empty or too long token, an id below 0, above MAX_RANK or given twice, a byte that is no
            token by itself, more than MAX_ENTRIES entries.
    """
    packed = pack_ranks(tokens, number="id")
    return LongestVocabulary(packed.blob, packed.lengths, array("I", packed.ranks), None, None)
