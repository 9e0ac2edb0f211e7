"""Texts that grow and change: after every change the ids are those of the whole text."""

from __future__ import annotations

import pickle
import random
import threading

import nasty
import numpy as np
import oracle
import pytest

from streamtok.serving import session as sessions

EDITS = {"default": 200, "ci": 2_000, "long": 100_000}[oracle.PROFILE]
END = "<|endoftext|>"


def part(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.1:
        return END[rng.randint(0, 13) :]
    if kind < 0.3:
        topics = oracle.topics()
        at = rng.randrange(len(topics))
        return topics[at : at + rng.choice((5, 100, 3000))]
    if kind < 0.4:
        return rng.choice(" \na") * rng.choice((3, 40, 400))
    return next(iter(nasty.random_strings(rng, 1, 12, [*nasty.ALPHABET, END])))


def borders(data: bytes) -> list[int]:
    return [at for at in range(len(data) + 1) if at == len(data) or not 0x80 <= data[at] < 0xC0]


def change(rng: random.Random, session, text: bytes) -> tuple[bytes, object]:
    """One random change: (the text after it, the splice)."""
    kind, new = rng.random(), part(rng).encode()
    if len(text) > 30_000:
        kind = 0.99
    if kind < 0.4:
        return text + new, session.append(new.decode() if rng.random() < 0.5 else new)
    start, end = sorted(rng.choice(borders(text)) for _ in range(2))
    if rng.random() < 0.7:
        end = next(at for at in borders(text) if at >= min(start + rng.randint(0, 6), len(text)))
    after = text[:start] + new + text[end:]
    if kind < 0.75:
        return after, session.replace(start, end, new.decode() if rng.random() < 0.5 else new)
    if kind < 0.95:
        return after, session.update(after.decode() if rng.random() < 0.5 else after)
    end = rng.choice(borders(text))
    return text[:end], session.truncate(bytes=min(len(text), end + (end < len(text) and rng.randint(0, 0))))


def random_changes(enc, seed: object, count: int, allowed=frozenset({END})) -> None:
    rng = random.Random(f"{seed}")
    session, text = enc.session(allowed_special=allowed, disallowed_special=()), b""
    others = []
    for _ in range(count):
        before = session.ids.tolist()
        text, splice = change(rng, session, text)
        want = enc.encode(text.decode(), allowed_special=allowed, disallowed_special=())
        ids = session.ids.tolist()
        oracle.assert_same(ids, want, enc, f"{seed}:")
        assert before[: splice.keep] + splice.ids.tolist() == ids
        assert splice.same == 0 or before[len(before) - splice.same :] == ids[len(ids) - splice.same :]
        assert (session.size, len(session)) == (len(text), len(ids))
        if rng.random() < 0.03:
            assert session.text == text.decode()
            others.append((session, text))
            session = rng.choice((session.copy, lambda s=session: pickle.loads(pickle.dumps(s))))()
        if others and rng.random() < 0.05:  # an earlier branch goes on
            others.append((session, text))
            session, text = others.pop(rng.randrange(len(others)))
    for branch, text in others:
        want = enc.encode(text.decode(), allowed_special=allowed, disallowed_special=())
        assert branch.ids.tolist() == want
        assert branch.text_offsets.tolist() == places(enc, text.decode(), allowed)


def places(enc, text: str, allowed) -> list[int]:
    ids, found = enc.encode_with_offsets(text, allowed_special=allowed, disallowed_special=())
    pieces = enc.decode_tokens_bytes(ids)
    if b"".join(pieces) == text.encode():
        return [sum(map(len, pieces[:at])) for at in range(len(ids))]
    return [len(text[:at].encode()) for at in found]


@pytest.mark.parametrize("name", oracle.NAMES)
def test_random_changes(name):
    random_changes(oracle.ours(name), name, EDITS // (1 if name in oracle.FAMILIES else 4))


@pytest.mark.parametrize("step", [16, 100])
def test_random_changes_with_marks_close_together(step, monkeypatch):
    monkeypatch.setattr(sessions, "STEP", step)
    for name in oracle.FAMILIES:
        random_changes(oracle.ours(name), (name, step), EDITS)


def test_encodings_whose_ids_do_not_spell_the_text():
    """A normalizer, a pattern that drops text, one that goes through `regex`, none at all, and longest match."""
    from streamtok import Encoding
    from streamtok.patterns import CL100K

    ranks = oracle.ours("r50k_base")._mergeable_ranks
    special = {END: 60_000}
    for made in (
        Encoding("nfc", pat_str=CL100K, mergeable_ranks=ranks, special_tokens=special, normalizer=[("NFC",)]),
        Encoding("drops", pat_str=r"\p{L}+|\p{N}", mergeable_ranks=ranks, special_tokens=special),
        Encoding("regex", pat_str=r"(?<=the.)o|\w+?|(?s:.)", mergeable_ranks=ranks, special_tokens=special),
        oracle.without_pattern("r50k_base"),
    ):
        random_changes(made, made.name, EDITS // 8)


def test_a_change_in_a_long_text_is_encoded_around_it(monkeypatch):
    enc = oracle.ours("o200k_base")
    text = oracle.topics().encode()
    session = enc.session(text)
    fed = []
    feed = sessions._Run.feed
    monkeypatch.setattr(sessions._Run, "feed", lambda run, data: fed.append(len(data)) or feed(run, data))
    splice = session.replace(300_000, 300_001, "x")
    assert sum(fed) < 3 * sessions.STEP
    assert len(splice.ids) - splice.same < 10
    fed.clear()
    session.update(session.text[:-3] + " and more")
    assert sum(fed) < 3 * sessions.STEP
    marks = sum(len(mark.state) + 200 for mark in session._marks)
    assert marks < len(text) / 10
    while session.size > 5000:  # marks do not gather where text is taken away
        session.replace(1000, 3000, "")
    assert len(session._marks) <= session.size // (sessions.STEP // 2) + 2


def test_truncate_to_tokens():
    enc, rng = oracle.ours("cl100k_base"), random.Random(3)
    for text in nasty.random_strings(rng, 60, 20):
        session = enc.session(text, disallowed_special=())
        n = rng.randint(0, len(session))
        want = enc.truncate(text, n, disallowed_special=())
        session.truncate(n)
        assert session.text == want
        assert session.ids.tolist() == enc.encode(want, disallowed_special=())


def test_what_is_refused_changes_nothing():
    enc = oracle.ours("cl100k_base")
    session = enc.session("é and more", max_bytes=100)
    before = (session.text, session.ids.tolist())
    for call, error, words in (
        (lambda: session.append(f"a {END}"), ValueError, "disallowed special token"),
        (lambda: session.append(b"\xc3"), UnicodeDecodeError, "unexpected end"),
        (lambda: session.append(b"\xff"), UnicodeDecodeError, "invalid start"),
        (lambda: session.replace(2, 3, b"\xc3"), UnicodeDecodeError, "utf-8"),
        (lambda: session.replace(2, 3, f"{END}"), ValueError, "disallowed special token"),
        (lambda: session.replace(1, 3, "x"), ValueError, "inside a character"),
        (lambda: session.replace(3, 2, "x"), IndexError, "from 3 to 2: it has 11 bytes"),
        (lambda: session.replace(0, 12, "x"), IndexError, "from 0 to 12"),
        (lambda: session.replace(-1, 2, "x"), IndexError, "from -1 to 2"),
        (lambda: session.append("x" * 90), ValueError, "would have 101 bytes; this session takes at most 100"),
        (lambda: session.update("x" * 101), ValueError, "would have 101 bytes"),
        (lambda: session.truncate(), TypeError, "a number of tokens, or bytes="),
        (lambda: session.truncate(1, bytes=1), TypeError, "and not both"),
        (lambda: session.truncate(bytes=-1), ValueError, "is negative"),
        (lambda: session.append(3), TypeError, "got int"),
    ):
        with pytest.raises(error, match=words):
            call()
        assert (session.text, session.ids.tolist()) == before
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        session.ids[0] = 1
    with pytest.raises(ValueError, match="another version"):
        sessions._restore(enc, (0, b"", frozenset(), "all", None))


def test_one_thread_at_a_time():
    session = oracle.ours("cl100k_base").session()
    session._lock.acquire()
    found = []

    def run() -> None:
        with pytest.raises(RuntimeError, match="another thread is inside this session"):
            session.append("a")
        found.append(True)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    session._lock.release()
    assert found
    assert session.append("a").keep == 0


def test_match_of_ids_and_text():
    """The comparison that update() makes, against one byte by byte."""
    enc, rng = oracle.ours("o200k_base"), random.Random(4)
    decoder = enc._decoder
    for text in nasty.random_strings(rng, 300, 30):
        ids = enc.encode_to_numpy(text, disallowed_special=())
        data = bytearray(text.encode() + rng.choice((b"", b" and a longer end of the text")))
        if data and rng.random() < 0.7:
            data[rng.randrange(len(data))] ^= 1
        count = size = 0
        for token in ids.tolist():
            piece = enc.decode_single_token_bytes(token)
            if not data.startswith(piece, size):
                break
            count, size = count + 1, size + len(piece)
        assert decoder.match(ids, bytes(data)) == (count, size)
        count = size = 0
        for token in ids.tolist()[::-1]:
            piece = enc.decode_single_token_bytes(token)
            if not data[: len(data) - size].endswith(piece):
                break
            count, size = count + 1, size + len(piece)
        assert decoder.match(ids, bytes(data), True) == (count, size)
    long = enc.encode_to_numpy(oracle.topics())  # so many that slots pay
    for _ in range(30):
        enc.decode_bytes(long)
    text = oracle.topics().encode()
    assert decoder.match(long, text) == (len(long), len(text))
    for _ in range(200):
        at = rng.randrange(len(text))
        wrong = text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :]
        count = int(np.searchsorted(np.cumsum(enc._token_lengths[long]), at, "right"))
        assert decoder.match(long, wrong)[0] == count
