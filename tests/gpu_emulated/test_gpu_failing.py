"""A device that is missing or fails: the errors of device="cuda", and the CPU's ids from device="auto"."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import types
import warnings

import numpy as np
import oracle
import pytest
from click.testing import CliRunner
from host_device import CUDARuntimeError, HostDevice, OutOfMemoryError

import streamtok
from streamtok import gpu
from streamtok.gpu import _calibration, _open, _select
from streamtok.gpu._calibration import Load
from streamtok.gpu._starts import Buffers
from streamtok.gpu._text import DeviceText
from streamtok.gpu._waiting import Steps
from streamtok.patterns.rows import ROWS

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ to compile the kernels for the CPU")


class CompileException(Exception):
    """As CuPy's, which is not a RuntimeError."""


CompileException.__module__ = "cupy.cuda.compiler"


class Stub:
    """Stands for CuPy with a driver and one device that can do nothing."""

    def __init__(self, count=1, driver=13000, built_for=12090, capability="90", compile_error=None):
        self.__name__, self.__version__ = "cupy", "13.6.0"
        properties = {"name": b"Stub GPU", "major": 9, "minor": 0, "totalGlobalMem": 1 << 30}

        def get_count() -> int:
            if isinstance(count, Exception):
                raise count
            return count

        class Device:
            compute_capability, attributes = capability, {"MultiProcessorCount": 1}

            def __init__(self, ordinal: int) -> None:
                self.ordinal = ordinal

        def raw_module(**arguments: object) -> object:
            raise compile_error or AssertionError("no kernels here")

        runtime = types.SimpleNamespace(
            getDeviceCount=get_count,
            driverGetVersion=lambda: driver,
            runtimeGetVersion=lambda: built_for,
            getDeviceProperties=lambda ordinal: properties,
            getDevice=lambda: 0,
            setDevice=lambda ordinal: None,
        )
        self.cuda = types.SimpleNamespace(runtime=runtime, Device=Device)
        self.RawModule = raw_module


NO_DRIVER = CUDARuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient")

FAILURES = {
    "no CuPy": (None, "CuPy"),
    "no driver": (Stub(NO_DRIVER, driver=0), "no CUDA driver was found"),
    "old driver": (
        Stub(NO_DRIVER, driver=11040),
        "driver is of version 11.4 and this CuPy needs 12: update the driver",
    ),
    "no device": (Stub(0), "CUDA_VISIBLE_DEVICES"),
    "old device": (Stub(capability="70"), "has compute capability 7.0; the kernels need 7.5"),
    "kernels": (Stub(compile_error=CompileException("error: identifier")), "did not compile for cuda:0"),
    "memory": (Stub(compile_error=OutOfMemoryError("Out of memory allocating 512 bytes")), "too little free memory"),
}


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """No device opened, nobody warned, nothing measured; and a device is opened at once."""
    monkeypatch.setattr(_open, "_opened", {})
    monkeypatch.setattr(_select, "_warned", set())
    monkeypatch.setattr(_select, "OPENING", 0)
    monkeypatch.setenv("STREAMTOK_CACHE", str(tmp_path))
    for name in streamtok.list_encoding_names():
        monkeypatch.setattr(streamtok.get_encoding(name), "_devices", None)


def use(monkeypatch: pytest.MonkeyPatch, cupy: Stub | None) -> None:
    monkeypatch.setitem(sys.modules, "cupy", cupy)


@pytest.mark.parametrize("kind", FAILURES)
def test_a_device_asked_for_by_name_raises(fresh, monkeypatch, enc, kind):
    cupy, message = FAILURES[kind]
    use(monkeypatch, cupy)
    calls = [
        lambda: gpu.GpuEncoder(enc),
        lambda: gpu.GpuPipeline(enc),
        lambda: enc.encode_to_numpy("a", device="cuda"),
        lambda: enc.encode_batch(["a"], device="cuda:0"),
        lambda: enc.encode_ragged(["a"], device="cuda"),
        lambda: enc.stream_encoder(device="cuda"),
        lambda: enc.encode_file(__file__, os.devnull + ".bin", device="cuda"),
    ]
    for call in calls:
        with pytest.raises(gpu.DeviceError, match=message) as caught:
            call()
        assert isinstance(caught.value, RuntimeError)
        assert isinstance(caught.value, MemoryError) == (kind == "memory")


