"""A run that was killed, stopped or refused is resumed with the same result; a checkpoint of another run is refused."""

from __future__ import annotations

import gc
import gzip
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading

import oracle
import pytest

import streamtok
from streamtok.native import library, matcher
from streamtok.native.trainer import Counter, Trainer
from streamtok.train import ResumeError, train

SIZE = 900


@pytest.fixture
def files(tmp_path):
    for i in range(3):
        (tmp_path / f"{i}.txt").write_text(oracle.topics()[i * 40_000 : (i + 1) * 40_000])
    return [tmp_path / f"{i}.txt" for i in range(3)]


@pytest.fixture
def often(monkeypatch):
    """A checkpoint wherever there can be one."""
    monkeypatch.setattr("streamtok.train.run.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr("streamtok.train.run._WORK", 300)
    monkeypatch.setattr("streamtok.train.inputs.CHUNK", 7000)


@pytest.fixture
def interruptible():
    """SIGINT raises KeyboardInterrupt, as in a terminal. Background programs of a script ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def ranks(enc: streamtok.Encoding) -> dict[bytes, int]:
    return enc._mergeable_ranks


class Stop(Exception):
    pass


def stop_at(number: int, what=None):
    """A progress function that raises, or does `what`, the n-th time it is called."""
    calls = 0

    def progress(at) -> None:
        nonlocal calls
        calls += 1
        if calls == number:
            if what is None:
                raise Stop
            what()

    return progress


KILLED = """
    import os, sys
    from streamtok.train import inputs, run, train
    run.CHECKPOINT_SECONDS, run._WORK, inputs.CHUNK = 0.0, 300, 7000
    files, folder, number = sys.argv[3:], sys.argv[1], int(sys.argv[2])
    calls = 0
    def progress(at):
        global calls
        calls += 1
        if calls == number:
            os.kill(os.getpid(), 9)
    train(files, 900, checkpoint=folder, progress=progress, threads=2)
"""


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL there")
def test_killed_runs_go_on_to_the_same_result(files, tmp_path, often):
    want = ranks(train(files, SIZE))
    folder = tmp_path / "checkpoint"
    stages = set()
    for number in (2, 7, 9, 15, 4, 40, 80, 3, 150):
        command = [sys.executable, "-c", textwrap.dedent(KILLED), str(folder), str(number), *map(str, files)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        record = json.loads((folder / "train.json").read_text())
        stages.add((record["pieces"] is not None, record["state"] is not None))
    assert stages == {(False, False), (True, True)} or stages == {(False, False), (True, False), (True, True)}
    assert ranks(train(files, SIZE, checkpoint=folder)) == want


@pytest.mark.parametrize("threads", [1, 3])
def test_runs_that_stop_anywhere_go_on_to_the_same_result(files, tmp_path, often, threads, monkeypatch):
    monkeypatch.setattr("streamtok._batch.cores", lambda: 4)
    want = train(files, SIZE, special_tokens=["yield"])
    for number in (1, 5, 18, 22, 60):
        folder = tmp_path / str(number)
        with pytest.raises(Stop):
            train(files, SIZE, checkpoint=folder, threads=threads, special_tokens=["yield"], progress=stop_at(number))
        again = train(files, SIZE, checkpoint=folder, threads=threads, special_tokens=["yield"])
        assert ranks(again) == ranks(want)
        assert {**again.training, "documents": 0} == {**want.training, "documents": 0}


def test_a_finished_run_gives_its_result_again_and_grows(files, tmp_path, often):
    folder = tmp_path / "checkpoint"
    small = train(files, 500, checkpoint=folder)
    for path in files:
        os.utime(path, ns=(1, os.stat(path).st_mtime_ns))  # read, not written
    calls: list[str] = []
    assert ranks(train(files, 500, checkpoint=folder, progress=lambda at: calls.append(at.stage))) == ranks(small)
    assert calls == []
    assert ranks(train(files, SIZE, checkpoint=folder, progress=lambda at: calls.append(at.stage))) == ranks(
        train(files, SIZE)
    )
    assert set(calls) == {"merge"}
    assert ranks(train(files, 400, checkpoint=folder)) == dict(list(ranks(small).items())[:400])


def test_texts_of_an_iterable_are_passed_over(tmp_path, often):
    texts = [oracle.topics()[i : i + 500] for i in range(0, 50_000, 500)]
    want = ranks(train(iter(texts), SIZE))
    with pytest.raises(Stop):
        train(iter(texts), SIZE, checkpoint=tmp_path / "a", progress=stop_at(4))
    seen = []
    assert ranks(train((seen.append(t) or t for t in texts), SIZE, checkpoint=tmp_path / "a")) == want
    assert len(seen) == len(texts)


def test_an_interrupt_leaves_a_checkpoint_and_says_how_to_go_on(files, tmp_path, often, interruptible):
    want = ranks(train(files, SIZE))
    for number in (3, 40):
        folder = tmp_path / str(number)
        with pytest.raises(KeyboardInterrupt, match="call train\\(\\) again with the same arguments"):
            train(files, SIZE, checkpoint=folder, progress=stop_at(number, lambda: signal.raise_signal(signal.SIGINT)))
        assert json.loads((folder / "train.json").read_text())["totals"]["bytes"] > 0
        assert ranks(train(files, SIZE, checkpoint=folder)) == want
    with pytest.raises(KeyboardInterrupt, match="without checkpoint= nothing is kept"):
        train(files, SIZE, progress=stop_at(2, lambda: signal.raise_signal(signal.SIGINT)))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_unreadable_file_costs_nothing(files, tmp_path, often):
    """The third file is damaged. What was read of the others is kept, and the repaired file completes the run."""
    want = ranks(train(files, SIZE))
    good = files[2].read_bytes()
    files[2].write_bytes(good[:20_000] + b"\xff" + good[20_001:])
    with pytest.raises(UnicodeDecodeError, match=r"byte 20000 of .*2\.txt"):
        train(files, SIZE, checkpoint=tmp_path / "a")
    files[2].write_bytes(good)
    assert ranks(train(files, SIZE, checkpoint=tmp_path / "a")) == want


def test_a_source_that_ends_too_early_costs_nothing_of_the_others(files, tmp_path, monkeypatch):
    """No checkpoint was due yet; the counts are kept because of the error."""
    want = ranks(train(files, SIZE))
    whole = gzip.compress(files[2].read_bytes())
    packed = tmp_path / "2.gz"
    packed.write_bytes(whole[:-2000])
    sources = [*files[:2], packed]
    monkeypatch.setattr("streamtok.train.inputs.CHUNK", 7000)
    with pytest.raises(OSError, match=r"2\.gz"):
        train(sources, SIZE, checkpoint=tmp_path / "a", threads=2)
    place = json.loads((tmp_path / "a" / "train.json").read_text())["place"]
    assert place[0] == 2 and place[1] > 0
    packed.write_bytes(gzip.compress(b"x" + files[2].read_bytes()))
    with pytest.raises(ResumeError, match=r"2\.gz' is not the one that was read"):
        train(sources, SIZE, checkpoint=tmp_path / "a")
    packed.write_bytes(whole)  # the repaired file has the same beginning as far as it was read
    assert ranks(train(sources, SIZE, checkpoint=tmp_path / "a")) == want


# ==== what is refused ====


def test_checkpoints_of_other_runs_are_refused(files, tmp_path, often):
    folder = tmp_path / "checkpoint"
    with pytest.raises(Stop):
        train(files, SIZE, checkpoint=folder, progress=stop_at(10))
    for changes, word in (
        ({"ties": "huggingface"}, "option ties was 'lexicographic' and is 'huggingface'"),
        ({"pattern": "o200k"}, "pattern"),
        ({"special_tokens": ["<|x|>"]}, "special_tokens"),
        ({"min_frequency": 5}, "min_frequency"),
    ):
        with pytest.raises(ResumeError, match="of another run") as caught:
            train(files, SIZE, checkpoint=folder, **changes)
        assert word in str(caught.value)
    with pytest.raises(ResumeError, match="there were 2 sources and are 1"):
        train(files[:1], SIZE, checkpoint=folder)
    files[0].write_text("another text")
    with pytest.raises(ResumeError, match=r"0\.txt' is not the one that was read"):
        train(files, SIZE, checkpoint=folder)


def test_damaged_checkpoints_are_refused(files, tmp_path, often):
    folder = tmp_path / "checkpoint"
    for number, prefix in ((6, "spill-"), (60, "pieces.bin"), (60, "state-"), (60, "train.json")):
        with pytest.raises(Stop):
            train(files, SIZE, checkpoint=folder, progress=stop_at(number))
        path = next(folder.glob(f"{prefix}*"))
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 0x55
        path.write_bytes(data[: len(data) - 3] if prefix == "train.json" else data)
        with pytest.raises(streamtok.VocabularyError, match="to begin anew") as caught:
            train(files, SIZE, checkpoint=folder)
        assert str(caught.value.path) == str(path)
        for each in folder.iterdir():
            each.unlink()


def test_another_text_in_the_same_folder_is_refused(tmp_path):
    train(b"to be or not to be", 260, checkpoint=tmp_path / "a")
    with pytest.raises(ResumeError, match="<bytes>' is not the one that was read"):
        train(b"to be or not to bee", 260, checkpoint=tmp_path / "a")


def test_a_pipe_is_never_gone_on_with_in_its_middle(files, tmp_path, often):
    """The next run gets the pipe from its beginning, so what was counted of it must not be counted again."""
    data = b"".join(path.read_bytes() for path in files)
    want = ranks(train(data, SIZE))
    for number in (12, 10**6):
        reader, writer = os.pipe()
        feeder = threading.Thread(target=feed, args=(writer, data))
        feeder.start()
        try:
            with open(reader, "rb") as file:
                if number == 12:
                    with pytest.raises(Stop):
                        train(file, SIZE, checkpoint=tmp_path / "a", progress=stop_at(number))
                else:
                    assert ranks(train(file, SIZE, checkpoint=tmp_path / "a")) == want
        finally:
            feeder.join()


def feed(writer: int, data: bytes) -> None:
    try:
        with open(writer, "wb") as file:
            file.write(data)
    except BrokenPipeError:
        pass


def test_two_runs_in_one_folder(files, tmp_path, often):
    inside, go = threading.Event(), threading.Event()

    def wait(at) -> None:
        inside.set()
        go.wait(30)

    thread = threading.Thread(target=lambda: train(files, SIZE, checkpoint=tmp_path / "a", progress=wait))
    thread.start()
    inside.wait(30)
    try:
        with pytest.raises(BlockingIOError):
            train(files, SIZE, checkpoint=tmp_path / "a")
    finally:
        go.set()
        thread.join()


# ==== memory that runs out ====


def test_too_little_memory_for_the_pieces_says_how_much_would_do(files, tmp_path, monkeypatch):
    """What was counted is kept, and another call with more memory goes on from it."""
    monkeypatch.setattr("streamtok.train.run.BASE_MEMORY", 100 << 20)
    with pytest.raises(ValueError, match="write at least 13") as caught:
        train(files, SIZE, max_memory=100 << 20, checkpoint=tmp_path / "a")
    enough = int(str(caught.value).split("write at least ")[1].split(";")[0])
    stages = []
    got = train(files, SIZE, max_memory=enough, checkpoint=tmp_path / "a", progress=lambda at: stages.append(at.stage))
    assert ranks(got) == ranks(train(files, SIZE)) and set(stages) == {"merge"}


def test_each_allocation_may_fail(monkeypatch):
    """MemoryError, never a crash or a leak; and training afterwards gives the same."""
    text = (oracle.topics()[:1500] + "a word that is longer than fifteen bytes: internationalization " * 3).encode()
    want = ranks(train(text, 330, special_tokens=["<|x|>"], threads=1))
    gc.collect()
    gc.freeze()  # each collection below looks at what came after this
    alive = library.allocation_counts()[2]

    def once() -> Trainer:
        special = matcher.Matcher(["<|x|>"])
        counter = Counter("cl100k", special)
        counter.count(text)
        blocks = counter.write(2)
        other = Counter("cl100k", special)
        for block in blocks:
            other.read(block)
        trainer = Trainer(bytes(range(256)), 329, "lexicographic", 1000, 0)
        for block in other.write():
            trainer.measure(block)
            trainer.lay_out()
            trainer.place(block)
        trainer.limit_lists(500)
        trainer.finish()
        trainer.begin()
        while not trainer.run(20, 1 << 30):
            pass
        return trainer

    trainer, allowed = None, -1
    while trainer is None:
        allowed += 1
        library.fail_allocations_after(allowed)
        try:
            trainer = once()
        except MemoryError:
            pass
        finally:
            library.fail_allocations_after(-1)
        gc.collect()
        assert trainer is not None or library.allocation_counts()[2] == alive
    gc.unfreeze()
    assert allowed > 30
    assert [trainer.token(token) for token in range(329)] == sorted(want, key=want.__getitem__)


def test_records_that_are_damaged_are_refused():
    counter = Counter("cl100k", None)
    counter.count("some text, and a piece that is longer: internationalizationalism")
    (records,) = counter.write()
    for end in range(1, len(records)):
        other = Counter("cl100k", None)
        try:
            other.read(records[:end])
        except ValueError as error:
            assert "damaged" in str(error)
    for bad in (b"\x00\x01", b"\x05abc", b"\xff" * 20, b"\x01a\x00", b"\x01a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"):
        with pytest.raises(ValueError, match="damaged"):
            counter.read(bad)
        trainer = Trainer(bytes(range(256)), 300, "lexicographic", 100, 0)
        with pytest.raises(ValueError, match="damaged"):
            trainer.measure(bad)
    trainer = Trainer(bytes(range(256)), 300, "lexicographic", 100, 0)
    trainer.measure(records)
    trainer.lay_out()
    trainer.place(records)
    with pytest.raises(ValueError, match="damaged"):
        trainer.place(records)
    with pytest.raises(ValueError, match="damaged"):
        trainer.place(b"\x01a\x7f")


def test_progress_tells_stage_rate_and_remaining_time(files, often):
    seen = []
    train(files, SIZE, progress=seen.append)
    assert [at.stage for at in seen] == sorted(at.stage for at in seen)
    assert seen[-1].stage == "merge" and seen[-1].done == seen[-1].total == seen[-1].merges == SIZE - 256
    counting = [at for at in seen if at.stage == "count"]
    assert counting[-1].done == counting[-1].total == sum(path.stat().st_size for path in files)
    assert all(at.rate > 0 and at.seconds > 0 for at in seen[1:])
    assert counting[3].remaining is not None and seen[-1].remaining == 0
