"""Random model files beside Hugging Face's tokenizers, and the tool that compares many: it notices one wrong id, makes
the file small, and resumes."""

from __future__ import annotations

import collections
import json
import pathlib
import subprocess
import sys

import model_campaign
import oracle
import pytest

import streamtok

pytest.importorskip("tokenizers", reason="Hugging Face's tokenizers is the oracle here")

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "model_campaign.py"
FILES = {"default": 100, "ci": 2000, "long": 20_000}[oracle.PROFILE]


def test_random_files_give_what_the_reference_gives(tmp_path):
    counts = collections.Counter[str]()
    for number in range(FILES):
        record, texts, checks = model_campaign.drawn(5, number)
        found = model_campaign.outcome(record, texts, checks, tmp_path)
        assert found["is"] != "differs", (number, found)
        counts[found["is"]] += 1
    assert counts["same"] > FILES * 0.5 and counts["refused"] > FILES * 0.2


@pytest.mark.parametrize(("call", "way"), [("encode", "encode"), ("decode", "decode, skip=False"), ("count", "count")])
def test_a_wrong_answer_is_noticed_and_its_file_made_small(tmp_path, monkeypatch, call, way):
    right = getattr(streamtok.Encoding, call)

    def wrong(self, given, *more, **options):
        made = right(self, given, *more, **options)
        if call == "count":
            return made + 1
        return made * 2 if "ab" in (made if call == "decode" else given) else made

    monkeypatch.setattr(streamtok.Encoding, call, wrong)
    for number in range(100):
        record, texts, checks = model_campaign.drawn(6, number)
        found = model_campaign.outcome(record, texts, checks, tmp_path)
        if found["is"] == "differs":
            break
    assert found["way"] == way
    small = model_campaign.shrunk(record, texts, checks, tmp_path)
    assert small["found"]["way"] == way and small["file"]["normalizer"] is None
    assert len(json.dumps(small["file"])) <= len(json.dumps(record))
    if call == "encode":
        assert small["texts"] == ["ab"]


def test_an_error_that_is_not_documented_counts_as_a_difference(tmp_path, monkeypatch):
    monkeypatch.setattr(streamtok.Encoding, "from_file", lambda path: {}["missing"])
    record, texts, checks = model_campaign.drawn(6, 1)
    assert model_campaign.outcome(record, texts, checks, tmp_path)["way"] == "from_file raises KeyError"


def test_a_campaign_goes_on_where_it_stopped(tmp_path):
    def run(*arguments: str) -> str:
        done = subprocess.run([sys.executable, str(TOOL), *arguments], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    folder = str(tmp_path)
    run("run", folder, "--seed", "7", "--files", "100", "--jobs", "2")
    before = [json.loads(line) for line in (tmp_path / "ledger.jsonl").read_text().splitlines()]
    run("run", folder, "--seed", "7", "--files", "150", "--jobs", "2")
    after = [json.loads(line) for line in (tmp_path / "ledger.jsonl").read_text().splitlines()]
    assert (after[:2], len(after), {row["unit"] for row in after}) == (before, 3, {0, 1, 2})
    assert sum(sum(row["counts"].values()) for row in after) == 150
    assert "| 150 |" in run("report", folder)
