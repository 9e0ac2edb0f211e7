"""Folders with the files of slow tokenizers: the ids are those that transformers 5.23 gives.

Where transformers is not installed, a class is compared with sentencepiece: its ids are those of the .model, moved as
the class says it, for texts that both normalize and split alike.
"""

from __future__ import annotations

import io
import json
import re
from typing import Any

import pytest
from small_models import TEXT, record, texts

from streamtok import Encoding, VocabularyError

sentencepiece = pytest.importorskip("sentencepiece", reason="the package sentencepiece is not installed")

UNIGRAM = {"model_type": "unigram"}
LLAMA: dict[str, Any] = {
    "model_type": "bpe",
    "byte_fallback": True,
    "normalization_rule_name": "identity",
    "remove_extra_whitespaces": False,
    "vocab_size": 700,
}
FAIRSEQ = "sentencepiece.bpe.model"
MODELS: dict[str, tuple[str, dict[str, Any], dict[str, Any], int]] = {  # file, training, configuration, offset of ids
    "T5": ("spiece.model", UNIGRAM | {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}, {"extra_ids": 5}, 0),
    "Albert": (
        "spiece.model",
        UNIGRAM | {"pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1, "control_symbols": "[CLS],[SEP],[MASK]"},
        {"do_lower_case": False, "keep_accents": True},
        0,
    ),
    "DebertaV2": (
        "spm.model",
        UNIGRAM
        | {f"{name}_id": i for i, name in enumerate(("pad", "bos", "eos", "unk"))}
        | {"pad_piece": "[PAD]", "bos_piece": "[CLS]", "eos_piece": "[SEP]", "unk_piece": "[UNK]"},
        {},
        0,
    ),
    "XLNet": ("spiece.model", UNIGRAM | {"control_symbols": "<cls>,<sep>,<pad>,<mask>,<eod>,<eop>"}, {}, 0),
    "XLMRoberta": (FAIRSEQ, UNIGRAM, {}, 1),
    "Camembert": (FAIRSEQ, UNIGRAM, {}, 4),
    "MBart": (FAIRSEQ, UNIGRAM, {"src_lang": "de_DE"}, 1),
    "MBart50": (FAIRSEQ, UNIGRAM, {}, 1),
    "Llama": ("tokenizer.model", LLAMA | {"user_defined_symbols": "<x>", "control_symbols": "[INST]"}, {}, 0),
}
NLLB = {"model_type": "bpe"}
LANGUAGES = ["eng_Latn", "fra_Latn"]


def trained(**options: Any) -> bytes:
    made = io.BytesIO()
    options = {"vocab_size": 500, "minloglevel": 2, **options}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(TEXT[:600]), model_writer=made, **options)
    return made.getvalue()


def write(folder: Any, name: str, config: dict[str, Any], files: dict[str, Any]) -> Any:
    folder.mkdir(exist_ok=True)
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name, **config}))
    for file, content in files.items():
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        (folder / file).write_bytes(data)
    return folder


def by_transformers(folder: Any) -> Any:
    transformers = pytest.importorskip("transformers", reason="the package transformers is not installed")
    return transformers.AutoTokenizer.from_pretrained(str(folder)).backend_tokenizer


ODD = (
    "▁",
    "  ",
    " the",
    "<s>",
    " <mask> ",
    "ö",
    "東京",
    "[MASK]",
    "\xa0",
    "ﬁ",
    "２",
    "``",
    "''",
    "<extra_id_0>",
    "Ä",
    "☃☃",
)


def same(folder: Any, more: tuple[str, ...] = ()) -> None:
    reference, enc = by_transformers(folder), Encoding.from_file(folder)
    for text in texts(3, 150, *ODD, *more):
        ids = reference.encode(text, add_special_tokens=False).ids
        assert enc.encode(text, allowed_special="all") == ids, text
        assert enc.encode(text, allowed_special="all", add_special_tokens=True) == reference.encode(text).ids
        assert enc.decode(ids) == type(reference).decode(reference, ids, skip_special_tokens=False)
        stream = enc.stream_encoder(allowed_special="all")
        assert [i for part in (text[:3], text[3:]) for i in stream.feed(part).tolist()] + stream.flush().tolist() == ids
    assert enc.get_vocab() == reference.get_vocab(with_added_tokens=True)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_sentencepiece(tmp_path, name):
    file, options, config, _ = MODELS[name]
    same(
        write(tmp_path / "a", f"{name}Tokenizer", config, {file: trained(**options)}),
        ("en_XX", "[INST]", "<x>", "\t", " \t\n ", "a\n"),
    )


ENDS = ["[CLS]", "[SEP]", "<sep>", "<cls>", "<s>", "</s>"]
AROUND = {"T5": ["</s>"], "Albert": ENDS[:2], "DebertaV2": ENDS[:2], "XLNet": ENDS[2:4], "XLMRoberta": ENDS[4:]}
"""What stands in front of a text and behind it."""


