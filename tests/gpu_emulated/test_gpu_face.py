"""The GPU engine's public functions on emulated devices: ids and errors are the CPU's, for any input, however cut."""

from __future__ import annotations

import pickle
import random
import shutil
import threading

import numpy as np
import oracle
import pytest
from host_device import DeviceArray, HostDevice
from test_gpu_kernels import hard_text

import streamtok
from streamtok import gpu
from streamtok.gpu import _open, _select, stream
from streamtok.gpu._shapes import Module
from streamtok.gpu._special_tokens import Names
from streamtok.gpu._text import Request

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ to compile the kernels for the CPU")

LONGEST = ["r50k_base by longest match", "r50k_base without pattern by longest match"]
NAMES = ["r50k_base", "cl100k_base", "o200k_base", "o200k_base without pattern", *LONGEST]
OPTIONS = [
    {},
    {"disallowed_special": ()},
    {"allowed_special": "all"},
    {"allowed_special": {"<|endoftext|>"}, "disallowed_special": ()},
    {"errors": "replace", "allowed_special": "all"},
    {"errors": "ignore", "disallowed_special": ()},
]


@pytest.fixture
def devices(monkeypatch):
    """The emulated devices by their numbers, once something opened them."""
    opened: dict[int, HostDevice] = {}

    def open_device(family: str, ordinal: int, modules: tuple[Module, ...]) -> HostDevice:
        found = opened.get(ordinal)
        if found is None or found.family != family or found._modules != modules:
            found = opened[ordinal] = HostDevice(family, ordinal, modules)
        return found

    monkeypatch.setattr(_open, "open_device", open_device)
    monkeypatch.setattr(_select, "_warned", {(gpu.DeviceError, True)})  # of CuPy, which is not there
    for name in {*streamtok.list_encoding_names(), *NAMES}:
        monkeypatch.setitem(oracle.named(name).__dict__, "_devices", None)
    return opened


def outcome(call, *arguments, **options):
    """What a call gives, as lists, or the error that it raises."""
    try:
        result = call(*arguments, **options)
    except ValueError as error:
        return type(error), str(error)
    return [np.asarray(part).tolist() for part in (result if isinstance(result, tuple) else (result,))]


def text_with_names(rng: random.Random, pieces: int) -> bytes:
    parts = [rng.choice([b"<|endoftext|>", b"<|endof", b"text|>", hard_text(rng, 4)]) for _ in range(pieces)]
    return b"".join(parts)


def on_device(data: bytes) -> DeviceArray:
    return HostDevice.put(HostDevice("r50k"), np.frombuffer(data, np.uint8)).view(DeviceArray)


# ==== GpuEncoder ====


@pytest.mark.parametrize("name", NAMES)
def test_one_text_in_every_form(devices, name):
    rng = random.Random(name)
    enc = oracle.named(name)
    encoder = gpu.GpuEncoder(enc)
    for text in (b"", b"a", b"plain text", text_with_names(rng, 12), hard_text(rng, 30), b"ab\xffcd", b"\xe4\xb8"):
        forms = [text, bytearray(text), np.frombuffer(text, np.uint8), memoryview(text)]
        if text:
            forms.append(on_device(text))
        for options in OPTIONS:
            want = outcome(enc.encode_to_numpy, text, **options)
            for form in forms:
                assert outcome(encoder.encode, form, **options) == want, (text, options, type(form))


def test_str_and_surrogates(devices):
    enc = streamtok.get_encoding("o200k_base")
    encoder = gpu.GpuEncoder(enc)
    for text in ("", "é中文 😀", "a\ud800b", "\ud83d\ude00", "x" * 70_000, "é" * 40_000):
        assert encoder.encode(text).tolist() == enc.encode(text)


@pytest.mark.parametrize("slice_size", [None, 4096, 300])
@pytest.mark.parametrize("name", NAMES)
def test_batches_whole_and_in_slices(devices, name, slice_size):
    rng = random.Random(f"{name} {slice_size}")
    enc = oracle.named(name)
    encoder = gpu.GpuEncoder(enc)
    encoder._slice = slice_size or encoder._slice
    batches = [
        [],
        [b""],
        [b"", b"", b"x", b""],
        [hard_text(rng, rng.randint(0, 12)) for _ in range(60 if oracle.LONG else 20)],
        [text_with_names(rng, rng.randint(0, 9)) for _ in range(12)] + [b""],
        [b"ok", hard_text(rng, 300 if oracle.LONG else 100), b"a" * 2000, b"ok"],
        [b"ok", b"bro\xc3ken", b"<|endoftext|>"],
    ]
    for texts in batches:
        for options in OPTIONS:
            want = outcome(enc.encode_ragged, texts, **options)
            assert outcome(encoder.encode_batch, texts, **options) == want
        if any(texts) and slice_size != 300:
            forms = [on_device(text) if text else text for text in texts]
            want = outcome(enc.encode_ragged, texts, allowed_special="all", errors="replace")
            assert outcome(encoder.encode_batch, forms, allowed_special="all", errors="replace") == want


