"""Models from folders, objects of Hugging Face's, a tekken.json, and by the command."""

from __future__ import annotations

import base64
import json

import pytest
from small_models import BOS, LLAMA3, TEXT_STEP, Both, added, record, refusal, template, texts

from streamtok import Encoding, VocabularyError, train


def test_a_folder(tmp_path):
    made = added(record(), "<s>", special=True)
    both = Both.of(tmp_path, made)
    token = made["added_tokens"][0]
    config = {"added_tokens_decoder": {str(token["id"]): {"content": "<s>"}}, "model_max_length": 10**30}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    assert Encoding.from_file(tmp_path).fingerprint == both.enc.fingerprint
    config["added_tokens_decoder"][str(token["id"])]["content"] = "<t>"
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    with pytest.raises(VocabularyError, match=r"added_tokens_decoder.*'<t>' is no added token"):
        Encoding.from_file(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(VocabularyError, match=r"no tokenizer\.json"):
        Encoding.from_file(tmp_path)


def test_objects_of_hugging_face(tmp_path):
    both = Both.of(tmp_path, added(record(post_processor=template(BOS, TEXT_STEP)), "<s>", special=True))
    assert Encoding.from_hf(both.reference).fingerprint == both.enc.fingerprint
    with pytest.raises(TypeError, match="fast tokenizer"):
        Encoding.from_hf("name")
    both.reference.enable_truncation(3)
    with pytest.raises(VocabularyError, match="no_truncation"):
        Encoding.from_hf(both.reference)


def test_a_fast_tokenizer_of_transformers(tmp_path):
    transformers = pytest.importorskip("transformers")
    both = Both.of(tmp_path, added(record(post_processor=template(BOS, TEXT_STEP)), "<s>", special=True))
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=both.reference)
    fast("hello there", truncation=True, max_length=2)  # leaves a truncation behind
    assert Encoding.from_hf(fast).encode("a b", add_special_tokens=True) == fast("a b").input_ids


def tekken(**changes):
    singles = [bytes([i]) for i in range(256)]
    tokens = [*singles, b"he", b"ll", b"hell", b"hello", b"unused"]
    vocab = [
        {"rank": i, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
        for i, token in enumerate(tokens)
    ]
    config = {
        "pattern": LLAMA3,
        "num_vocab_tokens": len(tokens),
        "default_vocab_size": len(tokens) + 9,
        "default_num_special_tokens": 10,
        "version": "v7",
    }
    special = [{"rank": 1, "token_str": "<s>", "is_control": True}]
    return {"config": config, "vocab": vocab, "special_tokens": special} | changes


def test_tekken(tmp_path):
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps(tekken()))
    enc = Encoding.from_file(path)
    assert enc.encode("<s>hello he", allowed_special="all") == [1, 10 + 259, 10 + 32, 10 + 256]
    assert enc.decode([1, 269]) == "<s>hello"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda made: made["vocab"][3].update(token_bytes="AQ="), "base64"),
        (lambda made: made["vocab"][3].update(rank=4), "vocab[3]"),
        (lambda made: made["vocab"].__delitem__(slice(200, None)), "200 others are there"),
        (lambda made: made.update(novel=1), "novel"),
        (lambda made: made["special_tokens"][0].update(rank=11), "special_tokens[0]"),
    ],
)
def test_damaged_tekken(tmp_path, change, says):
    made = tekken()
    change(made)
    assert says in refusal(tmp_path, made)


def test_the_command_takes_a_path(tmp_path):
    pytest.importorskip("click")
    from cli_runs import run

    both = Both.of(tmp_path, record())
    (tmp_path / "text").write_text("hello there")
    for name in (tmp_path / "tokenizer.json", tmp_path):
        assert run("count", "-e", name, tmp_path / "text").stdout.split()[0] == str(len(both.enc.encode("hello there")))
    assert "none.json" in run("count", "-e", tmp_path / "none.json", "--text", "a", status=1).stderr


# ==== Saving ====


@pytest.mark.parametrize("form", ["saved.json", "folder"])
def test_a_model_is_saved_and_loads_again(tmp_path, form):
    made = record(post_processor=template(BOS, TEXT_STEP))
    for token in ("Ġqqq", "zzxz", "东", "<unused>"):
        made["model"]["vocab"][token] = len(made["model"]["vocab"])
    both = Both.of(tmp_path, added(added(made, "<unused>", "<x>", "ö中"), "<s>", special=True))
    train.save(both.enc, tmp_path / form)
    path = tmp_path / form if form.endswith(".json") else tmp_path / form / "tokenizer.json"
    again = Both(path)
    again.check(texts(20, 300, "<x>", "<unused>", " qqq"))
    assert Encoding.from_file(tmp_path / form).fingerprint == both.enc.fingerprint
    for text in texts(21, 100, "<x>"):
        assert again.reference.encode(text).ids == both.reference.encode(text).ids
    with pytest.raises(ValueError, match=r"write NAME\.json"):
        train.save(both.enc, tmp_path / "saved.tiktoken")


def test_transformers_loads_the_folder(tmp_path):
    transformers = pytest.importorskip("transformers")
    both = Both.of(tmp_path, added(added(record(post_processor=template(BOS, TEXT_STEP)), "<s>", special=True), "<x>"))
    train.save(both.enc, tmp_path / "folder")
    fast = transformers.AutoTokenizer.from_pretrained(str(tmp_path / "folder"))
    for text in texts(22, 50, "<x>", "<s>"):
        assert fast(text).input_ids == both.enc.encode(text, allowed_special="all", add_special_tokens=True)
