"""What encode_chat() returns: ids, and where messages and their parts lie in them and in the text."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from .._offsets import plain_sizes
from ..errors import ChatTemplateError

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._protocols import Encoding, Ids, Places
    from .inputs import Inputs
    from .marks import Traced
    from .template import Template


class Rendered(Protocol):
    """A conversation and what it is rendered to: encode.Chat."""

    enc: Encoding
    inputs: Inputs
    template: Template
    text: str

    def traced(self, exact: bool) -> Traced: ...


class Span(NamedTuple):
    """text[start:end] and ids[first:last]: characters of the rendered text, and the ids that have some of them."""

    start: int
    end: int
    first: int
    last: int


class Part(NamedTuple):
    """A text of a message: where it stands in it, as ("content",) or ("tool_calls", 0, "function", "name"), and where
    it lies in the rendered text. A text that is written several times has several parts."""

    place: tuple[Any, ...]
    span: Span


class Message(NamedTuple):
    """A message: its number, its role, its parts in the order of the text, and the span from the first to the last of
    them; None where none of its texts is written."""

    number: int
    role: Any
    parts: list[Part]
    span: Span | None


class EncodedChat:
    """The ids of a conversation. Made by Encoding.encode_chat.

    Attributes:
        ids: uint32 array.
        text: what the chat template rendered.
    """

    def __init__(self, chat: Rendered, ids: Ids) -> None:
        self._chat = chat
        self.ids, self.text = ids, chat.text

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"<EncodedChat of {self._chat.enc.name!r}, {len(self.ids)} ids>"

    def tolist(self) -> list[int]:
        """The ids as a list."""
        found: list[int] = self.ids.tolist()
        return found

    @cached_property
    def _traced(self) -> Traced:
        return self._chat.traced(True)

    @cached_property
    def _places(self) -> tuple[Places, Places]:
        return places_of(self._chat.enc, self.text, self.ids)

    def span(self, start: int, end: int) -> Span:
        """The ids that have characters of text[start:end]."""
        starts, ends = self._places
        first = int(np.searchsorted(ends, start, "right"))
        return Span(start, end, first, max(first, int(np.searchsorted(starts, end, "left"))))

    @cached_property
    def messages(self) -> list[Message]:
        """Where each message lies: of the texts that a caller gave, and not of what the template writes around them.
        ChatTemplateError: that is not certain."""
        traced = self._traced
        given = self._chat.inputs.messages
        parts: list[list[Part]] = [[] for _ in given]
        for start, end, leaf, *_ in traced.regions:
            place = traced.leaves[leaf].place
            if place[0] == "messages":
                parts[place[1]].append(Part(place[2:], self.span(start, end)))
        made = []
        for number, (message, found) in enumerate(zip(given, parts)):
            found.sort(key=lambda part: part.span.start)
            whole = self.span(found[0].span.start, max(part.span.end for part in found)) if found else None
            made.append(Message(number, message.get("role"), found, whole))
        return made

    @cached_property
    def mask(self) -> npt.NDArray[np.bool_]:
        """bool array: the ids that have characters of what the assistant wrote. Where the template has
        {% generation %} blocks, these are it, as in transformers; else the texts of the messages whose role is
        "assistant". ChatTemplateError: where they lie is not certain."""
        traced = self._traced
        if self._chat.template.has_blocks:
            spans = [self.span(start, end) for start, end in traced.blocks]
        else:
            given = self._chat.inputs.messages
            if not traced.has_names and any(m.get("role") == "assistant" and m.get("tool_calls") for m in given):
                raise ChatTemplateError(
                    "it compares names of functions, so where those that the assistant calls lie is not certain: there "
                    "is no mask of a conversation with tool_calls"
                )
            spans = [part.span for each in self.messages if each.role == "assistant" for part in each.parts]
        made = np.zeros(len(self.ids), np.bool_)
        for span in spans:
            made[span.first : span.last] = True
        return made


def places_of(enc: Encoding, text: str, ids: Ids) -> tuple[Places, Places]:
    """(starts, ends) of each id, in characters of a rendered text."""
    data = text.encode("utf-8", "surrogatepass")
    matcher = enc._matchers_for("all", ())[0]
    sizes = plain_sizes(enc, data, ids, matcher)
    if sizes is None:
        sizes = _sizes_of_tokens(enc, data, ids)
    if sizes is None:
        again, starts = enc.encode_with_offsets(text, allowed_special="all", disallowed_special=())
        if not np.array_equal(again, ids):
            raise ChatTemplateError(
                "a text of the messages spells a special token, and the encoding changes texts, so where ids lie is "
                "not certain: take it out where spans or a mask are wanted"
            )
        ends = np.append(starts[1:], len(text)).astype(np.int64)
        return starts, np.maximum(ends, starts)
    stops = sizes.cumsum()
    begun = np.cumsum((np.frombuffer(data, np.uint8) & 0xC0) != 0x80) if data else np.zeros(1, np.int64)
    return begun[np.minimum(stops - sizes, len(data) - 1)] - 1, begun[np.maximum(stops, 1) - 1]


def _sizes_of_tokens(enc: Encoding, data: bytes, ids: Ids) -> Places | None:
    """Bytes of each token where together they spell the text, as they mostly do though the encoding changes some."""
    if enc._rule_decoder is not None:
        tokens = enc.decode_tokens_bytes(ids.tolist())
        return np.fromiter(map(len, tokens), np.int64, len(tokens)) if b"".join(tokens) == data else None
    sizes: Places = enc._token_lengths[ids].astype(np.int64)
    return sizes if int(sizes.sum()) == len(data) and enc._bytes_of(ids, False) == data else None
