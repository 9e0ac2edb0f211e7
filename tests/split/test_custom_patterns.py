"""What a custom pattern means: its classes, what engines differ on, and what is refused."""

from __future__ import annotations

import functools
import json
import pickle
import string
import time

import pytest
import regex
import tiktoken
from oracle import PROFILE
from pattern_runs import pieces_of

import streamtok
from streamtok.patterns import char_sets
from streamtok.patterns import splitter as custom
from streamtok.patterns.splitter import PatternSplitter
from streamtok.train import patterned, train

# All planes that have characters; of the others, and of private use, the first and last code points of a plane.
PLANES = [(0, 0xD800), (0xE000, 0x34000), (0xE0000, 0xE1000)]
PLANES += [(plane + at, plane + at + 256) for plane in range(0x30000, 0x110000, 0x10000) for at in (0, 0xFF00)]
if PROFILE == "long":
    PLANES = [(0, 0xD800), (0xE000, 0x110000)]


@pytest.mark.parametrize(
    "name",
    [
        *(rf"\p{{{n}}}" for n in "L Lu Ll Lt Lm Lo LC M Mn N Nd Nl P S Sc Z Zs C Cn White_Space punct gc=Lu".split()),
        *(r"\w", r"\W", r"\s", r"\d", r"\h", r"\p{^L}", r"\P{Lu}", r"\pN", "[[:punct:]]", "[[:^alpha:]]", r"\N"),
        *(r"(?i:\p{Lu})", r"(?i:\P{Lt})", r"(?i:[a-zß-ÿ])", r"(?i:[^\W\d_])", r"[\p{L}&&[^\p{Lo}]~~\s]"),
    ],
)
def test_class_holds_the_characters_that_tiktoken_gives_it(name: str) -> None:
    every = "".join(chr(c) for first, end in PLANES for c in range(first, end))
    ranks = {bytes([b]): b for b in range(256)}
    encoding = tiktoken.Encoding("probe", pat_str=name, mergeable_ranks=ranks, special_tokens={})
    assert b"".join(pieces_of(name, every)) == bytes(encoding.encode_ordinary(every))


CATEGORY_NAMES = {
    "L": "Letter", "LC": "Cased_Letter", "Lu": "Uppercase_Letter", "Ll": "Lowercase_Letter", "Lt": "Titlecase_Letter",
    "Lm": "Modifier_Letter", "Lo": "Other_Letter", "M": "Mark", "Mn": "Nonspacing_Mark", "Mc": "Spacing_Mark",
    "Me": "Enclosing_Mark", "N": "Number", "Nd": "Decimal_Number", "Nl": "Letter_Number", "No": "Other_Number",
    "P": "Punctuation", "Pc": "Connector_Punctuation", "Pd": "Dash_Punctuation", "Ps": "Open_Punctuation",
    "Pe": "Close_Punctuation", "Pi": "Initial_Punctuation", "Pf": "Final_Punctuation", "Po": "Other_Punctuation",
    "S": "Symbol", "Sm": "Math_Symbol", "Sc": "Currency_Symbol", "Sk": "Modifier_Symbol", "So": "Other_Symbol",
    "Z": "Separator", "Zs": "Space_Separator", "Zl": "Line_Separator", "Zp": "Paragraph_Separator", "C": "Other",
    "Cc": "Control", "Cf": "Format", "Co": "Private_Use", "Cn": "Unassigned", "Cs": "Surrogate",
}  # fmt: skip


def test_a_property_has_its_table_under_each_of_its_names() -> None:
    """A table is there without the package `regex`, and for all code points."""
    for short, name in CATEGORY_NAMES.items():
        assert char_sets.of_tables(name) == char_sets.of_tables(f"gc={short}") == char_sets.category(short), name
    assert char_sets.of_tables("Any") == ((0, 0x10FFFF),)
    assert char_sets.of_tables("ASCII") == char_sets.posix("ascii") == ((0, 127),)
    assert char_sets.of_tables("Alpha") == char_sets.of_tables("Alphabetic") is not None
    assert char_sets.of_tables("Script=Latin") == char_sets.of_tables("Latin") is not None
    assert char_sets.of_tables("Script=Lowercase") is None  # a property that is no script


