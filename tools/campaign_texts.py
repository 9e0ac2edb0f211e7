"""The texts of the campaign against tiktoken: each is a function of the seed and of its unit's number alone.

A unit is one text of about TEXT_CHARACTERS characters, or a list of STRINGS short strings. Texts are slices of corpora,
spliced and mutated; strings are drawn from small alphabets of characters that split patterns treat apart.
"""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "support"))

import nasty

# About a second of tiktoken's time: an interrupted campaign loses no more, and the draws of a unit cost little.
TEXT_CHARACTERS = 3_000_000
STRINGS = 50_000

# tiktoken's regex engine takes quadratic time for long runs of blanks; runs of this length still cost it little.
LONGEST_RUN = 600

_RATES = (0.0, 0.0005, 0.005, 0.03, 0.2)
_SURROGATES = range(0xD800, 0xE000)

Codes = npt.NDArray[np.uint32]


def codes_of(text: str) -> Codes:
    """The code points of a text, one uint32 each."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def text_of(codes: Codes) -> str:
    """The text of code points; surrogates are left out, because a file of UTF-8 cannot hold them."""
    kept = codes[(codes < _SURROGATES.start) | (codes >= _SURROGATES.stop)]
    return kept.astype("<u4").tobytes().decode("utf-32-le")


def generator(seed: int, unit: int) -> np.random.Generator:
    return np.random.default_rng([seed, unit])


# ==== Texts of megabytes ====


class Corpora:
    """Real texts as code points, in files that all workers map: a corpus is decoded once."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._texts = [np.load(path, mmap_mode="r") for path in sorted(folder.glob("*.npy"))]
        if not self._texts:
            raise SystemExit(f"{folder} holds no corpora; name some with --corpus")

    def text(self, rng: np.random.Generator, names: Sequence[str]) -> str:
        """A text of about TEXT_CHARACTERS characters; the names of special tokens are put into it, too."""
        codes = self._spliced(rng) if rng.random() < 0.5 else self._slice(rng, TEXT_CHARACTERS)
        rate = float(rng.choice(_RATES))
        if rate:
            codes = _mutated(rng, codes, rate, names)
        return text_of(codes)

    def _slice(self, rng: np.random.Generator, longest: int) -> Codes:
        text = self._texts[int(rng.integers(len(self._texts)))]
        length = min(longest, len(text))
        begin = int(rng.integers(len(text) - length + 1))
        return np.array(text[begin : begin + length])

    def _spliced(self, rng: np.random.Generator) -> Codes:
        """Short pieces of a few larger slices one behind another: neighbours that no author wrote."""
        slices = [self._slice(rng, 400_000) for _ in range(int(rng.integers(1, 4)))]
        longest = int(rng.choice([8, 40, 400, 4000]))
        parts: list[Codes] = []
        total = 0
        while total < TEXT_CHARACTERS:
            source = slices[int(rng.integers(len(slices)))]
            begins = rng.integers(len(source), size=1000)
            lengths = rng.integers(1, longest + 1, size=1000)
            drawn = [source[a : a + n] for a, n in zip(begins.tolist(), lengths.tolist())]
            total += sum(map(len, drawn))
            parts += drawn
        return np.concatenate(parts)[:TEXT_CHARACTERS]


def _mutated(rng: np.random.Generator, codes: Codes, rate: float, names: Sequence[str]) -> Codes:
    """The code points with replacements, deletions and insertions, `rate` of each, and some runs and names."""
    codes = codes.copy()
    count = max(1, int(len(codes) * rate))
    codes[rng.integers(len(codes), size=count)] = _characters(rng, count)
    codes = np.delete(codes, rng.integers(len(codes), size=count // 2))
    codes = np.insert(codes, rng.integers(len(codes), size=count), _characters(rng, count))
    runs = [_run(rng) for _ in range(200)] + [codes_of(str(rng.choice(names))) for _ in range(200 if names else 0)]
    places = np.sort(rng.integers(len(codes), size=len(runs))).tolist()
    pieces: list[Codes] = []
    for begin, end, run in zip([0, *places], [*places, len(codes)], [*runs, codes[:0]]):
        pieces += [codes[begin:end], run]
    return np.concatenate(pieces)


def _characters(rng: np.random.Generator, count: int) -> Codes:
    """Half from the alphabet of the tests, half from all of Unicode, a few blocks at a time."""
    alphabet = np.concatenate([codes_of(letters) for letters in nasty.ALPHABET])
    blocks = rng.integers(0x1100, size=16) << 8
    anywhere = blocks[rng.integers(16, size=count)] + rng.integers(256, size=count)
    return np.where(rng.random(count) < 0.5, rng.choice(alphabet, count), anywhere).astype(np.uint32)


def _run(rng: np.random.Generator) -> Codes:
    unit = codes_of(str(rng.choice(nasty.ALPHABET)))
    return np.tile(unit, int(rng.integers(2, LONGEST_RUN // len(unit))))


# ==== Short strings ====


def strings(rng: np.random.Generator, names: Sequence[str], count: int = STRINGS) -> list[str]:
    """Strings of few different characters, in which runs are likely, and strings of all of them."""
    made: list[str] = []
    while len(made) < count:
        letters = _alphabet(rng, names)
        lengths = rng.integers(1, int(rng.choice([4, 12, 32])) + 1, size=250)
        ends = np.cumsum(lengths).tolist()
        drawn = [letters[i] for i in rng.integers(len(letters), size=ends[-1]).tolist()]
        made += ["".join(drawn[a:b]) for a, b in zip([0, *ends], ends)]
    return made[:count]


def _alphabet(rng: np.random.Generator, names: Sequence[str]) -> list[str]:
    kind = rng.random()
    if kind < 0.6:
        return [str(letter) for letter in rng.choice(nasty.ALPHABET, size=int(rng.integers(1, 7)))]
    if kind < 0.8:
        return [*nasty.ALPHABET, *names]
    block = int(rng.integers(0x1100)) << 8
    some = [chr(block + i) for i in rng.integers(256, size=24).tolist()]
    return [*some, *(str(letter) for letter in rng.choice(nasty.ALPHABET, size=8))]


# ==== Cuts ====


def cuts(rng: np.random.Generator, length: int) -> Iterator[tuple[int, int]]:
    """(begin, end) of chunks of a text: mostly some kilobytes, with stretches of a few bytes each."""
    at = 0
    while at < length:
        longest = int(rng.choice([3, 40, 5000, 60_000, 400_000]))
        for size in rng.integers(0, longest + 1, size=60).tolist():
            yield at, min(at + size, length)
            at += size
            if at >= length:
                return


# ==== Corpora on the disk ====


def unpack(paths: Sequence[str], folder: pathlib.Path) -> None:
    """Writes each corpus as an array of code points; a file that is there already stays."""
    import lzma

    folder.mkdir(parents=True, exist_ok=True)
    for number, path in enumerate(paths):
        target = folder / f"{number:03}-{pathlib.Path(path).name}.npy"
        if target.exists():
            continue
        opened = lzma.open(path) if path.endswith(".xz") else open(path, "rb")
        with opened as file:
            codes = codes_of(file.read().decode("utf-8", "replace"))
        partial = target.with_suffix(".partial.npy.tmp")
        with partial.open("wb") as out:
            np.save(out, codes)
        os.replace(partial, target)


def texts_of_python() -> list[str]:
    """Files that every Python has, used if no corpus is named: its sources, and the help of its keywords."""
    folder = pathlib.Path(os.__file__).parent
    return sorted(map(str, [*folder.glob("*.py"), *folder.glob("pydoc_data/*.py"), *folder.glob("encodings/*.py")]))
