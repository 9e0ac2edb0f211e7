"""Streams and decoders in any order of calls: each is compared with a model that keeps all that it was given.

A call that the model refuses has to raise that error and to leave the stream as it was, byte for byte.
"""

from __future__ import annotations

import codecs
import copy
import itertools
import pickle
from typing import Any, NamedTuple

import hypothesis.strategies as st
import matrix
import nasty
import numpy as np
import oracle
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

ERRORS = ("strict", "replace", "ignore")
HALVES = ("\ud83d", "\ud800")
"""What a low surrogate may follow. Behind half a character such a half alone says nothing yet."""
EXAMPLES = settings(max_examples=max(25, settings.default.max_examples // 4), stateful_step_count=25)


class Read(NamedTuple):
    """What a stream has read of its chunks. held: bytes at the end that are no character yet; size: bytes of the text,
    in which half a pair of surrogates is not counted before the other half, or what is none, has come."""

    text: str
    held: int
    size: int


def read(chunks: list[str | bytes], errors: str, final: bool) -> Read:
    """Raises where the bytes are not UTF-8. A str goes on with one, and bytes with bytes: what else stands behind half
    a character shows that it is none."""
    text, held, size = "", 0, 0
    pairs = zip(["", *chunks], chunks)
    told = [chunk for before, chunk in pairs if chunk or (isinstance(chunk, bytes) and before[-1:] in HALVES)]
    runs = [(kind, list(run)) for kind, run in itertools.groupby(told, type)]
    for number, (kind, run) in enumerate(runs):
        behind = runs[number + 1 :]
        is_last = final or len(behind) > 1 or (len(behind) == 1 and "".join(map(str, behind[0][1])) not in HALVES)
        if kind is bytes:
            decoder, data = codecs.getincrementaldecoder("utf-8")(errors), b"".join(run)  # type: ignore[arg-type]
            try:
                text += decoder.decode(data, is_last)
            except UnicodeDecodeError as error:
                error.start += size
                raise
            held, size = len(decoder.getstate()[0]), size + len(data)
        else:
            joined = "".join(run)  # type: ignore[arg-type]
            is_half = not is_last and joined[-1] in HALVES
            whole = matrix.mended(joined[:-1] if is_half else joined)
            text, held, size = text + whole, held * (joined in HALVES) + 3 * is_half, size + len(whole.encode())
    return Read(text, held, size)


class Model:
    """What a stream was given since its text began, and the ids that it gave."""

    def __init__(self, chunks: list[str | bytes], ids: list[int]) -> None:
        self.chunks, self.ids = chunks, ids

    def copy(self) -> Model:
        return Model(self.chunks[:], self.ids[:])


CHUNKS = st.one_of(
    st.lists(st.sampled_from([*matrix.LETTERS, *nasty.PLAIN, *matrix.HALVES]), max_size=6).map("".join),
    st.lists(st.sampled_from([*matrix.LETTERS, "<|endof", "text|>"]), max_size=6).map(
        lambda all: "".join(all).encode()
    ),
    st.sampled_from([*nasty.BYTE_PARTS, *nasty.BYTE_PARTS, b"", "", *HALVES, "\ude00", b"\x98\x80", b"\xad", b"\x80"]),
    st.tuples(st.sampled_from([*nasty.UNITS.values()]), st.sampled_from([14, 65, 130, 301])).map(lambda u: u[0] * u[1]),
)
MACHINES = (
    *(
        "cl100k_base",
        "o200k_base",
        "r50k_base",
        "small permuted",
        "cl100k_base, reference",
        "o200k_base without pattern",
    ),
    *("tiny", "tiny without pattern", "tiny, a pattern of one's own", "longest", "longest without pattern"),
    *("tiny, marks for blanks", "tiny without pattern, marks for blanks"),
)


class Streams(RuleBasedStateMachine):
    """One stream is used at a time; its twins wait."""

    name: str

    @initialize(choice=st.integers(0, 8), errors=st.sampled_from(ERRORS))
    def begin(self, choice: int, errors: str) -> None:
        self.row, self.errors = matrix.row(self.name), errors
        self.special = matrix.special_of(matrix.names_of(self.row))[choice]
        self.stream, self.model = self.new(), Model([], [])
        self.twins: list[tuple[Any, Model]] = []

    def new(self) -> Any:
        return self.row.ours.stream_encoder(errors=self.errors, **self.special)

    def whole(self, chunks: list[str | bytes], more: str = "") -> list[int]:
        return self.row.oracle.encode(read(chunks, self.errors, True).text + more, **self.special)

    def refusal(self, chunks: list[str | bytes], final: bool) -> list[Any]:
        """The errors of which one has to be raised; none if there is none."""
        found = []
        try:
            text = read(chunks, self.errors, final).text
        except UnicodeDecodeError as error:
            found.append(("not UTF-8", error.start))
            text = read(chunks, "replace", final).text
        told = matrix.outcome(self.row.oracle.encode, text, **self.special)
        if told[:1] == ("disallowed",):
            found.append(told[:1])
        return found

    def do(self, call: Any, chunks: list[str | bytes], final: bool) -> Any:
        """The call, which has to be refused where the model says so, with nothing changed."""
        refused = self.refusal(chunks, final)
        before = (self.stream.pending, self.stream.offset, self.saved())
        try:
            ids = call().tolist()
        except ValueError as error:
            told = matrix.error_of(error)
            kind = told[:2] if told[0] == "not UTF-8" else told[:1]
            assert kind in refused, (chunks, error, refused)
            assert (self.stream.pending, self.stream.offset, self.saved()) == before
            return None
        assert not refused, (chunks, refused)
        return ids

    def saved(self) -> Any:
        return self.stream.getstate() if hasattr(self.stream, "getstate") else None

    @rule(
        chunk=CHUNKS, kind=st.sampled_from([bytes, bytearray, memoryview, lambda data: np.frombuffer(data, np.uint8)])
    )
    def feed(self, chunk: str | bytes, kind: Any) -> None:
        chunks = [*self.model.chunks, chunk]
        ids = self.do(lambda: self.stream.feed(chunk if isinstance(chunk, str) else kind(chunk)), chunks, False)
        if ids is not None:
            self.model = Model(chunks, self.model.ids + ids)

    @rule()
    def flush(self) -> None:
        chunks = self.model.chunks
        ids = self.do(self.stream.flush, chunks, True)
        if ids is not None:
            assert self.model.ids + ids == self.whole(chunks), (self.name, self.special, self.errors, chunks)
            self.model = Model([], [])

    @rule()
    def reset(self) -> None:
        self.stream.reset()
        self.model = Model([], [])

    @rule(way=st.sampled_from(["copy", "copy.copy", "deepcopy", "pickle", "state", "state in place"]))
    def goes_on_as(self, way: str) -> None:
        stream = self.stream
        made = {
            "copy": lambda: stream.copy(),
            "copy.copy": lambda: copy.copy(stream),
            "deepcopy": lambda: copy.deepcopy(stream),
            "pickle": lambda: pickle.loads(pickle.dumps(stream)),
            "state": self.new,
            "state in place": lambda: stream,
        }[way]()
        if way.startswith("state"):
            state = stream.getstate()
            made.reset()
            made.setstate(state if way == "state" else memoryview(state))
        if way != "state in place":
            self.twins = [*self.twins[-3:], (stream, self.model.copy())]
        self.stream = made

    @precondition(lambda self: self.twins)
    @rule(number=st.integers(0, 3))
    def use_another(self, number: int) -> None:
        at = number % len(self.twins)
        self.twins[at], (self.stream, self.model) = (self.stream, self.model), self.twins[at]

    @rule(more=st.sampled_from(["", "a", " ", "'s", "x y", "\n", "ing", "中", "!", "ab" * 200]))
    def ids_that_left_stay(self, more: str) -> None:
        """They begin the ids of every continuation."""
        if not self.refusal([*self.model.chunks, more], True):
            ids = self.whole(self.model.chunks, more)
            assert ids[: len(self.model.ids)] == self.model.ids, (self.name, self.model.chunks, more)

    @invariant()
    def counts(self) -> None:
        if not hasattr(self, "model"):
            return
        found = read(self.model.chunks, self.errors if self.errors != "strict" else "ignore", False)
        assert self.stream.offset == found.size
        most = len(found.text.encode()) if self.row.spells else len(found.text.encode()) * 3 + 3  # as marks
        assert found.held <= self.stream.pending <= most + found.held


@pytest.mark.parametrize("name", MACHINES)
def test_streams(name):
    run(type("Streams", (Streams,), {"name": name}))


def run(machine: type[RuleBasedStateMachine]) -> None:
    test = machine.TestCase()
    test.settings = EXAMPLES
    test.runTest()


# ==== Decoders ====


class Decoders(RuleBasedStateMachine):
    """Characters come as Python's incremental decoder gives them: none before it is whole."""

    name: str

    @initialize(errors=st.sampled_from((*ERRORS, "backslashreplace")), skip=st.booleans())
    def begin(self, errors: str, skip: bool) -> None:
        self.enc, self.skip = matrix.row(self.name).ours, skip
        self.stream = self.enc.stream_decoder(errors=errors, skip_special_tokens=skip)
        self.model = codecs.getincrementaldecoder("utf-8")(errors)
        self.twins: list[Any] = []

    def bytes_of(self, ids: list[int]) -> bytes:
        kept = [token for token in ids if not (self.skip and self.enc.is_special_token(token))]
        return b"".join(map(self.enc.decode_single_token_bytes, kept))

    def same(self, call: Any, data: bytes, final: bool) -> None:
        state = self.model.getstate()
        try:
            want = self.model.decode(data, final)
        except UnicodeDecodeError:
            self.model.setstate(state)
            with pytest.raises(UnicodeDecodeError):
                call()
        else:
            assert call() == want, (data, state, want)
        assert self.stream.pending == len(self.model.getstate()[0])

    @rule(data=st.data(), form=st.sampled_from([list, tuple, np.array, iter, lambda ids: np.array(ids, np.uint32)]))
    def feed(self, data: st.DataObject, form: Any) -> None:
        ids = data.draw(ids_of(self.name))
        self.same(lambda: self.stream.feed(form(ids) if ids else []), self.bytes_of(ids), False)

    @rule(data=st.data())
    def feed_one(self, data: st.DataObject) -> None:
        token = data.draw(ids_of(self.name).filter(bool))[0]
        self.same(lambda: self.stream.feed(token), self.bytes_of([token]), False)

    @rule(wrong=st.sampled_from([[-1], [2**40], ["a"], [1.5], [3_999_999_999], None]))
    def feed_wrong(self, wrong: Any) -> None:
        with pytest.raises((OverflowError, TypeError, KeyError)):
            self.stream.feed(wrong)

    @rule()
    def flush(self) -> None:
        self.same(self.stream.flush, b"", True)

    @rule()
    def reset(self) -> None:
        self.stream.reset()
        self.model.reset()
        assert self.stream.pending == 0

    @rule(way=st.sampled_from([lambda d: d.copy(), copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))]))
    def goes_on_as(self, way: Any) -> None:
        self.twins = [*self.twins[-3:], (self.stream, self.model.getstate())]
        self.stream = way(self.stream)
        assert self.stream.errors == self.model.errors

    @precondition(lambda self: self.twins)
    @rule(number=st.integers(0, 3))
    def use_another(self, number: int) -> None:
        at = number % len(self.twins)
        stream, state = self.twins[at]
        self.twins[at], self.stream = (self.stream, self.model.getstate()), stream
        self.model.setstate(state)


def ids_of(name: str) -> st.SearchStrategy[list[int]]:
    """Those of texts, of single bytes that are nearly UTF-8, any, and special tokens."""
    enc = matrix.row(name).ours
    single = [enc.encode_single_token(bytes([value])) for value in range(256)]
    tokens = enc.encode_ordinary("naïve 中文 😀👩\u200d🚀 é some words") + [*enc._special_tokens.values()]
    data = st.lists(st.sampled_from([*nasty.BYTE_PARTS, "中é😀a".encode()]), max_size=4).map(b"".join)
    spelled = data.map(lambda data: [single[value] for value in data])
    return st.one_of(spelled, st.lists(st.sampled_from([*tokens, *single]), max_size=8))


@pytest.mark.parametrize("name", [*oracle.FAMILIES, "tiny", "longest"])
def test_decoders(name):
    run(type("Decoders", (Decoders,), {"name": name}))
