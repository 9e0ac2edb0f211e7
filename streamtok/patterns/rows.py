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
    "78d4c46ede73f127bf96fd0b0e35c897": "r50k",
    "1de06a19ded7e99bb232fd2e4c80919e": "cl100k",
    "663997a47649cd263784bea4296ba4ad": "o200k",
    "cfdfb09bbe4cdcb50bb26f87694e857a": "starcoder",
    "7ebc31fe335cfbfa880234cca74c78a1": "llama3",
    "e2912184a88b35e99b74c3bb3add2fbb": "qwen2",
    "8b07cb870aba4d60525b82da7044ba31": "qwen3_5",
    "493c36b8c4fab5b81a3a901403e4b5ac": "seed_coder",
    "37c95624b9721f768bfb4d3ae9ad5e89": "tekken",
    "084571924944950f230c67fac27fcf18": "kimi_k2",
    "d534dfca0daab46843bcba5d95b14e65": "deepseek_v3",
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
