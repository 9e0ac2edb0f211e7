"""The kinds of models: what a file may say of each, and what is made of it.

Another kind is a class here, which read_kind() returns. The readers of files, class Model and what writes files ask the
kind that a Description has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..bundled.gpt2_files import LETTERS, in_letters
from ..bundled.marks import BEGINNING, BYTE, ENDING
from ..bundled.merged import MergedVocabulary
from ..bundled.packed import PackedVocabulary
from ..bundled.scored import scored_text, scores_of
from ..errors import VocabularyError, shown
from ..native.merges import SILENT
from ..patterns.compose import BYTE_LEVEL, ByteLevel, Split, Stage, byte_rules
from ..patterns.grouped import grouped
from .decoder_rules import DecoderRules
from .description import (
    AddedToken,
    Description,
    Form,
    Kind,
    Listed,
    MarkWords,
    Normalizer,
    Pairs,
    Prepend,
    PrependUnless,
    Replace,
    Strip,
)
from .field import Field
from .read_decoder import read_decoder
from .read_parts import kind_name, read_metaspace, read_stage, steps
from .splits import Splitting, divided, pieces_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from .tokens import Tokens

Packed = tuple[PackedVocabulary, tuple[int, ...]]

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

_SCORED = ("type", "unk_id", "vocab", "byte_fallback")

SENTENCES = "SentencePiece"
"""The type of the model of a .model whose type is Unigram, where its parts are told as those of a tokenizer.json."""

SENTENCE_PAIRS = "SentencePiece of pairs"
"""The same where its type is BPE or Char."""

_MOST_PREFIX = 64
"""ST_MOST_PREFIX of csrc/vocab/vocab.h."""


def read_kind(model: Field, pre_tokenizer: Field) -> Kind:
    """The kind of a model, by what `model` says and by what splits its texts. VocabularyError: it is not supported."""
    by_bytes = pre_tokenizer.value is not None and any(
        kind_name(step) == "ByteLevel" for step in steps(pre_tokenizer, "pretokenizers")
    )
    named = _type_of(model)
    if named in ("WordPiece", "WordLevel"):
        return _read_words(model) if named == "WordPiece" else _read_whole_words(model)
    if named == SENTENCES:
        return Sentences(model.member("unk_id").number(), model.member("byte_fallback").flag())
    if named == SENTENCE_PAIRS:
        return SentencePairs(fallback=model.member("byte_fallback").flag())
    if named == "Unigram":
        return _read_scored(model)
    if named != "BPE":
        raise model.refused(
            f"the model is of type {shown(named)}; BPE, WordPiece, WordLevel and Unigram are supported, and others "
            "split in other ways"
        )
    kind = _read_pairs(model, by_bytes)
    return kind if _can_split(kind, pre_tokenizer) else _read_pairs(model, False)


def _can_split(kind: Kind, field: Field) -> bool:
    """Whether a kind splits as the file says; else the letters that a ByteLevel writes are the characters of a model of
    characters, where that does."""
    try:
        kind.split(field, ())
    except VocabularyError:
        try:
            Characters().split(field, ())
        except VocabularyError:
            return True  # which says why
        return False
    return True


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


def _read_words(model: Field) -> Words:
    model.check_members(_WORDS)
    prefix = model.member("continuing_subword_prefix").text()
    if len(prefix.encode()) > _MOST_PREFIX:
        raise model.member("continuing_subword_prefix").refused(f"it has more than {_MOST_PREFIX} bytes")
    return Words(model.member("unk_token").text(), model.member("max_input_chars_per_word").number(), prefix)


def _read_whole_words(model: Field) -> WholeWords:
    model.check_members(("type", "unk_token", "vocab"))
    return WholeWords(model.member("unk_token").text())


def _read_scored(model: Field) -> Scores:
    model.check_members(_SCORED)
    fallback = model.has("byte_fallback") and model.member("byte_fallback").flag()
    if not model.has("unk_id"):  # then the reference does not come to look for tokens of bytes
        return Scores(None, False)
    return Scores(model.member("unk_id").number(), fallback)


def _read_pairs(model: Field, by_bytes: bool) -> BytePairs | Characters:
    model.check_members(_MODEL)
    if model.has("dropout") and model.member("dropout").value != 0:
        raise model.member("dropout").refused(
            "merges are left out at random, so that a text has no certain ids, which is for training: write null"
        )
    prefix, suffix = (model.member(name).text() if model.has(name) else "" for name in _AFFIXES)
    if not prefix.isascii():
        raise model.member(_AFFIXES[0]).refused(
            "the reference takes as many bytes from the right part of a merge as it has characters: only ASCII is "
            "supported"
        )
    flags = {
        name: model.has(name) and model.member(name).flag() for name in ("fuse_unk", "byte_fallback", "ignore_merges")
    }
    unknown = model.member("unk_token").text() if model.has("unk_token") else None
    given = (flags["ignore_merges"], prefix, suffix, unknown, flags["fuse_unk"], flags["byte_fallback"])
    for name, affix in zip(_AFFIXES, (prefix, suffix)):
        if by_bytes and not LETTERS.keys() >= set(affix):
            raise model.member(name).refused("it is not in the letters that stand for bytes: not supported")
    return BytePairs(*given) if by_bytes else Characters(*given)


_AFFIXES = ("continuing_subword_prefix", "end_of_word_suffix")


# ==== BPE over bytes ====


@dataclass(frozen=True)
class BytePairs(Pairs):
    """BPE whose text begins as bytes, which tokens write in GPT-2's letters."""

    by_bytes = True

    def split(self, field: Field, normalizers: tuple[Normalizer, ...]) -> Splitting:
        """One step writes bytes as letters; those behind it read letters."""
        given = [] if field.value is None else steps(field, "pretokenizers")
        made: tuple[Normalizer, ...] = ()
        found: list[Stage] = []
        for step in given:
            if kind_name(step) == "Metaspace":
                made, found = _marked(step, made, found)
            else:
                found += read_stage(step)
        stages = grouped(found)
        levels = [stage for stage in stages if isinstance(stage, ByteLevel)]
        if len(levels) != 1:
            raise field.refused("a second ByteLevel would write letters for the bytes of letters: not supported")
        if levels[0].add_prefix_space:
            at = stages.index(levels[0])
            made = (*made, *pieces_of(field, stages[:at]), PrependUnless(" ", False))
            stages = ByteLevel(levels[0].use_regex, False), *stages[at + 1 :]
        made, stages = divided(field, made, stages)
        if self.ignore_merges and byte_rules(stages):
            raise field.refused("a step behind ByteLevel and ignore_merges together are not supported")
        return normalizers + made, stages

    def decoder(self, field: Field) -> DecoderRules | None:
        rules = read_decoder(field)
        return None if rules == DecoderRules(has_letters=True) and not (self.prefix or self.suffix) else rules

    def pack(self, tokens: Tokens, parts: Description) -> Packed:
        rules = byte_rules(parts.stages)
        if self.prefix or self.suffix or tokens.lacks_bytes:
            if rules:
                raise tokens.refused(
                    "pre_tokenizer",
                    "a step behind ByteLevel, and bytes that are no tokens, a prefix or a suffix: not supported",
                )
            if self.fallback and any(tokens.of_bytes):
                raise tokens.refused(
                    "model.byte_fallback",
                    "the letters of bytes that are no tokens would become tokens of the bytes of these letters: not "
                    "supported; write false, or give all bytes their tokens",
                )
            packed, raw = tokens.pack_units(self, self._apart(parts))
        else:
            packed, raw = tokens.pack(self.ignore_merges, self._apart(parts), rules), tokens.raw
        _check_letters(parts.added, packed, tokens)
        return packed, raw

    def check(self, parts: Description, decoded: Callable[[AddedToken], str], tokens: Tokens) -> None:
        """Refuses a name that decodes to another text than the token of that id."""
        for i, token in enumerate(parts.added):
            if decoded(token) != token.content and tokens.find(token.content) is not None:
                raise tokens.refused(
                    f"added_tokens[{i}]",
                    f"the normalizer changes {shown(token.content)}, which is a token of the vocabulary, too: what its "
                    'id decodes to is not certain; write "normalized": false',
                )

    def text(self, data: bytes) -> str:
        prefix, inner, suffix = _parts(self, data)
        return prefix + in_letters(inner) + suffix

    def is_symbol(self, data: bytes) -> bool:
        return len(_parts(self, data)[1]) == 1

    def written_otherwise(self, raw: tuple[int, ...]) -> dict[int, str | None]:
        return dict.fromkeys(raw)

    def decoded(self, content: str) -> bytes:
        """Those of its letters if all of it is letters, as that of a token of the vocabulary."""
        if content.isascii() or not LETTERS.keys() >= set(content):
            return content.encode()
        return bytes(map(LETTERS.__getitem__, content))

    def _apart(self, parts: Description) -> set[str]:
        """The added tokens that no piece becomes by itself. Where a piece that is a token is taken whole, those are the
        special ones whose text is found wherever it stands: it is in no piece unless the caller wants it as text."""
        if not self.ignore_merges:
            return {token.content for token in parts.added}
        if any(token.single_word for token in parts.added):  # one that does not count hides the others inside it, too
            return set()
        return {token.content for token in parts.added if token.special and (token.normalized or not parts.normalizers)}


