"""WordPiece on an emulated device, beside the CPU's ids."""

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
from streamtok.gpu import encoder
from streamtok.gpu._repair import form_of
from streamtok.gpu._slot import Slot
from streamtok.native.normal import Normalizer

pytest.importorskip("tokenizers", reason="Hugging Face's tokenizers makes the files")
import made_models
from small_models import Both, added

__all__ = ["devices"]  # a fixture

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ to compile the kernels for the CPU")

BERT = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
CASED = {**BERT, "lowercase": False}
NO_CHINESE = {**BERT, "handle_chinese_chars": False}

PARTS = [
    *("the ", " and", "  ", " ", "Hello", "WORLD ", "unaffable", "##ing", "a", ".", "...", "don't", "x" * 30, "123"),
    *("\n", "\t", "\r\n", "\u00a0", "\u3000", "\u2028", "\x07", "\x00", "\ufffd", "\u200b", "\u00ad", "é", "e\u0301"),
    *("中", "中文字", "한국어", "ÅNGSTRÖM ", "ß", "İ", "¡", "—", "ไทย", "क्षि", "😀"),
    *("[CLS]", "<s>", "[UNK]", "\u212a", "qzx "),
]  # fmt: skip


def model(folder: Any, normalizer: dict[str, Any] | None, **changes: Any) -> Encoding:
    made = made_models.wordpiece()
    made["normalizer"] = None if normalizer is None else {"type": "BertNormalizer", **normalizer}
    made["model"] |= changes
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(added(made, "<s>", special=True), ensure_ascii=False), encoding="utf-8")
    return Encoding.from_file(path)


def strings(seed: int, count: int) -> Iterator[bytes]:
    rng = random.Random(seed)
    yield from (b"", b"<s>", b"a", b" ", b"  ", b"ab\xffcd", b"caf\xc3", b" " * 700, b"q" * 700 + b" a", b"a " * 40)
    for _ in range(count):
        parts = rng.choice((PARTS, PARTS[:14]))
        yield "".join(rng.choice(parts) * rng.choice((1, 1, 1, 3, 9)) for _ in range(rng.randint(1, 14))).encode()


@pytest.mark.parametrize(
    ("normalizer", "changes"),
    [
        (BERT, {}),
        (CASED, {}),
        (NO_CHINESE, {}),
        (None, {}),
        (BERT, {"max_input_chars_per_word": 5}),
        ({**BERT, "clean_text": False, "strip_accents": True}, {}),
    ],
)
def test_ids(tmp_path: Any, normalizer: dict[str, Any] | None, changes: dict[str, Any]) -> None:
    check(model(tmp_path, normalizer, **changes), list(strings(len(str(normalizer)), 14)))


def test_words_that_come_again_are_learned(tmp_path: Any) -> None:
    """With and without a blank in front, of one id and of several, known and unknown."""
    enc, rng = model(tmp_path, BERT), random.Random(4)
    made = gpu.GpuEncoder(enc)
    words = ["".join(rng.choices("abcdefgh", k=rng.choice((2, 5, 12, 14, 15, 16, 40, 70, 110)))) for _ in range(60)]
    for _ in range(4):
        text = "".join(rng.choice(words) + rng.choice((" ", " ", "  ", ", ", "\n")) for _ in range(600)).encode()
        assert outcome(made.encode, text) == outcome(enc.encode_to_numpy, text)


def counted(monkeypatch: pytest.MonkeyPatch, *names: str) -> list[str]:
    """The names of methods of Slot that are called from here on."""
    ways: list[str] = []

    def count_calls(name: str) -> None:
        method = getattr(Slot, name)
        monkeypatch.setattr(Slot, name, lambda *given, **named: ways.append(name) or method(*given, **named))

    for name in names:
        count_calls(name)
    return ways


def test_a_short_text_is_mapped_by_its_launch(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Upper case, newlines and ideographs take no way of their own."""
    enc = model(tmp_path, BERT)
    ways = counted(monkeypatch, "short_to_host", "encode_host", "encode_on_cpu")
    filler = "Some Text\nAND\tmore: of it. 中文 " * 30
    for text, wanted in (filler, []), (filler + "é" + filler, ["short_to_host"]):
        ways.clear()
        assert enc.encode_to_numpy(text, device="cuda").tolist() == enc.encode_to_numpy(text).tolist()
        assert ways == wanted


def test_slices(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, enc = random.Random(9), model(tmp_path, BERT)
    text = "".join(rng.choice([*PARTS[:14], *["Plain words here, and there "] * 20]) for _ in range(9_000)).encode()
    text = b"\xc3\xa9".join((text[:70_001], text[70_001:]))  # an accent
    want = enc.encode_to_numpy(text, allowed_special="all").tolist()
    ways = counted(monkeypatch, "_repaired", "encode_on_cpu")
    assert gpu.GpuPipeline(enc, chunk_size=20_000).encode(text, allowed_special="all").tolist() == want
    assert ways == ["_repaired"]
    monkeypatch.setattr(encoder, "slice_for", lambda *given: 1 << 15)
    made = gpu.GpuEncoder(enc)
    there = made._device.put(np.frombuffer(text, np.uint8))
    assert outcome(made.encode, there, allowed_special="all") == [want]
    assert ways == ["_repaired"] * 2


def test_the_small_model_is_that_of_tokenizers(tmp_path: Any) -> None:
    model(tmp_path, BERT)
    Both(tmp_path / "tokenizer.json").check(
        [t.decode() for t in strings(5, 100) if b"\xff" not in t and b"f\xc3" not in t]
    )


def test_forms_of_characters() -> None:
    """What a normalizer makes of a character decides, and what it makes of that."""
    lower = form_of(Normalizer([("Lowercase",)]))
    assert lower is not None and lower.map is not None and chr(lower.map[ord("A")]) == "a" and lower.map[0] == 0
    assert lower.changes is not None and not lower.changes[:2].any()
    assert form_of(Normalizer([("Lowercase",), ("NFKC",)])) is None  # makes upper case of U+1D400
    assert form_of(Normalizer([("NFKC",), ("Lowercase",)])) is not None
    assert form_of(Normalizer([("Replace", "ab", "c")])) is None
