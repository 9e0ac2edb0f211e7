"""A vocabulary given by a list of merges, in the form that the core reads."""

from __future__ import annotations

from array import array

from ..errors import VocabularyError
from ..native.merges import FIRST_FRAGMENT, SILENT
from .packed import MAX_FILE_BYTES, MAX_TOKEN_BYTES, PackedVocabulary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class MergedVocabulary(PackedVocabulary):
    """Tokens in the order of their merges. Merging goes by this order and by `splits`; `ranks` holds the ids, in any
    order. A split of SILENT is that of a token that no text becomes: it is decoded only, and its bytes may be those of
    another token."""

    __slots__ = ("model", "rest")
    is_ranked = False

    def __init__(
        self,
        blob: bytes,
        lengths: bytes | array[int],
        ids: array[int],
        splits: bytes | array[int] | None,
        sha256: None = None,
        model: str = "bpe",
        rest: Any = None,
    ) -> None:
        super().__init__(blob, lengths, ids, splits, sha256)
        self.model, self.rest = model, rest

    def to_dict(self) -> dict[bytes, int]:
        """{token bytes: id} of the tokens that text can become."""
        assert self.splits is not None
        return {
            token: rank
            for token, rank, split in zip(self.tokens(), self.ranks, self.splits, strict=True)
            if split != SILENT and rank < FIRST_FRAGMENT
        }


def packed(given: tuple[bytes, bytes, bytes, bytes]) -> MergedVocabulary:
    """The vocabulary that ordered() of native/merges.pyx gives, without an empty token."""
    blob, *arrays = given
    lengths, ids, splits = (array("I", data) for data in arrays)
    if 0 in lengths:
        for numbers in (ids, splits, lengths):
            del numbers[lengths.index(0)]
    check_sizes(blob, lengths)
    return MergedVocabulary(blob, lengths, ids, splits, None)


def check_sizes(blob: bytes, lengths: array[int]) -> None:
    """Raises VocabularyError for a token, or for all of them, that are too long."""
    longest = max(lengths)
    if longest > MAX_TOKEN_BYTES:
        raise VocabularyError(f"a token has {longest} bytes, more than {MAX_TOKEN_BYTES}; leave it out")
    if len(blob) > MAX_FILE_BYTES:
        raise VocabularyError(f"the tokens have more than {MAX_FILE_BYTES} bytes together; leave out the longest")
