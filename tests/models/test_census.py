"""The census of a folder of model files: kinds, verdicts, and how many model types a class stands for."""

from __future__ import annotations

import json
import pathlib
import sys

import made_models
import pytest
from small_models import record

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools"))
import census


def test_classes_by_how_many_model_types_they_stand_for():
    map_of = {"t5": "T5Tokenizer", "umt5": "T5TokenizerFast", "x": "TokenizersBackend", "y": None, "z": "OddTokenizer"}
    assert census.weights(map_of) == [
        ("T5Tokenizer", 2, "spiece.model"),
        ("TokenizersBackend", 1, "the file decides"),
        ("OddTokenizer", 1, "nothing else"),
    ]
    assert {"GPT2Tokenizer", "CLIPTokenizer", "BertTokenizer", "LlamaTokenizer"} <= census.SLOW.keys()


def test_each_file_once_with_its_verdict(tmp_path):
    made = {"a/tokenizer.json": record(), "b/copy.json": record(), "c/x.json": made_models.wordpiece()}
    made["d/tokenizer.json"] = {**record(), "model": {**record()["model"], "dropout": 0.5}}
    for name, content in made.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(json.dumps(content))
    found = {path.parent.name: (path, kind) for path, kind in census.files(tmp_path)}
    assert {name: kind for name, (_, kind) in found.items()} == {
        "a": "tokenizer.json BPE",
        "c": "tokenizer.json WordPiece",
        "d": "tokenizer.json BPE",
    }
    rows = [{"file": name, "kind": kind, **census.one(path, kind, (), 20)} for name, (path, kind) in found.items()]
    assert [row["verdict"] for row in rows] == ["same", "same", "refused"]
    assert "| tokenizer.json BPE | 2 | 1 | 1 |" in census.tables(rows)


def test_models_of_sentencepiece(tmp_path):
    sentencepiece = pytest.importorskip("sentencepiece", reason="the package sentencepiece is not installed")
    prefix = str(tmp_path / "m")
    text = iter(["the words of a text, and others"] * 20)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=text, model_prefix=prefix, model_type="char", vocab_size=20, minloglevel=2
    )
    ((path, kind),) = census.files(tmp_path)
    assert kind == "sentencepiece Char" and census.one(path, kind, (), 20)["verdict"] == "same"