def test_posix_classes_are_those_of_ascii() -> None:
    found = {
        "alnum": bytes.isalnum, "alpha": bytes.isalpha, "digit": bytes.isdigit, "lower": bytes.islower,
        "upper": bytes.isupper, "space": bytes.isspace, "ascii": bytes.isascii, "blank": b" \t".__contains__,
        "cntrl": lambda c: c < b" " or c == b"\x7f", "graph": lambda c: b" " < c < b"\x7f",
        "print": lambda c: b" " <= c < b"\x7f", "punct": string.punctuation.encode().__contains__,
        "word": lambda c: c.isalnum() or c == b"_", "xdigit": string.hexdigits.encode().__contains__,
    }  # fmt: skip
    for name, holds in found.items():
        held = [code for low, high in char_sets.posix(name) for code in range(low, high + 1)]
        assert held == [code for code in range(128) if holds(bytes([code]))], name


def test_sets_do_not_come_from_the_installed_regex() -> None:
    assert not any(low <= 0x11DB0 <= high for low, high in char_sets.named("Alphabetic"))
    if regex.match(r"\p{L}", "\U00011db0"):  # a letter of Unicode 17, where regex knows it
        assert pieces_of(r"\p{L}+|(?s:.)", "a\U00011db0a") == [b"a", "\U00011db0".encode(), b"a"]


@pytest.mark.parametrize(
    ("pat_str", "text", "expected"),
    [
        (r"\w+$|\w|\n", "ab\n", ["a", "b", "\n"]),  # $ is not before a last newline
        (r"\w+\Z|\w|\n", "ab\n\n", ["ab", "\n", "\n"]),  # \Z is before any number of them
        (r"[-a]+|.", "-a.b", ["-a", ".", "b"]),
        (r"[--a]+|.", "-a.b", ["-a", ".", "b"]),  # dashes at the beginning of a class stand for themselves
        (r"\h+|.", "ab gz1", ["ab", " ", "g", "z", "1"]),
        (r"\s+|.", "a\x1c \x85", ["a", "\x1c", " \x85"]),
        (r"(?i:k)x|.", "\u212axKx", ["\u212ax", "Kx"]),
        (r"a{,2}b|a{x}|.", "aaba{x}", ["aab", "a{x}"]),
        (r"\R|a", "a\r\nb\u2028", ["a", "\r\n", "\u2028"]),
        (r"\R", "\t\n\v\f\r\x0e\x84\x85\x86\u2027\u2028\u2029\u202a", [*"\n\v\f\r\x85\u2028\u2029"]),
        (r"a*|b", "baab", ["aa"]),  # the empty match before a b passes over it
        (r"", "abc", []),
        (r"x", "", []),
        (r"(?<=a+)b|(?s:.)", "aab", ["a", "a", "b"]),
    ],
)
def test_what_engines_differ_on(pat_str: str, text: str, expected: list[str]) -> None:
    assert [piece.decode() for piece in pieces_of(pat_str, text)] == expected


@pytest.mark.parametrize(
    ("pat_str", "why"),
    [
        ("(a", "never closed"), ("a)", "closes nothing"), ("[a", "never closed"), ("*a", "nothing to repeat"),
        ("a**", "quantifier on a quantifier"), ("a{2,1}", "upper bound"), ("a{999999999999}", "more than"),
        ("[z-a]", "end comes before"), (r"[a-\d]", "single characters"), (r"\q", "escape"), (r"\p{Nope}", "Nope"),
        (r"\p", "without a name"), ("[[:nope:]]", "unknown class"), (r"\x{110000}", "no character"),
        (r"(a)\1", "back-reference"), (r"(?<n>a)\k<n>", "back-reference"), (r"\Ga", r"\\G"), (r"a\Kb", r"\\K"),
        (r"\X", r"\\X"), ("(a)?(?(1)b|c)", "conditional"), ("(?R)", "recursion"),
        ("(?U)a+", "flag 'U', which swaps greedy and lazy"), ("(?-U:a)", "flag 'U', which swaps"),
        ("(?-u:a)", "flag 'u'"), ("(a(?i)b)c", "inside a group"), ("(?:a|b*)+", "can match nothing"),
        ("(?<=a++)b", "look-behind"), ("(?<=a(?=b))b", "look-behind"), (r"(?=a)*b", "repeats an assertion"),
        (r"\b{word}a", r"has a \\b{...} that streamtok does not support"),
        ("(" * 200 + "a" + ")" * 200, "nests more"),
    ],
)  # fmt: skip
def test_pattern_that_is_wrong_or_uncertain_is_refused(pat_str: str, why: str) -> None:
    with pytest.raises(ValueError, match=f"pat_str.*{why}"):
        PatternSplitter(pat_str)


