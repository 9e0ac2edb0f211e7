"""The public functions on a device: every form of text and ids, errors, memory, threads."""

from __future__ import annotations

import pickle
import random
import threading

import numpy as np
import oracle
import pytest
from test_gpu_face import OPTIONS, outcome, text_with_names
from texts import corpus, cut_at_random

import streamtok
from streamtok import gpu


@pytest.fixture(scope="module")
def text() -> bytes:
    """Six megabytes with special tokens in them."""
    parts = [
        corpus(name)[:2_000_000].decode("utf-8", "ignore").encode() for name in ("english", "code", "multilingual")
    ]
    return b"<|endoftext|>".join(parts) + b"<|endoftext|><|endoftext|>"


def result(call, *arguments, **options):
    """As outcome, with arrays of the device brought back."""

    def back(*arguments, **options):
        got = call(*arguments, **options)
        return tuple(part.get() for part in got) if isinstance(got, tuple) else got.get()

    return outcome(back, *arguments, **options)


@pytest.mark.parametrize("options", OPTIONS)
def test_text_in_every_form(enc, encoder_of, cupy, options):
    encoder = encoder_of(enc)
    rng = random.Random(str(options))
    for data in (b"", b"a", text_with_names(rng, 40), text_with_names(rng, 9000), b"x" * 90_000 + b"\xff" + b"y" * 10):
        want = outcome(enc.encode_to_numpy, data, **options)
        forms = [data, bytearray(data), np.frombuffer(data, np.uint8), cupy.asarray(np.frombuffer(data, np.uint8))]
        forms.append(cupy.concatenate([cupy.zeros(3, cupy.uint8), forms[-1]])[3:])  # at an odd address
        for form in forms:
            assert result(encoder.encode, form, **options) == want


@pytest.mark.parametrize("options", OPTIONS)
def test_batches_in_every_form(enc, encoder_of, cupy, options):
    rng = random.Random(str(options))
    texts = [text_with_names(rng, rng.randint(0, 9)) for _ in range(2000)]
    for batch in (texts, [*texts, b"a\xff", *texts]):
        want = outcome(enc.encode_ragged, batch, **options)
        assert result(encoder_of(enc).encode_batch, batch, **options) == want
    forms = [cupy.asarray(np.frombuffer(text, np.uint8)) for text in texts[:200]]
    assert result(encoder_of(enc).encode_batch, forms, **options) == outcome(enc.encode_ragged, texts[:200], **options)


def test_special_tokens_in_long_text(enc, encoder_of, text):
    want = enc.encode_to_numpy(text, allowed_special="all")
    oracle.assert_same(encoder_of(enc).encode(text, allowed_special="all").get(), want, enc)
    with pytest.raises(ValueError) as theirs:
        enc.encode_to_numpy(text)
    with pytest.raises(ValueError) as ours:
        encoder_of(enc).encode(text)
    assert str(ours.value) == str(theirs.value)


def test_dlpack_to_torch(encoder_of):
    torch = pytest.importorskip("torch", reason="needs torch with CUDA")
    enc = streamtok.get_encoding("o200k_base")
    ids = gpu.GpuEncoder(enc, ids="int64").encode("hello world")
    tensor = torch.from_dlpack(ids)
    assert tensor.data_ptr() == ids.data.ptr
    assert tensor.tolist() == enc.encode("hello world")
    data = torch.frombuffer(bytearray(b"text of torch"), dtype=torch.uint8).cuda()
    assert encoder_of(enc).encode(data).get().tolist() == enc.encode("text of torch")
    stream = torch.cuda.Stream()
    encoder = gpu.GpuEncoder(enc, stream=stream)
    assert encoder.encode("hello world").get().tolist() == enc.encode("hello world")


def test_dlpack_without_a_copy(encoder_of, cupy, enc):
    ids = encoder_of(enc).encode("hello world")
    assert cupy.from_dlpack(ids).data.ptr == ids.data.ptr


