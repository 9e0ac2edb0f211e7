"""The arguments of train(), checked: what each stage takes, and what distinguishes one run from another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import patterns
from ..bundled.gpt2_files import LETTERS
from ..bundled.packed import MAX_ENTRIES, MAX_TOKEN_BYTES
from ..errors import shown
from ..native.pattern import Pattern
from ..patterns.engine import splitter_of

if TYPE_CHECKING:
    from ..patterns import Split

PATTERNS = {"cl100k": patterns.CL100K, "o200k": patterns.O200K, "r50k": patterns.R50K}
ALPHABETS = {"lexicographic": bytes(range(256)), "huggingface": bytes(LETTERS.values())}
"""The 256 bytes in the order of their ids, by the rule for ties. Hugging Face sorts the letters that stand for them."""

BASE_MEMORY = 64 << 20
"""Bytes that the interpreter, numpy, the code and a few buffers take: max_memory bounds the whole process."""

LEAST_MEMORY = 96 << 20


def core_splitter(pat_str: Split | None) -> Pattern | None:
    """What of the core splits, which also says where texts may be cut; None where `regex` splits, or nothing does."""
    return None if pat_str is None else splitter_of(pat_str)


@dataclass(frozen=True)
class Options:
    """What decides the result, apart from the text."""

    pat_str: Split | None  # None: texts are not split
    special_tokens: tuple[str, ...]
    min_frequency: int
    ties: str
    max_token_length: int | None
    alphabet: bytes
    documents: str | None
    key: str
    errors: str
    column: str | None = None
    nulls: str = "error"

    def as_json(self) -> dict[str, Any]:
        """As a checkpoint keeps them, and as a saved vocabulary tells them."""
        tables = {"column": self.column, "nulls": self.nulls}
        record: dict[str, Any] = {
            "pattern": self.pat_str if self.pat_str is None or isinstance(self.pat_str, str) else repr(self.pat_str),
            "special_tokens": list(self.special_tokens),
            "min_frequency": self.min_frequency,
            "ties": self.ties,
            "max_token_length": self.max_token_length,
            "alphabet": self.alphabet.hex(),
            "documents": self.documents,
            "key": self.key,
            "errors": self.errors,
        }
        return record | {name: value for name, value in tables.items() if value not in (None, "error")}

    @property
    def max_token_bytes(self) -> int:
        """The limit of a token's bytes, as the rule for ties reads it; a vocabulary has one in any case."""
        most = MAX_TOKEN_BYTES if self.ties == "lexicographic" else MAX_TOKEN_BYTES + 1
        return most if self.max_token_length is None else min(self.max_token_length, most)


def make_options(**given: Any) -> Options:
    """The Options of the arguments of train(). Raises ValueError or TypeError for one that is refused."""
    pattern, ties, alphabet = given.pop("pattern"), given["ties"], given.pop("initial_alphabet")
    if ties not in ALPHABETS:
        raise ValueError(f"ties={shown(ties)} is unknown: write one of {', '.join(map(repr, ALPHABETS))}")
    if given["min_frequency"] < 0:
        raise ValueError(f"min_frequency={shown(given['min_frequency'])} is below 0")
    if given.get("nulls", "error") not in ("error", "skip", "empty"):
        raise ValueError(f"nulls={shown(given['nulls'])} is unknown: write 'error', 'skip' or 'empty'")
    longest = given["max_token_length"]
    if longest is not None and longest < 1:
        raise ValueError(f"max_token_length={shown(longest)}: a token has at least 1 byte; None means no limit")
    given["special_tokens"] = _checked_special(given["special_tokens"])
    return Options(pat_str=_pat_str(pattern), alphabet=_checked_alphabet(alphabet, ties), **given)


def _pat_str(pattern: str | None) -> str | None:
    if pattern is None or pattern in PATTERNS:
        return None if pattern is None else PATTERNS[pattern]
    if not isinstance(pattern, str):
        raise TypeError(
            f"pattern is of type {type(pattern).__name__}: write a regex, one of {', '.join(PATTERNS)}, or None"
        )
    if splitter_of(pattern) is None:
        from ..patterns.splitter import PatternSplitter

        PatternSplitter(pattern)  # raises the error that says why
    return pattern


def _checked_special(names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, (str, bytes)):
        raise TypeError(f"special_tokens={shown(names)} is one string: write a list of names")
    names = tuple(names)
    for index, name in enumerate(names):
        if not isinstance(name, str):
            raise TypeError(f"special_tokens[{index}] is of type {type(name).__name__}: names are str")
        if not name:
            raise ValueError(f"special_tokens[{index}] is empty: every text would hold it; leave it out")
        if name in names[:index]:
            raise ValueError(f"special_tokens[{index}], {shown(name)}, is there twice: leave one out")
    return names


def _checked_alphabet(alphabet: bytes | None, ties: str) -> bytes:
    if alphabet is None:
        return ALPHABETS[ties]
    alphabet = bytes(alphabet)
    if sorted(alphabet) != list(range(256)):
        raise ValueError(
            f"initial_alphabet has {len(set(alphabet))} different bytes in {len(alphabet)}: it is the 256 bytes, each "
            "once, in the order of their ids; with fewer there would be text without an encoding"
        )
    return alphabet


def check_size(vocab_size: int, special: int) -> None:
    """Raises ValueError for a vocabulary too small for the bytes and special tokens, or too large."""
    least = 256 + special
    if isinstance(vocab_size, bool) or not isinstance(vocab_size, int):
        raise TypeError(f"vocab_size is of type {type(vocab_size).__name__}: write an int")
    if vocab_size < least:
        raise ValueError(
            f"vocab_size={shown(vocab_size)} is below {least}: the 256 bytes and {special} special tokens are always "
            "in it"
        )
    if vocab_size > MAX_ENTRIES:
        raise ValueError(f"vocab_size={shown(vocab_size)} is above {MAX_ENTRIES}, the most that a vocabulary may have")


def check_memory(max_memory: int | None) -> None:
    if max_memory is not None and max_memory < LEAST_MEMORY:
        raise ValueError(
            f"max_memory={shown(max_memory)} is below {LEAST_MEMORY}: Python and the code take {BASE_MEMORY} of it "
            "already"
        )
