"""No pattern: a text is one piece, merged whole, on every path."""

from __future__ import annotations

import pickle
import random

import numpy as np
import oracle
import pytest

import streamtok

TEXTS = ["", "a", "hello world", "don't 12345 x\n\n  y", "é中文 😀", "a" * 300, "the quick brown fox " * 30]


@pytest.fixture(params=["r50k_base", "o200k_base"])
def enc(request):
    return oracle.without_pattern(request.param)


def random_text(rng: random.Random) -> str:
    return "".join(
        rng.choice(["a", "b", " ", "  ", "the", "1", "22", "\n", "é", "中", "-"]) for _ in range(rng.randint(0, 60))
    )


def test_ids_are_those_of_the_definition(make_tiny):
    with pytest.warns(UserWarning):
        enc = make_tiny(pat_str=None)
    ranks = enc._mergeable_ranks
    rng = random.Random(1)
    for text in TEXTS + [random_text(rng) for _ in range(300)]:
        assert enc.encode_ordinary(text) == oracle.encode_piece(text.encode(), ranks)


def test_both_engines_agree(enc):
    reference = oracle.without_pattern(enc.name.split()[0], "reference")
    rng = random.Random(2)
    for text in TEXTS + [random_text(rng) for _ in range(100)]:
        ids = enc.encode(text)
        assert ids == reference.encode(text) == enc._encode_single_piece(text)
        assert enc.decode(ids) == text
        assert enc.count(text) == len(ids)


@pytest.mark.parametrize("name", oracle.FAMILIES)
@pytest.mark.parametrize("corpus", ["english", "code", "multilingual"])
def test_real_text_is_cut_to_the_ids_of_the_reference(name, corpus):
    """The reference engine does not cut."""
    text = oracle.corpus(corpus)[500_000:540_000]
    want = oracle.without_pattern(name, "reference").encode(text, disallowed_special=())
    enc = oracle.without_pattern(name)
    for part in (text, *(text[i : i + 90] for i in range(0, 9000, 90))):
        got = enc.encode(part, disallowed_special=())
        assert got == (want if part is text else enc._encode_single_piece(part))


@pytest.mark.parametrize("kind", oracle.DAMAGED)
def test_vocabularies_that_no_trainer_made(kind):
    """An unreachable token may be a whole text, but never a part between two cuts."""
    ranks, rng = oracle.damaged_ranks(kind), random.Random(kind)
    with pytest.warns(UserWarning):
        enc = streamtok.Encoding(kind, pat_str=None, mergeable_ranks=ranks, special_tokens={})
    tokens = [token for token in ranks if len(token) > 1 and token.isascii()]
    for _ in range(100):
        text = b"".join(rng.choices(tokens, k=rng.randint(1, 40))).decode()
        want = oracle.encode_piece(text.encode(), ranks)
        assert enc.encode(text) == want
        assert oracle.streamed(enc.stream_encoder(), oracle.random_cuts(rng, text)) == want
    text = b" ".join(rng.choices(tokens, k=30_000)).decode()
    assert enc.encode_to_numpy(text, num_threads=3).tolist() == enc.encode(text)


def test_the_split_makes_a_difference(enc):
    named, rng = oracle.ours(enc.name.split()[0]), random.Random(4)
    texts = [random_text(rng) for _ in range(50)]
    assert [enc.encode(text) for text in texts] != [named.encode(text) for text in texts]


def test_special_tokens_come_first(enc):
    text = "a b<|endoftext|>c d"
    eot = enc.eot_token
    assert enc.encode(text, allowed_special="all") == [*enc.encode("a b"), eot, *enc.encode("c d")]
    with pytest.raises(ValueError, match="disallowed special token"):
        enc.encode(text)


def test_streams_are_exact_and_bounded(enc):
    rng = random.Random(3)
    for text in [*TEXTS, random_text(rng) * 50, "some text without end " * 2000]:
        data = (text + "<|endoftext|>" + text).encode()
        want = enc.encode_to_numpy(data, allowed_special="all").tolist()
        stream = enc.stream_encoder(allowed_special="all")
        assert oracle.streamed(stream, oracle.random_cuts(rng, data, (1, 7, 300, 5000))) == want
    stream.feed("some text without end " * 5000)
    assert stream.pending < 1000
    again = enc.stream_encoder(allowed_special="all")
    again.setstate(stream.getstate())
    assert again.flush().tolist() == stream.flush().tolist()


def test_threads_cut_where_no_token_spans(enc):
    text = "words and numbers 123 " * 40_000
    want = enc.encode_to_numpy(text).tolist()
    assert enc.encode_to_numpy(text, num_threads=4).tolist() == want
    assert enc.count(text, num_threads=4) == len(want)
    ids, indptr = enc.encode_ragged(["a", text, "b c"] * 2, num_threads=4)
    assert ids[indptr[1] : indptr[2]].tolist() == want


def test_files_on_threads(enc, tmp_path):
    text = "words and numbers 123 " * 150_000
    (tmp_path / "in.txt").write_text(text)
    want = enc.encode_to_numpy(text)
    for threads in (1, 3):
        done = enc.encode_file(tmp_path / "in.txt", tmp_path / "out.bin", num_threads=threads)
        assert (np.fromfile(tmp_path / "out.bin", done.dtype) == want).all()


def test_pickle_and_fingerprint(enc):
    named = oracle.ours(enc.name.split()[0])
    assert enc.fingerprint != named.fingerprint
    again = pickle.loads(pickle.dumps(enc))
    assert again.encode("hello world 12345") == enc.encode("hello world 12345")
    assert again.fingerprint == enc.fingerprint