def _check_letters(added: tuple[AddedToken, ...], packed: MergedVocabulary, tokens: Tokens) -> None:
    """Raises VocabularyError where an added token is an ordinary one, too, and stands for other bytes then."""
    if all(token.content.isascii() or tokens.find(token.content) is None for token in added):
        return
    assert packed.splits is not None
    ids = {token for token, half in zip(packed.ranks, packed.splits) if half != SILENT}
    for i, token in enumerate(added):
        if token.id in ids and not token.content.isascii():
            raise tokens.refused(
                f"added_tokens[{i}]",
                "it is a token of the vocabulary, too, and its letters stand for other bytes there",
            )


# ==== BPE over characters ====


class _OfCharacters(Kind):
    """Text begins as characters."""

    def split(self, field: Field, normalizers: tuple[Normalizer, ...]) -> Splitting:
        """A Metaspace that is not the first step works on each piece by itself."""
        given = [] if field.value is None else steps(field, "pretokenizers")
        stages: list[Stage] = []
        kinds = [kind_name(step) for step in given[:2]]
        if kinds == ["WhitespaceSplit", "Metaspace"] and (marked := _read_words_with_marks(*given[:2])) is not None:
            made, stages = marked
            normalizers, given = normalizers + made, given[2:]
        for step in given:
            if kind_name(step) == "ByteLevel":
                normalizers, stages = _letters(step, normalizers, stages), []
            elif kind_name(step) == "Metaspace":
                normalizers, stages = _marked(step, normalizers, stages)
            else:
                stages += read_stage(step)
        stages = [stage for stage in stages if not _is_idle(stage, normalizers)]
        return divided(field, normalizers, grouped(stages))


