"""Vocabularies that go on from others: merges are those of the naive trainer, ids those of tokenizers."""

from __future__ import annotations

import importlib.util
import json
import random
import zlib
from collections import Counter
from typing import Any

import made_models
import naive_trainer
import nasty
import numpy as np
import oracle
import pytest

import streamtok
from streamtok.native.trainer import Trainer, packed, unpacked
from streamtok.train import SUPERWORDS, ResumeError, extend, load, merge, prune, save, superwords, train
from streamtok.train.huggingface import merges_of
from streamtok.train.merges import MergeTable
from streamtok.train.options import ALPHABETS

needs_tokenizers = pytest.mark.skipif(
    importlib.util.find_spec("tokenizers") is None, reason="not installed: tokenizers"
)
TIES = ("lexicographic", "huggingface")
SPECIAL = ["<|endoftext|>", "<|fim|>"]


def sample(name: str, size: int, part: int = 3) -> str:
    text = oracle.corpus(name)
    return text[len(text) // part : len(text) // part + size]


def base_of(pattern: str | None = "cl100k", ties: str = "lexicographic", size: int = 500) -> streamtok.Encoding:
    return train(iter([sample("english", 20_000)]), size, pattern=pattern, ties=ties, special_tokens=SPECIAL)


def pieces_by(enc: streamtok.Encoding, text: str) -> list[bytes]:
    return [piece if isinstance(piece, bytes) else piece.encode() for piece in enc.pieces(text)]


def assert_theirs(enc: streamtok.Encoding, path: Any, texts: list[str]) -> None:
    """The ids are tokenizers' with what save() writes, those of streams, and those of what is loaded again."""
    from tokenizers import Tokenizer

    save(enc, path)
    there, again = Tokenizer.from_file(str(path)), streamtok.Encoding.from_file(path)
    for text in texts:
        if "\ud800" <= max(text, default="") <= "\udfff":
            continue
        ids = enc.encode(text, allowed_special="all")
        assert there.encode(text, add_special_tokens=False).ids == ids, text[:200]
        assert again.encode(text, allowed_special="all") == ids
        cuts = oracle.random_cuts(random.Random(text[:9]), text.encode())
        assert oracle.streamed(enc.stream_encoder(allowed_special="all"), cuts) == ids


def some_texts() -> list[str]:
    marked = f"a<|fim|>b {sample('multilingual', 3000)} <|endoftext|>"
    return [marked, sample("english", 20_000, 2), sample("code", 5000), *nasty.random_strings(random.Random(4), 60, 40)]


# ==== extend ====


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("pattern", ["cl100k", "r50k", None, r"\w+|\s+"])
def test_new_merges_are_the_naive_trainers_and_ids_stay(pattern, ties):
    base = base_of(pattern, ties)
    text = sample("multilingual", 4000) + sample("code", 2000)
    enc = extend(base, iter([text]), 150, ties=ties)
    start = merges_of(base)
    want = naive_trainer.learn(pieces_by(base, text), 150, ties, alphabet=ALPHABETS[ties], start=start)
    assert merges_of(enc) == start + want
    assert enc._mergeable_ranks.items() >= base._mergeable_ranks.items()
    assert enc._special_tokens == base._special_tokens
    assert sorted(enc._mergeable_ranks.values())[-150:] == [*range(500, 650)]
    assert enc.training["merges"] == 150 and enc.training["grown_from"]["name"] == base.name


def test_whole_of_a_text_is_learned_and_fewer_merges_are_told(tmp_path):
    base = base_of()
    text = "internationalization of the internationalized " * 3
    with pytest.warns(UserWarning, match=r"no more than \d+ merges: so many tokens are new, not 4000"):
        enc = extend(base, iter([text]), 4000)
    assert merges_of(enc)[len(merges_of(base)) :] == naive_trainer.learn(
        pieces_by(base, text), 4000, "lexicographic", start=merges_of(base)
    )
    with pytest.warns(UserWarning):
        assert extend(base, iter([text]), 4000, min_frequency=10).n_vocab == base.n_vocab


@needs_tokenizers
@pytest.mark.parametrize("form", ["a.json", "a.tiktoken", "folder"])
def test_an_extended_vocabulary_is_saved_and_gives_tokenizers_the_same_ids(tmp_path, form):
    enc = extend(base_of("o200k"), iter([sample("multilingual", 30_000)]), 700)
    assert_theirs(enc, tmp_path / "tokenizer.json", some_texts())
    save(enc, tmp_path / form)
    again = load(tmp_path / form)
    assert again._mergeable_ranks == enc._mergeable_ranks and again._special_tokens == enc._special_tokens


@pytest.mark.parametrize("name", ["r50k_base", "cl100k_base"])
def test_a_bundled_encoding_is_extended(name, tmp_path):
    base, text = oracle.ours(name), sample("multilingual", 20_000)
    enc = extend(base, iter([text]), 60)
    first = base.max_token_value + 1
    assert sorted(enc._mergeable_ranks.values())[-60:] == [*range(first, first + 60)]
    start = merges_of(base)
    assert merges_of(enc)[len(start) :] == naive_trainer.learn(pieces_by(base, text), 60, "lexicographic", start=start)
    assert len(enc.encode(text)) < len(base.encode(text))


def test_new_merges_do_not_depend_on_threads_memory_or_interruptions(tmp_path, monkeypatch):
    monkeypatch.setattr("streamtok._batch.cores", lambda: 4)
    monkeypatch.setattr("streamtok.train.inputs.CHUNK", 5000)
    monkeypatch.setattr("streamtok.train.counting._LEAST_BUDGET", 1 << 16)
    monkeypatch.setattr("streamtok.train.merges._ROWS", 37)
    monkeypatch.setattr("streamtok.train.run._WORK", 1 << 12)
    (tmp_path / "a.txt").write_text(oracle.topics()[:200_000])
    base = base_of()
    want = extend(base, tmp_path / "a.txt", 500, threads=1)._mergeable_ranks
    monkeypatch.setattr("streamtok.train.run.Run._budget", lambda self: 1 << 16)
    assert extend(base, tmp_path / "a.txt", 500, threads=3, max_memory=200 << 20)._mergeable_ranks == want
    monkeypatch.setattr("streamtok.train.run.CHECKPOINT_SECONDS", 0.0)
    kept, calls = tmp_path / "kept", [0]

    def stop(at):
        calls[0] += 1
        if calls[0] % 15 == 0:
            raise KeyboardInterrupt

    for _ in range(99):
        try:
            enc = extend(base, tmp_path / "a.txt", 500, checkpoint=kept, progress=stop)
            break
        except KeyboardInterrupt:
            continue
    assert enc._mergeable_ranks == want and calls[0] > 30
    more = extend(base, tmp_path / "a.txt", 600, checkpoint=kept)
    assert more._mergeable_ranks == extend(base, tmp_path / "a.txt", 600)._mergeable_ranks
    with pytest.raises(ResumeError, match="fingerprint"):
        extend(base_of(size=400), tmp_path / "a.txt", 600, checkpoint=kept)


# ==== models of files ====

MODELS = {
    "ignore_merges": {"ignore_merges": True},
    "normalized": {"normalizer": {"type": "NFC"}},
    "plain": {},
}


@needs_tokenizers
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("row", ["llama3", "qwen2", "deepseek_v3"])
def test_models_of_files_grow_and_shrink(row, kind, tmp_path):
    path = tmp_path / "model.json"
    record = made_models.of_bytes(row)
    changes = dict(MODELS[kind])
    record["model"]["ignore_merges"] = changes.pop("ignore_merges", False)
    record |= changes
    path.write_text(json.dumps(record))
    base = streamtok.Encoding.from_file(path)
    texts = [*some_texts(), "<|endoftext|> e\u0301 \u1100\u1161 " + made_models.text()[:4000]]
    enc = extend(base, iter([sample("multilingual", 20_000, 2), "e\u0301te\u0301"]), 200)
    assert_theirs(enc, tmp_path / "grown.json", texts)
    grown, names = MergeTable(enc), base._added_tokens
    assert enc._added_tokens == names and [each.id for each in grown.made[: len(MergeTable(base).made)]] == [
        each.id for each in MergeTable(base).made
    ]
    assert min(each.id for each in grown.made[-200:]) > base.max_token_value
    left = len(grown.made) + len(grown.others) + len(set(names.values()) - set(grown.others)) - 300
    for dense in (False, True):
        fewer, ids = prune(enc, iter([sample("english", 20_000)]), left, dense=dense)
        assert (ids >= 0).sum() == left
        assert_theirs(fewer, tmp_path / "fewer.json", texts)
        if dense:
            assert sorted(ids[ids >= 0]) == [*range(left)] and fewer.n_vocab == left
            kept = prune(enc, iter([sample("english", 20_000)]), left).encoding
            assert (
                fewer.encode(texts[0], allowed_special="all")
                == ids[kept.encode(texts[0], allowed_special="all")].tolist()
            )


# ==== superwords ====


def words_of(token: bytes) -> int:
    return len(token.split())


@pytest.mark.parametrize("max_words", [1, 2, 4, None])
@pytest.mark.parametrize("pattern", [SUPERWORDS, None, r"[^.\n]+[.\n]*|[.\n]+"])
def test_merges_across_words_are_the_naive_trainers(pattern, max_words):
    text = sample("english", 6000) + " 1234567\r\n\n\tx  y " + "the cat of the dog of the cat. " * 9
    base = base_of("o200k")
    enc = superwords(base, iter([text, text[:999]]), 150, pattern=pattern, max_words=max_words)
    other = train(b"x", 256, pattern=pattern)
    pieces = pieces_by(other, text) + pieces_by(other, text[:999])
    start = merges_of(base)
    few = (lambda token: True) if max_words is None else (lambda token: words_of(token) <= max_words)
    want = naive_trainer.learn(pieces, 150, "lexicographic", start=start, may_merge=few)
    assert merges_of(enc) == start + want and enc._pat_str == pattern
    assert max_words == 1 or max(words_of(left + right) for left, right in want) > 1


@needs_tokenizers
def test_superwords_are_saved_and_give_tokenizers_the_same_ids(tmp_path):
    base = base_of("cl100k", size=900)
    enc = superwords(base, iter([sample("english", 100_000, 2)]), 800)
    assert_theirs(enc, tmp_path / "tokenizer.json", some_texts())
    assert load(tmp_path / "tokenizer.json")._mergeable_ranks == enc._mergeable_ranks
    text = sample("english", 20_000, 2)
    assert len(enc.encode(text)) < 0.9 * len(base.encode(text))


def test_superwords_in_little_memory_are_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr("streamtok.train.inputs.CHUNK", 5000)
    monkeypatch.setattr("streamtok.train.counting._LEAST_BUDGET", 1 << 16)
    (tmp_path / "a.txt").write_text(oracle.topics()[:200_000])
    base = base_of()
    want = superwords(base, tmp_path / "a.txt", 300)._mergeable_ranks
    monkeypatch.setattr("streamtok.train.run.Run._budget", lambda self: 1 << 16)
    monkeypatch.setattr("streamtok.train.run.Run._most_lists", lambda self, places: 3000)
    assert superwords(base, tmp_path / "a.txt", 300, threads=2, max_memory=200 << 20)._mergeable_ranks == want


def test_a_sample_of_pieces_is_the_same_however_the_work_is_divided(tmp_path, monkeypatch):
    monkeypatch.setattr("streamtok.train.merges._ROWS", 11)
    base, text = base_of("o200k"), sample("english", 40_000)
    other = train(b"x", 256, pattern=SUPERWORDS)
    for share, seed in ((0.3, 0), (0.3, 7), (1.0, 7)):
        salt = zlib.crc32(seed.to_bytes(8, "little"))
        pieces = [piece for piece in pieces_by(other, text) if zlib.crc32(piece, salt) < share * 2**32]
        enc = superwords(base, iter([text]), 60, sample=share, seed=seed, threads=2)
        start, few = merges_of(base), (lambda token: words_of(token) <= 4)
        assert merges_of(enc)[len(start) :] == naive_trainer.learn(
            pieces, 60, "lexicographic", start=start, may_merge=few
        )
        assert share == 1 or (enc.training["grown_from"]["sample"], enc.training["grown_from"]["seed"]) == (share, seed)
    for given in ({"sample": 0}, {"sample": 1.5}, {"seed": -1}):
        with pytest.raises(ValueError, match=r"(sample|seed)=.*: write"):
            superwords(base, b"text", 10, **given)


# ==== prune ====


def least_used(enc: streamtok.Encoding, text: str, number: int) -> set[int]:
    """Which tokens go, by the definition."""
    uses = Counter(enc.encode(text, disallowed_special=()))
    parts = {left + right: (left, right) for left, right in merges_of(enc)}
    ids = enc._mergeable_ranks
    gone: set[int] = set()
    while len(gone) < number:
        needed = {part for pair in parts.values() for part in pair}
        token = min(parts.keys() - needed, key=lambda token: (uses[ids[token]], -ids[token]))
        for part in parts.pop(token):
            uses[ids[part]] += uses[ids[token]]
        gone.add(ids[token])
    return gone


@pytest.mark.parametrize("left", [258, 300, 600, 699])
def test_leaves_go_the_least_used_first(left):
    enc, text = base_of(size=700), sample("multilingual", 3000) + sample("english", 3000)
    fewer, ids = prune(enc, iter([text[:3000], text[3000:]]), left)
    gone = least_used(enc, text[:3000] + "\0" + text[3000:], 700 - left)
    assert {token for token in range(700) if ids[token] < 0} == gone
    kept = {token: rank for token, rank in enc._mergeable_ranks.items() if rank not in gone}
    assert fewer._mergeable_ranks == kept and fewer._special_tokens == enc._special_tokens
    assert merges_of(fewer) == [pair for pair in merges_of(enc) if pair[0] + pair[1] in kept]


@needs_tokenizers
def test_a_pruned_vocabulary_gives_tokenizers_the_same_ids(tmp_path):
    enc = base_of(size=900)
    fewer, ids = prune(enc, iter([sample("code", 9000)]), 600)
    assert_theirs(fewer, tmp_path / "fewer.json", some_texts())
    dense, new = prune(enc, iter([sample("code", 9000)]), 600, dense=True)
    assert_theirs(dense, tmp_path / "dense.json", some_texts())
    assert dense.n_vocab == 600 and new.dtype == np.int64
    for text in some_texts()[:3]:
        old = fewer.encode(text, allowed_special="all")
        assert new[old].tolist() == dense.encode(text, allowed_special="all") and ids[old].tolist() == old


# ==== merge ====


@needs_tokenizers
def test_a_vocabulary_of_two_has_the_tokens_of_both(tmp_path):
    first = base_of(size=800)
    second = train(iter([sample("multilingual", 20_000)]), 900, special_tokens=["<|fim|>", "<|new|>"])
    enc = merge(first, second)
    assert enc._mergeable_ranks.items() >= first._mergeable_ranks.items()
    assert enc._mergeable_ranks.keys() >= second._mergeable_ranks.keys()
    between = len(enc._mergeable_ranks.keys() - first._mergeable_ranks.keys() - second._mergeable_ranks.keys())
    assert enc.training["between"] == between
    assert enc._special_tokens == first._special_tokens | {"<|new|>": enc.n_vocab - 1}
    assert sorted({*enc._mergeable_ranks.values(), *enc._special_tokens.values()}) == [*range(enc.n_vocab)]
    for token in [*first._mergeable_ranks, *second._mergeable_ranks]:
        assert enc._encode_by_merging(token) == [enc._mergeable_ranks[token]]
    assert_theirs(enc, tmp_path / "both.json", some_texts())
    assert merge(first, first)._mergeable_ranks == first._mergeable_ranks


# ==== what cannot be ====


def test_what_cannot_be_is_refused(tmp_path):
    base = base_of()
    longest = streamtok.Encoding.longest_match("l", base._mergeable_ranks, special_tokens={})
    for call in (extend, superwords, prune):
        with pytest.raises(ValueError, match="'l' is of longest match, not of BPE over bytes"):
            call(longest, b"text", 300)
    with pytest.raises(ValueError, match="added=0: write how many tokens are to be learned"):
        extend(base, b"text", 0)
    with pytest.raises(TypeError, match="added is of type float"):
        extend(base, b"text", 1.0)
    with pytest.raises(ValueError, match="added=9999999 is above"):
        extend(base, b"text", 9_999_999)
    with pytest.raises(ValueError, match="left=257 is below 258: the 256 bytes and 2 added tokens always stay"):
        prune(base, b"text", 257)
    with pytest.raises(ValueError, match=r"left=501: 'trained' has 500 tokens: nothing is to be taken out"):
        prune(base, b"text", 501)
    with pytest.raises(TypeError, match="left is of type str"):
        prune(base, b"text", "300")
    with pytest.raises(ValueError, match="max_words=0: a token has at least 1 word"):
        superwords(base, b"text", 10, max_words=0)
    with pytest.raises(ValueError, match="split or normalize texts in different ways"):
        merge(base, base_of("r50k"))
    with pytest.raises(ValueError, match="' the' is a special token of 'trained' alone"):
        merge(base, train(b"x y", 257, special_tokens=[" the"]))
    path = tmp_path / "model.json"
    path.write_text(json.dumps(made_models.of_bytes("qwen2", normalizer={"type": "NFC"})))
    model = streamtok.Encoding.from_file(path)
    with pytest.raises(ValueError, match="is of a model's file, whose pattern stays"):
        superwords(model, b"text", 10)
    with pytest.raises(ValueError, match="leave out checkpoint="):
        extend(model, b"text", 10, checkpoint=tmp_path / "kept")


def test_records_of_tokens_are_checked():
    trainer = Trainer(bytes(range(256)), 300, "lexicographic", 100, 0)
    with pytest.raises(ValueError, match="no tokens that a merge could join"):
        trainer.give(np.array([97 << 32 | 256], np.uint64))
    trainer = Trainer(bytes(range(256)), 300, "lexicographic", 100, 0)
    trainer.give(np.array([97 << 32 | 98], np.uint64))
    with pytest.raises(ValueError, match="given before records are measured, and once"):
        trainer.give(np.array([97 << 32 | 98], np.uint64))
    records = packed(np.array([256, 99, 5, 257, 1], np.uint32), np.array([2, 3, 5]), np.array([3, 4, 1], np.uint64))
    rows, counts, end = unpacked(records, 0, 9)
    assert [np.frombuffer(row, np.uint32).tolist() for row in rows] == [[256, 99], [257, 1]] and end == len(records)
    assert np.frombuffer(counts, np.uint64).tolist() == [3, 1]
    trainer.measure(records)
    trainer.lay_out()
    with pytest.raises(ValueError):  # 257 is no token
        trainer.place(records)
    with pytest.raises(ValueError):
        packed(np.zeros(2, np.uint32), np.array([3]), np.array([1], np.uint64))
