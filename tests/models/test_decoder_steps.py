"""Decoders of several steps, in any order that loads, beside those of tokenizers."""

from __future__ import annotations

import json
import random

import pytest
from small_models import Both, refusal

TOKENS = [
    "?",
    "_",
    "__",
    "_a",
    "a_",
    "a",
    "aa",
    "-",
    "--a",
    "_-_",
    " ",
    "  b",
    "b ",
    "é",
    "é_é",
    "<0x41>",
    "<0xC3>",
    "<0xA9>",
    "=",
    "=_",
]


def model(*steps):
    vocab = [[token, -1.0] for token in TOKENS]
    made = {"type": "Unigram", "unk_id": 0, "vocab": vocab}
    decoder = steps[0] if len(steps) == 1 else {"type": "Sequence", "decoders": [*steps]}
    return {"version": "1.0", "added_tokens": [], "model": made, "decoder": decoder}


def strip(content, start, stop=0):
    return {"type": "Strip", "content": content, "start": start, "stop": stop}


def mark(character, scheme="always"):
    return {"type": "Metaspace", "replacement": character, "prepend_scheme": scheme, "split": True}


def replace(old, new):
    return {"type": "Replace", "pattern": {"String": old}, "content": new}


FUSE, FALLBACK = {"type": "Fuse"}, {"type": "ByteFallback"}


@pytest.mark.parametrize(
    "steps",
    [
        [strip("_", 1)],
        [strip("a", 2), strip("_", 1)],
        [strip("_", 1), FUSE, strip("a", 1), strip("a", 2)],
        [strip(" ", 1), FALLBACK, FUSE, strip("_", 0), strip(" ", 1)],
        [strip("<", 1), FALLBACK],
        [mark("_"), strip(" ", 1)],
        [mark("_"), mark("-")],
        [mark("_", "never"), mark("a"), replace("-", "+"), strip("b", 1), FUSE, strip(" ", 1)],
        [replace("a", "_"), mark("_"), replace(" ", "="), FALLBACK, FUSE],
    ],
    ids=str,
)
def test_steps_in_turn(tmp_path, steps):
    both = Both.of(tmp_path, model(*steps))
    both.check_rows(list(range(len(TOKENS))), count=200)


def test_an_end_of_each_token_goes_where_the_reference_does_not_fail(tmp_path):
    both, rng = Both.of(tmp_path, model(strip("_", 0, 1), strip("a", 1, 1))), random.Random(2)
    kept = [i for i, token in enumerate(TOKENS) if token not in ("_", "__", "a", "_a", "a_", "aa")]
    for _ in range(200):
        row = [rng.choice(kept) for _ in range(rng.randrange(9))]
        assert both.enc.decode(row) == both.reference.decode(row)
    assert both.enc.decode([TOKENS.index("_")]) == ""


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([FALLBACK, strip("a", 1)], "a Strip behind ByteFallback is supported behind Fuse, too"),
        ([FUSE, strip("a", 1), strip("b", 1)], "the Strip in front of it is of another character"),
        ([FUSE, strip("a", 1, 1)], "stripping the end of a text"),
        ([strip("ab", 1)], "'ab' is not one character"),
        ([FALLBACK, mark("_"), replace("a", "b")], "behind a Metaspace and ByteFallback"),
        ([*[replace("a", "bb")] * 2, mark("_"), *[replace("b", "aaaa")] * 2], "may become"),
    ],
    ids=str,
)
def test_what_is_refused(tmp_path, steps, reason):
    assert reason in refusal(tmp_path, json.loads(json.dumps(model(*steps))))
