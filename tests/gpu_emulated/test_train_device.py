"""Training on a device, by the emulation of its kernels: the CPU's merges whatever the text, the options and the
launch, and what happens when the device fails."""

from __future__ import annotations

import random
import shutil
import sys

import device_training
import numpy as np
import oracle
import pytest
from device_training import LAUNCHES, OPTIONS, TIES, assert_alike, refused_alike, runs, same, trained
from emulated import at_the_end_of_memory
from host_device import CUDARuntimeError, DeviceArray, HostDevice

import streamtok
from streamtok.gpu import DeviceError, DeviceMemoryError, _open
from streamtok.native.trainer import Counter, Trainer
from streamtok.train import run, train
from streamtok.train.counting import Counting
from streamtok.train.gpu import count as device_count
from streamtok.train.gpu import learn, placement
from streamtok.train.gpu import table as device_table
from streamtok.train.gpu.count import DeviceCounting
from streamtok.train.gpu.jobs import LONGEST, TRAINING
from streamtok.train.gpu.row import row_of_pieces, row_of_trainer
from streamtok.train.inputs import How, Place, open_inputs
from streamtok.train.options import make_options
from streamtok.train.records import Store

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ to compile the kernels for the CPU")

SMALL = {"block": 64, "pairs": 1 << 12}  # the emulation runs one thread after the other, so few of them
DEFAULTS = {"pattern": "cl100k", "special_tokens": (), "min_frequency": 0, "ties": "lexicographic"}
DEFAULTS |= {"max_token_length": None, "initial_alphabet": None, "documents": None, "key": "text", "errors": "strict"}
ENGLISH = oracle.topics()[:40_000].encode()


class Device(HostDevice):
    """`lost_at`: the launch of that number fails, and all later ones. Memory ends with each array."""

    def __init__(self) -> None:
        super().__init__("cl100k", 0, (TRAINING,))
        self.launches = 0
        self.kernels: list[str] = []
        self.lost_at: int | None = None
        self.is_guarded = False

    def empty(self, count: int, dtype: object) -> np.ndarray:
        array = super().empty(count, dtype)
        if not self.is_guarded:
            return array
        guarded = at_the_end_of_memory(bytes([0xA5]) * array.nbytes)
        return guarded.view(dtype).view(DeviceArray)

    def launch(self, kernel: str, argument: np.ndarray, grid: int, block: int) -> None:
        self.launches += 1
        self.kernels.append(kernel)
        if self.lost_at is not None and self.launches > self.lost_at:
            raise CUDARuntimeError("cudaErrorIllegalAddress")
        super().launch(kernel, argument, grid, block)


@pytest.fixture
def device(monkeypatch) -> Device:
    made = Device()

    def open_device(family: str, ordinal: int, modules: object) -> Device:
        made._family = family
        return made

    monkeypatch.setattr(_open, "open_device", open_device)
    monkeypatch.setattr(placement, "AUTO_BYTES", 0)
    tune(monkeypatch)
    return made


def tune(monkeypatch, **more: int) -> None:
    monkeypatch.setattr(learn, "TUNING", learn.Tuning(**{**SMALL, **more}))


# ==== the same merges ====


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("text", [ENGLISH, oracle.stdlib_sources()[:40_000].encode(), runs(7, 150)], ids=len)
def test_merges_are_those_of_the_cpu(device, text, ties):
    same(text, 900, ties=ties)
    assert device.launches > 5


@pytest.mark.parametrize("ties", TIES)
def test_to_the_last_pair_of_a_text(device, ties):
    same(b"ab", 256, ties=ties)
    same("\u00e9\u4e2d\u6587 ab ba aab \U0001f600 ".encode() * 3 + ENGLISH[:1500], 3000, ties=ties)


