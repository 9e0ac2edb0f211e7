"""What a model's file says of rows: encode_padded() takes it as its default, and nothing else changes."""

from __future__ import annotations

import copy
import json
import pickle
import random

import pytest
from small_models import BOS, EOS, TEXT_STEP, record, refusal, template

import streamtok
from streamtok.train import save

tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")

TEXTS = ["", "one", "one two three four five", "12 34 56" * 3, "a"]
CUTS = [
    None,
    *({"max_length": most, "direction": side} for most in (2, 5, 9) for side in ("left", "right")),
    {"max_length": 6, "stride": 2, "strategy": "only_first"},
]
PADS = [
    None,
    {},
    {"pad_id": 7, "direction": "left"},
    {"pad_to_multiple_of": 4},
    {"length": 3},
    {"length": 9, "pad_id": 3, "pad_to_multiple_of": 8},
]


def both_of(tmp_path, cuts, pads):
    made = tokenizers.Tokenizer.from_str(json.dumps(record(post_processor=template(BOS, TEXT_STEP, EOS))))
    if cuts is not None:
        made.enable_truncation(**cuts)
    if pads is not None:
        made.enable_padding(**pads)
    made.save(str(tmp_path / "tokenizer.json"))
    return streamtok.Encoding.from_file(tmp_path / "tokenizer.json"), made


@pytest.mark.parametrize("cuts", CUTS)
@pytest.mark.parametrize("pads", PADS)
def test_rows_are_those_of_the_file(tmp_path, cuts, pads):
    enc, made = both_of(tmp_path, cuts, pads)
    assert (enc.truncation, enc.padding) == (made.truncation, made.padding)
    for special in (True, False):
        for text in TEXTS:  # one text: what tokenizers.encode gives
            want = made.encode(text, add_special_tokens=special)
            ids, mask = enc.encode_padded([text], add_special_tokens=special)
            assert (ids.tolist(), mask.tolist()) == ([want.ids], [want.attention_mask])
        batch = made.encode_batch(TEXTS, add_special_tokens=special)
        ids, mask = enc.encode_padded(TEXTS, add_special_tokens=special)
        for row, marks, want in zip(ids.tolist(), mask.tolist(), batch):
            kept = [token for token, mark in zip(want.ids, want.attention_mask) if mark]
            assert [token for token, mark in zip(row, marks) if mark] == kept
            if pads is not None and len(want.ids) == len(row):  # with a fixed length others may be longer
                assert (row, marks) == (want.ids, want.attention_mask)


def test_ids_of_texts_are_all_there(tmp_path):
    enc, made = both_of(tmp_path, {"max_length": 4}, {"length": 3})
    made.no_truncation()
    made.no_padding()
    text = "one two three 12 34 five" * 9
    for special in (True, False):
        want = made.encode(text, add_special_tokens=special).ids
        assert enc.encode(text, add_special_tokens=special) == want
        assert enc.count(text, add_special_tokens=special) == len(want)
        stream, rng, got = enc.stream_encoder(add_special_tokens=special), random.Random(1), []
        while text:
            cut = rng.randrange(1, 20)
            got += stream.feed(text[:cut]).tolist()
            text = text[cut:]
        assert got + stream.flush().tolist() == want
        text = "one two three 12 34 five" * 9
    plain = streamtok.Encoding.from_hf(made)
    assert plain.fingerprint == enc.fingerprint and plain.truncation is plain.padding is None
    for same in (copy.copy(enc), pickle.loads(pickle.dumps(enc))):
        assert (same.truncation, same.padding) == (enc.truncation, enc.padding)
    assert pickle.loads(pickle.dumps(plain)).truncation is None
    save(enc, tmp_path / "again.json")
    again = streamtok.Encoding.from_file(tmp_path / "again.json")
    assert (again.truncation, again.padding) == (enc.truncation, enc.padding)


def test_arguments_go_before_the_file(tmp_path):
    enc, _ = both_of(tmp_path, {"max_length": 4, "direction": "left"}, {"length": 8, "direction": "left", "pad_id": 5})
    long = "one two three four five"
    count = enc.count(long)
    assert enc.encode_padded([long])[0].shape == (1, 8)
    assert enc.encode_padded([long], max_length=count)[0].tolist() == [enc.encode(long)]
    assert enc.encode_padded(["a"], pad_to_multiple_of=2, side="right", pad_id=9)[0].tolist() == [[*enc.encode("a"), 9]]
    assert enc.encode_padded([long], length=2, truncate="right")[0].tolist() == [enc.encode(long)[:2]]


def test_what_cuts_the_second_text_alone(tmp_path):
    """As the reference, which has none to cut."""
    enc, made = both_of(tmp_path, {"max_length": 4, "strategy": "only_second"}, None)
    assert enc.encode_padded(["a"])[0].tolist() == [enc.encode("a")]
    with pytest.raises(Exception, match=r"[Ss]econd"):
        made.encode("one two three four five")
    with pytest.raises(ValueError, match="more than 4, and the model's file cuts the second one of two texts alone"):
        enc.encode_padded(["one two three four five"])
    assert enc.encode_padded(["one two three four five"], max_length=3)[0].shape == (1, 3)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"truncation": {"max_length": 2}}, "truncation: there is no 'stride'"),
        ({"truncation": {"max_length": 2, "stride": 0, "strategy": "Longest"}}, "truncation.strategy"),
        ({"truncation": {"max_length": -2, "stride": 0, "strategy": "OnlyFirst"}}, "truncation.max_length"),
        ({"padding": {"strategy": "BatchLongest"}}, "padding: there is no 'pad_id'"),
        ({"padding": {"strategy": {"Fixed": "9"}}}, "padding.strategy.Fixed"),
        ({"padding": {"strategy": "Fixed"}}, "padding.strategy"),
    ],
)
def test_settings_that_are_refused(tmp_path, changes, says):
    assert says in refusal(tmp_path, record(**changes))
