"""What `decoder` of a tokenizer.json does, read strictly."""

from __future__ import annotations

import math

from ..errors import shown
from .field import Field
from .read_parts import flag, kind_name, pattern, replacement, scheme, steps
from .spelling import Spelled

MOST_GROWTH = 16
"""Times as long as the decoder may make a token. Those of published models write blanks for marks, which are longer."""


def read_joining(field: Field) -> Spelled:
    """What `decoder` does where the model is of type WordPiece: a blank in front of each token but the first, unless it
    goes on in a word."""
    if field.value is None:
        return Spelled(apart=True)
    if kind_name(field) != "WordPiece":
        raise field.refused(f"the decoder {shown(kind_name(field))} is not supported behind WordPiece; WordPiece is")
    field.check_members(("type", "prefix", "cleanup"))
    return Spelled(apart=True, going_on=field.member("prefix").text(), cleaned=flag(field, "cleanup"))


def read_spelling(field: Field) -> Spelled:
    """What `decoder` does: steps for each token, tokens of bytes, what goes from the beginning of the whole text.
    Without one the reference puts a blank between any two tokens."""
    if field.value is None:
        return Spelled(apart=True)
    spelled, joined = Spelled(), False
    for step in steps(field, "decoders"):
        name = kind_name(step)
        if name == "Fuse":
            step.check_members(("type",))
            joined = True
        elif name == "Strip":
            if not joined or spelled.cut[0]:
                raise step.refused("a Strip is supported once, behind Fuse")
            spelled = spelled._replace(cut=_cut(step))
        elif name not in _EACH:
            raise step.refused(f"the decoder {shown(name)} is not supported; Fuse, Strip, {', '.join(_EACH)} are")
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
