"""What save() writes: three forms, each read back here and by the programs that it is for; damage of all kinds."""

from __future__ import annotations

import importlib.util
import json
import pickle
import random
import shutil

import nasty
import oracle
import pytest

import streamtok
from streamtok.train import TrainedEncoding, draw, load, report, save, train

SPECIAL = ["<|endoftext|>", "<|fim|>"]
FORMS = ("mine.tiktoken", "tokenizer.json", "folder")
needs_tokenizers = pytest.mark.skipif(
    importlib.util.find_spec("tokenizers") is None, reason="not installed: tokenizers"
)


@pytest.fixture(scope="module", params=["cl100k", "o200k", "r50k", None, r"\w+|[^\w\s]+|\s+"], ids=str)
def trained(request) -> TrainedEncoding:
    ties = "huggingface" if request.param == "o200k" else "lexicographic"
    text = oracle.topics()[:50_000] + "été 中文 1234567 don't\r\n\n"
    return train(iter([text]), 700, pattern=request.param, special_tokens=SPECIAL, ties=ties, name="mine")


def texts() -> list[str]:
    rng = random.Random(5)
    return [
        oracle.topics()[60_000:90_000],
        oracle.stdlib_sources()[:30_000],
        *nasty.FIXED,
        *nasty.random_strings(rng, 300, 40),
    ]


@pytest.mark.parametrize("form", FORMS)
def test_what_is_saved_is_loaded(tmp_path, trained, form):
    save(trained, tmp_path / form)
    again = load(tmp_path / form)
    assert again._mergeable_ranks == trained._mergeable_ranks
    assert again._pat_str == trained._pat_str and again._special_tokens == trained._special_tokens
    text = oracle.topics()[:3000] + "<|fim|>"
    assert again.encode(text, allowed_special="all") == trained.encode(text, allowed_special="all")
    if form != "tokenizer.json":
        assert again.training == trained.training and again.name == "mine"
        assert again.training["merges"] == 442 and again.training["ties"]
    assert not list(tmp_path.rglob("*.partial"))


@needs_tokenizers
def test_a_tokenizer_json_gives_hugging_face_the_same_ids(tmp_path, trained):
    from tokenizers import Tokenizer

    save(trained, tmp_path / "tokenizer.json")
    theirs = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert theirs.get_vocab_size() == trained.n_vocab
    for text in texts():
        if "\ud800" <= max(text, default="") <= "\udfff":
            continue
        assert theirs.encode(text).ids == trained.encode(text, allowed_special="all"), text[:200]
    text = "a b<|endoftext|>c <|fim|>"
    ids = trained.encode(text, allowed_special="all")
    assert theirs.encode(text).ids == ids and theirs.decode(ids, skip_special_tokens=False) == text


@needs_tokenizers
def test_vocab_and_merges_give_hugging_face_the_same_tokens(tmp_path, trained):
    from tokenizers import Tokenizer
    from tokenizers.models import BPE

    save(trained, tmp_path / "folder")
    bpe = BPE.from_file(str(tmp_path / "folder" / "vocab.json"), str(tmp_path / "folder" / "merges.txt"))
    assert Tokenizer(bpe).get_vocab_size() == trained.n_vocab
    from streamtok.bundled.gpt2_files import in_letters

    for piece in (b" something", b"documentation", b"1234567", "中文".encode()):
        want = trained._encode_single_piece(piece)
        assert [token.id for token in bpe.tokenize(in_letters(piece))] == want


def test_tiktoken_reads_the_ranks(tmp_path, trained):
    tiktoken = pytest.importorskip("tiktoken")
    save(trained, tmp_path / "mine.tiktoken")
    theirs = tiktoken.Encoding(
        "mine",
        pat_str="(?s:.+)" if trained._pat_str is None else trained._pat_str,
        mergeable_ranks=streamtok.train.saving.load_tiktoken_bpe(tmp_path / "mine.tiktoken"),
        special_tokens=trained._special_tokens,
    )
    text = oracle.topics()[:20_000] + SPECIAL[0]
    assert theirs.encode(text, allowed_special="all") == trained.encode(text, allowed_special="all")


def test_an_encoding_that_was_not_trained_here_is_saved_too(tmp_path):
    enc = streamtok.get_encoding("r50k_base")
    save(enc, tmp_path / "a.tiktoken")
    again = load(tmp_path / "a.tiktoken")
    assert again._mergeable_ranks == enc._mergeable_ranks and again.name == "r50k_base"


def test_a_trained_encoding_is_pickled(trained):
    again = pickle.loads(pickle.dumps(trained))
    assert again.training == trained.training and again.encode("some text") == trained.encode("some text")


# ==== damage ====


@pytest.fixture
def saved(tmp_path):
    enc = train(iter([oracle.topics()[:20_000]]), 400, special_tokens=SPECIAL)
    for form in FORMS:
        save(enc, tmp_path / form)
    return tmp_path