@pytest.mark.parametrize("start", [0, 5, 16, 64, 100])
def test_a_slice_of_device_memory_with_names_in_it(devices, start):
    """At a multiple of 16 bytes the kernels read a piece where it lies; elsewhere it is copied first."""
    enc = streamtok.get_encoding("o200k_base")
    names = Names(*enc._names.find("all", ()), enc._special_tokens)
    request = Request(enc._coder, names, np.dtype(np.uint32))
    text = b"some <|endoftext|> text <|endoftext|><|endofprompt|> and more"
    spans = np.array([start]), np.array([len(text)]), np.zeros(1, np.int64)
    slot = gpu.GpuEncoder(enc)._slot
    ids, _ = slot.encode_device(on_device(b"x" * start + text + b"y" * 9), *spans, request, False)
    assert ids.tolist() == enc.encode(text.decode(), allowed_special="all")


def test_timing_and_dtypes(devices):
    enc = streamtok.get_encoding("r50k_base")
    for ids in ("uint16", "uint32", "int32", "int64"):
        encoder = gpu.GpuEncoder(enc, ids=ids)
        result, timing = encoder.encode("some words " * 100, timing=True)
        assert result.dtype == ids
        assert result.tolist() == enc.encode("some words " * 100)
        assert 0 < timing.kernel < timing.wall and 0 < timing.copy < timing.wall
        assert len(encoder.encode_batch(["a", "b"], timing=True)) == 3


def test_arguments_that_are_refused(devices):
    enc = streamtok.get_encoding("o200k_base")
    with pytest.raises(ValueError, match="ids up to 65535, and 'o200k_base' has ids up to 200018"):
        gpu.GpuEncoder(enc, ids="uint16")
    with pytest.raises(ValueError, match="write one of 'uint16'"):
        gpu.GpuEncoder(enc, ids="float")
    with pytest.raises(ValueError, match="names no CUDA device"):
        gpu.GpuEncoder(enc, device="cpu")
    with pytest.raises(ValueError, match="each device once"):
        gpu.GpuPipeline(enc, device=[0, 0])
    with pytest.raises(gpu.DeviceMemoryError, match="memory_limit=1000000 is too small"):
        gpu.GpuEncoder(enc, memory_limit=1_000_000)
    with pytest.raises(TypeError, match="one row of uint8"):
        gpu.GpuEncoder(enc).encode(on_device(b"abcdefgh").view(np.uint16))
    for call in (gpu.GpuEncoder(enc).encode, gpu.GpuPipeline(enc).encode):
        with pytest.raises(ValueError, match="unknown errors='bogus'"):
            call("a", errors="bogus")
    with pytest.raises(TypeError, match="got int"):
        gpu.GpuEncoder(enc).encode(3)
    with pytest.raises(TypeError, match="at index 1"):
        gpu.GpuEncoder(enc).encode_batch(["a", 3])
    own = streamtok.Encoding(
        "own", pat_str=r"\w+(?=ab)|(?s:.)", mergeable_ranks=enc._mergeable_ranks, special_tokens={}
    )
    with pytest.raises(ValueError, match="no kernels"):
        gpu.GpuEncoder(own)
    assert own.encode_to_numpy("a b", device="cuda").tolist() == own.encode("a b")


def test_memory_limit_bounds_what_a_slice_takes(devices):
    enc = streamtok.get_encoding("r50k_base")
    limit = 64 << 20
    encoder = gpu.GpuEncoder(enc, memory_limit=limit)
    text = hard_text(random.Random(3), 120_000)
    assert len(text) > encoder._slice
    assert (
        encoder.encode(text, disallowed_special=()).tolist()
        == enc.encode_to_numpy(text, disallowed_special=()).tolist()
    )
    assert encoder.memory <= limit


def test_a_steady_call_allocates_its_result_alone(devices):
    encoder = gpu.GpuEncoder(streamtok.get_encoding("cl100k_base"))
    text = "steady " * 3000
    for _ in range(2):
        encoder.encode(text)
    before = devices[0].allocations
    encoder.encode(text)
    assert devices[0].allocations == before + 1


