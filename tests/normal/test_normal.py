"""Normalizers do what those of Hugging Face's tokenizers do: on every character, on pairs and random strings, however
the text is cut; and each byte comes with the place of the character that it was made of."""

from __future__ import annotations

import functools
import pickle
import random
import unicodedata
from typing import Any

import oracle
import pytest
from linear import assert_linear, cpu_seconds
from normal_strings import ALL, STEPS, random_string, reference

from streamtok.native.normal import Normalizer, NormalStream

tokenizers = pytest.importorskip("tokenizers")

STRINGS = 200_000 if oracle.LONG else 800
FORMS = ("NFC", "NFD", "NFKC", "NFKD")
CHARACTERS: dict[str, list[tuple[Any, ...]]] = {
    **{form: [(form,)] for form in FORMS},
    "Lowercase": [("Lowercase",)],
    "StripAccents": [("StripAccents",)],
    "Strip": [("Strip", True, True)],
}


def stream_all(normalizer: Normalizer, parts: list[str]) -> str:
    stream = NormalStream(normalizer)
    made = b"".join(map(stream.feed, parts)) + stream.flush()
    assert stream.held == 0
    return made.decode()


@pytest.mark.parametrize("name", CHARACTERS)
def test_every_character(name):
    """All behind each other, and with others between them; those that are changed, and some of the others, alone."""
    ours, theirs = Normalizer(CHARACTERS[name]), reference(CHARACTERS[name])
    for between in ("", "\n", "a", "\u0323\u0301"):
        text = between.join(ALL if oracle.LONG or not between else ALL[::-1][::16] + ALL[:0x33500])
        assert ours.normalize(text) == theirs.normalize_str(text)
    assert not [hex(ord(c)) for c in alone() if ours.normalize(c) != theirs.normalize_str(c)]


@functools.cache
def alone() -> list[str]:
    """Those that some step may change, and some of the others."""

    def may_change(c: str) -> bool:
        return unicodedata.normalize("NFKD", c.lower()) != c or unicodedata.category(c) in ("Mn", "Zs", "Cc")

    return [c for c in ALL if ord(c) % 64 == 7 or oracle.LONG or may_change(c)]


def test_ideographs_stand_apart_as_tokenizers_has_it():
    """The first and the last character of each range, and their neighbours."""
    edges = (0x3400, 0x4DC0, 0x4E00, 0xA000, 0xF900, 0xFB00, 0x20000, 0x2A6E0, 0x2A700, 0x2B740, 0x2B820, 0x2B920)
    points = [edge + step for edge in (*edges, 0x2CEB0, 0x2F800, 0x2FA20) for step in (-2, -1, 0, 1)]
    theirs = tokenizers.normalizers.BertNormalizer(clean_text=False, strip_accents=False, lowercase=False)
    for text in ["".join(map(chr, points)), *(f"a{chr(point)}b" for point in points)]:
        assert Normalizer([("Clean", False, True, False)]).normalize(text) == theirs.normalize_str(text), ascii(text)


