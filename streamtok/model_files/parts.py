"""What a tokenizer.json says besides its tokens and merges, as values with types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..patterns.compose import Stage
from .spelling import Spelled

BEHAVIORS = ("Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous")
"""What a Split does with its matches."""


@dataclass(frozen=True)
class Pattern:
    """What a Split or Replace looks for: a regex of Oniguruma's dialect, or a text as it stands."""

    text: str
    is_regex: bool


# ==== Normalizers ====


@dataclass(frozen=True)
class Form:
    """A form of Unicode: NFC, NFD, NFKC or NFKD; or Lowercase, StripAccents or StripNonspacing."""

    name: str

    def as_step(self) -> tuple[Any, ...]:
        """As native.normal.Normalizer has it."""
        return (self.name,)


@dataclass(frozen=True)
class Clean:
    """What a BertNormalizer does to single characters: `controls` is its clean_text, `ideographs` handle_chinese_chars;
    with `lower` ASCII becomes lower case."""

    controls: bool
    ideographs: bool
    lower: bool

    def as_step(self) -> tuple[Any, ...]:
        """As native.normal.Normalizer has it."""
        return ("Clean", self.controls, self.ideographs, self.lower)


@dataclass(frozen=True)
class Replace:
    """Each occurrence of a text becomes another."""

    pattern: str
    content: str

    def as_step(self) -> tuple[Any, ...]:
        """As native.normal.Normalizer has it."""
        return ("Replace", self.pattern, self.content)


@dataclass(frozen=True)
class ReplaceClass:
    """Each character of a class becomes a text; with `runs`, each run of such characters at once."""

    ranges: tuple[tuple[int, int], ...]
    content: str
    runs: bool

    def as_step(self) -> tuple[Any, ...]:
        """As native.normal.Normalizer has it."""
        return ("ReplaceClass", self.ranges, self.content, self.runs)


@dataclass(frozen=True)
class Prepend:
    """A text in front of a text that is not empty."""

    text: str

    def as_step(self) -> tuple[Any, ...]:
        """As native.normal.Normalizer has it."""
        return ("Prepend", self.text)


@dataclass(frozen=True)
class PrependUnless:
    """A character in front of a text that does not begin with it; `first`: only where no added token came before."""

    character: str
    first: bool

    def as_step(self) -> tuple[Any, ...]:
        """As native.normal.Normalizer has it."""
        return ("PrependUnless", self.character, self.first)


@dataclass(frozen=True)
class Strip:
    """White space goes from the ends of a text."""

    left: bool
    right: bool

    def as_step(self) -> tuple[Any, ...]:
        """As native.normal.Normalizer has it."""
        return ("Strip", self.left, self.right)


Normalizer = Form | Clean | Replace | ReplaceClass | Prepend | PrependUnless | Strip


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


@dataclass(frozen=True)
class Words:
    """WordPiece: the unknown token, most characters of a word, what tokens that go on in a word begin with."""

    unknown: str
    most: int
    prefix: str


@dataclass(frozen=True)
class Parts:
    """A tokenizer.json without its tokens and merges."""

    normalizers: tuple[Normalizer, ...]
    stages: tuple[Stage, ...]
    added: tuple[AddedToken, ...]
    template: Template
    ignore_merges: bool
    behind: int = 0
    """How many of the normalizers, at the end, stand for work of the pre-tokenizer."""
    by_bytes: bool = True
    """Whether text begins as bytes, which tokens write in GPT-2's letters; else as characters."""
    spelled: Spelled | None = None
    """How ids become text again; None where the bytes of tokens are joined."""
    words: Words | None = None
    """Of a model of type WordPiece; None: of type BPE."""
