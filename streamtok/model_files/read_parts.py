"""The parts of a tokenizer.json that are short, read strictly: what is not known is refused, and nothing is guessed."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ..errors import shown
from ..native.normal import compiled_map
from ..patterns.compile import compile_matches
from ..patterns.compose import (
    ByteLevel,
    Digits,
    Punctuation,
    Split,
    Stage,
    UnicodeScripts,
    Whitespace,
    WhitespaceSplit,
)
from ..patterns.read import Cat, Rep, Set
from ..patterns.read_oniguruma import read_oniguruma
from .description import (
    BEHAVIORS,
    AddedToken,
    Clean,
    Form,
    Normalizer,
    Pattern,
    Precompiled,
    Prepend,
    PrependUnless,
    Replace,
    ReplaceClass,
    ReplaceMatches,
    Sentence,
    Strip,
    Template,
)
from .field import Field

_T = TypeVar("_T")

MOST_ADDED = 1 << 16
"""Added tokens that a file may have: ten times as many as the most that published files have."""

MOST_TEMPLATE = 4096
"""Ids that a template may put around a text: published ones put 1 to 5."""

_MOST_LEAST = 1 << 10
"""Characters that a run which is replaced has at least, at most."""

_MOST_STEPS = 64  # of a Sequence, with those inside

# Settings of ByteLevel, which the reference leaves behind in the record of other post-processors and does not read.
_LEFT_BEHIND = ("add_prefix_space", "trim_offsets", "use_regex")

_METASPACE = ("type", "replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep")
_SCHEMES = ("always", "first", "never")
_BYTE_LEVEL = ("type", "add_prefix_space", "trim_offsets", "use_regex")


def kind_name(field: Field) -> str:
    return field.member("type").text()


def _unknown(field: Field, part: str, known: Iterable[str]) -> Exception:
    names = ", ".join(sorted(known))
    return field.refused(f"the {part} {shown(kind_name(field))} is not supported; {names} are")


def steps(field: Field, name: str, depth: int = 0) -> list[Field]:
    """The parts of a Sequence, also of those inside it; of anything else itself."""
    if kind_name(field) != "Sequence":
        return [field]
    field.check_members(("type", name))
    if depth == 8:
        raise field.refused("Sequences lie too deep inside each other")
    found = [step for part in field.member(name).items() for step in steps(part, name, depth + 1)]
    if len(found) > _MOST_STEPS:
        raise field.refused(f"there are more than {_MOST_STEPS} steps")
    return found


def flag(field: Field, name: str, default: bool | None = None) -> bool:
    return default if default is not None and name not in field.object() else field.member(name).flag()


def pattern(field: Field) -> Pattern:
    (name,) = field.object() if len(field.object()) == 1 else ("",)
    if name not in ("Regex", "String"):
        raise field.refused('a pattern is {"Regex": ...} or {"String": ...}')
    return Pattern(field.member(name).text(), name == "Regex")


def _behavior(field: Field) -> str:
    name = field.text()
    if name not in BEHAVIORS:
        raise field.refused(f"{shown(name)} is no behavior; {', '.join(BEHAVIORS)} are")
    return name


def _read(field: Field, part: str, readers: dict[str, tuple[tuple[str, ...], Callable[[Field], _T]]]) -> _T:
    """A part by the reader of its type, whose settings are checked first."""
    if kind_name(field) not in readers:
        raise _unknown(field, part, readers)
    names, reader = readers[kind_name(field)]
    field.check_members(("type", *names))
    return reader(field)


# ==== Normalizers and pre-tokenizers ====


def _form(field: Field) -> Normalizer:
    return Form(kind_name(field))


def _replace(field: Field) -> Normalizer:
    sought, content = pattern(field.member("pattern")), field.member("content").text()
    if sought.is_regex:
        return _replace_regex(field.member("pattern"), sought.text, content)
    if not sought.text:
        raise field.member("pattern").refused("a Replace of no text is not supported: it is everywhere")
    return Replace(sought.text, content)


def _prepend(field: Field) -> Normalizer:
    text = field.member("prepend").text()
    if not text:
        raise field.member("prepend").refused(
            "a Prepend of no text is not supported: the reference takes parts of such texts twice; leave it out"
        )
    return Prepend(text)


def _replace_regex(field: Field, regex: str, content: str) -> Normalizer:
    """A Regex that is a text, a class of characters, or runs of one, has a step of its own."""
    try:
        node = read_oniguruma(regex)
    except ValueError as error:
        raise field.refused(f"the Regex {shown(regex)} is not read: {error}") from None
    parts = node.parts if isinstance(node, Cat) else (node,)
    points = [part.ranges[0][0] for part in parts if isinstance(part, Set) and len(part.ranges) == 1]
    if len(points) == len(parts) > 0 and all(p.ranges[0][0] == p.ranges[0][1] for p in parts if isinstance(p, Set)):
        return Replace("".join(map(chr, points)), content)
    runs = isinstance(node, Rep) and 0 < node.low < _MOST_LEAST and (node.high, node.mode) == (None, "")
    least = node.low if isinstance(node, Rep) and runs else 0
    single = node.body if isinstance(node, Rep) and runs else node
    if isinstance(single, Set) and single.ranges:
        return ReplaceClass(single.ranges, content, least if least > 1 else runs)
    try:
        compile_matches(regex)
    except ValueError as error:
        raise field.refused(
            f"a Replace of the Regex {shown(regex)} is not supported, as its matches are not found by a finite "
            f"machine: {error}"
        ) from None
    return ReplaceMatches(regex, content)


def _precompiled(field: Field) -> Precompiled:
    text = field.member("precompiled_charsmap").text()
    try:
        charsmap = base64.b64decode(text, validate=True)
        compiled_map(charsmap)
    except ValueError as error:
        raise field.member("precompiled_charsmap").refused(f"it is no compiled map of characters: {error}") from None
    return Precompiled(charsmap)


_SENTENCE = ("add_dummy_prefix", "treat_whitespace_as_suffix", "remove_extra_whitespaces", "escape_whitespaces")


def _sentence(field: Field) -> Normalizer:
    """What sentencepiece.py makes of a .model; no tokenizer.json has it."""
    symbols = tuple(symbol.text() for symbol in field.member("symbols").items())
    prefix, suffix, fewer, escaped = (flag(field, name) for name in _SENTENCE)
    charsmap = _precompiled(field).charsmap
    return Sentence(charsmap, symbols, prefix and not suffix, prefix and suffix, fewer, escaped)


_NORMALIZERS: dict[str, tuple[tuple[str, ...], Callable[[Field], Normalizer]]] = {
    **dict.fromkeys(("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents"), ((), _form)),
    "ByteLevel": ((), lambda field: Form("Letters")),
    "Replace": (("pattern", "content"), _replace),
    "Prepend": (("prepend",), _prepend),
    "Precompiled": (("precompiled_charsmap",), _precompiled),
    "SentencePiece": (("precompiled_charsmap", "symbols", *_SENTENCE), _sentence),
    "Strip": (
        ("strip_left", "strip_right"),
        lambda field: Strip(flag(field, "strip_left"), flag(field, "strip_right")),
    ),
}


def read_normalizers(field: Field) -> tuple[Normalizer, ...]:
    """The steps of `normalizer`, in turn."""
    if field.value is None:
        return ()
    found: tuple[Normalizer, ...] = ()
    for step in steps(field, "normalizers"):
        several = _SEVERAL.get(kind_name(step))
        found += several(step) if several is not None else (_read(step, "normalizer", _NORMALIZERS),)
    return found


_NMT_DROPS = (1, 8), (0xB, 0xB), (0xE, 0x1F), (0x7F, 0x7F), (0x8F, 0x8F), (0x9F, 0x9F)
_NMT_BLANKS = (
    *((9, 0xA), (0xC, 0xD), (0x1680, 0x1680), (0x200B, 0x200F), (0x2028, 0x2029), (0x2581, 0x2581), (0xFEFF, 0xFEFF)),
    (0xFFFD, 0xFFFD),
)


def _nmt(field: Field) -> tuple[Normalizer, ...]:
    """Some control characters go, and odd white space becomes blanks."""
    field.check_members(("type",))
    return ReplaceClass(_NMT_DROPS, "", False), ReplaceClass(_NMT_BLANKS, " ", False)


def _bert(field: Field) -> tuple[Normalizer, ...]:
    """A BertNormalizer as steps. ASCII is in lower case at once, which changes nothing of what the others make."""
    field.check_members(("type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"))
    controls, ideographs, lower = (flag(field, name) for name in ("clean_text", "handle_chinese_chars", "lowercase"))
    strips = field.member("strip_accents").flag() if field.has("strip_accents") else lower
    made: list[Normalizer] = []
    if controls or ideographs or lower:
        made.append(Clean(controls, ideographs, lower))
    if strips:
        made += [Form("NFD"), Form("StripNonspacing")]
    if lower:
        made.append(Form("Lowercase"))
    return tuple(made)


_SEVERAL: dict[str, Callable[[Field], tuple[Normalizer, ...]]] = {"BertNormalizer": _bert, "Nmt": _nmt}


def _byte_level(field: Field) -> Stage:
    flag(field, "trim_offsets")
    return ByteLevel(flag(field, "use_regex", True), flag(field, "add_prefix_space"))


def _split(field: Field) -> Stage:
    sought = pattern(field.member("pattern"))
    return Split(sought.text, _behavior(field.member("behavior")), flag(field, "invert"), not sought.is_regex)


def _punctuation(field: Field) -> Stage:
    return Punctuation(_behavior(field.member("behavior")) if "behavior" in field.object() else "Isolated")


def _delimiter(field: Field) -> Stage:
    character = field.member("delimiter").text()
    if len(character) != 1:
        raise field.member("delimiter").refused(f"{shown(character)} is not one character")
    return Split(character, "Removed", False, True)


def _fixed_length(field: Field) -> Stage:
    length = field.member("length").number() if "length" in field.object() else 5
    if not length:
        raise field.member("length").refused("pieces of no characters would never come to an end")
    return Split(rf"[\s\S]{{1,{length}}}")


_STAGES: dict[str, tuple[tuple[str, ...], Callable[[Field], Stage]]] = {
    "ByteLevel": (_BYTE_LEVEL[1:], _byte_level),
    "Split": (("pattern", "behavior", "invert"), _split),
    "Digits": (("individual_digits",), lambda field: Digits(flag(field, "individual_digits"))),
    "Punctuation": (("behavior",), _punctuation),
    "Whitespace": ((), lambda field: Whitespace()),
    "WhitespaceSplit": ((), lambda field: WhitespaceSplit()),
    "UnicodeScripts": ((), lambda field: UnicodeScripts()),
    "CharDelimiterSplit": (("delimiter",), _delimiter),
    "FixedLength": (("length",), _fixed_length),
}


def read_stage(field: Field) -> tuple[Stage, ...]:
    """A step of `pre_tokenizer`, which may be several stages."""
    if kind_name(field) == "BertPreTokenizer":
        field.check_members(("type",))
        return WhitespaceSplit(), Punctuation("Isolated")
    return (_read(field, "pre-tokenizer", _STAGES),)


def replacement(step: Field) -> str:
    step.check_members(_METASPACE)
    character = step.member("replacement").text()
    if len(character) != 1:
        raise step.member("replacement").refused(f"{shown(character)} is not one character")
    if step.has("str_rep"):
        step.member("str_rep").text()  # the reference does not use it
    return character


def scheme(step: Field) -> str:
    name = step.member("prepend_scheme").text() if "prepend_scheme" in step.object() else "always"
    if name not in _SCHEMES:
        raise step.member("prepend_scheme").refused(f"{shown(name)} is no scheme; {', '.join(_SCHEMES)} are")
    if not flag(step, "add_prefix_space", True) and name != "never":
        raise step.member("add_prefix_space").refused(f"it is false, and prepend_scheme is {name}")
    return name


def read_metaspace(step: Field) -> tuple[tuple[Normalizer, ...], list[Stage]]:
    """What a Metaspace does to a text, and how it splits it then."""
    mark, place = replacement(step), scheme(step)
    made: tuple[Normalizer, ...] = (Replace(" ", mark),)
    if place != "never":
        made += (PrependUnless(mark, place == "first"),)
    is_split = not step.has("split") or step.member("split").flag()
    return made, [Split(mark, "MergedWithNext", False, True)] if is_split else []


# ==== Added tokens ====

_ADDED = ("id", "content", "single_word", "lstrip", "rstrip", "normalized", "special")
_ADDED_NAMES = frozenset(_ADDED)


def _usual(value: Any) -> AddedToken | None:
    """An entry as it nearly always is, read in a fraction of the time: files have thousands. None: another one."""
    if type(value) is not dict or value.keys() != _ADDED_NAMES:
        return None
    number, content, *flags = map(value.__getitem__, _ADDED)
    if type(number) is not int or not 0 <= number <= 0x7FFFFFFF or type(content) is not str or not content:
        return None
    if any(type(flag) is not bool for flag in flags) or not (content.isascii() or _is_whole(content)):
        return None
    return AddedToken(number, content, *flags)


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair
        return False
    return True


def _checked(entry: Field) -> AddedToken:
    entry.check_members(_ADDED)
    flags = {name: entry.member(name).flag() for name in _ADDED[2:]}
    token = AddedToken(entry.member("id").number(), entry.member("content").text(), **flags)
    if not token.content:
        raise entry.member("content").refused("an added token is empty; every text would hold it")
    return token


def read_added(field: Field) -> tuple[AddedToken, ...]:
    """The entries of `added_tokens`, as they stand there."""
    if field.value is None:
        return ()
    found = []
    for entry in field.items():
        found.append(_usual(entry.value) or _checked(entry))
        if len(found) > MOST_ADDED:
            raise field.refused(f"there are more than {MOST_ADDED} added tokens")
    return tuple(found)


# ==== Post-processors ====


def read_template(field: Field) -> Template:
    """What `post_processor` puts around a text. Its other work concerns offsets of tokens in text alone."""
    given = [] if field.value is None else steps(field, "processors")
    templates = [(kind_name(step), _read(step, "post-processor", _TEMPLATES)) for step in given]
    found = [template for kind, template in templates if kind != "ByteLevel"]
    if len(found) > 1:  # to the second one, what the first one put in front of the text would be a text by itself
        raise field.refused("several post-processors that put tokens around a text are not supported")
    return found[0] if found else Template()


def _no_template(field: Field) -> Template:
    return Template()


def _processing(field: Field) -> Template:
    listed = field.member("special_tokens")
    tokens = {name: _template_ids(listed.member(name)) for name in listed.object()}
    ids: list[int] = []
    texts: list[int] = []  # how many ids stand in front of each place of the text
    template = field.member("single")
    for piece in template.items():
        name = next(iter(piece.object()), "")
        if len(piece.object()) != 1 or name not in ("SpecialToken", "Sequence"):
            raise piece.refused("a step of a template is a SpecialToken or a Sequence")
        piece.member(name).check_members(("id", "type_id"))
        token = piece.member(name).member("id").text()
        if name == "Sequence":
            texts.append(len(ids))
        elif token in tokens:
            ids += tokens[token]
        else:
            raise piece.refused(f"the ids of {shown(token)} are not among the special_tokens of the template")
        if len(ids) > MOST_TEMPLATE:
            raise piece.refused(
                f"with {shown(token)} there are {len(ids)} ids around a text, more than {MOST_TEMPLATE}"
            )
    if len(texts) != 1:
        raise template.refused("a template of one text holds that text once")
    return Template(tuple(ids[: texts[0]]), tuple(ids[texts[0] :]))


def _template_ids(field: Field) -> list[int]:
    field.check_members(("id", "ids", "tokens"))
    return [token.number() for token in field.member("ids").items()]


def _ends(field: Field) -> Template:
    """BertProcessing and RobertaProcessing: a token in front, a token behind."""
    template = []
    for name in ("cls", "sep"):
        pair = list(field.member(name).items())
        if len(pair) != 2:
            raise field.member(name).refused("a token and its id are needed")
        pair[0].text()
        template.append((pair[1].number(),))
    return Template(*template)


_TEMPLATES: dict[str, tuple[tuple[str, ...], Callable[[Field], Template]]] = {
    "ByteLevel": (_BYTE_LEVEL[1:], _no_template),
    "TemplateProcessing": (("single", "pair", "special_tokens", *_LEFT_BEHIND), _processing),
    "BertProcessing": (("sep", "cls", *_LEFT_BEHIND), _ends),
    "RobertaProcessing": (("sep", "cls", *_LEFT_BEHIND), _ends),
}
