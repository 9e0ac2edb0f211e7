"""Mistakes get tiktoken's exceptions, with its messages where the mistake is the same; VocabularyError is our own."""

from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import oracle
import pytest

import streamtok
from streamtok.errors import VocabularyError, at_row, changed_text_error, raise_of_row


@pytest.fixture(scope="module")
def both():
    return oracle.pair("cl100k_base")


def error_of(function) -> BaseException:
    with pytest.raises(Exception) as caught:
        function()
    return caught.value


SAME_MISTAKES = {
    "disallowed special token": lambda e: e.encode("a <|endoftext|>"),
    "disallowed special token, numpy": lambda e: e.encode_to_numpy("a <|endoftext|>"),
    "disallowed special token, batch": lambda e: e.encode_batch(["a", "<|fim_prefix|>"]),
    "disallowed special token, unstable": lambda e: e.encode_with_unstable("<|endofprompt|>"),
    "disallowed name with quotes": lambda e: e.encode("it's \"x\"", disallowed_special={"'s \"x"}),
    "disallowed name of other script": lambda e: e.encode("特殊", disallowed_special={"殊"}),
    "single token that is none": lambda e: e.encode_single_token("hello world"),
    "single token of bytes that is none": lambda e: e.encode_single_token(b"\xff\xfe\xfd"),
    "unknown id": lambda e: e.decode([15339, 100_256]),
    "unknown large id": lambda e: e.decode_bytes([2**31]),
    "unknown single id": lambda e: e.decode_single_token_bytes(100_256),
    "unknown id among tokens": lambda e: e.decode_tokens_bytes([15339, 10**6]),
    "unknown id in a batch": lambda e: e.decode_batch([[15339], [10**6]]),
    "unknown id with offsets": lambda e: e.decode_with_offsets([10**6]),
    "offsets of ids that are no text": lambda e: e.decode_with_offsets([e.encode_single_token(b"\xff")]),
    "strict decoding of no text": lambda e: e.decode([e.encode_single_token(b"\xff")], errors="strict"),
    "token that is no int": lambda e: e.is_special_token("a"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", SAME_MISTAKES.values(), ids=SAME_MISTAKES)
def test_same_mistake_gets_tiktokens_error(both, mistake):
    mine, other = error_of(lambda: mistake(both.ours)), error_of(lambda: mistake(both.theirs))
    assert type(mine) is type(other)
    if not isinstance(mine, AssertionError):
        assert mine.args == other.args


SAME_TYPES = {
    "text that is bytes": lambda e: e.encode(b"bytes"),
    "text that is None": lambda e: e.encode(None),
    "text that is a number": lambda e: e.encode(1),
    "ordinary text that is None": lambda e: e.encode_ordinary(None),
    "batch with a None": lambda e: e.encode_batch(["a", None]),
    "ordinary batch with bytes": lambda e: e.encode_ordinary_batch(["a", b"b"]),
    "batch that is None": lambda e: e.encode_batch(None),
    "negative id": lambda e: e.decode([-1]),
    "id of 33 bits": lambda e: e.decode([2**32]),
    "id that is text": lambda e: e.decode(["a"]),
    "id that is a float": lambda e: e.decode([1.5]),
    "ids that are None": lambda e: e.decode(None),
    "ids that are an int": lambda e: e.decode(5),
    "negative single id": lambda e: e.decode_single_token_bytes(-1),
    "large single id": lambda e: e.decode_single_token_bytes(2**40),
    "single id that is text": lambda e: e.decode_single_token_bytes("a"),
    "single id that is None": lambda e: e.decode_single_token_bytes(None),
    "no threads": lambda e: e.encode_batch(["a"], num_threads=0),
    "no threads to decode": lambda e: e.decode_batch([[1]], num_threads=0),
    "one name as text": lambda e: e.encode("abc", allowed_special="abc"),
    "one name as text, nothing refused": lambda e: e.encode("abc", allowed_special="abc", disallowed_special=()),
    "one name as bytes": lambda e: e.encode("abc", allowed_special=b"abc", disallowed_special=()),
    "names in a list": lambda e: e.encode("abc", allowed_special=["<|endoftext|>"]),
    "names that are an int": lambda e: e.encode("abc", allowed_special=5, disallowed_special=()),
    "less than no threads": lambda e: e.encode_ordinary_batch(["a"], num_threads=-1),
    "errors mode unknown": lambda e: e.decode([e.encode_single_token(b"\xff")], errors="nonsense"),
    "option unknown": lambda e: e.encode("a", nonsense=1),
    "option by position": lambda e: e.encode_with_unstable("a", set()),
    "threads by position": lambda e: e.encode_batch(["a"], 8),
    "single token that is None": lambda e: e.encode_single_token(None),
    "single token that is a number": lambda e: e.encode_single_token(5),
}


@pytest.mark.parametrize("mistake", SAME_TYPES.values(), ids=SAME_TYPES)
def test_same_mistake_gets_tiktokens_type_of_error(both, mistake):
    mine, other = error_of(lambda: mistake(both.ours)), error_of(lambda: mistake(both.theirs))
    # Ours may be a subclass: code that catches tiktoken's error catches it too.
    assert isinstance(mine, type(other)), (repr(mine), repr(other))


def test_message_of_a_disallowed_token_says_what_to_write_instead(both):
    message = str(error_of(lambda: both.ours.encode("<|endoftext|>")))
    assert "allowed_special={'<|endoftext|>', ...}" in message and "disallowed_special=()" in message
    assert "offset" not in message and "byte" not in message  # as in tiktoken; streams add it


def test_encoding_works_on_after_every_mistake(both):
    for mistake in [*SAME_MISTAKES.values(), *SAME_TYPES.values()]:
        error_of(lambda mistake=mistake: mistake(both.ours))
    assert both.ours.encode("hello world") == [15339, 1917] and both.ours.decode([15339, 1917]) == "hello world"


# ==== Vocabularies ====


def test_vocabulary_error_is_a_value_error_that_is_copied_whole():
    error = VocabularyError("rank 5 is there twice", "a/b.tiktoken", 7)
    assert isinstance(error, ValueError) and str(error) == "a/b.tiktoken, line 7: rank 5 is there twice"
    for twin in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (type(twin), str(twin), twin.reason, twin.path, twin.line) == (
            VocabularyError, str(error), "rank 5 is there twice", "a/b.tiktoken", 7,
        )  # fmt: skip
    assert str(VocabularyError("no")) == "no" and str(VocabularyError("no", line=3)) == "line 3: no"


# ==== What tiktoken does not have ====


def test_names_that_tiktoken_takes(both):
    enc = both.ours
    assert enc.encode("abc", allowed_special=["abc"], disallowed_special=()) == enc.encode("abc")
    for unknown in ({""}, {"abc"}):  # a name that the encoding does not have is passed over, as in tiktoken
        assert enc.encode("abc", allowed_special=unknown) == both.theirs.encode("abc", allowed_special=unknown)
    assert (
        error_of(lambda: enc.encode("cab", disallowed_special="abc")).args
        == error_of(lambda: both.theirs.encode("cab", disallowed_special="abc")).args
    )  # its characters are the names


NAME = "<|endoftext|>"


@pytest.fixture(scope="module")
def patterned(both):
    """The same vocabulary, split by the `regex` package."""
    ranks, special = both.ours._mergeable_ranks, both.ours._special_tokens
    return streamtok.Encoding("patterned", pat_str=r"\w+(?=\s)|\W|\w", mergeable_ranks=ranks, special_tokens=special)


OF_ROWS = {
    "disallowed, ragged": (lambda e, n: e.encode_ragged(["a", "b", NAME], num_threads=n), "It stands in text 2\\.\n$"),
    "disallowed, padded": (lambda e, n: e.encode_padded([b"a", NAME], num_threads=n), "It stands in text 1\\.\n$"),
    "disallowed, long": (lambda e, n: e.encode_ragged([*["ab " * 70_000] * 3, NAME], num_threads=n), "in text 3\\.\n$"),
    "not UTF-8": (lambda e, n: e.encode_ragged(["a", b"\xff"], num_threads=n), r"invalid start byte \(text 1\)$"),
    "not UTF-8, padded": (lambda e, n: e.encode_padded(["a", bytearray(b"\xff")], num_threads=n), r"\(text 1\)$"),
}  # fmt: skip


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", OF_ROWS)
def test_error_of_a_row_names_it(both, patterned, name, threads):
    call, message = OF_ROWS[name]
    for enc in (both.ours, patterned):
        error = error_of(lambda enc=enc: call(enc, threads))
        assert re.search(message, str(error)) and error.row == int(re.findall(r"\d+", message)[-1])


BATCHES = {
    "encode": (lambda e, n: e.encode_batch(["a", NAME, "b"], num_threads=n), 1),
    "encode, long": (lambda e, n: e.encode_batch([*["well " * 20_000] * 7, NAME], num_threads=n), 7),
    "decode": (lambda e, n: e.decode_batch([[15339], [10**6]], num_threads=n), 1),
    "decode an array": (lambda e, n: e.decode_batch(np.array([[15339], [15339], [10**6]]), num_threads=n), 2),
    "decode, long": (lambda e, n: e.decode_batch([*[[15339] * 9000] * 9, [10**6]], num_threads=n), 9),
    "decode to bytes": (lambda e, n: e.decode_bytes_batch([[15339], [1], np.array([0.5])], num_threads=n), 2),
    "decode what is no UTF-8": (lambda e, n: e.decode_batch([[15339], [255]], errors="strict", num_threads=n), 1),
    "negative": (lambda e, n: e.decode_batch([[15339], [-1]], num_threads=n), 1),
}  # fmt: skip


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", BATCHES)
def test_error_of_a_batch_has_tiktokens_message_and_a_note_that_names_the_row(both, patterned, name, threads):
    call, row = BATCHES[name]
    for enc in (both.ours, patterned):
        error = error_of(lambda enc=enc: call(enc, threads))
        assert error.row == row
        assert [note for note in error.__notes__ if note.endswith(f" {row}.")] == error.__notes__ and len(
            error.__notes__
        ) == 1
        single = error_of(lambda enc=enc: enc.encode(NAME) if name.startswith("encode") else enc.decode_bytes([10**6]))
        assert type(error) is not type(single) or error.args == single.args


def test_error_that_is_none_of_a_row_names_none(both):
    for call in (
        lambda: both.ours.encode_ragged(["a"], num_threads=0),
        lambda: both.ours.encode_batch(["a"], num_threads=0),
        lambda: both.ours.decode_batch(np.zeros((1, 1, 1), int)),
    ):
        assert getattr(error_of(call), "row", None) is None


def test_what_a_signal_handler_raises_is_told_of_no_row(both):
    """The same exception leaves the call, as it was."""
    signal_error = ValueError("time is up")
    signal_error.row = None
    assert at_row(signal_error, 5) is signal_error
    assert error_of(lambda: raise_of_row(signal_error, "text")) is signal_error and signal_error.args == ("time is up",)


def test_a_text_that_changed_is_refused_by_the_documented_errors():
    """What was read of it was refused; what stands there now is not."""
    error = error_of(lambda: raise_of_row(at_row(changed_text_error(False), 3), "row"))
    assert isinstance(error, UnicodeDecodeError) and "changed the text" in str(error) and "(row 3)" in str(error)
    error = error_of(lambda: raise_of_row(at_row(changed_text_error(True), 3), "row"))
    assert type(error) is ValueError and str(error).endswith("(row 3)")