def refused(path, place: str, *words: str, line: int | None = None) -> None:
    with pytest.raises(streamtok.VocabularyError) as caught:
        load(path)
    assert str(caught.value.path).endswith(place), caught.value
    assert caught.value.line is not None or place == "tokenizer.json", caught.value
    assert line is None or caught.value.line == line, caught.value
    for word in words:
        assert word in str(caught.value)


def edit(path, old: str, new: str) -> int:
    """Replaces text that is there once or more, at its first place; returns the line."""
    text = path.read_text()
    at = text.index(old)
    path.write_text(text[:at] + new + text[at + len(old) :])
    return text.count("\n", 0, at) + 1


def test_a_damaged_tiktoken_file(saved):
    ranks = saved / "mine.tiktoken"
    line = edit(ranks, " 300\n", " 3000000000\n")
    refused(ranks, "mine.tiktoken", "3000000000", line=line)
    edit(ranks, " 3000000000\n", " 301\n")
    refused(ranks, "mine.tiktoken", line=line + 1)
    save(load(saved / "folder"), ranks)
    lines = ranks.read_text().splitlines(keepends=True)
    ranks.write_text("".join(lines[:-20]))
    refused(ranks, "mine.tiktoken", "sha256")


@pytest.mark.parametrize(
    ("form", "name"), [("mine.tiktoken", "mine.tiktoken.json"), ("folder", "folder/training.json")]
)
def test_damaged_facts(saved, form, name):
    facts = saved / name
    whole = facts.read_text()
    line = edit(facts, '"version": 1', '"version": 9')
    refused(saved / form, name, "version 1")
    facts.write_text(whole)
    line = edit(facts, '"pattern": ', '"pattern" ')
    refused(saved / form, name, "not JSON", line=line)
    facts.write_text(whole)
    line = edit(facts, '"n_vocab": 400', '"n_vocab": "many"')
    refused(saved / form, name, "n_vocab", line=line)
    facts.write_text(whole)
    line = edit(facts, '"<|fim|>": 399', '"<|fim|>": 5')
    refused(saved / form, "vocab.json" if form == "folder" else name)
    facts.write_text(whole)
    edit(facts, '"special_tokens"', '"special"')
    refused(saved / form, name, "special_tokens")
    facts.write_bytes(b"\xff" + whole.encode())
    refused(saved / form, name, "UTF-8", line=1)
    facts.write_text(whole[: len(whole) // 2])
    refused(saved / form, name)
    facts.write_text("[1, 2]")
    refused(saved / form, name, "object")


def test_a_damaged_tokenizer_json(saved):
    path = saved / "tokenizer.json"
    whole = path.read_text()
    for old, new, word in (
        ('"type": "BPE"', '"type": "Lattice"', "of type 'Lattice'"),
        (": 300,\n", ": 301,\n", "both have id 301"),
        (": 300,\n", ': "x",\n', "no whole number"),
        (": 300,\n", ":: 300,\n", "model.vocab, entry 301"),
        ('["h", "e"]', '["h", "\u4e2d"]', "what is no token"),
        ('["h", "e"]', '["h", "Q"]', "what is no token"),
        ('"content": "<|fim|>"', '"content": 7', "content"),
        ('"vocab"', '"vocabulary"', "vocab"),
    ):
        path.write_text(whole)
        edit(path, old, new)
        refused(path, "tokenizer.json", word)
    path.write_text(whole[:-300])
    refused(path, "tokenizer.json", "")


def test_a_tokenizer_json_that_says_more_is_loaded_as_from_file_does(saved):
    path = saved / "tokenizer.json"
    whole, text = path.read_text(), oracle.topics()[:3000] + "e\u0301 hehe"
    for old, new in (
        ('"Isolated"', '"MergedWithNext"'),
        ('["h", "e"],\n', ""),
        ('"normalizer": null', '"normalizer": {"type": "NFC"}'),
        ('"special": true', '"special": false'),
    ):
        path.write_text(whole)
        edit(path, old, new)
        made = load(path)
        assert isinstance(made, TrainedEncoding) and made.training == {}
        assert made.encode(text) == streamtok.Encoding.from_file(path).encode(text)


def test_damaged_merges(saved):
    path = saved / "folder" / "merges.txt"
    whole = path.read_text()
    lines = whole.splitlines(keepends=True)
    for content, number, word in (
        ("".join([*lines[:20], "abc\n", *lines[21:]]), 21, "no merge"),
        ("".join([*lines[:20], lines[21], lines[20], *lines[22:]]), 22, "later than its id"),
        ("".join(lines[:-5]), None, "lost"),
        ("".join(lines[1:]), 1, "first line"),
        (whole[:-1], None, "cut off"),
    ):
        path.write_text(content)
        refused(saved / "folder", "merges.txt", word, line=number)
    shutil.rmtree(saved / "folder")
    with pytest.raises(FileNotFoundError):
        load(saved / "folder")


@pytest.mark.parametrize("form", FORMS)
def test_random_damage_is_refused_or_harmless(saved, form):
    """One byte is changed anywhere. The result is VocabularyError with path and line, or an encoding."""
    rng = random.Random(form)
    names = {"folder": ["folder/vocab.json", "folder/merges.txt", "folder/training.json"]}
    names |= {"mine.tiktoken": ["mine.tiktoken", "mine.tiktoken.json"], "tokenizer.json": ["tokenizer.json"]}
    for name in names[form]:
        path = saved / name
        whole = path.read_bytes()
        for _ in range(60):
            at = rng.randrange(len(whole))
            path.write_bytes(whole[:at] + bytes([rng.randrange(256)]) + whole[at + 1 :])
            try:
                load(saved / form)
            except streamtok.VocabularyError as error:
                assert error.path is not None and (error.line is not None or form == "tokenizer.json"), error
        path.write_bytes(whole)
    load(saved / form)


# ==== the report ====


def test_report_on_held_out_text(tmp_path):
    enc = train(iter([oracle.topics()[:100_000]]), 2000, special_tokens=SPECIAL)
    held_out = oracle.topics()[200_000:240_000] + SPECIAL[0]
    points = report(enc, iter([held_out]))
    assert points[0].n_vocab == 256 and points[0].bytes_per_token == 1.0 and points[-1].n_vocab == 1998
    assert [point.bytes_per_token for point in points] == sorted(point.bytes_per_token for point in points)
    assert points[-1].tokens == len(enc.encode_ordinary(held_out))
    (tmp_path / "held.txt").write_text(held_out)
    assert report(enc, tmp_path / "held.txt", sizes=[1998]) == [points[-1]]
    with pytest.raises(ValueError, match="from 256 to 1998"):
        report(enc, iter([held_out]), sizes=[100])
    with pytest.raises(ValueError, match="no held-out text"):
        report(enc, b"")
    pytest.importorskip("matplotlib")
    draw(points, tmp_path / "a.svg")
    assert b"<svg" in (tmp_path / "a.svg").read_bytes()


def test_report_of_a_pattern_that_must_not_be_cut(monkeypatch, tmp_path):
    monkeypatch.setattr("streamtok.train.inputs.CHUNK", 100)
    enc = train(iter([oracle.topics()[:5000]]), 400, pattern=r"\w+|\W+")
    (tmp_path / "a").write_text(oracle.topics()[:5000])
    assert report(enc, tmp_path / "a")[-1].tokens == enc.count(oracle.topics()[:5000])


def test_facts_are_json(saved):
    facts = json.loads((saved / "mine.tiktoken.json").read_text())
    assert facts["training"]["bytes"] == len(oracle.topics()[:20_000].encode()) and facts["special_tokens"] == {
        "<|endoftext|>": 398,
        "<|fim|>": 399,
    }


@pytest.mark.parametrize("name", ["v.bin", "v.TXT", "v.parquet", "v.gz", "v.safetensors"])
def test_a_suffix_of_another_format_is_no_vocabulary(tmp_path, name):
    enc = train(iter(["some words and some more words"]), 270)
    with pytest.raises(ValueError, match=r"ends in \.\w+, and a vocabulary is NAME\.tiktoken, NAME\.json or a folder"):
        save(enc, tmp_path / name)
    assert not (tmp_path / name).exists()
    (tmp_path / name).mkdir()
    save(enc, tmp_path / name)
    assert load(tmp_path / name).fingerprint == enc.fingerprint
    save(enc, tmp_path / "V.JSON")
    assert load(tmp_path / "V.JSON").encode("some words") == enc.encode("some words")


def test_transformers_reads_a_folder(tmp_path):
    """The file beside tokenizer.json names the class, so no config.json is needed; the ids are those of tokenizers."""
    tokenizers = pytest.importorskip("tokenizers")
    enc = train(iter([oracle.topics()[:50_000]]), 500, pattern="cl100k", special_tokens=SPECIAL)
    save(enc, tmp_path / "mine")
    config = json.loads((tmp_path / "mine" / "tokenizer_config.json").read_text())
    assert config["tokenizer_class"] == "PreTrainedTokenizerFast"
    other = tokenizers.Tokenizer.from_file(str(tmp_path / "mine" / "tokenizer.json"))
    text = oracle.topics()[60_000:70_000] + SPECIAL[0]
    assert enc.encode(text, allowed_special="all") == other.encode(text).ids
    assert streamtok.Encoding.from_file(tmp_path / "mine").encode(text, allowed_special="all") == other.encode(text).ids
