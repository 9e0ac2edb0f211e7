"""Which row of traits a compiled pattern is: patterns that mean the same are one row, however they are spelled.

A row is a pattern that the blocks of csrc/split know (csrc/split/rows.h). A table is in its smallest form, and its
states and classes are numbered in the order in which they come up; so tables that split alike, piece by piece at the
same character, are equal.
"""

from __future__ import annotations

import functools

from .compile import compile_pattern
from .compiled import CompiledPattern
from .compose import ByteLevel, Digits, Split, Stage, compose
from .published import CL100K, O200K, R50K

_ANY_CASE = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_SPACE = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_UPPER, _LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"


def _line_pattern(word: str, numbers: str, tail: str = r"[\r\n]*") -> str:
    """Contractions in front, one character before a word, white space cut behind its last line break."""
    letters = rf"[{word}]+"
    return rf"{_ANY_CASE}|[^\r\n\p{{L}}\p{{N}}]?{letters}|{numbers}| ?[^\s{word}\p{{N}}]+{tail}|{_SPACE}"


def _case_pattern(numbers: str, tail: str, behind: str = "", but: str = "") -> str:
    """Words are cut in front of upper case behind lower case."""
    prefix = r"[^\r\n\p{L}\p{N}]?"
    words = (f"{prefix}[{_UPPER}{but}]*[{_LOWER}{but}]+{behind}", f"{prefix}[{_UPPER}{but}]+[{_LOWER}{but}]*{behind}")
    return "|".join((*words, numbers, rf" ?[^\s\p{{L}}\p{{N}}]+{tail}", _SPACE))


_DEEPSEEK = (
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"""
    + _SPACE
)

ROWS: dict[str, str | tuple[Stage, ...]] = {
    "r50k": R50K,
    "cl100k": CL100K,
    "o200k": O200K,
    "starcoder": (Digits(individual_digits=True), ByteLevel()),
    "llama3": _line_pattern(r"\p{L}", r"\p{N}{1,3}"),
    "qwen2": _line_pattern(r"\p{L}", r"\p{N}"),
    "qwen3_5": _line_pattern(r"\p{L}\p{M}", r"\p{N}"),
    "seed_coder": _line_pattern(r"\p{L}", r"\p{N}", ""),
    "tekken": _case_pattern(r"\p{N}", r"[\r\n/]*"),
    "kimi_k2": r"[\p{Han}]+|" + _case_pattern(r"\p{N}{1,3}", r"[\r\n]*", f"{_ANY_CASE}?", r"&&[^\p{Han}]"),
    "deepseek_v3": (Split(r"\p{N}{1,3}"), Split("[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"), Split(_DEEPSEEK)),
}
"""Each row by its name in csrc/split/rows.h: a pattern as tiktoken reads it, or stages."""

_DIGESTS = {
    "ac4d3efdc3f45b6914cecc00": "r50k",
    "af95324b988a47149a1817ea": "cl100k",
    "85b87d0daf8b6802fbdbc852": "o200k",
    "d5b9e9755098c3205b2819df": "starcoder",
    "2b47346c8be3db466bab5d0c": "llama3",
    "e5af2172cdab1cb3b9f8d0a5": "qwen2",
    "0d05b6e8310f1a2598eecac0": "qwen3_5",
    "956be2e4ed272b567077635a": "seed_coder",
    "8a3ff067d2a7d60b73343301": "tekken",
    "7a2741a5958f9563c29bc1a4": "kimi_k2",
    "ed2c94cfda5c80dca68056e0": "deepseek_v3",
}
"""The rows by the digests of their tables: compiling a row for comparison takes as long as compiling the pattern."""


@functools.cache
def table_of_row(row: str) -> CompiledPattern:
    """The table of a row. Raises KeyError where there is no such row."""
    made = ROWS[row]
    table = compile_pattern(made, drop_gaps=False) if isinstance(made, str) else compose(made)
    assert table is not None
    return table


def row_of(table: CompiledPattern) -> str | None:
    """The name of the row that splits every text as the table does; None where no row does.

    Two tables are compared as a whole, classes of characters included, by their digests. So a pattern that differs from
    a row in one character of one class is none."""
    return _DIGESTS.get(table.digest())
