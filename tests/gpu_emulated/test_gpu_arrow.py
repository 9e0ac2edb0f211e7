"""Columns and tables on emulated devices: ids, nulls and errors are the CPU's, and no row becomes a Python object."""

from __future__ import annotations

import itertools
import random
import shutil

import nasty
import numpy as np
import pytest
from test_gpu_face import devices  # noqa: F401

import streamtok
from streamtok import _batch as batch
from streamtok import gpu
from streamtok.native.texts import Layout, Texts

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ to compile the kernels for the CPU"),
    pytest.mark.usefixtures("devices"),
]

TYPES = [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.dictionary(pa.int16(), pa.string())]


@pytest.fixture(scope="module")
def enc():
    return streamtok.get_encoding("cl100k_base")


@pytest.fixture
def no_rows(monkeypatch):
    """Nothing may make a list of texts of a column."""

    def refused(texts):
        assert isinstance(texts, list) or not len(texts)
        return list(texts)

    monkeypatch.setattr(batch, "_listed", refused)


def lists_of(enc, *arguments, **options):
    made = pa.array(enc.encode_arrow(*arguments, **options))
    made.validate(full=True)
    return made


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_columns_give_the_lists_of_the_cpu(enc, no_rows, monkeypatch, kind):
    rng = random.Random(str(kind))
    for chunk in (300, 3000, 1 << 20):  # bytes of a slice: a column may be larger than a device
        monkeypatch.setattr(gpu.pipeline, "CHUNK", chunk)
        monkeypatch.setitem(enc.__dict__, "_devices", None)
        strings = [text.encode("utf-8", "replace").decode() for text in nasty.random_strings(rng, 60, 40)]
        strings += ["plain words " * 60, "", "<|endoftext|>x"]
        rng.shuffle(strings)
        texts = [None if rng.random() < 0.2 else text for text in strings]
        array = pa.array(texts, pa.string())
        array = array.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else array.cast(kind)
        begin = rng.randrange(len(texts) // 2)
        several = pa.chunked_array([array[begin:], array[:0], array[:begin]], kind)
        table = pa.table({"n": pa.nulls(len(several)), "text": several})
        for options in ({"disallowed_special": ()}, {"allowed_special": "all"}):
            for given in ((array,), (array[begin : begin + 20],), (several,), (table, "text")):
                options["column"] = given[1] if len(given) > 1 else None
                assert lists_of(enc, given[0], device="cuda", **options).equals(lists_of(enc, given[0], **options))
    for empty in (pa.array([], kind), pa.nulls(3), pa.array([None, ""], pa.string())):
        assert lists_of(enc, empty, device="cuda").equals(lists_of(enc, empty))


def test_errors_and_templates(enc, monkeypatch):
    array = pa.array([b"a", None, b"<|endoftext|>", b"\xff"])
    for options in ({"allowed_special": "all"}, {}, {"errors": "replace"}, {"device": "cpu"}):
        errors = []
        for device in ("cpu", "cuda"):
            with pytest.raises(ValueError) as caught:
                enc.encode_arrow(array[: 3 if not options else 4], **{"device": device, **options})
            errors.append((type(caught.value), str(caught.value)))
        assert errors[0] == errors[1]
    monkeypatch.setattr(enc, "_template", ((7, 8), (9,)))
    options = {"allowed_special": "all", "errors": "replace", "add_special_tokens": True}
    assert lists_of(enc, array, device="cuda", **options).equals(lists_of(enc, array, **options))


def test_tables_in_files(enc, no_rows, monkeypatch, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(gpu.pipeline, "CHUNK", 9000)
    monkeypatch.setitem(enc.__dict__, "_devices", None)
    rng = random.Random(5)
    texts = [rng.choice(["some words, ", "é中文 ", ""]) * rng.randint(0, 40) for _ in range(700)]
    table = pa.table({"text": [None if i % 50 == 3 else text for i, text in enumerate(texts)]})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=130)
    options = {"append_eot": True, "nulls": "skip", "index": True}
    enc.encode_file(tmp_path / "a.parquet", tmp_path / "cpu.bin", **options)
    enc.encode_file(tmp_path / "a.parquet", tmp_path / "gpu.bin", device="cuda", journal_bytes=20_000, **options)
    for end in ("bin", "bin.ends"):
        assert (tmp_path / f"gpu.{end}").read_bytes() == (tmp_path / f"cpu.{end}").read_bytes()


def test_texts_that_touch_are_copied_together():
    """Their sizes stay their own, whatever lies between them."""
    data = bytes(range(97, 123)) * 40_000
    whole = Texts([data])
    rng = random.Random(6)
    for gap in (0, 0, 1):
        borders = sorted(rng.choices(range(len(data)), k=3000)) + [len(data)]
        spans = [(0, a, max(a, b - gap)) for a, b in itertools.pairwise(borders)]
        layout, sizes = Layout(whole.cut(np.array(spans, np.int64).ravel())), np.empty(len(spans), np.int64)
        assert layout.measure() is None
        layout.sizes(sizes)
        assert sizes.tolist() == [b - a for _, a, b in spans]
        room = np.zeros(int(sizes.sum()) + 1, np.uint8)
        work = layout.write(room)
        if work is not None:
            work.wait()
        assert room.tobytes() == b"".join(data[a:b] for _, a, b in spans) + b"\0"
