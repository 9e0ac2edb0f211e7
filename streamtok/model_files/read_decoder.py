"""What `decoder` of a tokenizer.json does, read strictly."""

from __future__ import annotations

import math

from ..errors import shown
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
        elif joined or spelled.has_bytes:
            raise step.refused(f"the decoder {name} behind ByteFallback, ByteLevel or Fuse is not supported")
        else:
            spelled = _EACH[name](step, spelled)
            joined = spelled.has_letters
    return spelled


def _replaced(step: Field, spelled: Spelled) -> Spelled:
    step.check_members(("type", "pattern", "content"))
    sought = pattern(step.member("pattern"))
    if sought.is_regex or not sought.text:
        raise step.member("pattern").refused("a Replace of a Regex, or of no text, is not supported")
    if spelled.mark:
        raise step.refused("a Replace behind a Metaspace is not supported")
    replaced = (*spelled.replaced, (sought.text, step.member("content").text()))
    growth = math.prod(max(1.0, len(new.encode()) / len(old.encode())) for old, new in replaced)
    if growth > MOST_GROWTH:
        raise step.refused(
            f"with it the text of a token may become {growth:.0f} times as long, more than {MOST_GROWTH}"
        )
    return spelled._replace(replaced=replaced)


def _marked(step: Field, spelled: Spelled) -> Spelled:
    if spelled.mark:
        raise step.refused("a second Metaspace is not supported")
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
