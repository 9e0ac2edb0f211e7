"""Compiled models (.stm): opened again they are the same encoding; damaged and hostile ones are refused or harmless."""

from __future__ import annotations

import json
import pathlib
import random
import struct

import compiled_kinds
import pytest
from cli_runs import run

import streamtok
from streamtok import Encoding, VocabularyError
from streamtok.model_files import compiled
from streamtok.native.checksum import sum64

pytest.importorskip("tokenizers", reason="Hugging Face's tokenizers is not installed")
pytest.importorskip("sentencepiece", reason="the package sentencepiece is not installed")


@pytest.fixture(scope="module", params=compiled_kinds.KINDS)
def encoding(request, tmp_path_factory) -> Encoding:
    return compiled_kinds.KINDS[request.param](tmp_path_factory.mktemp(request.param))


def opened(encoding: Encoding, folder: pathlib.Path, **options: bool) -> Encoding:
    encoding.compile(folder / "m.stm", **options)
    return Encoding.from_file(folder / "m.stm")


def test_what_is_opened_again_is_the_same(encoding, tmp_path):
    other = opened(encoding, tmp_path, words=False)
    assert (other.name, other.fingerprint, other.n_vocab) == (encoding.name, encoding.fingerprint, encoding.n_vocab)
    assert (other.prefix_ids, other.suffix_ids) == (encoding.prefix_ids, encoding.suffix_ids)
    assert other.pattern_engine == encoding.pattern_engine and other.get_vocab() == encoding.get_vocab()
    for text in compiled_kinds.texts(1, 60):
        for options in ({"allowed_special": "all"}, {"disallowed_special": (), "add_special_tokens": True}):
            try:
                ids = encoding.encode(text, **options)
            except ValueError as error:
                with pytest.raises(ValueError, match="the text holds what is no token of this vocabulary"):
                    other.encode(text, **options)
                assert "no token" in str(error)
                continue
            assert other.encode(text, **options) == ids
            assert other.decode(ids) == encoding.decode(ids) and other.decode_bytes(ids) == encoding.decode_bytes(ids)
        if isinstance(ids, list) and encoding._kind.name != "longest":
            one = encoding.encode_with_offsets(text, disallowed_special=())
            two = other.encode_with_offsets(text, disallowed_special=())
            assert [each.tolist() for each in one] == [each.tolist() for each in two]


def test_words_are_in_it_or_not(tmp_path):
    encoding = compiled_kinds.llama3(tmp_path)
    encoding.compile(tmp_path / "with.stm")
    encoding.compile(tmp_path / "without.stm", words=False)
    assert (tmp_path / "with.stm").stat().st_size > (tmp_path / "without.stm").stat().st_size + 500_000
    text = "hello hello the world 1234 " * 20
    assert Encoding.from_file(tmp_path / "with.stm").encode(text) == encoding.encode(text)


def test_chat_templates_go_with_it(tmp_path):
    encoding = compiled_kinds.llama3(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"chat_template": "{{ bos_token }}x", "bos_token": "<s>"})
    )
    encoding = Encoding.from_file(tmp_path / "tokenizer.json")
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    assert opened(encoding, folder, words=False).chat_template == encoding.chat_template == "{{ bos_token }}x"
    assert opened(compiled_kinds.ranks(tmp_path), folder, words=False).chat_template is None


def test_the_command(tmp_path):
    compiled_kinds.llama3(tmp_path)
    place = tmp_path / "tokenizer.json"
    done = run("compile", str(place), "-o", str(tmp_path / "m.stm"), "--no-words")
    assert done.stdout.endswith(f"MB in {tmp_path / 'm.stm'}\n")
    ids = run("encode", "-e", str(tmp_path / "m.stm"), "-t", "hello world").stdout
    assert ids == run("encode", "-e", str(place), "-t", "hello world").stdout
    run("compile", "-e", "r50k_base", "-o", str(tmp_path / "r.stm"))
    assert Encoding.from_file(tmp_path / "r.stm").fingerprint == streamtok.get_encoding("r50k_base").fingerprint
    assert (
        "FILE and --encoding each name an encoding"
        in run("compile", str(place), "-e", "r50k_base", "-o", str(tmp_path / "x.stm"), status=2).stderr
    )


# ==== What is refused ====


def test_encodings_that_only_this_package_has(tmp_path):
    tokens = {bytes([byte]): byte for byte in range(256)}
    by_regex = Encoding("x", pat_str=r"(?<=a.*)b|(?s:.)", mergeable_ranks=tokens, special_tokens={})
    assert by_regex.pattern_engine == "regex"
    with pytest.raises(VocabularyError, match=r"'x' cannot be compiled: its pattern goes through the package regex"):
        by_regex.compile(tmp_path / "x.stm")
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> bytes:
    encoding = compiled_kinds.names_with_rules(tmp_path_factory.mktemp("good"))
    return bytes(compiled.to_bytes(encoding, False))


def refused(path: pathlib.Path, data: bytes) -> str:
    path.write_bytes(data)
    with pytest.raises(VocabularyError) as caught:
        Encoding.from_file(path)
    return str(caught.value)


def signed(data: bytearray) -> bytes:
    data[16:24] = struct.pack("=Q", sum64(bytes(data[24:])))
    return bytes(data)


def test_messages_say_what_is_wrong(tmp_path, good):
    path = tmp_path / "m.stm"
    assert "cut off" in refused(path, good[:100]) and "checksum" in refused(path, good[:-64])
    assert "checksum" in refused(path, good + bytes(64))
    other = bytearray(good)
    other[8:12] = struct.pack("=I", 99)
    assert "another version of streamtok compiled it: compile it anew" in refused(path, signed(other))
    other[12:16] = struct.pack("=I", 0x04030201)
    assert "another byte order" in refused(path, signed(other))
    with pytest.raises(VocabularyError, match=r"normalizer= is for a \.gguf file"):
        path.write_bytes(good)
        Encoding.from_file(path, normalizer="NFC")


def test_any_changed_byte_is_noticed(tmp_path, good):
    rng = random.Random(2)
    for _ in range(40):
        data = bytearray(good)
        data[rng.choice([rng.randrange(8, 128), rng.randrange(128, len(data))])] ^= 1 << rng.randrange(8)
        if data != good:
            refused(tmp_path / "m.stm", bytes(data))


def test_hostile_files_are_refused_or_harmless(tmp_path, good):
    """With the checksums put right: of the file, and of the image in it."""
    rng = random.Random(3)
    path, opened_count = tmp_path / "m.stm", 0
    places = struct.unpack_from("=8Q", good, 48)
    for number in range(150):
        data = bytearray(good)
        start, size = places[2 * (number % 4) : 2 * (number % 4) + 2]
        for _ in range(rng.randrange(1, 4)):
            at = start + rng.randrange(size - 4)
            data[at : at + 4] = struct.pack("=I", rng.choice([0, 1, 2**31, 2**32 - 1, rng.randrange(2000)]))
        image = places[6]
        data[image + 16 : image + 24] = struct.pack("=Q", sum64(bytes(data[image + 24 :])))
        path.write_bytes(signed(data))
        try:
            other = Encoding.from_file(path)
        except (VocabularyError, ValueError):
            continue
        opened_count += 1
        for text in compiled_kinds.texts(number, 3):
            try:
                other.decode(other.encode(text, allowed_special="all"))
            except (ValueError, KeyError):
                pass
    assert opened_count
