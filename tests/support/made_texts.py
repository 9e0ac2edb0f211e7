"""Texts by the megabyte that every checkout can make: of what Python brings, and of the words and tokens that this
package bundles, which come from real text of some forty scripts. The same on every run."""

from __future__ import annotations

import functools
import itertools
import random
import unicodedata

import streamtok
from streamtok.bundled.words import read_all_words

SIZE = 2_400_000
"""Characters of a text."""

SCRIPTS = {
    "ar": ("ARABIC",),
    "he": ("HEBREW",),
    "hi": ("DEVANAGARI",),
    "ja": ("HIRAGANA", "KATAKANA", "CJK"),
    "km": ("KHMER",),
    "ko": ("HANGUL",),
    "ru": ("CYRILLIC",),
    "th": ("THAI",),
    "zh": ("CJK",),
}
"""How the names of the characters of a script begin."""

UNSPACED = {"ja", "km", "th", "zh"}
ENDS = {"ar": "؟", "hi": "।", "ja": "。", "km": "។", "zh": "。", "th": " "}


@functools.cache
def script_of(character: str) -> str:
    """The first word of a character's name; nothing for what is no letter, mark or digit."""
    return unicodedata.name(character, "").split(" ")[0] if unicodedata.category(character)[0] in "LMN" else ""


@functools.cache
def words() -> dict[str, list[str]]:
    """The bundled words and tokens that have letters of one script alone, by the script."""
    joined, lengths = read_all_words()
    ends = list(itertools.accumulate(lengths))
    frequent = [joined[end - n : end] for end, n in zip(ends, lengths)]
    tokens = streamtok.get_encoding("o200k_base").token_byte_values()
    found: dict[str, list[str]] = {}
    for word in dict.fromkeys([*frequent, *tokens]):
        text = word.decode("utf-8", "ignore").strip()
        scripts = {script_of(character) for character in text if not character.isascii()} - {""}
        if len(scripts) == 1 and len(text.encode()) > 1:
            found.setdefault(*scripts, []).append(text)
    return found


def of_script(name: str, size: int) -> str:
    """Words of one of SCRIPTS in sentences, early ones of a random order more often, as in a language."""
    rng = random.Random(name)
    known = [word for begin in SCRIPTS[name] for script, some in words().items() if script == begin for word in some]
    rng.shuffle(known)
    weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(len(known))))
    space = "" if name in UNSPACED else " "
    parts: list[str] = []
    while size > 0:
        sentence = space.join(rng.choices(known, cum_weights=weights, k=rng.randint(2, 25)))
        if rng.random() < 0.3:
            sentence += f" {rng.randrange(10 ** rng.randint(1, 7))} ({rng.choice(('km', 'HTTP', 'Python'))})"
        parts.append(sentence + ENDS.get(name, ".") + rng.choice(("\n", " ", " ", "", "\n\n")))
        size -= len(parts[-1])
    return "".join(parts)


def multilingual(size: int = SIZE) -> str:
    """Stretches of all scripts in turn, with the words of every other script among them."""
    each = 4000
    stretches = {name: of_script(name, size // len(SCRIPTS)) for name in SCRIPTS}
    rng = random.Random(1)
    others = [word for some in words().values() for word in some]
    parts = []
    for at in range(0, size // len(SCRIPTS), each):
        parts += [text[at : at + each] for text in stretches.values()]
        parts.append(" ".join(rng.choices(others, k=200)) + "\n")
    return "".join(parts)


def shuffled(text: str, size: int = SIZE) -> str:
    """The paragraphs of a text in random orders, one after the other."""
    rng = random.Random(2)
    paragraphs = text.split("\n\n")
    parts: list[str] = []
    while size > 0:
        parts += rng.sample(paragraphs, len(paragraphs))
        size -= len(text)
    return "\n\n".join(parts)
