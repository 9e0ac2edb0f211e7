"""What `decoder` of a tokenizer.json does, read strictly."""

from __future__ import annotations

import math

from ..errors import shown
from ..patterns.compile import compile_matches
from .field import Field
from .read_parts import flag, kind_name, pattern, replacement, scheme, steps
from .spelling import Spelled

MOST_GROWTH = 16
"""Times as long as the decoder may make a token. Those of published models write blanks for marks, which are longer."""


def _of_wordpiece(step: Field) -> Spelled:
    """A blank in front of each token but the first, unless it goes on in a word."""
    step.check_members(("type", "prefix", "cleanup"))
    return Spelled(apart=True, going_on=step.member("prefix").text(), cleaned=flag(step, "cleanup"))


def _of_bpe(step: Field) -> Spelled:
    """A blank in the place of what a token ends with, unless it is the last one."""
    step.check_members(("type", "suffix"))
    suffix = step.member("suffix").text()
    if not suffix:
        raise step.member("suffix").refused("it is empty, and the reference puts blanks between all characters")
    return Spelled(ended=suffix)


def _of_ctc(step: Field) -> Spelled:
    """Equal tokens in a row are one; a token that separates equal ones goes."""
    step.check_members(("type", "pad_token", "word_delimiter_token", "cleanup"))
    blank = step.member("word_delimiter_token").text()
    if not blank:
        raise step.member("word_delimiter_token").refused("it is empty, and would be everywhere")
    return Spelled(once=(step.member("pad_token").text(), blank), cleaned=flag(step, "cleanup"))


def _of_sentencepiece(step: Field) -> Spelled:
    """What sentencepiece.py writes, of a file that says the same in other words."""
    fewer, prefix = flag(step, "remove_extra_whitespaces"), flag(step, "add_dummy_prefix")
    return Spelled(
        mark=step.member("mark").text(),
        first_loses_mark=fewer or prefix,
        has_bytes=flag(step, "byte_fallback"),
        fronts=1 + fewer if fewer or prefix else 0,
        unknown=(step.member("unknown").text(), step.member("unk_surface").text()),
    )


_ALONE = {"WordPiece": _of_wordpiece, "BPEDecoder": _of_bpe, "CTC": _of_ctc, "SentencePiece": _of_sentencepiece}


def read_spelling(field: Field) -> Spelled:
    """What `decoder` does: steps for each token, tokens of bytes, what goes from the beginning of the whole text.
    Without one the reference puts a blank between any two tokens."""
    if field.value is None:
        return Spelled(apart=True)
    spelled, joined = Spelled(), False
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
        elif name == "Strip":
            if not joined or spelled.cut[0]:
                raise step.refused("a Strip is supported once, behind Fuse")
            spelled = spelled._replace(cut=_cut(step))
        elif name not in _EACH:
            raise step.refused(
                f"the decoder {shown(name)} is not supported; Fuse, Strip, {', '.join({**_EACH, **_ALONE})} are"
            )
        elif name in ("ByteFallback", "ByteLevel") and (joined or spelled.has_bytes):
            raise step.refused(f"the decoder {name} behind ByteFallback, ByteLevel or Fuse is not supported")
        else:
            _check_behind(step, spelled, joined)
            spelled = _EACH[name](step, spelled)
            joined = joined or spelled.has_letters
    return spelled


def _check_behind(step: Field, spelled: Spelled, joined: bool) -> None:
    """Raises VocabularyError for a Replace or a Metaspace behind ByteFallback or Fuse that is not supported."""
    if not joined and not spelled.has_bytes:
        return
    name = kind_name(step)
    is_single = name == "Replace" and len(pattern(step.member("pattern")).text) == 1
    if spelled.has_letters or spelled.cut[0] or (joined and not is_single):
        raise step.refused(
            f"the decoder {name} behind ByteLevel, Fuse or Strip is not supported; a Replace of one character behind "
            "Fuse is"
        )
    if (spelled.replaced or spelled.mark) and spelled.has_bytes and not spelled.bytes_first:
        raise step.refused(f"the decoder {name} behind ByteFallback, and others in front of it, are not supported")


def _behind_bytes(step: Field, spelled: Spelled, sought: str) -> Spelled:
    """For a step that goes for what tokens of bytes become, too."""
    if spelled.has_bytes and "\ufffd" in sought:
        raise step.refused("it replaces U+FFFD, which bytes that are no text become: not supported behind ByteFallback")
    return spelled._replace(bytes_first=spelled.has_bytes)


def _replaced(step: Field, spelled: Spelled) -> Spelled:
    step.check_members(("type", "pattern", "content"))
    sought = pattern(step.member("pattern"))
    if not sought.text:
        raise step.member("pattern").refused("a Replace of no text is not supported")
    if spelled.mark:
        raise step.refused("a Replace behind a Metaspace is not supported")
    content = step.member("content").text()
    spelled = _behind_bytes(step, spelled, sought.text)
    if sought.is_regex:
        if spelled.has_bytes:
            raise step.member("pattern").refused("a Replace of a Regex behind ByteFallback is not supported")
        try:
            compile_matches(sought.text)
        except ValueError as error:
            raise step.member("pattern").refused(
                f"a Replace of the Regex {shown(sought.text)} is not supported, as its matches are not found by a "
                f"finite machine: {error}"
            ) from None
    rule = (sought.text, content, True) if sought.is_regex else (sought.text, content)
    replaced = (*spelled.replaced, rule)
    growth = math.prod(
        max(1.0, len(each[1].encode()) / (1 if len(each) > 2 else len(each[0].encode()))) for each in replaced
    )
    if growth > MOST_GROWTH:
        raise step.refused(
            f"with it the text of a token may become {growth:.0f} times as long, more than {MOST_GROWTH}"
        )
    return spelled._replace(replaced=replaced)


def _marked(step: Field, spelled: Spelled) -> Spelled:
    if spelled.mark:
        raise step.refused("a second Metaspace is not supported")
    spelled = _behind_bytes(step, spelled, replacement(step))
    return spelled._replace(mark=replacement(step), first_loses_mark=scheme(step) != "never")


def _bytes(step: Field, spelled: Spelled) -> Spelled:
    step.check_members(("type",))
    return spelled._replace(has_bytes=True)


def _letters(step: Field, spelled: Spelled) -> Spelled:
    step.check_members(("type", "add_prefix_space", "trim_offsets", "use_regex"))
    return spelled._replace(has_letters=True)


_EACH = {"Replace": _replaced, "Metaspace": _marked, "ByteFallback": _bytes, "ByteLevel": _letters}


def _cut(step: Field) -> tuple[str, int]:
    step.check_members(("type", "content", "start", "stop"))
    character = step.member("content").text()
    if len(character) != 1:
        raise step.member("content").refused(f"{shown(character)} is not one character")
    if step.member("stop").number():
        raise step.member("stop").refused("stripping the end of a text is not supported: the reference fails on some")
    return character, step.member("start").number()
