"""The table of bad inputs: (calls, bad value, error, part of the message). What holds a state keeps it as it was.

A bad value that is a function is made of the subjects, in the call. What tiktoken refuses, too, is in test_errors.py,
and what a message quotes of a huge value in test_messages.py.
"""

from __future__ import annotations

import array
import itertools
import operator
import re
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import oracle
import pytest
from test_id_arrays import OnCuda, OnlyArray, OnlyDlpack

import streamtok
from streamtok.errors import VocabularyError
from streamtok.native.rows import BEST_FIT_LENGTH
from streamtok.serving import MicroBatcher, batch_decoder
from streamtok.serving import session as sessions
from streamtok.stream import _restore_decoder

NAME = "<|endoftext|>"


class Subjects:
    """What is called. The stream, the decoders and the session are in the middle of their work."""

    def __init__(self) -> None:
        self.enc = enc = oracle.ours("cl100k_base")
        ranks = {"mergeable_ranks": enc._mergeable_ranks, "special_tokens": {}}
        self.r50k = oracle.ours("r50k_base")
        self.own = streamtok.Encoding("own", pat_str=r"\w+(?=\s)|\w+|\W", **ranks)
        self.nfc = streamtok.Encoding("nfc", pat_str=streamtok.patterns.CL100K, normalizer=[("NFC",)], **ranks)
        self.table = streamtok.Encoding("table", pat_str=r"\w+|\W", **ranks)
        self.own_stream = self.own.stream_encoder()
        self.stream, self.decoder, self.cache = enc.stream_encoder(), enc.stream_decoder(), streamtok.PrefixCache(enc)
        self.batch, self.session = enc.batch_decoder(2), enc.session("é and more", max_bytes=100)
        self.stream.feed("hello wor")
        self.decoder.feed(enc.encode("🤗")[:1])
        self.batch.feed([0], [[enc.encode_single_token(b"\xc3"), -1]])
        assert self.stream.pending and self.decoder.pending and self.batch.pending(0)

    def vocabulary(self, **changes: Any) -> streamtok.Encoding:
        good = {"pat_str": streamtok.patterns.CL100K, "mergeable_ranks": BYTES, "special_tokens": {}}
        return streamtok.Encoding("bad", **(good | changes))

    def state(self) -> object:
        held = (self.stream.getstate(), self.decoder.pending, self.session.text, self.session.ids.tolist())
        return held, self.cache.stats()[3:], [self.batch.getstate(slot) for slot in range(2)]


class Bad(NamedTuple):
    value: Any
    error: type[BaseException]
    says: str = ""


def itself(subjects: Subjects, made: Any) -> Any:
    """For bad values that are the call."""
    return made


# ==== Ids ====

NO_NUMBER = [
    Bad(np.array([1.0]), TypeError, "ids are integers, got an array of float64"),
    Bad(OnlyArray([1], "float32"), TypeError, "ids are integers, got an array of float32"),
    Bad(OnlyDlpack([1], "float16"), TypeError, "ids are integers, got an array of float16"),
    Bad(memoryview(array.array("d", [1])), TypeError, "got an array of float64"),
    Bad(array.array("d", [1]), TypeError, "float"),
    Bad([1.0], TypeError, "float"),
    Bad(np.array([True]), TypeError, "ids are integers, got an array of bool"),
    Bad(OnlyArray([True], "bool"), TypeError, "ids are integers, got an array of bool"),
    Bad(np.ma.array([1, 2], mask=[0, 1]), TypeError, r"masked array: write ids\.compressed\(\)"),
    Bad(np.array([1], object), TypeError, "ids are integers, got an array of object"),
    Bad(np.array(["1"]), TypeError, "ids are integers, got an array of <U1"),
    Bad("12", TypeError, "cannot use a str to initialize an array"),
    Bad(None, TypeError, "NoneType"),
    Bad(np.array([-1]), OverflowError, "negative or does not fit in 32 bits"),
    Bad(OnlyArray([2**32]), OverflowError, "negative or does not fit in 32 bits"),
    Bad(np.array([2**63], np.uint64), OverflowError, "negative or does not fit"),
    Bad(memoryview(array.array("q", [-1])), OverflowError, "negative or does not fit"),
    Bad([-1], OverflowError, "negative"),
    Bad(np.array([[1, 2]]), ValueError, r"one row, got an array of shape \(1, 2\); write decode_batch"),
    Bad(OnlyArray([[1, 2]]), ValueError, r"one row, got an array of shape \(1, 2\)"),
    Bad(OnlyDlpack([[1, 2]]), ValueError, r"one row, got an array of shape \(1, 2\)"),
    Bad(memoryview(np.zeros((1, 4), "u1")), ValueError, r"an array of shape \(1, 4\)"),
    Bad(np.array([4_000_000]), KeyError, "Invalid token for decoding: 4000000"),
    *(Bad([97, number], KeyError, str(number)) for number in (2**30 - 1, 2**30, 2**31, 2**32 - 1)),
]
IN_LISTS = [
    Bad(ids, error)
    for wrong, error in (
        *((-1, OverflowError), (2**32, OverflowError), (2**64, OverflowError)),
        *(("a", TypeError), (1.0, TypeError), (None, TypeError), (100_256, KeyError), (2**31, KeyError)),
    )
    for ids in ([wrong], [97] * 20 + [wrong], (wrong, 97))
]
MASKED, SQUARE = np.ma.array([1, 2], mask=[0, 1]), np.ma.array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])


