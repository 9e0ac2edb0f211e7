"""What `decoder` of a tokenizer.json does, read strictly."""

from __future__ import annotations

import math
from typing import Any

from ..errors import shown
from ..patterns.compile import compile_matches
from .decoder_rules import DecoderRules
from .field import Field
from .read_parts import flag, kind_name, pattern, replacement, scheme, steps

MOST_GROWTH = 16
"""Times as long as the decoder may make a token. Those of published models write blanks for marks, which are longer."""


def _of_wordpiece(step: Field) -> DecoderRules:
    """A blank in front of each token but the first, unless it goes on in a word."""
    step.check_members(("type", "prefix", "cleanup"))
    return DecoderRules(apart=True, going_on=step.member("prefix").text(), cleaned=flag(step, "cleanup"))


def _of_bpe(step: Field) -> DecoderRules:
    """A blank in the place of what a token ends with, unless it is the last one."""
    step.check_members(("type", "suffix"))
    suffix = step.member("suffix").text()
    if not suffix:
        raise step.member("suffix").refused("it is empty, and the reference puts blanks between all characters")
    return DecoderRules(ended=suffix)


def _of_ctc(step: Field) -> DecoderRules:
    """Equal tokens in a row are one; a token that separates equal ones goes."""
    step.check_members(("type", "pad_token", "word_delimiter_token", "cleanup"))
    blank = step.member("word_delimiter_token").text()
    if not blank:
        raise step.member("word_delimiter_token").refused("it is empty, and would be everywhere")
    return DecoderRules(once=(step.member("pad_token").text(), blank), cleaned=flag(step, "cleanup"))


def _of_sentencepiece(step: Field) -> DecoderRules:
    """What sentencepiece.py writes, of a file that says the same in other words."""
    fewer, prefix = flag(step, "remove_extra_whitespaces"), flag(step, "add_dummy_prefix")
    return DecoderRules(
        mark=step.member("mark").text(),
        first_loses_mark=fewer or prefix,
        has_bytes=flag(step, "byte_fallback"),
        fronts=1 + fewer if fewer or prefix else 0,
        unknown=(step.member("unknown").text(), step.member("unk_surface").text()),
    )


_ALONE = {"WordPiece": _of_wordpiece, "BPEDecoder": _of_bpe, "CTC": _of_ctc, "SentencePiece": _of_sentencepiece}


def read_decoder(field: Field) -> DecoderRules:
    """What `decoder` does: steps for each token, tokens of bytes, what goes from the beginning of the whole text.
    Without one the reference puts a blank between any two tokens."""
    if field.value is None:
        return DecoderRules(apart=True)
    rules, joined = DecoderRules(), False
    given = steps(field, "decoders")
    for step in given:
        if kind_name(step) in _ALONE:
            if step is not given[0] or any(kind_name(other) != "Fuse" for other in given[1:]):
                raise step.refused(f"the decoder {kind_name(step)} with another one beside it is not supported")
            return _ALONE[kind_name(step)](step)
    for step in given:
        name = kind_name(step)
        if name == "Fuse":
            step.check_members(("type",))
            joined = True
        elif name == "Strip" and joined:
            rules = _cut(step, rules)
        elif name not in _EACH:
            raise step.refused(
                f"the decoder {shown(name)} is not supported; Fuse, {', '.join({**_EACH, **_ALONE})} are"
            )
        elif name in ("ByteFallback", "ByteLevel") and (joined or rules.has_bytes):
            raise step.refused(f"the decoder {name} behind ByteFallback, ByteLevel or Fuse is not supported")
        else:
            _check_behind(step, rules, joined)
            rules = _EACH[name](step, rules)
            joined = joined or rules.has_letters
    return rules


def _check_behind(step: Field, rules: DecoderRules, joined: bool) -> None:
    """Raises VocabularyError for a Replace or a Metaspace behind ByteFallback or Fuse that is not supported."""
    name = kind_name(step)
    if not joined and not rules.has_bytes:
        return
    if name == "Strip":
        raise step.refused("a Strip behind ByteFallback is supported behind Fuse, too")
    is_single = name == "Replace" and len(pattern(step.member("pattern")).text) == 1
    if rules.has_letters or rules.cut[0] or (joined and not is_single):
        raise step.refused(
            f"the decoder {name} behind ByteLevel, Fuse or Strip is not supported; a Replace of one character behind "
            "Fuse is"
        )
    if (rules.replaced or rules.mark) and rules.has_bytes and not rules.bytes_first:
        raise step.refused(f"the decoder {name} behind ByteFallback, and others in front of it, are not supported")


