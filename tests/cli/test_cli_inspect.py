"""streamtok inspect: borders of tokens show with colours and without, totals are those of count, output has a limit."""

from __future__ import annotations

import json
import os
import re
import sys

import oracle
import pytest
from cli_runs import _enc, on_terminal, run  # noqa: F401

pytest.importorskip("rich")

from streamtok.cli import token_view
from streamtok.view.parts import Splitter, Token

TEXT = "naïve ☕ 日本語\n\n👩‍👩‍👧 <|endoftext|> 12345"
on_posix = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")


@pytest.fixture(autouse=True)
def here(here):
    (here / "in.txt").write_text(TEXT, encoding="utf-8", newline="")
    return here


def borders(shown):
    return [part for part in re.split("[│║\n]", shown) if part]


# ==== Borders and colours ====


@on_posix
@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_without_colours_there_are_borders(enc, environment):
    shown = on_terminal("inspect", "in.txt", **environment).replace("\r\n", "\n")
    assert "\x1b" not in shown
    ids = enc.encode_ordinary(TEXT)
    assert f"{len(ids)} ids, {len(TEXT.encode())} bytes, {len(TEXT)} characters\n" in shown
    assert shown.startswith("│na│ï│ve│ ") and "│ 日本│語│\\n\\n│\n\n│" in shown
    assert len(borders(shown)) == len(ids) + 1  # the line of totals


@on_posix
def test_color_never_and_always(here):
    never = on_terminal("inspect", "--color", "never", "in.txt")
    assert never == on_terminal("inspect", "in.txt", NO_COLOR="1") and "\x1b" not in never
    assert "\x1b[" in on_terminal("inspect", "in.txt")
    assert "\x1b[" in on_terminal("inspect", "--color", "always", "in.txt", NO_COLOR="1", TERM="dumb")
    assert "\x1b[" not in on_terminal("inspect", "--ids", "in.txt", NO_COLOR="1")
    assert "\x1b[" in run("inspect", "--color", "always", "in.txt").stdout
    assert run("inspect", "--color", "never", "in.txt").stdout == run("inspect", "in.txt").stdout


def bordered(tokens, capsys):
    view, splitter = token_view.Bordered(), Splitter()
    for i, (token, is_special) in enumerate(tokens):
        view.show(Token(i, i, token, 0, is_special, list(splitter.parts(token))))
    view.end()
    return capsys.readouterr().out


def test_borders_are_told_from_text(capsys):
    shown = bordered([(b"a", False), (b"<x>", True), (b"<y>", True), (b"b\xf0", False), ("│".encode(), False)], capsys)
    assert shown.startswith("│a║<x>║<y>║b<f0>│")
    assert bordered([("a│b\x1b".encode(), False)], capsys) == "│a\\│b\\x1b│\n"
    assert bordered([(b"a\n\n", False), (b"b", False), (b"\n", False)], capsys) == "│a\\n\\n│\n\n│b│\\n│\n"
    assert bordered([], capsys) == ""


def test_borders_are_ascii_where_the_terminal_knows_no_others(monkeypatch):
    class Old:
        encoding = "ascii"

    monkeypatch.setattr(sys, "stdout", Old)
    assert token_view.Bordered()._border == "|"


# ==== Totals, limits, JSON ====


def test_totals_are_those_of_count(here, enc):
    text = oracle.topics()[:100_000] + TEXT
    (here / "long.txt").write_text(text, encoding="utf-8", newline="")
    count = json.loads(run("count", "--json", "long.txt").stdout)
    facts = f"{count['tokens']:,} ids, {count['bytes']:,} bytes, {len(text):,} characters"
    assert run("inspect", "long.txt").stderr == f"{facts}\n"
    cut = run("inspect", "long.txt", "--limit", "7")
    assert cut.stderr == f"{facts}; shown are the first 7 ids (--limit)\n"
    assert cut.stdout == "".join(run("inspect", "long.txt").stdout.splitlines(keepends=True)[:7])
    silent = run("inspect", "--limit", "0", input=text.encode())
    assert silent.stdout == "" and silent.stderr == f"{facts}\n"
    assert run("inspect", "-t", "").stderr == "0 ids, 0 bytes, 0 characters\n"


@on_posix
def test_a_terminal_gets_no_megabytes(here, enc):
    text = oracle.topics()[:200_000]
    (here / "long.txt").write_text(text, encoding="utf-8", newline="")
    shown = on_terminal("inspect", "long.txt", NO_COLOR="1")
    assert len(shown) < 20_000 and f"{enc.count(text):,} ids" in shown and "first 2,000 ids" in shown
    assert "first 5 ids" in on_terminal("inspect", "long.txt", "--limit", "5")


def test_json_holds_every_token(here, enc):
    report = json.loads(run("inspect", "--json", "in.txt", "--allow-special", "all").stdout)
    ids = enc.encode(TEXT, allowed_special="all")
    tokens = report.pop("tokens")
    assert [token["id"] for token in tokens] == ids
    data = TEXT.encode()
    for token, after in zip(tokens, [*tokens[1:], {"offset": len(data)}]):
        assert data[token["offset"] : after["offset"]].hex() == token["bytes"]
        assert token["text"] is None or token["text"].encode().hex() == token["bytes"]
    assert [token["text"] for token in tokens if token["special"]] == ["<|endoftext|>"]
    assert {token["text"] for token in tokens} >= {None, " 日本"}
    totals = {"encoding": "o200k_base", "ids": len(ids), "bytes": len(data), "characters": len(TEXT), "shown": len(ids)}
    assert report == totals
    cut = json.loads(run("inspect", "--json", "in.txt", "--limit", "2").stdout)
    assert len(cut["tokens"]) == 2 and cut["ids"] > 2
    assert json.loads(run("inspect", "--json", "-t", "").stdout)["tokens"] == []


def test_characters_are_those_of_the_text_as_it_is_encoded():
    assert "2 ids, 2 bytes, 2 characters" in run("inspect", "--errors", "replace", input=b"a\xff").stderr
    assert os.listdir() == ["in.txt"]


@pytest.mark.parametrize("variable", [{}, {"TERM": "dumb"}, {"TERM": "unknown"}, {"NO_COLOR": "1"}])
def test_what_a_terminal_says_of_colours(monkeypatch, variable):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for name in ("TERM", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variable.items():
        monkeypatch.setenv(name, value)
    assert token_view.is_coloured("auto") == (not variable)