def masked(says: str, *values: Callable[[Subjects], object]) -> list[Bad]:
    """As plain arrays they would have the values that are masked."""
    return [Bad(value, TypeError, f"{says} .*masked array") for value in values]


ONE_ID = [
    Bad(np.int64(100_256), KeyError, "Invalid token for decoding: 100256"),
    *(Bad(wrong, KeyError) for wrong in (100_256, 2**31)),
    *(Bad(wrong, OverflowError) for wrong in (-1, 2**32)),
    *(Bad(wrong, TypeError) for wrong in (True, np.bool_(True), np.array(True), 1.0, np.array(1.0))),
    *(Bad(wrong, TypeError) for wrong in (np.float64(1), np.array([1.0]))),
]
ONE_TOKEN = [Bad(wrong, TypeError) for wrong in (1.5, np.float64(1), "1", None, np.array([1.0]))]
A_NUMBER_FOR_IDS = [Bad(one, TypeError) for one in (5, np.int64(5), np.array(5), OnlyArray(5))]
A_BATCH = [
    Bad(rows, ValueError, "a batch is an array of two dimensions")
    for rows in (np.array([1, 2]), np.zeros((1, 2, 3), int), OnlyArray(5))
]
A_TABLE_FOR_A_ROW = [
    Bad(np.array([[15339, 1917]] * 2, np.uint32), ValueError, r"shape \(2, 2\); write decode_batch\(ids\)")
]
MASKED_ARRAYS = (
    masked(
        "ids are",
        lambda s: s.enc.decode_tokens_bytes(MASKED),
        lambda s: s.enc.decode_with_offsets(MASKED),
        lambda s: s.enc.token_strs(MASKED),
        lambda s: s.enc.token_strs(SQUARE),
        lambda s: s.enc.token_strs([MASKED, MASKED]),
        lambda s: s.enc.first_difference(MASKED),
        lambda s: s.enc.canonical_check().feed(MASKED),
        lambda s: s.enc.decode_batch(SQUARE),
        lambda s: s.enc.decode_bytes_batch(SQUARE),
        lambda s: s.enc.completions(MASKED, "a"),
        lambda s: s.batch.feed([0, 1], MASKED),
        lambda s: s.batch.feed([0, 1], SQUARE),
        lambda s: streamtok.pack([[1], MASKED], 4),
        lambda s: streamtok.pack(SQUARE, 4),
        lambda s: streamtok.pack((MASKED, [0, 2]), 4),
    )
    + masked("slots are", lambda s: s.batch.feed(MASKED, [1, 2]))
    + masked("counts are", lambda s: s.batch.feed([0, 1], [1, 2, 3], MASKED))
    + masked("indptr are", lambda s: streamtok.pack(([1, 2], np.ma.array([0, 2], mask=[0, 1])), 4))
    + masked("out is", lambda s: s.enc.encode_to_numpy("a", out=MASKED))
    + masked("an id is an int, got", lambda s: s.decoder.feed(np.ma.array(5, mask=True)))
)
STRS_OF_TOKENS = [
    Bad([1, 100_256, 2], KeyError, "Invalid token for decoding: 100256"),
    Bad([1, 10**7], KeyError, "Invalid token for decoding: 10000000"),
    Bad(-1, OverflowError, "negative"),
    Bad([1, 2**40], OverflowError, "does not fit"),
    Bad([1.5], TypeError, "float64"),
    Bad(True, TypeError, "bool"),
    Bad(["a"], TypeError, "ids are integers"),
    Bad([[1], [1, 2]], ValueError, "different lengths"),
    Bad([1, 2**80], TypeError, "integers of up to 32 bits"),
]
COMPLETIONS = [
    Bad(([10**7],), KeyError, "10000000"),
    Bad(([-1],), OverflowError, "negative"),
    Bad(([], b"\xff"), UnicodeDecodeError, "invalid start"),
    Bad(([], 1), TypeError, "int"),
]
NORMALIZED_COMPLETIONS = [Bad({"text": "e\u0301 link is http:"}, ValueError, "do not spell this text as it is")]

