"""Chat templates with a definition in Python each, and random conversations."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

Segments = list[tuple[str, tuple[Any, ...] | None]]
"""The rendered text: each part with the place of the text that it comes from, ("messages", 0, "content"), or None."""

CHATML = """\
{%- for message in messages %}
    {{- '<|start|>' + message.role + '<|message|>' + message['content'] + '<|end|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start|>assistant<|message|>' }}
{%- endif %}"""

TRIMMED = """\
{% for message in messages %}
<|start|>{{ message.role | upper }}
{{ message.content | trim }}<|end|>
{% endfor %}
{% if add_generation_prompt %}<|start|>{% endif %}"""

DIVIDED = """\
{%- for message in messages %}
    {%- set content = message.content %}
    {%- if message.role == 'assistant' and '</think>' in content %}
        {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
    {%- endif %}
    {{- message.role ~ ':' ~ content ~ '<|end|>' }}
{%- endfor %}"""

TOOLS = """\
{%- if tools %}{% for tool in tools %}{{ tool | tojson }}<|end|>{% endfor %}{% endif %}
{%- for message in messages %}
    {%- if message.role == 'tool' and message.content is not string %}{{ raise_exception('text is needed') }}{% endif %}
    {{- message.role }}={{ message.content }}
    {%- for call in message.tool_calls or [] %}
        {{- '<|call|>' }}{{ call.function.name }} {{ call.function.arguments | tojson }}
    {%- endfor %}
    {{- '<|end|>' }}
{%- endfor %}"""

BLOCKS = """\
{%- for message in messages %}
    {%- if message.role == 'assistant' %}
        {{- '<|start|>' }}{% generation %}{{ message.content }}<|end|>{% endgeneration %}
    {%- else %}
        {{- message.role }}: {{ message.content }}<|end|>
    {%- endif %}
{%- endfor %}"""


def _chatml(messages: list[Any], tools: Any, add: bool) -> Segments:
    made: Segments = []
    for i, message in enumerate(messages):
        made += [
            (f"<|start|>{message['role']}<|message|>", None),
            (message["content"], (i, "content")),
            ("<|end|>", None),
        ]
    return made + ([("<|start|>assistant<|message|>", None)] if add else [])


def _trimmed(messages: list[Any], tools: Any, add: bool) -> Segments:
    made: Segments = []
    for i, message in enumerate(messages):
        made.append((f"<|start|>{message['role'].upper()}\n", None))
        made += [(message["content"].strip(), (i, "content")), ("<|end|>\n", None)]
    return made + ([("<|start|>", None)] if add else [])


def _divided(messages: list[Any], tools: Any, add: bool) -> Segments:
    made: Segments = []
    for i, message in enumerate(messages):
        content = message["content"]
        if message["role"] == "assistant" and "</think>" in content:
            content = content.split("</think>")[-1].lstrip("\n")
        made += [(f"{message['role']}:", None), (content, (i, "content")), ("<|end|>", None)]
    return made


def _tools(messages: list[Any], tools: Any, add: bool) -> Segments:
    made: Segments = []
    for i, tool in enumerate(tools or []):
        made += [*_json(tool, (-1, i)), ("<|end|>", None)]
    for i, message in enumerate(messages):
        made += [(f"{message['role']}=", None), (message["content"], (i, "content"))]
        for j, call in enumerate(message.get("tool_calls", [])):
            place = (i, "tool_calls", j, "function")
            made += [("<|call|>", None), (call["function"]["name"], (*place, "name")), (" ", None)]
            made += _json(call["function"]["arguments"], (*place, "arguments"))
        made.append(("<|end|>", None))
    return made


def _blocks(messages: list[Any], tools: Any, add: bool) -> Segments:
    made: Segments = []
    for i, message in enumerate(messages):
        made.append(("<|start|>" if message["role"] == "assistant" else f"{message['role']}: ", None))
        made += [(message["content"], (i, "content")), ("<|end|>", None)]
    return made


def _json(value: Any, place: tuple[Any, ...]) -> Segments:
    """What json.dumps writes: texts are those of a caller, and what stands around them is not."""
    if isinstance(value, str):
        return [
            ('"', None),
            (json.dumps(value, ensure_ascii=False)[1:-1], place if value.strip() else None),
            ('"', None),
        ]
    if isinstance(value, dict):
        made: Segments = [("{", None)]
        for i, (key, item) in enumerate(value.items()):
            made += [
                (", " if i else "", None),
                *_json(key, (*place, key, "key")),
                (": ", None),
                *_json(item, (*place, key)),
            ]
        return [*made, ("}", None)]
    return [(json.dumps(value), None)]


TEMPLATES: dict[str, tuple[str, Callable[[list[Any], Any, bool], Segments]]] = {
    "chatml": (CHATML, _chatml),
    "trimmed": (TRIMMED, _trimmed),
    "divided": (DIVIDED, _divided),
    "tools": (TOOLS, _tools),
    "blocks": (BLOCKS, _blocks),
}

_WORDS = (
    'hello world, the naïve 日本語 😀 f(x) <b> a<b [1] {json} \ue000 \U000f0000 "quoted" it\'s </think> <think>'.split(
        " "
    )
)
_NAMES = ("<|end|>", "<|start|>", "<|en", "d|>", "<", "|end|>", "<|call|><|end|>", "<|end", "|>")


def text(draw: random.Random, evil: float = 0.0, most: int = 8) -> str:
    words = [draw.choice(_NAMES) if draw.random() < evil else draw.choice(_WORDS) for _ in range(draw.randrange(most))]
    made = draw.choice(("", " ", "\n")).join(words) if evil else " ".join(words)
    if draw.random() < 0.25:
        made = draw.choice((" ", "\n\n", "\t\n")) + made
    return made + draw.choice((" ", "\n")) if draw.random() < 0.25 else made


def conversation(draw: random.Random, evil: float = 0.0) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    if draw.random() < 0.5:
        made.append({"role": "system", "content": text(draw, evil)})
    for _ in range(draw.randrange(1, 5)):
        made.append({"role": "user", "content": text(draw, evil) or "x"})
        if draw.random() < 0.8:
            made.append({"role": "assistant", "content": text(draw, evil)})
            if draw.random() < 0.3:
                arguments = {text(draw, evil, 2) or "city": text(draw, evil, 4), "days": draw.randrange(9)}
                call = {"type": "function", "id": "abcdefghi", "function": {"name": "look_up", "arguments": arguments}}
                made[-1]["tool_calls"] = [call]
                made.append(
                    {"role": "tool", "content": text(draw, evil), "name": "look_up", "tool_call_id": "abcdefghi"}
                )
                made.append({"role": "assistant", "content": text(draw, evil)})
        else:
            break
    return made


def tools(draw: random.Random, evil: float = 0.0) -> list[dict[str, Any]]:
    about = {"type": "object", "properties": {"city": {"type": "string", "description": text(draw, evil)}}}
    return [{"type": "function", "function": {"name": "look_up", "description": text(draw, evil), "parameters": about}}]
