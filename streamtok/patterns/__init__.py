r"""The split patterns of the bundled encodings, and which hand-written scanner serves a pattern.

A pattern names a scanner only where both split every text alike. Two spellings that look alike need not:
the cl100k pattern published before 2024 ends in ``\s*[\r\n]+|\s+(?!\S)|\s+`` where today's has ``\s++$``
before them, so that it cuts the last piece of "a\n " in two. Such a pattern has no scanner, and goes through
the regex package instead.
"""

from __future__ import annotations

R50K: str = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
"""The pattern of gpt2, r50k_base, p50k_base and p50k_edit."""

CL100K: str = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"""
    r"""| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"""
)
"""The pattern of cl100k_base."""

_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_CONTRACTION = r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""

O200K: str = "|".join(
    (
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTION}",
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTION}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
"""The pattern of o200k_base and o200k_harmony."""

# Every entry beside the three constants was compared with tiktoken's own engine on random texts, and split none of
# them otherwise. tests/split/test_patterns.py repeats this.
_FAMILY: dict[str, str] = {
    R50K: "r50k",
    # The pattern of the GPT-2 release, and two spellings of it in other programs.
    r"""'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""": "r50k",
    r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""": "r50k",
    r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""": "r50k",
    CL100K: "cl100k",
    O200K: "o200k",
}

_NO_PATTERN = "none"

FAMILIES = tuple(dict.fromkeys(_FAMILY.values()))
"""The names of the scanners."""

KERNELS = (*FAMILIES, _NO_PATTERN)
"""The families that the GPU has kernels for: the scanners, and "none" for texts without a pattern."""


def family_of(pat_str: str | None) -> str | None:
    """The scanner that splits exactly as the pattern does: "r50k", "cl100k" or "o200k"; None where there is none.
    Without a pattern it is "none": a text is one piece.

    The pattern is compared as text. A pattern that means the same, and is not in the table, gets None.

    Args:
        pat_str: the pattern of an Encoding; None: it has none.
    """
    return _NO_PATTERN if pat_str is None else _FAMILY.get(pat_str)


def kernels_of(pat_str: str | None) -> str | None:
    """The family of kernels on the GPU for the pattern; None where there are none.

    Args:
        pat_str: the pattern of an Encoding; None: it has none.
    """
    family = family_of(pat_str)
    return family if family in KERNELS else None