# ==== Texts and their options ====

ONE_STR = r"allowed_special='abc' is one str; write \{'abc'\} .* or 'all'"
NO_TEXT = [
    Bad(wrong, TypeError, f"expected str or a buffer of UTF-8 bytes, got {type(wrong).__name__}")
    for wrong in (None, 5, 1.5, ["a"], ("a",), {"a"}, object())
]
BYTES_FOR_A_STR = [Bad(b"a", TypeError, "expected str, got bytes; for UTF-8 bytes use encode_to_numpy")]
A_BUFFER_WITH_GAPS = [Bad(memoryview(b"abcdef")[::2], (ValueError, BufferError))]
ONE_OF_MANY_TEXTS = [
    Bad(["a", "b", None], TypeError, "got NoneType at index 2"),
    Bad(["a", 5, None], TypeError, "got int at index 1"),
    Bad(["a", [1]], TypeError, "got list at index 1"),
    Bad(["a", b"b", bytearray(b"ab\xff"), b"\xff"], UnicodeDecodeError, r"invalid start byte \(text 2\)"),
]
ONE_OF_MANY_STRS = [Bad(["a", "b", None], TypeError, "got NoneType at index 2")]
NAMES_THAT_ARE_NO_SET = [
    Bad({"allowed_special": "abc"} | more, TypeError, ONE_STR) for more in ({}, {"disallowed_special": ()})
] + [Bad({"allowed_special": ["abc"]}, TypeError, "is of type list; write a set of names")]
NAMES = [
    Bad({"allowed_special": {1}}, TypeError),
    Bad({"disallowed_special": {""}}, ValueError, "empty"),
]
ERRORS = [
    Bad({"errors": wrong}, ValueError, "'strict', 'replace', 'ignore'")
    for wrong in ("nonsense", "", "Strict", "surrogateescape", "backslashreplace")
]
ERRORS_OF_A_DECODER = [Bad({"errors": "nonsense"}, LookupError)]
THREADS = [Bad({"num_threads": number}, ValueError, "greater than 0") for number in (0, -1)]
OUT_AND_DTYPE = [
    Bad({"out": np.zeros(2, int)}, ValueError, "out has room for 2 ids, and there are 3: give a longer one"),
    Bad({"out": np.frombuffer(b"\0" * 64, np.uint32)}, ValueError, "out is read-only"),
    Bad({"out": b"1234"}, ValueError, "out is read-only|out.dtype"),
    Bad({"out": np.zeros((3, 3), int)}, ValueError, r"out is an array of shape \(3, 3\): give one row"),
    Bad({"out": np.zeros(9)}, ValueError, "out.dtype=.*float64.* is unknown: write one of 'uint16', "),
    Bad({"out": [0] * 9}, TypeError, "out is of type list: give an array of ids"),
    Bad({"out": OnCuda([0] * 9)}, TypeError, "out lies on a device"),
    Bad({"out": np.zeros(9, int), "dtype": "int32"}, ValueError, "array of int64: leave out dtype"),
    Bad({"dtype": "x"}, ValueError, "dtype='x' is unknown: write one of 'uint16', 'uint32', 'int32', 'int64'"),
    Bad({"dtype": float}, ValueError, "dtype=.*float.* is unknown"),
    Bad({"dtype": np.dtype("u4").newbyteorder().str}, ValueError, "dtype='>u4' is unknown"),
    Bad({"dtype": 5}, ValueError, "dtype=5 is unknown"),
]
IDS_THAT_DO_NOT_FIT = [
    Bad(
        {"dtype": "uint16"},
        ValueError,
        "'uint16' holds ids up to 65535, and 'cl100k_base' has ids up to 100276: write dtype='uint32', 'int32'",
    ),
    Bad({"out": np.zeros(9, np.uint16)}, ValueError, r"out\.dtype='uint16' holds ids up to 65535"),
]
TRUNCATE = [
    *(Bad((text, 10), UnicodeDecodeError) for text in (b"a \xff b", b"a " + b"\x80" * 5000, "a 中".encode()[:-1])),
    Bad(("a", 1.5), TypeError),
    Bad(("a", -1), ValueError, "n is -1; a text has 0 or more tokens"),
    Bad(("a" + NAME, 2), ValueError, "disallowed"),
    Bad(("one two three " * 10_000 + NAME, 10**6), ValueError, "disallowed"),
]
SEGMENTS = [
    Bad(["text"], TypeError, r"segment 0 is 'text': write \(text, names"),
    Bad([("a", set()), ("b",)], TypeError, "segment 1 is"),
    Bad([(1, set())], TypeError, "int"),
    Bad([("a", NAME)], TypeError, "allowed_special"),
    Bad([(b"\xff", set())], UnicodeDecodeError, "invalid start"),
    Bad([(b"a", set()), (b"\xc3", set())], UnicodeDecodeError, "unexpected end"),
]
THE_FIRST_DISALLOWED_NAME = [
    Bad({}, ValueError, r"'<\|fim_middle\|>'"),
    Bad({"allowed_special": {"<|fim_middle|>"}}, ValueError, r"'<\|endoftext\|>'"),
]

