"""The GPU's kernels against the CPU core, run lane by lane on the CPU."""

from __future__ import annotations

import dataclasses
import functools
import pydoc_data.topics
import random
import re
import shutil
import signal
import sys
import warnings

import numpy as np
import oracle
import pytest
from emulated import EmulatedDevice, at_the_end_of_memory, engine_on
from linear import assert_at_most, assert_linear, cpu_seconds

import streamtok
from streamtok.gpu import _engine, _job, _words
from streamtok.gpu._base_engine import Named
from streamtok.gpu._errors import Unusable
from streamtok.gpu._special_tokens import Sought
from streamtok.gpu._text import DeviceText, ShortText, pack
from streamtok.native.matcher import Matcher
from streamtok.patterns import CL100K
from streamtok.patterns.engine import kernels_of

TWICE = 2 if oracle.LONG else 1
ENCODINGS = [  # p50k_base has r50k_base's kernels
    "r50k_base",
    "cl100k_base",
    "o200k_base",
    "cl100k_base without pattern",
    "o200k_base without pattern",
]

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ to compile the kernels for the CPU")

# Characters of every kind, in the ways that the patterns tell apart.
HARD = (
    """a B é ſ ' 's 'S 'll 'Re / // ! - 1 23 ٣ ² 中 文字 日本 한국 ש ก็ ् ́ ️ 😀 ‍ Ж привет World HELLO fooBar é <| |> _ ...
don't x'ſ Ǆ ǅ""".split()
    + [" ", "  ", "\n", "\r\n", "\t", "\u3000", "\u00a0", "\u2028", "\u0085"]
)


def hard_text(rng: random.Random, pieces: int) -> bytes:
    return "".join(
        rng.choice(HARD) * rng.choice([1, 1, 1, 1, 2, 3, rng.randint(1, 70)]) for _ in range(pieces)
    ).encode()


class Subject:
    """An encoding, and the engine that runs its kernels on the CPU."""

    def __init__(self, name: str):
        self.encoding = oracle.named(name)
        self.device = EmulatedDevice(kernels_of(self.encoding._pat_str))
        self.engine = engine_on(self.device, self.encoding)

    def encode(self, data: bytes, dtype: object = np.uint32) -> np.ndarray:
        return self.engine.encode(self.text(data), dtype)[0]

    def text(self, data: bytes) -> DeviceText:
        return DeviceText(self.device.put(np.frombuffer(data, np.uint8)), len(data))

    def accepts(self, text: DeviceText) -> bool:
        """Whether the kernels accept it as UTF-8."""
        try:
            self.engine.encode(text, np.uint32, trusted=False)
        except Unusable:
            return False
        return True

    def names_in(self, text: DeviceText, *sets: list[str]) -> list[tuple[int, int]]:
        """(place, number) of the names that a search of its own finds; encoding finds the same ones."""
        names = Sought([Matcher(names) for names in sets])
        places, numbers = self.engine.find_names(text, names)
        try:
            self.engine.encode(text, np.uint32, names=names)
            assert not len(places)
        except Named as named:
            np.testing.assert_array_equal(named.places, places)
            np.testing.assert_array_equal(named.numbers, numbers)
        return list(zip(places.tolist(), numbers.tolist()))

    def check(self, data: bytes) -> None:
        want = self.encoding.encode_to_numpy(data, disallowed_special=())
        np.testing.assert_array_equal(self.encode(data), want)

    def packed(self, texts: list[bytes]) -> DeviceText:
        sizes = np.array([len(text) for text in texts], np.uint64)
        starts = np.concatenate([np.zeros(1, np.uint64), np.cumsum(sizes)[:-1]]).astype(np.uint64)
        source = self.device.put(np.frombuffer(b"".join(texts) + b" ", np.uint8))
        return pack(self.device, source, starts, sizes, np.arange(len(texts)))

    def check_batch(self, texts: list[bytes]) -> None:
        want, starts = self.encoding.encode_ragged(texts, disallowed_special=())
        ids, rows = self.engine.encode(self.packed(texts), np.uint32)
        np.testing.assert_array_equal(ids, want)
        np.testing.assert_array_equal(rows, starts)