def _marked(
    step: Field, normalizers: tuple[Normalizer, ...], stages: list[Stage]
) -> tuple[tuple[Normalizer, ...], list[Stage]]:
    """The normalizers with a Metaspace, which goes for each piece of the stages in front of it, and the stages behind
    it. VocabularyError: a ByteLevel stands in front."""
    if any(isinstance(stage, ByteLevel) for stage in stages):
        raise step.refused("a Metaspace behind ByteLevel, in a model of bytes: not supported")
    made, split = read_metaspace(step)
    return (*normalizers, *pieces_of(step, grouped(stages)), *made), split


def _letters(step: Field, normalizers: tuple[Normalizer, ...], stages: list[Stage]) -> tuple[Normalizer, ...]:
    """The normalizers with a ByteLevel, whose letters are the characters of a model that is not of bytes: it goes for
    each piece of the stages in front of it."""
    (level,) = read_stage(step)
    assert isinstance(level, ByteLevel)
    made: list[Normalizer] = []
    if level.add_prefix_space:
        made += [*pieces_of(step, grouped(stages)), PrependUnless(" ", False)]
        stages = []
    if level.use_regex:
        stages = [*stages, Split(BYTE_LEVEL)]
    made += [*pieces_of(step, grouped(stages)), Form("Letters")]
    return (*normalizers, *made)


def _read_words_with_marks(first: Field, second: Field) -> tuple[tuple[Normalizer, ...], list[Stage]] | None:
    """A WhitespaceSplit, and a Metaspace that puts a mark in front of each word; None: another kind of it."""
    made, split = read_metaspace(second)
    marked = [MarkWords(step.character) for step in made if isinstance(step, PrependUnless) and not step.first]
    if not split or not marked:
        return None
    first.check_members(("type",))
    return tuple(marked), split


@dataclass(frozen=True)
class Characters(_OfCharacters, Pairs):
    """BPE over characters. One that is no token becomes tokens of bytes, as SentencePiece has it, an unknown one, or
    nothing."""

    def decoder(self, field: Field) -> DecoderRules:
        return read_decoder(field)

    def pack(self, tokens: Tokens, parts: Description) -> Packed:
        if not self.fallback or not any(tokens.of_bytes):
            return tokens.pack_units(self)[0], ()
        for name, affix in zip(_AFFIXES, (self.prefix, self.suffix)):
            if affix:
                raise tokens.refused(
                    f"model.{name}",
                    "byte_fallback is set, too, so that it would become tokens of bytes: not supported; write "
                    '"byte_fallback": false',
                )
        if tokens.has_all_bytes and not self.ignore_merges:
            return tokens.pack_characters()
        return tokens.pack_units(self)[0], ()

    def written_otherwise(self, raw: tuple[int, ...]) -> dict[int, str | None]:
        return {token: f"<0x{value:02X}>" for value, token in enumerate(raw) if token >= 0}

    def text(self, data: bytes) -> str:
        if data.startswith(BYTE):
            return f"<0x{data[1]:02X}>"
        prefix, inner, suffix = _parts(self, data)
        return prefix + inner.decode() + suffix

    def is_symbol(self, data: bytes) -> bool:
        return data.startswith(BYTE) or len(_parts(self, data)[1].decode()) == 1