# ==== Rows ====

PADDED_TEXTS = [
    Bad(["a" + NAME], ValueError, "disallowed special token"),
    Bad(["a", 3], TypeError, "at index 1"),
    Bad([b"a", b"\xff"], UnicodeDecodeError, "text 1"),
]
PADDED = [
    Bad({"length": 0}, ValueError, "length=0: write how many ids a row has"),
    Bad({"length": 2.0}, ValueError, "length=2.0"),
    Bad({"max_length": 0}, ValueError, "max_length=0"),
    Bad({"pad_to_multiple_of": -8}, ValueError, "pad_to_multiple_of=-8"),
    Bad({"length": 8, "max_length": 4}, ValueError, "max_length=4 and length=8: every row has that length"),
    Bad({"length": 8, "pad_to_multiple_of": 4}, ValueError, "pad_to_multiple_of=4 and length=8"),
    Bad({"side": "top"}, ValueError, "side='top'"),
    Bad({"truncate": "middle"}, ValueError, "truncate='middle': a text loses ids at the 'right' or"),
    Bad({"dtype": "float32"}, ValueError, "dtype='float32'"),
    Bad({"dtype": "int16"}, ValueError, "ids up to 32767, and this encoding has ids up to 50256"),
    Bad({"dtype": "uint16", "pad_id": -1}, ValueError, "pad_id=-1 does not fit uint16"),
    Bad({"num_threads": 0}, ValueError, "num_threads"),
]
PACKED_DOCUMENTS = [
    Bad([[1], ["a"]], TypeError, "document 1: "),
    Bad([[1], "ab"], TypeError, "document 1 is of type str: give ids"),
    Bad("ab", TypeError, "documents are of type str"),
    Bad([[1], [-1]], OverflowError, "document 1: "),
    Bad([np.array([1.5])], TypeError, "document 0: ids are integers"),
    Bad(np.arange(4), ValueError, "an array of shape .4,.: give .ids. for a single document"),
    Bad(([1, 2], [3, 4]), ValueError, "indptr must ascend from 0 to the number of ids, 2: a tuple is the pair"),
    *(Bad(([1, 2], starts), ValueError, "indptr must ascend") for starts in ([0, 2, 1, 2], [1, 2], [0, 1])),
    Bad(([1, 2], []), ValueError, "indptr"),
    Bad(([1], [2], [3]), ValueError, "a tuple of 3 items"),
]
PACKED = [
    Bad(([[1]], 0, {}), ValueError, "length=0: write how many ids a row has"),
    Bad(([[1]], None, {}), ValueError, "length=None"),
    Bad(([[1]], True, {}), ValueError, "length=True"),
    Bad(([[1]], 8, {"how": "best"}), ValueError, "how='best' is unknown: write 'concatenate' or 'best-fit'"),
    Bad(([[1]], BEST_FIT_LENGTH + 1, {"how": "best-fit"}), ValueError, "rows of 16777216 ids at most"),
    Bad(([[1]], 8, {"dtype": "float32"}), ValueError, "dtype='float32': write one of"),
    Bad(([[1]], 8, {"eot": -1, "dtype": "uint32"}), ValueError, "eot=-1 does not fit uint32"),
    Bad(([[1]], 8, {"pad_id": 2**40, "dtype": "int32"}), ValueError, "pad_id="),
    Bad(([[1]], 70_000, {"dtype": "uint16"}), ValueError, "positions up to 69999 do not fit uint16"),
    Bad(([[1], [], [70_000]], 8, {"dtype": "uint16"}), ValueError, "document 2 has the id 70000"),
    Bad(([[]] * 3, 2**31, {"eot": 1}), ValueError, "places of sequences are 32-bit numbers"),
]

