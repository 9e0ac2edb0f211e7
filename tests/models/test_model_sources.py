"""Models from folders, objects of Hugging Face's, a tekken.json, and by the command."""

from __future__ import annotations

import base64
import json

import made_models
import pytest
from small_models import BOS, EOS, LLAMA3, TEXT_STEP, Both, added, record, refusal, template, texts

from streamtok import Encoding, VocabularyError, get_encoding, train
from streamtok.load import dump_tiktoken_bpe

tokenizers = pytest.importorskip("tokenizers", reason="Hugging Face's tokenizers is not installed")


def test_a_folder(tmp_path):
    made = added(record(), "<s>", special=True)
    both = Both.of(tmp_path, made)
    token = made["added_tokens"][0]
    config = {"added_tokens_decoder": {str(token["id"]): flags("<s>", special=True)}, "model_max_length": 10**30}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    assert Encoding.from_file(tmp_path).fingerprint == both.enc.fingerprint
    config["added_tokens_decoder"][str(token["id"])]["content"] = "<t>"
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    with pytest.raises(VocabularyError, match=r"'<t>' has id 420 here, and tokenizers would give it 421"):
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
    cut = Encoding.from_hf(both.reference)
    assert cut.truncation == both.reference.truncation and cut.padding is None
    assert cut.encode("hello there") == both.enc.encode("hello there")


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


# ==== What stands beside a tokenizer.json, and in place of it ====


def write_folder(folder, made, config=None, more=None, pair=False):
    folder.mkdir(exist_ok=True)
    if pair:
        (folder / "vocab.json").write_text(json.dumps(made["model"]["vocab"]))
        lines = ["#version: 0.2", *(m if isinstance(m, str) else " ".join(m) for m in made["model"]["merges"]), ""]
        (folder / "merges.txt").write_text("\n".join(lines), encoding="utf-8")
    else:
        (folder / "tokenizer.json").write_text(json.dumps(made))
    if config is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
    for name, record_ in (more or {}).items():
        (folder / name).write_text(json.dumps(record_))
    return folder


def flags(content, **changes):
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    return {"content": content, **plain, **changes}


def by_transformers(folder):
    """The same tokenizer as transformers loads it."""
    transformers = pytest.importorskip("transformers")
    return transformers.AutoTokenizer.from_pretrained(str(folder)).backend_tokenizer


def test_flags_and_tokens_of_the_configuration_count(tmp_path):
    made = added(record(), "<x>", special=True)
    taken = made["added_tokens"][0]["id"]
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<x>",
        "added_tokens_decoder": {
            str(taken): flags("<x>", special=True, lstrip=True),
            str(taken + 1): flags("<y>", rstrip=True),
        },
    }
    folder = write_folder(tmp_path / "a", made, config, {"added_tokens.json": {"<x>": taken, "<y>": taken + 1}})
    enc = Encoding.from_file(folder)
    for text in ("a  <x> b <y>  c", "a<y> "):
        got = enc.encode(text, allowed_special="all")
        assert got.count(taken) == text.count("<x>") and got.count(taken + 1) == text.count("<y>")
    assert enc.encode("a  <x>", allowed_special="all") == enc.encode("a<x>", allowed_special="all")
    reference = by_transformers(folder)
    for text in texts(23, 100, "<x>", "<y>"):
        assert enc.encode(text, allowed_special="all") == reference.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize(
    ("config", "more", "says"),
    [
        ({"eos_token": "<e>"}, {}, "'<e>' is no added token"),
        ({}, {"special_tokens_map.json": {"pad_token": {"content": "<p>"}}}, "'<p>' is no added token"),
        ({}, {"added_tokens.json": {"<q>": 421}}, "'<q>' with id 421"),
        ({"additional_special_tokens": ["<x>", "<z>"]}, {}, "additional_special_tokens[1]: '<z>'"),
        ({"added_tokens_decoder": {"9000": flags("<n>")}}, {}, "tokenizers would give it"),
        ({"added_tokens_decoder": {"5": flags("<x>")}}, {}, "has id 5 here and 420"),
        ({"added_tokens_decoder": {"420": flags("<x>", lstrip=1)}}, {}, "lstrip"),
        ({"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": True}, {}, "add_prefix_space"),
    ],
)
def test_files_beside_that_contradict_are_refused(tmp_path, config, more, says):
    folder = write_folder(tmp_path / "a", added(record(), "<x>", special=True), config, more)
    with pytest.raises(VocabularyError) as caught:
        Encoding.from_file(folder)
    assert says in str(caught.value) and str(folder) in caught.value.path


