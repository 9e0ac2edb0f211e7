"""Damaged and random input at the level of Python: only the documented errors, and what is accepted is right.

The C core has harnesses of its own (tests/fuzz). Compressed files, checkpoints and tokenizer files are damaged in the
tests of those.
"""

from __future__ import annotations

import pickle
import random
import struct
import zlib

import numpy as np
import oracle
import pytest

import streamtok
from streamtok.bundled.words import FAMILIES, pack, unpack
from streamtok.errors import VocabularyError

COUNT = {"default": 1, "ci": 5, "long": 100}[oracle.PROFILE]

# ==== Patterns ====

ATOMS = [
    *"ab1 '.!", r"\s", r"\S", r"\d", r"\w", r"\W", r"\r", r"\n", r"\p{L}", r"\p{Lu}", r"\P{L}", r"\p{N}", r"\b", "^",
    "$", "[ab]", "[^a]", r"[\s\d]", "[a-z]", r"[^\s\p{L}]", "[A-Z&&[^B]]", r"\x61", r"\u0062", r"\A", r"\z", "中", "é",
]  # fmt: skip
GROUPS = ["(?:{})", "({})", "(?i:{})", "(?>{})", "(?={})", "(?!{})", "(?<={})", "(?<!{})", "(?s:{})", "(?x: {} )"]
QUANTIFIERS = [
    "",
    "",
    "",
    "",
    "?",
    "*",
    "+",
    "??",
    "*?",
    "+?",
    "?+",
    "*+",
    "++",
    "{2}",
    "{1,3}",
    "{,2}",
    "{2,}",
    "{1,2}?",
]
STRAY = [
    *"()[]{}?*+|\\^$-&,:=!<>~#",
    r"\1",
    r"\k<x>",
    "(?",
    "(?P<x>",
    r"\p{",
    r"\x{",
    "(?#",
    r"\Q",
    r"\K",
    "[[:alpha:]]",
]


def random_pattern(rng: random.Random, depth: int = 3) -> str:
    parts = []
    for _ in range(rng.randint(1, 3)):
        if depth and rng.random() < 0.35:
            part = rng.choice(GROUPS).format(random_pattern(rng, depth - 1))
        else:
            part = rng.choice(ATOMS)
        parts.append(part + rng.choice(QUANTIFIERS))
    pattern = "".join(parts)
    return f"{pattern}|{random_pattern(rng, 0)}" if depth and rng.random() < 0.3 else pattern


def broken_pattern(rng: random.Random) -> str:
    """One with characters changed, dropped or put in; half the time a published one."""
    pattern = rng.choice(list(oracle.PATTERNS.values())) if rng.random() < 0.3 else random_pattern(rng)
    for _ in range(rng.randint(1, 3)):
        at = rng.randint(0, len(pattern))
        pattern = pattern[:at] + rng.choice([*STRAY, *ATOMS, ""]) + pattern[at + rng.randint(0, 2) :]
    return pattern


def random_text(rng: random.Random) -> str:
    return "".join(rng.choices("aabbABZ1 2'.!\n\r\té中s \u0301", k=rng.randint(0, 24)))


SINGLES = {bytes([value]): value for value in range(256)} | {b"ab": 256, b"a ": 257, b"  ": 258}


def encoding_of(module: object, pattern: str) -> object:
    return module.Encoding("p", pat_str=pattern, mergeable_ranks=SINGLES, special_tokens={})  # type: ignore[attr-defined]


@pytest.mark.parametrize("make", [random_pattern, broken_pattern])
def test_random_patterns_are_refused_with_a_reason_or_give_tiktokens_ids(make):
    tiktoken = pytest.importorskip("tiktoken", reason="tiktoken is the oracle here")
    rng = random.Random(make.__name__)
    accepted = 0
    for _ in range(120 * COUNT):
        pattern = make(rng)
        try:
            ours = encoding_of(streamtok, pattern)
        except ValueError as error:
            assert "pat_str" in str(error), pattern
            continue
        try:
            theirs = encoding_of(tiktoken, pattern)
        except ValueError:
            continue  # accepted by streamtok only
        for _ in range(6):
            text = random_text(rng)
            try:
                expected = theirs.encode_ordinary(text)
            except BaseException:  # too much backtracking ends in a panic there
                continue
            assert ours.encode_ordinary(text) == expected, (pattern, text)
            accepted += 1
    assert accepted > 100


# ==== Ids to decode ====

MAKERS = [
    list,
    tuple,
    lambda ids: np.array(ids, dtype=object),
    lambda ids: np.array(ids).astype(np.float64),
    *(
        lambda ids, kind=kind: np.array(ids).astype(kind)
        for kind in ("i1", "u1", "i2", "<u2", ">u2", "i4", "u4", ">u4")
    ),
    *(lambda ids, kind=kind: np.array(ids).astype(kind) for kind in ("i8", "u8", ">i8", "?", "M8[s]", "S4")),
    lambda ids: np.repeat(np.array(ids, dtype=np.uint32), 2)[::2],
    lambda ids: np.array(ids, dtype=np.int64)[::-1][::-1],
    lambda ids: np.array([ids, ids]),
    lambda ids: memoryview(np.array(ids, dtype=np.uint32)),
    lambda ids: iter(ids),
    lambda ids: bytes(value & 0xFF for value in ids),
    lambda ids: [*ids, None],
    lambda ids: [*ids, 2.0],
    lambda ids: [*ids, "7"],
]
IDS = [
    0,
    1,
    255,
    256,
    100255,
    100256,
    100257,
    100260,
    100276,
    100277,
    2**31,
    2**32 - 1,
    2**32,
    2**63,
    2**64,
    -1,
    -(2**40),
]


