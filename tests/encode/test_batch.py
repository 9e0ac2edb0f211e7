"""Many texts at once: the ids of each, whatever the number of threads."""

from __future__ import annotations

import numpy as np
import pytest


def test_empty_batches(enc):
    assert enc.encode_batch([]) == [] == enc.encode_ordinary_batch([])
    assert enc.decode_batch([]) == [] == enc.decode_bytes_batch([])
    ids, indptr = enc.encode_ragged([])
    assert ids.dtype == np.uint32 and len(ids) == 0 and indptr.dtype == np.int64 and indptr.tolist() == [0]
    ids, indptr = enc.encode_ragged(["", ""])
    assert len(ids) == 0 and ids.dtype == np.uint32 and indptr.tolist() == [0, 0, 0]


@pytest.mark.parametrize("num_threads", [1, 8])
def test_mistake_in_one_text_is_raised(enc, num_threads):
    batch = ["well " * 20_000] * 20
    batch[13] = "<|endoftext|>"
    with pytest.raises(ValueError, match="disallowed special token"):
        enc.encode_batch(batch, num_threads=num_threads)
    with pytest.raises(ValueError, match="disallowed special token"):
        enc.encode_ragged(batch, num_threads=num_threads)
    assert enc.encode_batch(batch, allowed_special="all", num_threads=num_threads)[13] == [enc.eot_token]
    with pytest.raises(UnicodeDecodeError):
        enc.encode_ragged(["a" * 100_000, b"\xff"], num_threads=num_threads)
    ids, _ = enc.encode_ragged(["a ", b"\xff"], num_threads=num_threads, errors="replace")
    assert ids.tolist() == enc.encode("a ") + enc.encode("\ufffd")


def test_batches_of_any_sequence(enc):
    want = [enc.encode("a b"), enc.encode("c")]
    assert enc.encode_batch(("a b", "c")) == want
    assert enc.decode_batch(tuple(ids) for ids in want) == ["a b", "c"]
    assert enc.decode_batch([np.array(ids, np.uint32) for ids in want]) == ["a b", "c"]
    assert enc.decode_batch([[255]], errors="ignore") == [enc.decode([255], errors="ignore")]
