"""Pre-tokenizers that change the pieces of others, several in turn: ids, places and texts are those of tokenizers."""

from __future__ import annotations

import json
import pathlib
import random
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools"))
import model_campaign
import random_models

from streamtok import Encoding, VocabularyError

pytest.importorskip("tokenizers", reason="Hugging Face's tokenizers is the reference")

PARTS = [*random_models.PIECES, "ab ab", "Иван", "Ω中あ", "\r\n", "<x>", "de-12", "가 나", " ▁a"]


def step(rng):
    kind = rng.randrange(8)
    if kind < 3:
        return random_models.metaspace(rng) | {"add_prefix_space": True}
    if kind == 3:
        return random_models.byte_level(rng)
    return {"type": "UnicodeScripts"} if kind == 4 else random_models.split(rng)


def model(rng):
    tokens = dict.fromkeys(
        ["?", *"abAB x1_#▁Ġ-", *random_models.LETTERS.values(), "中", "é", "▁a", "ab", "▁▁", "_a", "Ġa"]
    )
    kind = rng.randrange(4)
    if kind == 0:
        return random_models.byte_model(rng) | {"byte_fallback": False}
    if kind == 1:
        return {"type": "Unigram", "unk_id": 0, "vocab": [[text, -1.0 - i % 7] for i, text in enumerate(tokens)]}
    if kind == 2:
        return {"type": "WordLevel", "unk_token": "?", "vocab": {text: i for i, text in enumerate(tokens)}}
    merges = [["a", "b"], ["▁", "a"], ["▁", "▁"], ["_", "a"], ["Ġ", "a"]]
    return random_models.bpe(rng, {text: i for i, text in enumerate(tokens)}, merges, False, has_bytes=False)


def made(rng):
    given = [random_models.normalizer(rng) for _ in range(rng.choice((0, 0, 1, 2)))]
    name = {"id": 0, "content": "<x>", "single_word": False, "normalized": rng.random() < 0.3, "special": True}
    flags = {"lstrip": rng.random() < 0.3, "rstrip": rng.random() < 0.3}
    record = {"version": "1.0", "truncation": None, "padding": None, "model": model(rng), "post_processor": None}
    record["added_tokens"] = [name | flags | {"id": len(record["model"]["vocab"])}]
    record["normalizer"] = random_models.sequence(rng, "normalizers", given)
    steps = [step(rng) for _ in range(rng.randrange(1, 5))]
    record["pre_tokenizer"] = random_models.sequence(rng, "pretokenizers", steps)
    return record | {"decoder": random_models.decoder(rng, "characters")}


@pytest.mark.parametrize("seed", range(12))
def test_steps_in_turn(tmp_path, seed):
    """Whole, as streams that are saved, on threads; what begins the given text is known behind all steps."""
    rng, same = random.Random(f"in turn {seed}"), 0
    for number in range(30):
        record = made(rng)
        texts = ["".join(rng.choices(PARTS, k=rng.randrange(1, 9))) for _ in range(8)]
        found = model_campaign.outcome(record, texts, f"{seed} {number}", tmp_path)
        assert found["is"] != "differs", (json.dumps(record, ensure_ascii=False), found)
        same += found["is"] == "same"
    assert same >= 12


def marked(*steps):
    vocab = [[text, -1.0] for text in ("?", *"▁abcd12 ")]
    model = {"type": "Unigram", "unk_id": 0, "vocab": vocab}
    return {"version": "1.0", "model": model, "pre_tokenizer": {"type": "Sequence", "pretokenizers": list(steps)}}


FIRST = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}


@pytest.mark.parametrize(
    ("text", "pieces"), [("ab cd", "▁ab cd"), (" ab cd", "ab cd"), ("12ab", "▁12ab"), ("", ""), ("  ", "")]
)
def test_the_first_word_alone_begins_with_a_mark(tmp_path, text, pieces):
    """The one that begins the text, and that a cut lies behind: none where blanks that are dropped begin it."""
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(marked({"type": "WhitespaceSplit"}, FIRST)))
    enc = Encoding.from_file(path)
    want = [enc.encode_single_token(c) for c in pieces.replace(" ", "")]
    assert enc.encode(text) == want
    for at in range(len(text) + 1):
        stream = enc.stream_encoder()
        assert [*stream.feed(text[:at]), *stream.feed(text[at:]), *stream.flush()] == want


def test_a_piece_of_the_first_character_behind_a_cut_begins_with_a_mark(tmp_path):
    """The blank that is put in front, and the tab behind it, both come from the first character."""
    level = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    record = marked(level, FIRST)
    record["model"]["vocab"] = [["?", -9.0], *([text, -1.0] for text in ("▁", *random_models.LETTERS.values()))]
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(record))
    enc, text = Encoding.from_file(path), "\té"
    want = [enc.get_vocab()[name] for name in "▁Ġ▁ĉÃ©"]
    assert enc.encode(text) == want
    for at in range(4):
        stream = enc.stream_encoder()
        assert [*stream.feed(text.encode()[:at]), *stream.feed(text.encode()[at:]), *stream.flush()] == want


def test_a_name_sought_in_normalized_text_in_front_of_such_a_mark_is_refused(tmp_path):
    name = {"id": 9, "content": "<x>", "normalized": True, "special": False, "single_word": False}
    record = marked({"type": "WhitespaceSplit"}, FIRST) | {"normalizer": {"type": "Lowercase"}}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(record | {"added_tokens": [name | {"lstrip": False, "rstrip": False}]}))
    with pytest.raises(VocabularyError, match="what begins a text then is not certain"):
        Encoding.from_file(path)
