"""Pages of tokens: what they hold, what no text can do to them, and what a browser makes of them."""

from __future__ import annotations

import base64
import functools
import hashlib
import html.parser
import json
import re
import shutil

import numpy as np
import pytest
from cli_runs import run

import streamtok
from streamtok.view import parts
from streamtok.view.page import TokenPage
from streamtok.view.script import STYLE

HOSTILE = [
    "</script><script>window.broken = 1</script>",
    "</b></div></section></main><img src=x onerror='window.broken=1'>",
    '" onmouseover="window.broken=1" x="\' onclick=\'window.broken=1',
    "<!-- <![CDATA[ --> ]]> <style>*{display:none}</style> <iframe srcdoc=x>",
    "&lt;script&gt; &#60;b&#62; &amp; &",
    "\u202eevil\u202c \u2066a\u2069 \u200f \u061c \u2028 \u2029 \u0085",
    "\x00\x01\x1b[31m\x7f \r\n \t \ufeff \u200d \ufffe",
    "${window.broken=1} {{7*7}} `x` \\u003cscript\\u003e",
    "👩‍👩‍👧 naïve ☕ e\u0301\u0301\u0301 עברית مرحبا 日本語 \U000e0041",
    "javascript:alert(1) http://example.com/x.js",
]
TAGS = {
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "header",
    "h1",
    "input",
    "button",
    "output",
    "main",
    "section",
}
TAGS |= {"h2", "p", "div", "b", "i", "footer", "script"}


