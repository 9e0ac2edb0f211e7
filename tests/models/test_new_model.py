"""Two models that only the tests have (tests/support/toy_model.c): streams, threads, sessions, files, decoding and
saved states serve them without knowing them. Each is held against the definition below."""

from __future__ import annotations

import ctypes
import pickle
import random
import re
import shutil
import subprocess

import numpy as np
import oracle
import pytest
from longest_match import ALPHABETS, WORDS, random_text, random_tokens

from streamtok import Encoding, VocabularyError
from streamtok.bundled.listed import pack_listed
from streamtok.bundled.models import model_named
from streamtok.files import encode_file
from streamtok.gpu._fits import family_or_reason
from streamtok.native import model as native
from streamtok.native.vocab import Vocab
from streamtok.train import save

SPECIAL = {"<s>": 5000, "<end>": 5001}


@pytest.fixture(scope="module")
def toys(tmp_path_factory):
    """Compiles the models, and adds them."""
    if "backwards" in native.known():
        return
    compiler = next((each for each in ("cc", "gcc", "clang") if shutil.which(each)), None)
    if compiler is None:
        pytest.skip("no C compiler is here")
    made = str(tmp_path_factory.mktemp("toy") / "toy_model.so")
    core, here = oracle.PROJECT / "csrc", oracle.PROJECT / "tests" / "support"
    sources = [here / "toy_model.c", core / "base" / "alloc.c"]
    command = [compiler, "-std=c11", "-O2", "-shared", "-fPIC", f"-I{core}", *map(str, sources), "-o", made]
    subprocess.run(command, check=True)
    library = ctypes.CDLL(made)
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    mark = ctypes.create_string_buffer(native.CAPSULE.encode())
    for model, name in (("toy_model", "backwards"), ("strict_model", "strictly")):
        found = capsule(ctypes.addressof(ctypes.c_char.in_dll(library, model)), mark, None)
        assert native.add(found) == name
        with pytest.raises(ValueError, match="there already"):
            native.add(found)


@pytest.fixture(params=["backwards", "strictly"])
def name(request, toys):
    return request.param


def backwards(tokens: dict[bytes, int], piece: bytes, is_strict: bool) -> list[int]:
    """The definition: from the end, the longest token that what is left ends with; if strict, that is not all of it."""
    sizes = sorted({len(token) for token in tokens}, reverse=True)
    ids, end = [], len(piece)
    while end:
        most = end - int(is_strict and end > 1)
        token = next(piece[end - n : end] for n in sizes if n <= most and piece[end - n : end] in tokens)
        ids.append(tokens[token])
        end -= len(token)
    return ids[::-1]


class Case:
    """An encoding of random tokens, and texts with names of special tokens."""

    def __init__(self, name: str, seed: int, is_split: bool) -> None:
        self.rng, self.is_strict = random.Random(seed), name == "strictly"
        self.alphabet = self.rng.choice(ALPHABETS)
        self.tokens = random_tokens(self.rng, self.alphabet)
        self.is_split, packed = is_split, pack_listed(self.tokens, name)
        pattern = WORDS if is_split else None
        self.enc = Encoding("toy", pat_str=pattern, mergeable_ranks=packed, special_tokens=SPECIAL)
        self.slow = Encoding("toy", pat_str=pattern, mergeable_ranks=packed, special_tokens=SPECIAL, engine="reference")

    def text(self, parts: int = 4) -> str:
        return "".join(
            self.rng.choice(list(SPECIAL)) if self.rng.random() < 0.2 else random_text(self.rng, self.alphabet)[:700]
            for _ in range(parts)
        )

    def merge(self, piece: bytes) -> list[int]:
        return backwards(self.tokens, piece, self.is_strict)

    def ids(self, text: str) -> list[int]:
        """By the definition."""
        found: list[int] = []
        for part in re.split("(<s>|<end>)", text):
            if part in SPECIAL:
                found.append(SPECIAL[part])
                continue
            for piece in re.findall(WORDS, part) if self.is_split else [part]:
                found += self.merge(piece.encode())
        return found


@pytest.fixture(params=[(seed, is_split) for seed in range(8) for is_split in (False, True)], ids=str)
def case(request, name):
    return Case(name, *request.param)


def test_what_holds_of_it(name):
    kind = model_named(name)
    assert (kind.name, kind.merges, kind.keeps_bytes, kind.kernels) == (name, False, True, None)
    assert ("keeps_tokens" in native.facts(name)) == (name == "backwards")
    with pytest.raises(VocabularyError, match="no model 'forwards'; there are bpe"):
        native.facts("forwards")


