"""Texts that may take long to encode, each given again by a few values: what worst_time.py searches."""

from __future__ import annotations

import dataclasses
import json
import random
import unicodedata

# A few of each class of characters that some pattern, table or merge treats in a way of its own.
CLASSES = {
    "lower": ["a", "b", "e", "s", "t", "z", "é", "ß", "ſ", "ж"],
    "upper": ["A", "B", "S", "É", "Ж", "ǅ", "\u212a"],
    "caseless": ["中", "文", "あ", "한", "ʰ", "ª", "ก", "א", "𠀀"],
    "mark": ["\u0301", "\u0903", "\u20dd", "\u0e31"],
    "digit": ["0", "1", "7", "٣", "²", "Ⅷ", "𝟎"],
    "blank": [" ", "\t", "\u00a0", "\u3000", "\u2028", "\x0b"],
    "newline": ["\n", "\r", "\r\n", "\n\n"],
    "quote": ["'", "'s", "'ll", "'RE", "'ſ", "’"],
    "sign": ["!", ".", "/", "-", "=", "_", "*", "#", "<", "|", "€", "─", "😀", "\u200d", "\ufe0f", "\u0378", "\x00"],
}
EVERY = [unit for units in CLASSES.values() for unit in units]
NASTY = ["\n ", " \n", "\n/", "/!\u0301", "A中", "中A", "a'", "'l", "<|endoftext|", "\u00c3\u0082", "ab", "aab", "abab"]
WORD = "etaoinshrdlucmfwypvbgkjqxz"
BROKEN = [b"\xff", b"\x80", b"\xc3", b"\xe4\xb8", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xc0\xaf"]


@dataclasses.dataclass(frozen=True)
class Recipe:
    """units: what the text is made of, bytes as hexadecimal digits. order: "cycle" (one after the other, over and over)
    or "random". runs: how often each unit is repeated in a row, in the same order. edit: in about so many bytes one
    character is replaced by a unit; 0: none. lead: bytes of "x" in front, which shift the text against the chunks."""

    units: tuple[str, ...]
    order: str = "cycle"
    runs: tuple[int, ...] = (1,)
    edit: int = 0
    lead: int = 0
    seed: int = 0

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, line: str) -> Recipe:
        values = json.loads(line)
        return cls(**values | {"units": tuple(values["units"]), "runs": tuple(values["runs"])})


