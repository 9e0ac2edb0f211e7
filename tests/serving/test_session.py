"""Texts that grow and change: after every change the ids are those of the whole text."""

from __future__ import annotations

import collections
import copy
import itertools
import pickle
import random
import threading

import made_models
import nasty
import numpy as np
import oracle
import pytest

from streamtok._offsets import border_before, border_from, shared_names
from streamtok.serving import marks

EDITS = {"default": 200, "ci": 2_000, "long": 100_000}[oracle.PROFILE]
END = "<|endoftext|>"


def part(rng: random.Random, names: list[str]) -> str:
    """Text to put in: a part of a name of a special token, real text, a run, or nasty characters with names."""
    kind = rng.random()
    if kind < 0.2:
        name = rng.choice(names)
        cut = rng.randint(0, len(name))
        return rng.choice((name, name[cut:], name[:cut]))
    if kind < 0.3:
        topics = oracle.topics()
        at = rng.randrange(len(topics))
        return topics[at : at + rng.choice((5, 100, 3000))]
    if kind < 0.4:
        return rng.choice(" \na") * rng.choice((3, 40, 400))
    return next(iter(nasty.random_strings(rng, 1, 12, [*nasty.ALPHABET, *names])))


def border(rng: random.Random, text: bytes, names: list[bytes]) -> int:
    """A place between two characters; often in a name of a special token, or beside one."""
    at = rng.randint(0, len(text))
    if rng.random() < 0.3:
        name = rng.choice(names)
        found = text.find(name, at)
        at = found + rng.choice((0, len(name), rng.randint(0, len(name)))) if found >= 0 else at
    return border_from(text, at)


def change(rng: random.Random, session, text: bytes, names: list[str]) -> tuple[bytes, object, str]:
    """One random change: (the text after it, the splice, what it was)."""
    kind, new = rng.random(), part(rng, names).encode()
    spelled = [name.encode() for name in names]
    if len(text) > 30_000:
        kind = 0.99
    if kind < 0.4:
        return text + new, session.append(new.decode() if rng.random() < 0.5 else new), "append"
    start, end = sorted(border(rng, text, spelled) for _ in range(2))
    if rng.random() < 0.7:
        end = border_from(text, min(start + rng.randint(0, 6), len(text)))
    after = text[:start] + new + text[end:]
    if kind < 0.75:
        return after, session.replace(start, end, new.decode() if rng.random() < 0.5 else new), "replace"
    if kind < 0.95:
        return after, session.update(after.decode() if rng.random() < 0.5 else after), "update"
    end = rng.randint(0, len(text))
    return text[: border_before(text, end)], session.truncate(bytes=end), "truncate"


class Changes:
    """Random changes of sessions of one encoding, each compared with the ids of the whole text."""

    def __init__(self, enc, seed: object, allowed=frozenset({END})) -> None:
        self.enc, self.allowed, self.rng = enc, allowed, random.Random(f"{seed}")
        self.names = sorted(allowed) or [END]
        self.spellings = shared_names(enc)
        self.done: collections.Counter[str] = collections.Counter()

    def ids(self, text: bytes) -> np.ndarray:
        return self.enc.encode_to_numpy(text, allowed_special=self.allowed, disallowed_special=())

    def run(self, count: int) -> None:
        rng, others = self.rng, []
        session, text = self.enc.session(allowed_special=self.allowed, disallowed_special=()), b""
        for _ in range(count):
            before = session.ids.copy()
            text, splice, what = change(rng, session, text, self.names)
            want, ids = self.ids(text), session.ids
            oracle.assert_same(ids, want, self.enc, f"{what}:")
            assert np.array_equal(np.concatenate([before[: splice.keep], splice.ids]), ids)
            assert splice.same == 0 or np.array_equal(before[-splice.same :], ids[-splice.same :])
            assert (session.size, len(session)) == (len(text), len(ids))
            self.done.update((what, "ids compared"), bytes=len(text))
            self.done["ids compared"] += len(ids) - 1
            if rng.random() < 0.03:
                assert session.text == text.decode()
                others.append((session, text))
                what = rng.choice(("copy", "pickle"))
                self.done[what] += 1
                copied = rng.choice((copy.copy, copy.deepcopy))
                session = copied(session) if what == "copy" else pickle.loads(pickle.dumps(session))
            if others and rng.random() < 0.05:  # an earlier branch goes on
                others.append((session, text))
                session, text = others.pop(rng.randrange(len(others)))
            if len(others) > 40:
                self.check(*others.pop(rng.randrange(len(others))))
        for branch in others:
            self.check(*branch)

    def check(self, branch, text: bytes) -> None:
        assert np.array_equal(branch.ids, self.ids(text))
        assert branch.text_offsets.tolist() == self.places(text.decode())

    def places(self, text: str) -> list[int]:
        """The definition of text_offsets: bytes where the tokens spell each text, characters where they may not."""
        ids, found = self.enc.encode_with_offsets(text, allowed_special=self.allowed, disallowed_special=())
        data, at, places = text.encode(), 0, []
        for token in ids.tolist():
            pieces = self.spellings.get(token) or [self.enc.decode_single_token_bytes(token)]
            places.append(at)
            at += max((len(piece) for piece in pieces if data.startswith(piece, at)), default=len(data) + 1)
        matcher = self.enc._matchers_for(self.allowed, ())[0]
        changes = self.enc._normalizer is not None or not self.enc._kind.keeps_bytes
        if at == len(data) and not changes and not (matcher is not None and matcher.has_rules):
            return places
        begins = [0, *itertools.accumulate(len(character.encode()) for character in text)]
        return [begins[at] for at in found]

    def __str__(self) -> str:
        return f"{self.enc.name}: " + ", ".join(f"{count:,} {what}" for what, count in self.done.items())


