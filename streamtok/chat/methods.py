"""The methods of class Encoding that concern conversations."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any

    from .._protocols import AllowedSpecial, Encoding, PrefixCache
    from ..model_files.chat_files import ChatFiles
    from .encoded import EncodedChat


def encode_chat(
    self: Encoding,
    messages: Any,
    *,
    tools: Any = None,
    documents: Any = None,
    add_generation_prompt: bool = False,
    continue_final_message: bool | str = False,
    chat_template: str | None = None,
    mask: str | None = None,
    allowed_special: AllowedSpecial = frozenset(),
    cache: PrefixCache | None = None,
    **template_kwargs: Any,
) -> EncodedChat:
    """The ids of a conversation, as the model's chat template renders it.

    >>> chat = enc.encode_chat([{"role": "user", "content": "Hello"}], add_generation_prompt=True)
    >>> chat.ids, chat.text, chat.messages[0].span

    The rendered text is that of transformers' apply_chat_template. The ids are the same, too, unless a text of the
    caller spells a special token: that stays text here, so that a user cannot end a message, and is the special token
    there. allowed_special="all" gives the ids of transformers in any case.

    Args:
        messages: dicts with "role" and "content", and others that the template reads.
        tools: JSON schemas of functions.
        documents: dicts with "title" and "text".
        add_generation_prompt: end with what begins the assistant's next message.
        continue_final_message: end inside of the last message, which the model continues; the name of a field
            continues that one instead of "content".
        chat_template: the text of a template, or the name of one of the model's.
        mask: "assistant": raise here if what the assistant wrote is not certain; EncodedChat.mask has it.
        allowed_special: names of special tokens that texts of the caller may spell; "all" for all.
        cache: keeps the ids of what conversations begin with, so that a turn costs what is new of it.
        template_kwargs: other variables of the template.

    Raises:
        ChatTemplateError: the template is wrong, refuses the conversation, or changes texts in a way that cannot be
            traced.
        ValueError: there is no template, or no message; a role spells a special token.
        TypeError: messages, tools or documents are something else.
        ImportError: jinja2 is missing.
    """
    _check_jinja()
    from .encode import Rendering, encode_chat

    ends = add_generation_prompt, continue_final_message
    how = Rendering(tools, documents, *ends, chat_template, template_kwargs)
    return encode_chat(self, messages, mask, allowed_special, cache, how)


def render_chat(
    self: Encoding,
    messages: Any,
    *,
    tools: Any = None,
    documents: Any = None,
    add_generation_prompt: bool = False,
    continue_final_message: bool | str = False,
    chat_template: str | None = None,
    **template_kwargs: Any,
) -> str:
    """The text of a conversation, as the model's chat template renders it. Arguments and errors are those of
    encode_chat()."""
    _check_jinja()
    from .encode import Chat, Rendering

    ends = add_generation_prompt, continue_final_message
    return Chat(self, messages, Rendering(tools, documents, *ends, chat_template, template_kwargs)).text


def _check_jinja() -> None:
    try:
        import jinja2
    except ImportError:
        raise ImportError("chat templates need the package jinja2: pip install 'streamtok[chat]'") from None
    found = tuple(int(part) for part in jinja2.__version__.split(".")[:3] if part.isdigit())
    if found < (3, 1, 6):  # a template could leave the sandbox of earlier ones
        raise ImportError(
            f"chat templates need jinja2 3.1.6 or later, and {jinja2.__version__} is here: pip install -U jinja2"
        )


def chat_template_of(self: Encoding) -> str | dict[str, str] | None:
    """The chat template of the model's files; a dict by name where there are several; None: they have none. Read at
    the first use from where the encoding was loaded."""
    templates = self._chat_files.templates
    if not templates:
        return None
    return templates["default"] if list(templates) == ["default"] else dict(templates)


def keep(self: Encoding, path: str | os.PathLike[str], chat: tuple[dict[str, str], dict[str, str]] | None) -> None:
    """Keeps what a file has of conversations, or where a model lies, whatever the current folder is later."""
    import os

    if chat is not None:
        self._chat_files = chat_of(*chat)
    else:
        self._chat_path = os.path.abspath(os.fspath(path))


def kept(self: Encoding) -> tuple[dict[str, str], dict[str, str]] | None:
    """The templates and tokens for a pickle; None: there is no template, or it cannot be read."""
    from ..errors import VocabularyError

    try:
        found = self._chat_files
    except (OSError, VocabularyError):
        return None
    return (dict(found.templates), dict(found.named)) if found.templates else None


def chat_of(templates: dict[str, str], named: dict[str, str]) -> ChatFiles:
    from ..model_files.chat_files import ChatFiles

    return ChatFiles(templates, named)


def chat_of_hf(tokenizer: Any) -> ChatFiles:
    from ..model_files.chat_files import chat_of_hf

    return chat_of_hf(tokenizer)


def made_chat_files(self: Encoding) -> ChatFiles:
    from ..model_files.chat_files import NO_CHAT, read_chat

    path = self.__dict__.get("_chat_path")
    return NO_CHAT if path is None else read_chat(path)
