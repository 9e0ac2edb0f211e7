"""Columns that are carried along: every value arrives with its document, whatever threads, cuts and interruptions."""

from __future__ import annotations

import io
import json
import math
import os
import pathlib
import random
import shutil
import signal
import tarfile
import time

import pytest
from file_runs import Crash, _enc  # noqa: F401

from streamtok.files import encode_file, passthrough, passthrough_file, readers, tables, tars
from streamtok.files.formats import open_documents

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def small(monkeypatch, rng):
    """Many batches of few documents."""
    monkeypatch.setattr(readers, "BATCH", rng.choice((3, 50, 1 << 14)))
    monkeypatch.setattr(readers, "LONG", rng.choice((150, 1 << 20)))
    monkeypatch.setattr(tars, "_BATCH", rng.choice((3, 50)))
    monkeypatch.setattr(tables, "_BATCH_BYTES", rng.choice((500, 4 << 20)))
    monkeypatch.setattr(passthrough_file, "_BLOCK", rng.choice((200, 5000, 1 << 20)))


SCHEMA = {
    "text": pa.string(),
    "url": pa.large_string(),
    "n": pa.int16(),
    "ratio": pa.float32(),
    "seen": pa.bool_(),
    "when": pa.timestamp("us", "UTC"),
    "price": pa.decimal128(9, 2),
    "tags": pa.list_(pa.field("item", pa.string())),
    "of": pa.struct([("a", pa.int8()), ("b", pa.list_(pa.field("item", pa.binary())))]),
    "code": pa.binary(3),
    "none": pa.null(),
}