@pytest.mark.parametrize("name", MODELS)
def test_ids_are_those_of_sentencepiece_moved(tmp_path, name):
    file, options, config, offset = MODELS[name]
    data = trained(**options)
    enc = Encoding.from_file(write(tmp_path / "a", f"{name}Tokenizer", config, {file: data}))
    reference = sentencepiece.SentencePieceProcessor(model_proto=data)
    checked = 0
    for text in TEXT[600:900]:
        words = " ".join(re.findall("[a-z]+", text))
        ids = reference.encode(words)
        if words and reference.unk_id() not in ids:
            assert enc.encode(words) == [token + offset for token in ids], words
            checked += 1
    assert checked > 30
    if name in AROUND:
        ids = enc.encode("the", add_special_tokens=True)
        assert [each for each in map(enc.decode_single_token_bytes, ids) if each.decode() in ENDS] == [
            end.encode() for end in AROUND[name]
        ]
    assert enc.fingerprint != Encoding.from_file(tmp_path / "a" / file).fingerprint


def test_places_of_tokens(tmp_path):
    enc = {}
    for name in ("T5", "XLMRoberta", "Camembert", "MBart", "MBart50"):
        file, options, config, _ = MODELS[name]
        folder = write(tmp_path / name, f"{name}Tokenizer", config, {file: trained(**options)})
        enc[name] = Encoding.from_file(folder)
    vocab = {name: each.get_vocab() for name, each in enc.items()}
    assert [vocab["T5"][f"<extra_id_{i}>"] for i in range(5)] == [504, 503, 502, 501, 500]
    assert enc["T5"].encode("a", add_special_tokens=True)[-1] == 1
    for name, last in (("XLMRoberta", 501), ("MBart", 526), ("MBart50", 553)):
        assert [vocab[name][text] for text in ("<s>", "<pad>", "</s>", "<unk>", "<mask>")] == [0, 1, 2, 3, last]
    assert vocab["MBart"]["ar_AR"] == 501 and vocab["MBart50"]["sl_SI"] == 552
    assert enc["MBart"].encode("", add_special_tokens=True) == [2, vocab["MBart"]["de_DE"]]
    assert enc["MBart50"].encode("", add_special_tokens=True) == [vocab["MBart50"]["en_XX"], 2]
    assert [vocab["Camembert"][text] for text in ("<pad>", "<unk>", "<s>", "<mask>")] == [1, 3, 5, 504]


PAIRS = ("Roberta", "Bart", "Deberta", "GPT2", "GPTNeoX", "CodeGen", "Qwen2", "CLIP")
MASK = {"content": "<mask>", "lstrip": True, "rstrip": False, "normalized": False, "single_word": False}


def files_of_pairs(name: str) -> dict[str, Any]:
    made = record()
    vocab = dict(made["model"]["vocab"])
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in made["model"]["merges"]]
    more = ["<s>", "<pad>", "</s>", "<unk>"]
    if name == "CLIP":
        ended = [f"{letter}</w>" for letter in vocab if len(letter) == 1]
        merges = ["t h", "th e</w>", "a n", "an d</w>", "l o</w>", "l lo</w>", "h e"]
        more = [*ended, *(merge.replace(" ", "") for merge in merges), "<|startoftext|>", "<|endoftext|>"]
    for text in more:
        vocab.setdefault(text, len(vocab))
    return {"vocab.json": vocab, "merges.txt": "\n".join(["#version: 0.2", *merges, ""]).encode()}


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"mask_token": {**MASK, "__type": "AddedToken"}, "additional_special_tokens": ["<a>", "<b>"], "z_token": "<z>"},
    ],
)
@pytest.mark.parametrize("name", PAIRS)
def test_vocab_and_merges(tmp_path, name, config):
    if config and name == "Qwen2":
        pytest.skip("this class loses the flags of tokens that it does not know")
    same(
        write(tmp_path / "a", f"{name}Tokenizer", config, files_of_pairs(name)),
        ("<a>", "<z>", "<|endoftext|>", "don't"),
    )


@pytest.mark.parametrize(
    ("name", "config", "more"),
    [
        ("Roberta", {"add_prefix_space": True}, {}),
        (
            "Roberta",
            {},
            {"special_tokens_map.json": {"mask_token": MASK, "pad_token": "<pp>"}, "added_tokens.json": {"<n>": 424}},
        ),
        ("GPT2", {"add_bos_token": True, "bos_token": "<s>"}, {}),
        ("GPT2", {"extra_special_tokens": {"image_token": "<im>"}}, {}),
    ],
)
def test_what_stands_beside_counts(tmp_path, name, config, more):
    same(write(tmp_path / "a", f"{name}Tokenizer", config, {**files_of_pairs(name), **more}), ("<pp>", "<n>", "<im>"))


