"""Merges are those of the naive trainer and of Hugging Face's, for any threads, memory and form of the text."""

from __future__ import annotations

import functools
import importlib.util
import json
import random
from typing import Any

import hypothesis
import hypothesis.strategies as st
import naive_trainer
import nasty
import numpy as np
import oracle
import pytest

import streamtok
from streamtok.native.trainer import Counter, Trainer
from streamtok.train import train
from streamtok.train.huggingface import merges_of
from streamtok.train.options import ALPHABETS, PATTERNS

TIES = ("lexicographic", "huggingface")
CORPORA = ("english", "code", "multilingual")
needs_tokenizers = pytest.mark.skipif(
    importlib.util.find_spec("tokenizers") is None, reason="not installed: tokenizers, the oracle of one rule for ties"
)


def merges(enc: streamtok.Encoding) -> list[tuple[bytes, bytes]]:
    return merges_of(enc)


def learned(text: Any, size: int, **options: Any) -> list[tuple[bytes, bytes]]:
    """What the trainer merges, in order; there may be fewer merges in the text."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return merges(train(text if isinstance(text, bytes) else iter([text]), size, **options))


def pieces(text: str, pattern: str) -> list[bytes]:
    """The pieces by the splitter of an encoding, which other tests compare with tiktoken's."""
    data = text.encode()
    ends = oracle.ours(f"{pattern}_base")._coder.split(data)
    return [data[a:b] for a, b in zip([0, *ends], ends)]


