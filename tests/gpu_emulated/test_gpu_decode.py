"""Decoding on emulated devices: bytes, offsets and errors are the CPU's, for ids in any form and of any kind."""

from __future__ import annotations

import random
import shutil

import nasty
import numpy as np
import oracle
import pytest
from host_device import DeviceArray, HostDevice
from odd_ids import of_any_order, of_gaps

import streamtok
from streamtok import gpu
from streamtok._device import devices_of
from streamtok.gpu import _open, decode_pipeline
from streamtok.gpu.ids import jobs
from streamtok.native.buffers import BytesBuffer, rows_of_bytes

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ to compile the kernels for the CPU")

KINDS = ["r50k_base", "o200k_base", "gaps", "any order"]


@pytest.fixture(autouse=True)
def devices(monkeypatch):
    """One emulated device, whoever opens it."""
    made: dict[str, HostDevice] = {}

    def open_device(family, ordinal, modules=()):
        return made.setdefault(family, HostDevice(family, ordinal, modules))

    monkeypatch.setattr(_open, "open_device", open_device)
    return made


@pytest.fixture(params=KINDS)
def enc(request, tmp_path):
    if request.param == "gaps":
        return of_gaps()
    return of_any_order(tmp_path) if request.param == "any order" else oracle.named(request.param)


def there(ids: object, dtype: object = np.uint32) -> DeviceArray:
    given = np.asarray(ids, dtype)
    copy = HostDevice("none").empty(given.size, dtype).view(DeviceArray).reshape(given.shape)
    copy[...] = given
    return copy


def known_ids(enc: streamtok.Encoding, rng: random.Random) -> list[int]:
    """Ordinary tokens, of all lengths, and special and other added ones."""
    tokens = list(enc.token_byte_values())
    long = sorted(tokens, key=len)[-150:]
    chosen = rng.choices(tokens, k=2500) + long
    return [enc.encode_single_token(token) for token in chosen] + list(enc._added_tokens.values())


def random_ids(rng: random.Random, known: list[int], count: int) -> list[int]:
    """Some stretches of one kind: of long tokens a tile has more bytes than a warp's memory."""
    ids: list[int] = []
    while len(ids) < count:
        some = known if rng.random() < 0.6 else rng.choices(known[-160:], k=3)
        ids += rng.choices(some, k=rng.choice([1, 7, 40, 300]))
    return ids[:count]


def outcome(call, *arguments, **options):
    """What a call gives, as bytes and lists, or the error that it raises."""
    try:
        found = call(*arguments, **options)
    except (KeyError, ValueError, OverflowError, TypeError) as error:
        return type(error), str(error)
    parts = found if isinstance(found, tuple) else (found,)
    return [part.tobytes() if part.dtype == np.uint8 else part.tolist() for part in parts]


def on_cpu(enc, rows, **options) -> list[object]:
    """What decode_bytes_batch() has to give."""
    parts = enc.decode_bytes_batch(rows, **options)
    return [b"".join(parts), np.cumsum([0, *map(len, parts)]).tolist()]


def test_one_row_of_any_kind(enc, devices):
    rng = random.Random(enc.name)
    decoder, known = gpu.GpuDecoder(enc), known_ids(enc, rng)
    dtypes = [np.uint32, np.int64, np.uint64] + ([np.int32] if max(known) < 2**31 else [])
    for number, size in enumerate([0, 1, 31, 32, 33, 255, 256, 257, 600, 2049, 9000]):
        ids = random_ids(rng, known, size)
        want, left = enc.decode_bytes(ids), enc.decode_bytes(ids, skip_special_tokens=True)
        for given in (ids, np.array(ids, np.int64), there(ids), there(ids, dtypes[number % len(dtypes)])):
            assert decoder.decode_bytes(given).tobytes() == want
            assert decoder.decode_bytes(given, skip_special_tokens=True).tobytes() == left
        with devices[jobs.FAMILY].shuffled(number + 1):
            data, starts = decoder.decode_tokens_bytes(there(ids))
        assert data.tobytes() == want and starts.dtype == np.int64
        assert starts.tolist() == np.cumsum([0, *map(len, enc.decode_tokens_bytes(ids))]).tolist()


def test_narrow_ids():
    enc = oracle.named("r50k_base")
    decoder = gpu.GpuDecoder(enc)
    for dtype, most in ((np.uint8, 256), (np.int8, 128), (np.uint16, 50_257), (np.int16, 2**15)):
        ids = np.random.default_rng(1).integers(0, most, 3000).astype(dtype)
        assert decoder.decode_bytes(there(ids, dtype)).tobytes() == enc.decode_bytes(ids)