def make(recipe: Recipe, n: int, fresh: int = 0) -> bytes:
    """The text, of at most n bytes: fewer if edits replaced long characters by short ones. Another `fresh` gives
    another text of the same kind, unless nothing in it is random."""
    units = [bytes.fromhex(unit) for unit in recipe.units]
    rng = random.Random(recipe.seed * 1_000_003 + fresh)
    out = bytearray(b"x" * recipe.lead)
    if recipe.order == "cycle":
        count = max(len(units), len(recipe.runs))
        period = b"".join(units[i % len(units)] * recipe.runs[i % len(recipe.runs)] for i in range(count))
        out += period[:n] * (n // max(1, min(len(period), n)) + 1)
    elif recipe.runs == (1,):
        while len(out) < n:
            out += b"".join(rng.choices(units, k=256))
    else:
        while len(out) < n:
            out += rng.choice(units) * rng.choice(recipe.runs)
    text = edited(recipe, units, rng, bytes(out[:n]))
    return text if is_broken(recipe) else text.decode(errors="ignore").encode()


def edited(recipe: Recipe, units: list[bytes], rng: random.Random, text: bytes) -> bytes:
    if not recipe.edit:
        return text
    parts, at = [], 0
    while (end := at + 1 + int(rng.expovariate(1 / recipe.edit))) < len(text):
        while end < len(text) and text[end] & 0xC0 == 0x80:
            end += 1
        parts += [text[at:end], rng.choice(units)]
        at = end + 1
        while at < len(text) and text[at] & 0xC0 == 0x80:
            at += 1
    return b"".join([*parts, text[at:]])[: len(text)]


def is_broken(recipe: Recipe) -> bool:
    """Whether some unit is not UTF-8. The text is then encoded with errors="replace"."""
    return any(not is_utf8(bytes.fromhex(unit)) for unit in recipe.units)


def is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


# ==== Random recipes ====


class Chooser:
    """Makes recipes for one vocabulary."""

    def __init__(self, tokens: list[bytes], seed: int) -> None:
        self.rng = random.Random(seed)
        self.tokens = [token for token in tokens if is_utf8(token)]
        self.longest = sorted(self.tokens, key=len)[-300:]

    def token(self) -> bytes:
        """A token, one of the longest, or whole characters of one."""
        rng = self.rng
        token = rng.choice(self.longest if rng.random() < 0.2 else self.tokens)
        if rng.random() < 0.4 or not token:
            return token
        text = token.decode()
        at = rng.randrange(len(text))
        return text[at : rng.randint(at + 1, len(text))].encode()

    def character(self) -> bytes:
        """Any assigned character."""
        while True:
            character = chr(self.rng.choice((self.rng.randrange(0x80, 0x3000), self.rng.randrange(0x3000, 0x20000))))
            if unicodedata.category(character) not in ("Cn", "Cs"):
                return character.encode()

    def unit(self) -> bytes:
        rng = self.rng
        kind = rng.random()
        if kind < 0.3:
            return rng.choice(EVERY).encode()
        if kind < 0.4:
            return rng.choice(NASTY).encode()
        if kind < 0.6:
            return self.token()
        if kind < 0.75:
            return "".join(rng.choices(WORD, k=rng.randint(1, 24))).encode()
        if kind < 0.85:
            return self.character()
        if kind < 0.87:
            return rng.choice(BROKEN)
        return "".join(rng.choices(rng.choice(list(CLASSES.values())), k=rng.randint(1, 6))).encode()

    def units(self) -> list[bytes]:
        """A few units of all kinds, an alphabet, a class of characters, or two classes."""
        rng = self.rng
        kind = rng.random()
        if kind < 0.6:
            return [self.unit() for _ in range(rng.choice((1, 1, 2, 2, 3, 4, 6, 10)))]
        if kind < 0.7:
            return [c.encode() for c in rng.choice((WORD, WORD.upper(), WORD + WORD.upper(), WORD + " ", WORD + "'"))]
        if kind < 0.8:
            return [self.token() for _ in range(rng.choice((20, 100, 500)))]
        if kind < 0.88:
            return [self.character() for _ in range(rng.choice((3, 20, 200)))]
        names = rng.sample(sorted(CLASSES), rng.choice((1, 2, 2, 3)))
        return [unit.encode() for name in names for unit in CLASSES[name]]

    def run(self) -> int:
        return self.rng.choice(
            (1, 1, 1, 2, 3, self.rng.randint(1, 40), 16, 64, 255, 256, 257, self.rng.randint(1, 3000))
        )

    def new(self) -> Recipe:
        rng = self.rng
        units = self.units()
        return Recipe(
            tuple(unit.hex() for unit in units),
            order="cycle" if len(units) <= 10 and rng.random() < 0.5 else "random",
            runs=(1,) if rng.random() < 0.6 else tuple(self.run() for _ in range(rng.randint(1, 4))),
            edit=0 if rng.random() < 0.6 else round(2 ** rng.uniform(2, 12)),
            lead=rng.randrange(16) if rng.random() < 0.2 else 0,
            seed=rng.randrange(1 << 30),
        )

    def changed(self, recipe: Recipe) -> Recipe:
        """A recipe that differs in one respect: a step of the climb."""
        rng = self.rng
        units, runs = list(recipe.units), list(recipe.runs)
        match rng.randrange(8):
            case 0:
                units[rng.randrange(len(units))] = self.unit().hex()
            case 1:
                units.insert(rng.randint(0, len(units)), self.unit().hex())
            case 2 if len(units) > 1:
                del units[rng.randrange(len(units))]
            case 3:
                i = rng.randrange(len(units))
                units[i] += rng.choice(units) if len(units[i]) < 200 else ""
            case 4:
                runs[rng.randrange(len(runs))] = self.run()
            case 5:
                runs = [self.run(), *runs][:6]
            case 6:
                return dataclasses.replace(recipe, edit=0 if recipe.edit else round(2 ** rng.uniform(2, 12)))
            case _:
                other = "cycle" if recipe.order == "random" and len(units) <= 10 else "random"
                return dataclasses.replace(recipe, order=other, seed=rng.randrange(1 << 30))
        return dataclasses.replace(recipe, units=tuple(units), runs=tuple(runs))
