"""Model files: the stages of each tokenizer.json as one table, against tokenizers with the file itself."""

from __future__ import annotations

import itertools
import json
import os
import pathlib
import random
from typing import Any

import nasty
import pytest
from table_runner import TableRunner

from streamtok.patterns.compose import ByteLevel, Digits, Punctuation, Split, Stage, compose
from streamtok.patterns.rows import row_of

FOLDER = os.environ.get("STREAMTOK_MODELS")
ROWS = {
    "claude": "r50k", "command_r_plus": "starcoder", "deepseek_v3": "deepseek_v3", "gptoss": "o200k",
    "llama3_1": "llama3", "mistral_nemo": "tekken", "qwen2_5": "qwen2", "qwen3": "qwen2",
}  # fmt: skip


def stages(step: dict[str, Any]) -> list[Stage]:
    """The stages that a pre_tokenizer of a tokenizer.json names."""
    kind = step["type"]
    if kind == "Sequence":
        return [stage for inner in step["pretokenizers"] for stage in stages(inner)]
    if kind == "Split":
        literal = "String" in step["pattern"]
        return [Split(step["pattern"]["String" if literal else "Regex"], step["behavior"], step["invert"], literal)]
    if kind == "ByteLevel":
        return [ByteLevel(step.get("use_regex", True), step["add_prefix_space"])]
    made = {"Digits": lambda: Digits(step["individual_digits"]), "Punctuation": lambda: Punctuation(step["behavior"])}
    return [made[kind]()]


@pytest.mark.skipif(FOLDER is None, reason="STREAMTOK_MODELS names no folder with model files")
@pytest.mark.parametrize("name", ROWS)
def test_files_of_models(name: str) -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is the oracle here")
    path = pathlib.Path(str(FOLDER), name, "models", "tokenizer.json")
    if not path.exists():
        pytest.skip(f"{path} is not here")
    step = json.loads(path.read_text("utf-8"))["pre_tokenizer"]
    table = compose(stages(step))
    assert table is not None and row_of(table) == ROWS[name]
    alone = {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": step,
        "model": {"type": "BPE", "vocab": {}, "merges": []},
    }
    theirs = tokenizers.Tokenizer.from_str(json.dumps(alone)).pre_tokenizer
    runner = TableRunner(table)
    for text in [*nasty.FIXED, *nasty.random_strings(random.Random(name), 2_000, 20)]:
        starts = [0, *(end for end, _ in runner.split(text))]
        assert list(itertools.pairwise(starts)) == [span for _, span in theirs.pre_tokenize_str(text)], text