def test_rows(enc, devices):
    rng = random.Random(7)
    decoder, known = gpu.GpuDecoder(enc), known_ids(enc, rng)
    for number, most in enumerate([0, 1, 5, 300, 900]):
        rows = [random_ids(rng, known, rng.randint(0, most)) for _ in range(rng.randint(1, 70))]
        ids, ends = [token for row in rows for token in row], np.cumsum([0, *map(len, rows)])
        for skip in (False, True):
            want = on_cpu(enc, rows, skip_special_tokens=skip)
            mixed = [there(row, np.int64) if i % 3 else row for i, row in enumerate(rows)]
            with devices[jobs.FAMILY].shuffled(number + 1):
                for batch in (rows, [there(row) for row in rows], mixed):
                    assert outcome(decoder.decode_bytes_batch, batch, skip_special_tokens=skip) == want
                for starts in (ends, there(ends, np.int64), there(ends, np.int32)):
                    made = outcome(decoder.decode_bytes_batch, there(ids), starts, skip_special_tokens=skip)
                    assert made == want
    block = np.array(random_ids(rng, known, 600)).reshape(12, 50)
    for batch in (block, there(block, np.int64)):
        assert outcome(decoder.decode_bytes_batch, batch) == on_cpu(enc, list(block))
    assert outcome(decoder.decode_bytes_batch, []) == [b"", [0]]


def test_bad_ids_have_the_errors_of_the_cpu(enc):
    rng = random.Random(8)
    decoder, known = gpu.GpuDecoder(enc), known_ids(enc, rng)
    ids = random_ids(rng, known, 700)
    unknown = [token for token in [3_000_001, 2**31 - 2, 2**32 - 1, 0xF0000000] if token not in known]
    for bad in [*unknown, 2**32, -1, 2**40]:
        for at in (0, 300, 700):
            given = [*ids[:at], bad, *ids[at:]]
            assert outcome(enc.decode_bytes, np.array(given))[0] in (KeyError, OverflowError)
            for form in (given, np.array(given), there(given, np.int64)):
                want = outcome(enc.decode_bytes, form)
                assert outcome(decoder.decode_bytes, form) == want
                assert outcome(decoder.decode_tokens_bytes, form) == want
            rows = [ids, given, [unknown[0]], [-5]]
            for batch in (rows, [there(row, np.int64) for row in rows]):
                want = outcome(enc.decode_bytes_batch, batch, num_threads=1)
                assert outcome(decoder.decode_bytes_batch, batch) == want
    assert decoder.decode_bytes(there(ids)).tobytes() == enc.decode_bytes(ids)  # the next call is as before


def test_arguments_that_are_refused():
    enc = oracle.named("r50k_base")
    decoder = gpu.GpuDecoder(enc)
    for form in (there([[1, 2]]), there([1.5], np.float64), there(3), 7, "text", [[1]]):
        assert outcome(decoder.decode_bytes, form) == outcome(enc.decode_bytes, form)
    assert decoder.decode_bytes(there([], np.float64)).tobytes() == b""
    for batch in (there([1, 2]), there([[[1]]]), there([[0.5]], np.float32), 5):
        assert outcome(decoder.decode_bytes_batch, batch)[0] is outcome(enc.decode_bytes_batch, batch)[0]
    for starts in ([0, 3, 2], [0, 9], [-1, 2], [2**62], [0.0, 1.0], [[0, 1]], []):
        for given in (np.array(starts), there(starts, np.array(starts).dtype)):
            with pytest.raises(ValueError, match="row_starts"):
                decoder.decode_bytes_batch(there([1, 2, 3]), given)
    with pytest.raises(ValueError, match="rows=0"):
        decoder.stream(0)
    with pytest.raises(ValueError, match="has 2 rows, and 3"):
        decoder.stream(2).feed([[1], [2], [3]])


