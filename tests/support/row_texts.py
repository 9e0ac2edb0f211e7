"""Random texts of what the rows of traits (csrc/split/rows.h) tell apart."""

from __future__ import annotations

import random
from collections.abc import Iterator

# Everything that some trait treats in a way of its own, and neighbours of it.
HARD = [
    *"''sStTdDmMlLrReEvVaB  \n\r\t12!./$+-_",
    *"\x0b\x85\u00a0\u3000\u2028\u00b2\u0663\u0e51\u2167\u3007\U0001d7d9\u00bf\u20ac\u2019",
    *"\u4dff\u4e00\u9fa5\u9fa6\u3400\U00020000\U000323af\uf900\u3005\u3042\u30a2\u30fc\u30fb\u3099\u309b\u3040\u30a0\u30ff\u3100",
    *"\uff71\ud55c\u1100\u0301\u20dd\u0903\u0e01\u0e31\u0915\u094d\u02b0\u00aa\u01c5\u00e9\u00c9\u00df\u0130\u017f\u212a\ufb05",
    *"\U0001d400\U00010428\U0001f600\U0001f3fd\u2e80\u2f00\U00016ff0\U00016fe2\u200d\ufe0f\ufeff\u00ad\x00\x7f\u0378",
    *"\U00011de8\U00016ff4\ue000\U000e0041\U0010ffff",
    *("'s", "'ll", "'RE", "'\u017f", "a's's", "\n/", "/!\u0301", "\r\n", "...", "12345", "\u4e2dA", "  ", " the"),
    "!abc\u00e9",
]  # fmt: skip
LONG = ["A" * 70, "\n" + " " * 75, "1" * 80, "\u4e2d" * 30, "\x00" * 70, "." * 66]


def texts(seed: int, count: int) -> Iterator[str]:
    rng = random.Random(seed)
    for _ in range(count):
        units = rng.sample(HARD, rng.randint(2, 8)) if rng.random() < 0.7 else HARD
        size = rng.choice((1, 3, 10, 40, 100, 300))
        made = [rng.choice(LONG) if rng.random() < 0.01 else rng.choice(units) for _ in range(size)]
        yield "".join(made)
