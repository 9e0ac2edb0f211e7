"""Small tokenizer.json files, made with Hugging Face's tokenizers, and comparisons with it."""

from __future__ import annotations

import copy
import functools
import json
import pickle
import random
from array import array
from itertools import pairwise
from typing import Any

import nasty
import pytest
from english import ENGLISH

from streamtok import Encoding, VocabularyError

tokenizers = pytest.importorskip("tokenizers", reason="Hugging Face's tokenizers is not installed")
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers  # noqa: E402

TEXT = [
    *ENGLISH[:100_000].decode("latin-1").splitlines(),
    "don't we'll I'M 1234567 a1b22 x = [1, 2];\n\n\treturn  y  \n",
    "Größe über 東京 東京都 नमस्ते café <x> <y> hello hello",
]


@functools.cache
def _trained(size: int) -> str:
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tok.train_from_iterator(TEXT, trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False))
    return str(tok.to_str())


def record(size: int = 420, **changes: Any) -> dict[str, Any]:
    """A tokenizer.json with byte-level BPE; changes: other values of its members, those of `model` as model_NAME."""
    made: dict[str, Any] = json.loads(_trained(size))
    for name, value in changes.items():
        (made["model"] if name.startswith("model_") else made)[name.removeprefix("model_")] = copy.deepcopy(value)
    return made


def added(made: dict[str, Any], *contents: str, **flags: bool) -> dict[str, Any]:
    """The same with further added tokens, whose ids are those that tokenizers gives."""
    taken = max([len(made["model"]["vocab"]) - 1, *(token["id"] for token in made["added_tokens"])])
    base = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    for content in contents:
        known = made["model"]["vocab"].get(content)
        if known is None:
            taken += 1
        made["added_tokens"].append({"id": taken if known is None else known, "content": content, **base, **flags})
    return made


class Both:
    """An encoding from a file, and the reference."""

    def __init__(self, path: Any) -> None:
        self.enc = Encoding.from_file(path)
        self.reference = Tokenizer.from_file(str(path))

    @classmethod
    def of(cls, folder: Any, made: dict[str, Any]) -> Both:
        path = folder / "tokenizer.json"
        path.write_text(json.dumps(made, ensure_ascii=False), encoding="utf-8")
        return cls(path)

    @functools.cached_property
    def lacking(self) -> set[int]:
        """Bytes without tokens: a text with one of them is an error."""
        if self.enc._model.parts.decoder_rules is not None:
            return set()
        return {byte for byte in range(256) if self.enc._vocab.find(bytes([byte])) is None}

    def has_ids(self, text: str) -> bool:
        return not self.lacking or self.lacking.isdisjoint(text.encode())

    def check(self, texts: list[str], seed: int = 0) -> None:
        """Ids, whole and cut at random places, and the text of ids again, of texts that have ids."""
        rng = random.Random(seed)
        for text in filter(self.has_ids, texts):
            ids = self.reference.encode(text, add_special_tokens=False).ids
            assert self.enc.encode(text, allowed_special="all") == ids, text
            assert self.streamed(text, rng) == ids, text
            for skip in (False, True):
                decoded = self.reference.decode(ids, skip_special_tokens=skip)
                assert self.enc.decode(ids, skip_special_tokens=skip) == decoded, text

    def check_rows(self, some: list[int], seed: int = 1, count: int = 300) -> None:
        """The text of random ids, many of them of `some`: at once, in parts, of streams that are copied, in batches."""
        rng, enc = random.Random(seed), self.enc
        size = self.reference.get_vocab_size()
        for _ in range(count):
            row = [rng.choice(some) if rng.random() < 0.7 else rng.randrange(size) for _ in range(rng.randrange(12))]
            for skip in (False, True):
                text = self.reference.decode(row, skip_special_tokens=skip)
                assert enc.decode(row, skip_special_tokens=skip) == text, row
                decoder, parts = enc.stream_decoder(skip_special_tokens=skip), []
                for token in row:
                    parts.append(decoder.feed(token))
                    if rng.random() < 0.2:
                        decoder = rng.choice([copy.copy, lambda d: pickle.loads(pickle.dumps(d))])(decoder)
                assert "".join(parts) + decoder.flush() == text, row
                assert "".join(enc.decode_batch([row], skip_special_tokens=skip)) == text
            data = enc.decode_bytes(row)
            assert b"".join(enc.decode_tokens_bytes(row)) == data
            if enc._rule_decoder is not None and enc._rule_decoder.looks_back:
                continue
            assert enc.decode_bytes(row[:3]) + enc._bytes_of(array("I", row[3:]), True) in (data, data.lstrip(b" "))

    def streamed(self, text: str, rng: random.Random) -> list[int]:
        stream = self.enc.stream_encoder(allowed_special="all")
        cuts = sorted({0, len(text), *(rng.randrange(len(text) + 1) for _ in range(rng.randrange(4)))})
        ids = [token for a, b in pairwise(cuts) for token in stream.feed(text[a:b]).tolist()]
        return ids + stream.flush().tolist()


def texts(seed: int, count: int, *more: str) -> list[str]:
    """Random strings over a nasty alphabet, with these strings in it."""
    alphabet = [
        *"'sStTlLrReEdm aAbB  \n\n\r\t1129!./-_<>",
        "é",
        "中",
        "あ",
        "\u0301",
        "😀",
        "\u2028",
        "²",
        *(more * 3),
        "hello",
    ]
    return ["", *more, *nasty.random_strings(random.Random(seed), count, 12, alphabet)]


LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""The pattern of Llama 3."""


def split_by(pattern: str) -> dict[str, Any]:
    """A pre-tokenizer that splits by a pattern."""
    step = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return {"type": "Sequence", "pretokenizers": [step, level]}


TOKENS = {name: {"id": name, "ids": [number], "tokens": [name]} for number, name in enumerate(("<s>", "</s>"), 5)}
BOS, TEXT_STEP, EOS = (
    {kind: {"id": name, "type_id": 0}}
    for kind, name in (("SpecialToken", "<s>"), ("Sequence", "A"), ("SpecialToken", "</s>"))
)


def template(*single):
    return {"type": "TemplateProcessing", "single": list(single), "pair": [], "special_tokens": TOKENS}


def refusal(tmp_path, made: object) -> str:
    path = tmp_path / "tokenizer.json"
    path.write_text(made if isinstance(made, str) else json.dumps(made, ensure_ascii=False), encoding="utf-8")
    with pytest.raises(VocabularyError) as caught:
        Encoding.from_file(path)
    assert caught.value.path == str(path)
    return caught.value.reason