@pytest.mark.parametrize("skip", [False, True])
def test_rows_that_come_in_parts_give_whole_characters(enc, devices, skip):
    """What a row gives at each feed is, decoded, what the CPU's stream gives; whatever the bytes are."""
    rng = random.Random(f"{enc.name} {skip}")
    decoder = gpu.GpuDecoder(enc)
    single = [enc.encode_single_token(bytes([value])) for value in range(256)]
    text = "".join(nasty.random_strings(rng, 40, 60)) + "日本語😀éж" * 30
    tokens = [single[byte] for byte in text.encode("utf-8", "replace")]
    rows = [tokens[rng.randrange(len(tokens)) :][: rng.randint(0, 90)] for _ in range(40)]
    for row in rows[::3]:  # not UTF-8
        for _ in range(4 if row else 0):
            row[rng.randrange(len(row))] = rng.choice(single)
    rows = [[*row, *rng.choices(list(enc._added_tokens.values()), k=i % 2), *row[:5]] for i, row in enumerate(rows)]
    stream, theirs = (
        decoder.stream(len(rows), skip_special_tokens=skip),
        [enc.stream_decoder(skip_special_tokens=skip) for _ in rows],
    )
    done, got, want = [0] * len(rows), [""] * len(rows), [""] * len(rows)
    with devices[jobs.FAMILY].shuffled(5):
        for step in range(60):
            counts = [rng.choice([0, 1, 1, 2, 9]) for _ in rows]
            parts = [row[at : at + n] for row, at, n in zip(rows, done, counts)]
            done = [at + n for at, n in zip(done, counts)]
            data, starts = stream.feed([there(part) for part in parts] if step % 2 else parts)
            for i, part in enumerate(parts):
                got[i] += data[starts[i] : starts[i + 1]].tobytes().decode(errors="replace")
                want[i] += theirs[i].feed(part)
                # CPython holds two bytes of a surrogate, ED A0 to ED BF, which are never text; the device gives them.
                assert got[i][: len(want[i])] == want[i] and got[i][len(want[i]) :] in ("", "\ufffd\ufffd")
            if step == 20:
                with pytest.raises(KeyError, match="3000001"):
                    stream.feed([[single[0xE4], 3_000_001]] * len(rows))
        data, starts = stream.flush()
    for i in range(len(rows)):
        assert (
            got[i] + data[starts[i] : starts[i + 1]].tobytes().decode(errors="replace") == want[i] + theirs[i].flush()
        )
    one = stream.feed(there([single[0xE4], *[single[65]] * (len(rows) - 1)]))
    assert [part.tolist() for part in one] == [[65] * (len(rows) - 1), [0, *range(len(rows))]]
    stream.reset()
    assert len(stream.flush()[0]) == 0


def test_memory(devices):
    decoder = gpu.GpuDecoder(oracle.named("r50k_base"))
    device, ids = devices[jobs.FAMILY], there(np.full(5000, 64))
    for _ in range(2):
        decoder.decode_bytes(ids)
    before = device.allocations
    assert decoder.decode_bytes(ids).tobytes() == oracle.named("r50k_base").decode_bytes(ids)
    assert device.allocations == before + 1
    assert decoder.memory > 50_000 * 16
    device.fail_after = device.allocations
    with pytest.raises(gpu.DeviceMemoryError, match="decode fewer ids"):
        decoder.decode_bytes(ids)
    device.fail_after = None
    assert device.given_back == 1 and len(decoder.decode_bytes(ids)) == 5000


def test_a_vocabulary_that_no_kernel_decodes(monkeypatch):
    enc = oracle.named("r50k_base")
    monkeypatch.setattr(enc, "_rule_decoder", object())
    with pytest.raises(ValueError, match="'r50k_base' has tokens whose text depends on those beside them"):
        gpu.GpuDecoder(enc)


# ==== To the host ====


