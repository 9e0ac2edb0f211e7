"""Vocabularies given by a list of merges: ids are those of Hugging Face's tokenizers, whatever the list."""

from __future__ import annotations

import json
import mmap
import os
import pathlib
import pickle
import random
import subprocess
import sys
import warnings

import made_models
import pytest
from oracle import PROFILE

import streamtok
from streamtok import VocabularyError, patterns
from streamtok.bundled.gpt2_files import LETTERS
from streamtok.bundled.mapped import build_vocabulary
from streamtok.model_files import read
from streamtok.native.listing import list_spans
from streamtok.native.vocab import Vocab

tokenizers = pytest.importorskip("tokenizers", exc_type=ImportError)

ROUNDS = int(os.environ.get("STREAMTOK_MERGE_LISTS", {"default": 125, "ci": 1000, "long": 20_000}[PROFILE]))
LETTER = {value: letter for letter, value in LETTERS.items()}
BYTES = [bytes([value]) for value in range(256)]


def letters(token: bytes) -> str:
    return "".join(LETTER[value] for value in token)


def pack_merges(vocab, merges, *, ignore_merges: bool = False, characters: bool = False):
    """The vocabulary of the two lists of a tokenizer.json, as loading one makes it."""
    data = json.dumps({"model": {"vocab": vocab, "merges": merges}}).encode()
    tokens = read._tokens(data, *list_spans(data), "lists", set())
    return tokens.pack_characters()[0] if characters else tokens.pack(ignore_merges, set())


def build(packed, engine: str = "fast", pattern: str | None = None) -> streamtok.Encoding:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return streamtok.Encoding("m", pat_str=pattern, mergeable_ranks=packed, special_tokens={}, engine=engine)


def theirs(vocab, merges, ignore_merges: bool = False, pattern: str | None = None):
    model = tokenizers.models.BPE(vocab=vocab, merges=merges, ignore_merges=ignore_merges)
    made = tokenizers.Tokenizer(model)
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern is not None)
    return made


