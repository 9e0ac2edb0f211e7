"""Which row of traits a compiled pattern is: patterns that mean the same are one row, however they are spelled.

A row is a pattern that the scanners of csrc/split know (csrc/split/rows.h). A table is in its smallest form, and its
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
    "e9d7a32d995ff459240d62ae38240f17": "r50k",
    "55379110b8a1cb0bff6b967cc6b26dfc": "cl100k",
    "296e8786ccacb1b43268cd140bc26547": "o200k",
    "4dfcd511146a394588b39ea178fc250f": "starcoder",
    "42f75c3d1bfc7b62aad79810e872779d": "llama3",
    "e14f77f3b3b2e690a518bac0d0f73a6b": "qwen2",
    "8c458af5af6a665038b3c7610f1c3dd2": "qwen3_5",
    "c07a9a06c5886f0a5fcbbc8b30242d85": "seed_coder",
    "6352e2058acf57ea325c20d003fbb067": "tekken",
    "d02da33923d52a9c649dbda21c662c0b": "kimi_k2",
    "d5734901f21b859738cee99c2e24a515": "deepseek_v3",
}
"""The rows by the digests of their tables: compiling a row for comparison takes as long as compiling the pattern."""


@functools.cache
def table_of(row: str) -> CompiledPattern:
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