def _behind_bytes(step: Field, rules: DecoderRules, sought: str) -> DecoderRules:
    """For a step that goes for what tokens of bytes become, too."""
    if rules.has_bytes and "\ufffd" in sought:
        raise step.refused("it replaces U+FFFD, which bytes that are no text become: not supported behind ByteFallback")
    return rules._replace(bytes_first=rules.has_bytes)


def _replaced(step: Field, rules: DecoderRules) -> DecoderRules:
    step.check_members(("type", "pattern", "content"))
    sought = pattern(step.member("pattern"))
    if not sought.text:
        raise step.member("pattern").refused("a Replace of no text is not supported")
    content = step.member("content").text()
    rules = _behind_bytes(step, rules, sought.text)
    if sought.is_regex:
        if rules.has_bytes:
            raise step.member("pattern").refused("a Replace of a Regex behind ByteFallback is not supported")
        try:
            compile_matches(sought.text)
        except ValueError as error:
            raise step.member("pattern").refused(
                f"a Replace of the Regex {shown(sought.text)} is not supported, as its matches are not found by a "
                f"finite machine: {error}"
            ) from None
    rule = (sought.text, content, True) if sought.is_regex else (sought.text, content)
    rules = _with_rule(step, rules, rule)
    growth = math.prod(map(_growth, rules.replaced + rules.behind))
    if growth > MOST_GROWTH:
        raise step.refused(
            f"with it the text of a token may become {growth:.0f} times as long, more than {MOST_GROWTH}"
        )
    return rules


def _growth(rule: Any) -> float:
    """Times as long as a rule of a decoder may make a token."""
    if not isinstance(rule[1], str):
        return 1.0
    return max(1.0, len(rule[1].encode()) / (1 if len(rule) > 2 else len(rule[0].encode())))


def _with_rule(step: Field, rules: DecoderRules, rule: Any) -> DecoderRules:
    """With one rule more for each token, in front of the mark or behind it."""
    if not rules.mark:
        return rules._replace(replaced=(*rules.replaced, rule))
    if rules.bytes_first:
        raise step.refused("it stands behind a Metaspace and ByteFallback: not supported")
    return rules._replace(behind=(*rules.behind, rule))


def _stripped(step: Field, rules: DecoderRules) -> DecoderRules:
    """A Strip in front of Fuse goes for each token."""
    return _with_rule(step, rules, _ends(step))


def _marked(step: Field, rules: DecoderRules) -> DecoderRules:
    if rules.mark:
        rule = (replacement(step), " ", *((None,) if scheme(step) != "never" else ()))
        return _with_rule(step, _behind_bytes(step, rules, replacement(step)), rule)
    rules = _behind_bytes(step, rules, replacement(step))
    return rules._replace(mark=replacement(step), first_loses_mark=scheme(step) != "never")


def _bytes(step: Field, rules: DecoderRules) -> DecoderRules:
    step.check_members(("type",))
    return rules._replace(has_bytes=True)


def _letters(step: Field, rules: DecoderRules) -> DecoderRules:
    step.check_members(("type", "add_prefix_space", "trim_offsets", "use_regex"))
    return rules._replace(has_letters=True)


_EACH = {"Replace": _replaced, "Metaspace": _marked, "Strip": _stripped, "ByteFallback": _bytes, "ByteLevel": _letters}


def _ends(step: Field) -> tuple[str, int, int]:
    step.check_members(("type", "content", "start", "stop"))
    character = step.member("content").text()
    if len(character) != 1:
        raise step.member("content").refused(f"{shown(character)} is not one character")
    return character, step.member("start").number(), step.member("stop").number()


def _cut(step: Field, rules: DecoderRules) -> DecoderRules:
    """A Strip of the whole text."""
    character, most, last = _ends(step)
    if last:
        raise step.member("stop").refused("stripping the end of a text is not supported: the reference fails on some")
    before, more = rules.cut
    if before not in ("", character) and most and more:
        raise step.member("content").refused("the Strip in front of it is of another character: not supported")
    return rules._replace(cut=(character, most + more) if most or not before else rules.cut)