def test_the_methods_of_encoding(enc, monkeypatch):
    """Whatever lies where, and in however many chunks."""
    monkeypatch.setattr(decode_pipeline, "CHUNK", 700)
    monkeypatch.setattr(decode_pipeline, "_LEAST_CHUNK", 64)
    monkeypatch.setitem(enc.__dict__, "_devices", None)
    rng = random.Random(enc.name)
    known = known_ids(enc, rng)
    pipeline = gpu.GpuDecodePipeline(enc, chunk_size=700)
    monkeypatch.setattr(devices_of(enc), "_decoders", {"cuda": pipeline})
    for size in (0, 1, 699, 1400, 6000 if oracle.LONG else 2900):
        ids = random_ids(rng, known, size)
        for given in (ids, np.array(ids, np.int64), there(ids), there(ids, np.int64)):
            for skip in (False, True):
                options = {"skip_special_tokens": skip}
                want = enc.decode_bytes(ids, **options)
                assert enc.decode_bytes(given, device="cuda", **options) == want
                assert enc.decode(given, device="cuda", **options) == want.decode(errors="replace")
        out = np.empty(len(want) + 5, np.uint8)
        assert pipeline.decode_bytes(ids, out=out, **options).tobytes() == want == out[: len(want)].tobytes()
        if want:
            with pytest.raises(ValueError, match="out has room for"):
                pipeline.decode_bytes(ids, out=out[: len(want) - 1], **options)
    rows = [random_ids(rng, known, rng.choice([0, 0, 3, 90, 1500])) for _ in range(30 if oracle.LONG else 12)] + [[]]
    block = np.array(random_ids(rng, known, 900)).reshape(3, 300)
    for batch in (rows, [there(row, np.int64) for row in rows], [], [[]], block, there(block)):
        for skip in (False, True):
            options = {"skip_special_tokens": skip}
            assert enc.decode_bytes_batch(batch, device="cuda", **options) == enc.decode_bytes_batch(batch, **options)
            assert enc.decode_batch(batch, device="cuda", **options) == enc.decode_batch(batch, **options)
    bad = [*ids[:1000], 3_000_001, *ids]
    for given in (bad, there(bad), [*bad, -1], there([*bad, -1], np.int64), "text", there([[1, 2]])):
        assert outcome(enc.decode_bytes, given, device="cuda") == outcome(enc.decode_bytes, given)
        assert outcome(enc.decode, given, device="cuda") == outcome(enc.decode, given)
    for batch in ([ids, bad, [-1]], [[-1], bad], 5):
        want = outcome(enc.decode_bytes_batch, batch, num_threads=1)
        assert outcome(enc.decode_bytes_batch, batch, device="cuda") == want
    half = [enc.encode_single_token(bytes([0xE4]))] if enc.name != "any order" else ids
    for errors in ("strict", "ignore", "bogus"):
        assert message(enc.decode, half, errors, device="cuda") == message(enc.decode, half, errors)
        assert message(enc.decode_batch, [half], errors=errors, device="cuda") == message(
            enc.decode_batch, [half], errors=errors
        )


def message(call, *arguments, **options):
    try:
        return call(*arguments, **options)
    except (UnicodeDecodeError, LookupError) as error:
        return type(error), str(error)


def test_auto_decodes_where_the_ids_lie(monkeypatch, devices):
    enc = oracle.named("r50k_base")
    monkeypatch.setitem(enc.__dict__, "_devices", None)
    ids = enc.encode("some text")
    assert enc.decode_bytes(ids, device="auto") == b"some text" and not devices
    monkeypatch.setattr("streamtok._device.lies_on_a_device", lambda ids: isinstance(ids, DeviceArray))
    assert enc.decode_bytes(there(ids), device="auto") == b"some text" and jobs.FAMILY in devices
    with pytest.raises(ValueError, match="device='tpu' is unknown"):
        enc.decode(ids, device="tpu")
    for options in ({"chunk_size": 0}, {"lanes": 0}):
        with pytest.raises(ValueError, match="write 1 or more"):
            gpu.GpuDecodePipeline(enc, **options)
    with pytest.raises(ValueError, match="one row of uint8"):
        gpu.GpuDecodePipeline(enc).decode_bytes(ids, out=np.empty(9, np.uint32))
    monkeypatch.setattr(enc, "_rule_decoder", Spelled())
    with pytest.raises(ValueError, match="depends on those beside them"):
        gpu.GpuDecodePipeline(enc)
    assert enc.decode_bytes(ids, device="cuda") == b"spelled" * len(ids)


class Spelled:
    """Stands in for a model_files.RuleDecoder: the CPU decodes then."""

    @property
    def core(self) -> Spelled:
        return self

    def bytes_of(self, decoder: object, ids: list[int], *how: bool) -> bytes:
        return b"spelled" * len(ids)


def test_room_for_bytes():
    room = BytesBuffer(5000)
    view = np.frombuffer(memoryview(room), np.uint8)
    view[:5] = list(b"hello")
    with pytest.raises(BufferError, match="still in use"):
        room.taken(5)
    del view
    with pytest.raises(ValueError, match="has 5000 bytes, and 5001"):
        room.taken(5001)
    assert room.taken(5) == b"hello"
    for call in (lambda: room.taken(5), lambda: memoryview(room)):
        with pytest.raises(BufferError, match="taken"):
            call()
    with pytest.raises(ValueError, match="row 2 begins at 9"):
        rows_of_bytes(b"abc", np.array([0, 1, 9]), None)
