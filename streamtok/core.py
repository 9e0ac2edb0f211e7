"""class Encoding: how one is made, and which special tokens a call finds.

whole/, streaming.py and decoding.py hold the methods that encode and decode, whole/facts.py the facts.
"""

from __future__ import annotations

import warnings

from .bundled.mapped import build_vocabulary, choice, open_vocabulary, packed_of
from .bundled.models import model_named
from .bundled.packed import PackedVocabulary, pack_ranks
from .checks import check_allowed, check_n_vocab, check_special, id_array, normalizer_of
from .decoding import Decoding
from .errors import shown
from .identity import Identified
from .native.decode import Decoder
from .native.encode import ENGINES, ERRORS, Coder
from .native.matcher import Matcher
from .native.steps import lazy
from .patterns.engine import splitter_of
from .serving import Serving
from .streaming import Streaming
from .whole import WholeTexts
from .whole.facts import Facts

# typing.TYPE_CHECKING, without the import of typing, which takes as long as loading a vocabulary. The same in every
# module that `import streamtok` loads.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from typing import Any

    from .device import Devices
    from .model_files import Model
    from .native.normal import Normalizer
    from .native.vocab import Vocab
    from .patterns import Split
    from .protocols import AllowedSpecial, DisallowedSpecial, NamePair, Template, TextCoder

# Matchers kept for the sets of special tokens a program uses. Few programs use more than two.
_MATCHERS_KEPT = 64

# Bytes of their names, all together: matchers take up to 33 times as much (csrc/special/names.h). A larger set is kept
# alone.
_MATCHER_BYTES_KEPT = 4 << 20

# As SECONDS of patterns/splitter.py, which is not imported before there is such a pattern.
_PATTERN_SECONDS = 30.0


