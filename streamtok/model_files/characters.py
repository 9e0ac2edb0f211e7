"""The parts of a tokenizer.json whose text begins as characters, as models of SentencePiece have it."""

from __future__ import annotations

import math

from ..errors import shown
from ..patterns import table_of
from ..patterns.compose import ByteLevel, Split, Stage, compose
from .field import Field
from .parts import Normalizer, Prepend, PrependUnless, Replace, Strip
from .read_parts import _flag, _kind, _pattern, _steps, read_stage
from .spelling import Spelled

_METASPACE = ("type", "replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep")
MOST_GROWTH = 16
"""Times as long as the decoder may make a token. Those of published models write blanks for marks, which are longer."""
_SCHEMES = ("always", "first", "never")


def has_level(field: Field) -> bool:
    """Whether a `pre_tokenizer` writes bytes as letters, so that text begins as bytes."""
    return field.value is not None and any(_kind(step) == "ByteLevel" for step in _steps(field, "pretokenizers"))


# ==== In front of the splitting, and the splitting ====


def read_spaces(field: Field, normalizers: tuple[Normalizer, ...]) -> tuple[tuple[Normalizer, ...], tuple[Stage, ...]]:
    """What `pre_tokenizer` does to text behind the normalizers, and how it splits it then.

    A Metaspace is allowed as the first step only: behind another one it would work on each piece by itself."""
    given = [] if field.value is None else _steps(field, "pretokenizers")
    stages: list[Stage] = []
    for step in given:
        if _kind(step) != "Metaspace":
            stages += read_stage(step)
        elif step is not given[0]:
            raise step.refused("a Metaspace behind another step would change each piece by itself: not supported")
        else:
            made, split = _metaspace(step)
            normalizers += made
            stages += split
    assert not any(isinstance(stage, ByteLevel) for stage in stages)
    stages = [stage for stage in stages if not _is_idle(stage, normalizers)]
    try:
        if stages and table_of(tuple(stages)) is None:
            compose(tuple(stages))  # says why
    except ValueError as error:
        raise field.refused(f"text cannot be split so: {error}") from None
    return normalizers, tuple(stages)


def _replacement(step: Field) -> str:
    step.check_members(_METASPACE)
    character = step.member("replacement").text()
    if len(character) != 1:
        raise step.member("replacement").refused(f"{shown(character)} is not one character")
    if step.has("str_rep"):
        step.member("str_rep").text()  # the reference does not use it
    return character


def _scheme(step: Field) -> str:
    scheme = step.member("prepend_scheme").text() if "prepend_scheme" in step.object() else "always"
    if scheme not in _SCHEMES:
        raise step.member("prepend_scheme").refused(f"{shown(scheme)} is no scheme; {', '.join(_SCHEMES)} are")
    if not _flag(step, "add_prefix_space", True) and scheme != "never":
        raise step.member("add_prefix_space").refused(f"it is false, and prepend_scheme is {scheme}")
    return scheme


def _metaspace(step: Field) -> tuple[tuple[Normalizer, ...], list[Stage]]:
    mark, scheme = _replacement(step), _scheme(step)
    made: tuple[Normalizer, ...] = (Replace(" ", mark),)
    if scheme != "never":
        made += (PrependUnless(mark, scheme == "first"),)
    is_split = not step.has("split") or step.member("split").flag()
    return made, [Split(mark, "MergedWithNext", False, True)] if is_split else []


def _is_idle(stage: Stage, normalizers: tuple[Normalizer, ...]) -> bool:
    """Whether a Split looks for a character that normalized text never has, so that it splits nothing."""
    if not isinstance(stage, Split) or stage.invert or not stage.literal or len(stage.pattern) != 1:
        return False
    for step in reversed(normalizers):
        if isinstance(step, Replace) and stage.pattern not in step.content:
            if step.pattern == stage.pattern:
                return True
        elif isinstance(step, Prepend) and stage.pattern not in step.text:
            continue
        elif not isinstance(step, Strip) and not (isinstance(step, PrependUnless) and step.character != stage.pattern):
            return False
    return False


# ==== Back to text ====


def read_joining(field: Field) -> Spelled:
    """What `decoder` does where the model is of type WordPiece: a blank in front of each token but the first, unless it
    goes on in a word."""
    if field.value is None:
        return Spelled(apart=True)
    if _kind(field) != "WordPiece":
        raise field.refused(f"the decoder {shown(_kind(field))} is not supported behind WordPiece; WordPiece is")
    field.check_members(("type", "prefix", "cleanup"))
    return Spelled(apart=True, going_on=field.member("prefix").text(), cleaned=_flag(field, "cleanup"))


def read_spelling(field: Field) -> Spelled:
    """What `decoder` does: steps for each token, tokens of bytes, what goes from the beginning of the whole text.
    Without one the reference puts a blank between any two tokens."""
    if field.value is None:
        return Spelled(apart=True)
    spelled, joined = Spelled(), False
    for step in _steps(field, "decoders"):
        name = _kind(step)
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
    pattern = _pattern(step.member("pattern"))
    if pattern.is_regex or not pattern.text:
        raise step.member("pattern").refused("a Replace of a Regex, or of no text, is not supported")
    if spelled.mark:
        raise step.refused("a Replace behind a Metaspace is not supported")
    replaced = (*spelled.replaced, (pattern.text, step.member("content").text()))
    growth = math.prod(max(1.0, len(new.encode()) / len(old.encode())) for old, new in replaced)
    if growth > MOST_GROWTH:
        raise step.refused(
            f"with it the text of a token may become {growth:.0f} times as long, more than {MOST_GROWTH}"
        )
    return spelled._replace(replaced=replaced)


def _marked(step: Field, spelled: Spelled) -> Spelled:
    if spelled.mark:
        raise step.refused("a second Metaspace is not supported")
    return spelled._replace(mark=_replacement(step), first_loses_mark=_scheme(step) != "never")


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