def test_texts_lists_and_counts(case):
    texts = [case.text() for _ in range(6)]
    for text in texts:
        ids = case.enc.encode(text, allowed_special="all")
        assert ids == case.ids(text) == case.slow.encode(text, allowed_special="all")
        assert case.enc.count(text, allowed_special="all") == len(ids)
    assert case.enc.encode_batch(texts, allowed_special="all") == [case.ids(text) for text in texts]


def test_streams_cut_anywhere_that_are_saved_and_copied(case):
    rng = case.rng
    for _ in range(4):
        text, ids, at = case.text(), [], 0
        data, stream = text.encode(), case.enc.stream_encoder(allowed_special="all")
        while at < len(data):
            size = rng.choice((1, 2, 7, 100, 1000))
            ids += list(stream.feed(data[at : at + size]))
            at += size
            if rng.random() < 0.3:
                state = stream.getstate()
                stream = case.enc.stream_encoder(allowed_special="all")
                stream.setstate(state)
            elif rng.random() < 0.2:
                stream = pickle.loads(pickle.dumps(stream)) if rng.random() < 0.5 else stream.copy()
        assert ids + list(stream.flush()) == case.ids(text)


def test_a_state_that_no_stream_can_be_in_is_refused(name):
    case = Case(name, 1, True)
    stream = case.enc.stream_encoder()
    stream.feed("a" * 500)
    state = bytearray(stream.getstate())
    for at in range(len(state)):
        damaged = bytes(state[:at]) + bytes([state[at] ^ 0x55]) + bytes(state[at + 1 :])
        with pytest.raises(ValueError):
            case.enc.stream_encoder().setstate(damaged)


def test_threads(case):
    text = "".join(case.text() + " " for _ in range(8))
    ids = case.enc.encode_to_numpy(text, num_threads=4, allowed_special="all")
    assert ids.tolist() == case.ids(text)
    joined, starts = case.enc.encode_ragged([text, "", text[:99]], num_threads=3, allowed_special="all")
    assert joined.tolist() == case.ids(text) + case.ids(text[:99]) and starts.tolist() == [
        0,
        len(ids),
        len(ids),
        len(joined),
    ]


def test_sessions(case):
    session, text = case.enc.session(allowed_special="all"), ""
    for _ in range(20):
        new = case.text(1)[:60]
        start = case.rng.randint(0, len(text))
        end = min(len(text), start + case.rng.choice((0, 1, 10)))
        if case.rng.random() < 0.6:
            session.replace(len(text[:start].encode()), len(text[:end].encode()), new)
            text = text[:start] + new + text[end:]
        else:
            session.append(new)
            text += new
        assert session.ids.tolist() == case.ids(text) and session.text == text


def test_files(case, tmp_path):
    text = "".join(case.text() + "\n" for _ in range(5))
    (tmp_path / "a.txt").write_text(text, encoding="utf-8", newline="")
    options = {"allowed_special": "all", "num_threads": 2, "chunk_size": 512, "dtype": "uint16"}
    encode_file(case.enc, tmp_path / "a.txt", tmp_path / "a.bin", **options)
    assert np.fromfile(tmp_path / "a.bin", np.uint16).tolist() == case.ids(text)


def test_decoding_and_offsets(case):
    text = case.text()
    ids = case.ids(text)
    assert case.enc.decode(ids) == text
    stream = case.enc.stream_decoder()
    assert "".join([*map(stream.feed, ([token] for token in ids)), stream.flush()]) == text
    sizes = [len(case.enc.decode_single_token_bytes(token)) for token in ids]
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    character_at = [i for i, character in enumerate(text) for _ in character.encode()]
    made, offsets = case.enc.encode_with_offsets(text, allowed_special="all")
    assert list(made) == ids and list(offsets) == [character_at[start] for start in starts]


def test_images_pickles_and_fingerprints(case):
    vocab = case.enc._vocab
    image = np.frombuffer(vocab.to_image() + bytes(64), np.uint8)
    room = np.zeros(len(image) + 64, np.uint8)
    start = -room.ctypes.data % 64
    room[start : start + len(image)] = image
    opened = Vocab(None, None, None, None, SPECIAL, image=memoryview(room)[start : start + len(image) - 64])
    assert opened.model == vocab.model and opened.merge(b"abab") == vocab.merge(b"abab") == case.merge(b"abab")
    again, text = pickle.loads(pickle.dumps(case.enc)), case.text()
    assert again.encode(text, allowed_special="all") == case.ids(text) and again.fingerprint == case.enc.fingerprint
    matched = case.enc.with_longest_match()
    assert matched._vocab.model == "longest" and matched.fingerprint != case.enc.fingerprint


def test_what_has_no_form_for_it_is_refused(case, tmp_path):
    with pytest.raises(ValueError, match=rf"is of {case.enc._vocab.model}, which none of these files can say"):
        save(case.enc, tmp_path / "a.tiktoken")
    assert family_or_reason(case.enc) == (None, "a model for which there are no kernels")
