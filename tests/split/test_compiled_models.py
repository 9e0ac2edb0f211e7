"""Model files: the stages of each tokenizer.json as one table, against tokenizers with the file itself."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import made_models
import nasty
import pytest
import tokenizers
from table_runner import TableRunner

from streamtok.patterns import rows as patterns
from streamtok.patterns.compose import ByteLevel, Digits, Punctuation, Split, Stage, compose
from streamtok.patterns.rows import row_of

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


@pytest.mark.parametrize("name", ROWS if made_models.GIVEN else sorted({*patterns.ROWS} - {"cl100k"}))
def test_files_of_models(name: str) -> None:
    """Of published models, or the patterns of all rows as such files spell them."""
    if made_models.GIVEN:
        path = made_models.FOLDER / name / "models" / "tokenizer.json"
        if not path.exists():
            pytest.skip(f"{path} is not here")
        step = json.loads(path.read_text("utf-8"))["pre_tokenizer"]
    else:
        step = made_models.pre_tokenizer_of(name)
    table = compose(stages(step))
    assert table is not None and row_of(table) == ROWS.get(name, name)
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