def test_streams_of_the_caller(cupy):
    enc = streamtok.get_encoding("cl100k_base")
    data = corpus("english")[:300_000]
    want = enc.encode_to_numpy(data, disallowed_special=())
    stream = cupy.cuda.Stream(non_blocking=True)
    for given in (stream, stream.ptr, None):
        encoder = gpu.GpuEncoder(enc, stream=given)
        with stream:
            oracle.assert_same(encoder.encode(data, disallowed_special=()).get(), want, enc)


@pytest.mark.parametrize("ids", ["uint16", "uint32", "int32", "int64"])
def test_dtypes_and_timing(ids):
    enc = streamtok.get_encoding("r50k_base")
    encoder = gpu.GpuEncoder(enc, ids=ids)
    got, timing = encoder.encode(corpus("code")[:200_000], disallowed_special=(), timing=True)
    assert got.dtype == ids
    assert got.get().tolist() == enc.encode_to_numpy(corpus("code")[:200_000], disallowed_special=()).tolist()
    assert 0 < timing.kernel < timing.wall
    assert 0 < timing.copy < timing.wall


def test_memory_limit(enc, text, cupy):
    cupy.get_default_memory_pool().free_all_blocks()
    limit = 256 << 20
    encoder = gpu.GpuEncoder(enc, memory_limit=limit)
    data = text * 8
    want = enc.encode_to_numpy(data, allowed_special="all", num_threads=8)
    oracle.assert_same(encoder.encode(data, allowed_special="all").get(), want, enc)
    assert encoder.memory <= limit
    oracle.assert_same(
        encoder.encode(cupy.asarray(np.frombuffer(data, np.uint8)), allowed_special="all").get(), want, enc
    )


def test_a_steady_call_takes_no_memory_from_the_driver(enc, encoder_of, cupy):
    data = corpus("english")[:3_000_000]
    encoder, pool = encoder_of(enc), cupy.get_default_memory_pool()
    for _ in range(3):
        encoder.encode(data, disallowed_special=())
    before = pool.total_bytes()
    for _ in range(5):
        encoder.encode(data, disallowed_special=())
    assert pool.total_bytes() == before


def test_out_of_memory_at_every_allocation(cupy):
    enc = streamtok.get_encoding("o200k_base")
    texts = [b"some text", b"<|endoftext|>more", b"x" * 900, corpus("english")[:5000]]
    want = outcome(enc.encode_ragged, texts, allowed_special="all")
    encoder = gpu.GpuEncoder(enc)
    left = [0]

    def allocate(size: int) -> object:
        if not left[0]:
            raise cupy.cuda.memory.OutOfMemoryError(size, 0, 0)
        left[0] -= 1
        return cupy.cuda.memory._malloc(size)

    failed = 0
    for n in range(200):
        encoder._slot.forget()
        left[0] = n
        with cupy.cuda.using_allocator(allocate):
            try:
                got = result(encoder.encode_batch, texts, allowed_special="all")
            except gpu.DeviceMemoryError:
                failed += 1
                continue
        assert got == want
        break
    assert 10 < failed < 199
    assert result(encoder.encode_batch, texts, allowed_special="all") == want