def test_sets_of_names_take_turns(devices):
    """A short text's job is kept, with the names that it points to, while other texts look for others."""
    enc = streamtok.get_encoding("o200k_base")
    encoder, pipeline = gpu.GpuEncoder(enc), gpu.GpuPipeline(enc, chunk_size=20_000)
    encoder._slice = 20_000
    plain, named = "plain text " * 9, "a<|endoftext|>b<|endofprompt|>c"
    long = "so much text that it takes many launches <|endofprompt|> " * (20_000 if oracle.LONG else 2_000)
    rng = random.Random(5)
    for _ in range(12):
        options, text = rng.choice(OPTIONS[:4]), rng.choice([plain, plain, named, long])
        want = outcome(enc.encode_to_numpy, text, **options)
        assert outcome(encoder.encode, text, **options) == want
        assert outcome(pipeline.encode, text, **options) == want


def test_out_of_memory_at_every_allocation(devices):
    enc = streamtok.get_encoding("r50k_base")
    texts = ["some text", "more <|endoftext|> text", "x" * 700]
    want = outcome(enc.encode_ragged, texts, allowed_special="all")
    encoder = gpu.GpuEncoder(enc)
    device = devices[0]
    failed = 0
    for n in range(100):
        encoder._slot.forget()
        device.allocations, device.fail_after = 0, n
        try:
            got = outcome(encoder.encode_batch, texts, allowed_special="all")
        except gpu.DeviceMemoryError as error:
            failed += 1
            assert "too little free memory" in str(error)
        else:
            assert got == want
            break
        device.fail_after = None
        assert outcome(encoder.encode_batch, texts, allowed_special="all") == want
    assert 10 < failed < 99


def test_two_threads_share_one_encoder(devices):
    enc = streamtok.get_encoding("o200k_base")
    encoder = gpu.GpuEncoder(enc)
    texts = [hard_text(random.Random(i), 40) for i in range(8)]
    got: dict[int, list[int]] = {}

    def run(i: int) -> None:
        got[i] = encoder.encode(texts[i], disallowed_special=()).tolist()

    threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == {i: enc.encode_to_numpy(text, disallowed_special=()).tolist() for i, text in enumerate(texts)}


# ==== GpuPipeline, and device= on Encoding ====


@pytest.mark.parametrize(
    ("name", "ordinals"),
    [
        ("cl100k_base", 0),
        ("cl100k_base", [0, 1]),
        ("cl100k_base", [0, 1, 2]),
        ("cl100k_base without pattern", 0),
        ("cl100k_base without pattern", [0, 1]),
    ],
)
def test_host_to_host_over_devices(devices, name, ordinals):
    rng = random.Random(str(ordinals))
    enc = oracle.named(name)
    pipeline = gpu.GpuPipeline(enc, device=ordinals, chunk_size=3000)
    text = hard_text(rng, 400).decode()
    text = text[:2000] + "<|endoftext|>" + text[2000:]
    texts = [text.encode(), b"", *(hard_text(rng, rng.randint(0, 9)) for _ in range(40)), text.encode()]
    for options in OPTIONS:
        for form in (text, text.encode(), text.encode()[:1500] + b"\xff" + text.encode()[1500:]):
            want = outcome(enc.encode_to_numpy, form, **options)
            assert outcome(pipeline.encode, form, **options) == want
        want = outcome(enc.encode_ragged, texts, **options)
        assert outcome(pipeline.encode_batch, texts, **options) == want
    assert len(devices) == (1 if ordinals == 0 else len(ordinals))


def test_out_array(devices):
    enc = streamtok.get_encoding("r50k_base")
    pipeline = gpu.GpuPipeline(enc, ids="uint16", chunk_size=100)
    out = np.zeros(500, np.uint16)
    ids = pipeline.encode("hello world, " * 40, out=out)
    assert ids.tolist() == enc.encode("hello world, " * 40)
    assert ids.base is out
    with pytest.raises(ValueError, match="room for 10 ids"):
        pipeline.encode("hello world, " * 40, out=out[:10])
    with pytest.raises(ValueError, match="give one row of uint16"):
        pipeline.encode("a", out=np.zeros(5, np.uint32))