def test_a_device_beyond_the_last(fresh, monkeypatch, enc):
    use(monkeypatch, Stub(2))
    with pytest.raises(gpu.DeviceError, match="there is no device 'cuda:7': there are 2 devices, 'cuda:0' to 'cuda:1'"):
        gpu.GpuEncoder(enc, device=7)


@pytest.mark.parametrize("kind", FAILURES)
def test_auto_warns_once_and_gives_the_ids_of_the_cpu(fresh, monkeypatch, enc, tmp_path, kind):
    cupy, message = FAILURES[kind]
    use(monkeypatch, cupy)
    text = "some text, don't " * 5000
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert enc.encode_to_numpy(text, device="auto").tolist() == enc.encode(text)
        assert enc.encode_batch([text, "b"], device="auto") == enc.encode_batch([text, "b"])
        assert enc.encode_ragged([text, b"b"], device="auto")[1].tolist() == enc.encode_ragged([text, "b"])[1].tolist()
        stream = enc.stream_encoder(device="auto")
        assert stream.feed(text).tolist() + stream.flush().tolist() == enc.encode(text)
        (tmp_path / "in.txt").write_text(text)
        enc.encode_file(tmp_path / "in.txt", tmp_path / "out.bin", device="auto")
        other = streamtok.get_encoding("o200k_base")
        assert other.encode_to_numpy(text, device="auto").tolist() == other.encode(text)
    assert np.fromfile(tmp_path / "out.bin", np.uint32).tolist() == enc.encode(text)
    assert [str(warning.message) for warning in seen if message not in str(warning.message)] == []
    assert len(seen) == 1
    assert seen[0].category is RuntimeWarning
    assert "the same ids" in str(seen[0].message)


def test_auto_leaves_short_programs_alone(fresh, monkeypatch, enc):
    monkeypatch.setattr(_select, "OPENING", 1 << 20)
    use(monkeypatch, Stub(NO_DRIVER))
    assert enc.encode_to_numpy("a" * 1000, device="auto").tolist() == enc.encode("a" * 1000)


def test_a_pattern_without_a_table_stays_on_the_cpu(fresh, monkeypatch, make_tiny):
    use(monkeypatch, None)
    own = make_tiny(pat_str=r"\w+(?=ab)|(?s:.)")
    for device in ("cuda", "auto"):
        assert own.encode_to_numpy("ab abc", device=device).tolist() == own.encode("ab abc")
        assert own.encode_batch(["ab"], device=device) == [own.encode("ab")]


# ==== A device that fails after it has worked ====


@pytest.fixture
def device(fresh, monkeypatch):
    """One emulated device, which "auto" takes for very fast."""
    device = HostDevice("cl100k")
    monkeypatch.setattr(_open, "open_device", lambda family, ordinal, modules: device)
    monkeypatch.setattr(_select, "has_cupy", lambda: True)
    monkeypatch.setattr(_calibration, "measure", lambda encoding, coder: rates_of(1.0, 1e-9, 1e-12))
    return device


@needs_compiler
@pytest.mark.parametrize(
    ("error", "lasts"),
    [(CUDARuntimeError("cudaErrorDevicesUnavailable"), True), (OutOfMemoryError("no memory"), False)],
)
def test_a_device_that_fails_later(device, enc, monkeypatch, error, lasts):
    text = "some text " * 50
    monkeypatch.setattr(streamtok._device, "LITTLE", 0)
    launches = []
    launch = device.launch
    device.launch = lambda *arguments: (launches.append(arguments[0]), launch(*arguments))
    assert enc.encode_to_numpy(text, device="auto").tolist() == enc.encode(text)
    assert launches
    device.failure = error
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(3):
            assert enc.encode_to_numpy(text, device="auto").tolist() == enc.encode(text)
            assert enc.encode_batch([text], device="auto") == [enc.encode(text)]
    assert len(seen) == 1
    device.failure = None
    launches.clear()
    assert enc.encode_to_numpy(text, device="auto").tolist() == enc.encode(text)
    assert bool(launches) != lasts
    with pytest.raises(gpu.DeviceError):
        device.failure = error
        enc.encode_to_numpy(text, device="cuda")


