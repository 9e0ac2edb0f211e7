"""Models from files on an emulated device: ids and errors are the CPU's, whatever the file says."""

from __future__ import annotations

import json
import random
import shutil
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from host_device import DeviceArray, HostDevice
from row_encodings import row_encoding
from row_texts import texts as row_texts

from streamtok import Encoding, gpu
from streamtok.gpu import _open, stream
from streamtok.gpu._fits import family_or_reason
from streamtok.gpu._shapes import Module
from streamtok.gpu._slot import Slot

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ to compile the kernels for the CPU")

OPTIONS: list[dict[str, Any]] = [
    {"allowed_special": "all"},
    {"disallowed_special": ()},
    {},
    {"allowed_special": {"<s>"}, "disallowed_special": (), "errors": "replace"},
]

# Text that normal forms change, text that looks as if they did, and names in and around it.
PARTS = [
    *("plain text ", "caf\u00e9 ", "cafe\u0301 ", "\u1100\u1161\u11a8", "\u0915\u093c", "\u212b ", "\ufb01", "\u2126"),
    *("q\u0323\u0307", "q\u0307\u0323", "\u0301", "<s>", "<s", "<think>", "\u0344", "12 345", "\n\n ", "'s", "\u0958"),
    *("A\u030a", "中文", "한국 "),
]  # fmt: skip


@pytest.fixture(autouse=True)
def devices(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: dict[str, HostDevice] = {}

    def open_device(family: str, ordinal: int, modules: tuple[Module, ...]) -> HostDevice:
        return opened.setdefault(family, HostDevice(family, ordinal, modules))

    monkeypatch.setattr(_open, "open_device", open_device)


def model(folder: Any, form: str | None = None, **changes: Any) -> Encoding:
    small_models = pytest.importorskip("small_models", reason="Hugging Face's tokenizers makes the files")
    made = small_models.record(**changes)
    made["normalizer"] = None if form is None else {"type": form}
    vocab = made["model"]["vocab"]
    for token in ("Ġqqq", "zzxz", "<unused>"):  # no merge makes these
        vocab[token] = len(vocab)
    made = small_models.added(made, "<s>", "</s>", special=True)
    made = small_models.added(made, "<think>", "éé", "hello")
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(made, ensure_ascii=False), encoding="utf-8")
    return Encoding.from_file(path)


def strings(seed: int, count: int) -> Iterator[bytes]:
    rng = random.Random(seed)
    yield from (b"", b"<s>", b"a", "\u0301".encode(), b"ab\xffcd", b"cafe\xcc")
    for _ in range(count):
        text = "".join(rng.choice(PARTS) * rng.choice((1, 1, 2, 12)) for _ in range(rng.randint(1, 12)))
        yield (unicodedata.normalize("NFC", text) if rng.random() < 0.4 else text).encode()


def outcome(call: Any, *arguments: Any, **options: Any) -> Any:
    try:
        result = call(*arguments, **options)
    except ValueError as error:
        return type(error), str(error)
    return [np.asarray(part).tolist() for part in (result if isinstance(result, tuple) else (result,))]


def check(enc: Encoding, many: list[bytes]) -> None:
    """Every way from text to ids on the device, against the CPU."""
    encoder = gpu.GpuEncoder(enc)
    for options in OPTIONS:
        for text in many:
            want = outcome(enc.encode_to_numpy, text, **options)
            assert outcome(encoder.encode, text, **options) == want, (text, options)
            assert outcome(enc.encode_to_numpy, text, **options, device="cuda") == want, (text, options)
            if text:
                there = HostDevice.put(HostDevice("r50k"), np.frombuffer(text, np.uint8)).view(DeviceArray)
                assert outcome(encoder.encode, there, **options) == want, (text, options)
        want = outcome(enc.encode_ragged, many[:4] + many[6:], **options)
        assert outcome(encoder.encode_batch, many[:4] + many[6:], **options) == want, options
        assert outcome(enc.encode_ragged, many[:4] + many[6:], **options, device="cuda") == want, options


@pytest.mark.parametrize("form", ["NFC", "NFKC", "NFD", "Lowercase", None])
def test_models_with_a_normalizer(tmp_path: Any, form: str | None) -> None:
    check(model(tmp_path, form), list(strings(31, 16)))


