"""Which files belong to a model: looked at by what reads it, and by what knows its tables."""

from __future__ import annotations

import os

SENTENCE_FILES = ("spiece.model", "sentencepiece.bpe.model", "spm.model", "tokenizer.model")

RANK_FILES = ("tiktoken.model", "qwen.tiktoken", "cl100k_base.tiktoken", "tokenizer.model")
"""Names of files of ranks in folders of models."""

_IN_FOLDER = (
    "tokenizer.json",
    "tekken.json",
    "vocab.json",
    "merges.txt",
    "vocab.txt",
    "tokenizer_config.json",
    "config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    *SENTENCE_FILES,
    *RANK_FILES[:-1],
)


def sources_of(path: str) -> dict[str, str]:
    """Every file that read_model() looks at, also those that are not there: a name that does not depend on the folder
    -> the path. What it returns depends on their content, and on whether they are there, alone."""
    if os.path.basename(path) in ("vocab.json", "merges.txt"):
        path = os.path.dirname(path) or os.curdir
    if os.path.isdir(path):
        return {name: os.path.join(path, name) for name in _IN_FOLDER}
    beside = {"": path, ".json": f"{path}.json"}
    if path.endswith((".tiktoken", ".model")):
        beside["tokenizer_config.json"] = os.path.join(os.path.dirname(path) or os.curdir, "tokenizer_config.json")
    return beside
