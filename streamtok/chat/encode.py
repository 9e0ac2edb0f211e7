"""encode_chat(): a conversation, rendered by the model's chat template, as ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import ChatTemplateError, shown
from .encoded import EncodedChat
from .inputs import Inputs, continued, read_inputs, texts_of
from .marks import Region, Traced, trace
from .quick import Quick, begun
from .template import Template, template_of

if TYPE_CHECKING:
    from .._protocols import AllowedSpecial, Encoding, Ids, PrefixCache

_TAG = "\U0010ffff"
"""Behind a text that is continued: a noncharacter, which no text has."""


def template_for(enc: Encoding, given: str | None, tools: Any) -> Template:
    """The template of a call: a text, the name of one of the model's, or None for the model's own."""
    known = enc.chat_template
    if isinstance(known, dict):
        if given in known:
            return template_of(known[given])
        if given is None:
            name = "tool_use" if tools is not None and "tool_use" in known else "default"
            if name not in known:
                raise ValueError(
                    f"{shown(enc.name)} has several chat templates: write chat_template= one of {list(known)}"
                )
            return template_of(known[name])
    source = known if given is None else given
    if source is None:
        raise ValueError(
            f"{shown(enc.name)} has no chat template: its files have none, or are no files of a model; write "
            "chat_template= the text of one"
        )
    if not isinstance(source, str):
        raise TypeError(f"a chat template is a str, got {shown(source)}")
    return template_of(source)


class Rendering(NamedTuple):
    """What encode_chat() and render_chat() take beside the messages; more: other variables of the template."""

    tools: Any
    documents: Any
    add_generation_prompt: bool
    continue_final_message: bool | str
    chat_template: str | None
    more: Mapping[str, Any]


class Chat:
    """A conversation and how it is rendered.

    Args:
        enc: the Encoding.
        messages: as for encode_chat().
        how: the rest of its arguments.
    """

    def __init__(self, enc: Encoding, messages: Any, how: Rendering) -> None:
        if how.add_generation_prompt and how.continue_final_message:
            raise ValueError("add_generation_prompt begins a new message: leave it out with continue_final_message")
        self.enc, self.template = enc, template_for(enc, how.chat_template, how.tools)
        self.inputs = read_inputs(messages, how.tools, how.documents, how.more)
        self.named = enc._chat_files.named
        self._add, self._continue = how.add_generation_prompt, how.continue_final_message
        self.text = self._render(self.inputs)

    def _render(self, inputs: Inputs, marks: tuple[str, str] | None = None) -> str:
        last = ""
        if self._continue:
            inputs, last = continued(inputs, self._continue, self.template.source, f"{_TAG} ")
        variables = {**self.named, "add_generation_prompt": self._add, **inputs.variables()}
        made = self.template.render(variables, marks if self.template.has_blocks else None)
        if not self._continue:
            return made
        at = made.rfind(_TAG)
        if at < 0 or last.strip() not in made:
            raise ValueError("continue_final_message: the chat template does not write the last message as it is")
        return made[:at] if made.startswith(" ", at + 1) else made[:at].rstrip()

    def roles(self) -> set[str]:
        return {role for message in self.inputs.messages if isinstance(role := message.get("role"), str)}

    def traced(self, exact: bool) -> Traced:
        """Where the texts lie. ChatTemplateError: that is not certain."""
        known = begun(frozenset(self.enc.special_tokens_set))
        return trace(self.text, self.inputs, self.template, self._render, known, self.named.values(), exact)

    def ids(self, allowed: AllowedSpecial, cache: PrefixCache | None) -> Ids:
        """allowed: names that texts of the caller may spell."""
        enc, names = self.enc, frozenset(self.enc.special_tokens_set)
        encode = enc.encode_to_numpy if cache is None else cache.encode_to_numpy
        if allowed == "all" or not names:
            return encode(self.text, allowed_special="all", disallowed_special=())
        roles = self.roles()
        for role in roles:
            begun(names).check_role(role)
        quick = _quick(enc, self.template, tuple(sorted(self.named.values())))
        if quick.holds(texts_of(self.inputs), roles):
            return encode(self.text, allowed_special="all", disallowed_special=())
        regions = self.traced(False).regions
        if begun(names).stand_apart(self.text, regions):
            return encode(self.text, allowed_special="all", disallowed_special=())
        return _by_segments(enc, self.text, regions, allowed)


def _quick(enc: Encoding, template: Template, named: tuple[str, ...]) -> Quick:
    known: dict[Any, Quick] = enc.__dict__.setdefault("_chat_quick", {})
    key = template.source, named
    found = known.get(key)
    if found is None:
        if len(known) > 64:
            known.clear()
        found = known[key] = Quick(frozenset(enc.special_tokens_set), template, named)
    return found


def _by_segments(enc: Encoding, text: str, regions: list[Region], allowed: AllowedSpecial) -> Ids:
    segments: list[tuple[str, AllowedSpecial]] = []
    at = 0
    for start, end, *_ in regions:
        segments += [(text[at:start], "all"), (text[start:end], allowed)]
        at = end
    segments.append((text[at:], "all"))
    try:
        return enc.encode_segments([each for each in segments if each[0]]).ids
    except ValueError:
        return _with_rules(enc, text, regions, allowed)


def _with_rules(enc: Encoding, text: str, regions: list[Region], allowed: AllowedSpecial) -> Ids:
    """Where names take text beside them, or its beginning counts, segments cannot be joined. Ids are those of the whole
    text, unless a special token has characters of a caller's text."""
    from .encoded import places_of

    ids = enc.encode_to_numpy(text, allowed_special="all", disallowed_special=())
    starts, ends = places_of(enc, text, ids)
    values = {token for name, token in enc._special_tokens.items() if allowed == "all" or name not in allowed}
    special = np.flatnonzero(np.isin(ids, np.array(sorted(values), np.uint32)))
    begins, stops = (np.array([region[i] for region in regions], np.int64) for i in (0, 1))
    for i in special.tolist():
        near = int(np.searchsorted(stops, starts[i], "right"))
        if near < len(regions) and begins[near] < ends[i]:
            raise ChatTemplateError(
                f"a text of the messages spells the special token {shown(enc.decode([int(ids[i])]))}, and special "
                f"tokens of {shown(enc.name)} take text beside them, or its texts begin in their own way, so that it "
                'cannot be encoded as text: take it out, or write allowed_special="all"'
            )
    return ids


def encode_chat(
    enc: Encoding,
    messages: Any,
    mask: str | None,
    allowed: AllowedSpecial,
    cache: PrefixCache | None,
    how: Rendering,
) -> EncodedChat:
    """Encoding.encode_chat() has the arguments."""
    if cache is not None and cache.encoding is not enc:
        raise ValueError(f"the cache is of {shown(cache.encoding)}, and not of {shown(enc)}: make one of this encoding")
    if mask not in (None, "assistant"):
        raise ValueError(f'mask={shown(mask)} is unknown: write "assistant" or None')
    chat = Chat(enc, messages, how)
    made = EncodedChat(chat, chat.ids(allowed, cache))
    if mask is not None:
        made.mask  # noqa: B018 - raises here what is not certain
    return made
