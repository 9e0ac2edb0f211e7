"""Vocabularies that a list of merges gives, as Hugging Face's tokenizer files have them."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence

from ..errors import VocabularyError
from ..native.merges import SILENT, Letters, MergeList
from .gpt2_files import LETTERS
from .packed import MAX_ENTRIES, MAX_FILE_BYTES, MAX_RANK, MAX_TOKEN_BYTES, PackedVocabulary


class MergedVocabulary(PackedVocabulary):
    """Tokens in the order of their merges. Merging goes by this order and by `splits`; `ranks` holds the ids, in any
    order. A split of SILENT is that of a token that no text becomes: it is decoded only, and its bytes may be those of
    another token."""

    __slots__ = ()
    is_ranked = False

    def to_dict(self) -> dict[bytes, int]:
        """{token bytes: id} of the tokens that text can become."""
        assert self.splits is not None
        return {
            token: rank
            for token, rank, split in zip(self.tokens(), self.ranks, self.splits, strict=True)
            if split != SILENT
        }


def pack_merges(
    vocab: Mapping[str, int],
    merges: Sequence[str | Sequence[str]],
    *,
    ignore_merges: bool = False,
) -> MergedVocabulary:
    """The vocabulary of a byte-level BPE model of Hugging Face's kind. Its ids are those of the model, for any list.

    The pair that stands first in the list merges first, the leftmost of equal ones before the others. Several pairs may
    make one token, pairs may rank apart from their tokens, tokens may be made of later ones, and a pair may stand in
    the list again, where its last place counts. csrc/vocab/merge_list.h shows why one pair for each token is all of it.

    Args:
        vocab: token -> id, in GPT-2's letters, one a byte. A token with another character is decoded only.
        merges: "left right" or [left, right], all of one form. Lines that begin with "#version" are passed over.
        ignore_merges: a whole piece that is a token becomes that token, also where no merge makes it. Without it such a
            token is decoded only.

    Raises:
        VocabularyError: an entry that cannot be read, an id given twice, a merge of tokens that are not in the
            vocabulary, a byte that is no token, too many entries.
        TypeError: vocab is no mapping of str.
    """
    if not isinstance(vocab, Mapping):
        raise TypeError(f"vocab is of type {type(vocab).__name__}; give a dict of token to id")
    if max(len(vocab), len(merges)) > MAX_ENTRIES:
        raise VocabularyError(
            f"{len(vocab)} tokens and {len(merges)} merges; at most {MAX_ENTRIES} of each are accepted"
        )
    read = MergeList(dict(vocab), merges, Letters(LETTERS), MAX_RANK)
    missing = read.missing_bytes()
    if missing:
        raise VocabularyError(
            f"{len(missing)} of the 256 single bytes are no tokens, the first is {bytes(missing[:1])!r}; "
            "what becomes of text that holds it would be left open: add a token for each byte"
        )
    blob, *arrays, _ = read.order(ignore_merges)
    lengths, ids, splits = (array("I", data) for data in arrays)
    _check_sizes(blob, lengths)
    return MergedVocabulary(blob, lengths, ids, splits, None)


def _check_sizes(blob: bytes, lengths: array[int]) -> None:
    longest = max(lengths)
    if longest > MAX_TOKEN_BYTES:
        raise VocabularyError(f"a token has {longest} bytes, more than {MAX_TOKEN_BYTES}; leave it out")
    if len(blob) > MAX_FILE_BYTES:
        raise VocabularyError(f"the tokens have more than {MAX_FILE_BYTES} bytes together; leave out the longest")
