"""The campaign against tiktoken: its units are reproducible, it resumes, and it notices one wrong id."""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys

import campaign
import campaign_texts
import numpy as np
import pytest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"


pytest.importorskip("tiktoken", reason="tiktoken is the oracle here")


@pytest.fixture
def worker(tmp_path, monkeypatch) -> campaign.Worker:
    monkeypatch.setattr(campaign_texts, "TEXT_CHARACTERS", 30_000)
    monkeypatch.setattr(campaign_texts.strings, "__defaults__", (400,))
    campaign_texts.unpack(campaign_texts.texts_of_python()[:5], tmp_path / "corpora")
    return campaign.Worker(argparse.Namespace(folder=tmp_path, seed=7, tier="x", device=None))


@pytest.mark.parametrize("kind", ["text", "strings"])
def test_units_agree_with_tiktoken_and_do_not_depend_on_their_worker(worker, kind):
    rows = [worker.unit(kind, number) for number in range(8)]
    again = [worker.unit(kind, number) for number in range(8)]
    assert not any("differs" in row for row in rows)
    assert len({row["ids"] for row in rows}) > 4, "units are much alike"
    for row in rows + again:
        row.pop("seconds")
    assert rows == again


class WrongOnce:
    """An encoding whose ids are right in all calls but one."""

    def __init__(self, right: object, wrong_call: str) -> None:
        self._right, self._wrong_call = right, wrong_call

    def __getattr__(self, name: str) -> object:
        found = getattr(self._right, name)
        if name != self._wrong_call:
            return found

        def wrong(*args, **kwargs):
            ids = found(*args, **kwargs)
            return ids + 1 if isinstance(ids, int) else (np.array(ids[0]) ^ 1, ids[1])

        return wrong


@pytest.mark.parametrize(("kind", "call", "way"), [("text", "count", "count"), ("strings", "encode_ragged", "ragged")])
def test_a_wrong_id_is_noticed_and_its_text_kept(worker, kind, call, way):
    row = worker.unit(kind, 3)
    subject = worker.subjects[row["encoding"]]
    subject.ours = WrongOnce(subject.ours, call)
    again = worker.unit(kind, 3)
    assert again["differs"] == way
    assert again["difference"]["got"][0] != again["difference"]["want"][0]
    assert (worker.arguments.folder / f"differs-{kind}-3.txt").stat().st_size >= row["bytes"]


def run(folder: pathlib.Path, *options: str) -> str:
    command = [sys.executable, str(TOOLS / "campaign.py"), "run", str(folder), "--jobs", "1", *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.slow
def test_a_campaign_goes_on_where_it_was(tmp_path):
    run(tmp_path, "--bytes", "1", "--strings", "1")
    ledger = tmp_path / "ledger.jsonl"
    first = [json.loads(line) for line in ledger.read_text().splitlines()]
    assert sorted((row["kind"], row["unit"]) for row in first) == [("strings", 1), ("text", 0)]
    ledger.write_text(ledger.read_text() + '{"kind": "te')  # a crash cut the line off
    run(tmp_path, "--bytes", "1", "--strings", "50001")
    rows = campaign.Ledger(tmp_path).rows
    assert [(row["kind"], row["unit"]) for row in rows[2:]] == [("strings", 3)]
    assert "differing units" in campaign.totals_by(rows, "encoding")