@pytest.mark.parametrize(
    "options",
    [
        *OPTIONS,
        {"min_frequency": 20},
        {"max_token_length": 1},
        {"documents": "lines"},
        {"max_memory": 1 << 30},
        {"errors": "replace"},
        {"errors": "ignore"},
    ],
    ids=str,
)
def test_options(device, tmp_path, options):
    text = ENGLISH[:12_000]
    if "errors" in options:
        text = text[:5000] + b"\xff\xe4\xb8" + text[5000:]
    (tmp_path / "text.txt").write_bytes(text)
    same(str(tmp_path / "text.txt"), 600, **options)


def test_documents_of_every_kind(device, tmp_path):
    rng = random.Random(3)
    text = oracle.topics()
    places = [rng.randrange(20_000) for _ in range(300)]
    texts = [text[at : at + rng.randrange(120)] for at in places] + ["", "a", "\ud800 b", "ab" * 700]
    same(lambda: iter(texts), 700)
    same(lambda: iter([each.encode("utf-8", "replace") for each in texts]), 700, special_tokens=["the"])
    lines = "".join(f'{{"text": "{each}"}}\n' for each in ("to be or not", "to be", "not to be"))
    (tmp_path / "a.jsonl").write_text(lines)
    same([tmp_path / "a.jsonl", ENGLISH[:500]], 300)


@pytest.mark.parametrize("tuning", [{"block": 32, "blocks": 1}, {"block": 96, "alone": 0}, *LAUNCHES], ids=str)
def test_launches_of_any_size(device, monkeypatch, tuning):
    tune(monkeypatch, **tuning)
    same(ENGLISH[:15_000] + runs(2, 30), 700)


def test_room_for_the_bytes_of_tokens_grows(device, monkeypatch):
    """MOST_BYTES is what a token may take: with less at first, the kernel asks for more."""
    monkeypatch.setattr(learn, "MOST_BYTES", 1 << 16)
    asked = []
    grow = learn.DeviceLearner._grow_bytes
    monkeypatch.setattr(learn.DeviceLearner, "_grow_bytes", lambda self: (asked.append(1), grow(self)))
    rng = random.Random(1)
    text = b" ".join(bytes(rng.choice(b"abcdefgh") for _ in range(100)) * 8 for _ in range(8))
    same(text, 900, pattern=None)
    assert asked


# ==== counting ====