@pytest.mark.parametrize("is_shared", [True, False])
def test_two_threads(enc, encoder_of, is_shared):
    data = corpus("multilingual")
    parts = cut_at_random(random.Random(1), data[:3_000_000].decode("utf-8", "ignore").encode(), 300_000)
    want = [enc.encode_to_numpy(part, disallowed_special=()).tolist() for part in parts]
    got: dict[int, list[list[int]]] = {}

    def run(i: int) -> None:
        encoder = encoder_of(enc) if is_shared else gpu.GpuEncoder(enc)
        got[i] = [encoder.encode(part, disallowed_special=()).get().tolist() for part in parts]

    threads = [threading.Thread(target=run, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == {0: want, 1: want}


# ==== Host to host ====


@pytest.mark.parametrize("chunk_size", [100_000, 1 << 20, 32 << 20])
def test_pipeline(enc, text, chunk_size):
    pipeline = gpu.GpuPipeline(enc, chunk_size=chunk_size)
    want = enc.encode_to_numpy(text, allowed_special="all")
    oracle.assert_same(pipeline.encode(text, allowed_special="all"), want, enc)
    texts = cut_at_random(random.Random(2), text, 20_000)
    ids, indptr = pipeline.encode_batch(texts, allowed_special="all", errors="replace")
    want, starts = enc.encode_ragged(texts, allowed_special="all", errors="replace")
    oracle.assert_same(ids, want, enc)
    np.testing.assert_array_equal(indptr, starts)


def test_pinned_memory(enc, text):
    cupyx = pytest.importorskip("cupyx")
    source = cupyx.empty_pinned(len(text), np.uint8)
    source[:] = np.frombuffer(text, np.uint8)
    out = cupyx.empty_pinned(len(text), np.uint32)
    pipeline = gpu.GpuPipeline(enc, chunk_size=500_000)
    ids = pipeline.encode(source, out=out, allowed_special="all")
    oracle.assert_same(ids, enc.encode_to_numpy(text, allowed_special="all"), enc)
    assert ids.ctypes.data == out.ctypes.data


def test_several_devices(enc, text, cupy):
    count = cupy.cuda.runtime.getDeviceCount()
    if count < 2:
        pytest.skip("one device here")
    pipeline = gpu.GpuPipeline(enc, device=list(range(count)), chunk_size=200_000)
    oracle.assert_same(
        pipeline.encode(text, allowed_special="all"), enc.encode_to_numpy(text, allowed_special="all"), enc
    )


@pytest.mark.parametrize("device", ["cuda", "auto"])
def test_methods_of_encoding(enc, text, device, monkeypatch, tmp_path):
    monkeypatch.setenv("STREAMTOK_CACHE", str(tmp_path))
    options = {"allowed_special": "all", "device": device}
    cpu = {"allowed_special": "all"}
    for _ in range(2 if device == "cuda" else 8):  # "auto" opens the device once there was text enough
        oracle.assert_same(enc.encode_to_numpy(text, **options), enc.encode_to_numpy(text, **cpu), enc)
    texts = cut_at_random(random.Random(3), text[:2_000_000].decode("utf-8", "ignore").encode(), 5000)
    assert outcome(enc.encode_ragged, texts, **options) == outcome(enc.encode_ragged, texts, **cpu)
    strings = [part.decode() for part in texts]
    assert enc.encode_batch(strings, **options) == enc.encode_batch(strings, **cpu)


@pytest.mark.parametrize("device", ["cuda", "auto"])
@pytest.mark.filterwarnings("ignore:.* has no pattern")  # of the encoding that a pickle makes
def test_stream(enc, text, device):
    rng = random.Random(device)
    want = enc.encode_to_numpy(text * 4, allowed_special="all")
    stream = enc.stream_encoder(allowed_special="all", device=device)
    got = []
    for i, chunk in enumerate(oracle.random_cuts(rng, text * 4, (100, 50_000, 3_000_000))):
        got.append(np.array(stream.feed(chunk)))
        if i % 50 == 7:
            stream = pickle.loads(pickle.dumps(stream))
    got.append(stream.flush())
    oracle.assert_same(np.concatenate(got), want, enc)


@pytest.mark.parametrize("documents", ["text", "lines"])
def test_file(enc, text, documents, tmp_path):
    (tmp_path / "in.txt").write_bytes(text * 8)
    options = {"allowed_special": "all", "documents": documents, "append_eot": True}
    enc.encode_file(tmp_path / "in.txt", tmp_path / "cpu.bin", num_threads=8, **options)
    enc.encode_file(tmp_path / "in.txt", tmp_path / "gpu.bin", device="cuda", **options)
    assert (tmp_path / "cpu.bin").read_bytes() == (tmp_path / "gpu.bin").read_bytes()


def test_info_names_the_device():
    cuda = streamtok.info()["cuda"]
    assert cuda["devices"][0]["name"] and cuda["driver"] and cuda["cupy"]