# ==== What holds a state ====

THE_STATE_OF_A_STREAM = [
    *(
        Bad(wrong, TypeError, f"of type {type(wrong).__name__}; pass the bytes that getstate")
        for wrong in ("abc", 5, None, ["a"])
    ),
    *(Bad(wrong, ValueError, "not the state") for wrong in (b"", b"x", b"\0" * 500, bytes(range(256)))),
    *(Bad(lambda s, n=n: s.stream.getstate()[:n], ValueError) for n in range(60)),
    *(Bad(lambda s, more=more: s.stream.getstate() + more, ValueError) for more in (b"\0", b"x" * 8)),
]
THE_STATE_OF_A_DECODER = [Bad(pending, ValueError) for pending in (b"abcd", b"a", "中".encode(), b"\xe4\xb8\xad\xe4")]
SLOTS = [
    Bad(([2], [64]), IndexError, "there is no slot 2: the decoder has 2"),
    Bad(([-1], [64]), IndexError, "there is no slot -1"),
    Bad(([0, 1], [64, 10**6]), KeyError, "Invalid token for decoding: 1000000"),
    Bad(([0, 1], [64, -2]), KeyError, "Invalid token for decoding: -2"),
    Bad(([0, 1], [64]), ValueError, "more ids than there are, 1"),
    Bad(([0], [64, 64]), ValueError, "there are 2 ids, and the counts ask for 1"),
    Bad(([0, 1], [64], [1]), ValueError, "2 slots and 1 counts"),
    Bad(([0, 1], [64], [2, -1]), ValueError, "more ids than there are, 1, or one of them is negative"),
    Bad(([0], [1.5]), TypeError, "ids are integers, got float at index 0"),
    Bad(([0], np.array([1.5])), TypeError, "ids are integers, got an array of float64"),
    Bad(([0, 1], [[1], [1, 2]]), ValueError, "different lengths"),
    Bad(([0], np.ones((1, 1, 1), int)), ValueError, r"ids are one row, got an array of shape \(1, 1, 1\)"),
]
STOP_STRINGS = [
    Bad("", ValueError, "a stop string is empty"),
    Bad(["a", 3], TypeError, "stop strings are str, got int: 3"),
    Bad(b"a", TypeError, "write stop.decode"),
    Bad("\ud800", ValueError, "lone surrogate"),
    Bad(list(map(str, range(300))), ValueError, "there are 300 stop strings; a text has at most 256"),
]
THE_STATE_OF_A_SLOT = [
    Bad(state, ValueError, "can have had this state")
    for state in (
        (2, (), b"", b"", None, None),
        (1, (), b"abc", b"", None, None),
        (1, ("abc",), b"", b"b", None, None),
        (1, ("abc",), b"", b"abc", None, None),
        (1, ("abc",), b"", b"", 1, None),
        (1, (), b"", b"", 0, None),
        (1, (), b"\xc3\xa9", b"", None, None),
        array,
    )
]
A_BATCH_DECODER = [
    *(Bad({"slots": n}, ValueError, "write a number from 1 to") for n in (0, batch_decoder.MOST_SLOTS + 1)),
    Bad({"slots": 1, "errors": "strict"}, ValueError, "takes 'replace' and 'ignore'"),
]
A_CACHE = [
    *(Bad(lambda s, bad=bad: s.cache.encode(bad), TypeError, "expected str") for bad in (b"some words", 3, None)),
    Bad(lambda s: s.cache.encode("some words " * 1_000 + NAME), ValueError, "disallowed special token"),
    *(Bad(lambda s, bad=bad: s.cache.encode("x", salt=bad), TypeError, "write a str or bytes") for bad in (3, ["a"])),
    Bad(lambda s: streamtok.PrefixCache(s.enc, max_bytes=-1), ValueError, "max_bytes=-1 is negative"),
    Bad(lambda s: streamtok.PrefixCache(s.enc, max_bytes=1e6), TypeError, "max_bytes=1000000.0 is of type float"),
]
A_SESSION = [
    Bad(lambda s: s.session.append(f"a {NAME}"), ValueError, "disallowed special token"),
    Bad(lambda s: s.session.append(b"\xc3"), UnicodeDecodeError, "unexpected end"),
    Bad(lambda s: s.session.append(b"\xff"), UnicodeDecodeError, "invalid start"),
    Bad(lambda s: s.session.append("x" * 90), ValueError, "101 bytes; this session takes at most 100"),
    Bad(lambda s: s.session.append(3), TypeError, "got int"),
    Bad(lambda s: s.session.replace(2, 3, b"\xc3"), UnicodeDecodeError, "utf-8"),
    Bad(lambda s: s.session.replace(2, 3, NAME), ValueError, "disallowed special token"),
    Bad(lambda s: s.session.replace(1, 3, "x"), ValueError, "inside a character"),
    Bad(lambda s: s.session.replace(3, 2, "x"), IndexError, "from 3 to 2: it has 11 bytes"),
    Bad(lambda s: s.session.replace(0, 12, "x"), IndexError, "from 0 to 12"),
    Bad(lambda s: s.session.replace(-1, 2, "x"), IndexError, "from -1 to 2"),
    Bad(lambda s: s.session.update("x" * 101), ValueError, "would have 101 bytes"),
    Bad(lambda s: s.session.truncate(), TypeError, "a number of tokens, or bytes="),
    Bad(lambda s: s.session.truncate(1, bytes=1), TypeError, "and not both"),
    Bad(lambda s: s.session.truncate(bytes=-1), ValueError, "is negative"),
    Bad(lambda s: s.session.ids.__setitem__(0, 1), ValueError, "assignment destination is read-only"),
    Bad(lambda s: sessions._restore(s.enc, (0, b"", frozenset(), "all", None)), ValueError, "another version"),
]
A_MICRO_BATCHER = [
    Bad({"max_delay": -1}, ValueError, "max_delay is -1"),
    Bad({"max_delay": float("nan")}, ValueError, "max_delay is nan"),
    Bad({"max_batch_bytes": 0}, ValueError, "max_batch_bytes is 0: write a number of bytes from 1 on"),
    Bad({"max_waiting_bytes": 0}, ValueError, "max_waiting_bytes is 0"),
]