@pytest.fixture
def say(capsys):
    """Prints what a long run did, whether it fails or not."""

    def print_it(done: object) -> None:
        if oracle.PROFILE != "default":
            with capsys.disabled():
                print(f"\n{done}", flush=True)

    return print_it


def random_changes(enc, seed: object, count: int, say, allowed=frozenset({END})) -> None:
    changes = Changes(enc, seed, allowed)
    try:
        changes.run(count)
    finally:
        say(changes)


@pytest.mark.parametrize("name", oracle.NAMES)
def test_random_changes(name, say):
    enc = oracle.ours(name)
    shared = {name for names in shared_names(enc).values() for name in names}  # several names of one id
    count = EDITS // (1 if oracle.LONG or name in oracle.FAMILIES else 4)
    random_changes(enc, name, count, say, frozenset({END, *(name.decode() for name in shared)}))


@pytest.mark.parametrize("path", made_models.files(), ids=made_models.name_of)
def test_random_changes_of_models(path, say):
    from streamtok import Encoding

    try:
        enc = Encoding.from_file(made_models.ready(path))
    except ValueError as error:
        pytest.skip(f"not supported: {error}")
    names = sorted(enc.special_tokens_set)
    few = random.Random(str(path)).sample(names, min(8, len(names)))
    random_changes(enc, path.parent, EDITS // 4, say, frozenset(few))


@pytest.mark.parametrize("step", [16, 100])
def test_random_changes_with_marks_close_together(step, monkeypatch, say):
    monkeypatch.setattr(marks, "STEP", step)
    for name in oracle.FAMILIES:
        random_changes(oracle.ours(name), (name, step), EDITS, say)


def test_encodings_whose_ids_do_not_spell_the_text(say):
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
        random_changes(made, made.name, EDITS // 8, say)


def test_a_change_in_a_long_text_is_encoded_around_it(monkeypatch):
    enc = oracle.ours("o200k_base")
    text = oracle.topics().encode()
    session = enc.session(text)
    fed = []
    feed = marks.Run.feed
    monkeypatch.setattr(marks.Run, "feed", lambda run, data: fed.append(len(data)) or feed(run, data))
    splice = session.replace(300_000, 300_001, "x")
    assert sum(fed) < 3 * marks.STEP
    assert len(splice.ids) - splice.same < 10
    fed.clear()
    session.update(session.text[:-3] + " and more")
    assert sum(fed) < 3 * marks.STEP
    taken = sum(len(mark.state) + 200 for mark in session._now.marks)
    assert taken < len(text) / 10
    while session.size > 5000:  # marks do not gather where text is taken away
        session.replace(1000, 3000, "")
    assert len(session._now.marks) <= session.size // (marks.STEP // 2) + 2


def test_an_id_of_two_names():
    """o200k_harmony has one: the ids do not say which of its names the text had."""
    enc = oracle.ours("o200k_harmony")
    text = "a<|reserved_200018|>b<|endofprompt|>c"
    session = enc.session(text, allowed_special="all")
    assert session.text == text
    assert session.text_offsets.tolist() == [0, 1, 20, 21, 36]
    session.replace(22, 23, "x")
    assert session.text == text[:22] + "x" + text[23:]
    assert session.ids.tolist() == enc.encode(session.text, allowed_special="all")


def test_truncate_to_tokens():
    enc, rng = oracle.ours("cl100k_base"), random.Random(3)
    for text in nasty.random_strings(rng, 60, 20):
        session = enc.session(text, disallowed_special=())
        n = rng.randint(0, len(session))
        want = enc.truncate(text, n, disallowed_special=())
        session.truncate(n)
        assert session.text == want
        assert session.ids.tolist() == enc.encode(want, disallowed_special=())


def test_one_thread_at_a_time():
    session = oracle.ours("cl100k_base").session()
    is_inside, is_over = threading.Event(), threading.Event()

    def stay() -> None:
        is_inside.set()
        assert is_over.wait(30)

    thread = threading.Thread(target=session._alone.run, args=(stay,))
    thread.start()
    assert is_inside.wait(30)
    with pytest.raises(RuntimeError, match="another thread is inside this session"):
        session.append("a")
    is_over.set()
    thread.join()
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
