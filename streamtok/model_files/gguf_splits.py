"""How text is split by the names of llama.cpp, `tokenizer.ggml.pre` of GGUF files.

A split is a row of patterns (patterns/rows.py), or patterns in turn. Where llama.cpp only comes near to the pattern of
the models, it is that one.
"""

from __future__ import annotations

from typing import Any

from ..patterns.compose import ByteLevel, Digits, Split
from ..patterns.grouped import IN_THREE_STEPS
from ..patterns.rows import ROWS
from .records import split_step

_DEEPSEEK_CODER = (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+", r"\p{N}")
_FALCON = (r"[\p{P}\$\+<=>\^~\|`]+", ByteLevel(), "[0-9][0-9][0-9]")
_BLOOM = " ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+"
_LETTERS = (
    "A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373"
    "\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f"
    "\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77"
    "\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d"
    "\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb"
    "\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128"
    "\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4"
    "\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf"
    "\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a\U00010400-\U0001044f\U000104b0-\U000104d3"
    "\U000104d8-\U000104fb\U00010c80-\U00010cb2\U00010cc0-\U00010cf2\U000118a0-\U000118df\U0001e900-\U0001e943"
)
_DEEPSEEK_LLM = (
    r"[\r\n]",
    rf"\s?[{_LETTERS}]+",
    "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+",
    r"\s+$",
    "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+",
    r"\p{N}+",
)
_CHAMELEON = (
    "<sentinel:[0-9]+>",
    "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z",
    r"([\t\n]|    |  )",
    r"\p{N}",
    r"[\p{P}!-/:-@\[-`{-~]",
    ByteLevel(),
)
_ENDS = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
_LINE = rf"{_ENDS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|"
_POINTS = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|"
_SPACE = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_RUNS = r"\s*[\r\n]+|" + "".join(rf"\s{{{n}}}(?!\S)|" for n in (512, 256, 128, 64, 32, 16, 8, 4, "1,2")) + r"\s{1}"
_CHINESE = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
_WORDS = r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"""
_SPACED = rf"{_ENDS}|[^\r\n\p{{L}}\p{{N}}]?(?:\p{{L}}\p{{M}}*(?: \p{{L}}\p{{M}}*)*)+|"
_SCRIPTS = (
    "[\uac00-\ud7a3\u3131-\u318e]+|[\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a\uff1b\uff0c\u3001-\u303f"
    "\ufe30-\ufe4f]+|"
    "[\u3105-\u312f]+|" + _CHINESE
)
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_CASES = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_ENDS}?|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_ENDS}?|"
    r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + _SPACE
)
_ASIAN = (
    r"(?:[\u4E00-\u9FFF\u3040-\u309F\u30A0-\u30FF\u3400-\u4DBF\uf900-\uFAFF\uFF65-\uFF9F\u2F00-\u2FDF]+|[\u0E00-\u0E7F]+|"
    r"[\u0E80-\u0EFF]+|[\u1780-\u17FF]+|[\u1000-\u109F\uAA60-\uAA7F\uA9E0-\uA9FF]+|[\uAC00-\uD7AF\u1100-\u11FF]+)"
)
_SPLITS: dict[Any, str] = {
    "llama3": "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano dbrx smaug-bpe "
    "chatglm-bpe glm4 glm5",
    "qwen2": "qwen2 deepseek-r1-qwen kormo f2llmv2 stablelm2 megrez hunyuan grok-2 solar-open",
    "qwen3_5": "qwen35",
    "r50k": "mpt gpt-2 phi-2 jina-es jina-de gigachat jina-v2-es jina-v2-de a.x-4.0 mellum modern-bert jina-v1-en "
    "jina-v2-code roberta-bpe olmo jais exaone4 trillion granite-docling",
    "starcoder": "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2",
    "deepseek_v3": "deepseek-v3 hunyuan-dense hy_v4 joyai-llm",
    "tekken": "tekken",
    "o200k": "gpt-4o llama4 kanana2 talkie minimax-m2 granite-embed-multi-97m",
    "kimi_k2": "kimi-k2",
    "seed_coder": "seed-coder",
    _DEEPSEEK_CODER: "deepseek-coder",
    _FALCON: "falcon",
    (_BLOOM,): "poro-chat bloom gpt3-finnish",
    (_BLOOM, r"\p{N}"): "viking",
    _DEEPSEEK_LLM: "deepseek-llm",
    (r"\p{N}{1,3}", _LINE + r"\p{N}+" + _POINTS + _SPACE): "minicpm5",
    (r"\p{N}{1,3}", _CHINESE, _WORDS + r" ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+", r"\p{N}"): "spark2_5",
    (_SCRIPTS, _CASES): "youtu",
    (_LINE + r"\p{N}{1,3}" + _POINTS + _RUNS,): "jais-2",
    (_SPACED + r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+",): "exaone-moe",
    _CHAMELEON: "chameleon",
    (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + _POINTS + r"\s*[\r\n]|\s+(?!\S)|\s+",): (
        "bailingmoe bailingmoe2 llada-moe"
    ),
    (r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + _POINTS + _SPACE,): "ufakzeka",
    (r"[^\n]+|[\n]+", _LINE + r"\p{N}" + _POINTS + _SPACE): "laguna",
    (r"\d{1,3}(?=(?:\d{3})*\b)", _CASES.replace(r"\p{N}|", r"\p{N}{1,3}|")): "tiny_aya cohere2moe",
    (r"\p{N}+", r"(?=(\d{3})+(?!\d))"): "superbpe",
    (*IN_THREE_STEPS, _ASIAN, _WORDS + r" ?[\p{P}\p{S}]+[\r\n]*|" + _SPACE): "afmoe",
}

SPLIT_OF = {name: split for split, names in _SPLITS.items() for name in names.split()}

OF_CHARACTERS = frozenset(("gemma4", "granite-embed-multi-311m", "sarvam-moe"))
"""Names of models whose text begins as characters, with marks for blanks."""

UNSURE = {
    "default": "this is llama.cpp's own way, and no model's",
    "whitespace": "blanks go from the text, which llama.cpp does for a kind of model that is not supported",
}
"""Names that are known and do not load, and why."""

WHOLE = frozenset(
    (
        "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano tekken glm4 glm5 youtu "
        "minicpm5 granite-embed-multi-97m"
    ).split()
)
"""Names of models that take a piece that is a token whole."""

BEGUN = frozenset(
    "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano tekken chameleon".split()
)
"""Names of models with a token in front of texts, where the file does not say."""


def level(use_regex: bool) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": use_regex}


def steps_of(split: Any) -> list[dict[str, Any]]:
    """The pre-tokenizers of a split, with one ByteLevel."""
    if split == "r50k":
        return [level(True)]
    stages: Any = ROWS[split] if isinstance(split, str) else split
    steps: list[dict[str, Any]] = []
    for stage in (stages,) if isinstance(stages, str) else stages:
        if isinstance(stage, ByteLevel):
            steps.append(level(stage.use_regex))
        elif isinstance(stage, Digits):
            steps.append({"type": "Digits", "individual_digits": stage.individual_digits})
        else:
            steps.append(split_step(stage.pattern if isinstance(stage, Split) else stage))
    return steps if any(step["type"] == "ByteLevel" for step in steps) else [*steps, level(False)]
