"""encode_arrow: ids from columns of every type, whole or sliced; and no crash, whatever a producer says."""

from __future__ import annotations

import gc
import random

import nasty
import numpy as np
import pytest

import streamtok
from streamtok import _batch as batch
from streamtok import arrow
from streamtok.arrow import ColumnError

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

TYPES = [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()]
TYPES += [pa.dictionary(index, pa.string()) for index in (pa.int8(), pa.uint16(), pa.int64())]


@pytest.fixture(scope="module")
def enc():
    return streamtok.get_encoding("cl100k_base")


class Bare:
    """An Arrow array behind its interface alone, so that nobody looks into it before."""

    def __init__(self, array) -> None:
        self.array = array

    def __arrow_c_array__(self, requested_schema=None):
        return self.array.__arrow_c_array__()


def lists_of(enc, *arguments, **options):
    made = pa.array(enc.encode_arrow(*arguments, disallowed_special=(), **options))
    made.validate(full=True)
    assert made.type == pa.list_(pa.uint32())
    return made.to_pylist()


@pytest.mark.parametrize("kind", TYPES, ids=str)
@pytest.mark.parametrize("threads", [1, 3])
def test_ids_are_those_of_the_rows(enc, monkeypatch, kind, threads):
    monkeypatch.setattr(batch, "cores", lambda: 4)
    monkeypatch.setattr(batch, "_LEAST_SHARE", 40)
    rng = random.Random(str(kind))
    for _ in range(25):
        strings = (
            text.encode("utf-8", "replace").decode() for text in nasty.random_strings(rng, rng.choice((0, 1, 40)), 30)
        )
        texts = [None if rng.random() < 0.2 else text for text in strings]
        if pa.types.is_dictionary(kind):
            array = pa.array(texts, pa.string()).dictionary_encode().cast(kind)
        else:
            array = pa.array(texts, pa.string()).cast(kind)
        wanted = [None if text is None else enc.encode_ordinary(text) for text in texts]
        begin = rng.randrange(len(texts) + 1)
        end = rng.randrange(begin, len(texts) + 1)
        assert lists_of(enc, array, num_threads=threads) == wanted
        assert lists_of(enc, Bare(array[begin:end]), num_threads=threads) == wanted[begin:end]
        several = pa.chunked_array([array[begin:], array[:0], array[:end]], kind)
        assert lists_of(enc, several, num_threads=threads) == wanted[begin:] + wanted[:end]
        table = pa.table({"n": pa.nulls(len(several)), "text": several})
        assert lists_of(enc, table, column="text", num_threads=threads) == wanted[begin:] + wanted[:end]
        rows = pa.record_batch({"text": array})[begin:end]
        assert lists_of(enc, rows, column="text", num_threads=threads) == wanted[begin:end]


def test_nulls_of_a_structure_and_of_a_dictionary(enc):
    texts = pa.array(["one", None, "two", "three"])
    rows = pa.StructArray.from_arrays([texts], ["t"], mask=pa.array([False, False, True, False]))
    assert lists_of(enc, rows, column="t") == [enc.encode("one"), None, None, enc.encode("three")]
    assert lists_of(enc, rows[2:], column="t") == [None, enc.encode("three")]
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 2, 1, None], pa.int8()), texts[1:])
    assert lists_of(enc, coded) == [None, enc.encode("three"), enc.encode("two"), None]
    assert lists_of(enc, pa.nulls(2)) == [None, None]


def test_special_tokens_and_errors(enc):
    array = pa.array([b"a", None, b"<|endoftext|>", b"\xff"])
    with pytest.raises(UnicodeDecodeError, match=r"invalid start byte \(row 3\)"):
        enc.encode_arrow(array, allowed_special="all")
    with pytest.raises(ValueError, match="disallowed special token"):
        enc.encode_arrow(array[:3])
    made = pa.array(enc.encode_arrow(array, allowed_special="all", errors="replace"))
    assert made.to_pylist() == [enc.encode("a"), None, [enc.eot_token], enc.encode("\ufffd")]
    in_template = enc._template
    enc._template = ((7, 8), (9,))
    try:
        columns = [None, "a", "", None], ["a", ""], ["", None, "a"]
        made = [enc.encode_arrow(pa.array(column), add_special_tokens=True) for column in columns]
    finally:
        enc._template = in_template
    row, empty = [7, 8, *enc.encode("a"), 9], [7, 8, 9]
    assert [pa.array(each).to_pylist() for each in made] == [[None, row, empty, None], [row, empty], [empty, None, row]]
    assert all(each.indptr[0] == 0 and len(each) == len(column) for each, column in zip(made, columns))


def test_offsets_are_as_wide_as_the_number_of_ids_needs(monkeypatch):
    assert arrow.MOST_SMALL == np.iinfo(np.int32).max
    monkeypatch.setattr(arrow, "MOST_SMALL", 3)
    for count, kind in ((3, pa.list_), (4, pa.large_list)):
        made = arrow.ListArray(np.arange(count, dtype=np.uint32), np.array([0, 1, count]))
        assert len(made) == 2 and made.null_count == 0
        assert pa.array(made).type == pa.field(made).type == kind(pa.uint32())
        assert pa.array(made).to_pylist() == [[0], [*range(1, count)]]