def test_more_ids_than_text_usually_has(devices, monkeypatch):
    monkeypatch.setattr(gpu.pipeline, "_SURE_CAPACITY", 0)
    enc = streamtok.get_encoding("r50k_base")
    text = "".join(chr(0x1F300 + i % 700) for i in range(600))
    assert gpu.GpuPipeline(enc, chunk_size=500).encode(text).tolist() == enc.encode(text)


@pytest.mark.parametrize("name", NAMES[-2:])
@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_methods_of_encoding(devices, device, name):
    enc = oracle.named(name)
    text = "some text, don't " * 50
    ids = enc.encode_to_numpy(text, device=device)
    assert ids.tolist() == enc.encode(text)
    assert ids.dtype == np.uint32 and not ids.flags.writeable
    out = np.zeros(len(ids), np.int64)
    for options in ({"dtype": "uint32"}, {"dtype": "int64"}, {"out": out}):
        own = enc.encode_to_numpy(text, device=device, **options)
        rows, _ = enc.encode_ragged([text], device=device, **options)
        assert own.flags.writeable and own.tolist() == ids.tolist() == rows.tolist() and own.dtype == rows.dtype
    assert out.tolist() == ids.tolist()
    assert enc.encode_batch([text, "", "b"], device=device) == enc.encode_batch([text, "", "b"])
    assert enc.encode_ordinary_batch([text, ""], device=device) == enc.encode_ordinary_batch([text, ""])
    named = text + "<|endoftext|>"
    for options in ({"allowed_special": "all"}, {"disallowed_special": ()}, {}):
        for call in (enc.encode, enc.encode_with_offsets):
            assert outcome(call, named, device=device, **options) == outcome(call, named, **options)
    assert outcome(enc.encode_ragged, [text, b"b"], device=device) == outcome(enc.encode_ragged, [text, b"b"])
    for bad in (["a", "<|endoftext|>"], [b"a", b"\xff"], ["a", 3]):
        with pytest.raises((ValueError, TypeError)) as theirs:
            enc.encode_ragged(bad)
        with pytest.raises(type(theirs.value)) as ours:
            enc.encode_ragged(bad, device=device)
        assert str(ours.value) == str(theirs.value)
    assert list(devices) == [0 if device == "cuda" else 1]


@pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:x", "CUDA", 0, None])
def test_unknown_devices(enc, device):
    for call in (
        lambda: enc.encode_to_numpy("a", device=device),
        lambda: enc.encode_batch(["a"], device=device),
        lambda: enc.encode_ragged(["a"], device=device),
        lambda: enc.stream_encoder(device=device),
        lambda: enc.encode_file("/nowhere", "/nowhere/either", device=device),
    ):
        with pytest.raises(ValueError, match="write 'cpu', 'cuda', 'cuda:N' or 'auto'"):
            call()


# ==== Streams ====


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(stream, "BATCH", 2000)
    monkeypatch.setattr(stream, "_LEAST", 500)
    monkeypatch.setattr(stream, "_NEAR", 100)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("options", OPTIONS)
def test_streams_give_the_ids_and_the_errors_of_the_cpu(devices, small_batches, name, options):
    rng = random.Random(f"{name} {options}")
    enc = oracle.named(name)
    for _ in range(3 if oracle.LONG else 1):
        data = text_with_names(rng, 60) + b"k" * rng.choice([0, 3000]) + hard_text(rng, 60)
        if "errors" in options:
            data = data[:500] + b"\xff\xe4" + data[500:]
        cuts = list(oracle.random_cuts(rng, data, (1, 40, 700, 5000)))
        theirs, ours = enc.stream_encoder(**options, copy=True), enc.stream_encoder(**options, device="cuda")
        want: list[int] = []
        got: list[int] = []
        for chunk in cuts:
            feeds = []
            for each in (theirs, ours):
                try:
                    feeds.append(each.feed(chunk).tolist())
                except ValueError as error:
                    feeds.append((type(error), str(error)))
            if isinstance(feeds[0], tuple) or isinstance(feeds[1], tuple):
                assert feeds[0] == feeds[1]  # both refuse it with the same error, and are as before it
            else:
                want, got = want + feeds[0], got + feeds[1]
            assert ours.offset == theirs.offset
            assert ours.pending >= theirs.pending
            assert got == (want + [0] * len(got))[: len(got)]
        ends = [outcome(each.flush) for each in (theirs, ours)]
        if isinstance(ends[0], tuple):
            assert ends[0] == ends[1]
        else:
            assert got + ends[1][0] == want + ends[0][0]
            assert ours.pending == 0


