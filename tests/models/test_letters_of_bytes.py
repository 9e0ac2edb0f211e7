"""A ByteLevel in front of models that are not of bytes: its letters are their characters."""

from __future__ import annotations

import pathlib
import random
import sys

import pytest
from small_models import TEXT

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools"))
import model_campaign

from streamtok.bundled.gpt2_files import in_letters

WORDS = ["hello", " hello", "he", "llo", "Ġh", " the", "th", "e", "é", "東京", "12", "1", "\n", " ", "'s", "é ", "?"]
LETTERS = [in_letters(bytes([byte])) for byte in range(256)]


def level(**settings):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True, **settings}


def tokens(going_on=""):
    texts = [in_letters(word.encode()) for word in WORDS]
    return [*dict.fromkeys(["?", *texts, *LETTERS, *(going_on + text for text in [*texts, *LETTERS] if going_on)])]


def models():
    yield {"type": "Unigram", "unk_id": 0, "vocab": [[text, -2.0 - len(text) % 3] for text in tokens()]}
    words = {text: i for i, text in enumerate(tokens("##"))}
    yield {
        "type": "WordPiece",
        "unk_token": "?",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 9,
        "vocab": words,
    }
    yield {"type": "WordLevel", "unk_token": "?", "vocab": {text: i for i, text in enumerate(tokens())}}


def made(model, *steps):
    extra = {"id": len(model["vocab"]), "content": "<é>", "single_word": False, "lstrip": False, "rstrip": True}
    return {
        "version": "1.0",
        "added_tokens": [{**extra, "normalized": False, "special": False}],
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*steps]},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": model,
    }


@pytest.mark.parametrize("model", list(models()), ids=lambda model: model["type"])
@pytest.mark.parametrize(
    "steps",
    [
        [level()],
        [level(add_prefix_space=True)],
        [level(use_regex=False)],
        [{"type": "Digits", "individual_digits": True}, level(use_regex=False, add_prefix_space=True)],
        [{"type": "WhitespaceSplit"}, level()],
        [{"type": "WhitespaceSplit"}, level(add_prefix_space=True)],
        [level(), level(use_regex=False)],
        [
            level(use_regex=False),
            {"type": "Split", "pattern": {"String": "Ġ"}, "behavior": "MergedWithNext", "invert": False},
        ],
    ],
    ids=str,
)
def test_letters_are_characters(tmp_path, model, steps):
    subject, rng = model_campaign.Subject(made(model, *steps), tmp_path), random.Random(4)
    parts = [*WORDS, "<é>", "x", "Ġ", "\xa0", "😀"]
    for _ in range(60):
        text = "".join(rng.choice(parts) for _ in range(rng.randrange(12)))
        model_campaign.check_ids(subject, rng, rng.choice([text, text, text, rng.choice(TEXT)[:60]]))
    for _ in range(30):
        model_campaign.check_text(subject, rng, [rng.randrange(len(model["vocab"])) for _ in range(rng.randrange(8))])