@dataclass(frozen=True)
class SentencePairs(Characters):
    """BPE or Char of a .model of SentencePiece, which piece_pairs.py reads: no other file has it. Without `fallback`
    characters that are no pieces are unknown."""

    in_files = False

    def pack(self, tokens: Tokens, parts: Description) -> Packed:
        raise tokens.refused("model.type", f"{shown(SENTENCE_PAIRS)} is in no tokenizer.json")


def _parts(kind: Pairs, data: bytes) -> tuple[str, bytes, str]:
    """(the prefix that a file writes in front of a token, its bytes, the suffix that it writes behind it). data: with
    the marks of the core (bundled/symbols.py)."""
    prefix, suffix = kind.prefix, ""
    if kind.prefix and len(data) > 1 and data.startswith(BEGINNING):
        prefix, data = "", data[1:]
    if kind.suffix and len(data) > 1 and data.endswith(ENDING):
        suffix, data = kind.suffix, data[:-1]
    return prefix, data, suffix


def _is_idle(stage: Stage, normalizers: tuple[Normalizer, ...]) -> bool:
    """Whether a Split looks for a character that normalized text never has, so that it splits nothing."""
    if not isinstance(stage, Split) or stage.invert or not stage.literal or len(stage.pattern) != 1:
        return False
    for step in reversed(normalizers):
        if isinstance(step, Replace) and stage.pattern not in step.content:
            if step.pattern == stage.pattern:
                return True
        elif isinstance(step, Prepend) and stage.pattern not in step.text:
            continue
        elif not isinstance(step, Strip) and not (isinstance(step, PrependUnless) and step.character != stage.pattern):
            return False
    return False


# ==== WordPiece ====


@dataclass(frozen=True)
class Words(_OfCharacters):
    """WordPiece: the unknown token, most characters of a word, what tokens that go on in a word begin with."""

    unknown: str
    most: int
    prefix: str
    has_merges = False

    def decoder(self, field: Field) -> DecoderRules:
        return read_decoder(field)

    def pack(self, tokens: Tokens, parts: Description) -> Packed:
        return tokens.pack_words(self.unknown, self.most, self.prefix), ()


# ==== WordLevel ====


@dataclass(frozen=True)
class WholeWords(_OfCharacters):
    """WordLevel: a piece is a token, or the unknown one. That is WordPiece in which no token goes on in a word."""

    unknown: str
    has_merges = False

    def decoder(self, field: Field) -> DecoderRules:
        return read_decoder(field)

    def pack(self, tokens: Tokens, parts: Description) -> Packed:
        return tokens.pack_words(self.unknown, _ANY_LENGTH, tokens.no_beginning()), ()


_ANY_LENGTH = 0x7FFFFFFF
"""Characters of a word."""


# ==== Unigram ====


@dataclass(frozen=True)
class Scores(_OfCharacters):
    """Unigram: the id of the unknown token, or None, and whether unknown characters become tokens of bytes, as
    <0x41>."""

    unknown: int | None
    fallback: bool
    has_merges = False
    has_scores = True

    def decoder(self, field: Field) -> DecoderRules:
        return read_decoder(field)

    def pack(self, tokens: Tokens, parts: Description) -> Packed:
        return tokens.pack_scored(self.unknown, self.fallback), ()

    def vocab_text(self, listed: list[Listed], packed: PackedVocabulary) -> str:
        """Tokens with scores, in the order of their ids. One without text, which the core does not hold, has the
        largest score, so that it changes nothing."""
        scores = dict(zip(packed.ranks, scores_of(packed.rest)))
        largest = max(scores.values())
        return scored_text((text, scores.get(i, largest)) for i, text, _ in listed)


@dataclass(frozen=True)
class Sentences(Scores):
    """Unigram of a .model of SentencePiece, which sentencepiece.py reads: no other file has it."""

    in_files = False

    def pack(self, tokens: Tokens, parts: Description) -> Packed:
        raise tokens.refused("model.type", f"{shown(SENTENCES)} is in no tokenizer.json")
