"""Normal forms on an emulated device: what the kernel doubts, what the host normalizes, and ids beside the CPU's."""

from __future__ import annotations

import random
import shutil
import unicodedata
from typing import Any

import numpy as np
import oracle
import pytest
from emulated import at_the_end_of_memory, engine_on
from host_device import DeviceArray, HostDevice
from normal_strings import HANGUL, INDIC, LATIN, MARKS, random_string
from test_gpu_models import devices, model, outcome

from streamtok import gpu
from streamtok.gpu import _base_engine, _repair, pipeline
from streamtok.gpu._engine import Engine
from streamtok.gpu._errors import NotNormal, Unusable
from streamtok.gpu._lane import Lane
from streamtok.gpu._repair import form_of, repaired
from streamtok.gpu._text import DeviceText, pack
from streamtok.gpu._waiting import complete
from streamtok.native.normal import FORMS, Normalizer
from streamtok.native.prepared import changed, mended
from streamtok.patterns.engine import kernels_of

__all__ = ["devices"]  # a fixture

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ to compile the kernels for the CPU")

TWICE = 10 if oracle.LONG else 1


class Subject:
    """The kernels of a form, run on the CPU."""

    def __init__(self, name: str) -> None:
        encoding = oracle.named("cl100k_base")
        self.name, self.normalizer = name, Normalizer([(name,)])
        self.device = HostDevice(kernels_of(encoding._pat_str))
        self.engine: Engine = engine_on(self.device, encoding)
        self.engine._form = form_of(self.normalizer)

    def packed(self, texts: list[bytes]) -> tuple[Any, Any, Any, DeviceText]:
        """(source, starts, sizes, the texts laid out)."""
        sizes = np.array([len(text) for text in texts], np.uint64)
        starts = np.cumsum(sizes) - sizes
        source = self.device.put(np.frombuffer(b"".join(texts) + b" ", np.uint8))
        return source, starts, sizes, pack(self.device, source, starts, sizes, np.arange(len(texts)))

    def doubts(self, text: DeviceText, trusted: bool = True) -> list[int]:
        return complete(self.engine.looking(text, trusted, None))[2].tolist()

    def is_changed(self, text: bytes) -> bool:
        """By the quick check of the CPU."""
        return bool(changed(text, np.zeros(1, np.int64), np.array([len(text)]), self.normalizer, True, 0, 1))

    def normal(self, text: bytes) -> bytes:
        return self.normalizer.normalize(text.decode()).encode()


@pytest.fixture(scope="module", params=list(FORMS))
def subject(request: pytest.FixtureRequest) -> Subject:
    return Subject(request.param)


def some_text(rng: random.Random, form: str, parts: int) -> str:
    """Random strings, most of them normal, behind a stretch that moves them against the borders of blocks."""
    text = "ab, é" * rng.randrange(20)
    for _ in range(parts):
        part = random_string(rng)
        text += unicodedata.normalize(form, part) if rng.random() < 0.8 else part
        text += rng.choice(["", " ", "plain text " * rng.randrange(12), "中文" * rng.randrange(30)])
    return text