def test_any_array_of_ids_is_decoded_as_its_list_or_refused(enc):
    rng = random.Random(3)
    decoded = refused = 0
    for _ in range(1500 * COUNT):
        sound = rng.random() < 0.7
        ids = [rng.randrange(256 if rng.random() < 0.3 else 100256) for _ in range(rng.randrange(1, 12))]
        if not sound:
            ids[rng.randrange(len(ids))] = rng.choice(IDS)
        try:
            with np.errstate(invalid="ignore"):
                given = rng.choice(MAKERS)(ids)
        except (OverflowError, ValueError):
            continue  # numpy's own
        try:
            got = enc.decode_bytes(given)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            assert str(error)
            refused += 1
            continue
        flat = np.asarray(given).ravel().tolist() if isinstance(given, np.ndarray | memoryview) else list(given) or ids
        assert got == b"".join(enc.decode_single_token_bytes(int(value)) for value in flat), given
        decoded += 1
    assert decoded > 300 and refused > 300


# ==== Pickles of decoders and states of streams ====


def test_damaged_pickles_of_a_decoder_are_refused_or_go_on(enc):
    decoder = enc.stream_decoder()
    restore, (encoding, errors, _, skip_special) = decoder.__reduce__()
    ids = enc.encode("中文 and more 😀")
    rng = random.Random(4)
    accepted = 0
    for _ in range(400 * COUNT):
        pending = rng.choice((rng.randbytes(rng.randrange(6)), "😀".encode()[: rng.randrange(5)]))
        try:
            twin = restore(encoding, errors, pending, skip_special)
        except ValueError:
            continue
        text = twin.feed(ids) + twin.flush()
        assert text == (pending + enc.decode_bytes(ids)).decode(errors="replace")
        assert pickle.loads(pickle.dumps(twin)).feed(ids) == "中文 and more 😀"
        accepted += 1
    assert accepted > 50


def test_states_with_many_changes_are_refused_or_harmless(enc):
    """The checksum is corrected, so that the checks behind it run."""
    rng = random.Random(5)
    states = []
    for text in ("a" * 40, "abc <|endof", " \n" * 200, "x" * 3000, "中" * 500 + "\r", "don't \u0301'"):
        stream = enc.stream_encoder(allowed_special="all")
        stream.feed(text.encode()[: rng.randrange(1, 400)] if rng.random() < 0.5 else text)
        states.append(stream.getstate())
    accepted = refused = 0
    for _ in range(3000 * COUNT):
        state, other = rng.choice(states), rng.choice(states)
        body = bytearray(state[44:])
        for _ in range(rng.randint(1, 4)):
            at, n = rng.randrange(len(body) + 1), rng.choice((1, 1, 2, 8, 16))
            change = rng.choice((rng.randbytes(n), bytes(n), b"\xff" * n, other[44:][at : at + n], b""))
            body[at : at + rng.choice((n, n, n, 0))] = change
        target = enc.stream_encoder(allowed_special="all")
        try:
            target.setstate(state[:8] + zlib.crc32(body).to_bytes(4, "little") + state[12:44] + bytes(body))
        except ValueError as error:
            assert "state" in str(error)
            refused += 1
            continue
        accepted += 1
        again = enc.stream_encoder(allowed_special="all")
        again.setstate(target.getstate())
        for part in (" 's and 中", "<|endoftext|>", "on\n\n "):
            assert oracle_of(target, part) == oracle_of(again, part)
    assert refused > accepted > 0


def oracle_of(stream: object, part: str) -> list[int] | str:
    try:
        return stream.feed(part).tolist()  # type: ignore[attr-defined]
    except ValueError as error:
        stream.reset()  # type: ignore[attr-defined]
        return str(error)


# ==== Lists of words ====


def test_damaged_lists_of_words_with_a_right_checksum_are_refused_or_read():
    rng = random.Random(6)
    words = {bytes(rng.choices(b"abc", k=rng.randint(1, 6))): (1, 2, 3) for _ in range(40)}
    packed = pack(words)
    read = refused = 0
    for _ in range(1500 * COUNT):
        data = bytearray(packed)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(16, len(data))
            data[at] = rng.randrange(256) if rng.random() < 0.5 else data[at] ^ 1 << rng.randrange(8)
        if rng.random() < 0.2:
            del data[rng.randrange(64, len(data)) :]
        data[12:16] = struct.pack("<I", zlib.crc32(data[16:], zlib.crc32(data[:12])))
        try:
            joined, lengths = unpack(bytes(data), rng.choice(FAMILIES))
        except VocabularyError as error:
            assert "install" in str(error)
            refused += 1
            continue
        assert sum(lengths) == len(joined)
        read += 1
    assert refused > 500
