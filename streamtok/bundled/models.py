"""What holds of the models of vocabularies (csrc/vocab/model.h) outside the core: an Encoding has one, and asks it.

A model from outside (native/model.pyx) needs no line here: what is said of Model holds of it.
"""

from __future__ import annotations

import functools

from ..errors import VocabularyError
from ..native.checksum import digest
from ..native.model import facts, word_rule, word_rule_of
from .listed import pack_listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .packed import PackedVocabulary


class Model:
    """A model, by the core's name of it.

    Attributes:
        merges: whether its tokens come of merges.
        keeps_bytes: whether the ids of a piece decode to its bytes.
        title: what messages call it.
        kernels: the kernels of a device that encode with it (gpu/_slot.py); None: there are none.
        why_no_kernels: what is in their way, for a sentence about the encoding.
        in_files: whether the files that save() writes can say that it is the model.
    """

    title = ""
    kernels: str | None = None
    why_no_kernels = "a model for which there are no kernels"
    in_files = False

    def __init__(self, name: str) -> None:
        known = facts(name)
        self.name, self.merges, self.keeps_bytes = name, "merges" in known, "keeps_bytes" in known
        self.title = self.title or name

    def own(self, rest: Any) -> bytes | None:
        """What the core keeps with a vocabulary, of what its PackedVocabulary has besides tokens."""
        kept: bytes | None = rest
        return kept

    def rest(self, own: bytes | None) -> Any:
        """The way back."""
        return own

    def mark(self, rest: Any) -> bytes:
        """What it adds to a fingerprint, where it does not merge."""
        return self.name.encode() + (b"" if rest is None else repr(rest).encode())

    def by_longest_match(self, packed: PackedVocabulary) -> PackedVocabulary:
        """The same tokens with the longest one at each place; the vocabulary itself where that is the rule already.
        VocabularyError: a byte is no token."""
        return pack_listed(packed.to_dict())


class _Merging(Model):
    title = "merging"
    kernels: str | None = "merging"
    why_no_kernels = ""
    in_files = True


class _Symbols(_Merging):
    """rest: a symbols.Rule."""

    kernels = None
    why_no_kernels = (
        "characters or bytes that are no tokens, or other tokens at the ends of words, for which there are no kernels"
    )

    def own(self, rest: Any) -> bytes:
        return bytes(rest.own())

    def rest(self, own: bytes | None) -> Any:
        assert own is not None
        return _rule_of(own)

    def by_longest_match(self, packed: PackedVocabulary) -> PackedVocabulary:
        raise VocabularyError(
            "not every byte is a token of this vocabulary, or tokens at the ends of words are other ones"
        )


@functools.lru_cache(maxsize=8)
def _rule_of(own: bytes) -> Any:
    from .symbols import rule_of

    return rule_of(own)


class _Longest(Model):
    title = "longest match"
    kernels = "longest"
    why_no_kernels = ""

    def by_longest_match(self, packed: PackedVocabulary) -> PackedVocabulary:
        return packed


class _WordPiece(Model):
    """rest: (index of the unknown token, most characters of a word, what a token begins with that goes on in one)."""

    title = "WordPiece"
    kernels = "wordpiece"
    why_no_kernels = ""
    in_files = True

    def own(self, rest: tuple[int, int, bytes]) -> bytes:
        return word_rule(*rest)

    def rest(self, own: bytes | None) -> tuple[int, int, bytes]:
        assert own is not None
        return word_rule_of(own)

    def by_longest_match(self, packed: PackedVocabulary) -> PackedVocabulary:
        return packed

    def mark(self, rest: Any) -> bytes:
        return b"longest"  # the record of its file says the rest


class _Unigram(Model):
    """rest: what native.model.unigram_rule() makes."""

    title = "Unigram"
    why_no_kernels = "pieces that are divided by scores, for which there are no kernels"
    in_files = True

    def by_longest_match(self, packed: PackedVocabulary) -> PackedVocabulary:
        return packed

    def mark(self, rest: Any) -> bytes:
        return self.name.encode() + digest(rest).encode()


class _SentencePiece(_Unigram):
    title = "Unigram of SentencePiece"
    in_files = False


class _SentencePairs(_SentencePiece):
    title = "BPE of SentencePiece"
    why_no_kernels = "pairs that are joined by scores, for which there are no kernels"


class _SentenceWords(_SentencePiece):
    title = "words of SentencePiece"
    why_no_kernels = "words that are looked up, for which there are no kernels"


_KINDS = {
    "bpe": _Merging,
    "characters": _Merging,
    "longest": _Longest,
    "wordpiece": _WordPiece,
    "unigram": _Unigram,
    "sentencepiece": _SentencePiece,
    "sentencepairs": _SentencePairs,
    "sentencewords": _SentenceWords,
}
_KINDS |= dict.fromkeys(("symbols", "joined", "affixed"), _Symbols)


_made: dict[str, Model] = {}


def model_named(name: str) -> Model:
    """The model of that name. VocabularyError: the core has none."""
    found = _made.get(name)
    return found if found is not None else _made.setdefault(name, _KINDS.get(name, Model)(name))


def is_built_in(name: str) -> bool:
    """Whether the core has the model of that name by itself."""
    return name in _KINDS