def test_what_is_doubted_is_what_the_cpu_doubts(subject: Subject) -> None:
    """Of each text of a batch: in a block with a doubt or behind it, if there is one, and nowhere else."""
    rng = random.Random(subject.name)
    for _ in range(30 * TWICE):
        texts = [some_text(rng, subject.name, rng.choice((0, 1, 1, 1, 3))).encode() for _ in range(40)]
        laid_out = subject.packed(texts)[3]
        blocks = np.cumsum([0, *(-(-len(text) // 64) for text in texts)])
        found = {int(np.searchsorted(blocks, doubt, "right")) - 1 for doubt in subject.doubts(laid_out)}
        assert found == {i for i, text in enumerate(texts) if subject.is_changed(text)}


def test_the_first_doubt_is_where_the_cpu_has_its_own(subject: Subject) -> None:
    """One text of many blocks: what stands in front of the first doubtful block is normal, and with that block not."""
    rng = random.Random(subject.name + "first")
    for _ in range(60 * TWICE):
        data = some_text(rng, subject.name, 6).encode()
        if not data:
            continue
        there = DeviceText(at_the_end_of_memory(data), len(data))
        doubts = subject.doubts(there)
        assert bool(doubts) == subject.is_changed(data)
        for doubt in doubts[:1]:
            front, behind = (data[: 64 * at].decode(errors="ignore").encode() for at in (doubt, doubt + 1))
            assert not subject.is_changed(front)
            rest = data[len(behind) :].decode()[:1]
            assert subject.is_changed(behind + rest.encode())


def test_marks_at_the_borders_of_blocks(subject: Subject) -> None:
    """A character and what stands behind it on both sides of a border, cut at each of their bytes."""
    rng = random.Random(subject.name + "borders")
    pools = [LATIN + MARKS, HANGUL, INDIC + MARKS, MARKS]
    for _ in range(12 * TWICE):
        texts = []
        for _ in range(64):
            pair = "".join(rng.choices(rng.choice(pools), k=rng.choice((2, 2, 3, 4))))
            texts.append(("x" * rng.randint(52, 66) + pair + "y" * rng.choice((0, 1, 70))).encode())
        laid_out = subject.packed(texts)[3]
        blocks = np.cumsum([0, *(-(-len(text) // 64) for text in texts)])
        found = {int(np.searchsorted(blocks, doubt, "right")) - 1 for doubt in subject.doubts(laid_out)}
        assert found == {i for i, text in enumerate(texts) if subject.is_changed(text)}


def test_a_mark_that_begins_a_text_stands_behind_nothing(subject: Subject) -> None:
    """Though the text in front of it fills its last block, and ends with what the mark would compose with."""
    marks = ["\u0301", "\u0323", "\u1161", "\u11a8", "\u3099"]
    fronts = ["x" * (64 - len(end.encode())) + end for end in ("e", "q\u0307", "\u1100", "\uac00", "\u304b")]
    texts = [text.encode() for front in fronts for mark in marks for text in (front, mark + "x")]
    laid_out = subject.packed(texts)[3]
    assert subject.doubts(laid_out) == [i for i, text in enumerate(texts) if subject.is_changed(text)]


def test_texts_are_repaired(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    """All texts of a batch, put together anew, are what the CPU makes of them; and so is one text."""
    rng = random.Random(subject.name + "repaired")
    for around in (4, 16, 128) * TWICE:
        monkeypatch.setattr(_repair, "_AROUND", around)
        made = refused = 0
        for _ in range(25):
            count = rng.choice((1, 1, 2, 20))
            texts = [some_text(rng, subject.name, rng.choice((0, 1, 3, 9))).encode() for _ in range(count)]
            source, starts, sizes, laid_out = subject.packed(texts)
            if not sizes.any():
                continue
            blocks = np.cumsum([0, *(-(-len(text) // 64) for text in texts)])
            doubts = np.array(subject.doubts(laid_out), np.int64)
            text_of = np.searchsorted(blocks, doubts, "right") - 1
            first = starts[text_of].astype(np.int64) + 64 * (doubts - blocks[text_of])
            last = np.minimum(first + 64, (starts + sizes)[text_of].astype(np.int64))
            try:
                lane = Lane(subject.device)
                anew = complete(repaired(lane, source, (starts, sizes), (first, last), subject.normalizer))
            except NotNormal:
                refused += 1
                continue
            made += len(doubts) > 0
            bytes_of = bytes(np.asarray(anew[0]))
            found = [bytes_of[a : a + n] for a, n in zip(anew[1].tolist(), anew[2].tolist())]
            assert found == [subject.normal(text) for text in texts]
        assert made > 5 or around < 128
        assert refused or around > 4


def test_text_that_is_not_utf8_stays_in_memory(subject: Subject) -> None:
    """Whatever the bytes are, nothing outside the text is read, and the check refuses it."""
    rng = random.Random(subject.name + "broken")
    for _ in range(60 * TWICE):
        data = bytearray(some_text(rng, subject.name, 2).encode() or b"a")
        for _ in range(rng.randint(1, 9)):
            data[rng.randrange(len(data))] = rng.choice((0x80, 0xBF, 0xCC, 0xE1, 0xF0, 0xFF, 0x41))
        data += rng.choice((b"", b"\xcc", b"\xe1\x84", b"\x81" * 70))
        there = DeviceText(at_the_end_of_memory(bytes(data)), len(data))
        try:
            bytes(data).decode()
        except UnicodeDecodeError:
            with pytest.raises(Unusable):
                subject.doubts(there, trusted=False)
        else:
            assert bool(subject.doubts(there, trusted=False)) == subject.is_changed(bytes(data))


def test_runs_that_are_longer_than_their_window() -> None:
    nfc = Normalizer([("NFC",)])
    text = "a\u0301\u0323b\u0301c".encode()

    def windows(*rows: tuple[int, ...]) -> np.ndarray:
        return np.array(rows, np.int64)

    assert mended(text, windows((0, 2, 3, 9, 3)).ravel(), nfc) == (
        "\u1ea1\u0301".encode(),
        np.array([0, 5, 5], np.int64).tobytes(),
    )
    assert mended(text, windows((1, 2, 3, 9, 2)).ravel(), nfc) is None  # where it begins is not known
    assert mended(text, windows((0, 2, 3, 5, 1)).ravel(), nfc) is None  # where it ends
    with pytest.raises(IndexError):
        mended(text, windows((0, 2, 3, 99, 1)).ravel(), nfc)


# ---- models ----

OPTIONS: list[dict[str, Any]] = [{"allowed_special": "all"}, {"disallowed_special": ()}, {}]
NAMES = ["<s>", "<think>", "éé", "hello", "<s"]


def on_device(text: str) -> DeviceArray:
    return HostDevice("r50k").put(np.frombuffer(text.encode(), np.uint8)).view(DeviceArray)


def with_names(rng: random.Random, form: str) -> str:
    parts = [some_text(rng, form, 1) for _ in range(rng.randint(0, 4))]
    return "".join(part + rng.choice(["", "", *NAMES]) + rng.choice(["", "", *MARKS]) for part in parts)


@pytest.mark.parametrize("short", [True, False])
@pytest.mark.parametrize("form", list(FORMS))
def test_ids_are_those_of_the_cpu(
    devices: None, tmp_path: Any, form: str, short: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Single texts and batches, from the host and on the device, in one launch and in slices, with names in them."""
    enc, rng = model(tmp_path, form), random.Random(form)
    encoder = gpu.GpuEncoder(enc)
    if not short:
        monkeypatch.setattr(pipeline, "SHORT_ON_HOST", 0)
        encoder._short_size = 0
    for turn in range(10 * TWICE):
        options = OPTIONS[turn % 3]
        texts = [with_names(rng, form) for _ in range(rng.choice((1, 3, 12)))]
        many = [text.encode() if rng.random() < 0.5 else text for text in texts]
        want = outcome(enc.encode_ragged, many, **options)
        assert outcome(encoder.encode_batch, many, **options) == want, (texts, options)
        assert outcome(enc.encode_ragged, many, **options, device="cuda") == want, (texts, options)
        there = [on_device(text) for text in texts]
        assert outcome(encoder.encode_batch, there, **options) == want, (texts, options)
        want = outcome(enc.encode_to_numpy, texts[0], **options)
        for given in (many[0], there[0]):
            assert outcome(encoder.encode, given, **options) == want, (texts[0], options)
        assert outcome(enc.encode_to_numpy, many[0], **options, device="cuda") == want, (texts[0], options)


def test_only_what_is_not_normal_comes_to_the_host(
    devices: None, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a text on the device nothing, where it is normal; else the stretches that are not, and what is around them."""
    enc = model(tmp_path, "NFC")
    encoder = gpu.GpuEncoder(enc)
    encoder._short_size = 0
    copied: list[int] = []
    get, whole = HostDevice.get, mended
    monkeypatch.setattr(HostDevice, "get", lambda self, array: copied.append(array.nbytes) or get(self, array))
    monkeypatch.setattr(_repair, "mended", lambda near, *given: copied.append(len(near)) or whole(near, *given))
    plain = "Größe, नमस्ते 한국 plain text " * 400
    for text, count in {plain: 0, plain + "cafe\u0301" + plain: 1, "e\u0301" + (plain + "a\u030a") * 3: 4}.items():
        there = on_device(text)
        copied.clear()
        ids = encoder.encode(there)
        assert sum(copied) <= 400 * count
        assert len(copied) == (count > 0)
        assert np.asarray(ids).tolist() == enc.encode(text)


def test_much_that_is_not_normal_is_normalized_by_the_host(
    devices: None, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_base_engine, "_DOUBTS", 2)
    enc = model(tmp_path, "NFC")
    encoder = gpu.GpuEncoder(enc)
    encoder._short_size = 0
    for text in (
        "cafe\u0301 au lait " * 300,
        "plain " * 3000 + "o\u0323\u0302 " * 3000,
        "a" + "\u0301\u0323" * 400 + "b",
    ):
        want = enc.encode(text)
        there = on_device(text)
        assert np.asarray(encoder.encode(there)).tolist() == want
        assert np.asarray(encoder.encode(text)).tolist() == want


def test_text_of_many_languages(devices: None, tmp_path: Any) -> None:
    enc = model(tmp_path, "NFC")
    encoder = gpu.GpuEncoder(enc)
    text = oracle.corpus("multilingual")[500_000 : 500_000 + (400_000 if oracle.LONG else 40_000)]
    for form in ("NFC", "NFD"):
        given = unicodedata.normalize(form, text)
        want = enc.encode_to_numpy(given)
        there = on_device(given)
        np.testing.assert_array_equal(encoder.encode(there), want)
        np.testing.assert_array_equal(enc.encode_to_numpy(given, device="cuda"), want)


def test_many_windows_are_normalized_in_parts(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    """By several threads; the parts come in order."""
    rng = random.Random(subject.name + "parts")
    monkeypatch.setattr(_repair, "_A_PART", 2)
    monkeypatch.setattr(_repair, "_AROUND", 900)
    monkeypatch.setattr(_repair, "_TIMES_A_CHECK", 1 << 20)
    text = "".join(some_text(rng, subject.name, 1) + "plain text " * 200 for _ in range(60)).encode()
    doubts = np.array(subject.doubts(DeviceText(subject.device.put(np.frombuffer(text, np.uint8)), len(text))))
    assert len(doubts) > 10
    source, starts, sizes, _ = subject.packed([text])
    around = 64 * doubts, np.minimum(64 * doubts + 64, len(text))
    anew = complete(repaired(Lane(subject.device), source, (starts, sizes), around, subject.normalizer))
    assert bytes(np.asarray(anew[0]))[: int(anew[2][0])] == subject.normal(text)