def test_texts_that_a_normalizer_changes_are_replaced(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are encoded with the others in one launch, unless a name stands in a text, before or after."""
    enc, rng = model(tmp_path, "NFC"), random.Random(36)
    ways: list[str] = []

    def count_calls(name: str) -> None:
        method = getattr(Slot, name)
        monkeypatch.setattr(Slot, name, lambda *given, **named: ways.append(name) or method(*given, **named))

    def check_ids(texts: list[Any], *wanted: str) -> None:
        want = outcome(enc.encode_ragged, texts, allowed_special="all")
        ways.clear()
        assert outcome(enc.encode_ragged, texts, allowed_special="all", device="cuda") == want
        assert [way for way in ways if way != "short_to_host"] == list(wanted)

    count_calls("encode_host")
    count_calls("_repaired")
    count_calls("short_to_host")
    for text in ("plain text caf\u00e9", "caf\u00e9 한국".encode(), "cafe\u0301", b"cafe\xcc\x81"):
        ways.clear()
        assert enc.encode_to_numpy(text, device="cuda").tolist() == enc.encode_to_numpy(text).tolist()
        is_normal = "\u0301" not in (text if isinstance(text, str) else text.decode())
        assert ways == ([] if is_normal else ["short_to_host"])
    kinds = ["plain text ", "caf\u00e9 ", "cafe\u0301 ", "\u212b and \u2126 ", "한국 ", "\u1100\u1161\u11a8 "]
    for count in (1, 2, 9, 200):
        texts: list[Any] = ["".join(rng.choices(kinds, k=rng.randint(0, 30))) for _ in range(count)]
        texts[0] += kinds[2]
        texts[1::3] = [text.encode() for text in texts[1::3]]
        check_ids(texts)
    check_ids(["caf\u00e9 <s>", "cafe\u0301"], "encode_host", "_repaired")
    check_ids(["cafe\u0301 <s>", "cafe\u0301"], "encode_host", "_repaired")
    check_ids(["e\u0301e\u0301 text", "plain"], "encode_host", "_repaired")  # normalized, it holds a name
    check_ids([b"cafe\xcc\x81", b"caf\xe9"], "encode_host")  # not UTF-8


@pytest.mark.parametrize("ignore", [False, True])
def test_tokens_that_no_merge_makes(tmp_path: Any, ignore: bool) -> None:
    """With ignore_merges they are found as whole pieces, else never."""
    words = [b"qqq qqq", b" qqq", b"zzxz", b"zzxz1 zzxz", b"a <unused>", b" qqq qqq hello zzxz" * 40]
    check(model(tmp_path, model_ignore_merges=ignore), [*strings(32, 2), *words])


def test_a_byte_that_is_no_token_is_the_error_of_the_core(tmp_path: Any) -> None:
    """In a word, as a piece by itself, and among texts that are learned."""
    small_models = pytest.importorskip("small_models", reason="Hugging Face's tokenizers makes the files")
    made = small_models.record()
    letters = [chr(0x100 + byte) for byte in (0x03, 0x0B)]  # as GPT-2 writes them
    made["model"]["vocab"] = {name: i for i, name in enumerate(made["model"]["vocab"]) if not set(letters) & set(name)}
    made["model"]["merges"] = [pair for pair in made["model"]["merges"] if not set(letters) & set("".join(pair))]
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(made, ensure_ascii=False), encoding="utf-8")
    enc = Encoding.from_file(path)
    assert family_or_reason(enc)[0] is not None
    for text in ("\x03", "\x03\x0b", "hello \x03 there", "a\x0b", "ha" * 60 + "\x03", "hello there " * 200 + "\x0b"):
        want = outcome(enc.encode_to_numpy, text)
        assert want[0] is ValueError and outcome(enc.encode_to_numpy, text, device="cuda") == want
        want = outcome(enc.encode_ragged, ["hello there", text, "a"])
        assert outcome(enc.encode_ragged, ["hello there", text, "a"], device="cuda") == want
    assert enc.encode_to_numpy("hello there", device="cuda").tolist() == enc.encode("hello there")


def test_ids_that_are_not_ranks(tmp_path: Any) -> None:
    small_models = pytest.importorskip("small_models", reason="Hugging Face's tokenizers makes the files")
    made, rng = small_models.record(), random.Random(33)
    names = list(made["model"]["vocab"])
    made["model"]["vocab"] = dict(zip(names, rng.sample(range(5 * len(names)), len(names))))
    rng.shuffle(made["model"]["merges"])
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(made, ensure_ascii=False), encoding="utf-8")
    check(Encoding.from_file(path), list(strings(34, 12)))


@pytest.mark.parametrize("form", ["NFC", None])
def test_streams_of_models(tmp_path: Any, form: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "BATCH", 3000)
    enc, rng = model(tmp_path, form), random.Random(35)
    for _ in range(2):
        data = b" then ".join(
            text for text in strings(rng.randrange(1000), 40) if b"\xff" not in text and text[-1:] != b"\xcc"
        )
        want = enc.encode_to_numpy(data, allowed_special="all")
        for device in ("cuda", "auto"):
            running = enc.stream_encoder(allowed_special="all", device=device)
            cuts = [0, *sorted(rng.sample(range(len(data)), 9)), len(data)]
            ids = [token for a, b in pairwise(cuts) for token in running.feed(data[a:b]).tolist()]
            assert ids + running.flush().tolist() == want.tolist()


def test_rows_without_a_machine_in_calls_and_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of the pattern comes to the device with the vocabulary, and long texts are cut by it."""
    monkeypatch.setattr(stream, "BATCH", 3000)
    enc, rng = row_encoding("deepseek_v3"), random.Random(36)
    encoder = gpu.GpuEncoder(enc)
    encoder._slice = 4096
    for text in (*row_texts(37, 8), "".join(row_texts(38, 20))):
        want = enc.encode_to_numpy(text)
        np.testing.assert_array_equal(encoder.encode(text), want)
        np.testing.assert_array_equal(enc.encode_to_numpy(text, device="cuda"), want)
        running, at, ids = enc.stream_encoder(device="cuda"), 0, []
        while at < len(text):
            size = rng.choice((1, 50, 3000))
            ids += running.feed(text[at : at + size]).tolist()
            at += size
        assert ids + running.flush().tolist() == want.tolist()


def test_encodings_that_no_kernel_serves_go_to_the_cpu(tmp_path: Any) -> None:
    """By name and by "auto"; a GpuEncoder refuses them, and says why."""
    small_models = pytest.importorskip("small_models", reason="Hugging Face's tokenizers makes the files")
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(small_models.added(small_models.record(), "<x>", lstrip=True)), encoding="utf-8")
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256}
    regex = Encoding("own", pat_str=r"\w+(?=ab)|(?s:.)", mergeable_ranks=ranks, special_tokens={})
    left_out = Encoding("letters", pat_str=r"\w+", mergeable_ranks=ranks, special_tokens={})
    for enc, reason in ((Encoding.from_file(path), "lstrip"), (regex, "no kernels"), (left_out, "no kernels")):
        for device in ("cuda", "auto"):
            assert enc.encode_to_numpy("ab <x>!" * 10, device=device).tolist() == enc.encode("ab <x>!" * 10)
        with pytest.raises(ValueError, match=reason):
            gpu.GpuEncoder(enc)
        with pytest.raises(ValueError, match=reason):
            gpu.GpuPipeline(enc)


def test_vocabularies_without_bytes_that_no_text_has(tmp_path):
    """GPT-NeoX has such a vocabulary. Here steps behind ByteLevel keep merges from happening, too, as in Falcon."""
    small_models = pytest.importorskip("small_models", reason="Hugging Face's tokenizers makes the files")
    made = small_models.record(normalizer=None)
    vocab = made["model"]["vocab"]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    digits = {"type": "Digits", "individual_digits": True}
    made["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [level, digits]}
    shown = [byte for byte in range(256) if chr(byte).isprintable() and byte != 32]
    never = {chr(byte) for byte in (0xC0, 0xC1, *range(0xF5, 0x100)) if byte in shown}
    made["model"]["vocab"] = {name: i for i, name in enumerate(name for name in vocab if name not in never)}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(small_models.added(made, "<s>", special=True), ensure_ascii=False), encoding="utf-8")
    enc = Encoding.from_file(path)
    assert enc._vocab.fragments == len(never) > 10
    check(enc, ["é ü в 12²3 hello <s> òa".encode(), *strings(11, 6)])