def number_at(block: bytes, at: int) -> tuple[int, int]:
    """A number of a record, seven bits a byte, and the place behind it."""
    value = shift = 0
    while True:
        value |= (block[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if block[at - 1] < 128:
            return value, at


def pieces_of(blocks) -> dict[bytes, int]:
    """{piece: count} of records (csrc/train/table.h)."""
    found: dict[bytes, int] = {}
    for block in blocks:
        at = 0
        while at < len(block):
            length, at = number_at(block, at)
            piece = block[at : at + length]
            found[piece], at = number_at(block, at + length)
    return found


def put_all(device: Device, texts: list, slice_bytes: int) -> DeviceCounting:
    how = How()
    host = Counting(streamtok.patterns.CL100K, how, 1, None, Store("", False))
    counting = DeviceCounting(placement.ExplainedDevice(device, "cuda:0"), host, slice_bytes)
    for stretch, _ in open_inputs(iter(texts))[0].stretches(0, Place(), how):
        counting.put(stretch)
    return counting


def counts_are_those_of_the_cpu(device: Device, texts: list, slice_bytes: int) -> None:
    counting, counter = put_all(device, texts, slice_bytes), Counter("cl100k", None)
    counter.count_all(texts)
    counting._to_host()
    assert pieces_of(counting._host.counters[0].write()) == pieces_of(counter.write())
    assert (counting.text_bytes, counting.pieces) == (counter.bytes, counter.pieces)


@pytest.mark.parametrize("slice_bytes", [1, 3000, 1 << 20])
def test_slices_and_texts_that_end_anywhere(device, slice_bytes):
    """Around the ends of blocks and stretches, and of what a key and the table hold."""
    device.is_guarded = True
    sizes = [n + more for n in (15, 16, 64, 128, 1024, 2048, LONGEST) for more in (-1, 0, 1)]
    texts = [unit * (n // len(unit)) + b"." * (n % len(unit)) for n in sizes for unit in (b"x", b"to be ", b"\n 12")]
    counts_are_those_of_the_cpu(device, ["", *texts, ENGLISH[:5000], b"", "\u4e2d" * 700, "a"], slice_bytes)


def test_tables_grow(device, monkeypatch):
    monkeypatch.setattr(device_table, "_LEAST_ROOM", 1 << 12)
    rng = random.Random(5)
    words = [bytes(rng.choice(b"abcdefgh") for _ in range(rng.choice((4, 9, 40)))) for _ in range(12_000)]
    counts_are_those_of_the_cpu(device, [b" ".join(words)], 1 << 20)
    assert [launch for launch in device.kernels if launch == "grow"]


def test_a_piece_that_is_seen_more_often_than_32_bits_tell(device):
    counting = put_all(device, [ENGLISH[:3000]], 1 << 20)
    pieces = counting.finish(None)
    factor = 1 << 31
    for name in ("counts", "long_counts"):
        pieces.table._arrays[name][::3] *= factor
    table = pieces.table
    table._counted[4] *= factor  # pieces seen
    options = make_options(**DEFAULTS)
    trainer = lambda: Trainer(options.alphabet, 600, "lexicographic", options.max_token_bytes, 0)  # noqa: E731
    counter, rest, want = Counter(None, None), trainer(), trainer()
    rest.lay_out()
    rest.finish()
    row = row_of_pieces(device, pieces, rest, options.alphabet)
    table.add_to(counter)
    (block,) = counter.write()
    assert max(pieces_of([block]).values()) > 1 << 35
    want.measure(block)
    want.lay_out()
    want.place(block)
    want.finish()
    want.begin(0)
    for own in (row, row_of_trainer(device, want)):
        learned = trainer()
        learner = learn.DeviceLearner(own, learned, 600, options, 3000)
        while not learner.run(1 << 40, 0):
            pass
        learned_merges = [learned.merge(token) for token in range(256, learned.count)]
        if own is row:
            first = learned_merges
    while not want.run(1 << 40, 1 << 40):
        pass
    assert first == learned_merges == [want.merge(token) for token in range(256, want.count)]
    assert learned.last_count == want.last_count


def test_nothing_is_read_behind_an_array(device):
    device.is_guarded = True
    same(ENGLISH[:3000] + runs(4, 20), 500)


# ==== failing ====

TEXT = ENGLISH[:2500] + runs(6, 5)


def test_text_that_is_no_utf8_is_refused_as_on_the_cpu(device):
    for text in (b"\xff", ENGLISH[:5000] + b"\xe4\xb8", ENGLISH[:5000] + b"\xff" + ENGLISH[:5000]):
        refused_alike(text, 300)
    with pytest.raises(ValueError, match="no text"):
        train(b"", 300, device="cuda")


def falls_back(text: bytes, size: int, **options) -> None:
    want = trained(text, size)
    with pytest.warns(RuntimeWarning, match="device='auto' trains on the CPU, with the same merges: ") as said:
        got = trained(text, size, device="auto", **options)
    assert len(said) == 1 and said[0].filename == device_training.__file__
    assert_alike(got, want)


def test_every_allocation_fails(device):
    same(TEXT, 300)
    count = device.allocations
    assert count > 20
    for number in range(count):
        device.allocations, device.fail_after = 0, number
        with pytest.raises(DeviceMemoryError, match=r"cuda:0 has too little free memory .* device='cpu'"):
            train(TEXT, 300, device="cuda")
        if number % 5 == 0:
            device.allocations = 0
            falls_back(TEXT, 300)
    device.allocations, device.fail_after = 0, None
    same(TEXT, 300)


def test_the_device_is_lost_at_any_launch(device, monkeypatch):
    tune(monkeypatch, merges=20)
    same(TEXT, 350)
    count = device.launches
    assert count > 10
    for number in range(count):
        device.launches, device.lost_at = 0, number
        with pytest.raises(DeviceError, match=r"cuda:0 failed .cudaErrorIllegalAddress"):
            train(TEXT, 350, device="cuda")
        if number % 3 == 0:
            device.launches = 0
            falls_back(TEXT, 350)


def test_the_cpu_goes_on_from_the_checkpoint_of_a_device_that_is_lost(device, monkeypatch, tmp_path):
    monkeypatch.setattr(run, "CHECKPOINT_SECONDS", -1.0)
    tune(monkeypatch, merges=20)
    trained(TEXT, 350, device="cuda", checkpoint=tmp_path / "all")
    for number in range(device.launches):
        device.launches, device.lost_at = 0, number
        falls_back(TEXT, 350, checkpoint=tmp_path / str(number))


@pytest.mark.parametrize(("first", "second"), [("cpu", "cuda"), ("cuda", "cpu"), ("cuda", "cuda")])
def test_a_run_goes_on_elsewhere(device, monkeypatch, tmp_path, first, second):
    """Stopped at any moment, while counting and while merging."""
    monkeypatch.setattr(run, "CHECKPOINT_SECONDS", -1.0)
    monkeypatch.setattr("streamtok.train.inputs.CHUNK", 1 << 12)
    monkeypatch.setattr(device_count, "SLICE", 1 << 12)
    tune(monkeypatch, merges=50)
    (tmp_path / "text").write_bytes(ENGLISH[:20_000])
    want = trained(tmp_path / "text", 600)
    for moment in (1, 4, 7):
        seen = []

        def stop(progress, moment=moment, seen=seen):
            seen.append(progress)
            if len(seen) == moment:
                raise KeyboardInterrupt

        options = {"checkpoint": tmp_path / str(moment)}
        with pytest.raises(KeyboardInterrupt):
            trained(tmp_path / "text", 600, device=first, progress=stop, **options)
        got = trained(tmp_path / "text", 600, device=second, **options)
        assert_alike(got, want)


# ==== which device is used ====


def test_the_cpu_is_the_default(monkeypatch):
    monkeypatch.setattr(_open, "open_device", None)
    monkeypatch.setattr(placement, "AUTO_BYTES", 0)
    train(ENGLISH[:2000], 300)


def test_auto_leaves_to_the_cpu_what_is_small_or_cannot_be_read_again(device, monkeypatch):
    cases = [
        (lambda: iter([ENGLISH]), {}),
        (lambda: ENGLISH, {"max_memory": 1 << 30}),
        (lambda: ENGLISH, {"pattern": None}),
        (lambda: ENGLISH[:2000], {"pattern": r"a(?=b+c)|\w+|\W+"}),  # no table
    ]
    for sources, options in cases:
        same(sources, 300, "auto", **options)
    monkeypatch.setattr(placement, "AUTO_BYTES", len(ENGLISH) + 1)
    same(ENGLISH, 300, "auto")
    assert not device.launches
    monkeypatch.setattr(placement, "AUTO_BYTES", len(ENGLISH))
    same(ENGLISH, 300, "auto")
    assert device.launches


def test_a_device_by_its_number(device, monkeypatch):
    asked = []
    monkeypatch.setattr(_open, "open_device", lambda family, ordinal, modules: (asked.append(ordinal), device)[1])
    same(TEXT, 300, "cuda:3")
    same(TEXT, 300, "cuda")
    assert asked == [3, 0]


def test_without_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.setattr(placement, "AUTO_BYTES", 0)
    with pytest.raises(DeviceError, match="CuPy cannot be imported"):
        train(TEXT, 300, device="cuda")
    falls_back(TEXT, 300)
