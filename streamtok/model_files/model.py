"""A model's tokenizer: what its file says, and what an Encoding is made of."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

from ..bundled.listed import ListedVocabulary
from ..bundled.merged import MergedVocabulary
from ..bundled.models import model_named
from ..bundled.packed import PackedVocabulary, from_little_endian, to_little_endian
from ..errors import VocabularyError, shown, warn_user
from ..native.merges import FIRST_FRAGMENT, SILENT
from ..native.normal import Normalizer
from ..native.pattern import Pattern
from ..native.steps import lazy
from ..patterns import table_of
from ..patterns.compose import Split, Stage
from ..patterns.engine import splitter_of
from .added_tokens import AddedTokens
from .description import AddedToken, Description, Sentence
from .field import Field
from .kinds import read_kind
from .read_parts import read_added, read_normalizers, read_template
from .read_rows import read_padding, read_truncation

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
    parts: Description
    empty: int | None = None

    @property
    def normalizer(self) -> tuple[tuple[Any, ...], ...]:
        """What is done to text before it is split, as the argument `normalizer` of class Encoding."""
        steps, behind = self._steps
        return (*steps, ("Names",), *behind) if behind and not self.added_names.at_once else steps + behind

    @lazy
    def _steps(self) -> tuple[tuple[tuple[Any, ...], ...], tuple[tuple[Any, ...], ...]]:
        """What is done before late names are sought, and behind it."""
        steps = tuple(step.as_step() for step in self.parts.normalizers)
        middle = len(steps) - self.parts.behind
        return steps[:middle], steps[middle:]

    @lazy
    def added_names(self) -> AddedTokens:
        """What finds added tokens in texts."""
        keeps_names = any(isinstance(step, Sentence) for step in self.parts.normalizers)
        return AddedTokens(self.parts.added, *self._steps, self.name, keeps_names)

    @property
    def stages(self) -> tuple[Stage, ...] | None:
        """What splits text, in turn; None where a text is one piece."""
        return self.parts.stages if table_of(self.parts.stages) is not None else None

    @property
    def has_decoder_rules(self) -> bool:
        """Whether tokens are decoded by rules: they are not the bytes of text."""
        return self.parts.decoder_rules is not None

    @property
    def splitter(self) -> Pattern | None:
        """What of the core splits texts; None: only `regex` does."""
        return splitter_of(self.stages)

    @property
    def pattern(self) -> str | None:
        """A regular expression, or other words for what splits: to be read, not to split by."""
        if self.stages is None:
            return None
        first = self.stages[0]
        only = 1 + self.parts.model.by_bytes  # behind it a ByteLevel
        return first.pattern if isinstance(first, Split) and len(self.stages) == only else repr(self.stages)

    @property
    def decoded(self) -> dict[int, bytes]:
        """The bytes of the tokens that are not in the vocabulary, added ones and the empty one, by id."""
        listed = {token.id for token in self.parts.added}.intersection(self.vocabulary.ranks)
        name_of = self.parts.model.decoded
        found = {
            token.id: name_of(self.added_names.decoded(token)) for token in self.parts.added if token.id not in listed
        }
        return found if self.empty is None else {self.empty: b"", **found}

    def listed(self) -> Iterator[tuple[int, str, tuple[str, str] | None]]:
        """Of each token of the vocabulary the id, the text as a file writes it, and the two that a merge joins."""
        packed, kind = self.vocabulary, self.parts.model
        otherwise = kind.written_otherwise(self.raw)
        start = 0
        for size, token, half in zip(packed.lengths, packed.ranks, packed.splits or repeat(0)):
            data = packed.blob[start : start + size]
            start += size
            if token >= FIRST_FRAGMENT:
                continue
            if token in otherwise:
                yield token, otherwise[token] or data.decode(), None
                continue
            text = kind.text(data)
            is_made = half not in (0, SILENT) and not kind.is_symbol(data)
            yield token, text, (kind.text(data[:half]), kind.text(data[half:])) if is_made else None
        if self.empty is not None:
            yield self.empty, "", None

    def names(self) -> dict[int, bytes]:
        """All tokens, in UTF-8, by id: as the file writes them, and added ones as they are sought."""
        named = {token: text.encode() for token, text, _ in self.listed()}
        return named | {token.id: self.added_names.decoded(token).encode() for token in self.parts.added}

    @property
    def facts(self) -> bytes:
        """All that decides ids besides the vocabulary, the pattern and the special tokens."""
        return self.parts.facts.encode()

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


def parts_of(whole: Field) -> Description:
    """The parts of a tokenizer.json, after the checks of all that may not be there. VocabularyError."""
    whole.check_members(_TOP)
    if whole.has("version") and whole.member("version").value != "1.0":
        raise whole.member("version").refused(f"{shown(whole.member('version').value)} is unknown; 1.0 is supported")
    pre_tokenizer = _optional(whole, "pre_tokenizer")
    kind = read_kind(whole.member("model"), pre_tokenizer)
    normalizers = read_normalizers(_optional(whole, "normalizer"))
    added = read_added(_optional(whole, "added_tokens"))
    before = len(normalizers)
    normalizers, stages = kind.split(pre_tokenizer, normalizers)
    rules = kind.decoder(_optional(whole, "decoder"))
    try:
        Normalizer(step.as_step() for step in normalizers)
    except ValueError as error:
        raise _optional(whole, "normalizer").refused(str(error)) from None
    template = read_template(_optional(whole, "post_processor"))
    rows = read_truncation(_optional(whole, "truncation")), read_padding(_optional(whole, "padding"))
    return Description(normalizers, stages, added, template, kind, len(normalizers) - before, rules, *rows)


def _optional(whole: Field, name: str) -> Field:
    return whole.member(name) if whole.has(name) else Field(None, whole.path, name)


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
        return MergedVocabulary(blob, lengths, ids, splits, None, *((model, rest) if rest is not None else ()))
    return ListedVocabulary(blob, lengths, ids, splits or None, model, rest)


# ==== Added tokens ====


def _reference_ids(added: tuple[AddedToken, ...], find: Any, tokens: int) -> dict[str, int]:
    """The id that the reference gives each added token: that of the token in the vocabulary with the same text, or the
    next free one. Arguments as check_added() has them."""
    ids: dict[str, int] = {}
    free = tokens
    for name in dict.fromkeys(token.content for token in added):
        known = find(name)
        ids[name] = free if known is None else known
        free += known is None
    return ids


def renumbered(added: tuple[AddedToken, ...], find: Any, tokens: int, path: str) -> tuple[AddedToken, ...]:
    """The same with the ids that the reference gives them, which does not read those of the file. UserWarning: some are
    others. Arguments as check_added() has them."""
    ids = _reference_ids(added, find, tokens)
    moved = [token for token in added if ids[token.content] != token.id]
    if moved:
        first = moved[0]
        warn_user(
            f"{path}: added_tokens: {shown(first.content)} has id {first.id} there, and tokenizers gives it "
            f"{ids[first.content]}, as this encoding does{f' ({len(moved)} tokens are so)' if len(moved) > 1 else ''}"
        )
    return tuple(replace(token, id=ids[token.content]) for token in added) if moved else added


def check_added(added: tuple[AddedToken, ...], find: Any, name_of: Any, tokens: int, path: str) -> None:
    """Raises VocabularyError unless the ids of added tokens are those that the reference gives them.

    Args:
        added: as the file has them.
        find: the id of a token of the vocabulary, or None.
        name_of: the token of the vocabulary with an id, or None.
        tokens: how many the vocabulary has.
        path: for errors.
    """
    ids = _reference_ids(added, find, tokens)
    seen: set[str] = set()
    for i, token in enumerate(added):
        place = f"added_tokens[{i}]"
        if token.content in seen:
            raise VocabularyError(f"{place}: the added token {shown(token.content)} is there twice", path)
        seen.add(token.content)
        right = ids[token.content]
        if token.id != right:
            raise VocabularyError(
                f"{place}: {shown(token.content)} has id {token.id} here, and tokenizers would give it {right}: "
                "which of them the model was trained on is not certain",
                path,
            )
        if find(token.content) is None and (other := name_of(right)) is not None:
            raise VocabularyError(
                f"{place}: the id of {shown(token.content)}, {right}, is that of {shown(other)} in the vocabulary, "
                "too, whose ids have gaps: number its tokens from 0 on",
                path,
            )


def as_text(record: dict[str, Any]) -> str:
    """The record as JSON, for pickles."""
    return json.dumps(record, ensure_ascii=True, separators=(",", ":"))
