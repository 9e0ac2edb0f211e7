"""Patterns that are short to write and long to compile: a seeded generator."""

from __future__ import annotations

import random

LONGEST = 20_000
"""Characters of a pattern at most, as streamtok.patterns.compile.MOST_CHARACTERS."""

_ATOMS = [
    "a",
    "k",
    "ß",
    "[a-z]",
    r"\p{L}",
    r"\w",
    r"\s",
    r"\d",
    ".",
    r"[^\s\p{L}]",
    "[k-s]",
    r"[\p{L}&&[^a]]",
    r"\p{Greek}",
]
_COUNTS = [
    "*",
    "+",
    "?",
    "{2}",
    "{3,9}",
    "{1000}",
    "{0,5000}",
    "{99999}",
    "{1,}",
    "*?",
    "+?",
    "{2,70}?",
    "++",
    "*+",
    "{0,9}+",
]


def _letters(rng: random.Random, n: int) -> str:
    return "".join(chr(rng.choice([0x61, 0x4E00, 0x3B1, 0x430]) + rng.randrange(20)) for _ in range(n))


def _case(rng: random.Random, n: int) -> str:
    """Letters under (?i), as single ones, in a class, in alternatives."""
    flag = rng.choice(["(?i)", "(?i:"])
    body = rng.choice(["k{}", "[{}]", "(?:{})+", "[^{}]", "(?={})"]).replace("{}", _letters(rng, n))
    return flag + body + (")" if flag == "(?i:" else "")


def _distinct(rng: random.Random, n: int) -> str:
    """Many sets, each another one."""
    points = [0x4E00 + 3 * i for i in range(n)]
    rng.shuffle(points)
    if rng.random() < 0.5:
        return "".join(map(chr, points))
    return "|".join(f"[{chr(p)}-{chr(p + rng.randrange(1, 900))}]" for p in points)


def _nested(rng: random.Random, n: int) -> str:
    """Groups in groups, each with a count."""
    depth = min(n, rng.choice([5, 20, 95, 99, 150, 3000]))
    opened = rng.choice(["(?:", "(", "(?>", "(?=", "(?!", "(?<=", "(?<!", "(?i:"])
    close = ")" + rng.choice(["", *_COUNTS])
    return opened * depth + rng.choice(_ATOMS) + close * depth


def _repeats(rng: random.Random, n: int) -> str:
    return "".join(rng.choice(_ATOMS) + rng.choice(_COUNTS) for _ in range(n // 4 + 1))


def _choices(rng: random.Random, n: int) -> str:
    size = rng.choice([1, 2, 5, 40])
    words = {_letters(rng, rng.randrange(1, size + 1)) for _ in range(n // size + 1)}
    return rng.choice(["{}", "(?:{})+", "(?i:{})", "(?:{}){3}", "(?:{})*x", "(?<=(?:{}))y", "(?!{})."]).replace(
        "{}", "|".join(sorted(words))
    )


def _prefixes(rng: random.Random, n: int) -> str:
    """Alternatives that begin alike: aaaa|aaab|..."""
    size = max(int(n**0.5), 1)
    return "|".join("a" * (size - i) + "b" * i for i in range(size)) or "a"


def _class_algebra(rng: random.Random, n: int) -> str:
    depth = min(n, rng.choice([3, 50, 400, 5000]))
    kind = rng.randrange(5)
    if kind == 0:
        return "[" * depth + "a" + "]" * depth
    if kind == 1:
        return "[a-z" + "&&[^b]" * (n // 6 + 1) + "]"
    if kind == 2:
        return "[" + r"\p{L}\w\P{Lu}" * (n // 12 + 1) + "]"
    if kind == 3:
        return "".join(r"[^\p{L}" + chr(0x4E00 + 7 * i) + "]" for i in range(n // 9 + 1))
    return "[" + "[^" * depth + r"\p{L}" + "]" * depth + "]"


def _looks(rng: random.Random, n: int) -> str:
    look = rng.choice(["(?=a)", "(?!b)", "(?<=c)", "(?<!d)", r"\b", r"\B", "^", "$", r"\A", r"\z", r"(?=[a-z]\b)"])
    return look * (n // len(look) + 1) + rng.choice(_ATOMS)


def _ambiguous(rng: random.Random, n: int) -> str:
    """Automata that blow up: the n-th character from the end, overlapping counts, (a|b)*a(a|b){n}."""
    k = min(n, rng.choice([5, 12, 20, 60, 300, 2000]))
    return rng.choice(
        [
            f"(?:a|b)*a(?:a|b){{{k}}}",
            f"[ab]*a[ab]{{{k}}}c",
            f"(?:a{{1,{k}}}b?){{1,{k}}}",
            f"(?:.*x){{{k}}}",
            f"(?:(?:a+b+)+c+){{{k}}}",
            "".join(f"(?:a{{{i}}})*" for i in range(1, k + 1)) + "b",
            "|".join(f"(?:a{{{i}}})+b" for i in range(1, k + 1)),
            "|".join(rf".{{{i}}}\d" for i in range(1, k + 1)),
            f"(?:\\w{{1,{k}}}\\s?)*z",
            "".join(f"a{i}?" for i in range(k)),
        ]
    )


def _properties(rng: random.Random, n: int) -> str:
    """Properties that only the regex package has a table of, and names that are none."""
    names = [
        "Emoji_Modifier",
        "Script=Vai",
        "Block=Cherokee",
        "Line_Break=AL",
        "Sentence_Break=SP",
        "Age=3.0",
        "x" * n,
        "InCuneiform",
    ]
    return "".join(rf"\p{{{rng.choice(names)}}}" for _ in range(rng.choice([1, 5, 60])))


def _odd(rng: random.Random, n: int) -> str:
    return rng.choice(
        [
            "(?#" + "c" * n + ")a",
            "(?x)" + " a #b\n" * (n // 6 + 1),
            "(" * n,
            ")" * n,
            "a" * n,
            "a|" * n + "b",
            "a?" * n + "a",
            "(?:a?)" * (n // 6) + "b",
            "(?:a*)*" * (n // 7 + 1),
            "a{" + "9" * n + "}",
            "a{0}" * (n // 4) + "b",
            "\\x{" + "0" * n + "41}",
            "[" + "-" * n + "]",
            "\\" * n,
            "\\R" * (n // 2 + 1),
            "\\Z" * (n // 2 + 1) + "a",
            "(?<n>a)" * (n // 7 + 1),
            "\n" * n + " ",
            "(?:" * (n // 4) + "|" * (n // 4) + "a" + ")" * (n // 4),
        ]
    )


KINDS = [
    _case,
    _distinct,
    _nested,
    _repeats,
    _choices,
    _prefixes,
    _class_algebra,
    _looks,
    _ambiguous,
    _properties,
    _odd,
]


def pattern(rng: random.Random) -> str:
    """One pattern, of at most LONGEST characters."""
    size = rng.choice([10, 60, 300, 2000, 8000, 19_000])
    made = rng.choice(KINDS)(rng, size)
    if rng.random() < 0.2:
        made = f"(?:{made}){rng.choice(_COUNTS)}"
    if rng.random() < 0.2:
        made += "|" + rng.choice(KINDS)(rng, rng.choice([10, 60, 300]))
    return made[:LONGEST]
