"""Every tier gives the same pieces and ids. A process keeps the tier it chose, so each gets a process of its own."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import pathlib
import platform
import random
import subprocess
import sys
from collections.abc import Iterator

import nasty
import numpy as np
import oracle
import pytest

import streamtok

TIERS = ("portable", "neon", "avx2", "avx512")
NAMES = ("r50k_base", "p50k_base", "cl100k_base", "o200k_base")
SPLIT_TEXTS = NAMES if oracle.LONG else oracle.FAMILIES  # p50k_base splits as r50k_base

# Runs of each kind longer than two blocks, and places that blocks leave to the state machine.
LONG = ("A" * 200, "a" * 200, "中" * 90, " " * 300, "1" * 150, "\n" + " " * 200, "!" * 150, "\u0301" * 90, "'s" * 80)
WORDS = (
    "abcdefghijklmnopqrstuvwxyz",
    "etaoinshr",
    "ab",
    "бвгджзиклмн",
    "กขคงจฉัิ",
    "한국어처리",
    "中文字符串",
    "éàçxyz",
    "\U0001f600a\U0001f680",
)
# Words that the tables hold, of one id to a dozen.
FREQUENT = (
    "את של על לא זה הוא היא עם אני כל יותר ישראל אחרי להיות בשנת העולם הזה אנשים ירושלים ממשלת חברת לפני כאשר "
    "한국 대한민국 있는 것으로 있다 그리고 서울 사람들이 때문에 대통령 말했다 하지만 위해 경우 이러한 프로그램 "
    "ការ របស់ នៅ ជា បាន និង ដែល មាន ក្នុង កម្ពុជា ประเทศ และ การ ของ है के में और भारत सरकार लिए किया "
    "في من على إلى التي المملكة الذي العربية المتحدة города который России and the of government to in development"
).split()
UNITS = (*LONG, "'", "'s", "'LL", "\u017f", "中A", "Ab", "\n/", "/", "!\u0301", "é", "É", "\u00a0", "\u3000", "²", "12")


@functools.cache
def foreign_tokens() -> list[str]:
    """Tokens beyond ASCII that are whole characters, mostly with those of one script beside each other."""
    tokens = [
        token.decode("utf-8", "ignore") for token in oracle.ours("o200k_base")._mergeable_ranks if max(token) > 127
    ]
    return sorted(token for token in tokens if token)


def long_pieces(rng: random.Random) -> str:
    """Words that are long enough to be cut, some at every border, some nowhere; between them short ones."""
    tokens, made = foreign_tokens(), []
    for _ in range(rng.randint(1, 60)):
        at = rng.randrange(len(tokens))
        word = "".join(rng.choice(tokens[at : at + 300]) for _ in range(rng.randint(1, 30)))
        made.append(rng.choice((word, word[: rng.randint(1, 8)], word[:4], "a", "don't", "12", " ", "。", "\n")))
    return rng.choice(("", " ")).join(made)


def long_strings(rng: random.Random) -> list[str]:
    """Of one, two and four bytes a character in memory, longer than what is turned into UTF-8 at once."""
    kinds = ("abcde é\xff\0", "abcde é中ж\u07ff\u0800\uffff\0", "abcde é中ж\U0001f600\U0010ffff")
    return ["".join(rng.choice(kind) for _ in range(65_536 + rng.randint(1, 40))) for kind in kinds]


def characters() -> list[str]:
    """Every character of the first plane and some beyond, in order and mixed, between ASCII that shows their kinds."""
    rng = random.Random(24)
    points = [*range(0x80, 0xD800), *range(0xE000, 0x10000), *rng.sample(range(0x10000, 0x110000), 4_000)]
    made = []
    for order in (points, rng.sample(points, len(points))):
        spaced = [chr(point) + rng.choice(("", "a", "B", "1", " ", "!")) for point in order]
        made += ["".join(spaced[i : i + 500]) for i in range(0, len(spaced), 500)]
    return made


@functools.cache
def texts() -> list[str]:
    rng = random.Random(20)
    made = list(nasty.random_strings(rng, 600, 300))
    for length in (*range(0, 140), 191, 192, 193, 255, 256, 257):
        made.append("".join(rng.choice(UNITS) for _ in range(length))[:length])
        made.append("".join(rng.choice("abcXYZ 012.,'\n中é") for _ in range(length)))
    made += [long_pieces(rng) for _ in range(300)] + long_strings(rng) + characters()
    return made + ["".join(rng.choice(UNITS) for _ in range(40)) for _ in range(300)]


@functools.cache
def batches() -> list[str]:
    """Batches of 0 to 40 and more words of all lengths that no table holds: they are merged side by side."""
    rng = random.Random(21)
    made = []
    for count in (*range(41), 300, 1200):
        letters = [rng.choice(WORDS) for _ in range(3)]
        words = ("".join(rng.choices(rng.choice(letters), k=rng.randint(1, 30))) for _ in range(count))
        made.append(" ".join(words))
    return made


@functools.cache
def crowds() -> list[str]:
    """Thousands of words again and again, long and short ones mixed: they compete for the places of the hot table."""
    rng = random.Random(23)
    words = [
        "".join(rng.choices(rng.choice(WORDS), k=rng.choice((1, 2, 3, 5, 7, 14, 15, 16, 40)))) for _ in range(8_000)
    ]
    often = words[:300]
    mixed = [word for _ in range(2) for word in rng.sample(words, 4_000) + rng.choices(often, k=3_000)]
    return [
        " ".join(rng.sample(mixed, len(mixed))),
        " ".join(sorted(mixed)),
        " ".join(rng.choices(FREQUENT, k=6_000)),
        *(" ".join(rng.choices(FREQUENT, k=rng.randint(1, 40))) for _ in range(100)),
        " ".join(rng.choices(mixed + 60 * FREQUENT, k=6_000)),
        *(" ".join(often)[:n] for n in range(1, 80)),
    ]


@functools.cache
def turns() -> list[str]:
    """Words in which there is hardly a cut, ideographs with a cut at nearly every border, giant words, ASCII, in turns:
    whether long pieces are cut depends on what cuts have given before."""
    rng = random.Random(24)
    words = "государственного программирования исследование возможностей المستخدمين المعلومات प्रधानमंत्री".split()
    kinds = (
        lambda: " " + rng.choice(words),
        lambda: "".join(chr(rng.randrange(0x4E00, 0x9FFF)) for _ in range(rng.randint(3, 20))) + "，",
        lambda: " " + "".join(rng.choices(words, k=rng.randint(2, 9))),
        lambda: " " + "".join(rng.choices(foreign_tokens()[:9_000], k=rng.randint(1, 6))),
        lambda: rng.choice((" the", " of", ".", " ________________________", " x" * 9)),
    )
    made = []
    for longest in (40, 300, 1_500):
        units = []
        while len(units) < 6_000:
            kind = rng.choice(kinds)
            units += [kind() for _ in range(rng.randint(1, longest))]
        made.append("".join(units))
    return made


@functools.cache
def inputs(name: str) -> list[str]:
    always = batches() + crowds() + turns()
    return texts() + always if name in SPLIT_TEXTS else always


def pieces_and_ids(enc: streamtok.Encoding, text: str) -> tuple[bytes, np.ndarray]:
    """(what stands for both in a digest, the ids)"""
    data = streamtok.native.text.mend_surrogates(text).encode()
    ids = enc.encode_to_numpy(data, disallowed_special=())
    return enc._coder.piece_spans(data) + b"|" + ids.tobytes(), ids


def encodings(engine: str) -> Iterator[tuple[str, streamtok.Encoding]]:
    for name in NAMES:
        yield name, oracle.ours(name, engine)
    for kind in oracle.DAMAGED:
        ranks = {"mergeable_ranks": oracle.damaged_ranks(kind), "special_tokens": {}}
        yield kind, streamtok.Encoding(kind, pat_str=oracle.PATTERNS["cl100k_base"], engine=engine, **ranks)


def damaged_texts() -> Iterator[bytes]:
    """Valid UTF-8 of some blocks, and the same with some bytes changed, put in or left out."""
    rng = random.Random(22)
    edges = "\x00\x7f\x80\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"
    for letters in (*WORDS, edges, "a" * 40 + edges):
        for _ in range(60):
            text = "".join(rng.choices(letters, k=rng.randint(1, 200))).encode()
            yield text
            for _ in range(12):
                at = rng.randrange(len(text))
                wrong = bytes(
                    rng.choices(
                        (0x41, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xE0, 0xED, 0xF0, 0xF4, 0xF5), k=1
                    )
                )
                yield text[:at] + rng.choice((b"", wrong, wrong + text[at : at + 1])) + text[at + 1 :]


def check_faults() -> None:
    """Invalid UTF-8 is found at the place where Python finds it."""
    enc = oracle.ours("r50k_base")
    for data in damaged_texts():
        stream, want = enc.stream_encoder(), None
        try:
            data.decode()
        except UnicodeDecodeError as error:
            want = f"{error.reason} at byte {error.start} of the stream"
        try:
            stream.feed(data)
            stream.flush()
            got = None
        except UnicodeDecodeError as error:
            got = error.reason
        assert got == want, data


def random_strs(rng: random.Random) -> Iterator[str]:
    """Strs of one, two and four bytes a character, with the first and last code points of each length in UTF-8, and
    surrogates."""
    kinds = ["ab \n\x00\x7f", "é\x80\xff", "ж\u0100\u07ff", "中\u0800\ud7ff\ue000\uffff"]
    kinds += ["👋\U00010000\U0010ffff", "\ud800\udfff"]
    for _ in range(3000):
        alphabet = "".join(rng.sample(kinds, rng.randint(1, 3))) + kinds[0] * rng.choice((0, 1, 20))
        yield "".join(rng.choices(alphabet, k=rng.choice((rng.randint(0, 40), rng.randint(0, 200), 2100))))


def check_strs() -> None:
    """A str gives the ids of its UTF-8 as Python makes it."""
    enc = oracle.ours("r50k_base")
    for text in random_strs(random.Random(23)):
        data = streamtok.native.text.mend_surrogates(text).encode()
        assert (enc.encode_to_numpy(text) == enc.encode_to_numpy(data)).all(), text


def tier_taken() -> str:
    return streamtok.info()["simd"]


def digest() -> dict[str, str]:
    """Digests of the pieces and ids that this process gets for the texts; streams cut at random give the same ids.
    Nothing if the processor has not the tier that was asked for."""
    if tier_taken() != os.environ["STREAMTOK_TIER"]:
        return {}
    check_faults()
    check_strs()
    result = {}
    for name, enc in encodings("fast"):
        sums = hashlib.sha256()
        for number, text in enumerate(inputs(name)):
            told, ids = pieces_and_ids(enc, text)
            sums.update(told)
            if number % 6 and not oracle.LONG:
                continue
            stream = enc.stream_encoder(disallowed_special=())
            cut = oracle.streamed(stream, oracle.random_cuts(random.Random(number), text.encode(), (1, 20, 100)))
            assert cut == ids.tolist(), (name, text)
        result[name] = sums.hexdigest()
    return result


@functools.cache
def run_on(tier: str, function: str) -> object:
    """The result of a function of this module in a process that is told to use that tier."""
    code = f"import json, test_tiers; print(json.dumps(test_tiers.{function}()))"
    folders = [os.path.dirname(__file__), str(oracle.PROJECT), *sys.path]
    env = os.environ | {"STREAMTOK_TIER": tier, "PYTHONPATH": os.pathsep.join(folders)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@functools.cache
def reference() -> dict[str, str]:
    """The digests that every tier should give, by the reference engine."""
    result = {}
    for name, slow in encodings("reference"):
        sums = hashlib.sha256()
        for text in inputs(name):
            sums.update(pieces_and_ids(slow, text)[0])
        result[name] = sums.hexdigest()
    return result


@pytest.mark.parametrize("tier", TIERS)
def test_a_tier_gives_the_ids_of_the_reference_engine(tier):
    digests = run_on(tier, "digest")
    if not digests:
        pytest.skip(f"this machine does not run {tier}")
    assert digests == reference()


@pytest.mark.parametrize("name", SPLIT_TEXTS)
def test_texts_of_the_tiers_have_tiktokens_ids(name):
    ours, theirs = oracle.ours(name), oracle.theirs(name)
    for text in texts():
        assert ours.encode_ordinary(text) == theirs.encode_ordinary(text), text


def test_the_widest_tier_that_the_processor_has_is_chosen():
    """Compared with the features that Linux lists in /proc/cpuinfo."""
    listed = pathlib.Path("/proc/cpuinfo")
    if platform.machine() != "x86_64" or not listed.exists():
        pytest.skip("needs Linux on x86-64, whose kernel lists what the processor has")
    has = set(listed.read_text().partition("flags")[2].partition("\n")[0].split())
    avx2 = {"avx", "avx2", "bmi1", "bmi2", "pclmulqdq"}
    avx512 = avx2 | {"avx512f", "avx512bw", "avx512vl", "avx512cd", "avx512dq", "avx512vbmi", "avx512_vbmi2"}
    expected = "avx512" if avx512 <= has else "avx2" if avx2 <= has else "portable"
    env = {name: value for name, value in os.environ.items() if name != "STREAMTOK_TIER"}
    code = "import streamtok; print(streamtok.info()['simd'])"
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == expected


def test_an_unknown_tier_is_passed_over():
    assert run_on("mmx", "tier_taken") in TIERS
