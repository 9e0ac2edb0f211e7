"""Models of characters on an emulated device: blanks and marks, tokens of bytes, names that stay in the text, beside
the CPU's ids, which are those of Hugging Face's tokenizers (tests/models/test_character_models.py)."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from test_gpu_models import check, devices, outcome

from streamtok import Encoding, gpu
from streamtok.gpu import _repair, encoder
from streamtok.gpu._respelled import respelled
from streamtok.gpu._slot import Slot
from streamtok.gpu._special_tokens import KeptNames

pytest.importorskip("tokenizers", reason="Hugging Face's tokenizers makes the files")
from character_models import LLAMA, PREPEND, REPLACE, record, sequence, split
from small_models import Both, added

__all__ = ["devices"]  # a fixture

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ to compile the kernels for the CPU")

RUNS = [*("\n" * size for size in range(1, 5)), "▁▁", "▁▁▁", "<b>"]

PARTS = [
    *("plain text ", " the", "  ", " ", "東京 ", "ö", "é", "한국", "😀", "\u0344", "▁", "▁the", "▁▁▁"),
    *("<s>", "<s", "<b>"),
    *("\n", "\n\n\n", "\n" * 9, "\t\t", "-" * 30, "hello ", "don't", "1234", "=", "<0x41>", "\ue000", "a\u0301"),
]  # fmt: skip


def model(folder: Any, names: list[str], **changes: Any) -> Encoding:
    """As Gemma 3: a blank becomes a mark, and runs of newlines are tokens and names."""
    made = record(**changes)
    vocab, merges = made["model"]["vocab"], made["model"]["merges"]
    vocab.setdefault("\n", len(vocab))
    for left, right in ("\n", "\n"), ("\n\n", "\n\n"), ("\n\n", "\n"):
        vocab.setdefault(left + right, len(vocab))
        merges.append([left, right])
    made = added(added(made, "<s>", "</s>", special=True), *names)
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(made, ensure_ascii=False), encoding="utf-8")
    return Encoding.from_file(path)


def strings(seed: int, count: int) -> Iterator[bytes]:
    rng = random.Random(seed)
    yield from (b"", b"<s>", b"a", b" ", "▁".encode(), b"ab\xffcd", b"x" * 700 + b" \n" + "ö".encode() * 400)
    for _ in range(count):
        yield "".join(rng.choice(PARTS) * rng.choice((1, 1, 2, 12)) for _ in range(rng.randint(1, 14))).encode()


@pytest.mark.parametrize(
    ("names", "changes"),
    [
        (RUNS, {}),
        ([], {}),
        (["\n", "\n\n\n"], {}),
        ([" b", "x\n"], {}),
        (RUNS, LLAMA),
        ([" b", "<b>"], LLAMA),
        (RUNS, {"normalizer": sequence("normalizers", REPLACE, PREPEND)}),
        (RUNS, {"normalizer": sequence("normalizers", {"type": "NFKC"}, REPLACE)}),
        ([], {"normalizer": None}),
        ([], {"normalizer": None, "pre_tokenizer": split("Isolated", Regex=r"\p{L}+")}),
    ],
)
def test_ids(tmp_path: Any, names: list[str], changes: dict[str, Any]) -> None:
    check(model(tmp_path, names, **changes), list(strings(len(names), 14)))


def test_the_small_model_is_that_of_tokenizers(tmp_path: Any) -> None:
    model(tmp_path, RUNS)
    texts = [text.decode() for text in strings(5, 200) if b"\xff" not in text]
    Both(tmp_path / "tokenizer.json").check(texts)


def test_a_text_is_encoded_as_it_lies_there(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blanks and runs of newlines take no way of their own; a mark is repaired, and a long run cut out."""
    enc = model(tmp_path, RUNS)
    ways: list[str] = []

    def count_calls(owner: Any, name: str) -> None:
        method = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *given, **named: ways.append(name) or method(*given, **named))

    for name in ("encode_on_cpu", "_cut", "_repaired", "encode_host"):
        count_calls(Slot, name)
    filler = "some text\n\nand more of it " * 30
    for text, wanted in [
        (filler, []),
        (filler + "\n" * 4 + filler, []),
        (filler + "▁" + filler, ["encode_host", "_cut", "_repaired"]),
        (filler + "\n" * 5 + filler, ["encode_host", "_cut", "_repaired"]),
        (filler + "<b>" + filler, ["encode_host", "_cut", "_repaired"]),
    ]:
        ways.clear()
        assert enc.encode_to_numpy(text, device="cuda").tolist() == enc.encode_to_numpy(text).tolist()
        assert ways == wanted, text[600:]


def test_texts_are_cut_where_nothing_depends_on_it(tmp_path: Any) -> None:
    """Also beside marks, newlines and names; and not at all where texts get a mark in front."""
    rng = random.Random(8)
    enc, fronted = model(tmp_path, RUNS), model(tmp_path, RUNS, **LLAMA)
    for each in (enc, fronted):
        names = KeptNames(each).of(each._matchers_for("all", ()))
        own = respelled(each)
        assert own is not None and bool(own.front) == (each is fronted) == names.keep_whole
        count = 0
        for _ in range(30):
            text = "".join(rng.choice(PARTS) for _ in range(4_000)).encode()
            for at in names.cuts(text, 500):
                count += 1
                left, right = (side.decode(errors="ignore").encode() for side in (text[at - 300 : at], text[at:][:300]))
                parts = [each.encode_to_numpy(part, allowed_special="all").tolist() for part in (left, right)]
                assert each.encode_to_numpy(left + right, allowed_special="all").tolist() == parts[0] + parts[1]
        assert (count > 100) == (each is enc)


def test_slices(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long texts of many slices, from the host and on the device; marks that are repaired in several windows."""
    rng = random.Random(9)
    for changes in ({}, LLAMA):
        enc = model(tmp_path, RUNS, **changes)
        with_mark = "▁" in "".join(PARTS)
        assert with_mark
        text = "".join(rng.choice([*PARTS, *["plain words here, and there "] * 20]) for _ in range(9_000)).encode()
        want = enc.encode_to_numpy(text, allowed_special="all").tolist()
        monkeypatch.setattr(_repair, "_AROUND", 16)
        pipeline = gpu.GpuPipeline(enc, chunk_size=20_000)
        assert pipeline.encode(text, allowed_special="all").tolist() == want
        monkeypatch.setattr(encoder, "slice_for", lambda *given: 1 << 15)
        made = gpu.GpuEncoder(enc)
        assert outcome(made.encode, text, allowed_special="all") == [want]
        there = made._device.put(np.frombuffer(text, np.uint8))
        assert outcome(made.encode, there, allowed_special="all") == [want]
