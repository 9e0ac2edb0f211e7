"""The matrix of the tests: an encoding, a text with its choices, and each way from that text to ids, and one oracle.

`ROWS` are encodings with their oracle: tiktoken's encoding, the reference engine, or the definition in Python. A `Case`
is a text with the choices that its ids depend on. `OF_STR` and those behind it are the ways to the ids, in whole or in
part, on one thread or several. `check` holds each of them against the oracle: the ids, or the error with its place.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import pickle
import random
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import hypothesis.strategies as st
import nasty
import numpy as np
import oracle
import pytest
from longest_match import BYTES, longest

import streamtok
from streamtok import _batch as batch
from streamtok.bundled.characters import BYTE_NAMES
from streamtok.bundled.scored import Scored, pack_scored

Options = dict[str, Any]
Outcome = Any  # a list of ids, or what error_of gives

# ==== Oracles ====


def mended(text: str) -> str:
    """Pairs of surrogates are the character, others U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class Definition:
    """Names of special tokens cut a text; what is between them is normalized, which may ask whether it is the text's
    beginning; the pattern cuts it, and the model turns a piece into ids."""

    def __init__(
        self,
        special: dict[str, int],
        pattern: str | None,
        model: Callable[[bytes], list[int]],
        normal: Callable[[str, bool], str] = lambda text, is_first: text,
    ) -> None:
        self.special, self.pattern, self.model, self.normal = special, pattern, model, normal

    def encode(self, text: str, allowed_special: Any = frozenset(), disallowed_special: Any = "all") -> list[int]:
        text, known = mended(text), set(self.special)
        allowed = known if allowed_special == "all" else set(allowed_special)
        refused = known - allowed if disallowed_special == "all" else set(disallowed_special)
        if found := first_of(refused, text):
            raise ValueError(f"disallowed special token {found[0]!r}.")
        ids, at = [], 0
        for name in first_of_each(allowed & known, text):
            ids += [*self.ordinary(text[at : name.start()], at == 0), self.special[name[0]]]
            at = name.end()
        return ids + self.ordinary(text[at:], at == 0)

    def ordinary(self, text: str, is_first: bool) -> list[int]:
        text = self.normal(text, is_first) if text else ""
        pieces = [text] if self.pattern is None else pytest.importorskip("regex").findall(self.pattern, text)
        return [token for piece in pieces for token in self.model(piece.encode())] if text else []


def first_of_each(names: set[str], text: str) -> Iterator[re.Match[str]]:
    """From left to right, at each place the longest name, none inside another."""
    return re.finditer("|".join(map(re.escape, sorted(names, key=len, reverse=True))), text) if names else iter(())


def first_of(names: set[str], text: str) -> re.Match[str] | None:
    return next(first_of_each(names, text), None)


# ==== Rows ====


class Row(NamedTuple):
    """An encoding, and what says its ids: `encode` as tiktoken has it. spells: the ids decode to the text."""

    name: str
    ours: streamtok.Encoding
    oracle: Any
    spells: bool = True


TINY_NAMES = {"<|x|>": 1000, "<|xy|>": 1001, "<|endoftext|>": 1002, "ab!": 1003, "<|x": 1004, "\n\n": 1005}
TINY = BYTES | {
    token: 256 + i
    for i, token in enumerate(
        (b"ab", b"abc", b"bc", b"  ", b"    ", b" a", b"aa", b"aaaa", b"\xc3\xa9", b"\xe4\xb8", "中".encode(), b"'s")
    )
}
NO_MERGE = {b"ab" * 140: 300, b"a" * 300: 301, b"a" * 299 + b"b": 302, "é中".encode() * 40: 303}
"""Tokens that no merge makes: each is there only as a whole piece."""


def tiny(pattern: str | None, engine: str = "fast", **more: int) -> Row:
    ranks = TINY | NO_MERGE
    arguments = {"pat_str": pattern, "mergeable_ranks": ranks, "special_tokens": TINY_NAMES, "engine": engine}
    enc = quietly(lambda: streamtok.Encoding("tiny", **arguments))
    merged = functools.lru_cache(1000)(lambda piece: oracle.encode_piece(piece, ranks))
    return Row("", enc, Definition(TINY_NAMES, pattern, merged))


