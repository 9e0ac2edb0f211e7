"""Custom patterns: tiktoken's pieces, the same when streamed, and nothing early."""

from __future__ import annotations

import copy
import pickle
import random

import nasty
import oracle
import pytest
import regex
from linear import assert_linear, cpu_seconds, feed_all
from pattern_runs import cut, pieces_of, random_pattern, splitter, tiktoken_pieces

from streamtok.patterns import CL100K, O200K, R50K
from streamtok.patterns.splitter import PatternSplitter, PatternStream

PATTERNS = {
    "words": r"\w+|\s+|[^\w\s]",
    "r50k": R50K,
    "cl100k": CL100K,
    "o200k": O200K,
    "llama3": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
    "qwen2": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
    "deepseek": r"\p{N}{1,3}|[一-龥぀-ゟ゠-ヿ]+|[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"
    r"|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "starcoder": r"\p{Nd}|'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?[^\s\p{L}\p{Nd}]+|\s+(?!\S)|\s+",
    "neox": r"'(?:[sdmt]|ll|ve|re)| ?[[:alpha:]]+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "lines": r".+",
    "characters": r"(?s).",
    "not space": r"[^\s]+|\s",
    "dropped": r"[a-s]+|\d",
    "edges": r"\b\w|\w+\b|\B.|^\s|\s$|(?m:^.|.$)|\n\Z|\w\z",
    "looks back": r"(?<=a|\s\s)[^a]+|(?<!\w)'|(?s:.)",
    "looks ahead": r"\w+(?=\s+\d)|\w(?!\w*\s\w)|(?>\s+)|(?s:.)",
    "groups": r"(?:ab|a|s's)*+t|(?:'s|s){2,3}?|(?>a|ab)\s|(?:\w\s)+(?!')|(?s:.)",
    "algebra": r"[\w--[\p{Lu}\d]]+|[\p{L}&&[^\p{Ll}]]+|(?i:[^\P{Lu}k])|[\s~~\n]|(?s:.)",
    "folded": r"(?i)s+|[k-l]+|'(?-i:s|T)|ß|\p{Lu}+|(?s:.)",
    "script": r"\p{Han}+|\p{Script=Greek}+|(?s:.)",
    "verbose": "(?x) \\p{L}+ # letters\n | [ \\ ]{2,} (?#spaces) | (?s: . )",
    "lazy": r"\w+?\s|\w{2,}?(?=')|a*?b|\s{1,3}+|(?s:.)",
}
ALPHABET = [
    *"''sStTlLrReEvmdkKaaBB  \n\n\r\t1129!./-_", "\x1c", "\x1f", "\x85", "\xa0", "\u3000", "\u2028", "²", "Ⅷ", "中",
    "龥", "あ", "\u0301", "\u20dd", "ʰ", "ǅ", "é", "É", "ß", "ẞ", "σ", "ς", "ſ", "\u212a", "İ", "ı", "\u200d", "\ufe0f",
    "😀", "👩", "\u0378", "\U00016d43", "\U00010d70", "\ua7cb",  # unassigned, and the newest of Unicode 16
    "\U00011db0", "\u1acf", "\ua7ce", "\U00010ec5",  # assigned after Unicode 16: tiktoken knows nothing of them
    "'s", "'LL", "'re", "ab", "  ", "\r\n", "don't",
]  # fmt: skip
FEW = 800 if oracle.LONG else 32
each_pattern = pytest.mark.parametrize("pat_str", PATTERNS.values(), ids=PATTERNS.keys())


def texts(seed: int, count: int, longest: int = 14) -> list[str]:
    return ["", *nasty.random_strings(random.Random(seed), count, longest, ALPHABET)]


def fed(stream: PatternStream, parts: list[str]) -> list[bytes]:
    """All pieces of the parts; asserts that the decided texts join to the whole."""
    pieces, whole = [], ""
    for text, spans in [*map(stream.feed, parts), stream.flush()]:
        pieces += cut(text, spans)
        whole += text
    assert whole == "".join(parts)
    return pieces


@each_pattern
def test_pieces_are_those_of_tiktoken(pat_str: str) -> None:
    strings = texts(1, 400)
    for text, expected in zip(strings, tiktoken_pieces(pat_str, strings)):
        assert pieces_of(pat_str, text) == expected, text


@each_pattern
def test_every_cut_gives_the_pieces_of_the_whole(pat_str: str) -> None:
    rng = random.Random(2)
    for text in texts(2, FEW):
        expected = pieces_of(pat_str, text)
        cuts = [[text[:at], text[at:]] for at in range(len(text) + 1)] + [list(text)]
        a, b = sorted(rng.randint(0, len(text)) for _ in "ab")
        for parts in [*cuts, [text[:a], text[a:b], text[b:]]]:
            assert fed(splitter(pat_str).stream(), parts) == expected, parts


@each_pattern
def test_no_continuation_changes_what_has_left(pat_str: str) -> None:
    rng = random.Random(3)
    tails = texts(4, 60, longest=4)
    for text in texts(3, FEW):
        stream = splitter(pat_str).stream()
        left, length = [], 0
        for at, character in enumerate(text, 1):
            decided, spans = stream.feed(character)
            left += cut(decided, spans)
            length += len(decided)
            for tail in ["", *rng.sample(tails, 4)]:
                whole = text[:at] + tail
                inside = [p for p in splitter(pat_str).split(whole).tolist() if p[0] < len(text[:length].encode())]
                assert [whole.encode()[b:e] for b, e in inside] == left, (text[:at], tail)