def random_merges(rng: random.Random, pool: list[bytes]) -> list[tuple[bytes, bytes]]:
    """Merges that make tokens of others, which are added to the pool; then the list is disturbed in some way."""
    merges = []
    for _ in range(rng.randint(1, 40)):
        left, right = rng.choice(pool), rng.choice(pool)
        if len(left + right) > rng.choice([4, 8, 16, 40, 300]):
            continue
        merges.append((left, right))
        if left + right not in pool:
            pool.append(left + right)
    everywhere = [(t[:i], t[i:]) for t in pool for i in range(1, len(t)) if t[:i] in pool and t[i:] in pool]
    kind = rng.choice(["in order", "several pairs", "shuffled", "by length", "every split"])
    if kind == "several pairs":
        for merge in rng.sample(everywhere, len(everywhere) // 2):
            merges.insert(rng.randint(0, len(merges)), merge)
    if kind == "shuffled":
        rng.shuffle(merges)
    if kind == "by length":
        merges.sort(key=lambda merge: (len(merge[0] + merge[1]), rng.random()))
    if kind == "every split":
        merges = everywhere
    return merges if rng.random() < 0.4 else list(dict.fromkeys(merges))  # else some stand in it again


def random_model(rng: random.Random):
    """(vocab, merges, characters that texts are made of)"""
    alphabet = rng.choice(["a", "ab", "abc", "aé", "aéè", "a中丸", "é中"])
    alphabet = [character.encode() for character in alphabet]
    pool = sorted({bytes([value]) for value in b"".join(alphabet)})
    merges = random_merges(rng, pool)
    never_made = [b"".join(rng.choices(alphabet, k=rng.randint(2, 6))) for _ in range(rng.randint(0, 3))]
    tokens = list(dict.fromkeys([*BYTES, *pool, *never_made]))
    if rng.random() < 0.3:
        rng.shuffle(tokens)
    ids = range(len(tokens)) if rng.random() < 0.4 else rng.sample(range(3000), len(tokens))
    vocab = {letters(token): number for token, number in zip(tokens, ids, strict=True)}
    return vocab, [(letters(left), letters(right)) for left, right in merges], alphabet


def is_text(token: bytes) -> bool:
    try:
        return token.decode() > " "
    except UnicodeDecodeError:
        return False


def random_text(rng: random.Random, alphabet: list[bytes], tokens: list[bytes], most: int) -> bytes:
    blank = rng.random() * 0.5

    def some() -> bytes:
        if rng.random() < blank:
            return b" "
        return rng.choice([rng.choice(alphabet), rng.choice(tokens), rng.choice(alphabet) * rng.randint(1, 9)])

    return b"".join(some() for _ in range(rng.randint(1, most)))


def streamed(rng: random.Random, encoding: streamtok.Encoding, text: bytes) -> list[int]:
    stream, ids, at = encoding.stream_encoder(), [], 0
    while at < len(text):
        size = rng.choice([1, 2, 7, 60, 300])
        ids += stream.feed(text[at : at + size]).tolist()
        at += size
    return ids + stream.flush().tolist()


def test_any_list_of_merges_gives_the_ids_of_hugging_face():
    rng = random.Random("merges")
    kinds = set()
    for number in range(ROUNDS):
        vocab, merges, alphabet = random_model(rng)
        ignore, pattern = rng.random() < 0.5, rng.choice([None, patterns.R50K])
        want = theirs(vocab, merges, ignore, pattern)
        written = [" ".join(merge) for merge in merges] if rng.random() < 0.5 else merges
        packed = pack_merges(vocab, written, ignore_merges=ignore)
        fast, reference = build(packed, pattern=pattern), build(packed, "reference", pattern)
        kinds.add((fast._vocab.monotone, fast._vocab.unreachable > 0, list(packed.ranks) == sorted(packed.ranks)))
        tokens = [token for token in packed.tokens() if is_text(token)][-60:]
        for most in (3, 10, 10, 30, 200):
            text = random_text(rng, alphabet, tokens, most)
            ids = want.encode(text.decode()).ids
            facts = (number, ignore, pattern, merges, text)
            assert fast.encode_ordinary(text.decode()) == ids, facts
            assert reference.encode_ordinary(text.decode()) == ids, facts
            assert streamed(rng, fast, text) == ids, facts
            assert fast.decode_bytes(ids) == text, facts
        token = rng.choice(tokens)
        assert fast.encode_ordinary(token.decode()) == want.encode(token.decode()).ids
    assert len(kinds) >= 7  # of the 8 combinations of these facts


def aligned(image: bytes) -> mmap.mmap:
    memory = mmap.mmap(-1, len(image))
    memory.write(image)
    return memory


def bytes_and(*tokens: str) -> dict[str, int]:
    names = [*map(letters, BYTES), *tokens]
    return {name: number for number, name in enumerate(names)}


def test_token_that_no_merge_makes_is_decoded_only():
    vocab = bytes_and("ab", "abc")
    encoding = build(pack_merges(vocab, ["a b"]))
    assert encoding.encode_ordinary("abc") == [256, 99]
    assert encoding.decode([257]) == "abc"
    assert encoding._vocab.unreachable == 0  # so nothing is slower for it
    whole = build(pack_merges(vocab, ["a b"], ignore_merges=True))
    assert whole.encode_ordinary("abc") == [257]


def test_token_with_a_character_that_is_no_letter_is_decoded_only():
    vocab = bytes_and("ab", "a b", "<｜x｜>", " ")
    encoding = build(pack_merges(vocab, ["a b"], ignore_merges=True))
    assert encoding.encode_ordinary("a b") == theirs(vocab, [("a", "b")], True).encode("a b").ids
    assert encoding.decode([257]) == "a b"
    assert encoding.decode([258]) == "<｜x｜>"


def test_merge_with_a_token_that_is_not_in_letters_never_happens():
    vocab = bytes_and("｜", "a｜")
    assert build(pack_merges(vocab, [("a", "｜")])).encode_ordinary("a｜") == [97, 239, 189, 156]


@pytest.mark.parametrize(
    ("vocab", "merges", "says"),
    [
        (
            bytes_and("ab"),
            ["a b", "a c"],
            r"model.merges, entry 1, byte \d+: .* makes, what is no token",
        ),
        (bytes_and("ab"), [("a", "bb")], "model.merges, entry 0, .* what is no token"),
        (bytes_and("ab"), ["a b c"], "entry 0, .* a merge is not two tokens with a blank between them"),
        (bytes_and("ab"), ["ab"], "entry 0, .* a merge is not two tokens with a blank between them"),
        (bytes_and("ab"), [("a", "b", "c")], "entry 0, .* a merge is not made of two tokens"),
        (bytes_and("ab"), [7], "model.merges, entry 0, "),
        (bytes_and("ab"), [("a", 1)], "model.merges, entry 0, "),
        (bytes_and("ab"), ["a "], "entry 0, .* what is no token"),
        (bytes_and("ab"), ["#version: 0.2"], "entry 0, .* what is no token"),
        (bytes_and("ab") | {"x": True}, [], "model.vocab, entry 121, "),
        (bytes_and("ab") | {"x": -1}, [], "model.vocab, entry 121, .* no whole number"),
        (bytes_and("ab") | {"xy": 7}, [], "'ć' and 'xy' both have id 7; give each its own"),
        ({"a": 0, "b": 1}, [], "206 of the 256 single bytes are no tokens"),
        ({}, [], "there are no tokens"),
        (bytes_and("a" * 70_000), [], "65,?535"),
    ],
)
def test_damaged_model_is_refused_with_its_place(vocab, merges, says):
    with pytest.raises(VocabularyError, match=says):
        pack_merges(vocab, merges)


def test_encoding_of_merges_is_pickled_with_them():
    vocab = bytes_and("ab", "bc", "abc") | {"b": 9000}
    merges = ["b c", "a b", "a bc"]
    made = build(pack_merges(vocab, merges))
    text = "abcabab"
    ids = theirs(vocab, [tuple(merge.split()) for merge in merges]).encode(text).ids
    other = pickle.loads(pickle.dumps(made))
    assert other is made and other.encode_ordinary(text) == ids
    code = "import pickle, sys; print(pickle.loads(sys.stdin.buffer.read()).encode_ordinary('abcabab'))"
    run = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(made), capture_output=True, check=True)
    assert run.stdout.decode().strip() == str(ids)


