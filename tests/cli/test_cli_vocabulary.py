"""streamtok vocabulary: what its commands write is what the functions return."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
from cli_runs import run

from streamtok.train import Parity, extend, load, merge, prune, report_sources, save, superwords, train

pytest.importorskip("rich")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "0.txt").write_text(oracle.topics()[:30_000])
    (tmp_path / "1.txt").write_text(oracle.corpus("multilingual")[:20_000])
    save(train("0.txt", 500, special_tokens=["<|end|>"], name="base"), "base.tiktoken")
    save(train("1.txt", 500), "other.json")
    return tmp_path


def test_extend_and_superwords_write_what_the_functions_return(here):
    base = load("base.tiktoken")
    result = run("vocabulary", "extend", "base.tiktoken", "1.txt", "--added", "100", "-o", "more.tiktoken")
    assert result.stdout == "" and "100 tokens more than base in more.tiktoken, from 42" in result.stderr
    got, want = load("more.tiktoken"), extend(base, "1.txt", 100, name="more")
    assert got._mergeable_ranks == want._mergeable_ranks and got.training == want.training
    run("vocabulary", "superwords", "base.tiktoken", "*.txt", "--added", ".1k", "-o", "folder", "--max-words", "3")
    got, want = load("folder"), superwords(base, ["0.txt", "1.txt"], 100, max_words=3)
    assert got._mergeable_ranks == want._mergeable_ranks and got._pat_str == want._pat_str
    flags = ("--max-words", "0", "--pattern", "none", "--min-frequency", "3", "--ties", "huggingface")
    run("vocabulary", "superwords", "base.tiktoken", "0.txt", "--added", "50", "-o", "a.tiktoken", *flags)
    want = superwords(base, "0.txt", 50, max_words=None, pattern=None, min_frequency=3, ties="huggingface")
    flags = ("--sample", "0.5", "--seed", "3")
    run("vocabulary", "superwords", "base.tiktoken", "0.txt", "--added", "50", "-o", "s.tiktoken", *flags)
    sampled = superwords(base, "0.txt", 50, sample=0.5, seed=3)
    assert load("s.tiktoken")._mergeable_ranks == sampled._mergeable_ranks
    assert load("a.tiktoken")._mergeable_ranks == want._mergeable_ranks
    run("vocabulary", "extend", "cl100k_base", "1.txt", "--added", "20", "-o", "cl.json", "--checkpoint", "kept")
    assert load("cl.json").n_vocab == 100_297 and (here / "kept" / "train.json").exists()


def test_prune_and_merge_write_what_the_functions_return(here):
    base = load("base.tiktoken")
    flags = ("--dense", "--ids", "ids.npy")
    result = run("vocabulary", "prune", "base.tiktoken", "1.txt", "--left", "400", "-o", "less.tiktoken", *flags)
    assert "400 tokens of base in less.tiktoken" in result.stderr
    want, ids = prune(base, "1.txt", 400, dense=True)
    assert load("less.tiktoken")._mergeable_ranks == want._mergeable_ranks
    assert np.load("ids.npy").tolist() == ids.tolist()
    result = run("vocabulary", "merge", "base.tiktoken", "other.json", "-o", "both.json")
    want = merge(base, load("other.json"))
    assert load("both.json")._mergeable_ranks == want._mergeable_ranks
    assert f"{want.n_vocab:,} tokens in both.json, {want.training['between']} of them of neither" in result.stderr


@pytest.mark.parametrize(
    ("args", "status", "message"),
    [
        (("extend", "base.tiktoken", "0.txt", "--added", "x", "-o", "a.json"), 2, "is no number such as 32000 or 32k"),
        (("extend", "base.tiktoken", "0.txt", "--added", "9", "-o", "0.txt"), 1, "ends in .txt"),
        (("extend", "base.tiktoken", "0.txt", "--added", "9", "-o", "base.tiktoken"), 2, "base.tiktoken"),
        (("extend", "nothing", "0.txt", "--added", "9", "-o", "a.json"), 2, "nothing"),
        (("prune", "base.tiktoken", "0.txt", "--left", "9", "-o", "a.json"), 1, "--left 9 is below 257"),
        (("merge", "base.tiktoken", "o200k_base", "-o", "a.json"), 1, "in different ways"),
        (("merge", "base.tiktoken", "other.json", "-o", "none/a.json"), 2, "there is no folder"),
    ],
)
def test_mistakes_are_told(here, args, status, message):
    assert message in run("vocabulary", *args, status=status).stderr


def test_sources_have_names_weights_and_parity(here):
    sources = {"de": ["0.txt"], "sw": ["1.txt"]}
    flags = ("--source", "de=0.txt", "--source", "sw=1.txt")
    run("train", *flags, "--vocab-size", "400", "-o", "w.tiktoken", "--weight", "sw=2.5", "--temperature", "3")
    got, want = load("w.tiktoken"), train(sources, 400, weights={"sw": 2.5}, temperature=3)
    assert got._mergeable_ranks == want._mergeable_ranks and got.training == want.training
    run("train", "*.txt", "--vocab-size", "400", "-o", "f.tiktoken", "--weight", "1.*=4")
    assert load("f.tiktoken")._mergeable_ranks == train("*.txt", 400, weights={"1.txt": 4})._mergeable_ranks
    run("train", *flags, "--vocab-size", "400", "-o", "p.tiktoken", "--parity")
    want = train(sources, 400, parity=True)
    assert load("p.tiktoken")._mergeable_ranks == want._mergeable_ranks
    texts = ("--parity-text", "de=0.txt", "--parity-text", "sw=1.txt")
    given = ("--added", "50", "--parity", "--window", "9")
    run("vocabulary", "extend", "p.tiktoken", *flags, "-o", "q.tiktoken", *given, *texts)
    want = extend(want, sources, 50, parity=Parity({"de": "0.txt", "sw": "1.txt"}, 9))
    assert load("q.tiktoken")._mergeable_ranks == want._mergeable_ranks


@pytest.mark.parametrize(
    ("args", "status", "message"),
    [
        ((), 2, "name text to learn from: FILE..., or --source NAME=FILE"),
        (("0.txt", "--source", "a=1.txt"), 2, "not both"),
        (("--source", "1.txt"), 2, "--source '1.txt' is not NAME=VALUE"),
        (("0.txt", "--weight", "0.txt"), 2, "--weight '0.txt' is not NAME=N, such as de=0.5"),
        (("0.txt", "--weight", "1.txt=2"), 1, "which is no source"),
        (("0.txt", "--parity"), 1, "write a dict of two or more"),
        (("0.txt", "--parity-text", "a=0.txt"), 2, "add --parity"),
        (("0.txt", "--temperature", "0"), 1, "--temperature 0.0: write 1"),
    ],
)
def test_mistakes_of_names_are_told(here, args, status, message):
    assert message in run("train", *args, "--vocab-size", "300", "-o", "a.json", status=status).stderr


def test_a_report_shows_each_source_before_and_after(here):
    flags = ("--source", "de=0.txt", "--source", "sw=1.txt", "--beside", "other.json", "--beside", "cl100k_base")
    result = run("vocabulary", "report", "base.tiktoken", *flags, "--html", "page.html")
    sources = {"de": "0.txt", "sw": "1.txt"}
    for name in ("base.tiktoken", "other.json"):
        for facts in report_sources(load(name), sources):
            line = next(line for line in result.stdout.splitlines() if f" {facts.tokens:,} " in line)
            assert f"{facts.bytes_per_token:.3f}" in line and f"{facts.tokens_per_word:.3f}  {facts.name}" in line
    page = (here / "page.html").read_text()
    assert "<td>de</td>" in page and "cl100k_base" in page and "Candidates for glitch tokens" in page
    assert (
        "this would write to"
        in run("vocabulary", "report", "base.tiktoken", "0.txt", "--html", "0.txt", status=2).stderr
    )
