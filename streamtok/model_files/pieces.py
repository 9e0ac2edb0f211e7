"""Which pattern splits text as the pre-tokenizers of a model file do."""

from __future__ import annotations

import re
from collections.abc import Callable

from .. import patterns
from ..errors import VocabularyError, shown
from ..patterns.compile import compile_pattern
from .parts import ByteLevel, PreTokenizer, Split

# What ByteLevel splits by: the pattern of the GPT-2 release.
_GPT2 = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""

SPELLED = {
    patterns.R50K: patterns.R50K.replace("$", r"\z"),
    patterns.CL100K: patterns.CL100K.replace("{1,3}+", "{1,3}").replace("$", r"\z"),
    patterns.O200K: patterns.O200K,
}
"""The patterns of OpenAI's encodings -> how a tokenizer.json spells them. In Oniguruma's dialect, which its Split
reads, `{1,3}+` is a repetition of a repetition, and `$` is true before each line break."""

_MEANT = {spelled: pattern for pattern, spelled in SPELLED.items()}

# What both dialects read alike: characters, classes of them, groups, repetitions. Case is ignored in the contractions
# of English alone: elsewhere Oniguruma takes one character for two, as the German sharp s.
_ALIKE = re.compile(
    r"""(?:
        [^\\()\[\]{}^$.*+?|\#\ ] | \                      # a character
      | \\(?: [pP]\{[A-Z][a-z]?\} | p\{Han\} | [sSrnt] | [^\w\s] )
      | \[ \^? (?: [^\\\[\]&^~-] | \\(?: [pP]\{[A-Z][a-z]?\} | [sSrnt] | [^\w\s] ) | [^\\\[\]&^-]-[^\\\[\]&^-] )+ \]
      | \((?: \?[:=!] )?  |  \)  |  \|
      | \(\?i: (?: '(?: [sdmt] | ll | ve | re | \[sdmt\] ) \|? )+ \)
      | \(\?i: (?: (?: [sdmt] | ll | ve | re | \[sdmt\] ) \|? )+ \)
      | [*+?][+?]?
      | \{ \d+ (?: , \d* )? \} (?! [+?] )
    )*""",
    re.VERBOSE,
)


def pattern_of(steps: tuple[PreTokenizer, ...], path: str) -> str | None:
    """The pattern, in tiktoken's dialect; None where a text is one piece.

    Raises VocabularyError for steps that no such pattern is known for.
    """

    def refused(reason: str) -> VocabularyError:
        return VocabularyError(f"pre_tokenizer: {reason}", path)

    if not steps or not isinstance(steps[-1], ByteLevel):
        raise refused("the last step has to be ByteLevel: tokens would be made of characters, not of bytes")
    splits, level = steps[:-1], steps[-1]
    if any(isinstance(step, ByteLevel) for step in splits):
        raise refused("ByteLevel is there twice: the second one would read the letters that the first one wrote")
    if level.add_prefix_space:
        raise refused("add_prefix_space puts a blank in front of texts, which is not supported")
    if not splits:
        return _GPT2 if level.use_regex else None
    if len(splits) > 1 or level.use_regex or not isinstance(splits[0], Split):
        raise refused("several splits in turn, or others than Split by a Regex, are not supported")
    return _single(splits[0], refused)


def _matches_everything(pat_str: str) -> bool:
    """Whether no text is left between the matches of a pattern."""
    try:
        return not compile_pattern(pat_str).drops
    except ValueError:
        return False


def _single(split: Split, refused: Callable[[str], VocabularyError]) -> str:
    """The pattern of a single Split by a Regex."""
    if not split.pattern.is_regex:
        raise refused("a Split by a String is not supported")
    spelled = split.pattern.text
    if split.behavior == "Isolated" or (split.behavior == "Removed" and split.invert):
        if spelled in _MEANT:
            return _MEANT[spelled]
        if not _ALIKE.fullmatch(spelled):
            raise refused(f"it is not certain what {shown(spelled)} means in this place")
        if split.behavior == "Removed" or _matches_everything(spelled):
            return spelled
        raise refused(f"text that {shown(spelled)} does not match would be a piece, which is not supported")
    raise refused(f"a Split with the behavior {split.behavior} is not supported")