def test_order_of_merges_is_part_of_the_fingerprint():
    vocab = bytes_and("ab", "bc", "abc")
    one = build(pack_merges(vocab, ["b c", "a b", "a bc"]))
    other = build(pack_merges(vocab, ["b c", "a b", "ab c"]))
    assert one.fingerprint != other.fingerprint
    assert one.fingerprint == build(pack_merges(vocab, [("b", "c"), ("a", "b"), ("a", "bc")])).fingerprint


def test_image_of_a_vocabulary_of_merges_gives_the_same_ids():
    rng = random.Random("image")
    for _ in range(10):
        vocab, merges, alphabet = random_model(rng)
        packed = pack_merges(vocab, merges, ignore_merges=rng.random() < 0.5)
        made = build_vocabulary(packed, {})
        opened = Vocab(None, None, None, None, {}, image=aligned(made.to_image()))
        assert (opened.unreachable, opened.highest_id) == (made.unreachable, made.highest_id)
        assert all(opened.token_bytes(number) == made.token_bytes(number) for number in vocab.values())
        text = random_text(rng, alphabet, packed.tokens(), 30)
        assert opened.merge(text) == made.merge(text)


# ==== Text that begins as characters ====


def random_characters(rng: random.Random):
    """(vocab, merges, characters that texts are made of): some of these are no tokens."""
    alphabet = rng.choice(["ab▁", "a▁é", "▁中丸乾a", "😀a▁é中"])
    pool = [character for character in alphabet if rng.random() < 0.8] or [alphabet[0]]
    merges = []
    for _ in range(rng.randint(0, 40)):
        left, right = rng.choice(pool), rng.choice(pool)
        if len(left + right) > rng.choice([3, 6, 12, 40]):
            continue
        merges.append((left, right))
        if left + right not in pool:
            pool.append(left + right)
    if rng.random() < 0.4:
        rng.shuffle(merges)
    if rng.random() < 0.3:
        merges = [(t[:i], t[i:]) for t in pool for i in range(1, len(t)) if t[:i] in pool and t[i:] in pool]
    names = ["<unk>", "<s>", "</s>", *BYTE_NAMES, *pool, "zz"]
    ids = range(len(names)) if rng.random() < 0.4 else rng.sample(range(5000), len(names))
    return dict(zip(names, ids, strict=True)), list(dict.fromkeys(merges)), alphabet + "丹😁\n!ß"


BYTE_NAMES = [f"<0x{value:02X}>" for value in range(256)]


