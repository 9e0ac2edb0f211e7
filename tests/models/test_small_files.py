"""Small files that ask for much memory or time: an error names the step, or they load within bounds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import hostile_files
import oracle
import pytest

from streamtok import Encoding, VocabularyError
from streamtok.model_files.added_tokens import MOST_LATE_BYTES
from streamtok.model_files.read_parts import MOST_TEMPLATE


def sequence(*steps: object) -> dict[str, object]:
    return {"type": "Sequence", "normalizers": list(steps)}


def replace(pattern: str, content: str) -> dict[str, object]:
    return {"type": "Replace", "pattern": {"String": pattern}, "content": content}


def added(*contents: str, **flags: bool) -> list[dict[str, object]]:
    base = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    return [{"id": 256 + i, "content": content, **base, **flags} for i, content in enumerate(contents)]


def loaded(tmp_path, **changes: object) -> Encoding:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(hostile_files._bytes_model() | changes), encoding="utf-8")
    return Encoding.from_file(path)


def template(ids: int, times: int) -> dict[str, object]:
    step = {"SpecialToken": {"id": "a", "type_id": 0}}
    return {
        "type": "TemplateProcessing",
        "single": [step] * times + [{"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [],
        "special_tokens": {"a": {"id": "a", "ids": [1] * ids, "tokens": ["a"] * ids}},
    }


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"normalizer": sequence(*[replace("a", "aaaa")] * 16)}, r"normalizer: with step 6, Replace \(4\.0 times"),
        ({"normalizer": {"type": "Prepend", "prepend": "a" * 9000}}, r"normalizer: with step 1, Prepend"),
        ({"normalizer": sequence(*[{"type": "Lowercase"}] * 17)}, r"normalizer: a normalizer has at most 16 steps"),
        (
            {"post_processor": template(1000, 1000)},
            rf"single\[4\]: with 'a' there are 5000 ids .* more than {MOST_TEMPLATE}",
        ),
        (
            {"normalizer": replace("a", "b" * 1000), "added_tokens": added("a" * 9000, normalized=True)},
            rf"added_tokens: with 'aaa.* more than {MOST_LATE_BYTES} bytes together",
        ),
    ],
)
def test_what_grows_too_much_is_refused_where_it_stands(tmp_path, changes, message):
    changes.setdefault("added_tokens", added("<x>"))
    began = time.process_time()
    with pytest.raises(VocabularyError, match=message):
        loaded(tmp_path, **changes)
    assert time.process_time() - began < 2


def test_what_grows_less_loads(tmp_path):
    steps = [{"type": "NFKC"}, {"type": "Lowercase"}, replace(" ", "▁"), replace("a", "aaaaaaaaaaaaaaa")]
    enc = loaded(
        tmp_path,
        normalizer=sequence(*steps),
        added_tokens=added("a" * 9000, normalized=True),
        post_processor=template(64, MOST_TEMPLATE // 64),
    )
    assert enc.encode("a" * 9000) == [256]
    assert len(enc.encode("b", add_special_tokens=True)) == MOST_TEMPLATE + 1


def test_a_decoder_that_makes_tokens_longer_is_refused(tmp_path):
    made = hostile_files._characters()
    path = tmp_path / "tokenizer.json"
    for content, is_refused in (("a" * 16, False), ("a" * 17, True)):
        made["decoder"] = {"type": "Sequence", "decoders": [replace("a", content), {"type": "ByteFallback"}]}
        path.write_text(json.dumps(made))
        if is_refused:
            with pytest.raises(VocabularyError, match=r"decoder.*a token may become 17 times as long, more than 16"):
                Encoding.from_file(path)
        else:
            assert Encoding.from_file(path).decode([256]) == content


@pytest.mark.parametrize("name", ["normalizer", "pre_tokenizer", "post_processor", "decoder", "added_tokens"])
def test_deep_json_is_refused(tmp_path, name):
    text = json.dumps(hostile_files._bytes_model() | {name: "hole"})
    for hole in (
        "[" * 9000 + "]" * 9000,
        '{"a":' * 9000 + "0" + "}" * 9000,
        '{"type":"Sequence","normalizers":[' * 900 + "]}" * 900,
    ):
        path = tmp_path / "tokenizer.json"
        path.write_text(text.replace('"hole"', hole))
        with pytest.raises(VocabularyError):
            Encoding.from_file(path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the tool forks")
@pytest.mark.parametrize("what", [["--seeds", "0"], ["--patterns", "--seeds", "0"]], ids=["files", "patterns"])
def test_small_files_take_little_time_and_memory(what):
    """A sample, with twice the time that the tool allows by itself: other programs make a figure larger."""
    tool = oracle.PROJECT / "tools" / "hostile.py"
    done = subprocess.run(
        [sys.executable, str(tool), "--seconds", "4", *what, "30" if oracle.LONG else "10"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and "0 faults" in done.stdout, done.stdout + done.stderr