def test_without_transformers(tmp_path):
    """RoBERTa's template and CLIP's endings, written down."""
    enc = Encoding.from_file(write(tmp_path / "a", "RobertaTokenizer", {}, files_of_pairs("Roberta")))
    plain = Encoding.from_file(write(tmp_path / "b", "GPT2Tokenizer", {}, files_of_pairs("GPT2")))
    assert enc.encode("hello", add_special_tokens=True) == [420, *plain.encode("hello"), 422]
    assert enc.get_vocab()["<mask>"] == 424
    files = files_of_pairs("CLIP")
    clip = Encoding.from_file(write(tmp_path / "c", "CLIPTokenizer", {}, files))
    vocab = files["vocab.json"]
    ends = [vocab["<|startoftext|>"], vocab["<|endoftext|>"]]
    assert clip.encode("The  AND", add_special_tokens=True) == [ends[0], vocab["the</w>"], vocab["and</w>"], ends[1]]


# ==== Llama's class, which rebuilds parts of the file ====


def llama(tmp_path: Any, config: dict[str, Any], general: str | None = None) -> Any:
    import made_models

    files: dict[str, Any] = {"tokenizer.json": made_models.characters()}
    if general is not None:
        files["config.json"] = {"model_type": general}
    return write(tmp_path / "a", "LlamaTokenizerFast", config, files)


@pytest.mark.parametrize("general", [None, "gemma", "mistral"])
@pytest.mark.parametrize("config", [{}, {"legacy": True}, {"add_prefix_space": False}])
def test_llama(tmp_path, config, general):
    same(llama(tmp_path, config, general))


def test_llama_without_transformers(tmp_path):
    """The folder puts no mark behind a special token, the file does."""
    folder = llama(tmp_path, {})
    both = [Encoding.from_file(path) for path in (folder, folder / "tokenizer.json")]
    found = [enc.encode("a<s>a", allowed_special="all") for enc in both]
    assert found[0] != found[1] and found[0][:2] == found[1][:2]
    kept = Encoding.from_file(llama(tmp_path, {}, "mistral"))
    assert kept.encode("a<s>a", allowed_special="all") == found[1]


# ==== What is refused ====


@pytest.mark.parametrize(
    ("name", "config", "says"),
    [
        ("PegasusTokenizer", {}, "'PegasusTokenizer' of transformers makes of a .model is not known here"),
        ("T5Tokenizer", {}, "T5Tokenizer reads spiece.model, which is not there"),
        ("NllbTokenizer", {}, "'eng_Latn' stands beside each text, and is no token"),
        ("XLMRobertaTokenizer", {"mask_token": 3, "added_tokens_decoder": {"a": {}}}, "'a' is no id"),
    ],
)
def test_models_that_are_refused(tmp_path, name, config, says):
    with pytest.raises(VocabularyError) as caught:
        Encoding.from_file(write(tmp_path / "a", name, config, {FAIRSEQ: trained(**NLLB)}))
    assert says in str(caught.value)


def test_a_number_of_tokens_takes_no_memory(tmp_path):
    folder = write(tmp_path / "a", "T5Tokenizer", {"extra_ids": 2**31 - 1}, {"spiece.model": trained(**UNIGRAM)})
    with pytest.raises(VocabularyError, match="extra_ids: 2147483647 tokens; at most 1048576 are supported"):
        Encoding.from_file(folder)


def test_a_config_of_another_form(tmp_path):
    folder = llama(tmp_path, {})
    ids = Encoding.from_file(folder).encode("a<s>a", allowed_special="all")
    (folder / "config.json").write_text("[]")
    assert Encoding.from_file(folder).encode("a<s>a", allowed_special="all") == ids
    (folder / "config.json").write_text('{"model_type": ["mistral"]}')
    with pytest.raises(VocabularyError, match=r"config\.json: model_type"):
        Encoding.from_file(folder)


@pytest.mark.parametrize("named", [{}, {"mask_token": {**MASK, "__type": "AddedToken"}}])
def test_nllb(tmp_path, named):
    config = {"extra_special_tokens": LANGUAGES, **named}
    folder = write(tmp_path / "a", "NllbTokenizer", config, {FAIRSEQ: trained(**NLLB)})
    enc = Encoding.from_file(folder)
    vocab = enc.get_vocab()
    assert [vocab[text] for text in ("<s>", "<pad>", "</s>", "<unk>", "<mask>", *LANGUAGES)] == [
        0,
        1,
        2,
        3,
        501,
        502,
        503,
    ]
    assert enc.encode("a", add_special_tokens=True) == [502, *enc.encode("a"), 2]
    same(folder, tuple(LANGUAGES))


def test_the_class_has_to_be_named(tmp_path):
    (tmp_path / "spiece.model").write_bytes(trained(**UNIGRAM))
    with pytest.raises(VocabularyError, match="what the class of transformers makes"):
        Encoding.from_file(tmp_path)
