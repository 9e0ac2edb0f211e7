"""What the files of models say, as values with types: each reader makes a Description or Ranks of its file."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from ..native.checksum import digest
from ..patterns import table_of
from ..patterns.compile import compile_matches
from ..patterns.compose import Groups, Split, Stage
from ..patterns.grouped import class_of
from .decoder_rules import DecoderRules

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..bundled.packed import PackedVocabulary
    from .field import Field
    from .tokens import Tokens

BEHAVIORS = ("Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous")
"""What a Split does with its matches."""


@dataclass(frozen=True)
class Pattern:
    """What a Split or Replace looks for: a regex of Oniguruma's dialect, or a text as it stands."""

    text: str
    is_regex: bool


# ==== Normalizers ====


class _Step:
    def as_step(self) -> tuple[Any, ...]:
        """As native.normal.Normalizer has it: the name and the settings."""
        return (type(self).__name__, *(getattr(self, each.name) for each in fields(self)))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Form(_Step):
    """A form of Unicode: NFC, NFD, NFKC or NFKD; or Lowercase, StripAccents, StripNonspacing or Letters."""

    name: str

    def as_step(self) -> tuple[Any, ...]:
        return (self.name,)


@dataclass(frozen=True)
class Clean(_Step):
    """What a BertNormalizer does to single characters: `controls` is its clean_text, `ideographs` handle_chinese_chars;
    with `lower` ASCII becomes lower case."""

    controls: bool
    ideographs: bool
    lower: bool


@dataclass(frozen=True)
class Replace(_Step):
    """Each occurrence of a text becomes another."""

    pattern: str
    content: str


@dataclass(frozen=True)
class ReplaceClass(_Step):
    """Each character of a class becomes a text; with `runs`, each run of such characters at once, of at least so
    many."""

    ranges: tuple[tuple[int, int], ...]
    content: str
    runs: bool | int


@dataclass(frozen=True)
class ReplaceMatches(_Step):
    """What a regular expression of Oniguruma's dialect matches becomes a text."""

    pattern: str
    content: str

    def as_step(self) -> tuple[Any, ...]:
        return "ReplaceMatches", compile_matches(self.pattern), self.content


@dataclass(frozen=True)
class Pieces(_Step):
    """Pre-tokenizers in turn divide the text, and what stands behind this goes for each piece by itself."""

    stages: tuple[Stage, ...]

    def as_step(self) -> tuple[Any, ...]:
        return "Pieces", table_of(self.stages)


@dataclass(frozen=True)
class GroupedPieces(Pieces):
    """The same with groups in pieces, by the stage behind these."""

    groups: Groups

    def as_step(self) -> tuple[Any, ...]:
        of, sizes, right, each = self.groups.of, self.groups.sizes, self.groups.right, self.groups.each
        split = Split(self.groups.pattern)
        return "Groups", table_of((*self.stages, split)), class_of(of), sizes, right, each


@dataclass(frozen=True)
class Prepend(_Step):
    """A text in front of a text that is not empty."""

    text: str


@dataclass(frozen=True)
class PrependUnless(_Step):
    """A character in front of a text that does not begin with it; `first`: only where no added token came before."""

    character: str
    first: bool


@dataclass(frozen=True)
class Strip(_Step):
    """White space goes from the ends of a text."""

    left: bool
    right: bool


@dataclass(frozen=True)
class Precompiled(_Step):
    """What a compiled map of characters says (csrc/normal/charsmap.h)."""

    charsmap: bytes

    def __repr__(self) -> str:
        return f"Precompiled({digest(self.charsmap)!r})"  # it goes into fingerprints


@dataclass(frozen=True)
class MarkWords(_Step):
    """White space goes, and each word behind it begins with a character, unless it does."""

    character: str


@dataclass(frozen=True)
class Sentence(_Step):
    """What a .model of SentencePiece does to text: a compiled map of characters, symbols that stay as they are, a mark
    in front or behind, without blanks that are more than one, and with U+2581 for blanks."""

    charsmap: bytes
    symbols: tuple[str, ...]
    prefix: bool
    suffix: bool
    fewer: bool
    escaped: bool

    def __repr__(self) -> str:
        rest = self.symbols, self.prefix, self.suffix, self.fewer, self.escaped
        return f"Sentence({digest(self.charsmap)!r}, {', '.join(map(repr, rest))})"


Normalizer = (
    Form
    | Clean
    | Replace
    | ReplaceClass
    | ReplaceMatches
    | Prepend
    | PrependUnless
    | Strip
    | Precompiled
    | MarkWords
    | Pieces
    | Sentence
)


# ==== Added tokens, the template around a text, the model ====


