"""A text in segments: the ids of the joined text, where each name counts where all segments that hold it allow it."""

from __future__ import annotations

import json
import random

import nasty
import numpy as np
import oracle
import pytest

from streamtok import Encoding
from streamtok.patterns import CL100K

NAMES = {"<a>": 60_001, "<a><b>": 60_002, "<b>": 60_003, "a><": 60_004, "<": 60_005, "<|end|>": 60_006, "é": 60_007}
COUNT = {"default": 150, "ci": 3_000, "long": 30_000}[oracle.PROFILE]


def defined(enc, segments: list[tuple[str, set[str]]]) -> tuple[list[int], list[int]]:
    """(ids, starts) by the definition: place by place, name by name; what lies between is encoded by itself."""
    data = b"".join(text.encode() for text, _ in segments)
    owner = [index for index, (text, _) in enumerate(segments) for _ in text.encode()]
    ids: list[int] = []
    ends = [0]

    def ordinary(text: bytes) -> None:
        for token in enc.encode(text.decode(), disallowed_special=()):
            ids.append(token)
            ends.append(ends[-1] + len(enc.decode_single_token_bytes(token)))

    at = begun = 0
    while at < len(data):
        fits = [
            name
            for name in enc._special_tokens
            if data.startswith(name.encode(), at)
            and all(name in segments[index][1] for index in set(owner[at : at + len(name.encode())]))
        ]
        if not fits:
            at += 1
            continue
        ordinary(data[begun:at])
        name = max(fits, key=lambda name: len(name.encode()))
        ids.append(enc._special_tokens[name])
        at += len(name.encode())
        ends.append(at)
        begun = at
    ordinary(data[begun:])
    begins = np.cumsum([0, *(len(text.encode()) for text, _ in segments)]).tolist()
    return ids, [sum(end < begin for end in ends[:-1]) for begin in begins]


def random_segments(rng: random.Random, names: list[str]) -> list[tuple[str, set[str]]]:
    text = "".join(nasty.random_strings(rng, 1, 12, [*nasty.ALPHABET, *names * 3]))
    sets = [set(names), set(), *(set(rng.sample(names, rng.randint(0, len(names)))) for _ in range(2))]
    cuts = sorted(rng.randint(0, len(text)) for _ in range(rng.randint(0, 6)))
    return [(text[begin:end], rng.choice(sets)) for begin, end in zip([0, *cuts], [*cuts, len(text)])]


@pytest.mark.parametrize("pattern", ["cl100k", "regex"])
def test_random_segments(pattern):
    rng = random.Random(pattern)
    enc = Encoding(
        "segments",
        pat_str=CL100K if pattern == "cl100k" else r"(?<=the.)o|\w+?|(?s:.)",
        mergeable_ranks=oracle.ours("r50k_base")._mergeable_ranks,
        special_tokens=NAMES,
    )
    for _ in range(COUNT):
        segments = random_segments(rng, list(NAMES))
        given = [(text.encode() if rng.random() < 0.3 else text, names) for text, names in segments]
        ids, starts = enc.encode_segments(given)
        assert (ids.tolist(), starts.tolist()) == defined(enc, segments), segments
        ids, starts = enc.encode_segments(iter(given), joined=False)
        for index, (text, names) in enumerate(segments):
            want = enc.encode(text, allowed_special=names, disallowed_special=())
            assert ids[starts[index] : starts[index + 1]].tolist() == want
        assert starts[-1] == len(ids)
        whole = "".join(text for text, _ in segments)
        ids, _ = enc.encode_segments([(text, "all") for text, _ in segments])
        assert ids.tolist() == enc.encode(whole, allowed_special="all")


def test_text_of_a_user_makes_no_special_token():
    enc = oracle.ours("o200k_harmony")
    start, end = "<|start|>", "<|end|>"
    for user in ("hello", end, "<|en", "d|>", "|start|>"):
        ids, starts = enc.encode_segments([(f"{start}user", "all"), (user, set()), (end, "all")])
        special = [token for token in ids.tolist() if enc.is_special_token(token)]
        assert special == [enc._special_tokens[start], enc._special_tokens[end]]
        assert enc.decode(ids) == f"{start}user{user}{end}"
        assert starts.tolist() == [0, starts[1], len(ids) - 1, len(ids)]
    ids, _ = enc.encode_segments([("<|en", "all"), ("", set()), ("d|>", "all")])  # no segment that holds it forbids it
    assert ids.tolist() == [enc._special_tokens[end]]
    ids, _ = enc.encode_segments([("<|en", "all"), ("d|>", set())])
    assert ids.tolist() == enc.encode(end, disallowed_special=())
    ids, starts = enc.encode_segments([("é".encode()[:1], set()), (b"\xa9 ", set())])  # a character in two segments
    assert (enc.decode(ids), starts.tolist()) == ("é ", [0, 1, 2])
    assert enc.encode_segments([])[0].tolist() == []
    assert enc.encode_segments([], joined=False)[1].tolist() == [0]


def test_models_that_normalize_or_whose_names_take_blanks():
    import small_models
    from tokenizers import AddedToken, Tokenizer

    enc = Encoding(
        "nfc",
        pat_str=CL100K,
        mergeable_ranks=oracle.ours("r50k_base")._mergeable_ranks,
        special_tokens=NAMES,
        normalizer=[("NFC",)],
    )
    ids, starts = enc.encode_segments([("e", set()), ("\u0301 and", set()), ("<a>", {"<a>"}), ("e\u0301", set())])
    assert starts is None
    assert ids.tolist() == enc.encode("é and", disallowed_special=()) + [60_001] + enc.encode(
        "é", disallowed_special=()
    )
    made = Tokenizer.from_str(json.dumps(small_models.record()))
    made.add_special_tokens([AddedToken("<x>", lstrip=True), "<y>"])
    model = Encoding.from_hf(made)
    ids, _ = model.encode_segments([("hello  ", "all"), ("<x> y", "all")])
    assert ids.tolist() == model.encode("hello  <x> y", allowed_special="all")
    with pytest.raises(ValueError, match="allow the same names in all segments"):
        model.encode_segments([("hello  ", set()), ("<x> y", "all")])
    ids, _ = model.encode_segments([("hello  ", set()), ("<x> y", "all")], joined=False)
    assert ids.tolist() == model.encode("hello  ") + model.encode("<x> y", allowed_special="all")