def test_memory_goes_back(enc):
    gc.collect()
    before = pa.total_allocated_bytes()
    ids = enc.encode_arrow(pa.array(["some text"] * 1000))
    lists = pa.array(ids)
    child = lists.values
    del ids, lists
    gc.collect()
    assert child.to_pylist()[:2] == enc.encode("some text")
    for _ in range(3):  # capsules that nobody takes
        streamtok.arrow.ListArray(np.zeros(1, np.uint32), np.array([0, 1])).__arrow_c_array__()
    del child
    gc.collect()
    assert pa.total_allocated_bytes() == before


@pytest.mark.parametrize(
    ("data", "column", "message"),
    [
        (lambda: pa.array([1, 2]), None, "this array is of Arrow type int64, and text is of type string"),
        (lambda: pa.table({"a": [[1]]}), "a", "column 'a' is of Arrow type list"),
        (lambda: pa.table({"a": ["x"], "b": ["y"]}), None, r"a table with the columns \['a', 'b'\]: name one"),
        (lambda: pa.table({"a": ["x"]}), "c", r"no columns are called 'c'; there are \['a'\]"),
        (lambda: pa.table([pa.array(["x"])] * 2, ["a", "a"]), "a", "2 columns are called 'a'"),
        (lambda: pa.array(["x"]), "c", "this is one array: leave it out"),
    ],
)
def test_what_is_no_column_of_text(enc, data, column, message):
    with pytest.raises(ColumnError, match=message):
        enc.encode_arrow(data(), column=column)
    with pytest.raises(TypeError, match="got list; for a list of texts use encode_ragged"):
        enc.encode_arrow(["a"])


def lying(kind, numbers: np.ndarray, rows: int, data: bytes):
    """An array whose offsets or views become these numbers once pyarrow has seen it."""
    true = np.zeros_like(numbers)
    array = pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(true), pa.py_buffer(data)])
    true[:] = numbers
    return array


def array_of(offsets: list[int], data: bytes, kind, width):
    return lying(kind, np.array(offsets, width), len(offsets) - 1, data)


@pytest.mark.parametrize("lie", [[0, 3, 2], [0, -1, 2], [-4, 0, 1], [3, 2, 1], [0, 2**31 - 1, 0]])
def test_a_producer_that_lies(enc, lie):
    for array in (array_of(lie, b"abc", pa.string(), np.int32), array_of(lie, b"abc", pa.large_binary(), np.int64)):
        with pytest.raises(ColumnError, match=r"the offsets of row \d go from"):
            enc.encode_arrow(Bare(array))
    with pytest.raises(ColumnError, match="pyarrow refuses this array"):  # it knows how long its buffers are
        enc.encode_arrow(array_of([0, 3, 5000], b"abc", pa.string(), np.int32))
    view = np.array([20, 0, 0, 90], np.int32)  # 20 bytes from byte 90 of a buffer of 100
    for place, value in ((0, -1), (2, 1), (2, -1), (3, -1), (3, 81)):
        wrong = view.copy()
        wrong[place] = value
        array = lying(pa.string_view(), wrong, 1, bytes(100))
        with pytest.raises(ColumnError, match="the view of row 0 lies outside of its buffers"):
            enc.encode_arrow(Bare(array))
    for code in (-1, 2, 127):
        codes = pa.Array.from_buffers(pa.int8(), 1, [None, pa.py_buffer(np.array([code], np.int8))])
        array = pa.DictionaryArray.from_arrays(codes, pa.array(["a", "b"]), safe=False)
        with pytest.raises(ColumnError, match=f"code {code}, and its dictionary 2 values"):
            enc.encode_arrow(Bare(array))
    taken = pa.array(["a"]).__arrow_c_array__()
    again = Bare(None)
    again.__class__ = type("Again", (Bare,), {"__arrow_c_array__": lambda self, requested_schema=None: taken})
    assert enc.encode_arrow(again).ids.tolist() == enc.encode("a")
    with pytest.raises(ColumnError, match="handed over before"):
        enc.encode_arrow(again)


def test_a_producer_that_fails(enc):
    def batches():
        yield pa.record_batch({"a": ["x"]})
        raise OSError("the disk is gone")

    reader = pa.RecordBatchReader.from_batches(pa.schema({"a": pa.string()}), batches())
    with pytest.raises(ColumnError, match="the disk is gone"):
        enc.encode_arrow(reader, column="a")


def test_polars_and_pandas(enc):
    texts = ["hello", None, "a longer text, which a view holds elsewhere", ""]
    wanted = [None if text is None else enc.encode(text) for text in texts]
    pl = pytest.importorskip("polars", reason="polars is not installed")
    template = pl.DataFrame({"text": texts}).with_columns(kind=pl.col("text").cast(pl.Categorical))
    for column in ("text", "kind"):
        assert pl.Series(enc.encode_arrow(template[column])).to_list() == wanted
        assert pl.Series(enc.encode_arrow(template, column=column)).to_list() == wanted
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    assert pa.array(enc.encode_arrow(pd.Series(texts, dtype="str"))).to_pylist() == wanted
    assert pa.array(enc.encode_arrow(pd.DataFrame({"text": texts}, dtype="str"), column="text")).to_pylist() == wanted
