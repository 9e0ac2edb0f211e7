"""GPT-2's own files, vocab.bpe and encoder.json: read, compared with each other, refused when broken."""

import hashlib
import json

import pytest

from streamtok import load
from streamtok.bundled import gpt2_files, strict_json
from streamtok.errors import VocabularyError


def data_gym_files(tmp_path):
    """SMALL's merges as vocab.bpe and encoder.json; ranks of bytes in GPT-2's order: printing ones first."""
    letters = {letter: bytes([value]) for letter, value in gpt2_files.LETTERS.items()}
    encoder = {letter: rank for rank, letter in enumerate(letters)}
    encoder |= {"ab": 256, "abc": 257, "bc": 258, "<|endoftext|>": 259}
    (tmp_path / "vocab.bpe").write_text("#version: 0.2\na b\nab c\nb c\n")
    (tmp_path / "encoder.json").write_text(json.dumps(encoder))
    ranks = {letters[letter]: rank for letter, rank in encoder.items() if len(letter) == 1}
    return tmp_path / "vocab.bpe", tmp_path / "encoder.json", {**ranks, b"ab": 256, b"abc": 257, b"bc": 258}


def test_data_gym_files(tmp_path):
    vocab, encoder, ranks = data_gym_files(tmp_path)
    assert load.data_gym_to_mergeable_bpe_ranks(vocab, encoder) == ranks
    assert (ranks[b"!"], ranks[b"~"], ranks[b"\xa1"], ranks[b"\0"], ranks[b" "]) == (0, 93, 94, 188, 220)
    digest = hashlib.sha256(vocab.read_bytes()).hexdigest()
    assert load.data_gym_to_mergeable_bpe_ranks(vocab, encoder, digest) == ranks
    with pytest.raises(VocabularyError, match="sha256"):
        load.data_gym_to_mergeable_bpe_ranks(vocab, encoder, None, digest)


def test_data_gym_agrees_with_the_bundled_gpt2(tmp_path):
    """The bundled r50k_base was made from GPT-2's files: written back as such, it is read as itself."""
    packed = load.load_packed("r50k_base")
    letter_of = {value: letter for letter, value in gpt2_files.LETTERS.items()}
    names = ["".join(letter_of[value] for value in token) for token in packed.tokens()]
    merges = [f"{name[:s]} {name[s:]}" for name, s in zip(names, packed.splits) if s]
    (tmp_path / "vocab.bpe").write_text("\n".join(["#version: 0.2", *merges, ""]), encoding="utf-8")
    (tmp_path / "encoder.json").write_text(json.dumps(dict(zip(names, packed.ranks))))
    assert load.data_gym_to_mergeable_bpe_ranks(tmp_path / "vocab.bpe", tmp_path / "encoder.json") == packed.to_dict()
    published = "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"
    assert hashlib.sha256((tmp_path / "vocab.bpe").read_bytes()).hexdigest() == published


def test_data_gym_clobbers_single_bytes_on_demand(tmp_path):
    vocab, encoder, ranks = data_gym_files(tmp_path)
    swapped = {**json.loads(encoder.read_text()), "a": ranks[b"b"], "b": ranks[b"a"]}
    encoder.write_text(json.dumps(swapped))
    with pytest.raises(VocabularyError, match="give the two files of one release"):
        load.data_gym_to_mergeable_bpe_ranks(vocab, encoder)
    clobbered = load.data_gym_to_mergeable_bpe_ranks(vocab, encoder, clobber_one_byte_tokens=True)
    assert clobbered == {**ranks, b"a": ranks[b"b"], b"b": ranks[b"a"]}


@pytest.mark.parametrize("text", ["a b c", "a", "a \u4e2d", "a b\na b", "a\tb\n\nb c"])
def test_broken_merges_are_refused(tmp_path, text):
    vocab, encoder, _ = data_gym_files(tmp_path)
    vocab.write_text(f"#version: 0.2\n{text}\n", encoding="utf-8")
    with pytest.raises(VocabularyError) as caught:
        load.data_gym_to_mergeable_bpe_ranks(vocab, encoder)
    assert caught.value.path == str(vocab) and caught.value.line in (2, 3)


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"\xff", b'{"a": "b"}', b'{"\\u4e2d": 3}', b"[" * 100_000])
def test_broken_encoder_json_is_refused(tmp_path, text):
    vocab, encoder, _ = data_gym_files(tmp_path)
    encoder.write_bytes(text)
    with pytest.raises(VocabularyError) as caught:
        load.data_gym_to_mergeable_bpe_ranks(vocab, encoder)
    assert caught.value.path == str(encoder)


def test_each_byte_has_a_letter_of_its_own():
    assert sorted(gpt2_files.LETTERS.values()) == [*range(256)]


def test_a_number_may_have_as_many_digits_as_it_says():
    assert strict_json.parse("[1234]", 4) == [1234]
    with pytest.raises(strict_json.OddError, match="a number of 5 digits"):
        strict_json.parse("[12345]", 4)
