"""All tokens as arrays, and the text of ids of any shape."""

from __future__ import annotations

import numpy as np
import oracle
import pytest

from streamtok.serving.token_table import PARTIAL, SPECIAL, UNKNOWN


@pytest.mark.parametrize("name", oracle.FAMILIES)
def test_every_token(name):
    enc = oracle.ours(name)
    data, offsets, strs, flags = enc.token_table()
    assert len(strs) == len(flags) == len(offsets) - 1 == enc.max_token_value + 1
    whole = data.tobytes()
    known = 0
    for token, text in enumerate(strs):
        piece = whole[offsets[token] : offsets[token + 1]]
        if flags[token] & UNKNOWN:
            assert (piece, text) == (b"", "")
            with pytest.raises(KeyError):
                enc.decode_single_token_bytes(token)
            continue
        known += 1
        assert piece == enc.decode_single_token_bytes(token)
        assert text == piece.decode(errors="replace")
        assert bool(flags[token] & PARTIAL) == (text.encode() != piece)
        assert bool(flags[token] & SPECIAL) == (token in enc._special_token_values)
    assert known == len(enc._mergeable_ranks) + len(enc._special_tokens)


def test_strs_of_any_shape():
    enc = oracle.ours("cl100k_base")
    ids = np.array(enc.encode("many different words of a text, 24"[:30]) * 4)[:24]
    flat = [enc.decode([token]) for token in ids]
    assert enc.token_strs(ids) == enc.token_strs(ids.tolist()) == flat
    assert enc.token_strs(int(ids[3])) == flat[3]
    assert enc.token_strs(ids.reshape(2, 3, 4)) == np.array(flat, object).reshape(2, 3, 4).tolist()
    assert enc.token_strs(ids.reshape(4, 6).astype(np.uint16 if ids.max() < 65536 else np.int32)[:, ::2]) == [
        flat[at : at + 6 : 2] for at in range(0, 24, 6)
    ]
    for wrong, error in (([0, 10**6], KeyError), ([0, 2**32 - 1], KeyError), ([2**32], OverflowError)):
        with pytest.raises(error):
            enc.token_strs(wrong)
    assert enc.token_strs([]) == []
    assert enc.token_strs(np.empty((2, 0), int)) == [[], []]
    assert enc.token_strs(np.empty((0, 2), int)) == []
    assert enc.token_strs(np.empty((2, 0, 3), int)) == [[], []]