def test_random_patterns_against_tiktoken_and_streamed() -> None:
    rng = random.Random(5)
    letters = ["a", "b", "A", "B", " ", "\n", "1", "é", "ſ", "s", "k", "\u212a", "中", "!"]
    tried = 0
    while tried < 3 * FEW:
        pat_str = random_pattern(rng, 2) + "|(?s:.)"
        strings = ["".join(rng.choice(letters) for _ in range(rng.randint(1, 10))) for _ in range(8)]
        try:
            mine = PatternSplitter(pat_str)
        except ValueError:
            continue
        pieces = [cut(s, mine.split(s)) for s in strings]
        try:
            assert tiktoken_pieces(pat_str, strings) == pieces, pat_str
        except BaseException as error:  # the pattern can match nothing, which makes tiktoken panic
            if type(error).__name__ != "PanicException":
                raise
        for text, expected in zip(strings, pieces):
            assert fed(mine.stream(), list(text)) == expected, (pat_str, text)
        tried += 1


def test_pattern_with_more_kinds_of_character_than_a_byte_counts() -> None:
    words = [chr(0x4E00 + n) + chr(0x5E00 - n) for n in range(400)]
    pat_str = "|".join(words) + "|x+"
    text = "x".join(words) + "".join(words[::-1]) + "\u4e00x"
    expected = [piece.encode() for piece in regex.findall(pat_str, text)]
    assert pieces_of(pat_str, text) == expected == fed(splitter(pat_str).stream(), list(text))


def test_streaming_holds_back_no_more_than_it_must() -> None:
    def feeds(pat_str: str, text: str) -> list[str]:
        stream = splitter(pat_str).stream()
        return [stream.feed(character)[0] for character in text]

    assert feeds(r"(?s).", "a\n中") == ["a", "\n", "中"]
    assert feeds(r"\w+|\s+|[^\w\s]", "ab !?c ") == ["", "", "ab", " !", "?", "", "c"]
    assert feeds(r"\p{N}{1,3}|\D", "1234x") == ["", "", "123", "", "4x"]
    assert feeds(CL100K, "I'll  go") == ["", "I", "", "'ll", "", "", " ", ""]
    assert feeds(r"(?:ab)*", "ababc") == ["", "", "", "", "ababc"]


def test_look_behind_sees_text_that_has_left_and_no_earlier_text() -> None:
    pat_str, text = r"(?<=ab{2})c|^x|\bd|(?s:.)y?", "xabbcxyd!xy!ddy"
    expected = pieces_of(pat_str, text)
    stream = splitter(pat_str).stream()
    for at in range(len(text)):
        stream.feed("abb")
        stream.flush()
        assert fed(stream, [text[:at], *text[at:]]) == expected
    for character in text * 100:
        stream.feed(character)
        assert len(stream.pending) + len(stream.context) <= 4


@each_pattern
def test_copies_and_pickles_go_their_own_way(pat_str: str) -> None:
    for text in texts(6, 25):
        expected = pieces_of(pat_str, text)
        for at in range(0, len(text), 3):
            stream = splitter(pat_str).stream()
            decided, spans = stream.feed(text[:at])
            head = cut(decided, spans)
            twins = [stream.copy(), copy.copy(stream), copy.deepcopy(stream), pickle.loads(pickle.dumps(stream))]
            stream.feed("other text")
            for twin in twins:
                assert head + [p for t, s in (twin.feed(text[at:]), twin.flush()) for p in cut(t, s)] == expected


def test_lone_surrogate_leaves_the_stream_as_it_was() -> None:
    mine = splitter(r"\w+|\W+")
    with pytest.raises(UnicodeEncodeError):
        mine.split("a\ud800")
    stream = mine.stream()
    stream.feed("ab")
    with pytest.raises(UnicodeEncodeError):
        stream.feed("c\udfff")
    assert stream.pending == "ab"


@pytest.mark.parametrize("name", ["words", "cl100k", "o200k", "llama3", "lines", "dropped"])
@pytest.mark.parametrize("unit", ["a", "A", " ", "\n", "1", "中"])
def test_endless_piece_takes_linear_time(name: str, unit: str) -> None:
    size = 1_000_000 if oracle.LONG else 200_000
    pattern, text = splitter(PATTERNS[name]), unit * size
    parts = [text[at : at + 512] for at in range(0, len(text), 512)]
    assert fed(pattern.stream(), parts) == pieces_of(PATTERNS[name], text)
    assert_linear(lambda n: cpu_seconds(lambda: feed_all(pattern.stream(), parts[: n // 512])), size)
    assert_linear(lambda n: cpu_seconds(lambda: pattern.split(text[:n])), size)


def test_single_characters_into_a_long_piece_are_cheap() -> None:
    def feed(n: int) -> None:
        stream = splitter(R50K).stream()
        for _ in range(n):
            stream.feed("a")
        assert len(stream.pending) == n

    assert_linear(lambda n: cpu_seconds(lambda: feed(n)), 200_000)
