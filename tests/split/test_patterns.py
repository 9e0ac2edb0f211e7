"""Which patterns a scanner may serve: each spelling of a family splits every text as the family's own does."""

import random

import nasty
import pytest
from pattern_runs import tiktoken_pieces

from streamtok import patterns

FAMILIES = {"r50k": patterns.R50K, "cl100k": patterns.CL100K, "o200k": patterns.O200K}
# The pattern of the GPT-2 release, and two spellings of it in other programs; three of the others.
SPELLINGS = [
    (r"""'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""", "r50k"),
    (r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""", "r50k"),
    (r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""", "r50k"),
    (patterns.CL100K.replace(r"\s*[\r\n]|", r"\s*[\r\n]++|"), "cl100k"),
    (patterns.O200K.replace(r"(?!\S)|\s+", r"(?!\S)|\s"), "o200k"),
]
# cl100k as it was published before 2024.
OLD_CL100K = (
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"""
    r"""| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
)


def test_constants_are_those_of_tiktoken(monkeypatch):
    public = pytest.importorskip("tiktoken_ext.openai_public", reason="tiktoken is the oracle here")
    monkeypatch.setattr(public, "load_tiktoken_bpe", lambda *_, **__: {})  # it would download
    for name, pattern in (("r50k", patterns.R50K), ("cl100k", patterns.CL100K), ("o200k", patterns.O200K)):
        assert public.ENCODING_CONSTRUCTORS[f"{name}_base"]()["pat_str"] == pattern


def test_family_of():
    for family, pattern in FAMILIES.items():
        assert patterns.family_of(pattern) == family
    for pattern, family in SPELLINGS:
        assert patterns.family_of(pattern) == family
    for pattern in ("", r"\w+", patterns.R50K + " ", patterns.CL100K[:-1], OLD_CL100K, "(", r"a(?=b+c)"):
        assert patterns.family_of(pattern) is None


@pytest.mark.parametrize("pattern, family", SPELLINGS)
def test_other_spelling_splits_alike(pattern, family):
    rng = random.Random(pattern)
    for _ in range(20):
        texts = [text[:14] for text in nasty.random_strings(rng, 150)]
        assert tiktoken_pieces(pattern, texts) == tiktoken_pieces(FAMILIES[family], texts)


def test_old_cl100k_pattern_splits_otherwise():
    """Why family_of does not know it: at the end of a text it cuts white space behind a newline."""
    assert tiktoken_pieces(patterns.CL100K, ["a\n "]) == [[b"a", b"\n "]]
    assert tiktoken_pieces(OLD_CL100K, ["a\n "]) == [[b"a", b"\n", b" "]]