class Reader(html.parser.HTMLParser):
    """The elements of a page with their attributes, and its text outside of style and script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.elements and self.elements[-1][0] not in ("style", "script"):
            self.text.append(data)

    @property
    def tokens(self) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.elements if tag == "b"]


def test_hostile_texts_stay_in_their_places():
    names = ["o200k_base", "gpt2"]
    for text in [*HOSTILE, "\n".join(HOSTILE)]:
        page = str(streamtok.view_html(text, names, title=text))
        made = Reader(page)
        assert {tag for tag, _ in made.elements} <= TAGS and page.count("<script") == page.count("</script") == 1
        allowed = {"class", "data-n", "data-i", "data-o", "data-b"}
        assert all(set(token) == allowed for token in made.tokens)
        ids = [i for name in names for i in streamtok.get_encoding(name).encode_ordinary(text)]
        assert [int(token["data-i"]) for token in made.tokens] == ids
        data = bytes.fromhex("".join(token["data-b"] for token in made.tokens))
        assert data.decode() == 2 * text
        # Nothing that turns the reading direction, breaks a line or is not to be seen reaches the page.
        shown = page.replace("\n", "")
        assert shown.isprintable(), ascii([c for c in shown if not c.isprintable()])


def test_what_a_page_says():
    enc = streamtok.get_encoding("o200k_base")
    page = str(streamtok.view_html("a ☕<|endoftext|>b\n", [enc, enc], allowed_special="all", limit=4))
    said = [text for text in Reader(page).text if " ids of " in text]
    assert said == ["6 ids of 20 bytes, 3.33 bytes an id; shown are the first 4"] * 2
    made = Reader(str(streamtok.view_html("x 🤗\n<|endoftext|>", enc, allowed_special="all")))
    assert [token["class"] for token in made.tokens][-1] == "s"
    assert "<f0><9f><a4>" in "".join(made.text) and "=🤗" in "".join(made.text)
    assert [int(token["data-o"]) for token in made.tokens] == [0, 1, 5, 6, 7][: len(made.tokens)]
    ids = enc.encode("hello world")
    assert str(streamtok.view_html(ids, enc)) == str(streamtok.view_html("hello world", enc))
    assert [token["data-i"] for token in Reader(str(streamtok.view_html("", enc))).tokens] == []
    assert "content=\"default-src 'none'" in page and not re.search("https?:|src=|href=|url\\(", page)
    assert "<title>Tokens</title>" in page
    for kind in ("style", "script"):  # the one of each that the policy allows, by its SHA-256
        (text,) = re.findall(f"<{kind}>(.*?)</{kind}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in page


def test_a_notebook_gets_a_frame_of_its_own():
    made = streamtok.view_html("".join(HOSTILE))
    frame = made._repr_html_()
    ((tag, attributes),) = Reader(frame).elements
    assert tag == "iframe" and attributes["sandbox"] == "allow-scripts" and attributes["srcdoc"] == str(made)
    assert repr(made).startswith("<TokenPage of ") and isinstance(made, TokenPage)


def test_what_is_refused(tmp_path):
    for options, what in [
        ({"limit": 0}, "limit=0: write how many tokens are shown"),
        ({"limit": 2.5}, "limit=2.5"),
        ({"encodings": []}, "encodings are empty"),
        ({"encodings": "nothing"}, "Unknown encoding"),
    ]:
        with pytest.raises(ValueError, match=what):
            streamtok.view_html("a", **options)
    with pytest.raises(UnicodeDecodeError):
        streamtok.view_html(b"\xff")
    with pytest.raises(KeyError):
        streamtok.view_html([10**8], "gpt2")
    with pytest.raises(OSError):
        streamtok.view_html("a").save(tmp_path / "no" / "a.html")
    assert not list(tmp_path.iterdir())


def test_the_command(tmp_path):
    text, out = tmp_path / "in.txt", tmp_path / "out.html"
    text.write_text("\n".join(HOSTILE) * 9, encoding="utf-8", newline="")
    names = ["-e", "o200k_base", "-e", "cl100k_base"]
    run("view", text, *names, "--html", out)
    want = streamtok.view_html(text.read_bytes(), ["o200k_base", "cl100k_base"], title="Tokens of in.txt")
    assert out.read_text(encoding="utf-8") == str(want)
    shown = run("view", "-t", "hello world", "--html", "-", "--limit", "1").stdout
    assert "2 ids of 11 bytes, 5.50 bytes an id; shown are the first 1" in shown and "Tokens of a text" in shown
    assert "--html" in run("view", "-t", "a", status=2).stderr
    assert "in.txt" in run("view", text, "--html", text, status=2).stderr and text.stat().st_size
    assert "No such file" in run("view", "no/such.txt", "--html", out, status=1).stderr
    before = out.read_bytes()
    (tmp_path / "bad.txt").write_bytes(b"a" * 5000 + b"\xff")
    assert "invalid" in run("view", tmp_path / "bad.txt", "--html", out, status=1).stderr
    assert out.read_bytes() == before and sorted(p.name for p in tmp_path.iterdir()) == [
        "bad.txt",
        "in.txt",
        "out.html",
    ]


NAMES = {"bin": "o.bin", "npy": "o.npy", "llmc": "l.bin", "megatron": "m.bin", "datatrove": "o.ds", "dolma": "d.npy"}
NAMES |= {"nanogpt": "n.bin", "mds": "mds", "litdata": "litdata", "parquet": "o.parquet", "arrow": "o.arrow"}


@pytest.mark.parametrize("format", NAMES)
def test_the_command_shows_a_document_of_a_file_of_ids(tmp_path, format):
    if format in ("parquet", "arrow"):
        pytest.importorskip("pyarrow")
    enc, texts, out = streamtok.get_encoding("gpt2"), ["a ☕", "\n".join(HOSTILE[:5]), "x"], tmp_path / "out.html"
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    path = tmp_path / NAMES[format]
    enc.encode_file(tmp_path / "in.jsonl", path, format=format, append_eot=True, index=True)
    options = ["--format", "nanogpt"] if format == "nanogpt" else []
    run("view", path, *options, "--document", 1, "-e", "gpt2", "-e", "o200k_base", "--html", out)
    title = f"Tokens of document 1 of {NAMES[format]}"
    text = texts[1] + "<|endoftext|>"
    want = streamtok.view_html(text, ["gpt2", "o200k_base"], title=title, allowed_special={"<|endoftext|>"})
    first, second = (str(want).index(f"<h2>{name}") for name in ("gpt2", "o200k_base"))
    page = out.read_text(encoding="utf-8")
    assert page[:second] == str(want)[:second] and first < second
    # What the other encoding makes of the text takes special tokens for text, as everywhere without --allow-special.
    plain = [int(token["data-i"]) for token in Reader(page[second:]).tokens]
    assert plain == streamtok.get_encoding("o200k_base").encode_ordinary(text)
    said = run("view", path, *options, "--document", 3, "--html", "-", status=1).stderr
    assert "there is no document 3: the file has 3" in said


def test_documents_that_cannot_be_shown(tmp_path):
    path = tmp_path / "o.bin"
    path.write_bytes(np.array([5, 199_000, 7], "<u4").tobytes())
    (tmp_path / "o.bin.ends").write_bytes(np.array([1, 3], "<u8").tobytes())
    said = run("view", path, "--document", 1, "-e", "gpt2", "--html", "-", status=1).stderr
    assert "id 199000 at position 0 is no token of gpt2: name the encoding that made the ids with -e" in said
    for arguments, status, what in [
        (["-t", "a", "--document", 0], 2, "--document is about files of ids"),
        ([path, "--format", "bin"], 2, "add --document N"),
        ([tmp_path / "none.bin", "--document", 0], 1, "No such file"),
        ([path, "--document", -1], 2, "-1"),
        ([tmp_path, "--document", 0], 1, "index.json"),
    ]:
        assert what in run("view", *arguments, "--html", "-", status=status).stderr


# ==== In a browser ====


@functools.cache
def browser_path() -> str:
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return next((path for path in map(shutil.which, names) if path), "")


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright, which drives a browser, is not installed")
    if not browser_path():
        pytest.skip("there is no Chromium here")
    with sync_api.sync_playwright() as playwright:
        try:
            opened = playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        except sync_api.Error as error:
            pytest.skip(f"Chromium does not start: {error}")
        yield opened
        opened.close()


def test_a_browser_shows_the_tokens_and_runs_nothing_of_the_text(browser, tmp_path):
    text, path = "\n".join(HOSTILE) + "\n hello world, hello", tmp_path / "page.html"
    streamtok.view_html(text, ["o200k_base", "gpt2"], title=HOSTILE[0]).save(path)
    page, said, asked = browser.new_page(), [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    assert page.evaluate("[typeof window.broken, document.scripts.length]") == ["undefined", 1]
    tags = set(page.evaluate("[...document.querySelectorAll('*')].map(e => e.localName)"))
    assert tags <= TAGS
    for column, name in enumerate(("o200k_base", "gpt2")):
        ids = page.evaluate(f"columns[{column}].tokens.map(t => Number(t.dataset.i))")
        assert ids == streamtok.get_encoding(name).encode_ordinary(text)
        assert bytes.fromhex(page.evaluate(f"columns[{column}].hex")).decode() == text

    page.fill("#query", "hello wor")  # across two tokens of each encoding
    assert page.inner_text("#found") == "1 of 2" and page.locator(".here").count() == 2
    page.press("#query", "Enter")
    assert page.inner_text("#found") == "2 of 2"
    page.fill("#query", "#24912")  # " hello" has another id; "hello" is not in the text
    assert page.inner_text("#found") == "not found"
    page.fill("#query", "0xe298")
    assert page.inner_text("#found") == "1 of 2"
    page.fill("#query", "<script>")
    assert page.inner_text("#found") == "1 of 2"

    token = page.locator(".tokens").first.locator("b").last
    token.hover()
    assert "| 20 68 65 6c 6c 6f |" in page.inner_text("#card") and page.inner_text("#card").startswith("id 40617")
    assert page.locator(".same").all_inner_texts() == [" hello"]
    token.click()
    assert (said, asked) == ([], [path.as_uri()])
    colours = set()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        colours.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(colours) == 2
    page.close()


def test_a_notebook_frame_in_a_browser(browser, tmp_path):
    path = tmp_path / "notebook.html"
    frame = streamtok.view_html("".join(HOSTILE))._repr_html_()
    path.write_text(f"<!doctype html><meta charset=utf-8>{frame}", encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    inside = page.frame_locator("iframe")
    inside.locator("b").first.hover()
    assert inside.locator("#card").inner_text().startswith("id ")
    assert page.evaluate("[typeof window.broken, document.querySelectorAll('*').length]")[0] == "undefined"
    page.close()


def test_the_first_byte_tells_the_size_of_a_character():
    sizes = {}
    for code in [*range(0xD800), *range(0xE000, 0x110000, 0x40)]:
        data = chr(code).encode()
        sizes[data[0]] = len(data)
    assert [parts._length(lead) for lead in range(256)] == [sizes.get(lead, 1) for lead in range(256)]
    assert parts._whole_characters(b"\xe4\xc0", 0) == 2 and parts._whole_characters(b"a\xe4\xb8", 0) == 1


def test_each_colour_of_tokens_has_a_style():
    page = Reader(str(streamtok.view_html(" a" * 20, streamtok.get_encoding("r50k_base"))))
    assert {token["class"] for token in page.tokens} == {*re.findall(r"\.(c\d) ", STYLE)}