@pytest.mark.parametrize("config", [{"tokenizer_class": "GPT2TokenizerFast"}, {"tokenizer_class": "Qwen2Tokenizer"}])
@pytest.mark.parametrize("blank", [False, True])
def test_vocab_and_merges(tmp_path, config, blank):
    made = record()
    made["model"]["vocab"]["<|endoftext|>"] = end = len(made["model"]["vocab"])
    if config["tokenizer_class"] == "Qwen2Tokenizer":
        decoder = {str(end): flags("<|endoftext|>", special=True), str(end + 1): flags("<t>", lstrip=True)}
        config = config | {"added_tokens_decoder": decoder}
    elif blank:
        config = config | {"add_prefix_space": True}
    folder = write_folder(tmp_path / "a", made, config, pair=True)
    enc = Encoding.from_file(folder)
    assert enc.fingerprint == Encoding.from_file(folder / "vocab.json").fingerprint
    assert enc.encode("<|endoftext|>", allowed_special="all") == [end]
    reference = by_transformers(folder)
    for text in texts(24, 300, "<|endoftext|>", "<t>"):
        assert enc.encode(text, allowed_special="all") == reference.encode(text, add_special_tokens=False).ids, text


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (None, '{"tokenizer_class": "GPT2Tokenizer"}'),
        ({}, '{"tokenizer_class": "GPT2Tokenizer"}'),
        ({"tokenizer_class": "WhisperTokenizer"}, "is not known here"),
        ({"tokenizer_class": "Qwen2Tokenizer", "add_prefix_space": True}, "does not put a blank"),
    ],
)
def test_vocab_and_merges_that_are_refused(tmp_path, config, says):
    folder = write_folder(tmp_path / "a", record(), config, pair=True)
    with pytest.raises(VocabularyError) as caught:
        Encoding.from_file(folder)
    assert says in str(caught.value)


def test_damaged_merges(tmp_path):
    folder = write_folder(tmp_path / "a", record(), {"tokenizer_class": "GPT2Tokenizer"}, pair=True)
    text = (folder / "merges.txt").read_text(encoding="utf-8")
    for damaged, says in ((text[:-1], "cut off"), (text.replace("Ġ t\n", "Ġ t x\n"), "is no merge")):
        (folder / "merges.txt").write_text(damaged, encoding="utf-8")
        with pytest.raises(VocabularyError, match=says):
            Encoding.from_file(folder)


def test_a_file_of_ranks(tmp_path):
    enc = train.train([b"hello hello world " * 50], 262, pattern="o200k", special_tokens=["<e>"], name="mine")
    train.save(enc, tmp_path / "mine.tiktoken")
    again = Encoding.from_file(tmp_path / "mine.tiktoken")
    assert again.fingerprint == enc.fingerprint and again.name == "mine"
    (tmp_path / "mine.tiktoken").rename(tmp_path / "tokenizer.model")
    with pytest.raises(VocabularyError, match=r"does not say how text is split.*train\.save"):
        Encoding.from_file(tmp_path / "tokenizer.model")
    (tmp_path / "mine.tiktoken.json").rename(tmp_path / "tokenizer.model.json")
    assert Encoding.from_file(tmp_path / "tokenizer.model").fingerprint == enc.fingerprint
    data = (tmp_path / "tokenizer.model").read_bytes()
    (tmp_path / "tokenizer.model").write_bytes(data.replace(b" 260\n", b" 270\n"))
    with pytest.raises(VocabularyError, match="another file"):
        Encoding.from_file(tmp_path / "tokenizer.model")
    beside = tmp_path / "tokenizer.model.json"
    for damaged, says in ((b'{"name": \xff}', r"model\.json: byte 9 is not UTF-8"), (b"{", "this is not JSON")):
        beside.write_bytes(damaged)
        with pytest.raises(VocabularyError, match=says):
            Encoding.from_file(tmp_path / "tokenizer.model")


