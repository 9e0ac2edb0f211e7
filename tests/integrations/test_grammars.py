"""An Encoding as the vocabulary of llguidance, xgrammar and outlines-core: what a grammar lets through."""

from __future__ import annotations

import random
import re

import oracle
import pytest

import streamtok
from streamtok.integrations import grammar_tokens

COUNT = {"default": 40, "ci": 400, "long": 4_000}[oracle.PROFILE]
GRAMMAR = "[a-d]{1,9}( é|x)+"


@pytest.fixture(scope="module")
def enc():
    return streamtok.get_encoding("cl100k_base")


def texts():
    draw = random.Random(3)
    for _ in range(COUNT):
        text = "".join(draw.choice("abcd") for _ in range(draw.randrange(1, 12)))
        yield text + "".join(draw.choice((" é", "x", " e", "")) for _ in range(draw.randrange(4)))


def test_bytes_of_every_id(enc):
    found = grammar_tokens.token_bytes(enc, False, 100_352)
    assert len(found) == 100_352 and found[100257] == found[100261] == found[100_351] == b""
    assert found[15339] == b"hello" and grammar_tokens.token_bytes(enc, True)[100257] == b"<|endoftext|>"
    with pytest.raises(ValueError, match="vocab_size=5 is below 100277, the number of ids of 'cl100k_base'"):
        grammar_tokens.token_bytes(enc, True, 5)


def test_the_token_that_ends_a_text(enc):
    assert grammar_tokens.end_of_text(enc, None) == 100257 and grammar_tokens.end_of_text(enc, 3) == 3
    with pytest.raises(KeyError):
        grammar_tokens.end_of_text(enc, 100_270)
    ranks = {bytes([byte]): byte for byte in range(256)}
    bare = streamtok.Encoding("bare", pat_str=r"\w+|\W+", mergeable_ranks=ranks, special_tokens={})
    with pytest.raises(ValueError, match="'bare' does not say which token ends a text: write eos_token_id="):
        grammar_tokens.end_of_text(bare, None)


def test_llguidance(enc):
    llguidance = pytest.importorskip("llguidance", reason="llguidance is not installed")
    from streamtok.integrations.llguidance import tokenizer

    made = tokenizer(enc)
    assert (made.vocab_size, made.eos_token) == (100_277, 100_257)
    assert tokenizer(enc, vocab_size=100_352, eos_token_id=100_276).eos_token == 100_276
    for text in texts():
        assert made.tokenize_str(text) == enc.encode(text)
        matcher = llguidance.LLMatcher(made, llguidance.LLMatcher.grammar_from_regex(GRAMMAR))
        fits = matcher.try_consume_tokens(enc.encode(text)) == len(enc.encode(text)) and matcher.is_accepting()
        assert fits == bool(re.fullmatch(GRAMMAR, text)), text
    assert enc.encode("<|endoftext|>", disallowed_special=()) == made.tokenize_str("<|endoftext|>")


def test_xgrammar(enc):
    xgrammar = pytest.importorskip("xgrammar", reason="xgrammar is not installed")
    from streamtok.integrations.xgrammar import tokenizer_info

    made = tokenizer_info(enc, vocab_size=100_352)
    assert made.vocab_size == 100_352 and made.stop_token_ids == [100_257]
    grammar = xgrammar.GrammarCompiler(made).compile_regex(GRAMMAR)
    for text in texts():
        matcher = xgrammar.GrammarMatcher(grammar)
        fits = all(matcher.accept_token(token) for token in enc.encode(text)) and matcher.accept_token(100_257)
        assert fits == bool(re.fullmatch(GRAMMAR, text)), text


def test_outlines(enc):
    outlines_core = pytest.importorskip("outlines_core", reason="outlines-core is not installed")
    from streamtok.integrations.outlines import vocabulary

    index = outlines_core.Index(GRAMMAR, vocabulary(enc))
    for text in texts():
        guide = outlines_core.Guide(index)
        fits = True
        for token in enc.encode(text):
            fits = fits and token in guide.get_tokens()
            if fits:
                guide.advance(token)
        assert (fits and guide.is_finished()) == bool(re.fullmatch(GRAMMAR, text)), text
