"""Files of ranks that are known by their content: how text is split, and which special tokens there are.

Both stand in the code of the models that publish such a file, and not in the file. Each row says what that code does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..bundled.packed import PUBLISHED
from ..patterns import CL100K, O200K, R50K
from ..patterns.rows import ROWS

_END = "<|endoftext|>"


class Known(NamedTuple):
    """What is known of a file.

    name: of the encoding. pattern: how text is split. special: the special tokens, by id, of that many ranks.
    normalizer: the form of Unicode that the model's code brings text to first. reserved: how many ids behind the ranks
    have a token, whether a file names it or not.
    """

    name: str
    pattern: str
    special: Callable[[int], dict[int, str]]
    normalizer: str | None = None
    reserved: int = 0


def _at(tokens: dict[int, str]) -> Callable[[int], dict[int, str]]:
    return lambda ranks: tokens


def _behind(*tokens: str) -> Callable[[int], dict[int, str]]:
    """Numbered behind the ranks."""
    return lambda ranks: dict(enumerate(tokens, ranks))


def _numbered(name: str, count: int, first: int = 0) -> list[str]:
    return [f"<|{name}_{i}|>" for i in range(first, first + count)]


_KIMI = 256


def unnamed(first: int, count: int) -> dict[int, str]:
    """Tokens that nobody has named."""
    return {i: f"<|reserved_token_{i}|>" for i in range(first, first + count)}


def _kimi(ranks: int) -> dict[int, str]:
    """Those of Kimi K2; others of its family, with the same file, name theirs in tokenizer_config.json."""
    calls = ("calls_section_begin", "calls_section_end", "call_begin", "call_argument_begin", "call_end")
    named = {0: "[BOS]", 1: "[EOS]", 2: "<|im_end|>", 3: "<|im_user|>", 4: "<|im_assistant|>"}
    named |= {6: "<|start_header_id|>", 7: "<|end_header_id|>", 9: "[EOT]", 10: "<|im_system|>", 17: "<|im_middle|>"}
    named |= {254: "[UNK]", 255: "[PAD]", **{11 + i: f"<|tool_{call}|>" for i, call in enumerate(calls)}}
    return unnamed(ranks, _KIMI) | {ranks + i: text for i, text in named.items()}


_LLAMA3 = _behind(
    *("<|begin_of_text|>", "<|end_of_text|>", *_numbered("reserved_special_token", 2)),
    *("<|finetune_right_pad_id|>", "<|step_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>"),
    *("<|eot_id|>", "<|python_tag|>", "<|image|>", *_numbered("reserved_special_token", 244, 2)),
)
_TEXT, _VISION = "text_post_train_reserved_special_token", "vision_reserved_special_token"
_LLAMA4 = _behind(
    *("<|begin_of_text|>", "<|end_of_text|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"),
    *("<|header_start|>", "<|header_end|>", "<|eom|>", "<|eot|>", "<|step|>", *_numbered(_TEXT, 6)),
    *("<|python_start|>", "<|python_end|>", "<|finetune_right_pad|>", *_numbered(_TEXT, 61, 8)),
    *("<|image_start|>", "<|image_end|>", *_numbered(_VISION, 2), "<|tile_x_separator|>", "<|tile_y_separator|>"),
    *(*_numbered(_VISION, 4, 2), "<|image|>", f"<|{_VISION}_6|>", "<|patch|>", *_numbered(_VISION, 1041, 7)),
    *(*_numbered("reasoning_reserved_special_token", 8), "<|reasoning_thinking_start|>", "<|reasoning_thinking_end|>"),
    *_numbered("reserved_special_token", 2048 - 5 - 1139),
)
_QWEN = _behind(_END, "<|im_start|>", "<|im_end|>", *_numbered("extra", 205))
_PAIRS = ("object_ref", "box", "quad")
_QWEN3_6 = _behind(
    *(_END, "<|im_start|>", "<|im_end|>", *(f"<|{name}_{end}|>" for name in _PAIRS for end in ("start", "end"))),
    *("<|vision_start|>", "<|vision_end|>", "<|vision_pad|>", "<|image_pad|>", "<|video_pad|>", "<tool_call>"),
    *("</tool_call>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>"),
    *("<|file_sep|>", "<tool_response>", "</tool_response>", "<think>", "</think>", "<|audio_start|>"),
    *("<|audio_end|>", "<tts_pad>", "<tts_text_bos>", "<tts_text_eod>", "<tts_text_bos_single>", "<|audio_pad|>"),
)
_GLM4 = _behind(
    *(_END, "[MASK]", "[gMASK]", "[sMASK]", "<sop>", "<eop>", "<|system|>", "<|user|>", "<|assistant|>"),
    *("<|observation|>", *(f"<|{edge}_of_{kind}|>" for kind in ("image", "video") for edge in ("begin", "end"))),
)
_FIM = {100258 + i: f"<|fim_{name}|>" for i, name in enumerate(("prefix", "middle", "suffix"))}


def _row(name: str) -> str:
    """A pattern of patterns/rows.py that is one regular expression."""
    pattern = ROWS[name]
    assert isinstance(pattern, str)
    return pattern


KNOWN = {
    PUBLISHED["r50k_base"]: Known("r50k_base", R50K, _at({50256: _END})),
    PUBLISHED["p50k_base"]: Known("p50k_base", R50K, _at({50256: _END})),
    PUBLISHED["cl100k_base"]: Known("cl100k_base", CL100K, _at({100257: _END, **_FIM, 100276: "<|endofprompt|>"})),
    PUBLISHED["o200k_base"]: Known("o200k_base", O200K, _at({199999: _END, 200018: "<|endofprompt|>"})),
    "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55": Known("llama3", _row("llama3"), _LLAMA3),
    "d0bdbaf59b0762c8c807617e2d8ea51420eb1b1de266df2495be755c8e0ed6ed": Known("llama4", O200K, _LLAMA4),
    "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186": Known("qwen", _row("qwen2"), _QWEN, "NFC"),
    "8dde380a6405e935f5de16a99eb61c824f3f814dd1ed298784c72babb7a03cdd": Known(
        "qwen3_6", _row("qwen3_5"), _QWEN3_6, "NFC"
    ),
    "5a493598071550244b2ee7f26118f3edec2150b9dfa967929a99052ac83fe716": Known("glm4", _row("llama3"), _GLM4),
    "b6c497a7469b33ced9c38afb1ad6e47f03f5e5dc05f15930799210ec050c5103": Known(
        "kimi_k2", _row("kimi_k2"), _kimi, None, _KIMI
    ),
}
"""By the sha256 of a file. Phi-3-small has cl100k_base's file, with other special tokens in tokenizer_config.json."""
