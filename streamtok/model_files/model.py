"""A model's tokenizer: what its file says, and what an Encoding is made of."""

from __future__ import annotations

import json
from array import array
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from ..bundled.gpt2_files import LETTERS, in_letters
from ..bundled.listed import ListedVocabulary
from ..bundled.merged import MergedVocabulary
from ..bundled.models import model_named
from ..bundled.packed import PackedVocabulary, from_little_endian, to_little_endian
from ..errors import VocabularyError, shown
from ..native.merges import FIRST_FRAGMENT
from ..native.normal import Normalizer
from ..native.steps import lazy
from ..patterns import table_of
from ..patterns.compose import Split, Stage, byte_rules
from .characters import has_level, read_joining, read_spaces, read_spelling
from .field import Field
from .names import AddedNames
from .parts import AddedToken, Parts, Words
from .read_parts import read_added, read_normalizers, read_stages, read_template
from .spelling import Spelled

_MOST_PREFIX = 64
"""ST_MOST_PREFIX of csrc/vocab/vocab.h."""

_TOP = (
    "version",
    "truncation",
    "padding",
    "added_tokens",
    "normalizer",
    "pre_tokenizer",
    "post_processor",
    "decoder",
    "model",
)

_WORDS = ("type", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab")

_MODEL = (
    "type",
    "dropout",
    "unk_token",
    "continuing_subword_prefix",
    "end_of_word_suffix",
    "fuse_unk",
    "byte_fallback",
    "ignore_merges",
    "vocab",
    "merges",
)


@dataclass(frozen=True)
class Model:
    """What an Encoding is made of.

    Attributes:
        name: what repr() and errors call it.
        record: the tokenizer.json without its tokens and merges, as json.loads makes it.
        vocabulary: the tokens that text becomes.
        raw: the ids of the tokens that the file does not write in letters; where text begins as characters, those of
            the tokens of bytes, by byte, -1 for none.
        parts: the record with types.
        empty: the id of a token of no text, which is decoded only; None: there is none.
    """

    name: str
    record: dict[str, Any]
    vocabulary: PackedVocabulary
    raw: tuple[int, ...]
    parts: Parts
    empty: int | None = None

    @property
    def normalizer(self) -> tuple[tuple[Any, ...], ...]:
        """What is done to text before it is split, as the argument `normalizer` of class Encoding."""
        return tuple(step.as_step() for step in self.parts.normalizers)

    @lazy
    def added_names(self) -> AddedNames:
        """What finds added tokens in texts."""
        behind = self.parts.behind
        steps = self.normalizer[: len(self.normalizer) - behind]
        return AddedNames(self.parts.added, steps, behind > 0, self.name)

    @property
    def stages(self) -> tuple[Stage, ...] | None:
        """What splits text, in turn; None where a text is one piece."""
        return self.parts.stages if table_of(self.parts.stages) is not None else None

    @property
    def pattern(self) -> str | None:
        """A regular expression, or other words for what splits: to be read, not to split by."""
        if self.stages is None:
            return None
        first = self.stages[0]
        only = 2 if self.parts.by_bytes else 1  # behind it a ByteLevel
        return first.pattern if isinstance(first, Split) and len(self.stages) == only else repr(self.stages)

    @property
    def decoded(self) -> dict[int, bytes]:
        """The bytes of the tokens that are not in the vocabulary, added ones and the empty one, by id."""
        listed = {token.id for token in self.parts.added}.intersection(self.vocabulary.ranks)
        name_of = decoded_name if self.parts.by_bytes else str.encode
        found = {
            token.id: name_of(self.added_names.decoded(token)) for token in self.parts.added if token.id not in listed
        }
        return found if self.empty is None else {self.empty: b"", **found}

    def names(self) -> dict[int, bytes]:
        """All tokens, in UTF-8, by id: as the file writes them, and added ones as they are sought."""
        packed = self.vocabulary
        ends = list(accumulate(packed.lengths))
        blob = packed.blob
        whole = set(self.raw) if self.parts.by_bytes else set(packed.ranks)
        named = {
            token: blob[start:end] if token in whole else in_letters(blob[start:end]).encode()
            for start, end, token in zip([0, *ends], ends, packed.ranks)
            if token < FIRST_FRAGMENT
        }
        if not self.parts.by_bytes:
            named.update((token, f"<0x{value:02X}>".encode()) for value, token in enumerate(self.raw) if token >= 0)
        if self.empty is not None:
            named[self.empty] = b""
        return named | {token.id: self.added_names.decoded(token).encode() for token in self.parts.added}

    @property
    def facts(self) -> bytes:
        """All that decides ids besides the vocabulary, the pattern and the special tokens."""
        return repr(self.parts).encode()

    def __reduce__(self) -> tuple[Any, ...]:
        packed = self.vocabulary
        numbers = [to_little_endian(array) for array in (packed.lengths, packed.ranks, packed.splits or b"")]
        rule = packed.model, packed.rest
        return _revived, (self.name, as_text(self.record), packed.blob, *numbers, self.raw, self.empty, rule)

    def with_vocabulary(self, vocabulary: PackedVocabulary) -> Model:
        """The same with other tokens."""
        return replace(self, vocabulary=vocabulary)

    @property
    def template(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The ids that add_special_tokens=True puts around a text."""
        return self.parts.template.prefix, self.parts.template.suffix

    @property
    def special(self) -> dict[str, int]:
        """Names of special tokens -> ids."""
        return {token.content: token.id for token in self.parts.added if token.special}

    @property
    def plain(self) -> dict[str, int]:
        """Texts of added tokens that are found in every text -> ids."""
        return {token.content: token.id for token in self.parts.added if not token.special}


def parts_of(whole: Field) -> Parts:
    """The parts of a tokenizer.json, after the checks of all that may not be there. VocabularyError."""
    whole.check_members(_TOP)
    if whole.has("version") and whole.member("version").value != "1.0":
        raise whole.member("version").refused(f"{shown(whole.member('version').value)} is unknown; 1.0 is supported")
    for name, call in (("truncation", "no_truncation"), ("padding", "no_padding")):
        if whole.has(name):
            raise whole.member(name).refused(
                f"it would change the ids of texts: call {call}() of the tokenizer before it is saved, or write null"
            )
    model = whole.member("model")
    words = _words_of(model)
    pre_tokenizer = _optional(whole, "pre_tokenizer")
    by_bytes = has_level(pre_tokenizer)
    if words is None:
        _check_model(model, by_bytes)
    elif by_bytes:
        raise pre_tokenizer.refused("a ByteLevel in front of WordPiece is not supported: its words are of characters")
    normalizers = read_normalizers(_optional(whole, "normalizer"))
    added = read_added(_optional(whole, "added_tokens"))
    before = len(normalizers)
    spelled: Spelled | None
    if by_bytes:
        stages, made = read_stages(pre_tokenizer)
        if byte_rules(stages) and model.has("ignore_merges") and model.member("ignore_merges").flag():
            raise pre_tokenizer.refused("a step behind ByteLevel and ignore_merges together are not supported")
        normalizers += made
        spelled = read_spelling(_optional(whole, "decoder"))
        if spelled == Spelled(has_letters=True):
            spelled = None
    else:
        normalizers, stages = read_spaces(pre_tokenizer, normalizers)
        spelled = (read_spelling if words is None else read_joining)(_optional(whole, "decoder"))
    try:
        Normalizer(step.as_step() for step in normalizers)
    except ValueError as error:
        raise _optional(whole, "normalizer").refused(str(error)) from None
    return Parts(
        normalizers=normalizers,
        behind=len(normalizers) - before,
        stages=stages,
        added=added,
        template=read_template(_optional(whole, "post_processor")),
        ignore_merges=model.has("ignore_merges") and model.member("ignore_merges").flag(),
        by_bytes=by_bytes,
        spelled=spelled,
        words=words,
    )


def _optional(whole: Field, name: str) -> Field:
    return whole.member(name) if whole.has(name) else Field(None, whole.path, name)


def _type_of(model: Field) -> str | None:
    """The type of a model. Files of old versions leave it out: the reference takes the first of which all members are
    there."""
    members = model.object()
    if model.has("type"):
        return model.member("type").text()
    if "merges" in members:
        return "BPE"
    if all(name in members for name in _WORDS if name not in ("type", "vocab")):
        return "WordPiece"
    return "Unigram" if "unk_id" in members else "WordLevel" if "unk_token" in members else None


def _words_of(model: Field) -> Words | None:
    """What a model of type WordPiece says besides its tokens; None for another type."""
    if _type_of(model) != "WordPiece":
        return None
    model.check_members(_WORDS)
    prefix = model.member("continuing_subword_prefix").text()
    if len(prefix.encode()) > _MOST_PREFIX:
        raise model.member("continuing_subword_prefix").refused(f"it has more than {_MOST_PREFIX} bytes")
    return Words(model.member("unk_token").text(), model.member("max_input_chars_per_word").number(), prefix)


def _check_model(model: Field, by_bytes: bool) -> None:
    kind = _type_of(model)
    if kind != "BPE":
        raise model.refused(
            f"the model is of type {shown(kind)}; BPE and WordPiece are supported, and others split in other ways"
        )
    model.check_members(_MODEL)
    if model.has("dropout") and model.member("dropout").value != 0:
        raise model.member("dropout").refused("merges are left out at random, so that a text has no certain ids")
    for name in ("continuing_subword_prefix", "end_of_word_suffix"):
        if model.has(name) and model.member(name).text():
            raise model.member(name).refused("tokens would be other inside of words than at their ends: not supported")
    for name in ("fuse_unk", "byte_fallback", "ignore_merges"):
        if model.has(name):
            model.member(name).flag()
    if not by_bytes and not (model.has("byte_fallback") and model.member("byte_fallback").value):
        raise model.refused(
            "text begins as characters, because no pre-tokenizer is ByteLevel, and byte_fallback is not set: a "
            "character that is no token would be an unknown one, which is not supported"
        )
    if not by_bytes and model.has("ignore_merges") and model.member("ignore_merges").value:
        raise model.member("ignore_merges").refused(
            "text begins as characters, and a text such as <0x41> would be the token of a byte: not supported"
        )
    if model.has("unk_token"):
        model.member("unk_token").text()


def _revived(
    name: str,
    record: str,
    blob: bytes,
    lengths: bytes,
    ranks: bytes,
    splits: bytes,
    raw: tuple[int, ...],
    empty: int | None,
    rule: tuple[str, Any] = ("bpe", None),
) -> Model:
    sizes, order, halves = map(from_little_endian, (lengths, ranks, splits))
    whole = Field(json.loads(record), name)
    return Model(name, whole.value, vocabulary_of(blob, sizes, order, halves, *rule), raw, parts_of(whole), empty)


def vocabulary_of(
    blob: bytes,
    lengths: array[int],
    ids: array[int],
    splits: array[int],
    model: str,
    rest: Any,
) -> MergedVocabulary | ListedVocabulary:
    """The vocabulary of a model from its arrays. model, rest: as PackedVocabulary has them."""
    if model_named(model).merges:
        return MergedVocabulary(blob, lengths, ids, splits, None)
    return ListedVocabulary(blob, lengths, ids, splits or None, model, rest)


# ==== Added tokens ====


def decoded_name(content: str) -> bytes:
    """The bytes that the text of an added token decodes to: those of its letters if all of it is letters, as that of a
    token of the vocabulary."""
    if content.isascii() or not LETTERS.keys() >= set(content):
        return content.encode()
    return bytes(map(LETTERS.__getitem__, content))


def check_added(added: tuple[AddedToken, ...], find: Any, name_of: Any, tokens: int, path: str) -> None:
    """Raises VocabularyError unless the ids of added tokens are those that the reference gives them: that of the token
    in the vocabulary with the same text, or the next free one.

    Args:
        added: as the file has them.
        find: the id of a token of the vocabulary, or None.
        name_of: the token of the vocabulary with an id, or None.
        tokens: how many the vocabulary has.
        path: for errors.
    """
    seen: set[str] = set()
    free = tokens
    for i, token in enumerate(added):
        place = f"added_tokens[{i}]"
        if token.content in seen:
            raise VocabularyError(f"{place}: the added token {shown(token.content)} is there twice", path)
        seen.add(token.content)
        known = find(token.content)
        right = free if known is None else known
        if token.id != right:
            raise VocabularyError(
                f"{place}: {shown(token.content)} has id {token.id} here, and tokenizers would give it {right}: "
                "which of them the model was trained on is not certain",
                path,
            )
        if known is None and (other := name_of(right)) is not None:
            raise VocabularyError(
                f"{place}: the id of {shown(token.content)}, {right}, is that of {shown(other)} in the vocabulary, "
                "too, whose ids have gaps: number its tokens from 0 on",
                path,
            )
        free += known is None


def as_text(record: dict[str, Any]) -> str:
    """The record as JSON, for pickles."""
    return json.dumps(record, ensure_ascii=True, separators=(",", ":"))