def with_marks(pattern: str | None, engine: str = "fast") -> Row:
    """Blanks are marks, and one stands in front of a text that does not begin with a name."""

    def normal(text: str, is_first: bool) -> str:
        return ("▁" * (is_first and text[0] != "▁") + text).replace(" ", "▁")

    ranks = TINY | {"▁".encode(): 500, "▁a".encode(): 501, "▁▁".encode(): 502}
    steps = [("PrependUnless", "▁", True), ("Replace", " ", "▁")]
    arguments = {"pat_str": pattern, "mergeable_ranks": ranks, "special_tokens": TINY_NAMES, "engine": engine}
    enc = quietly(lambda: streamtok.Encoding("tiny", normalizer=steps, **arguments))
    merged = functools.lru_cache(1000)(lambda piece: oracle.encode_piece(piece, ranks))
    return Row("", enc, Definition(TINY_NAMES, pattern, merged, normal), False)


def by_longest(pattern: str | None, engine: str = "fast") -> Row:
    tokens = TINY | NO_MERGE | {b"ab" * 9 + b"c": 400, b"a<": 401, b"\xad\xe4": 402}
    enc = streamtok.Encoding.longest_match("tiny", tokens, special_tokens=TINY_NAMES, pat_str=pattern, engine=engine)
    return Row("", enc, Definition(TINY_NAMES, pattern, lambda piece: longest(tokens, piece)))


SCORES = {
    token: float(-(len(token) % 3)) for token in ("ab", "abc", "bc", "  ", " a", "aa", "aaaa", "'s", "é", "中", "aé")
}
SCORES |= {chr(point): 0.0 for point in range(32, 127) if chr(point) not in "xZ9"}