@pytest.fixture(params=["stages", "one launch"], autouse=True)
def way(request, monkeypatch):
    """Every test runs with the stages launched one by one, and with all of them in one launch."""
    monkeypatch.setattr(_engine, "SHORT", 0 if request.param == "stages" else 1 << 30)


@functools.cache
def subject(name: str) -> Subject:
    return Subject(name)


@needs_compiler
@pytest.mark.parametrize("name", ENCODINGS)
def test_real_text(name):
    text = "".join(pydoc_data.topics.topics.values()).encode()
    subject(name).check(text[: 150_000 // 64 * 64 if oracle.LONG else 320 * 64])
    subject(name).check(text[: 70_001 if oracle.LONG else 7_001])


@needs_compiler
@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("corpus", ["english", "code", "multilingual"])
def test_corpora(name, corpus):
    data = oracle.corpus(corpus)[1_000_000:][: 400_000 if oracle.LONG else 60_000].encode()
    subject(name).check(data)


@needs_compiler
@pytest.mark.parametrize("name", ENCODINGS)
def test_hard_text_alone_and_in_batches(name):
    rng = random.Random(name)
    for _ in range(3 * TWICE):
        subject(name).check(hard_text(rng, 4000))
        subject(name).check_batch([hard_text(rng, rng.randint(0, 12)) for _ in range(300)])
        subject(name).check_batch([hard_text(rng, rng.randint(0, 300)) for _ in range(20)])


@needs_compiler
@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize(
    "unit",
    [
        "a",
        " ",
        "\n",
        "1",
        "-",
        "中",
        "ж",
        "é",
        "\u0301",
        "😀",
        "/",
        "'",
        "A",
        "aB",
        "ab ",
        "ก",
        "\u3000",
        "!\n/",
        "\n/!\u0301",
    ],
)
def test_one_unit_over_and_over(name, unit):
    for count in (1, 63, 64, 65, 255, 257, 511, 513, 700, 1500, 9000):
        subject(name).check((unit * count).encode())


@needs_compiler
def test_sizes_around_blocks_segments_and_stretches():
    text = "".join(pydoc_data.topics.topics.values()).encode("ascii", "ignore")
    for size in [*range(1, 140), *range(250, 262), *range(1018, 1030), *range(2044, 2052), 4095, 4096, 4097]:
        subject("o200k_base").check(text[:size])
        subject("cl100k_base").check(text[size : 2 * size])


@needs_compiler
def test_batches_with_empty_texts():
    subject("cl100k_base").check_batch([b""])
    subject("cl100k_base").check_batch([b"", b"", b"a", b"", b" b" * 40, b"", b""])


@needs_compiler
def test_passages_that_are_ids():
    s = subject("o200k_base")
    source = b"hello world, hello"
    starts, sizes = (
        np.array([0, 0, 5, 0, 0, 11], np.uint64),
        np.array([5, _job.PASSAGE_ID + 199_999, 6, 0, 0, 7], np.uint64),
    )
    sizes[3] = _job.PASSAGE_ID + 200_018
    text = pack(s.device, s.device.put(np.frombuffer(source, np.uint8)), starts, sizes, np.array([0, 3]))
    ids, rows = s.engine.encode(text, np.uint32)
    ordinary = s.encoding.encode_ordinary
    want = [*ordinary("hello"), 199_999, *ordinary(" world"), 200_018, *ordinary(", hello")]
    assert ids.tolist() == want
    assert rows.tolist() == [0, len(ordinary("hello")) + 1 + len(ordinary(" world")), len(want)]


@needs_compiler
@pytest.mark.parametrize("name", ENCODINGS)
def test_short_texts_from_host_memory_and_to_it(name):
    s, rng = subject(name), random.Random(14)
    for size in (1, 5, 16, 63, 64, 65, 127, 129, 1000, 5000, 70_000, 3):
        data = hard_text(rng, size)[:size].decode("utf-8", "ignore").encode() or b"x"
        staged, out = s.device.pinned(len(data) + 15), s.device.pinned(4 * len(data)).view(np.uint32)
        staged[: len(data)] = np.frombuffer(data, np.uint8)
        want = s.encoding.encode_to_numpy(data, disallowed_special=())
        text = ShortText(staged.ctypes.data, len(data), np.dtype(np.uint32), False)
        np.testing.assert_array_equal(s.engine.encode_short(text, None)[0], want)
        try:
            np.testing.assert_array_equal(s.engine.encode_short(text, None, out)[0], want)
        except Unusable:
            assert int(s.engine._report[0]["huge"])
    with pytest.raises(Named):
        s.engine.encode_short(dataclasses.replace(text, trusted=True), Sought([Matcher([data.decode()[0]])]))


@needs_compiler
@pytest.mark.parametrize("dtype", [np.uint16, np.uint32, np.int64])
def test_dtypes(dtype):
    text = b"The ids of r50k_base fit sixteen bits. " * 20
    ids = subject("r50k_base").encode(text, dtype)
    assert ids.dtype == dtype
    assert ids.tolist() == subject("r50k_base").encoding.encode_ordinary(text.decode())


@needs_compiler
@pytest.mark.parametrize("parts", [1 << 30, 1024])
def test_slices_and_their_parts(parts, monkeypatch):
    monkeypatch.setattr(_engine, "SLICE", 4096)
    monkeypatch.setattr(_words, "FIRST_PART", parts)
    monkeypatch.setattr(_words, "GROWTH", 1)
    rng = random.Random(5)
    for name in ENCODINGS:
        subject(name).engine._tables.words.renew()
        subject(name).check(hard_text(rng, 3000) + b"-" * 9000 + hard_text(rng, 50) + b"x" * 800)
        subject(name).check_batch([hard_text(rng, rng.randint(0, 200)) for _ in range(30)])


@needs_compiler
def test_more_deferred_words_than_usual_and_more_tokens():
    rng = random.Random(7)
    words = " ".join("".join(rng.choice("qxzjkvw") for _ in range(3)) for _ in range(3000))
    subject("cl100k_base").check(words.encode())
    subject("r50k_base").check("".join(chr(rng.randint(0x1F300, 0x1FAFF)) for _ in range(2000)).encode())


@needs_compiler
@pytest.mark.parametrize("pat_str", [CL100K, None])
def test_unreachable_tokens_are_found_whole_and_never_cut(pat_str):
    ranks = {bytes([i]): i for i in range(256)} | {
        "中文中文中文中文".encode(): 300,
        b"unreachable": 301,
        "中文".encode(): 302,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that there is no pattern
        encoding = streamtok.Encoding("unreachable", pat_str=pat_str, mergeable_ranks=ranks, special_tokens={})
    device = EmulatedDevice(kernels_of(pat_str))
    engine = engine_on(device, encoding)
    for text in (
        "unreachable 中文中文中文中文 unreachablex 中文中文中文中文中文 unreachable",
        "unreachable",
        "unreachablex",
        "中文中文中文中文",
        "中文中文中文中文" * 50,
    ):
        data = text.encode()
        ids, _ = engine.encode(DeviceText(device.put(np.frombuffer(data, np.uint8)), len(data)), np.uint32)
        assert ids.tolist() == encoding.encode_ordinary(text)


@needs_compiler
@pytest.mark.parametrize("name", ["r50k_base", "cl100k_base", "o200k_base"])
def test_without_a_pattern_ids_are_those_of_the_reference(name):
    """The reference engine does not cut. The tables of cuts serve the CPU core as well."""
    rng = random.Random(name)
    reference, s = oracle.without_pattern(name, "reference"), subject(f"{name} without pattern")
    topics = "".join(pydoc_data.topics.topics.values())
    tokens = [token for token in s.encoding.token_byte_values() if token.isascii()]
    for text in (
        topics[:40_000],
        hard_text(rng, 3000).decode(),
        b"".join(rng.choices(tokens, k=3000)).decode(),
        "".join(chr(rng.randint(1, 126)) for _ in range(20_000)),
        "".join(rng.choice("abcdefgh") for _ in range(3000)),
    ):
        assert s.encode(text.encode()).tolist() == reference.encode_ordinary(text)


@needs_compiler
def test_a_text_that_is_a_token_is_not_cut():
    s = subject("o200k_base without pattern")
    tokens = [token for token in s.encoding.token_byte_values() if len(token) > 10 and valid(token)]
    s.check_batch(random.Random(1).sample(tokens, 2000))


def valid(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@needs_compiler
def test_utf8_is_told_from_what_is_none():
    rng = random.Random(11)
    s = subject("r50k_base")
    bad = [
        b"\x80",
        b"\xc1\x80",
        b"\xe0\x80\x80",
        b"\xed\xa0\x80",
        b"\xf5\x80\x80\x80",
        b"\xf4\x90\x80\x80",
        b"\xff",
        b"\xe4\xb8",
    ]
    for _ in range(200 * TWICE):
        data = bytearray(hard_text(rng, rng.randint(1, 60)))
        if rng.random() < 0.7:
            at = rng.randint(0, len(data))
            data[at:at] = rng.choice(bad)
        if rng.random() < 0.3:
            data = data[: rng.randint(0, len(data))]
        texts = [bytes(data[i : i + 150]) for i in range(0, len(data), 150)]
        assert s.accepts(s.text(bytes(data))) == valid(bytes(data))
        assert s.accepts(s.packed(texts)) == all(map(valid, texts))


@needs_compiler
@pytest.mark.parametrize("size", [64, 128, 1024, 1088])
def test_a_character_that_is_cut_at_the_end_of_a_full_block_is_seen(size):
    """What it lacks would stand in a block of another text, or in none."""
    s = subject("r50k_base")
    for whole in ("é", "中", "🤗"):
        character = whole.encode()
        for kept in range(1, len(character) + 1):
            data = b"a" * (size - kept) + character[:kept]
            assert s.accepts(s.text(data)) == (kept == len(character))
            for texts in ([data, b"b"], [b"b", data], [data, data[kept:]], [data, b"", "中".encode()]):
                assert s.accepts(s.packed(texts)) == (kept == len(character))


@needs_compiler
@pytest.mark.parametrize("name", ENCODINGS)
def test_bytes_of_any_kind_are_refused_in_peace(name):
    """All stages process a text before it is known to be invalid, so none may crash."""
    rng = random.Random(13)
    for _ in range(40):
        weights = [rng.random() ** 3 for _ in range(4)]
        ranges = rng.choices([(0, 128), (128, 192), (192, 248), (248, 256)], weights, k=rng.randint(100, 3000))
        data = bytes(rng.randrange(*each) for each in ranges) + b"\xf0"
        assert not subject(name).accepts(DeviceText(at_the_end_of_memory(data), len(data)))
        subject(name).check(b"and then a text ")


@needs_compiler
def test_names_are_found_wherever_they_stand():
    rng = random.Random(12)
    s = subject("o200k_base")
    names = ["<|endoftext|>", "<|a|>", "<|a|><|a|>", "aa", "é文", "y" * 70, "y" * 200]
    for _ in range(60):
        data = "".join(
            rng.choice([*names, "a", "<|", " x ", "y" * rng.randint(0, 90)]) for _ in range(rng.randint(0, 50))
        ).encode()
        assert s.names_in(s.text(data), names) == sorted(longest_at_each_place(data, names).items())
    text = s.packed([b"x" * 60 + b"<|a|", b">", b"<|a|>"])
    assert s.names_in(text, names) == [(128, 1)]
    assert len(s.names_in(s.packed([b"aa" * 5000]), names)) == 9999


def longest_at_each_place(data: bytes, names: list[str], before: int = 0) -> dict[int, int]:
    found = {}
    for i in sorted(range(len(names)), key=lambda i: len(names[i].encode())):
        found |= {m.start(): before + i for m in re.finditer(b"(?=%b)" % re.escape(names[i].encode()), data)}
    return found


@needs_compiler
def test_nested_names_of_two_sets_are_found_in_passages_of_all_sizes():
    """A name never goes beyond its passage, and may span any number of blocks."""
    rng = random.Random(13)
    s = subject("o200k_base")
    for _ in range(60):
        letters = rng.choice(["a", "ab", "é文"])
        sets = [
            [
                *{
                    "".join(rng.choices(letters, k=rng.choice([1, 2, 3, 8, 60, 64, 130])))
                    for _ in range(rng.randint(1, 8))
                }
            ]
            for _ in range(rng.randint(1, 2))
        ]
        passages = []
        for _ in range(rng.randint(1, 6)):
            words = [*letters, letters[0] * 70, *sets[0], " "]
            passages.append("".join(rng.choices(words, k=rng.choice([1, 2, 5, 30]))).encode())
            if rng.random() < 0.3:
                passages[-1] = (b"a" * 256)[: 64 * rng.randint(1, 4)]
        want, at = [], 0
        for passage in passages:
            for i, names in enumerate(sets):
                found = longest_at_each_place(passage, names, len(sets[0]) * i)
                want += [(at + place, number) for place, number in found.items()]
            at += -(-len(passage) // 64) * 64
        assert s.names_in(s.packed(passages), *sets) == sorted(want), (sets, passages)


@needs_compiler
@pytest.mark.parametrize(
    "names",
    [["a" * 1000 + "b"], ["a" * k + "b" for k in range(1, 500)], ["a" * k for k in range(1, 400)]],
    ids=["long", "many", "many that are found"],
)
def test_hostile_names_take_the_kernels_a_few_steps_a_byte(names):
    """A block of 64 bytes takes some 64 + 1,000 steps, not 64 x 1,000, nor those for each of the names."""
    s = subject("o200k_base")
    sought, text = Sought([Matcher(names)]), s.text(b"a" * 200_000)
    assert_linear(lambda n: cpu_seconds(lambda: s.engine.find_names(DeviceText(text.data, n), sought)), 200_000)
    assert_at_most(0.5, lambda: s.engine.find_names(text, sought))


@needs_compiler
@pytest.mark.skipif(not hasattr(signal, "SIGSEGV") or sys.platform == "win32", reason="needs mprotect")
@pytest.mark.parametrize("name", ENCODINGS)
def test_nothing_behind_the_text_is_read(name):
    """Texts that end in a deferred word, in other characters, in white space, where memory ends."""
    s = subject(name)
    for ending in (
        b"qzx",
        b"xqzjkvw",
        b"qxzjqxzjqxzj",
        b"zqxjkvwqzxjkvwqzxjkvw",
        "привет".encode(),
        "中文字".encode(),
        b"it's",
        b"\n  ",
    ):
        for size in (len(ending), 64, 67, 80, 256, 1016, 1024, 1090, 4096):
            data = (b"words " * 700)[: max(0, size - len(ending))] + ending
            text = DeviceText(at_the_end_of_memory(data), len(data))
            want = s.encoding.encode_to_numpy(data, disallowed_special=())
            np.testing.assert_array_equal(s.engine.encode(text, np.uint32)[0], want)
            assert s.accepts(text)
            assert s.names_in(text, ["qzxq", "'s!"]) == []
