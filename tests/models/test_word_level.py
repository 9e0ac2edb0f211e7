"""WordLevel, and the pre-tokenizers and the normalizer that few files have: small ones give the ids, places and texts
of tokenizers."""

from __future__ import annotations

import random
from typing import Any

import pytest
from small_models import Both, refusal
from test_symbols import all_ways

from streamtok import train

normalizers = pytest.importorskip("tokenizers", reason="Hugging Face's tokenizers is not installed").normalizers

VOCAB = {token: i for i, token in enumerate(["[UNK]", "a", "ab", "b", "é", "a b", "日", "😀", "x", "abc", "", "-"])}
PIECES = [
    "a",
    "b",
    "ab",
    "é",
    "日",
    "😀",
    "x",
    "-",
    " ",
    "\t",
    "\x00",
    "\x01",
    "\x7f",
    "\u200b",
    "▁",
    "\ufffd",
    "\n",
    "abc",
]
PRE: list[Any] = [
    None,
    *({"type": kind} for kind in ("Whitespace", "WhitespaceSplit", "BertPreTokenizer")),
    *({"type": "CharDelimiterSplit", "delimiter": character} for character in "-é"),
    *({"type": "FixedLength", "length": length} for length in (1, 2, 5)),
    {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "FixedLength", "length": 2}]},
]


def record(pre_tokenizer: Any = None, **changes: Any) -> dict[str, Any]:
    model = {"type": "WordLevel", "vocab": VOCAB, "unk_token": "[UNK]"}
    made = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None}
    return made | {"pre_tokenizer": pre_tokenizer, "post_processor": None, "decoder": None, "model": model, **changes}


@pytest.mark.parametrize("pre", range(len(PRE)))
@pytest.mark.parametrize("normalizer", [None, {"type": "Nmt"}])
def test_words_that_are_tokens_or_not(tmp_path, pre, normalizer):
    both = Both.of(tmp_path, record(PRE[pre], normalizer=normalizer))
    rng = random.Random(pre)
    all_ways(both, ["", *("".join(rng.choices(PIECES, k=rng.randrange(1, 9))) for _ in range(80)), "ab" * 500])
    train.save(both.enc, tmp_path / "again.json")
    again = Both(tmp_path / "again.json")
    assert again.enc.fingerprint == both.enc.fingerprint
    again.check(["a b-ab", "ab ab"])


def test_nmt_is_that_of_the_reference_for_all_characters(tmp_path):
    enc, nmt = Both.of(tmp_path, record(normalizer={"type": "Nmt"})).enc, normalizers.Nmt()
    text = "".join(chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000)
    assert enc._normalizer.normalize(text) == nmt.normalize_str(text)


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (record({"type": "CharDelimiterSplit", "delimiter": "ab"}), "is not one character"),
        (record({"type": "FixedLength", "length": 0}), "pieces of no characters"),
    ],
)
def test_what_is_refused(tmp_path, made, says):
    assert says in refusal(tmp_path, made)
