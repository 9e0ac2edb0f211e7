"""Reports by source, and the page about a vocabulary: their figures are those of counting anew."""

from __future__ import annotations

import html.parser
import json
import re

import made_models
import oracle
import pytest

import streamtok
from streamtok.train import SourceFacts, merge, report_page, report_sources, train
from streamtok.train.huggingface import merges_of


def texts() -> dict[str, bytes]:
    return {
        "en": oracle.topics()[50_000:60_000].encode(),
        "<b>": oracle.corpus("multilingual")[:8000].encode(),
    }


@pytest.fixture(name="enc")
def _enc() -> streamtok.Encoding:
    return train(iter([oracle.topics()[:50_000], "mixedх мixed <script>alert(1)</script> " * 90]), 900, name="a<i>b")


def test_facts_of_sources_are_those_of_counting(enc, tmp_path):
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": f"line {i} of it"}) + "\n" for i in range(7)))
    found = report_sources(enc, texts() | {"lines": tmp_path / "a.jsonl"})
    for each, (name, data) in zip(found, texts().items()):
        text = data.decode()
        words = len([*re.finditer(r"[^\W_]+", text)])
        assert each[:3] == (name, 1, len(data)) and each.tokens == len(enc.encode(text, disallowed_special=()))
        assert each.bytes_per_token == len(data) / each.tokens and each.tokens_per_word == each.tokens / each.words
        assert name != "en" or each.words == words
    assert found[2][:4] == ("lines", 7, 7 * 12, 28) and found[2].tokens_per_document == found[2].tokens / 7
    empty = SourceFacts("a", 0, 0, 0, 0)
    assert (empty.bytes_per_token, empty.tokens_per_word, empty.tokens_per_document) == (0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="there is no held-out text to count the tokens of"):
        report_sources(enc, b"")


class Reader(html.parser.HTMLParser):
    """What a page says, by headings; every element is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.sections: dict[str, list[str]] = {}
        self.title = ""

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "rect", "!doctype"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag != "rect":
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] in (["h1"], ["h2"]):
            self.title = data
        self.sections.setdefault(self.title, []).append(data)


def page_of(enc, path, **options) -> dict[str, list[str]]:
    report_page(enc, texts(), path, **options)
    reader = Reader()
    reader.feed(path.read_text("utf-8"))
    assert not reader.open
    return reader.sections


def test_the_page_has_the_tokens_that_the_text_does_not_use(enc, tmp_path):
    sections = page_of(enc, tmp_path / "page.html", beside=["o200k_base", merge(enc, enc, name="twin")], most=10_000)
    assert "a<i>b" in sections and "<b>" in sections["Compression"] and "twin" in sections["Compression"]
    used = {token for data in texts().values() for token in enc.encode(data.decode(), disallowed_special=())}
    parts = {part for pair in merges_of(enc) for part in pair}
    leaves = {
        token
        for data, token in enc._mergeable_ranks.items()
        if token not in used and data not in parts and len(data) > 1
    }
    shown = {int(text) for text in sections["Dead tokens"] if text.isdecimal()}
    assert shown == leaves and len(leaves) > 5
    mixed = {int(text) for text in sections["Tokens of several scripts"] if text.isdecimal()}
    assert mixed == {
        token
        for data, token in enc._mergeable_ranks.items()
        if re.search("[a-z]", text := data.decode(errors="ignore")) and re.search("[\u0430-\u044f]", text)
    }
    assert mixed
    glitches = {int(text) for text in sections["Candidates for glitch tokens"] if text.isdecimal()}
    assert glitches and glitches <= leaves
    longest = max(map(len, enc._mergeable_ranks))
    first = next(int(text) for text in sections["Longest tokens"] if text.isdecimal())
    assert len(enc.decode_single_token_bytes(first)) == longest
    for facts in report_sources(enc, texts()):
        assert f"{facts.bytes_per_token:.2f} " in sections["Compression"]
    assert "<script>" not in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("kind", ["bytes_llama3", "characters", "wordpiece"])
def test_models_of_files_have_pages(kind, tmp_path):
    pytest.importorskip("tokenizers")
    path = tmp_path / "model.json"
    path.write_text(json.dumps(made_models.MADE[kind]()))
    model = streamtok.Encoding.from_file(path)
    sections = page_of(model, tmp_path / "page.html", beside=())
    assert f"{model.n_vocab:,} tokens" in "".join(sections[str(path)])
