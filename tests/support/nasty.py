"""Strings that break tokenizers: a fixed list, and generators of random ones.

The comment in front of each group says what is hazardous about it.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

# Contractions: which of them a pattern knows, in which case, and what stands before the apostrophe, decide the split.
# U+017F matches s when case is ignored; U+212A (Kelvin) lower-cases to k, with which no contraction begins.
_SUFFIXES = ["s", "d", "m", "t", "ll", "ve", "re", "l", "v", "r", "S", "LL", "Re", "vE", "\u017f", "\u212a", "x", "lx"]
CONTRACTIONS = [
    f"{before}'{suffix}{after}"
    for before, suffix, after in itertools.product(["", "a", "B", " ", "1", "!", "中"], _SUFFIXES, ["", "s", " ", "'s"])
] + ["a's's's's", "'s's", "''s", "I'M", "don't've", "\u2019s", "a\u2019s", "'\u0301s", "a'\u0301s", "'S'", "o'l'l'r'e"]

# Numbers are split into threes in two families, in every script.
NUMBERS = [
    "1", "12", "123", "1234", "1234567890" * 3, " 1", "  12", "a1b22c333d4444", "3.14159", "1,234,567", "0x1F",
    "1e10", "\u0661\u0662\u0663\u0664", "\u0967\u0968\u0969\u096a", "\uff11\uff12\uff13\uff14", "\u00b2\u00b3\u00b9",
    "\u2167\u2168", "\u00bd\u00bc", "12\u0663", "\U0001d7ce\U0001d7cf\U0001d7d0\U0001d7d1", "一二三四", "\u0bf0",
    "1\u03012", "1 2 3",
]  # fmt: skip

# White space: the last one before a word goes with it, line breaks end pieces, and what \s means differs everywhere:
# U+0085 and U+001C to U+001F are white space for Python; U+200B, U+180E and U+FEFF look like it and are not.
WHITE = [
    "\n", "\r", "\r\n", "\n\n", "\n\r", "\r\n\r\n", " \n", "\n ", " \n ", "\n \n", "a\n", "a \n", "a\nb", "a \n b",
    "!\n", "!\r\n\r\n", "!\n ", "! \n", "!\n\n a", "\t", "\t\t", "\ta", " \ta", "\t a", "  a", "   a", "a  ", "a   b",
    " ", "  ", "    ", "\u00a0", "\u00a0a", " \u00a0a", "a\u00a0", "\u3000", "\u3000中", " \u3000 ", "\u2028",
    "a\u2028b", "\u2029\n", "\u0085", "a\u0085b", "\x1c", "\x1c\x1d\x1e\x1f", "a\x1cb", "\x0b\x0c", "\u200b",
    "a\u200bb", "\ufeffa", "\u180e", "\u1680a", "\u2003\u2003x", "\u202f1", "\u205f!", " \n\n\n  \n  ", "\n\t\n\t\n",
    "x = 1\n\n\n    y", "    \n    \n", "\r \r", "\n\u3000\n", " 1", "  1", "\n1", "\t1", "\u00a01", " !", "  !",
    "\n!", "\u00a0!", "\u3000!", " \r", "\r ", "a\r", "\ra", "\x00", "a\x00b", "\x00 \x00",
]  # fmt: skip

# Upper and lower case in o200k: where a run of upper-case letters ends is decided far behind it; caseless letters,
# title case, modifier letters and marks fit either part.
CASES = [
    "ABC", "ABc", "aBC", "AbC", "HTTPServer", "camelCaseWord", "XMLHttpRequest", "ABC中", "中ABC", "中ABCd",
    "ABC中DEF", "ABC中DEf", "\u01c5", "A\u01c5b", "\u01c5\u01c5", "\u02b0A", "A\u02b0", "A\u02b0B", "A\u02b0b",
    "中A中B中", "aA中A", "AA\u0301A", "A\u0301\u0301b", "\u0130i", "I\u0131", "ß", "ẞ", "σς", "ΑΒΓαβγ", "ЖЖж", "ÀÉÎ",
    "àéî", "Aaaa", "aAAA", "AAAA中AAAA", "\u00aa\u00ba", "ﷺ", "ǅʰA", "\u10d0\u1c90",
]  # fmt: skip

# Marks, with a letter before them or without: part of a word, a piece of their own, or punctuation.
MARKS = [
    "\u0301", "\u0301\u0301", "e\u0301", "!\u0301", "!!\u0301", " \u0301", "\n\u0301", "1\u0301", "\u0301a",
    "\u0301A", "A\u0301", "\u0e31", "ก\u0e31", "\u0903", "\u20dd", "a\u20dd", "!\u20dd", "/\u0301", "\n/\u0301",
    "/!\u0301", "\n/!\u0301", "नमस्ते", "ไทยแลนด์", "العَرَبِيَّة", "שָׁלוֹם", "각", "각",
]  # fmt: skip

# Slash tails: in o200k [\r\n/]* behind punctuation swallows what would begin the next piece.
SLASHES = [
    "/", "//", "!/", "!\n/", "!\n//a", "!/\n/", "http://a/b", "//\n//", "\n/", "\n//", "a/b", "a /b", "./a",
    "!\n/\u0301", "!\r\n/!", "!\n/!\u0301\n/", "x\n/!\u0301\n/!\u0301\n/!\u0301\n", "-\n/-\n/-", "/*\n * a\n */\n",
    "</a>\n</b>", "!//\n\n//!", " //", " \n//", "/ /", "///\n",
]  # fmt: skip

# Emoji: sequences of many code points, variation selectors, tags, flags, skin tones, keycaps.
EMOJI = [
    "😀", "😀😀", "👩\u200d👩\u200d👧\u200d👦", "👍🏽", "🏳️\u200d🌈", "🇩🇪🇫🇷", "1️⃣", "❤️", "☺",
    "🏴\U000e0067\U000e0062\U000e0065\U000e007f", "a😀b", " 😀", "😀 ", "😀\n", "👨🏿\u200d🚀", "\u200d", "\ufe0f",
    "©®™",
]  # fmt: skip

# The texts of special tokens, pieces of them, and look-alikes.
SPECIALS = [
    "<|endoftext|>", "<|endofprompt|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|im_start|>",
    "<|start|>", "<|endoftext|", "<|endoftex", "<|endo", "<|", "<", "|>", "endoftext", "<|endoftext|><|endoftext|>",
    "a<|endoftext|>b", " <|endoftext|> ", "\n<|endoftext|>\n", "<<|endoftext|>>", "<|endof<|endoftext|>text|>",
    "<|<|endoftext|>", "<|endoftext|>|>", "<|endofprompt|>1<|endoftext|>2", "<|ENDOFTEXT|>", "<|end oftext|>",
    "<|endoftext |>", "<|fim_prefix", "1234<|endoftext|>5678", "中<|endoftext|>文", "a'<|endoftext|>s",
    "  <|endoftext|>  x", "<|reserved_200000|>", "<|endoftext|>'s",
]  # fmt: skip

# Code points that are unassigned, for private use, or outside of the first plane; the newest letters of Unicode 16,
# and letters that came after it, which tiktoken does not know.
ODD = [
    "\u0378", "\ue000", "\ufdd0", "\uffff", "\U0001ffff", "\U0010ffff", "\U000f0000", "\U00020000", "\U0002a6d6中",
    "\U00010400\U00010428", "\U0001d400\U0001d41a", "\U00016d43", "\U00010d70", "\ua7cb", "\ua7ce", "\U00011db0",
    "\u1acf", "\U00010ec5", "\U000e0100", "\ufffd", "\u00ad", "\u202e", "\u2060", "\u061c", "ﬁ", "Ω", "\u03a9\u2126",
    "𝕳𝖊𝖑𝖑𝖔", "ｈｅｌｌｏ", "ℌ", "\u0149", "\ufb00",
]  # fmt: skip

PLAIN = [
    "", "a", "hello world", "Hello, World!", "The quick brown fox jumps over the lazy dog.", "日本語のテキスト",
    "中文文本，没有空格。", "한국어 문장입니다", "Привет, мир!", "Ελληνικά",
    "def f(x):\n    return x ** 2\n\n\nclass A:\n\tpass\n", '{"a": [1, 2.5, null], "b": "c\\n"}', "a_b-c.d,e;f:g",
    "====----====", "...", "?!?!", "$1,000.00", "user@example.com", "https://example.com/a?b=c&d=%20", "\\\\n\\t",
    "<html></html>", "SGVsbG8gV29ybGQhIFRoaXMgaXMgYmFzZTY0Lg==", "naïve café", "ab" * 40,
    "supercalifragilisticexpialidocious",
]  # fmt: skip

# Long runs: pieces over the length that is held back as a whole, over a cache entry, over the longest token.
UNITS = {
    "a": "a", "space": " ", "newline": "\n", "digit": "7", "equals": "=", "crlf": "\r\n", "chinese": "的",
    "emoji": "😀", "dash": "-", "mark": "\u0301", "upper": "A", "nbsp": "\u00a0", "tab": "\t", "ab": "ab",
    "slash": "/", "tick": "'", "caps": "A中", "ring": "\u00c3\u0082",
}  # fmt: skip
LONG = [unit * times for unit in UNITS.values() for times in (14, 16, 33, 65, 130, 301)] + [
    "中" * 50 + "A" * 50 + "!", "\n" + " " * 90 + "a", "a" + " " * 90 + "1", " " * 70 + "\n" + " " * 70,
    "A" * 80 + "b", "!" * 80 + "\n" * 80 + "/" * 9, "a" * 70 + "'" + "s", "a" * 70 + "'lx", "a" * 70 + "'",
    "'" + "l" * 70, " " * 100 + "<|endoftext|>", "a" * 100 + "<|endoftext|" + "a" * 100,
]  # fmt: skip

FIXED = [*CONTRACTIONS, *NUMBERS, *WHITE, *CASES, *MARKS, *SLASHES, *EMOJI, *SPECIALS, *ODD, *PLAIN, *LONG]

# One or a few characters of each kind, and the units that some rule treats in its own way.
ALPHABET = [
    *"''sStTlLrReEvVdDmkKaBBz  \n\n\r\t129!./-_<|>", "\u00a0", "\u3000", "\u2028", "\u0085", "\x1c", "²", "\u2167",
    "中", "あ", "한", "\u0301", "\u0e31", "\u20dd", "\u0903", "\u02b0", "\u01c5", "é", "É", "ß", "\u017f", "\u212a",
    "\u0130", "😀", "\u200d", "\ufe0f", "\u0378", "\U00020000", "\U0001d400", "'s", "'ll", "'RE", "'ve", "\r\n",
    "\n/", "/!\u0301", "  ", "<|endoftext|>", "<|endof", "<|fim_prefix|>", "the", " of", "ing", "123",
]  # fmt: skip

# One or two of each kind, few enough to try every combination of them.
SMALL = ["'", "s", "l", "R", "e", "B", "中", "\u0301", " ", "\t", "\n", "1", "!", "/"]


def random_strings(rng: random.Random, count: int, longest: int = 16, alphabet: list[str] = ALPHABET) -> Iterator[str]:
    """Six strings in ten have few different characters, so that runs are likely; the others have any."""
    for _ in range(count):
        letters = rng.sample(alphabet, rng.randint(1, 6)) if rng.random() < 0.6 else alphabet
        yield "".join(rng.choice(letters) for _ in range(rng.randint(1, longest)))


def short_strings(depth: int) -> Iterator[str]:
    """All strings of up to `depth` characters of SMALL."""
    for n in range(1, depth + 1):
        yield from map("".join, itertools.product(SMALL, repeat=n))


# Nearly UTF-8: cut characters, stray and wrong continuations, overlong forms, surrogates.
BYTE_PARTS = [
    b"a", b" ", "é".encode(), "中".encode(), "😀".encode(), b"\x80", b"\xbf", b"\xc0\x80", b"\xc1", b"\xc3",
    b"\xe4\xb8", b"\xe4", b"\xf0\x9f", b"\xf0\x9f\x98", b"\xf0", b"\xed\xa0\x80", b"\xed\xbf\xbf",
    b"\xe0\x80\x80", b"\xe0\x9f", b"\xf4\x90\x80\x80", b"\xf0\x80\x80\x80", b"\xf5", b"\xff", b"\xfe",
    b"\xef\xbf\xbd", b"\xef\xbb\xbf", b"\xed\x9f\xbf", b"\xf4\x8f\xbf\xbf", b"\n", b"'s", b"<|endof",
]  # fmt: skip


def random_bytes(rng: random.Random, count: int) -> Iterator[bytes]:
    """Bytes that are nearly UTF-8."""
    for _ in range(count):
        yield b"".join(rng.choice(BYTE_PARTS) for _ in range(rng.randint(1, 8)))


def families_of_bytes(rng: random.Random, tokens: list[bytes], n: int) -> dict[str, bytes]:
    """Byte strings of n bytes for merging, by what they are made of."""
    runs = [c.encode() for c in " \n\t-=*_#/.~+<>!$%|\\019aAxX\u00a0\u3000\u2500\u2588\u00c2\ufffd"]

    def filled(make) -> bytes:
        out = bytearray()
        while len(out) < n:
            out += make()
        return bytes(out[:n])

    def cut_token() -> bytes:
        token = rng.choice(tokens)
        a = rng.randrange(len(token))
        return token[a : rng.randint(a + 1, len(token))]

    return {
        "a": b"a" * n,
        "ab": bytes(rng.choices(b"ab", k=n)),
        "space": b" " * n,
        "newline and space": bytes(rng.choices(b"\n ", weights=(1, rng.choice((1, 5, 80))), k=n)),
        "dash and equals": bytes(rng.choices(b"-=", weights=(1, rng.choice((1, 30))), k=n)),
        "glued tokens": filled(lambda: rng.choice(tokens)),
        "glued short tokens": filled(lambda: tokens[rng.randrange(min(len(tokens), 2000))]),
        "cut tokens": filled(cut_token),
        "random bytes": rng.randbytes(n),
        "random letters": bytes(rng.choices(b"abcdefghijklmnopqrstuvwxyz", k=n)),
        "runs": filled(lambda: rng.choice(runs) * rng.choice((1, 2, 3, rng.randint(1, 40), rng.randint(1, 300)))),
    }
