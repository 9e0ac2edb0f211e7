"""The search for the slowest texts: a recipe always gives the same text, and what is beyond a limit is reported.

Texts of the slowest kinds that it has found take linear time."""

from __future__ import annotations

import json
import sys

import numpy as np
import oracle
import pytest
import worst_texts
import worst_time
from linear import assert_linear, cpu_seconds, feed_all
from worst_texts import Chooser, Recipe, is_broken, make


def chooser(seed: int) -> Chooser:
    return Chooser(oracle.ours("r50k_base").token_byte_values(), seed)


def test_a_recipe_gives_its_text_again():
    makers = chooser(1), chooser(1)
    recipe = makers[0].new()
    makers[1].new()
    kinds = set()
    for _ in range(300):
        step = makers[0].rng.random() < 0.5
        makers[1].rng.random()
        recipes = [maker.changed(recipe) if step else maker.new() for maker in makers]
        assert recipes[0] == recipes[1] == Recipe.from_json(recipes[0].to_json())
        recipe = recipes[0]
        text = make(recipe, 1000)
        assert text == make(recipe, 1000) and 300 < len(text) <= 1000
        assert is_broken(recipe) or text.decode().encode() == text
        kinds.add((recipe.order, bool(recipe.edit), is_broken(recipe)))
    assert len(kinds) > 5


def run(monkeypatch, tmp_path, *arguments: str) -> tuple[int, dict]:
    monkeypatch.setattr(worst_time, "CONFIRMED", 256)
    monkeypatch.setattr(worst_time, "SIZES", (512,) * 3)
    monkeypatch.setattr(worst_time, "CHECKED", 512)
    monkeypatch.setattr(worst_time, "STEEPEST", 100.0)  # so little work cannot be timed
    path = tmp_path / "out.json"
    command = ["worst_time.py", "--inputs", "40", "--encodings", "r50k_base", "--json", str(path), *arguments]
    monkeypatch.setattr(sys, "argv", command)
    return worst_time.main(), json.loads(path.read_text())


def test_the_search_tells_the_worst_and_checks_their_ids(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(worst_time, "LIMITS", dict.fromkeys(worst_time.WAYS, 1e6))
    status, told = run(monkeypatch, tmp_path)
    assert status == 0 and told["inputs"] >= 40
    assert {row["way"] for row in told["rows"]} == set(worst_time.WAYS)
    for row in told["rows"]:
        assert row["differs"] is None and row["ns"] > 0
        assert make(Recipe.from_json(json.dumps(row["recipe"])), 100)
    assert "0 of" in capsys.readouterr().out


def test_what_is_beyond_a_limit_or_has_other_ids_fails_the_search(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(worst_time, "LIMITS", dict.fromkeys(worst_time.WAYS, 0.001))
    assert run(monkeypatch, tmp_path)[0] == 1
    assert "over 0 ns" in capsys.readouterr().out
    monkeypatch.setattr(worst_time, "LIMITS", dict.fromkeys(worst_time.WAYS, 1e6))
    monkeypatch.setattr(worst_time.Subject, "ids", lambda *_: np.array([1, 2, 3]))
    assert run(monkeypatch, tmp_path)[0] == 1
    assert "other ids than" in capsys.readouterr().out


WORST = {
    "random letters": Recipe(tuple(f"{ord(c):02x}" for c in worst_texts.WORD), order="random", edit=135, seed=5),
    "two letters": Recipe(("61", "62"), order="random", seed=1),
    "lines of blanks": Recipe(("20", "0a"), order="cycle", runs=(3000, 1)),
    "long tokens": Recipe(("ിച്ചിരുന്നു".encode().hex(),), runs=(64,)),
    "rulers of 85": Recipe(("e29480", "7a"), runs=(85, 1)),
    "broken bytes": Recipe(("80", "7a6d75"), runs=(16, 1, 29)),
    "near-periodic": Recipe(("616161616162",), edit=300, seed=2),
}


@pytest.mark.parametrize("name", WORST)
@pytest.mark.parametrize("encoding", worst_time.ENCODINGS)
def test_the_worst_texts_have_the_right_ids(name, encoding):
    assert worst_time.subject(encoding).differs(WORST[name]) is None


@pytest.mark.parametrize("name", WORST)
@pytest.mark.parametrize("encoding", ["o200k_base", "o200k_base without pattern"])
def test_the_worst_texts_are_linear(name, encoding):
    enc = oracle.named(encoding)
    errors = "replace" if is_broken(WORST[name]) else "strict"
    texts = {n: make(WORST[name], n) for n in (16384, 131072)}
    options = {"errors": errors, "disallowed_special": ()}
    stream = enc.stream_encoder(**options)
    assert_linear(lambda n: cpu_seconds(lambda: enc.encode_to_numpy(texts[n], **options)), 131072)
    chunks = {n: [text[at : at + 16] for at in range(0, n, 16)] for n, text in texts.items()}
    assert_linear(lambda n: cpu_seconds(lambda: feed_all(stream, chunks[n])), 131072)