def joined_by_scores(text: str) -> list[str]:
    """The neighbours with the highest score are joined, the leftmost of equal ones first."""
    parts = list(text)
    while pairs := [(-SCORES[a + b], i) for i, (a, b) in enumerate(pairwise(parts)) if a + b in SCORES]:
        at = min(pairs)[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts


def by_scores(pattern: str | None, engine: str = "fast") -> Row:
    """SentencePiece's BPE with equal scores; what is no token becomes the tokens of its bytes."""
    texts = ["<unk>", *BYTE_NAMES, *SCORES]
    sizes = np.array([len(text.encode()) for text in texts], np.int64)
    scores = np.array([SCORES.get(text, 0.0) for text in texts])
    silent = np.arange(len(texts)) <= len(BYTE_NAMES)
    ids, of_bytes = np.arange(len(texts), dtype=np.uint32), list(range(1, 257))
    tokens = Scored("".join(texts).encode(), sizes, ids, scores, silent, 0, 0.0, of_bytes, False, True)
    arguments = {"pat_str": pattern, "mergeable_ranks": pack_scored(tokens, "sentencepairs"), "engine": engine}
    enc = quietly(lambda: streamtok.Encoding("tiny", special_tokens=TINY_NAMES, **arguments))
    known = {text: i for i, text in enumerate(texts) if text in SCORES}

    @functools.lru_cache(1000)
    def model(piece: bytes) -> list[int]:
        parts = joined_by_scores(piece.decode())
        found = ([known[part]] if part in known else [1 + byte for byte in part.encode()] for part in parts)
        return list(itertools.chain.from_iterable(found))

    return Row("", enc, Definition(TINY_NAMES, pattern, model), False)


def quietly(make: Callable[[], Any]) -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make()


WORDS = r"\w+|\s+|[^\w\s]"
CL100K = streamtok.patterns.CL100K

_MADE: dict[str, Callable[[], Row]] = {
    **{name: lambda name=name: Row(name, oracle.ours(name), oracle.theirs(name)) for name in oracle.NAMES},
    **{kind: lambda kind=kind: Row(*oracle.damaged_pair(kind)) for kind in oracle.DAMAGED},
    **{
        f"{name}, reference": lambda name=name: Row(name, oracle.ours(name, "reference"), oracle.theirs(name))
        for name in oracle.FAMILIES
    },
    **{
        f"{name} without pattern": lambda name=name: Row(
            name, oracle.without_pattern(name), oracle.without_pattern(name, "reference")
        )
        for name in oracle.FAMILIES
    },
    "tiny": lambda: tiny(CL100K),
    "tiny, reference": lambda: tiny(CL100K, "reference"),
    "tiny without pattern": lambda: tiny(None),
    "tiny, a pattern of one's own": lambda: tiny(WORDS),
    "tiny, a pattern that only regex knows": lambda: tiny(r"\w+(?=\s)|\W|\w"),
    "tiny, marks for blanks": lambda: with_marks(CL100K),
    "tiny without pattern, marks for blanks": lambda: with_marks(None),
    "tiny without pattern, marks for blanks, reference": lambda: with_marks(None, "reference"),
    "tiny by scores": lambda: by_scores(CL100K),
    "tiny by scores, reference": lambda: by_scores(CL100K, "reference"),
    "longest": lambda: by_longest(CL100K),
    "longest without pattern": lambda: by_longest(None),
    "longest, a pattern of one's own": lambda: by_longest(WORDS),
    "longest, reference": lambda: by_longest(CL100K, "reference"),
}
ROWS = tuple(_MADE)


@functools.cache
def row(name: str) -> Row:
    return _MADE[name]()._replace(name=name)


# ==== Cases ====


class Case(NamedTuple):
    text: str | bytes
    special: Options
    errors: str = "strict"
    cuts: tuple[int, ...] = ()
    threads: int = 2

    @property
    def data(self) -> bytes | None:
        """As UTF-8, unless it is a str that has no such form."""
        if isinstance(self.text, bytes):
            return self.text
        try:
            return self.text.encode()
        except UnicodeEncodeError:
            return None


def special_of(names: list[str]) -> list[Options]:
    """Choices of special tokens, for an encoding with these names."""
    some = set(names[:1])
    return [
        {"disallowed_special": ()},
        {"allowed_special": "all"},
        {},
        {"allowed_special": some},
        {"allowed_special": some, "disallowed_special": ()},
        {"allowed_special": set(names[1:]), "disallowed_special": some},
        {"allowed_special": {"<|unknown|>"}, "disallowed_special": {"hello", "'s"}},
        {"allowed_special": frozenset(names), "disallowed_special": frozenset()},
        {"allowed_special": set(), "disallowed_special": sorted(some)},
    ]


def names_of(row: Row) -> list[str]:
    return sorted(row.ours.special_tokens_set)[:8]  # tiktoken compiles a regular expression for each set


def has_nested(row: Row) -> bool:
    """Whether a name stands in another one."""
    names = row.ours.special_tokens_set
    return len(names) < 100 and any(a != b and a in b for a, b in itertools.product(names, names))


HALVES = ["\ud83d", "\ude00", "\udc80", "\ud800"]
LETTERS = [*nasty.ALPHABET, *nasty.ALPHABET, "<|", "|>", "<|x", "<|xy|>", "a", "b", "ab", "ab!", "hello", " world"]


def texts(row: Row, surrogates: bool = True, size: int = 30) -> st.SearchStrategy[str]:
    """Of few or many kinds of characters, with runs, any Unicode, and names of special tokens."""
    letters = LETTERS + names_of(row) + [name[:-1] for name in names_of(row)] + HALVES * surrogates
    runs = st.tuples(st.sampled_from([*nasty.UNITS.values(), *letters]), st.sampled_from([2, 3, 17, 64, 130, 301]))
    part = st.one_of(*[st.sampled_from(letters)] * 5, runs.map(lambda run: run[0] * run[1]), st.text(max_size=4))
    few = st.lists(st.sampled_from(letters), min_size=1, max_size=4).flatmap(
        lambda chosen: st.lists(st.sampled_from(chosen), max_size=2 * size)
    )
    found = st.one_of(st.lists(part, max_size=size), few, st.lists(part, max_size=size)).map("".join)
    return found if surrogates else found.map(mended)


def byte_texts(row: Row) -> st.SearchStrategy[bytes]:
    """Nearly UTF-8."""
    part = st.one_of(st.sampled_from(nasty.BYTE_PARTS), texts(row, False, 6).map(str.encode))
    return st.lists(part, max_size=12).map(b"".join)


@st.composite
def cases(draw: Any, row: Row) -> Case:
    is_str = draw(st.booleans())
    return Case(
        draw(texts(row) if is_str else byte_texts(row)),
        draw(st.sampled_from(special_of(names_of(row)))),
        "strict" if is_str else draw(st.sampled_from(("strict", "replace", "ignore"))),
        tuple(draw(st.lists(st.integers(0, 400), max_size=6))),
        draw(st.sampled_from((2, 3, 8))),
    )


def mixed_text(rng: random.Random, size: int) -> str:
    """Scripts, special tokens, runs and odd characters side by side."""
    topics, parts = oracle.topics(), []
    while size > 0:
        at = rng.randrange(len(topics) - 300)
        parts += rng.choice(
            [
                [*nasty.random_strings(rng, 3, 40)],
                [rng.choice(nasty.FIXED), rng.choice(nasty.SPECIALS) * rng.randint(1, 3)],
                [topics[at : at + rng.randint(1, 300)]],
            ]
        )
        size -= sum(map(len, parts[-3:]))
    return "".join(parts)


# ==== Ways to the ids ====


def chunks_of(data: Any, cuts: tuple[int, ...]) -> list[Any]:
    borders = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(borders)]