@needs_compiler
def test_a_lost_device_is_not_asked_again(device, enc):
    pipeline = gpu.GpuPipeline(enc)
    device.failure = CUDARuntimeError("cudaErrorIllegalAddress")
    with pytest.raises(gpu.DeviceError, match="restart the program"):
        pipeline.encode("a b")
    device.failure = None
    with pytest.raises(gpu.DeviceError, match="cudaErrorIllegalAddress"):
        pipeline.encode("a b")


@needs_compiler
def test_errors_in_the_text_are_no_failure_of_the_device(device, enc):
    with pytest.raises(ValueError, match="disallowed special token '<|endoftext|>'".replace("|", r"\|")):
        enc.encode_to_numpy("a <|endoftext|>", device="auto")
    with pytest.raises(UnicodeDecodeError):
        enc.encode_to_numpy(b"a \xff", device="auto")


@needs_compiler
def test_chunks_become_smaller_where_memory_is_short(device, enc, monkeypatch):
    text = "many words in a text " * 300_000
    monkeypatch.setattr(gpu.pipeline, "_SURE_CAPACITY", 1 << 30)
    pipeline = gpu.GpuPipeline(enc, slots=1)
    full, sizes = device.empty, []

    def empty(count: int, dtype: object) -> np.ndarray:
        sizes.append(count * np.dtype(dtype).itemsize)
        if sizes[-1] > 4 << 20:
            raise OutOfMemoryError("no more than 4 MB")
        return full(count, dtype)

    device.empty = empty
    taken = []

    def encoding(text: DeviceText, dtype: object, *_: object) -> Steps:
        taken.append(text.size)
        return full(text.size, dtype), None
        yield

    monkeypatch.setattr(pipeline._slots[0].engine, "encoding", encoding)  # the emulation would take a minute
    assert len(pipeline.encode(text, disallowed_special=())) == len(text) == sum(taken)
    assert sizes[:2] == [len(text)] * 2  # in chunks of 32 MB, and of 8 MB
    assert max(taken) <= 2 << 20
    assert len(taken) <= 5


# ==== What was measured ====


def test_an_address_counts_as_given_up_where_there_is_no_memory_for_the_next():
    """Jobs for short texts are kept with their addresses until one moves."""
    device = HostDevice("r50k")
    buffers = Buffers(device)
    buffers.array("slots", 64, np.uint32)
    moves = buffers.moves
    device.fail_after = device.allocations
    with pytest.raises(MemoryError):
        buffers.array("slots", 128, np.uint32)
    assert buffers.moves > moves


