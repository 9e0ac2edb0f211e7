"""Weights and parity by source: merges are those of the naive trainer over weighted counts, and of the definition."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import naive_trainer
import oracle
import pytest

from streamtok.train import Parity, ResumeError, extend, superwords, train
from streamtok.train.huggingface import merges_of
from streamtok.train.options import ALPHABETS
from streamtok.train.sources import Weights, _whole_numbers

TIES = ("lexicographic", "huggingface")


def sample(name: str, size: int, part: int = 3) -> str:
    text = oracle.corpus(name)
    return text[len(text) // part : len(text) // part + size]


TEXTS = {"en": sample("english", 5000), "code": sample("code", 3000), "more": sample("multilingual", 2500)}


def pieces(text: str, pattern: str = "cl100k") -> list[bytes]:
    return [
        piece.encode() if isinstance(piece, str) else piece for piece in oracle.ours(f"{pattern}_base").pieces(text)
    ]


def weighted(factors: dict[str, int]) -> list[bytes]:
    return [piece for name, factor in factors.items() for piece in pieces(TEXTS[name]) * factor]


# ==== weights ====


@pytest.mark.parametrize("ties", TIES)
def test_weighted_merges_are_those_of_text_that_stands_so_often(ties):
    sources = {name: text.encode() for name, text in TEXTS.items()}
    enc = train(sources, 406, ties=ties, weights={"en": 0.5, "more": 3})
    want = naive_trainer.learn(weighted({"en": 1, "code": 2, "more": 6}), 150, ties, alphabet=ALPHABETS[ties])
    assert merges_of(enc) == want
    assert enc.training["weights"] == [1, 2, 6] and enc.training["weight_unit"] == 2
    assert merges_of(train(sources, 406, ties=ties, weights={"*": 7})) == merges_of(train(sources, 406, ties=ties))
    with pytest.warns(UserWarning, match="no more than"):
        few = train(sources, 2000, ties=ties, weights={"en": 0.5, "more": 3}, min_frequency=30)
    everything = naive_trainer.learn(
        weighted({"en": 1, "code": 2, "more": 6}), 2000, ties, least=60, alphabet=ALPHABETS[ties]
    )
    assert merges_of(few) == everything


def test_files_are_weighed_by_name_threads_memory_and_interruptions_change_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("streamtok._batch.cores", lambda: 4)
    monkeypatch.setattr("streamtok.train.inputs.CHUNK", 1000)
    monkeypatch.setattr("streamtok.train.counting._LEAST_BUDGET", 1 << 16)
    for name, text in TEXTS.items():
        (tmp_path / f"{name}.txt").write_text(text)
    want = merges_of(train({name: text.encode() for name, text in TEXTS.items()}, 600, weights={"code": 4}))
    assert merges_of(train("*.txt", 600, weights={"c*.txt": 4}, threads=3)) == want
    monkeypatch.setattr("streamtok.train.run.Run._budget", lambda self: 1 << 16)
    assert merges_of(train("*.txt", 600, weights={"code.txt": 4}, threads=2, max_memory=200 << 20)) == want
    monkeypatch.setattr("streamtok.train.run.CHECKPOINT_SECONDS", 0.0)
    calls = [0]

    def stop(at):
        calls[0] += 1
        if calls[0] % 5 == 0:
            raise KeyboardInterrupt

    for _ in range(99):
        try:
            enc = train("*.txt", 600, weights={"code.txt": 4}, checkpoint="kept", progress=stop)
            break
        except KeyboardInterrupt:
            continue
    assert merges_of(enc) == want and calls[0] > 8
    with pytest.raises(ResumeError, match="option weights was"):
        train("*.txt", 600, weights={"code.txt": 5}, checkpoint="kept")


def test_a_vocabulary_goes_on_with_weights():
    base = train(iter([sample("english", 9000, 2)]), 400)
    sources = {name: text.encode() for name, text in TEXTS.items()}
    enc = extend(base, sources, 80, weights={"more": 5})
    want = naive_trainer.learn(weighted({"en": 1, "code": 1, "more": 5}), 80, "lexicographic", start=merges_of(base))
    assert merges_of(enc)[144:] == want
    assert superwords(base, sources, 30, weights={"more": 5}).training["weights"] == [1, 1, 5]


def test_temperature_makes_small_sources_weigh_more():
    sources = {name: text.encode() for name, text in TEXTS.items()}
    same = train(sources, 500, temperature=1)
    assert merges_of(same) == merges_of(train(sources, 500))
    for temperature in (2, 5.0, 1e6):
        enc = train(sources, 500, temperature=temperature)
        sizes = [len(text) for text in sources.values()]
        shares = [size * factor for size, factor in zip(sizes, enc.training["weights"])]
        wanted = [size ** (1 / temperature) for size in sizes]
        for share, want in zip(shares, wanted):
            assert share / sum(shares) == pytest.approx(want / sum(wanted), rel=0.002)
        assert sum(shares) / enc.training["weight_unit"] == pytest.approx(sum(sizes), rel=0.002)


def test_factors_keep_the_ratios_of_weights():
    rng = random.Random(3)
    for _ in range(200):
        weights = [Fraction(rng.randrange(1, 30), rng.randrange(1, 8)) for _ in range(rng.randrange(1, 6))]
        made = _whole_numbers(weights)
        assert [Fraction(factor, made.unit) for factor in made.factors] == weights
    near = _whole_numbers([Fraction(1, 3), Fraction(10**7 + 1, 10**7)])
    assert near.factors[0] >= 1000 and near.factors[1] / near.factors[0] == pytest.approx(3, rel=0.001)
    assert _whole_numbers([Fraction(1)]) == Weights([1], 1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"weights": {"de": 2}}, "weights names 'de', which is no source: there are 'en', 'code', 'more'"),
        ({"weights": {"en": 0}}, "the weight of 'en' is 0: write a number above 0"),
        ({"weights": {"en": float("inf")}}, "the weight of 'en' is inf"),
        ({"weights": {"en": 1e-9}}, "times as much as another: 1000000 times is the most"),
        ({"temperature": 0.5}, "temperature=0.5: write 1, where text weighs as much as there is, or more"),
        ({"temperature": 2, "device": "cuda"}, "device='cuda' with weights: text is weighed on the CPU"),
        ({"parity": True, "max_memory": 1 << 30}, "max_memory=1073741824 with parity"),
        ({"parity": True, "weights": {"en": 2}}, "with parity: that is not supported"),
        ({"parity": True, "device": "cuda"}, "device='cuda' with parity: merges for parity are chosen on the CPU"),
        ({"parity": Parity({"en": b"x"})}, "'code' is a name of sources or of held_out alone"),
        ({"parity": Parity(window=0)}, "window=0 of Parity: write 1 or more, or None"),
    ],
)
def test_what_cannot_be_weighed_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        train({name: text.encode() for name, text in TEXTS.items()}, 300, **given)


def test_other_mistakes_of_names_are_refused():
    with pytest.raises(TypeError, match="weights is of type list"):
        train(b"text", 300, weights=[1])
    with pytest.raises(TypeError, match="the weight of 'en' is of type str"):
        train({"en": b"text"}, 300, weights={"en": "2"})
    with pytest.raises(TypeError, match="a name in sources is of type int"):
        train({1: b"text"}, 300)
    with pytest.raises(ValueError, match="sources is empty"):
        train({}, 300)
    with pytest.raises(
        ValueError, match="which is not known of '<texts>' before it is read: give files, or write weights="
    ):
        train(iter(["text"]), 300, temperature=2)
    with pytest.raises(ValueError, match="write a dict of two or more"):
        train({"en": b"text"}, 300, parity=True)
    with pytest.raises(ValueError, match="there is no text in the source 'b'"):
        train({"a": b"text", "b": b""}, 300, parity=True)


# ==== parity ====


def texts_of() -> dict[str, bytes]:
    return {name: text.encode() for name, text in TEXTS.items()}


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("window", [None, 7])
def test_merges_for_parity_are_those_of_the_definition(ties, window):
    parity = Parity(window=window, alpha=1.2)
    enc = train(texts_of(), 386, ties=ties, parity=parity, threads=2)
    rows = {name: pieces(text) for name, text in TEXTS.items()}
    measured = {name: (each, len(TEXTS[name].encode())) for name, each in rows.items()}
    want, chosen = naive_trainer.learn_for_parity(
        rows, measured, 130, ties, window=window, alpha=1.2, alphabet=ALPHABETS[ties]
    )
    assert merges_of(enc) == want
    assert enc.training["parity"]["merges"] == Counter(chosen)
    for name, text in TEXTS.items():
        assert enc.training["parity"]["tokens"][name] == len(enc.encode(text))


def test_merges_for_parity_on_held_out_text_are_those_of_the_definition():
    held = {
        "en": "the cat and the dog\nof the house " * 9,
        "code": "for i in range(9):\n    x" * 12,
        "more": TEXTS["more"][-500:],
    }
    rows = {name: pieces(text) for name, text in TEXTS.items()}
    measured = {name: (pieces(text), 1) for name, text in held.items()}
    enc = train(texts_of(), 376, parity=Parity({name: text.encode() for name, text in held.items()}))
    want, chosen = naive_trainer.learn_for_parity(rows, measured, 120, "lexicographic")
    assert merges_of(enc) == want and len(set(chosen)) > 1
    assert enc.training["bytes"] == sum(map(len, texts_of().values()))


def test_a_vocabulary_goes_on_for_parity():
    """The first merges are those of all text, as in the authors' hybrid form."""
    base = train(texts_of(), 350)
    enc = extend(base, texts_of(), 60, parity=True)
    rows = {name: pieces(text) for name, text in TEXTS.items()}
    measured = {name: (each, len(TEXTS[name].encode())) for name, each in rows.items()}
    want, _ = naive_trainer.learn_for_parity(rows, measured, 60, "lexicographic", start=merges_of(base))
    assert merges_of(enc) == merges_of(base) + want
    assert enc.training["parity"]["tokens"] == {name: len(enc.encode(text)) for name, text in TEXTS.items()}


def test_parity_ends_where_no_source_has_a_pair():
    small = {"a": b"abab xyxy abab", "b": b"hellohello", "c": b"q"}
    rows = {name: pieces(text.decode()) for name, text in small.items()}
    measured = {name: (each, len(small[name])) for name, each in rows.items()}
    for least in (1, 2):
        want, _ = naive_trainer.learn_for_parity(rows, measured, 999, "lexicographic", least=least)
        with pytest.warns(UserWarning, match="no more than"):
            assert merges_of(train(small, 999, parity=True, min_frequency=least)) == want