def _streamed(twin: Callable[[Any], Any]) -> Callable[..., list[int]]:
    """Fed in the chunks of the case. `twin` goes on behind each of them."""

    def call(enc: Any, text: Any, case: Case, **options: Any) -> list[int]:
        ids: list[int] = []
        stream = enc.stream_encoder(**options)
        for chunk in chunks_of(text, case.cuts):
            ids += stream.feed(chunk).tolist()
            stream = twin(stream)
        return ids + stream.flush().tolist()

    return call


def _restored(stream: Any) -> Any:
    state = stream.getstate()
    stream.reset()
    stream.setstate(state)
    return stream


def _singly(enc: Any, text: Any, case: Case, **options: Any) -> list[int]:
    return oracle.streamed(enc.stream_encoder(**options), (text[at : at + 1] for at in range(len(text))))


def _among_others(call: str, others: list[Any]) -> Callable[..., list[int]]:
    def run(enc: Any, text: Any, case: Case, **options: Any) -> list[int]:
        made = getattr(enc, call)([*others, text, *others], num_threads=case.threads, **options)
        if call == "encode_ragged":
            ids, starts = made
            assert len(starts) == 2 * len(others) + 2 and starts[0] == 0 and starts[-1] == len(ids)
            assert ids.dtype == np.uint32 and starts.dtype == np.int64
            made = [ids[a:b].tolist() for a, b in itertools.pairwise(starts)]
        assert made[: len(others)] == made[-len(others) :]
        return made[len(others)]

    return run


def _counted(**more: Any) -> Callable[..., Any]:
    return lambda enc, text, case, **options: Count(enc.count(text, **options, **more))


class Count(int):
    """The number of ids, which stands for them."""


def _with_offsets(enc: Any, text: str, case: Case, **options: Any) -> list[int]:
    ids, offsets = enc.encode_with_offsets(text, **options)
    assert ids.dtype == np.uint32 and offsets.dtype == np.int64 and len(ids) == len(offsets)
    decoded, places = enc.decode_with_offsets(ids.tolist())
    assert decoded == mended(text) and places == offsets.tolist()
    return ids.tolist()


def _into_out(enc: Any, text: Any, case: Case, **options: Any) -> list[int]:
    out = np.full(4 * len(text) + 8, -1, np.int64)
    ids = enc.encode_to_numpy(text, out=out, **options)
    assert ids.base is not None and (out[len(ids) :] == -1).all()
    return ids.tolist()


def _numpy(form: Callable[[bytes], Any], **more: Any) -> Callable[..., list[int]]:
    return lambda enc, text, case, **options: enc.encode_to_numpy(form(text), **options, **more).tolist()