# ==== Vocabularies ====

BYTES = {bytes([value]): value for value in range(256)}


def no_vocabulary(says: str, **changes: Any) -> Bad:
    return Bad(changes, VocabularyError, says)


A_VOCABULARY = [
    no_vocabulary("b'A'", mergeable_ranks={key: value for key, value in BYTES.items() if value != 65}),
    no_vocabulary("256 of the 256", mergeable_ranks={}),
    no_vocabulary("empty", mergeable_ranks=BYTES | {b"": 300}),
    no_vocabulary("both have rank 300", mergeable_ranks=BYTES | {b"ab": 300, b"cd": 300}),
    no_vocabulary("ranks go from 0", mergeable_ranks=BYTES | {b"ab": -1}),
    no_vocabulary("ranks go from 0", mergeable_ranks=BYTES | {b"ab": 2**32}),
    no_vocabulary("70000 bytes", mergeable_ranks=BYTES | {b"a" * 70_000: 300}),
    no_vocabulary("65", special_tokens={"<x>": 65}),
    no_vocabulary("-1", special_tokens={"<x>": -1}),
    no_vocabulary(str(2**31), special_tokens={"<x>": 2**31}),
    no_vocabulary("empty", special_tokens={"": 300}),
    no_vocabulary("300", explicit_n_vocab=300),
    Bad({"engine": "quick"}, ValueError, "'fast', 'reference'"),
    Bad({"pat_str": "("}, ValueError, "pat_str"),
    Bad({"mergeable_ranks": [b"a"]}, TypeError),
    Bad({"mergeable_ranks": BYTES | {"ab": 300}}, TypeError),
    Bad({"mergeable_ranks": BYTES | {b"ab": "300"}}, TypeError),
    Bad({"mergeable_ranks": BYTES | {b"ab": 300.0}}, TypeError),
    Bad({"mergeable_ranks": BYTES | {b"\x00": False}}, TypeError),
    Bad({"special_tokens": {b"<x>": 300}}, TypeError),
    Bad({"special_tokens": {"<x>": "300"}}, TypeError),
]

