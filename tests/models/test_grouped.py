"""Splits that count characters: digits in groups from the right, white space in groups of named sizes."""

from __future__ import annotations

import pathlib
import random
import sys

import pytest
from small_models import TEXT, Both, added, record

from streamtok.model_files.gguf_splits import SPLIT_OF, steps_of
from streamtok.native.normal import Normalizer, NormalStream
from streamtok.patterns import table_of
from streamtok.patterns.compose import Groups, Split
from streamtok.patterns.grouped import IN_THREE_STEPS, grouped

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools"))
import model_campaign

LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
PARTS = [
    *(
        "1",
        "2",
        "٣",
        "²",
        "½",
        "Ⅷ",
        "a",
        "_",
        " ",
        "   ",
        "\n",
        "\r\n",
        ".",
        "é",
        "\u0301",
        "東",
        "は",
        "ก",
        "ລ",
        "한",
        "\u3000",
    ),
    *("'s", "A", "<x>", "<|end|>"),
]


def drawn(rng: random.Random) -> str:
    def part() -> str:
        kind = rng.random()
        if kind < 0.5:
            return rng.choice(PARTS)
        size = rng.choice([rng.randrange(14), rng.randrange(40), 509, 510, 511, 512, 513, 514, 1021, 1536])
        return rng.choice(["1", "٣", " "]) * size if size < 100 or kind < 0.52 else "1" * (size % 7)

    return rng.choice(TEXT)[:100] if rng.random() < 0.2 else "".join(part() for _ in range(rng.randrange(9)))


def step(pattern: str, behavior: str = "Isolated") -> dict[str, object]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": False}


RIGHT = [step(r"[0-9]{1,2}(?=([0-9]{2})*(?![0-9]))"), step(r"\s+|[^\s]+"), LEVEL]
NUMBERS = [step(r"\p{N}+"), step(r"(?=(?:\p{Nd}{4})+(?!\p{Nd}))"), step(r" ?\p{L}+"), LEVEL]


@pytest.mark.parametrize("way", ["tiny_aya", "superbpe", "afmoe", "jais-2", RIGHT, NUMBERS], ids=str)
def test_splits_as_tokenizers(tmp_path, way):
    steps = steps_of(SPLIT_OF[way]) if isinstance(way, str) else way
    made = added(added(record(), "<|end|>", special=True), "<x>")
    made["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps}
    subject, rng = model_campaign.Subject(made, tmp_path), random.Random(7)
    for _ in range(250):
        model_campaign.check_ids(subject, rng, drawn(rng))


def test_words_and_scores_take_groups_too(tmp_path):
    made = record()
    made["model"] = {"type": "Unigram", "unk_id": 0, "vocab": [["?", 0.0], *([c, -1.0] for c in "123aé"), ["12", -1.5]]}
    made["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [step(r"\d{1,3}(?=(?:\d{3})*\b)")]}
    made["decoder"] = {"type": "Fuse"}
    both, rng = Both.of(tmp_path, made), random.Random(3)
    both.check(["".join(rng.choice("1212123a é") for _ in range(rng.randrange(20))) for _ in range(300)])


def test_what_is_read_as_groups():
    assert grouped([Split(r"\d{1,3}(?=(?:\d{3})*\b)")]) == (Groups(r"\d+(?!\w)", r"\d", (3,)),)
    assert grouped([*map(Split, IN_THREE_STEPS)]) == (Groups(r"\p{Nd}+", r"\p{Nd}", (3,)),)
    for other in (r"\d{1,3}(?=(?:\d{2})*\b)", r"\d{1,3}(?=(?:\p{Nd}{3})*\b)", r"a|\d{1,3}(?=(?:\d{3})*\b)"):
        assert grouped([Split(other)]) == (Split(other),)
    assert isinstance(grouped([Split(r"\d{1,3}(?=(?:\d{3})*\b)", "Removed")])[0], Split)


GROUPS = step(r"\d{1,3}(?=(?:\d{3})*\b)")
MARK = {"type": "Metaspace", "replacement": "_", "prepend_scheme": "always", "split": True}


@pytest.mark.parametrize(
    "steps",
    [
        [LEVEL, GROUPS],
        [GROUPS, {**LEVEL, "add_prefix_space": True}],
        [GROUPS, step(r"\s+"), GROUPS, LEVEL],
        [GROUPS, MARK],
        [MARK, {"type": "WhitespaceSplit"}, {**MARK, "replacement": "="}, GROUPS],
    ],
    ids=str,
)
def test_what_is_done_beside_groups(tmp_path, steps):
    by_bytes = any(each["type"] == "ByteLevel" for each in steps)
    made = record(pre_tokenizer={"type": "Sequence", "pretokenizers": steps})
    if not by_bytes:
        vocab = {text: i for i, text in enumerate(["<unk>", *"0123456789 _=ab.", "12", "_1", "=_"])}
        made |= {"model": {"type": "WordLevel", "unk_token": "<unk>", "vocab": vocab}, "added_tokens": []}
    subject, rng = model_campaign.Subject(made, tmp_path), random.Random(str(steps))
    for _ in range(150):
        text = "".join(rng.choices([*"0123456789123 _=ab.", "1234567", "é"], k=rng.randrange(12)))
        model_campaign.check_ids(subject, rng, text)


def test_a_run_of_digits_is_held_and_takes_linear_time():
    table = table_of((Split(r"\d+(?!\w)"),))
    stream = NormalStream(Normalizer([("Groups", table, ((48, 57),), (3,), True, False)]))
    assert stream.feed("a ") == b"a "
    run = "1234567" * 20_000
    assert all(stream.feed(run[i : i + 7]) == b"" for i in range(0, len(run), 7)) and stream.held == len(run)
    made = stream.feed(".").decode("latin-1").split("\xff")
    assert made == ["", "12", *(run[i : i + 3] for i in range(2, len(run), 3)), "."]
    assert stream.feed("12") == b"" and stream.feed("34b5") == b"1234b" and stream.flush() == b"\xff5\xff"


def test_a_run_inside_of_a_piece_waits_and_the_rest_does_not():
    table = table_of((Split(r"[\s\S]+"),))
    stream = NormalStream(Normalizer([("Groups", table, ((48, 57),), (3,), True, True)]))
    assert stream.feed("ab1") == b"ab" and stream.feed("23") == b"" and stream.held == 3
    assert stream.feed("c12") == b"\xff123c" and stream.feed("34") == b"" and stream.flush() == b"1\xff234\xff"


@pytest.mark.parametrize(
    "given",
    [((48, 57),), (), True, False],
    ids=["no table", "no sizes", "two sizes from the right", "sizes that ascend"],
)
def test_wrong_groups(given):
    table, ranges = table_of((Split(r"\d+"),)), ((48, 57),)
    if given == ((48, 57),):
        with pytest.raises((TypeError, AttributeError, ValueError)):
            Normalizer([("Groups", None, ranges, (3,), True, False)])
    elif given == ():
        with pytest.raises(ValueError, match="the sizes of groups"):
            Normalizer([("Groups", table, ranges, (), True, False)])
    elif given:
        with pytest.raises(ValueError, match="have one size, not 2"):
            Normalizer([("Groups", table, ranges, (3, 2), True, False)])
    else:
        with pytest.raises(ValueError, match="the largest first"):
            Normalizer([("Groups", table, ranges, (2, 3), False, False)])