def test_any_list_of_merges_of_characters_gives_the_ids_of_hugging_face():
    rng = random.Random("characters")
    fragments = 0
    for number in range(ROUNDS // 2):
        vocab, merges, alphabet = random_characters(rng)
        want = tokenizers.Tokenizer(
            tokenizers.models.BPE(vocab=vocab, merges=merges, byte_fallback=True, unk_token="<unk>", fuse_unk=True)
        )
        packed = pack_merges(vocab, merges, characters=True)
        fast, reference = build(packed), build(packed, "reference")
        fragments += fast._vocab.fragments
        assert fast.max_token_value == max(vocab.values())
        for most in (3, 10, 10, 30, 300):
            parts = [*alphabet, *(character * rng.randint(1, 5) for character in alphabet), *list(vocab)[259:]]
            text = "".join(rng.choices(parts, k=rng.randint(1, most)))
            ids = want.encode(text).ids
            facts = (number, merges, text)
            assert fast.encode_ordinary(text) == ids, facts
            assert reference.encode_ordinary(text) == ids, facts
            assert streamed(rng, fast, text.encode()) == ids, facts
            assert fast.count(text) == len(ids), facts
            assert fast.decode(ids) == text, facts
        assert fast.encode_with_offsets(text)[0].tolist() == ids
    assert fragments > ROUNDS // 4


def characters_and(*names: str) -> dict[str, int]:
    return {name: number for number, name in enumerate([*BYTE_NAMES, *names])}


def test_beginning_of_a_character_is_no_token():
    vocab = characters_and("中", "丸", "a")
    encoding = build(pack_merges(vocab, [], characters=True))
    assert encoding.encode_ordinary("中丹a") == [256, 0xE4, 0xB8, 0xB9, 258]  # 丹 begins as 中 does
    assert encoding._vocab.fragments == 1 and encoding.max_token_value == 258 and encoding.n_vocab == 259
    assert sorted(encoding.token_byte_values()) == sorted({*BYTES, "中".encode(), "丸".encode()})
    with pytest.raises(KeyError):
        encoding.decode([max(encoding._packed.ranks)])
    other = pickle.loads(pickle.dumps(encoding))
    assert other.encode_ordinary("丹") == [0xE4, 0xB8, 0xB9]


@pytest.mark.parametrize(
    ("vocab", "merges", "says"),
    [
        ({"a": 0}, [], "255 of the 256 tokens <0x00> to <0xFF> are missing, the first is <0x00>"),
        (
            characters_and("a", "a<0x41>"),
            [("a", "<0x41>")],
            r"merges\[0\]: 'a' and '<0x41>' are joined; tokens of bytes merge with nothing",
        ),
        (characters_and("a"), [("a", "b")], "model.merges, entry 0, .* what is no token"),
        (characters_and("a", "\ud800"), [], "surrogate"),
        (characters_and("a") | {"x": 1}, [], "'<0x01>' and 'x' both have id 1"),
        (characters_and("a") | {"x": 1.5}, [], "no whole number"),
    ],
)
def test_damaged_model_of_characters_is_refused_with_its_place(vocab, merges, says):
    with pytest.raises(VocabularyError, match=says):
        pack_merges(vocab, merges, characters=True)


def has_characters(path: pathlib.Path) -> bool:
    return not made_models.GIVEN or b'"byte_fallback": true' in path.read_bytes()[: 1 << 26]


CHARACTERS = list(filter(has_characters, made_models.files("characters")))


@pytest.mark.parametrize("path", CHARACTERS, ids=made_models.name_of)
def test_published_models_of_characters_have_the_ids_of_hugging_face(path):
    model = json.loads(made_models.ready(path).read_text("utf-8"))["model"]
    pairs = [tuple(merge.split(" ")) if isinstance(merge, str) else tuple(merge) for merge in model["merges"]]
    want = tokenizers.Tokenizer(
        tokenizers.models.BPE(vocab=model["vocab"], merges=pairs, byte_fallback=True, unk_token="<unk>", fuse_unk=True)
    )
    encoding = build(pack_merges(model["vocab"], model["merges"], characters=True))
    rng = random.Random(made_models.name_of(path))
    tokens = list(model["vocab"])
    samples = [" ".join(sys.modules), "▁" * 700 + "\n" * 500 + "=-" * 300 + "▁a" * 90]
    for _ in range(300):
        words = [rng.choice(tokens), rng.choice(tokens)[: rng.randint(1, 9)], chr(rng.randint(0xA0, 0xD7FF)), "▁", "😀"]
        samples.append("".join(rng.choices(words, k=rng.randint(1, 60))))
    for text in samples:
        ids = want.encode(text.replace(" ", "▁")).ids
        data = text.replace(" ", "▁").encode()
        assert encoding.encode_ordinary(data.decode()) == ids
        assert streamed(rng, encoding, data) == ids