class Encoding(Identified, WholeTexts, Decoding, Streaming, Serving, Facts):
    """A vocabulary, the pattern that splits text into pieces, and special tokens. Immutable; threads share it freely.

    Args:
        name: what repr() and errors call it. Encodings with different special tokens should have different names.
        pat_str: the regex that splits text. It is compiled to a table that reads each character once; blocks of 64
            bytes split faster where they know the pattern. Only what no table can express goes through the `regex`
            package, with tiktoken's Unicode tables (`pattern_engine` says which it is). None: no split, see
            without_pattern().
        mergeable_ranks: token bytes -> rank; lower ranks merge first. All 256 single bytes must be there.
        special_tokens: special token text -> id.
        explicit_n_vocab: if given, the number of tokens, special ones included, and one more than the largest id.
        engine: "fast", or "reference": a linked list and a heap without tables, the oracle of the tests. Its streams
            hold a piece until it ends, however long it is.
        pattern_seconds: seconds of processor time that a pattern that goes through `regex` may take for a million
            characters or any shorter text, in each call and each feed of a stream; longer text has proportionally more.
            A call over it raises TimeoutError. None: without a bound.
        normalizer: what is done to a text, or to each part between two special tokens, before it is split: steps in
            order, each a tuple, as ("NFC",), ("Lowercase",) or ("Replace", " ", "▁"). native/normal.pyx lists
            them; they do what those of Hugging Face's tokenizers do. None: nothing.

    Attributes:
        name: as given. It may be changed.
        max_token_value: the largest id.

    Raises:
        VocabularyError: ranks that contradict themselves, a special id that is an ordinary token's too, a wrong
            explicit_n_vocab.
        ValueError: a pattern that does not compile, an unknown engine.
    """

    # Every call reads one or two of these. A slot is faster than the __dict__, which CPython 3.11 searches each time
    # once some code has asked for it: a tenth of the time of a short text.
    __slots__ = ("_coder", "_decoder", "_default_matchers", "_plain")

    def __init__(
        self,
        name: str,
        *,
        pat_str: str | None,
        mergeable_ranks: dict[bytes, int] | PackedVocabulary,
        special_tokens: dict[str, int],
        explicit_n_vocab: int | None = None,
        engine: str = "fast",
        pattern_seconds: float | None = _PATTERN_SECONDS,
        normalizer: Iterable[Iterable[Any]] | None = None,
    ):
        self._pattern_seconds = pattern_seconds
        self._normalizer = normalizer_of(normalizer)
        if isinstance(mergeable_ranks, PackedVocabulary):
            self._packed = mergeable_ranks
        else:
            self._mergeable_ranks = mergeable_ranks
            self._packed = pack_ranks(mergeable_ranks)
        check_special(self._packed, special_tokens)
        vocab = build_vocabulary(self._packed, special_tokens)
        self._set_up(name, pat_str, vocab, special_tokens, explicit_n_vocab, engine)

    @classmethod
    def _bundled(
        cls,
        name: str,
        pat_str: str,
        vocabulary: str,
        special: dict[str, int],
        n_vocab: int | None,
        engine: str = "fast",
    ) -> Encoding:
        """The same from the tables of a bundled vocabulary: nothing is built, and no dictionary before it is needed."""
        self = cls.__new__(cls)
        self._vocabulary = vocabulary
        self._set_up(name, pat_str, open_vocabulary(vocabulary, special), special, n_vocab, engine)
        return self

    _vocabulary: str  # the bundled vocabulary that it is made of, if it is

    @lazy
    def _packed(self) -> PackedVocabulary:
        return packed_of(self._vocab, self._vocabulary)

    @classmethod
    def from_tiktoken(cls, encoding: Any, *, engine: str = "fast") -> Encoding:
        """The same encoding as a tiktoken.Encoding, which need not be a bundled one.

        Args:
            encoding: the tiktoken.Encoding; its name, pattern, ranks and special tokens are taken over.
            engine: as for the class.

        Raises:
            VocabularyError, ValueError: as for the class.
        """
        return cls(
            encoding.name,
            pat_str=encoding._pat_str,
            mergeable_ranks=encoding._mergeable_ranks,
            special_tokens=encoding._special_tokens,
            engine=engine,
        )

    @classmethod
    def longest_match(
        cls,
        name: str,
        tokens: Mapping[bytes, int],
        *,
        special_tokens: dict[str, int],
        pat_str: str | None = None,
        engine: str = "fast",
    ) -> Encoding:
        """An encoding by longest match: from the left, always the longest token that the text goes on with.

        RWKV's World vocabulary is used so. docs/longest_match.md has the definition.

        Args:
            name: as for the class.
            tokens: token bytes -> id. All 256 single bytes must be there.
            special_tokens: as for the class.
            pat_str: as for the class; None: the text between two special tokens is matched as it is.
            engine: as for the class; "reference" tries each length of token.

        Raises:
            VocabularyError: an empty or too long token, a byte that is no token, an id given twice, or to a special
                token too.
            TypeError: a token is not bytes, or an id is not an int.
            ValueError: as for the class.
        """
        from .bundled.listed import pack_listed

        packed = pack_listed(tokens)
        return cls(name, pat_str=pat_str, mergeable_ranks=packed, special_tokens=special_tokens, engine=engine)

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        *,
        cache: bool = False,
        engine: str = "fast",
        pattern_seconds: float | None = _PATTERN_SECONDS,
    ) -> Encoding:
        """The encoding of a model, from its tokenizer file. Its ids are those that Hugging Face's tokenizers gives.

        docs/models.md says which files load, and why others do not. Texts of added tokens that are not special become
        their ids in every text. Special ones go by allowed_special and disallowed_special, as for encode().

        Args:
            path: a tokenizer.json, a tekken.json, a .model of SentencePiece, a folder as transformers saves it, or
                another file of docs/models.md.
            cache: whether to write tables of it to the user's cache folder, where there are none. They have frequent
                words, too, and the next load takes some milliseconds. Tables that are there are used in any case,
                unless STREAMTOK_TABLES is "package"; ids do not depend on them. UserWarning, once for a folder: they
                cannot be written there.
            engine: as for the class.
            pattern_seconds: as for the class.

        Raises:
            VocabularyError: a file that is damaged, or that says what is not supported; the message names the place.
            OSError: the file cannot be read, or was changed while tables of it were to be written.
            ValueError: an unknown engine.
        """
        from .model_files.cached import load

        model, vocab = load(path, cache, choice() != "package")
        self = cls.__new__(cls)
        if not isinstance(model, tuple):
            self._become(model=model, engine=engine, pattern_seconds=pattern_seconds, vocab=vocab)
        elif vocab is None:
            self.__init__(**model._asdict(), engine=engine, pattern_seconds=pattern_seconds)  # type: ignore[misc]
        else:
            self._pattern_seconds, self._packed = pattern_seconds, model.mergeable_ranks
            self._set_up(model.name, model.pat_str, vocab, model.special_tokens, None, engine)
        return self

    @classmethod
    def from_hf(
        cls, tokenizer: Any, *, engine: str = "fast", pattern_seconds: float | None = _PATTERN_SECONDS
    ) -> Encoding:
        """The encoding of a tokenizer of Hugging Face's, as from_file() of its tokenizer.json.

        Args:
            tokenizer: a tokenizers.Tokenizer, or a fast tokenizer of transformers.
            engine: as for the class.
            pattern_seconds: as for the class.

        Raises:
            VocabularyError: it does what is not supported; the message names the place in its tokenizer.json.
            TypeError: another object.
            ValueError: an unknown engine.
        """
        from .model_files import read_hf

        self = cls.__new__(cls)
        self._become(model=read_hf(tokenizer), engine=engine, pattern_seconds=pattern_seconds)
        return self

    def _become(
        self,
        *,
        model: Model,
        name: str | None = None,
        engine: str = "fast",
        pattern_seconds: float | None = _PATTERN_SECONDS,
        vocab: Vocab | None = None,
        **_: object,
    ) -> None:
        self._pattern_seconds = pattern_seconds
        self._model, self._packed, self._template = model, model.vocabulary, model.template
        self._normalizer = normalizer_of(model.normalizer)
        if model.parts.spelled is not None:
            from .model_files.spelling import Spelling

            self._spelling = Spelling(model.parts.spelled, model.names)
        if vocab is None:
            vocab = build_vocabulary(self._packed, {}, others=model.decoded)
        self._set_up(name or model.name, model.pattern, vocab, model.special, None, engine)

    _model: Model | None = None
    _template: Template = ((), ())

    _warns_without_pattern = True
    _pattern_seconds: float | None = _PATTERN_SECONDS
    _normalizer: Normalizer | None = None

    def _set_up(
        self,
        name: str,
        pat_str: str | None,
        vocab: Vocab,
        special_tokens: dict[str, int],
        explicit_n_vocab: int | None,
        engine: str,
    ) -> None:
        self.name, self._pat_str, self._special_tokens = name, pat_str, special_tokens
        self._kind = model_named(vocab.model)
        self._split: Split | None = pat_str if self._model is None else self._model.stages
        plain = {} if self._model is None else self._model.plain
        self._added_tokens, self._always_found = special_tokens | plain if plain else special_tokens, frozenset(plain)
        if pat_str is None and self._warns_without_pattern and self._model is None and self._kind.merges:
            warnings.warn(
                f"{shown(name)} has no pattern: texts are merged whole, and ids are not those that a model was "
                "trained on",
                stacklevel=3,
            )
        self._engine, self._vocab = engine, vocab
        self.max_token_value: int = max(vocab.highest_id, vocab.highest_other)
        check_n_vocab(vocab.count + len(special_tokens), self.max_token_value, explicit_n_vocab)
        if engine not in ENGINES:
            raise ValueError(f"unknown engine {shown(engine)}; write one of {', '.join(map(repr, ENGINES))}")
        self._special_token_values = set(special_tokens.values())
        skipped = self._special_token_values if self._model is None else self._model.added_names.skipped
        self._decoder = Decoder(vocab, skipped, id_array)
        self._coders: dict[str, TextCoder] = {}
        self._coder: TextCoder = self._coder_for("strict")
        self._devices: Devices | None = None  # see device.py
        self._matchers: dict[tuple[frozenset[str], frozenset[str]], NamePair] = {}
        self._plain = self._find_matchers(set(), ())[0]
        self._default_matchers = self._find_matchers(set(), "all")
        self._note()

    def _coder_for(self, errors: str) -> TextCoder:
        """What encodes whole texts with one error mode: the C core, with `regex` before it where no table splits."""
        if errors not in self._coders:
            if errors not in ERRORS:
                raise ValueError(f"unknown errors={shown(errors)}; write one of {', '.join(map(repr, ERRORS))}")
            splitter = splitter_of(self._split)
            if splitter is not None:
                self._coders[errors] = Coder(self._vocab, splitter, self._engine, errors, self._normalizer)
            elif self._normalizer is not None:
                raise ValueError(
                    f"{shown(self.name)} has a normalizer, and a pattern that goes through the regex package: only "
                    "patterns that the core splits itself can follow a normalizer"
                )
            else:
                from .patterns.coder import PatternCoder

                assert self._pat_str is not None and self._model is None  # the core splits for these
                self._coders[errors] = PatternCoder(
                    self._vocab, self._pat_str, self._engine, errors, self._pattern_seconds
                )
        return self._coders[errors]

    def _extras(self) -> dict[str, object]:
        extras: dict[str, object] = {}
        if self._pattern_seconds != _PATTERN_SECONDS:
            extras["pattern_seconds"] = self._pattern_seconds
        if self._normalizer is not None:
            extras["normalizer"] = self._normalizer.steps
        settings = self.truncation, self.padding
        if any(settings):  # they belong to the identity, although ids do not depend on them
            extras["rows"] = settings
        return extras

    def without_pattern(self) -> Encoding:
        """The same vocabulary without a split: the text between two special tokens is one piece, and merged whole.

        BlockBPE (You, 2025) tokenizes so. The ids are not those that a model was trained on, as a UserWarning
        says; docs/gpu.md shows how far they differ.
        """
        other = Encoding.__new__(Encoding)
        if "_vocabulary" in self.__dict__:
            other._vocabulary = self._vocabulary
        else:
            other._packed = self._packed
        other._normalizer = self._normalizer
        name = f"{self.name} without pattern"
        other._set_up(name, None, self._vocab, self._special_tokens, None, self._engine)
        return other

    def with_longest_match(self) -> Encoding:
        """The same vocabulary, pattern and special tokens, with the longest token at each place instead of merging.

        Uzan et al., "Greed is all you need" (2024), find it a good way to use vocabularies of BPE. The ids are not
        those that a model was trained on. Of a model's file normalizer, template and added tokens stay, too. Where
        longest match is the rule already, it is the encoding itself.

        Raises:
            VocabularyError: a byte is no token, as in some models' files.
        """
        name = f"{self.name} by longest match"
        packed = self._kind.by_longest_match(self._packed)
        if packed is self._packed:
            return self
        if self._model is not None:
            other = Encoding.__new__(Encoding)
            other._become(model=self._model.with_vocabulary(packed), name=name, engine=self._engine)
            return other
        return Encoding(
            name,
            pat_str=self._pat_str,
            mergeable_ranks=packed,
            special_tokens=self._special_tokens,
            engine=self._engine,
            pattern_seconds=self._pattern_seconds,
            normalizer=None if self._normalizer is None else self._normalizer.steps,
        )

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    # ==== Special tokens ====

    def _find_matchers(self, allowed: AllowedSpecial, disallowed: DisallowedSpecial) -> NamePair:
        """Matchers of the allowed and the disallowed names; None where there are none."""
        if allowed == "all":
            allowed = self.special_tokens_set
        check_allowed(allowed, disallowed)
        if disallowed == "all":
            disallowed = self.special_tokens_set - allowed
        key = frozenset(allowed) | self._always_found, frozenset(disallowed)
        found: NamePair | None = self._matchers.get(key)  # once: another thread may clear them meanwhile
        if found is None:
            for name in key[0] | key[1]:
                if not isinstance(name, str):
                    raise TypeError(f"special tokens are given by name, as str; got {shown(name)}")
            known = [name for name in self._added_tokens if name in key[0]]
            found = (
                self._matcher_of(known),
                Matcher(sorted(key[1])) if key[1] else None,
            )
            size = sum(each.size for pair in (*self._matchers.values(), found) for each in pair if each is not None)
            if len(self._matchers) >= _MATCHERS_KEPT or size > _MATCHER_BYTES_KEPT:
                self._matchers.clear()
            self._matchers[key] = found
        return found

    def _matcher_of(self, names: list[str]) -> Matcher | None:
        if self._model is not None:
            return self._model.added_names.matcher(names)
        return Matcher(names, [self._added_tokens[name] for name in names]) if names else None

    def _matchers_for(self, allowed: AllowedSpecial, disallowed: DisallowedSpecial) -> NamePair:
        if not allowed and disallowed == "all":
            return self._default_matchers
        if not allowed and not disallowed:
            return self._plain, None
        return self._find_matchers(allowed, disallowed)

    @lazy
    def _mergeable_ranks(self) -> dict[bytes, int]:
        return self._packed.to_dict()