@pytest.mark.parametrize("name", ["r50k_base", "p50k_base", "cl100k_base", "o200k_base"])
def test_a_file_of_ranks_that_is_known(tmp_path, name):
    path = tmp_path / "tokenizer.model"
    dump_tiktoken_bpe(get_encoding(name)._mergeable_ranks, path)
    enc = Encoding.from_file(path)
    assert enc.fingerprint == get_encoding(name).fingerprint and enc.name == name


@pytest.mark.parametrize("lower", [None, True, False])
def test_a_vocab_txt(tmp_path, lower):
    both = Both.of(tmp_path, made_models.wordpiece())
    config = {"tokenizer_class": "BertTokenizerFast"} | ({} if lower is None else {"do_lower_case": lower})
    vocab = both.reference.get_vocab()
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "vocab.txt").write_text("".join(f"{token}\n" for token in sorted(vocab, key=vocab.get)), "utf-8")
    with pytest.raises(VocabularyError, match=r"vocab\.txt does not say how text is split"):
        Encoding.from_file(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    enc = Encoding.from_file(tmp_path)
    if lower is False:
        both.reference.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=False)
    for text in texts(7, 100, "[MASK]", "hello Größe", "東京"):
        assert enc.encode(text, allowed_special="all", add_special_tokens=True) == both.reference.encode(text).ids
        ids = both.reference.encode(text, add_special_tokens=False).ids
        assert enc.decode(ids) == both.reference.decode(ids, skip_special_tokens=False)
    with open(tmp_path / "vocab.txt", "a") as file:
        file.write("[UNK]\n")
    with pytest.raises(VocabularyError, match="is in line"):
        Encoding.from_file(tmp_path)


# ==== Files of ids ====


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", ["text", "lines", "jsonl"])
def test_files_with_the_template(tmp_path, kind, threads):
    import numpy as np

    made = added(record(post_processor=template(BOS, TEXT_STEP, EOS)), "<|endoftext|>", special=True)
    enc = Both.of(tmp_path, made).enc
    documents = ["hello there", "", "a b " * 3000, "x"]
    if kind == "text":
        sources = [tmp_path / str(i) for i in range(len(documents))]
        for source, text in zip(sources, documents):
            source.write_text(text)
    else:
        sources = [tmp_path / "all"]
        lines = documents if kind == "lines" else [json.dumps({"text": text}) for text in documents]
        sources[0].write_text("".join(f"{line}\n" for line in lines))
    options = {"documents": kind, "num_threads": threads, "chunk_size": 500, "add_special_tokens": True}
    for end in (False, True):
        enc.encode_file(sources, tmp_path / "ids.bin", append_eot=end, **options)
        expected = []
        for text in documents:
            expected += [*enc.encode(text, add_special_tokens=True), *([enc.eot_token] if end else [])]
        assert np.fromfile(tmp_path / "ids.bin", np.uint16).tolist() == expected


def test_the_command_puts_the_template_around_texts(tmp_path):
    pytest.importorskip("click")
    from cli_runs import run

    both = Both.of(tmp_path, record(post_processor=template(BOS, TEXT_STEP, EOS)))
    path = tmp_path / "tokenizer.json"
    ids = both.enc.encode("hello there", add_special_tokens=True)
    made = run("encode", "-e", path, "--add-special-tokens", "--text", "hello there")
    assert made.stdout.split() == list(map(str, ids))
    assert run("count", "-e", path, "--add-special-tokens", "--text", "hello there").stdout.split()[0] == str(len(ids))
