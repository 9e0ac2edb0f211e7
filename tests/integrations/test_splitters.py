"""Splitters of LangChain and LlamaIndex beside their own."""

from __future__ import annotations

import logging
import pickle
import random

import nasty
import oracle
import pytest

import streamtok

COUNT = {"default": 60, "ci": 400, "long": 4000}[oracle.PROFILE]
WORDS = [*nasty.ALPHABET, *["hello ", "world. ", "Größe ", "\n\n", "東京 ", "😀", "<|endoftext|>"] * 6]


@pytest.fixture(autouse=True)
def quiet():
    logging.disable(logging.ERROR)  # LlamaIndex's own warning cannot be formatted
    yield
    logging.disable(logging.NOTSET)


def texts(seed: int):
    rng = random.Random(seed)
    for _ in range(COUNT):
        yield rng, "".join(rng.choices(WORDS, k=rng.choice((0, 1, 5, 60, 300))))


def test_langchain(monkeypatch):
    module = pytest.importorskip("langchain_text_splitters", reason="pip install langchain-text-splitters")
    tiktoken = pytest.importorskip("tiktoken", reason="tiktoken is not installed")
    from streamtok.integrations.langchain import TokenTextSplitter

    monkeypatch.setattr(tiktoken, "get_encoding", lambda name: oracle.pair(name).theirs)
    for rng, text in texts(1):
        size = rng.choice((1, 2, 5, 40))
        options = {"chunk_size": size, "chunk_overlap": rng.randrange(size), "disallowed_special": ()}
        options["allowed_special"] = rng.choice((None, "all"))
        name = rng.choice(("gpt2", "cl100k_base", "o200k_base"))
        ours, theirs = TokenTextSplitter(name, **options), module.TokenTextSplitter(name, **options)
        assert ours.split_text(text) == theirs.split_text(text), (text, options)
        assert [d.page_content for d in ours.create_documents([text, "a"])] == [
            d.page_content for d in theirs.create_documents([text, "a"])
        ]
    with pytest.raises(ValueError, match="disallowed"):
        TokenTextSplitter(chunk_overlap=0).split_text("<|endoftext|>")
    assert TokenTextSplitter(model_name="gpt-4o", chunk_size=2, chunk_overlap=0).split_text("a b c") == ["a b", " c"]


def test_langchain_bounded_as_text():
    pytest.importorskip("langchain_text_splitters", reason="pip install langchain-text-splitters")
    from streamtok.integrations.langchain import TokenTextSplitter

    enc = streamtok.get_encoding("cl100k_base")
    for rng, text in texts(2):
        text = text.encode("utf-8", "replace").decode()
        size = rng.choice((9, 12, 40))
        overlap = rng.choice((0, 1, 4, 8))
        split = TokenTextSplitter(enc, chunk_size=size, chunk_overlap=overlap, disallowed_special=(), bounded=True)
        chunks, end = split.split_text(text), 0
        for chunk in chunks:
            assert len(enc.encode_ordinary(chunk)) <= size
            places = range(
                max(0, end - len(chunk) + 1), end + 1
            )  # it begins no later than the last one ends, and goes on
            end = len(chunk) + next(place for place in places if text.startswith(chunk, place))
        assert end == len(text)
        if not overlap:
            assert "".join(chunks) == text
    with pytest.raises(ValueError, match="has more than chunk_size=1"):
        TokenTextSplitter(enc, chunk_size=1, chunk_overlap=0, bounded=True).split_text("a\U0001f9ff")


def test_llama_index():
    module = pytest.importorskip("llama_index.core.node_parser", reason="pip install llama-index-core")
    from llama_index.core import Document

    from streamtok.integrations.llama_index import TokenTextSplitter

    for rng, text in texts(3):
        size = rng.choice((1, 4, 20, 100))
        options = {"chunk_size": size, "chunk_overlap": rng.randrange(size + 1), "keep_whitespaces": rng.random() < 0.5}
        options["separator"] = rng.choice((" ", "\n", "o"))
        name = rng.choice(("cl100k_base", "o200k_base"))
        encoding = oracle.pair(name).theirs
        own = module.TokenTextSplitter(tokenizer=lambda t, e=encoding: e.encode(t, allowed_special="all"), **options)
        ours = TokenTextSplitter(name, **options)
        assert ours.split_text(text) == own.split_text(text), (text, options)
    nodes = TokenTextSplitter(chunk_size=60, chunk_overlap=5).get_nodes_from_documents(
        [Document(text="hello you " * 90)]
    )
    assert len(nodes) > 3 and pickle.loads(pickle.dumps(nodes[0])).text == nodes[0].text