@dataclass(frozen=True)
class AddedToken:
    """A token that is found in the text before it is split. The flags are those of Hugging Face's AddedToken."""

    id: int
    content: str
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = False
    special: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether it is found wherever its text stands, and nothing else goes with it."""
        return not (self.single_word or self.lstrip or self.rstrip)


@dataclass(frozen=True)
class Template:
    """The ids that add_special_tokens=True puts in front of a text and behind it."""

    prefix: tuple[int, ...] = ()
    suffix: tuple[int, ...] = ()


Listed = tuple[int, str, "tuple[str, str] | None"]
"""Of a token its id, its text as a file writes it, and the two that a merge joins."""


class Kind:
    """A kind of model: kinds.py has them. The methods below say what is the same of most kinds."""

    has_merges = True
    has_scores = False
    ignore_merges = False
    in_files = True
    """Whether a tokenizer.json can say it."""
    by_bytes = False
    """Whether text begins as bytes, which tokens write in GPT-2's letters; else as characters."""

    def split(
        self, field: Field, normalizers: tuple[Normalizer, ...]
    ) -> tuple[tuple[Normalizer, ...], tuple[Stage, ...]]:
        """What `pre_tokenizer` does to text behind the normalizers: all normalizers, and how it splits text then."""
        raise NotImplementedError

    def decoder(self, field: Field) -> DecoderRules | None:
        """What `decoder` does; None where the bytes of tokens are joined."""
        raise NotImplementedError

    def pack(self, tokens: Tokens, parts: Description) -> tuple[PackedVocabulary, tuple[int, ...]]:
        """The vocabulary, and what class Model has as `raw`. VocabularyError: one that the kind cannot have."""
        raise NotImplementedError

    def check(self, parts: Description, decoded: Callable[[AddedToken], str], tokens: Tokens) -> None:
        """Refuses added tokens that leave something open. decoded: gives the text that the id of one decodes to."""

    def vocab_text(self, listed: list[Listed], packed: PackedVocabulary) -> str:
        """The value of `vocab` in a file, of these tokens in the order of their ids."""
        return json.dumps({text: token for token, text, _ in listed}, ensure_ascii=False)

    def text(self, data: bytes) -> str:
        """The text that a file writes for the bytes of a token."""
        return data.decode()

    def is_symbol(self, data: bytes) -> bool:
        """Whether a token is what text begins as: its own merges, of bytes, are not written."""
        return len(self.text(data)) == 1

    def written_otherwise(self, raw: tuple[int, ...]) -> dict[int, str | None]:
        """The ids of tokens that a file writes in another way: their texts; None: their bytes are the text."""
        return {}

    def decoded(self, content: str) -> bytes:
        """The bytes that the text of an added token decodes to."""
        return content.encode()


@dataclass(frozen=True)
class Pairs(Kind):
    """What all kinds of BPE have.

    ignore_merges: a piece that is a token is never merged. prefix: what tokens begin with that go on in a piece;
    suffix: what those at the ends of pieces end with. unknown: the token in the place of what is none; joins: several
    of them are one. fallback: a character that is no token becomes tokens of bytes, as <0x41>, if all of these are
    there.
    """

    ignore_merges: bool = False
    prefix: str = ""
    suffix: str = ""
    unknown: str | None = None
    joins: bool = False
    fallback: bool = False


@dataclass(frozen=True)
class Description:
    """What a file says besides its tokens and merges."""

    normalizers: tuple[Normalizer, ...]
    stages: tuple[Stage, ...]
    added: tuple[AddedToken, ...]
    template: Template
    model: Kind
    behind: int = 0
    """How many of the normalizers, at the end, stand for work of the pre-tokenizer."""
    decoder_rules: DecoderRules | None = None
    """How ids become text again; None where the bytes of tokens are joined."""
    truncation: dict[str, Any] | None = None
    padding: dict[str, Any] | None = None
    """Settings of rows for models (read_rows.py), which change no ids."""

    @property
    def facts(self) -> str:
        """All of it, as a text that is another for what gives other ids. It goes into fingerprints, which stay from
        version to version."""
        known = [(name, getattr(self, name)) for name in ("normalizers", "stages", "added", "template")]
        model = self.model
        known += [("ignore_merges", model.ignore_merges), ("behind", self.behind), ("by_bytes", model.by_bytes)]
        known += [("spelled", self.decoder_rules), ("words", None if model.has_merges else model)]
        return f"Parts({', '.join(f'{name}={value!r}' for name, value in known)})"


class Ranks(NamedTuple):
    """What a file of ranks says: the arguments of class Encoding."""

    name: str
    pat_str: str | None
    mergeable_ranks: Any
    """A dict, or a PackedVocabulary."""
    special_tokens: dict[str, int]
    normalizer: tuple[tuple[Any, ...], ...] | None = None
