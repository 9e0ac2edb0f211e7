"""Encoding.encode_padded against its definition in plain Python, and what it refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_shapes import padded
from small_models import BOS, EOS, TEXT_STEP, record, template

import streamtok
from streamtok._rows import padding

TEXTS = ["", "a", "one two three", "Wörter, 文字 🤗", "x" * 200, "a b c d e f g h i j"]


@settings(max_examples=120, deadline=None)
@given(
    texts=st.lists(st.sampled_from(TEXTS), max_size=12),
    as_bytes=st.booleans(),
    length=st.sampled_from([None, None, 1, 3, 7, 40]),
    most=st.sampled_from([None, 1, 4, 100]),
    multiple=st.sampled_from([None, 1, 8]),
    side=st.sampled_from(["left", "right"]),
    truncate=st.sampled_from(["left", "right"]),
    dtype=st.sampled_from(["uint16", "uint32", "int32", "int64", "uint64"]),
    threads=st.sampled_from([1, 2, None]),
)
def test_padded_rows_are_their_definition(texts, as_bytes, length, most, multiple, side, truncate, dtype, threads):
    enc = streamtok.get_encoding("r50k_base")
    limits = {} if length else {"max_length": most, "pad_to_multiple_of": multiple}
    given = [text.encode() for text in texts] if as_bytes else texts
    ids, mask = enc.encode_padded(
        given, length=length, side=side, pad_id=50_256, dtype=dtype, truncate=truncate, num_threads=threads, **limits
    )
    rows = enc.encode_batch(texts)
    want = padded(rows, length, side, 50_256, truncate, limits.get("max_length"), limits.get("pad_to_multiple_of") or 1)
    assert ids.dtype == mask.dtype == dtype and ids.shape == mask.shape == want[0].shape
    np.testing.assert_array_equal(ids, want[0])
    np.testing.assert_array_equal(mask, want[1])


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("truncate", ["left", "right"])
def test_rows_of_a_model_are_those_of_its_own_library(tmp_path, side, truncate):
    """With the ids of a template, which are never left out, and every way to say how long a row is."""
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(record(post_processor=template(BOS, TEXT_STEP, EOS))), encoding="utf-8")
    enc, texts = streamtok.Encoding.from_file(path), ["", "one", "one two three four five", "12 34 56" * 3]
    options = {"side": side, "truncate": truncate, "pad_id": 4, "add_special_tokens": True}
    for length, most, multiple in [
        (7, None, None),
        (None, None, None),
        (None, 5, None),
        (None, 6, 4),
        (None, None, 8),
        (2, None, None),
    ]:
        reference = tokenizers.Tokenizer.from_file(str(path))
        if length or most:
            reference.enable_truncation(length or most, direction=truncate)
        reference.enable_padding(direction=side, pad_id=4, length=length, pad_to_multiple_of=multiple)
        want = reference.encode_batch(texts)
        ids, mask = enc.encode_padded(texts, length=length, max_length=most, pad_to_multiple_of=multiple, **options)
        assert ids.tolist() == [each.ids for each in want]
        assert mask.tolist() == [each.attention_mask for each in want]
    for short in ({"length": 1}, {"max_length": 1}):
        with pytest.raises(ValueError, match="rows of 1 ids have no room for the 2 ids of add_special_tokens"):
            enc.encode_padded(texts, **short, **options)
    assert enc.encode_padded([], length=1, **options)[0].shape == (0, 1)


def test_a_file_may_cut_all(tmp_path):
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    path, texts = tmp_path / "tokenizer.json", ["", "one", "one two three"]
    cut = {"direction": "Right", "max_length": 0, "strategy": "LongestFirst", "stride": 0}
    for multiple in (None, 4):
        padding = {"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": multiple, "pad_id": 3}
        padding |= {"pad_type_id": 0, "pad_token": "x"}
        path.write_text(json.dumps(record(truncation=cut, padding=padding)), encoding="utf-8")
        want = [each.ids for each in tokenizers.Tokenizer.from_file(str(path)).encode_batch(texts)]
        assert streamtok.Encoding.from_file(path).encode_padded(texts)[0].tolist() == want
    with pytest.raises(ValueError, match="max_length=0: write how many ids of a text are kept, 1 or more"):
        streamtok.get_encoding("r50k_base").encode_padded(texts, max_length=0)


def test_long_batches_are_written_by_several_threads(monkeypatch):
    enc, rows = streamtok.get_encoding("r50k_base"), [[7] * (i % 90) for i in range(500)]
    texts = [" the" * len(row) for row in rows]
    whole = enc.encode_padded(texts, length=50)
    monkeypatch.setattr(padding, "_AT_ONCE", 300)
    for threads in (1, 2):
        for made, want in zip(enc.encode_padded(texts, length=50, num_threads=threads), whole):
            np.testing.assert_array_equal(made, want)


def test_tensors_share_the_memory():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    for array in streamtok.get_encoding("r50k_base").encode_padded(["a b", "c"]):
        for tensor in (torch.from_numpy(array), torch.from_dlpack(array)):
            assert tensor.data_ptr() == array.ctypes.data and tensor.shape == (2, 2)


def test_bytes_are_repaired():
    enc = streamtok.get_encoding("r50k_base")
    assert enc.encode_padded([b"\xff"], errors="replace")[0].tolist() == [enc.encode("\ufffd")]
