"""SGLang with this package's engine: `SGLANG_PLUGINS=streamtok python -m sglang.launch_server ...`.

SGLang calls register() in each of its processes, by the entry point of this package. docs/integrations.md says what is
served.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["NAME", "register"]

NAME = "streamtok"
"""What SGLANG_PLUGINS has to name: a plugin that is only installed changes nothing."""

_MODULE = "sglang.srt.utils.hf_transformers"


def register() -> None:
    """Puts hooks around what loads tokenizers, if SGLANG_PLUGINS names this package."""
    from sglang.srt.environ import envs

    named = (envs.SGLANG_PLUGINS.get() or "").split(",")
    if NAME not in map(str.strip, named):
        return
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    HookRegistry.register(f"{_MODULE}.tokenizer.get_tokenizer", _tokenizer, HookType.AROUND)
    HookRegistry.register(f"{_MODULE}.processor.get_processor", _processor, HookType.AROUND)


def _tokenizer(load: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    return _served(load(*arguments, **options))


def _processor(load: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """A processor of several kinds of inputs has a tokenizer; or it is one."""
    made = load(*arguments, **options)
    if hasattr(made, "tokenizer"):
        _served(made.tokenizer)
        return made
    return _served(made)


def _served(tokenizer: Any) -> Any:
    from transformers import PreTrainedTokenizerFast

    from .prefixes import cache_bytes
    from .transformers import patch

    if isinstance(tokenizer, PreTrainedTokenizerFast):
        patch(tokenizer, trusts=True, cache_bytes=cache_bytes())
    return tokenizer
