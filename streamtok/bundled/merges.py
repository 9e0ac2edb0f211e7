"""Vocabularies that a list of merges gives, as Hugging Face's tokenizer files have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import VocabularyError
from ..native.merges import Letters, MergeList
from .characters import pack_characters
from .gpt2_files import LETTERS
from .merged import MergedVocabulary, packed
from .packed import MAX_ENTRIES, MAX_RANK


def pack_merges(
    vocab: Mapping[str, int],
    merges: Sequence[str | Sequence[str]],
    *,
    ignore_merges: bool = False,
    byte_level: bool = True,
    byte_fallback: bool = False,
) -> MergedVocabulary:
    """The vocabulary of a BPE model of Hugging Face's kind. Its ids are those of the model, for any list.

    The pair that stands first in the list merges first, the leftmost of equal ones before the others. Several pairs may
    make one token, pairs may rank apart from their tokens, tokens may be made of later ones, and a pair may stand in
    the list again, where its last place counts. csrc/vocab/merge_list.h shows why one pair for each token is all of it.

    Args:
        vocab: token -> id, in GPT-2's letters, one a byte. A token with another character is decoded only.
        merges: "left right" or [left, right], all of one form. Lines that begin with "#version" are passed over.
        ignore_merges: a whole piece that is a token becomes that token, also where no merge makes it. Without it such a
            token is decoded only.
        byte_level: tokens are in GPT-2's letters. False: they are written as they are, and text begins as characters,
            as in models of SentencePiece (characters.py).
        byte_fallback: a character that is no token becomes its bytes, whose tokens are <0x00> to <0xFF>. Has to be set
            where byte_level is not.

    Raises:
        VocabularyError: an entry that cannot be read, an id given twice, a merge of tokens that are not in the
            vocabulary, a byte that is no token, too many entries.
        TypeError: vocab is no mapping of str.
    """
    if not isinstance(vocab, Mapping):
        raise TypeError(f"vocab is of type {type(vocab).__name__}; give a dict of token to id")
    if not byte_level:
        if not byte_fallback:
            raise VocabularyError(
                "byte_fallback is not set: a character that is no token would become an unknown one, which is not "
                "supported"
            )
        return pack_characters(vocab, merges, ignore_merges)
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
    return packed(read.order(ignore_merges))