OF_STR: dict[str, Callable[..., Any]] = {
    "encode": lambda enc, text, case, **options: enc.encode(text, **options),
    "encode_with_offsets": _with_offsets,
    "encode_batch": lambda enc, text, case, **options: enc.encode_batch([text], **options)[0],
    "encode_batch, threads": _among_others("encode_batch", ["1", "", "12 34 " * 20]),
}
OF_PLAIN: dict[str, Callable[..., Any]] = {
    "encode_ordinary": lambda enc, text, case, **options: enc.encode_ordinary(text),
    "encode_ordinary_batch": lambda enc, text, case, **options: enc.encode_ordinary_batch([text, text])[1],
    "_encode_only_native_bpe": lambda enc, text, case, **options: enc._encode_only_native_bpe(text),
}
"""Without special tokens."""
OF_BOTH: dict[str, Callable[..., Any]] = {
    "encode_to_numpy": lambda enc, text, case, **options: enc.encode_to_numpy(text, **options).tolist(),
    "encode_to_numpy, threads": lambda enc, text, case, **options: enc.encode_to_numpy(
        text, num_threads=case.threads, **options
    ).tolist(),
    "encode_to_numpy, out": _into_out,
    "count": _counted(),
    "count, threads": _counted(num_threads=3),
    "encode_ragged, threads": _among_others("encode_ragged", ["1", b"", b"12 34 " * 20]),
    "stream": _streamed(lambda stream: stream),
    "stream, saved": _streamed(_restored),
    "stream, copied": _streamed(lambda stream: stream.copy()),
    "stream, pickled": _streamed(lambda stream: pickle.loads(pickle.dumps(stream))),
    "stream, singly": _singly,
    "encode_stream": lambda enc, text, case, **options: [
        token for ids in enc.encode_stream(chunks_of(text, case.cuts), **options) for token in ids.tolist()
    ],
}
OF_BYTES: dict[str, Callable[..., Any]] = {
    "bytearray": _numpy(bytearray),
    "memoryview": _numpy(lambda data: memoryview(b"xx" + data + b"yy")[2:-2]),
    "array": _numpy(lambda data: np.frombuffer(data, np.uint8)),
    "bytearray, threads": _numpy(bytearray, num_threads=2),
}


def error_of(error: ValueError) -> Outcome:
    """The kind of an error with its place in the text or the name that it tells."""
    if isinstance(error, UnicodeDecodeError):
        reason, _, place = error.reason.partition(" at byte ")
        start = int(place.split()[0]) if place else error.start
        return "not UTF-8", start, error.object[error.start : error.end], re.sub(r" \((text|row) \d+\)$", "", reason)
    told = re.search(r"disallowed special token (['\"].*['\"])\.", str(error))
    if told is None:
        raise error
    return "disallowed", told[1]


def outcome(call: Callable[..., Any], *arguments: Any, **options: Any) -> Outcome:
    try:
        return call(*arguments, **options)
    except ValueError as error:
        return error_of(error)


def wanted(row: Row, case: Case) -> Outcome:
    """The ids of the oracle, or its error."""
    text = case.text
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8", case.errors)
        except UnicodeDecodeError as error:
            return error_of(error)
    return outcome(row.oracle.encode, text, **case.special)


def ways(case: Case) -> Iterator[tuple[str, Callable[..., Any], Any]]:
    """The entries that take the text, with it in their form."""
    if isinstance(case.text, str):
        if case.special == {"disallowed_special": ()}:
            yield from ((name, call, case.text) for name, call in OF_PLAIN.items())
        yield from ((name, call, case.text) for name, call in (OF_STR | OF_BOTH).items())
    if case.data is not None:
        yield from ((name, call, case.data) for name, call in (OF_BOTH | OF_BYTES).items())


def check(row: Row, case: Case, chosen: Callable[[str], bool] = lambda entry: True, **more: Any) -> None:
    """Each way that takes the text has the outcome of the oracle. A stream may meet a name in front of a fault, and so
    may buffers that others could change, which are copied in slices."""
    want = wanted(row, case)
    for entry, call, text in ways(case):
        if not chosen(entry) or (entry == "encode_with_offsets" and not row.spells):
            continue
        options = case.special | more | ({} if case.errors == "strict" else {"errors": case.errors})
        got = outcome(call, row.ours, text, case, **options)
        same = got == (len(want) if isinstance(got, Count) and isinstance(want, list) else want)
        if not same and ("stream" in entry or entry in OF_BYTES):
            is_fault = want[:1] == ("not UTF-8",)
            other = wanted(row, case._replace(text=case.text.decode("utf-8", "replace"))) if is_fault else want
            # It refuses a name at once, without waiting for a longer one.
            same = got == other or (got[:1] == other[:1] == ("disallowed",) and has_nested(row))
        assert same, (row.name, entry, text, case, got, want)


@contextlib.contextmanager
def small_parts(cores: int = 64) -> Iterator[None]:
    """Parts of a few bytes, and as many threads as asked for, so that short texts are cut often."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "_LEAST_PART", 16)
        patch.setattr(batch, "_LEAST_SHARE", 16)
        patch.setattr(batch, "cores", lambda: cores)
        yield