def sample(name: str, size: int) -> str:
    text = oracle.corpus(name)
    return text[len(text) // 3 : len(text) // 3 + size]


# ==== the naive trainer ====


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("name", CORPORA)
def test_merges_of_corpora_are_the_naive_trainers(name, pattern, ties):
    text = sample(name, 5_000 if name == "multilingual" else 12_000)  # of nearly as many different pieces
    want = naive_trainer.learn(pieces(text, pattern), 250, ties, alphabet=ALPHABETS[ties])
    assert learned(text, 506, pattern=pattern, ties=ties, threads=2) == want


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("ties", TIES)
def test_merges_of_a_text_to_its_end_are_the_naive_trainers(ties, pattern):
    """Training goes on until no pair is left. Nearly all merges have ties."""
    text = oracle.topics()[:3000] + "".join(nasty.random_strings(random.Random(pattern), 20, 30))
    want = naive_trainer.learn(pieces(text, pattern), 10**6, ties, alphabet=ALPHABETS[ties])
    assert learned(text, 100_000, pattern=pattern, ties=ties) == want
    few = naive_trainer.learn(pieces(text, pattern), 10**6, ties, least=3, alphabet=ALPHABETS[ties])
    assert learned(text, 100_000, pattern=pattern, ties=ties, min_frequency=3) == few
    assert 0 < len(few) < len(want)


@hypothesis.given(
    st.lists(st.tuples(st.text("ab ", min_size=1, max_size=24), st.integers(1, 4)), min_size=1, max_size=8)
)
def test_hyp_runs_and_overlaps_are_merged_as_the_naive_trainer_does(words):
    """Few letters give aaa, abab and pairs that touch, in every combination. The trainer reads records of counts."""
    rows = [word.encode() for word, count in words for _ in range(count)]
    counter = Counter(None, None)
    for row in rows:
        counter.count_spans(row, memoryview(bytes(8) + len(row).to_bytes(8, "little")).cast("q"))
    for ties in TIES:
        assert engine_merges(counter.write(4), ties) == naive_trainer.learn(rows, 1000, ties, alphabet=ALPHABETS[ties])
        # There is so little room for lists that every merge searches the text again.
        assert engine_merges(counter.write(), ties, lists=1) == engine_merges(counter.write(), ties)


@pytest.mark.parametrize("size", [8, 40])
def test_words_are_found_again_after_the_table_grew(size):
    """Thousands of words, so that some of them fall on one place whenever the table grows; each stands twice."""
    rng = random.Random(size)
    words = list({bytes(rng.choices(b"abcdefgh", k=size)) for _ in range(6000)})
    counter = Counter(None, None)
    ends = np.arange(len(words) + 1, dtype=np.int64) * size
    for _ in range(2):
        counter.count_spans(b"".join(words), memoryview(np.stack([ends[:-1], ends[1:]], axis=1).ravel()))
    assert (counter.distinct, counter.pieces) == (len(words), 2 * len(words))
    records = counter.write(4)
    again = Counter(None, None)
    for record in records:
        again.read(record)
    assert again.distinct == len(words)


def engine_merges(
    blocks: list[bytes], ties: str, lists: int = 1 << 40, step: int = 1 << 30
) -> list[tuple[bytes, bytes]]:
    trainer = Trainer(ALPHABETS[ties], 1256, ties, 1000, 0)
    for block in blocks:
        trainer.measure(block)
    trainer.limit_lists(lists)
    trainer.lay_out()
    for block in reversed(blocks):
        trainer.place(block)
    trainer.finish()
    trainer.begin()
    while not trainer.run(step, 1 << 40):
        pass
    pairs = (trainer.merge(token) for token in range(256, trainer.count))
    return [(trainer.token(left), trainer.token(right)) for left, right in pairs]


@pytest.mark.long
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("name", CORPORA)
def test_merges_of_a_megabyte_are_the_naive_trainers(name, pattern):
    text = sample(name, 1_000_000)
    want = naive_trainer.learn_with_arrays(pieces(text, pattern), 4744)
    assert learned(text, 5000, pattern=pattern) == want


def test_the_two_naive_trainers_agree():
    for text in (oracle.topics()[:5000], "aaaaaaa abababa aaab" * 3):
        rows = pieces(text, "cl100k")
        assert naive_trainer.learn_with_arrays(rows, 200) == naive_trainer.learn(rows, 200, "lexicographic")


# ==== Hugging Face's ====


@functools.cache
def theirs(text: str, size: int, pattern: str, longest: int | None = None, least: int = 0) -> tuple[Any, Any]:
    """(merges, {token: id}) of the BpeTrainer, special tokens first."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    from streamtok.train.huggingface import _SPELLED, _bytes_of

    split = pre_tokenizers.Split(Regex(_SPELLED[PATTERNS[pattern]]), "isolated")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    options: dict[str, Any] = {} if longest is None else {"max_token_length": longest}
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=least,
        show_progress=False,
        special_tokens=["<|a|>", "<|b|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        **options,
    )
    tokenizer.train_from_iterator([text], trainer)
    model = json.loads(tokenizer.to_str())["model"]
    pairs = [pair.split(" ") if isinstance(pair, str) else pair for pair in model["merges"]]
    merges = [(_bytes_of(left), _bytes_of(right)) for left, right in pairs]
    return merges, {_bytes_of(name): token for name, token in model["vocab"].items() if not name.startswith("<|")}


def ours_like_theirs(text: str, size: int, pattern: str, **options: Any) -> streamtok.Encoding:
    special = ["<|a|>", "<|b|>"]
    return train(iter([text]), size, pattern=pattern, ties="huggingface", special_tokens=special, **options)


@needs_tokenizers
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("name", CORPORA)
def test_merges_and_ids_of_corpora_are_hugging_faces(name, pattern):
    text = sample(name, 300_000)
    merges_there, ids = theirs(text, 3000, pattern)
    enc = ours_like_theirs(text, 3000, pattern)
    assert merges(enc) == merges_there
    assert enc._mergeable_ranks == ids


@needs_tokenizers
@pytest.mark.parametrize("pattern", PATTERNS)
def test_merges_and_ids_of_other_texts_are_hugging_faces(pattern):
    for text in (oracle.topics()[:200_000], oracle.stdlib_sources()[:200_000]):
        merges_there, ids = theirs(text, 2000, pattern)
        enc = ours_like_theirs(text, 2000, pattern)
        assert merges(enc) == merges_there and enc._mergeable_ranks == ids


@needs_tokenizers
@pytest.mark.parametrize(("longest", "least"), [(2, 0), (3, 0), (6, 0), (None, 4), (5, 2)])
def test_limits_are_hugging_faces(longest, least):
    text = oracle.topics()[:60_000]
    merges_there, ids = theirs(text, 4000, "cl100k", longest, least)
    with pytest.warns(UserWarning, match="the text has no more than"):
        enc = ours_like_theirs(text, 4000, "cl100k", max_token_length=longest, min_frequency=least)
    assert merges(enc) == merges_there and enc._mergeable_ranks == ids


@needs_tokenizers
@pytest.mark.long
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("name", CORPORA)
def test_merges_of_whole_corpora_are_hugging_faces(name, pattern):
    text = oracle.corpus(name)
    merges_there, ids = theirs(text, 32_000, pattern)
    enc = ours_like_theirs(text, 32_000, pattern)
    assert merges(enc) == merges_there and enc._mergeable_ranks == ids


# ==== the same merges, however the work is divided ====


@pytest.mark.parametrize("ties", TIES)
def test_merges_do_not_depend_on_threads_or_memory(tmp_path, monkeypatch, ties):
    monkeypatch.setattr("streamtok._batch.cores", lambda: 8)
    monkeypatch.setattr("streamtok.train.inputs.CHUNK", 5000)
    monkeypatch.setattr("streamtok.train.counting._LEAST_BUDGET", 1 << 16)
    path = tmp_path / "text.txt"
    path.write_text(oracle.topics()[:300_000])
    want = learned(path.read_bytes(), 2000, ties=ties, threads=1)
    for threads in (1, 2, 3, 8):
        assert merges(train(path, 2000, ties=ties, threads=threads)) == want
        monkeypatch.setattr("streamtok.train.run.Run._budget", lambda self: 1 << 16)  # spills after nearly every chunk
        assert merges(train(path, 2000, ties=ties, threads=threads, max_memory=200 << 20)) == want
        monkeypatch.undo()
        monkeypatch.setattr("streamtok._batch.cores", lambda: 8)


@pytest.mark.parametrize("lists", [1, 3000, 30_000])
def test_merges_do_not_depend_on_the_room_for_lists(lists):
    counter = Counter("cl100k", None)
    counter.count(oracle.topics()[:100_000])
    for ties in TIES:
        want = engine_merges(counter.write(), ties)
        assert len(want) == 1000
        assert engine_merges(counter.write(8), ties, lists) == want
        assert engine_merges(counter.write(), ties, lists, step=7) == want


def test_ties_as_the_documentation_has_them():
    """'the', ' in' and such: three pairs that stand twice each."""
    text = "hth hth"
    assert learned("h th  h th", 257)[0] == (b"t", b"h")
    assert learned("xin he xin he", 300, pattern=None)[0] == (b"x", b"i")
    assert learned(text, 257, ties="lexicographic")[0] == (b"t", b"h")
    assert learned(text, 257, ties="huggingface")[0] == (b"h", b"t")


def test_max_token_length_by_bytes():
    text = "internationalization " * 20
    for longest in (1, 2, 5, 9):
        tokens = [left + right for left, right in learned(text, 400, max_token_length=longest)]
        assert max(map(len, tokens), default=1) == longest


def test_an_alphabet_of_ones_own_decides_ids_and_ties():
    alphabet = bytes(reversed(range(256)))
    enc = train(b"ab ba ab ba", 258, initial_alphabet=alphabet, ties="huggingface")
    assert [enc._mergeable_ranks[bytes([value])] for value in alphabet] == list(range(256))
    assert merges(enc)[0] == (b"b", b"a")


def test_the_encoding_encodes_and_streams_at_once():
    text = oracle.topics()[:100_000]
    for pattern in PATTERNS:
        enc = train(iter([text]), 1000, pattern=pattern, special_tokens=["<|end|>"])
        assert enc.n_vocab == 1000 and enc.special_tokens_set == {"<|end|>"}
        ids = enc.encode(text)
        assert enc.decode(ids) == text and len(ids) < len(text) / 2.5
        stream = enc.stream_encoder()
        assert oracle.streamed(stream, oracle.random_cuts(random.Random(1), text.encode())) == ids


def test_counts_beyond_32_bits_stay_exact():
    """A count that wrapped around would put (a, b) behind (c, d), or make it look never seen."""
    trainer = Trainer(bytes(range(256)), 260, "lexicographic", 100, 0)
    number = _varint
    rows = [(b"ab", (1 << 32) + 5), (b"cd", (1 << 32) + 4), (b"ef", (1 << 33)), (b"gh", 9)]
    records = b"".join(number(len(piece)) + piece + number(count) for piece, count in rows)
    trainer.measure(records)
    trainer.lay_out()
    trainer.place(records)
    trainer.finish()
    trainer.begin()
    while not trainer.run(1, 1 << 30):
        pass
    assert [trainer.token(token) for token in range(256, 260)] == [b"ef", b"ab", b"cd", b"gh"]
    assert trainer.last_count == 9


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def test_importing_streamtok_does_not_import_training():
    import subprocess
    import sys

    code = "import sys, streamtok; assert not [name for name in sys.modules if 'train' in name and 'streamtok' in name]"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