def table(rng, rows):
    """Rows of all types, with nulls; behind a null of an Arrow array may lie anything."""

    def value(make):
        return None if rng.random() < 0.2 else make()

    found = []
    for i in range(rows):
        found.append(
            {
                "text": f"row {i} " + "of words " * rng.randrange(9),
                "url": value(lambda: "ü" * rng.randrange(20)),
                "n": value(lambda: rng.randrange(-999, 999)),
                "ratio": value(lambda: rng.randrange(99) / 8),
                "seen": value(lambda: rng.random() < 0.5),
                "when": value(lambda: rng.randrange(1 << 50)),
                "price": value(lambda: rng.randrange(9999)),
                "tags": value(lambda: [value(lambda: "t") for _ in range(rng.randrange(4))]),
                "of": value(lambda: {"a": value(lambda: 5), "b": value(lambda: [b"x", None])}),
                "code": value(lambda: rng.randbytes(3)),
                "none": None,
            }
        )
    made = pa.Table.from_pylist(found, schema=pa.schema(list(SCHEMA.items())))
    bits = pa.py_buffer(rng.randbytes(rows // 8 + 1))
    dirty = pa.Array.from_buffers(pa.int64(), rows, [bits, pa.py_buffer(rng.randbytes(8 * rows))])
    return made.append_column("dirty", dirty)


def files(rng, rows=250):
    """The same rows as a parquet and an Arrow file."""
    made = table(rng, rows)
    pq.write_table(made, "a.parquet", row_group_size=90)
    with pa.OSFile("a.arrow", "wb") as sink, pa.ipc.new_file(sink, made.schema) as writer:
        writer.write_table(made, max_chunksize=77)
    return made


def contents(name):
    if os.path.isdir(name):
        return {each: pathlib.Path(name, each).read_bytes() for each in sorted(os.listdir(name))}
    return pathlib.Path(name).read_bytes()


def clear(name):
    shutil.rmtree(name) if os.path.isdir(name) else os.unlink(name)


def crashed_and_resumed(enc, src, dst, rng, **how):
    """The output of a run that ends early, and is resumed on other threads, some times."""
    how |= {"journal_bytes": rng.choice((1500, 9000)), "chunk_size": rng.choice((500, 1 << 20))}
    while True:
        left = [rng.randrange(2, 12)]

        def crash(progress):
            left[0] -= 1  # noqa: B023
            if left[0] < 0:  # noqa: B023
                raise Crash

        try:
            encode_file(enc, src, dst, resume=True, num_threads=rng.choice((1, 2)), progress=crash, **how)
        except Crash:
            if rng.random() < 0.3:
                break
        else:
            break
    encode_file(enc, src, dst, resume=True, num_threads=rng.choice((1, 2)), **how)
    found = contents(dst)
    clear(dst)
    assert not [name for name in os.listdir() if "partial" in name or "journal" in name]
    return found


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_columns_of_tables_keep_their_types_and_nulls(enc, monkeypatch, format):
    rng = random.Random(format)
    made = files(rng)
    names = [name for name in made.column_names if name != "text"]
    rng.shuffle(names)
    wanted = made.select(names)
    for src in ("a.parquet", "a.arrow", ["a.arrow", "a.arrow"]):
        encode_file(enc, src, "o", format=format, carry=names)
        found, whole = open_documents("o", format), contents("o")
        assert found.carried == tuple(names)
        for at in range(0, len(found), len(made)):
            assert found.columns(at, at + len(made)).cast(wanted.schema).equals(wanted)
        for name in names:
            kind = found.columns(0, 0).schema.field(name).type
            assert kind == wanted.schema.field(name).type, (kind, name)
        assert found.values(11) == wanted.to_pylist()[11]
        clear("o")
        for _ in range(2):
            with monkeypatch.context() as patch:
                small(patch, rng)
                assert crashed_and_resumed(enc, src, "o", rng, format=format, carry=names) == whole


VALUES = {
    "strings": (lambda rng: rng.choice(("a", 'é"\n', "")), pa.string()),
    "ints": (lambda rng: rng.choice((0, -(1 << 63), (1 << 63) - 1)), pa.int64()),
    "numbers": (lambda rng: rng.choice((1, 2.5, 1 << 53, -0.0, math.inf)), pa.float64()),
    "bools": (lambda rng: rng.random() < 0.5, pa.bool_()),
    "nothing": (lambda rng: None, pa.null()),
    "mixed": (lambda rng: rng.choice((1, 2.5, "1", True)), None),
    "huge": (lambda rng: rng.choice((1, 1 << 70)), None),
    "inexact": (lambda rng: rng.choice((0.5, (1 << 53) + 1)), None),
    "nested": (lambda rng: rng.choice(([1], {"a": "ü"}, "x" * 90_000)), None),
}


def json_lines(rng, rows):
    records = []
    for i in range(rows):
        record = {name: make(rng) for name, (make, _) in VALUES.items() if rng.random() < 0.8}
        records.append({"text": f"line {i} " + "word " * rng.randrange(9), **record})
    pathlib.Path("a.jsonl").write_text("\n\n".join(map(json.dumps, records)))
    return records


@pytest.mark.parametrize("format", ["parquet", "mds"])
def test_values_of_json_have_the_type_of_all_of_them(enc, monkeypatch, format):
    rng = random.Random(3)
    records = json_lines(rng, 120)
    names = list(VALUES)
    encode_file(enc, "a.jsonl", "o", format=format, carry=names)
    found, whole = open_documents("o", format), contents("o")
    for i, record in enumerate(records):
        for name, value in found.values(i).items():
            wanted = record.get(name)
            if VALUES[name][1] is None and wanted is not None:
                wanted = json.dumps(wanted, ensure_ascii=False, separators=(",", ":"))
            assert value == wanted and (wanted is None or type(value) is type(wanted) or name == "numbers"), name
    if format == "parquet":
        types = found.columns(0, 0).schema
        assert all(types.field(name).type == (kind or pa.string()) for name, (_, kind) in VALUES.items())
    clear("o")
    for _ in range(4):
        with monkeypatch.context() as patch:
            small(patch, rng)
            assert crashed_and_resumed(enc, "a.jsonl", "o", rng, format=format, carry=names) == whole


def test_types_that_are_stated(enc):
    pathlib.Path("a.jsonl").write_text('{"text": "a", "x": 1}\n{"text": "b", "x": null}\n{"text": "c"}\n')
    for stated, value in (("double", 1.0), ("json", "1"), ("int64", 1)):
        encode_file(enc, "a.jsonl", "o.arrow", carry=[f"x:{stated}"])
        found = open_documents("o.arrow").columns()["x"].to_pylist()
        assert found == [value, None, None] and type(found[0]) is type(value)
    with pytest.raises(ValueError, match=r"a\.jsonl, line 1: the value of 'x' is 1, and the column is of type string"):
        encode_file(enc, "a.jsonl", "o.arrow", carry=["x:string"])
    pathlib.Path("a.jsonl").write_text('{"text": "a"}\n\n{"text": "b", "x": "\\ud800"}\n')
    with pytest.raises(
        ValueError, match=r"a\.jsonl, line 3: the value of 'x' holds half of a surrogate pair.*'x:json'"
    ):
        encode_file(enc, "a.jsonl", "o.arrow", carry=["x"])
    encode_file(enc, "a.jsonl", "o.arrow", carry=["x:json"])
    assert open_documents("o.arrow").values(1) == {"x": '"\\ud800"'}


def test_integers_that_a_double_does_not_hold_stay_exact(enc):
    edge, names = 1 << 53, ("int64", "string")
    for number, kind in ((edge, "double"), (-edge, "double"), (edge + 1, "string"), (-edge - 1, "string")):
        pathlib.Path("a.jsonl").write_text(f'{{"text": "a", "x": {number}}}\n{{"text": "b", "x": 0.5}}\n')
        encode_file(enc, "a.jsonl", "o.arrow", carry=["x"])
        found = open_documents("o.arrow").columns()["x"]
        assert str(found.type) == kind and int(json.loads(str(found[0].as_py()))) == number
    for number, kind in zip(((1 << 63) - 1, 1 << 63), names):
        pathlib.Path("a.jsonl").write_text(f'{{"text": "a", "x": {number}}}\n')
        encode_file(enc, "a.jsonl", "o.arrow", carry=["x"])
        found = open_documents("o.arrow").columns()["x"]
        assert str(found.type) == kind and int(found[0].as_py()) == number


def test_members_carry_the_json_of_their_sample(enc, monkeypatch):
    rng = random.Random(5)
    wanted = []
    with tarfile.open("a.tar", "w") as archive:
        for i in range(90):
            record = {"n": i, "of": [i]} if i % 3 else None
            members = [(f"d/{i}.txt", f"member {i}".encode()), (f"d/{i}.jpg", b"..")]
            members += [(f"d/{i}.json", json.dumps({"text": f"json {i}", **record}).encode())] if record else []
            rng.shuffle(members)
            for name, data in members:
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
            wanted.append({"n": i, "of": f"[{i}]"} if record else {"n": None, "of": None})
    encode_file(enc, "a.tar", "o.arrow", carry=["n", "of"])
    whole = contents("o.arrow")
    assert open_documents("o.arrow").columns().to_pylist() == wanted
    for _ in range(3):
        with monkeypatch.context() as patch:
            small(patch, rng)
            assert crashed_and_resumed(enc, "a.tar", "o.arrow", rng, carry=["n", "of"]) == whole
    encode_file(enc, "a.tar", "o.arrow", carry=["n", "of"], column="json")
    assert open_documents("o.arrow").columns().to_pylist() == [each for each in wanted if each["n"] is not None]


def test_skipped_rows_carry_nothing_and_large_values_go_a_few_at_a_time(enc, monkeypatch):
    from streamtok.files.formats import base, parquet

    monkeypatch.setattr(base, "_COLUMN_BYTES", 1 << 12)
    monkeypatch.setattr(parquet, "_GROUP_BYTES", 1 << 14)
    texts = [None if i % 4 == 0 else f"row {i}" for i in range(200)]
    raw = [f"{i}" * 300 for i in range(200)]
    kept = [value for text, value in zip(texts, raw) if text is not None]
    plain = pa.table({"text": texts, "raw": raw})
    indexed = pa.table({"text": texts, "raw": pa.array(raw).dictionary_encode()})
    for made in (plain, indexed):
        pq.write_table(made, "a.parquet", row_group_size=70)
        encode_file(enc, "a.parquet", "o.parquet", carry=["raw"], nulls="skip")
        assert open_documents("o.parquet").columns()["raw"].to_pylist() == kept
        assert pq.ParquetFile("o.parquet").num_row_groups > 5


def test_what_cannot_be_carried_is_refused_before_any_work(enc):
    files(random.Random(1), 9)
    pathlib.Path("a.jsonl").write_text('{"text": "a", "n": 1}\n')
    pathlib.Path("a.txt").write_text("text")
    pq.write_table(pa.table({"text": ["a"], "n": ["b"], "tokens": [1]}), "b.parquet")
    spans = pa.array([(1, 2, 3)], pa.month_day_nano_interval())
    with (
        pa.OSFile("c.arrow", "wb") as sink,
        pa.ipc.new_file(sink, pa.schema([("text", pa.string()), ("n", spans.type)])),
    ):
        pass
    for src, how, words in (
        ("a.jsonl", {"format": "bin"}, r"format='bin' has no place for passthrough columns"),
        ("a.jsonl", {"format": "litdata"}, r"format='litdata' has no place for passthrough columns"),
        ("a.txt", {}, r"a\.txt has no columns to carry, because its documents are 'text'"),
        ("a.parquet", {"carry": ["nn"]}, r"a\.parquet: no columns are called 'nn'; there are \['text', .*carry="),
        ("a.parquet", {"carry": ["n:json"]}, r"states ':json' for 'n', and a\.parquet is a table, where it is int16"),
        (["a.parquet", "b.parquet"], {}, r"'n' is int16 in a\.parquet and string in b\.parquet.*n:string"),
        ("b.parquet", {"carry": ["input_ids"]}, r"no columns are called 'input_ids'"),
        ("a.jsonl", {"carry": ["document"]}, r"format='parquet' has a column 'document' of its own"),
        ("b.parquet", {"carry": ["tokens"], "format": "mds"}, r"format='mds' has a column 'tokens' of its own"),
        ("a.parquet", {"carry": ["when"], "format": "mds"}, r"no place for column 'when' of type timestamp"),
        ("c.arrow", {}, r"format='parquet' has no place for column 'n' of type month_day_nano_interval"),
        ("a.jsonl", {"carry": ["n", "n:json"]}, r"carry has the column 'n' twice"),
    ):
        with pytest.raises(ValueError, match=words):
            encode_file(enc, src, "o", **{"format": "parquet", "carry": ["n"], **how})
    with pytest.raises(TypeError, match="carry='n' is one string"):
        encode_file(enc, "a.jsonl", "o.parquet", carry="n")
    with pytest.raises(ValueError, match=r"b\.parquet, row group 0, row 0: column 'n' is no int64"):
        encode_file(enc, "b.parquet", "o.parquet", carry=["n:int64"])
    assert not [name for name in os.listdir() if name.startswith("o")]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a forked child")
def test_kills_at_random_moments_end_in_the_same_bytes(enc, monkeypatch):
    rng = random.Random(9)
    small(monkeypatch, rng)
    files(rng, 700)
    json_lines(rng, 150)
    for src, dst, carry in (("a.parquet", "o.arrow", ["url", "of", "dirty"]), ("a.jsonl", "o.parquet", list(VALUES))):
        how = {"carry": carry, "resume": True, "journal_bytes": 9000, "chunk_size": 4096}
        began = time.monotonic()
        encode_file(enc, src, dst, **how)
        took, whole = time.monotonic() - began, contents(dst)
        clear(dst)
        for _ in range(7):
            child = os.fork()
            if not child:
                try:
                    encode_file(enc, src, dst, **how)
                finally:
                    os._exit(0)
            time.sleep(took * rng.random())
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            if rng.random() < 0.3:
                encode_file(enc, src, dst, num_threads=2, **how)
                assert contents(dst) == whole
                clear(dst)
        encode_file(enc, src, dst, **how)
        assert contents(dst) == whole


@pytest.mark.parametrize("is_first", [False, True])
def test_columns_that_an_earlier_release_left_are_gone_on_from(enc, is_first):
    """It kept them under another name; a file of this name that another run left is removed."""
    json_lines(random.Random(3), 30)
    how = {"carry": list(VALUES), "journal_bytes": 1500, "chunk_size": 500}
    encode_file(enc, "a.jsonl", "whole.parquet", **how)

    def crash(progress):
        if progress.ids > 100:
            raise Crash

    with pytest.raises(Crash):
        encode_file(enc, "a.jsonl", "o.parquet", progress=crash, **how)
    os.rename("o.parquet.partial.passthrough", "o.parquet.partial.carried")
    made = encode_file(enc, "a.jsonl", "o.parquet", resume=not is_first, **how)
    assert bool(made.resumed_ids) != is_first
    assert contents("o.parquet") == contents("whole.parquet")
    assert sorted(os.listdir()) == ["a.jsonl", "o.parquet", "whole.parquet"]


def test_numbers_beyond_64_bits_among_small_ones_are_no_long_ones():
    assert passthrough._kinds([1, 2**70]) == passthrough.INT | passthrough.OTHER
    assert passthrough._kinds([1, 2**60]) == passthrough.INT | passthrough.LONG