@pytest.mark.parametrize("kind", _calibration.KINDS)
def test_rates_choose_by_kind_size_and_threads(monkeypatch, kind):
    """A thread takes 1e-8 s a byte, and four of them help; the device takes 1e-4 s, and 1e-10 a byte."""
    monkeypatch.setattr(_calibration._batch, "cores", lambda: 16)
    rates = rates_of(1e-8, 1e-4, 1e-10)

    def is_faster(size, threads, **more):
        load = Load(kind, size, max(1, size // _calibration.DOCUMENT), threads, **more)
        return rates.on_device(load) < rates.on_cpu(load)

    assert [is_faster(size, 1) for size in (0, 1000, 9000, 11_000, 10**9)] == [False] * 3 + [True] * 2
    assert [is_faster(size, 4) for size in (11_000, 39_000, 42_000, 10**9)] == [False] * 2 + [True] * 2
    assert is_faster(42_000, 16)  # more threads than help
    rates = rates_of(1e-8, 1e-4, 1e-10, threads=8)  # around the device a file takes the time of six threads
    assert is_faster(10**9, 8) and is_faster(10**9, 5, is_file=True) and not is_faster(10**9, 8, is_file=True)


def test_many_short_texts_count():
    rates = dataclasses.replace(rates_of(1e-8, 1e-4, 1e-10), cpu_text=1e-6, device_text=1e-5)
    for texts, on_device in ((49, True), (1000, False)):
        load = Load("texts", 100_000, texts)
        assert (rates.on_device(load) < rates.on_cpu(load)) is on_device


def test_what_calls_took_corrects_what_was_measured(monkeypatch):
    """A call that is slower than predicted, again and again, goes to the other side; and is tried there once more."""
    auto = _select.Auto(streamtok.get_encoding("cl100k_base"), "cl100k")
    clock, load = [0.0], Load("bytes", 12_000)
    monkeypatch.setattr(_select, "time", types.SimpleNamespace(perf_counter=lambda: clock[0]))
    auto._rates, auto._pipeline = rates_of(1e-8, 1e-4, 1e-10), "device"
    takes = {"device": 1.4e-4, "cpu": 1.15e-4}

    def spend(side):
        clock[0] += takes[side]
        return side

    def ran(load=load):
        return auto.choose(*load[:4], lambda _: spend("device"), lambda: spend("cpu"))

    ways = [ran() for _ in range(300)]
    assert ways[:3] == ["device"] * 3 and ways[20:].count("device") < 30 and "device" in ways[100:]  # seldom, again
    takes["device"] = 0.9e-4
    ways = [ran() for _ in range(300)]
    assert ways[-1] == "device"
    takes["device"] = 1.0  # once, by chance
    ran()
    takes["device"] = 0.9e-4
    assert [ran() for _ in range(300)] == ["device"] * 300
    assert (
        len(auto._paces) == 1
        and not auto.is_for_cpu(*load[:4])
        and ran(Load("str", 11_000)) == "device"
        and ran(Load("bytes", 100)) == "cpu"
    )


def test_short_calls_are_weighed_once_in_eight(monkeypatch):
    auto = _select.Auto(streamtok.get_encoding("cl100k_base"), "cl100k")
    clock, takes = [0.0], {"device": 9e-5, "cpu": 4e-5}
    looks = []

    def perf_counter():
        looks.append(clock[0])
        return clock[0]

    monkeypatch.setattr(_select, "time", types.SimpleNamespace(perf_counter=perf_counter))
    auto._rates, auto._pipeline = rates_of(1e-8, 5e-5, 1e-9), "device"

    def spend(side):
        clock[0] += takes[side]
        return side

    def ran(size):
        facts = "bytes", size, 1, 1
        if auto.is_for_cpu(*facts):
            return spend("cpu")
        return auto.choose(*facts, lambda _: spend("device"), lambda: spend("cpu"))

    assert [ran(5000 + i % 100) for i in range(80)] == ["cpu"] * 80
    assert len(looks) == 2 * 10
    takes["cpu"] = 9.9e-5  # twice as slow as predicted, as a text with other words may be
    takes["device"] = 5e-5
    ways = [ran(5000) for _ in range(400)]
    assert ways[0] == "cpu" and ways[-1] == "device"
    assert len(auto._choices) == 1


def rates_of(cpu, start, device, threads=4):
    """Of all kinds alike. threads: how many help."""
    of_cpu = [(1000, 1000 * cpu / threads), (10**6, 10**6 * cpu / threads)]
    of_device = [(1000, start + 1000 * device), (10**6, start + 10**6 * device)]
    return _calibration.Rates(
        dict.fromkeys(_calibration.KINDS, of_cpu),
        dict.fromkeys(_calibration.KINDS, cpu),
        dict.fromkeys(_calibration.KINDS, of_device),
    )


def test_rates_are_kept(fresh, tmp_path):
    rates = rates_of(1.5, 2.5, 3.5)
    assert _calibration.read("x") is None
    _calibration.write("x", rates)
    _calibration.write("y", rates_of(1, 1, 1))
    assert _calibration.read("x") == rates
    assert os.listdir(tmp_path) == ["devices.json"]
    whole = json.loads((tmp_path / "devices.json").read_text())["x"]
    bad = [3, {"cpu": "a"}, {"no": 1}, {**whole, "one": {}}, {**whole, "cpu": {**whole["cpu"], "str": [[1, 2]]}}]
    bad += [{**whole, "device": {**whole["device"], "str": [[2, 2.0], [1, 2.0]]}}, {"cpu": 1, "start": 1, "device": 1}]
    for damaged in ("", "[]", "{", *(json.dumps({"x": each}) for each in bad)):
        (tmp_path / "devices.json").write_text(damaged)
        assert _calibration.read("x") is None
    _calibration.write("x", rates)
    assert _calibration.read("x") == rates


def test_rates_that_cannot_be_kept_are_no_error(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("STREAMTOK_CACHE", str(tmp_path / "file" / "below"))
    _calibration.write("x", rates_of(1, 1, 1))
    assert _calibration.read("x") is None


@needs_compiler
def test_calibration_measures_and_keeps(fresh, monkeypatch, enc, tmp_path):
    monkeypatch.setattr(_calibration, "_SIZES", (1 << 10, 1 << 13))
    monkeypatch.setattr(_open, "open_device", HostDevice)
    rates = gpu.calibrate(enc)
    for kind in _calibration.KINDS:
        for curve in (rates.cpu[kind], rates.device[kind]):
            assert [size for size, _ in curve] == [1 << 10, 1 << 13] and all(seconds > 0 for _, seconds in curve)
        assert 0 < rates.one[kind] < 1e-5
    (key,) = json.loads((tmp_path / "devices.json").read_text())
    assert "emulated 0 cl100k" in key
    assert _select.rates_of(enc, gpu.GpuPipeline(enc)) == rates


# ==== What is current ====


class Recorder:
    """Records which device is current, and has streams that need their own device to be current."""

    def __init__(self) -> None:
        self.device, self.log = 0, []

    def getDevice(self) -> int:
        return self.device

    def setDevice(self, ordinal: int) -> None:
        self.device = ordinal

    def __enter__(self) -> None:
        self.log.append(self.device)

    def __exit__(self, *error: object) -> None:
        self.log.append(self.device)


def test_a_stream_is_current_on_its_device():
    from streamtok.native.launch import Current

    runtime = Recorder()
    with pytest.raises(KeyError):
        with Current(runtime, 2, runtime):
            with Current(runtime, 1):
                assert runtime.device == 1
            assert runtime.device == 2
            raise KeyError
    assert runtime.device == 0
    assert runtime.log == [2, 2]


# ==== The process ====


def test_importing_the_engine_imports_no_cupy():
    code = "import sys, streamtok.gpu; sys.exit('cupy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=oracle.PROJECT).returncode == 0


def test_a_forked_process_is_told(fresh, monkeypatch, enc):
    monkeypatch.setattr(_open, "_process", os.getpid() + 1)
    with pytest.raises(gpu.DeviceError, match="'spawn'"):
        gpu.GpuEncoder(enc)


def test_info_names_the_devices(fresh, monkeypatch):
    use(monkeypatch, Stub())
    cuda = streamtok.info()["cuda"]
    assert cuda["devices"] == [{"name": "Stub GPU", "capability": "9.0", "memory": 1 << 30}]
    assert (cuda["driver"], cuda["runtime"], cuda["cupy"]) == ("13.0", "12.9", "13.6.0")
    use(monkeypatch, None)
    assert "CuPy" in streamtok.info()["cuda"]["missing"]
    assert streamtok.info()["cuda"]["kernels"] == [*ROWS, "table", "none"]


def test_command_line(fresh, monkeypatch, tmp_path):
    from streamtok.cli.app import app

    use(monkeypatch, None)
    (tmp_path / "in.txt").write_text("hello")
    arguments = ["encode", str(tmp_path / "in.txt"), "-o", str(tmp_path / "out.bin"), "--device"]
    failed = CliRunner().invoke(app, [*arguments, "cuda"])
    assert failed.exit_code == 1
    assert "install streamtok[cuda12]" in failed.output
    assert CliRunner().invoke(app, [*arguments, "tpu"]).exit_code == 2
    assert CliRunner().invoke(app, ["encode", str(tmp_path / "in.txt"), "--device", "cuda"]).exit_code == 2
    gave_way = CliRunner().invoke(app, [*arguments, "auto"])
    assert gave_way.exit_code == 0 and "CuPy is not installed" in gave_way.output
    assert (tmp_path / "out.bin").exists()
