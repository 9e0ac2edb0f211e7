"""vLLM with this package's engine: `vllm serve MODEL --tokenizer-mode streamtok`.

vLLM calls register() in each of its processes, by the entry point of this package. docs/integrations.md says what is
served.
"""

from __future__ import annotations

from typing import Any

__all__ = ["MODE", "StreamtokTokenizer", "register"]

MODE = "streamtok"
"""The value of --tokenizer-mode."""


def register() -> None:
    """Makes the mode known to vLLM. It may be called several times."""
    from vllm.tokenizers.registry import TokenizerRegistry

    if MODE not in TokenizerRegistry.tokenizers:
        TokenizerRegistry.register(MODE, __name__, StreamtokTokenizer.__name__)
    try:
        from vllm.renderers.registry import RENDERER_REGISTRY
    except ImportError:  # of the versions in which renderers do not go by the mode
        return
    if MODE not in RENDERER_REGISTRY.renderers:
        RENDERER_REGISTRY.register(MODE, *RENDERER_REGISTRY.renderers["hf"])


class StreamtokTokenizer:
    """What loads a tokenizer in this mode: the one that vLLM's mode "hf" loads, with this package's engine."""

    @classmethod
    def from_pretrained(
        cls,
        path_or_repo_id: Any,
        *arguments: Any,
        trust_remote_code: bool = False,
        revision: str | None = None,
        download_dir: str | None = None,
        **options: Any,
    ) -> Any:
        """A vllm.tokenizers.TokenizerLike. The arguments are those of vLLM's own.

        Raises:
            ValueError: it has no fast tokenizer; STREAMTOK_PREFIX_CACHE is no number of bytes.
        """
        from transformers import PreTrainedTokenizerFast
        from vllm.tokenizers.hf import CachedHfTokenizer, get_cached_tokenizer

        from .prefixes import cache_bytes
        from .transformers import patch, serve_decode_streams

        most = cache_bytes()
        options.setdefault("mistral_format", False)  # as vLLM does for "hf"
        how = {"trust_remote_code": trust_remote_code, "revision": revision, "download_dir": download_dir}
        cached = CachedHfTokenizer.from_pretrained(path_or_repo_id, *arguments, **how, **options)
        if not isinstance(cached, PreTrainedTokenizerFast):
            raise ValueError(
                f"{path_or_repo_id} has a {type(cached).__name__}, which is no fast tokenizer of transformers: "
                "leave out --tokenizer-mode streamtok"
            )
        plain = cached.__reduce__()[1][0]  # what vLLM has copied into a class that keeps its properties
        served = get_cached_tokenizer(patch(plain, trusts=True, cache_bytes=most))
        serve_decode_streams(served)
        return served