@pytest.mark.parametrize("step", [("Lowercase",), ("Replace", "A", "é"), ("Replace", "A", "")])
def test_long_runs_of_what_changes(step):
    """At lengths around those that are changed at once, and with characters that lie on their borders."""
    ours, theirs = Normalizer([step]), reference([step])
    sizes = [size + more for size in (16, 32, 64, 128, 256, 512, 4096, 65536) for more in (-1, 0, 1)]
    for letter in ("A", "É", "Aé", "aЖA"):
        for front in ("", "a", "ab"):
            for size in sizes:
                text = front + letter * (size // len(letter.encode())) + "Z"
                assert ours.normalize(text) == theirs.normalize_str(text), (letter, front, size)


@pytest.mark.parametrize("form", FORMS)
def test_every_pair_that_composes(form):
    """Also with a mark in front of the second, behind it, and with the whole decomposed."""
    from tokenizers import normalizers

    ours, theirs = Normalizer([(form,)]), getattr(normalizers, form)()
    decomposed = normalizers.NFD().normalize_str
    composed = normalizers.NFC().normalize_str
    texts = []
    for c in ALL:
        parts = decomposed(c)
        if len(parts) == 1 or (0xAC00 <= ord(c) < 0xD7A4 and ord(c) % 7):
            continue
        first = composed(parts[:-1])
        for mark in ("", "\u0301", "\u0323", "\u0334", "\u0345"):
            texts += [first + mark + parts[-1], first + parts[-1] + mark, c + mark, parts + mark]
    assert len(texts) > 20_000
    wrong = [ascii(text) for text in texts if ours.normalize(text) != theirs.normalize_str(text)]
    assert not wrong


@pytest.mark.parametrize("name", STEPS)
def test_random_strings_whole_and_cut(name):
    rng = random.Random(name)
    ours, theirs = Normalizer(STEPS[name]), reference(STEPS[name])
    for _ in range(STRINGS):
        text = random_string(rng)
        want = theirs.normalize_str(text)
        assert ours.normalize(text) == want, ascii(text)
        assert stream_all(ours, list(oracle.random_cuts(rng, text))) == want, ascii(text)


@pytest.mark.parametrize("name", STEPS)
def test_places_in_the_given_text(name):
    """As the offsets of a tokenizer whose pre-tokenizer splits into characters."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"?": 0}, unk_token="?"))
    tokenizer.normalizer = reference(STEPS[name])
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex("(?m:.)"), "isolated")
    ours, rng, seen = Normalizer(STEPS[name]), random.Random(name), 0
    for _ in range(STRINGS // 5):
        text = random_string(rng)
        made, sources = ours.trace(text)
        number = {len(text[:i].encode()): i for i in range(len(text))}
        starts = [number[source] for source, byte in zip(sources, made) if byte & 0xC0 != 0x80]
        assert [(start, start + 1) for start in starts] == tokenizer.encode(text).offsets, ascii(text)
        seen += len(starts)
    assert seen > STRINGS


def test_text_that_is_normal_comes_as_it_is_and_few_characters_wait():
    """A character waits only if a mark could change it, or if it is a mark."""
    stream = NormalStream(Normalizer([("NFC",)]))
    for text, now in (
        ("plain text ", "plain text "),
        ("cafe", "caf"),
        ("\u0301", ""),
        (" 1", "\u00e9 1"),
        ("한", "한"),
        ("하", ""),
        ("글", "하글"),
        ("中文", "中文"),
        ("<", ""),
        ("<", "<"),
        ("\u0338x", "\u226e"),
    ):
        assert stream.feed(text).decode() == now, text
    assert stream.held == 1 and stream.flush() == b"x"


def test_starters_that_only_follow_others_do_not_wait_for_an_end():
    """Vowels of Hangul and of Indic scripts compose with what is in front, but not with each other."""
    for text in ("\u1161" * 1000, "\u09be" * 1000, "\u0301\u09be" * 500, "\u1100\u1161\u11a8\u11a8" * 250):
        stream = NormalStream(Normalizer([("NFC",)]))
        for c in text:
            stream.feed(c)
            assert stream.held <= 9, ascii(text[:4])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "marks", ["\u0301", "\u0301\u0323\u0334\u0345\u05b0", "\uff9e", "e\u0323\u0301\u0334", "\uac01"]
)
def test_runs_of_marks_take_linear_time(form, marks):
    """They are sorted as a whole, however long; in one part, and character by character."""
    from tokenizers import normalizers

    ours = Normalizer([(form,)])
    text = "e" + marks * 300
    assert stream_all(ours, list(text)) == getattr(normalizers, form)().normalize_str(text)

    def seconds(count: int) -> float:
        text = "e" + marks * (count // len(marks))
        return cpu_seconds(lambda: stream_all(ours, [text, *text[: count // 8]]))

    assert_linear(seconds, 80_000)


def test_part_by_part_costs_no_more_than_the_parts():
    ours = Normalizer([("Strip", True, True), ("Replace", "ab" * 20 + "c", "d"), ("NFKC",)])
    for unit in (" ", "ab", "\u0301", "e\u0301"):

        def seconds(count: int, unit: str = unit) -> float:
            parts = ["x", *[unit] * count]
            return cpu_seconds(lambda: stream_all(ours, parts))

        assert_linear(seconds, 40_000)


def test_a_normalizer_is_its_steps():
    ours = Normalizer(iter([["Replace", "a", "b"], ("Strip", 1, 0)]))
    assert ours.steps == (("Replace", "a", "b"), ("Strip", True, False))
    assert pickle.loads(pickle.dumps(ours)).steps == ours.steps
    assert ours.normalize(" aé") == "bé"
    assert Normalizer([]).normalize("é\u0301") == "é\u0301"


@pytest.mark.parametrize(
    ("steps", "error", "words"),
    [
        ([("NFX",)], ValueError, "no normalizer is called 'NFX'"),
        (["NFC"], ValueError, "no normalizer is called 'N'"),
        ([()], TypeError, "a tuple that begins with its name"),
        ([(1,)], TypeError, "a tuple that begins with its name"),
        ([("NFC", 1)], ValueError, "takes 0 arguments, not 1"),
        ([("Replace", "a")], ValueError, "takes 2 arguments, not 1"),
        ([("Replace", "", "a")], ValueError, "an empty text is everywhere"),
        ([("Replace", b"a", "a")], TypeError, "a step's text is a str, not bytes"),
        ([("ReplaceClass", [(5, 4)], "", False)], ValueError, "(5, 4) is no range"),
        ([("ReplaceClass", [(5, 7), (7, 8)], "", False)], ValueError, "(7, 8) is no range of code points behind 7"),
        ([("ReplaceClass", [(0, 0x110000)], "", False)], ValueError, "is no range"),
        ([("ReplaceClass", [], "", False)], ValueError, "a class without characters"),
        ([("NFC",)] * 17, ValueError, "at most 16 steps"),
    ],
)
def test_other_steps_are_refused(steps, error, words):
    with pytest.raises(error) as caught:
        Normalizer(steps)
    assert words in str(caught.value)


def test_only_str_is_normalized():
    with pytest.raises(TypeError):
        Normalizer([("NFC",)]).normalize(b"a")


@pytest.mark.parametrize("name", ["multilingual", "english"])
def test_real_text(name):
    """Through blocks of vectors and their ends."""
    from tokenizers import normalizers

    text = oracle.corpus(name)
    for form in FORMS:
        ours, theirs = Normalizer([(form,)]), getattr(normalizers, form)()
        for at in range(0, 60_000, 1013):
            part = text[at * 20 : at * 20 + at % 3000]
            assert ours.normalize(part) == theirs.normalize_str(part)
