"""What class Encoding has: the special tokens that a call finds, and what encodes with one error mode."""

from __future__ import annotations

from .._checks import check_allowed
from ..errors import shown
from ..native.encode import ERRORS, Coder
from ..native.matcher import Matcher
from ..native.steps import lazy
from ..patterns.engine import splitter_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._protocols import AllowedSpecial, DisallowedSpecial, Encoding, NamePair, TextCoder
    from ..model_files.model import Model
    from ..native.pattern import Pattern
    from ..patterns import Split

# Matchers kept for the sets of special tokens a program uses. Few programs use more than two.
_KEPT = 64

# Bytes of their names, all together: matchers take up to 33 times as much (csrc/special/special_tokens.h). A larger set
# is kept alone.
_BYTES_KEPT = 4 << 20


class SpecialNames:
    """The names that an encoding knows.

    Args:
        special: names of special tokens, which "all" stands for.
        added: name -> id of these and of all other added tokens.
        always: names of added tokens that are found whatever is allowed.
        matcher: makes a matcher of names that are allowed, where the model of the encoding has rules for them.
    """

    def __init__(
        self,
        special: set[str],
        added: dict[str, int],
        always: frozenset[str],
        matcher: Callable[[list[str]], Matcher | None] | None,
    ) -> None:
        self._special, self._added, self._always = special, added, always
        self._matcher = matcher or self._plain_matcher
        self.kept: dict[tuple[frozenset[str], frozenset[str]], NamePair] = {}

    @lazy
    def all_allowed(self) -> NamePair:
        """find("all", ()), and find("all", "all")."""
        return self.find("all", ())

    def find(self, allowed: AllowedSpecial, disallowed: DisallowedSpecial) -> NamePair:
        """Matchers of the allowed and the disallowed names; None where there are none."""
        if allowed == "all":
            allowed = self._special
        check_allowed(allowed, disallowed)
        if disallowed == "all":
            disallowed = self._special - allowed
        key = frozenset(allowed) | self._always, frozenset(disallowed)
        found: NamePair | None = self.kept.get(key)  # once: another thread may clear them meanwhile
        if found is None:
            for name in key[0] | key[1]:
                if not isinstance(name, str):
                    raise TypeError(f"special tokens are given by name, as str; got {shown(name)}")
            known = [name for name in self._added if name in key[0]]
            found = self._matcher(known), Matcher(sorted(key[1])) if key[1] else None
            size = sum(each.size for pair in (*self.kept.values(), found) for each in pair if each is not None)
            if len(self.kept) >= _KEPT or size > _BYTES_KEPT:
                self.kept.clear()
            self.kept[key] = found
        return found

    def _plain_matcher(self, names: list[str]) -> Matcher | None:
        return Matcher(names, [self._added[name] for name in names]) if names else None


def matchers_for(self: Encoding, allowed: AllowedSpecial, disallowed: DisallowedSpecial) -> NamePair:
    """SpecialNames.find(), quickly for the sets that most calls give."""
    if not allowed and disallowed == "all":
        return self._default_matchers
    if not allowed and not disallowed:
        return self._plain, None
    if allowed == "all" and disallowed in ("all", ()):
        return self._names.all_allowed
    return self._names.find(allowed, disallowed)


@lazy
def split(self: Encoding) -> Split | None:
    """The pattern, or the pre-tokenizers of a model."""
    return self._pat_str if self._model is None else self._model.stages


@lazy
def splitter(self: Encoding) -> Pattern | None:
    """What of the core splits as these do; None: only `regex` does."""
    return splitter_of(self._split) if self._model is None else self._model.splitter


def coder_for(self: Encoding, errors: str) -> TextCoder:
    """What encodes whole texts with one error mode."""
    if errors not in self._coders:
        self._coders[errors] = coder_of(self, errors)
    return self._coders[errors]


def coder_of(encoding: Encoding, errors: str) -> TextCoder:
    """What encodes whole texts with one error mode: the C core, with `regex` before it where no table splits."""
    if errors not in ERRORS:
        raise ValueError(f"unknown errors={shown(errors)}; write one of {', '.join(map(repr, ERRORS))}")
    vocab, engine, normalizer = encoding._vocab, encoding._engine, encoding._normalizer
    splitter = encoding._splitter
    if splitter is not None:
        return Coder(vocab, splitter, engine, errors, normalizer)
    if normalizer is not None:
        raise ValueError(
            f"{shown(encoding.name)} has a normalizer, and a pattern that goes through the regex package: only "
            "patterns that the core splits itself can follow a normalizer"
        )
    from ..patterns.coder import PatternCoder

    assert encoding._pat_str is not None and encoding._model is None  # the core splits for these
    return PatternCoder(vocab, encoding._pat_str, engine, errors, encoding._pattern_seconds)


def rule_decoder_of(model: Model | None) -> Any:
    """What decodes the tokens of a model that are not the bytes of text; None for others."""
    rules = model.parts.decoder_rules if model is not None and model.has_decoder_rules else None
    if model is None or rules is None:
        return None
    from ..model_files.decoder_rules import RuleDecoder

    return RuleDecoder(rules, model.names)