def test_stream_state_goes_on_elsewhere(devices, small_batches):
    enc = streamtok.get_encoding("o200k_base")
    rng = random.Random(4)
    data = hard_text(rng, 150) + b"w" * 5000 + hard_text(rng, 150)
    want = enc.encode_to_numpy(data, disallowed_special=()).tolist()
    for how in (pickle.loads, None):
        for device in ("cuda", "auto"):
            ours = enc.stream_encoder(disallowed_special=(), device=device)
            got: list[int] = []
            for chunk in oracle.random_cuts(rng, data, (90, 300, 2500)):
                got += ours.feed(chunk).tolist()
                ours = how(pickle.dumps(ours)) if how else ours.copy()
            assert got + ours.flush().tolist() == want
    state = enc.stream_encoder(disallowed_special=(), device="cuda").getstate()
    with pytest.raises(ValueError, match="other special tokens or error mode"):
        enc.stream_encoder(disallowed_special=()).setstate(state)
    assert not enc.stream_encoder(device="cuda")._stream.load(b"gathered" + b"\0" * 50)


def test_a_stream_whose_device_fails_is_as_it_was(devices, small_batches):
    from host_device import CUDARuntimeError

    enc = streamtok.get_encoding("o200k_base")
    ours = enc.stream_encoder(device="cuda")
    ids = ours.feed("one two " * 100).tolist()
    pending, offset = ours.pending, ours.offset
    devices[0].failure = CUDARuntimeError("cudaErrorLaunchFailure")
    with pytest.raises(gpu.DeviceError, match=r"cuda:0 failed \(cudaErrorLaunchFailure\)"):
        ours.feed("three four " * 300)
    assert (ours.pending, ours.offset) == (pending, offset)
    devices[0].failure = None
    enc.__dict__["_devices"] = None
    ours._stream._coder = enc.stream_encoder(device="cuda")._stream._coder
    ids += ours.feed("three four " * 300).tolist() + ours.flush().tolist()
    assert ids == enc.encode("one two " * 100 + "three four " * 300)


def test_a_second_thread_in_a_stream_is_told(devices):
    ours = streamtok.get_encoding("o200k_base").stream_encoder(device="cuda")

    def feed_again():
        with pytest.raises(RuntimeError, match="used by another thread"):
            ours.feed("a")

    ours._stream._alone.run(feed_again)
    ours.feed("a")


# ==== Files ====


@pytest.mark.parametrize("documents", ["text", "lines"])
@pytest.mark.parametrize(
    ("name", "device"), [("r50k_base", "cuda"), ("r50k_base", "cuda:1"), ("o200k_base without pattern", "cuda")]
)
def test_files_are_the_same(devices, tmp_path, monkeypatch, documents, name, device):
    monkeypatch.setattr(gpu.pipeline, "CHUNK", 20_000)
    rng = random.Random(6)
    source = tmp_path / "in.txt"
    source.write_bytes(b"\n".join(hard_text(rng, 20) for _ in range(150)) + b"z" * 70_000 + hard_text(rng, 50))
    enc = oracle.named(name)
    enc.encode_file(source, tmp_path / "cpu.bin", documents=documents, append_eot=True)
    done = enc.encode_file(
        source, tmp_path / "gpu.bin", documents=documents, append_eot=True, device=device, journal_bytes=30_000
    )
    assert (tmp_path / "gpu.bin").read_bytes() == (tmp_path / "cpu.bin").read_bytes()
    assert done.bytes == source.stat().st_size
    (tmp_path / "bad.txt").write_bytes(b"good\n" * 9000 + b"b\xffd\n" + b"good\n" * 9000)
    errors = []
    for where in ("cpu", device):
        with pytest.raises(UnicodeDecodeError) as caught:
            enc.encode_file(tmp_path / "bad.txt", tmp_path / "bad.bin", documents=documents, device=where)
        errors.append(str(caught.value))
    if documents == "lines":
        assert errors[0] == errors[1]
    assert all("bad.txt" in error for error in errors)


def test_names_in_a_piece_that_begins_at_a_multiple_of_sixteen(devices):
    """Such a piece is not moved on the device; its start must be taken into account."""
    enc = streamtok.get_encoding("r50k_base")
    encoder = gpu.GpuEncoder(enc)
    encoder._slice = 70_000
    # Every blank, where a text may be cut, is at a multiple of 16.
    text = b"x" + (b"fifteenletterss " * 4 + b"<|endoftext|>ab ") * 2_500
    want = enc.encode_to_numpy(text, allowed_special="all")
    np.testing.assert_array_equal(encoder.encode(on_device(text), allowed_special="all"), want)