def test_unbounded_look_behind_splits_but_does_not_stream() -> None:
    mine = PatternSplitter(r"(?<=a.*)b|(?s:.)")
    assert len(mine.split("aab")) == 3
    with pytest.raises(ValueError, match=r"cannot be streamed.*no bound"):
        mine.stream()


# ==== Backtracking that takes too long ====

ENDLESS = r"(?:a|aa)+c|."
ENDLESS_TOO = r"(?:a|aa)+c|b*|."  # it matches the empty text at some places, so it is searched match by match


def endless(pat_str: str = ENDLESS, **options) -> streamtok.Encoding:
    ranks = {bytes([b]): b for b in range(256)}
    return streamtok.Encoding("endless", pat_str=pat_str, mergeable_ranks=ranks, special_tokens={"<s>": 300}, **options)


@pytest.mark.parametrize("pat_str", [ENDLESS, ENDLESS_TOO, "(?:a|aa)+c|" + "x" * 1000])
def test_a_pattern_that_backtracks_without_end_is_ended(pat_str: str) -> None:
    enc = endless(pat_str, pattern_seconds=0.05)
    assert enc.pattern_engine == "regex"
    text = "b" + "a" * 60
    calls = [
        lambda: enc.encode(text),
        lambda: enc.count(text),
        lambda: enc.encode_to_numpy(text.encode(), num_threads=2),
        lambda: enc.encode_batch(["b", text], num_threads=2),
        lambda: list(enc.encode_stream([text])),
    ]
    for call in calls:
        begin = time.process_time()
        with pytest.raises(
            TimeoutError, match=r"more than 0\.05 seconds for 6\d characters.*pattern_seconds"
        ) as raised:
            call()
        assert time.process_time() - begin < 5
        assert pat_str[:100] in str(raised.value) and len(str(raised.value)) < 600
    assert enc.encode("aac" * 30) == list(b"aac" * 30) or pat_str.endswith("x")


def test_a_stream_is_as_it_was_before_a_feed_that_took_too_long() -> None:
    enc = endless(pattern_seconds=0.05)
    for before in ("", "ba", "<"):
        stream = enc.stream_encoder(allowed_special="all")
        ids = stream.feed(before).tolist()
        state = stream.getstate()
        for _ in range(2):
            with pytest.raises(TimeoutError):
                stream.feed("b<s>" + "a" * 60 + "b")
            assert stream.getstate() == state and stream.offset == len(before)
        ids += stream.feed("s>aacb").tolist() + stream.flush().tolist()
        assert ids == enc.encode(before + "s>aacb", allowed_special="all")


def test_the_bound_is_the_encodings_own() -> None:
    text = "a" * 24 + "b"  # some tens of thousands of ways
    assert endless().encode(text) == endless(pattern_seconds=None).encode(text) == list(text.encode())
    assert endless()._pattern_seconds == custom.SECONDS
    for enc in (endless(pattern_seconds=0.05), pickle.loads(pickle.dumps(endless(pattern_seconds=0.05)))):
        with pytest.raises(TimeoutError):
            enc.encode("a" * 60)
    # More text gets more time.
    splitter = PatternSplitter(r"\w+|\W+", seconds=1e-4)
    with pytest.raises(TimeoutError, match=r"more than 0\.0002 seconds"):
        splitter.split("a b " * 500_000)


def test_training_with_such_a_pattern_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterned, "PatternSplitter", functools.partial(PatternSplitter, seconds=0.05))
    with pytest.raises(TimeoutError, match="backtrack"):
        train(iter(["b" + "a" * 60 + "d"]), 260, pattern=ENDLESS)


@pytest.mark.parametrize(("field", "value"), [(0, "61"), (0, "ff"), (1, "a"), (3, "7a7a"), (4, -1), (4, 1 << 64)])
def test_state_that_no_stream_can_have_had_is_refused(field, value):
    """Its fields: the beginning of a character, a high surrogate, two beginnings of names, bytes fed."""
    stream = (
        streamtok.Encoding(
            "words",
            pat_str=ENDLESS,
            mergeable_ranks={bytes([i]): i for i in range(256)},
            special_tokens={},
        )
        .stream_encoder()
        ._stream
    )
    stream.feed("some text")
    fields = json.loads(stream.save())
    assert stream.load(json.dumps(fields).encode())
    fields[field] = value
    assert not stream.load(json.dumps(fields).encode())
