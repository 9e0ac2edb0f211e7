"""What a template sees of a call: plain data alone, in the shape that transformers gives it.

A template comes from somebody else. It gets lists, dicts, strings and numbers; of anything else, as an image, it gets
the name of its type, since templates ask only whether such a thing is there.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ..errors import shown

Place = tuple[Any, ...]
"""Where a text stands: ("messages", 0, "content"), say. The text of a key has `KEY` at the end."""

KEY = object()

_REASONING = ("reasoning_content", "thinking", "reasoning")
"""Names that a message's reasoning has. Templates read the first, and some the second."""

_DEPTH = 64


class Inputs(NamedTuple):
    """All that a template sees besides the tokens of the model."""

    messages: list[dict[str, Any]]
    tools: Any
    documents: Any
    more: dict[str, Any]

    def variables(self) -> dict[str, Any]:
        return {"messages": self.messages, "tools": self.tools, "documents": self.documents, **self.more}

    def changed(self, change: Callable[[Place, str], str]) -> Inputs:
        """The same with other texts."""
        parts = (_changed(value, (name,), change) for name, value in zip(self._fields, self))
        return Inputs(*parts)


def read_inputs(messages: Any, tools: Any, documents: Any, more: Mapping[str, Any]) -> Inputs:
    """TypeError: something that is no list of messages, of tools or of documents. ValueError: no message."""
    return Inputs(_messages(messages), _tools(tools), _documents(documents), plain(dict(more)))


def _messages(messages: Any) -> list[dict[str, Any]]:
    messages = getattr(messages, "messages", messages)
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Iterable):
        raise TypeError(f"messages are a list of dicts with role and content, got {shown(messages)}")
    found = []
    for index, message in enumerate(messages):
        made = plain(message)
        if type(made) is not dict:
            raise TypeError(f"message {index} is {shown(message)}: write a dict with role and content")
        if len(made) > 2 or "content" not in made or made["content"] is None:
            made = _renamed({key: value for key, value in made.items() if value is not None})
        found.append(made)
    if not found:
        raise ValueError("there is no message: a conversation has at least one")
    return found


def _renamed(message: dict[str, Any]) -> dict[str, Any]:
    """The message with its reasoning under each name that templates read."""
    reasoning = next((message[name] for name in _REASONING if name in message), None)
    return message if reasoning is None else {"thinking": reasoning, **message, "reasoning_content": reasoning}


def _tools(tools: Any) -> Any:
    if tools is None:
        return None
    for index, tool in enumerate(tools):
        if inspect.isroutine(tool):
            raise TypeError(
                f"tool {index} is {shown(tool)}: write its JSON schema, a dict, as "
                "transformers.utils.get_json_schema makes it of a function"
            )
        if not isinstance(tool, Mapping):
            raise TypeError(f"tool {index} is {shown(tool)}: write its JSON schema, a dict")
    return plain(list(tools))


def _documents(documents: Any) -> Any:
    for index, document in enumerate(documents or ()):
        if not isinstance(document, Mapping):
            raise TypeError(f"document {index} is {shown(document)}: write a dict with title and text")
    return plain(documents)


def plain(value: Any, depth: int = 0) -> Any:
    """A value as a template may see it. The one of a message of plain values is a new dict."""
    kind = type(value)
    if kind is str or value is None or kind is bool or kind is int or kind is float:
        return value
    if depth > _DEPTH:
        raise ValueError(f"messages, tools and documents are nested in more than {_DEPTH} levels")
    if kind is dict:
        return {
            key if type(key) is str else plain(key, depth + 1): item if type(item) is str else plain(item, depth + 1)
            for key, item in value.items()
        }
    if kind is list:
        return [plain(item, depth + 1) for item in value]
    return _plain_of_others(value, depth)


def _plain_of_others(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Mapping):
        return {plain(key, depth + 1): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item, depth + 1) for item in value]
    if isinstance(value, tuple):
        return tuple(plain(item, depth + 1) for item in value)
    if type(value).__module__ == "numpy" and hasattr(value, "item") and not getattr(value, "shape", True):
        return plain(value.item(), depth + 1)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name), depth + 1) for each in dataclasses.fields(value)}
    if callable(getattr(value, "model_dump", None)):  # of pydantic, as clients' messages are
        return plain(value.model_dump(), depth + 1)
    return f"<{type(value).__name__}>"


def _changed(value: Any, place: Place, change: Callable[[Place, str], str]) -> Any:
    kind = type(value)
    if kind is str:
        return change(place, value)
    if kind is dict:
        return {
            change((*place, key, KEY), key) if type(key) is str else key: _changed(item, (*place, key), change)
            for key, item in value.items()
        }
    if kind is list or kind is tuple:
        return kind(_changed(item, (*place, index), change) for index, item in enumerate(value))
    return value


def texts_of(inputs: Inputs) -> list[str]:
    """All texts that a caller gave, keys among them, but for roles: those are names that a template compares."""
    found: list[str] = []
    for message in inputs.messages:
        for key, value in message.items():
            if type(value) is str:
                if key != "role":
                    found.append(value)
            else:
                _gather(value, found)
            if key not in _USUAL:
                _gather(key, found)
    for part in (inputs.tools, inputs.documents, inputs.more):
        if part:
            _gather(part, found)
    return found


_USUAL = frozenset(("role", "content", "tool_calls", "name", "tool_call_id", *_REASONING))


def _gather(value: Any, found: list[str]) -> None:
    kind = type(value)
    if kind is str:
        found.append(value)
    elif kind is dict:
        for key, item in value.items():
            _gather(key, found)
            _gather(item, found)
    elif kind is list or kind is tuple:
        for item in value:
            _gather(item, found)


def continued(inputs: Inputs, field: str | bool, source: str, tag: str) -> tuple[Inputs, str]:
    """The conversation with a tag behind a text of the last message, and that text. ValueError: there is none."""
    name = field if isinstance(field, str) else "content"
    message = dict(inputs.messages[-1])
    text = message.get(name)
    if text is None:
        raise ValueError(f"continue_final_message: the last message has no {shown(name)} to continue")
    fields = [name] if name not in _REASONING else [each for each in _REASONING if message.get(each) == text]
    if not any(each in source for each in fields):
        raise ValueError(f"continue_final_message: the chat template does not write {shown(name)}")
    if isinstance(text, (list, tuple)):
        places = [i for i, part in enumerate(text) if isinstance(part, dict) and "text" in part]
        if not places:
            raise ValueError("continue_final_message: the last message has no text to continue")
        part = text[places[-1]]
        message[name] = [*text[: places[-1]], {**part, "text": part["text"] + tag}, *text[places[-1] + 1 :]]
        text = part["text"]
    else:
        for each in fields:
            message[each] = text + tag
    return inputs._replace(messages=[*inputs.messages[:-1], message]), text
