"""Models that name an unknown token which is not there: a text that needs it is an error, and others have their ids."""

from __future__ import annotations

import json
import pathlib
import pickle
import random
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools"))
import model_campaign

from streamtok import Encoding
from streamtok.train import save

tokenizers = pytest.importorskip("tokenizers", reason="Hugging Face's tokenizers is the reference")

WORDS = ["a", "b", "c", "ab", "abc", "▁", "▁a", "Ġ", "1", "é", "中", "##b", "##a", "##c"]
VOCAB = {text: i for i, text in enumerate(WORDS)}
MERGES = [["a", "b"], ["ab", "c"], ["▁", "a"]]
PAIRS = {"type": "BPE", "vocab": VOCAB, "merges": MERGES, "unk_token": "[none]"}
ENDS = {text + "</w>": len(VOCAB) + i for i, text in enumerate("abc")}
MODELS = {
    "characters": PAIRS,
    "fused": PAIRS | {"fuse_unk": True},
    "suffix": PAIRS | {"end_of_word_suffix": "</w>", "vocab": VOCAB | ENDS},
    "letters": PAIRS,
    "wordpiece": {
        "type": "WordPiece",
        "unk_token": "[none]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 4,
        "vocab": VOCAB,
    },
    "wordlevel": {"type": "WordLevel", "unk_token": "[none]", "vocab": VOCAB},
    "unigram": {"type": "Unigram", "unk_id": None, "vocab": [[text, -1.0 - i] for i, text in enumerate(WORDS)]},
    "unigram of bytes": {
        "type": "Unigram",
        "unk_id": None,
        "byte_fallback": True,
        "vocab": [[text, -1.0] for text in [*WORDS, *(f"<0x{byte:02X}>" for byte in range(256))]],
    },
}
PARTS = ["a", "b", "c", "ab", "abc", " ", "1", "é", "中", "x"]
LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


def made(kind):
    steps = LEVEL if kind == "letters" else {"type": "WhitespaceSplit"}
    return {"version": "1.0", "added_tokens": [], "pre_tokenizer": steps, "decoder": None, "model": MODELS[kind]}


def or_error(call):
    try:
        return call()
    except ValueError as error:
        assert "the text holds what is no token of this vocabulary" in str(error)
        return None


def streamed(enc, text, rng):
    stream, at = enc.stream_encoder(), rng.randrange(len(text) + 1)
    return [*stream.feed(text[:at]), *stream.feed(text[at:]), *stream.flush()]


@pytest.mark.parametrize("kind", MODELS)
def test_a_text_that_needs_it_is_an_error(tmp_path, kind):
    text = json.dumps(made(kind))
    (tmp_path / "tokenizer.json").write_text(text)
    theirs = tokenizers.Tokenizer.from_str(text)
    enc = Encoding.from_file(tmp_path / "tokenizer.json")
    enc.compile(tmp_path / "m.stm")
    save(enc, tmp_path / "saved.json")
    copies = [pickle.loads(pickle.dumps(enc)), *map(Encoding.from_file, (tmp_path / "m.stm", tmp_path / "saved.json"))]
    rng, errors = random.Random(kind), 0
    for _ in range(400):
        text = "".join(
            rng.choices(["a", "b", "c", "ab", "abc", " ", "1", "é", "中", "x"], [9] * 6 + [1] * 4, k=rng.randrange(9))
        )
        found = model_campaign.attempt(lambda text=text: theirs.encode(text))
        want = None if found is None else found.ids
        assert or_error(lambda text=text: enc.encode(text)) == want, text
        assert or_error(lambda text=text: streamed(enc, text, rng)) == want, text
        assert or_error(lambda text=text: enc.encode_batch([text, "ab"], num_threads=2)[0]) == want
        assert or_error(lambda text=text: enc.count(text)) == (None if want is None else len(want))
        assert all(or_error(lambda text=text, other=other: other.encode(text)) == want for other in copies)
        if want is not None:
            assert enc.encode_with_offsets(text)[1].tolist() == [start for start, _ in found.offsets]
        errors += want is None
    assert 20 < errors < 380


@pytest.mark.parametrize("kind", MODELS)
def test_a_stream_is_as_it_was_before_the_error(tmp_path, kind):
    (tmp_path / "tokenizer.json").write_text(json.dumps(made(kind)))
    enc = Encoding.from_file(tmp_path / "tokenizer.json")
    stream = enc.stream_encoder()
    ids = stream.feed("b b").tolist()
    with pytest.raises(ValueError, match="no token"):
        stream.feed("x b b")
    assert [*ids, *stream.feed(" b"), *stream.flush()] == enc.encode("b b b")