# ==== The test ====


def of(paths: str, *given: Any, star: bool = False) -> list[Callable[[Subjects, Any], object]]:
    """Calls of what the subjects have under these names. A dict is options, and with `star` a tuple is arguments."""

    def call(path: str) -> Callable[[Subjects, Any], object]:
        def run(subjects: Subjects, bad: Any) -> object:
            function = operator.attrgetter(path)(subjects)
            return function(*given, **bad) if isinstance(bad, dict) else function(*given, *(bad if star else (bad,)))

        return run

    return list(map(call, paths.split()))


FEW_IDS = "enc.decode enc.decode_bytes decoder.feed"
OF_STRS = "enc.encode enc.encode_with_offsets enc.encode_with_unstable enc.encode_to_numpy enc.count"
ANY_TEXT = "enc.encode_to_numpy own.encode_to_numpy table.count stream.feed own_stream.feed"
GROUPS: dict[str, tuple[list[Callable[[Subjects, Any], object]], list[Bad]]] = {
    "ids": (of(FEW_IDS) + [lambda s, ids: s.enc.decode_batch([[97], ids])], NO_NUMBER + IN_LISTS),
    "ids of tokens": (of("enc.decode_tokens_bytes"), [bad._replace(says="") for bad in NO_NUMBER]),
    "one id": (of("decoder.feed"), ONE_ID),
    "one token": (of("enc.decode_single_token_bytes") + [lambda s, id: s.enc.decode_tokens_bytes([id])], ONE_TOKEN),
    "a number for ids": (of("enc.decode"), A_NUMBER_FOR_IDS),
    "a batch": (of("enc.decode_batch"), A_BATCH),
    "a table for a row": (of(FEW_IDS), A_TABLE_FOR_A_ROW),
    "masked arrays": ([itself], MASKED_ARRAYS),
    "strs of tokens": (of("enc.token_strs"), STRS_OF_TOKENS),
    "completions": (of("enc.completions", star=True), COMPLETIONS),
    "completions of a normalized text": (of("nfc.completions"), NORMALIZED_COMPLETIONS),
    "no text": (of(ANY_TEXT) + [lambda s, text: s.enc.truncate(text, 5)], NO_TEXT),
    "bytes for a str": (of("table.encode own.encode_ordinary"), BYTES_FOR_A_STR),
    "a buffer with gaps": (of("enc.encode_to_numpy stream.feed"), A_BUFFER_WITH_GAPS),
    "one of many texts": (of("enc.encode_ragged own.encode_ragged table.encode_ragged"), ONE_OF_MANY_TEXTS),
    "one of many strs": (of("enc.encode_batch own.encode_batch"), ONE_OF_MANY_STRS),
    "names for a text": (of(OF_STRS, "abc"), NAMES_THAT_ARE_NO_SET),
    "names for a stream": (of("enc.stream_encoder"), NAMES_THAT_ARE_NO_SET + NAMES),
    "errors": (of("enc.encode_to_numpy enc.count", "a") + of("enc.stream_encoder"), ERRORS),
    "errors of a batch": (of("enc.encode_ragged", ["a"]), ERRORS),
    "errors of a decoder": (of("enc.stream_decoder"), ERRORS_OF_A_DECODER),
    "threads for texts": (of("enc.encode_batch enc.encode_ordinary_batch enc.encode_ragged", ["a"]), THREADS),
    "threads for a text": (of("enc.encode_to_numpy enc.count", "a") + of("own.encode_ragged", ["a"]), THREADS),
    "threads for ids": (of("enc.decode_batch enc.decode_bytes_batch", [[1]]), THREADS),
    "out and dtype": (of("r50k.encode_to_numpy", "a b c") + of("r50k.encode_ragged", ["a", " b c"]), OUT_AND_DTYPE),
    "ids that do not fit": (of("enc.encode_to_numpy enc.encode_ragged", object()), IDS_THAT_DO_NOT_FIT),
    "truncate": (of("enc.truncate", star=True), TRUNCATE),
    "segments": (of("enc.encode_segments") + [lambda s, given: s.enc.encode_segments(given, joined=False)], SEGMENTS),
    "the first disallowed name": (of("enc.encode", f"a<|fim_middle|>b{NAME}"), THE_FIRST_DISALLOWED_NAME),
    "padded texts": (of("r50k.encode_padded"), PADDED_TEXTS),
    "padded": (of("r50k.encode_padded", ["a"]), PADDED),
    "packed documents": ([lambda s, documents: streamtok.pack(documents, 8)], PACKED_DOCUMENTS),
    "packed": ([lambda s, given: streamtok.pack(*given[:2], **given[2])], PACKED),
    "the state of a stream": (of("stream.setstate"), THE_STATE_OF_A_STREAM),
    "the state of a decoder": ([lambda s, held: _restore_decoder(s.enc, "replace", held)], THE_STATE_OF_A_DECODER),
    "slots": (of("batch.feed", star=True), SLOTS),
    "stop strings": (of("batch.reset", 0), STOP_STRINGS),
    "the state of a slot": (of("batch.setstate", 0), THE_STATE_OF_A_SLOT),
    "a batch decoder": (of("enc.batch_decoder"), A_BATCH_DECODER),
    "a session": ([itself], A_SESSION),
    "a cache": ([itself], A_CACHE),
    "a micro-batcher": ([lambda s, more: MicroBatcher(s.enc, **more)], A_MICRO_BATCHER),
    "a vocabulary": (of("vocabulary"), A_VOCABULARY),
    "a path": (of("enc.from_file"), [Bad(no, TypeError, "str, bytes or os.PathLike") for no in (None, 3, [])]),
}


@pytest.fixture(scope="module")
def subjects() -> Subjects:
    return Subjects()


@pytest.mark.parametrize("group", GROUPS)
def test_what_is_refused_says_why_and_changes_nothing(subjects, group):
    before = subjects.state()
    calls, rows = GROUPS[group]
    for bad, (number, call) in itertools.product(rows, enumerate(calls)):
        try:
            call(subjects, bad.value(subjects) if isinstance(bad.value, types.FunctionType) else bad.value)
        except bad.error as error:
            assert re.search(bad.says, str(error)), (bad, number, error)
        else:
            pytest.fail(f"call {number} takes {bad.value!r:.200}")
        assert subjects.state() == before, (bad, number)


def test_what_was_refused_goes_on(subjects):
    """Each of them as if nothing had been asked."""
    enc = subjects.enc
    assert subjects.stream.feed("ld").tolist() + subjects.stream.flush().tolist() == enc.encode("hello world")[-1:]
    assert subjects.decoder.feed(enc.encode("🤗")[1:]) == "🤗"
    assert subjects.batch.feed([0], [enc.encode_single_token(b"\xa9")]) == ["é"]
    assert subjects.session.append("!").ids.tolist() == enc.encode("!")
