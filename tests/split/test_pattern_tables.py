"""Compiled patterns in the core: ids, pieces and states of encodings, by the table alone and with blocks beside it."""

from __future__ import annotations

import functools
import random
import struct
import zlib

import nasty
import numpy as np
import pytest
from pattern_runs import tiktoken_pieces
from table_runner import TableRunner

import streamtok
from streamtok.native.encode import Coder
from streamtok.native.job import cuts
from streamtok.native.pattern import Pattern, last_sync_point
from streamtok.native.trainer import Counter
from streamtok.patterns import CL100K, O200K, R50K
from streamtok.patterns.compile import compile_pattern
from streamtok.patterns.compiled import OP_MARK_BACK, OP_MARK_HERE, OP_MOVE, CompiledPattern

BUNDLED = {"r50k": R50K, "cl100k": CL100K, "o200k": O200K}
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
P3 = rf"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}|{_REST}"
P4 = P3.replace("{1,3}", "{1,2}")  # no row
DROPS = r"\w+|[^\w\s]+"
RANKS = {bytes([value]): value for value in range(256)}


@functools.cache
def own(pat_str: str, **options) -> streamtok.Encoding:
    base = streamtok.get_encoding("cl100k_base")
    ranks, special = base._mergeable_ranks, {"<|endoftext|>": base.eot_token}
    return streamtok.Encoding("own", pat_str=pat_str, mergeable_ranks=ranks, special_tokens=special, **options)


def strings(seed: int, count: int, longest: int = 60) -> list[str]:
    fixed = [*nasty.CONTRACTIONS, *nasty.NUMBERS, *nasty.WHITE]
    return [*fixed, *nasty.random_strings(random.Random(seed), count, longest)]


@pytest.mark.parametrize("name", BUNDLED)
def test_the_table_that_the_core_has_is_that_of_the_pattern(name: str) -> None:
    """And alone it splits, encodes and streams as with blocks beside it; saved states go from one to the other."""
    enc = streamtok.get_encoding(f"{name}_base")
    alone = Pattern(compile_pattern(BUNDLED[name]))
    assert Pattern(name).identity == alone.identity != 0
    table = Coder(enc._vocab, alone)
    rng = random.Random(7)
    for text in [*strings(1, 400), *nasty.random_strings(rng, 40, 3000)]:
        assert table.split(text) == enc._coder.split(text), text
        ids = enc._coder.encode(text, None, None)
        assert table.encode(text, None, None) == ids, text
        coder, stream, data, found = table, table.stream(None, None, False), text.encode(), []
        while data:
            size = rng.randint(1, rng.choice((2, 30, 400)))
            found += stream.feed(data[:size]).tolist()
            data = data[size:]
            if rng.random() < 0.2:
                coder = enc._coder if coder is table else table
                again = coder.stream(None, None, False)
                assert again.load(stream.save())
                stream = again
        assert found + stream.flush().tolist() == ids, text


@pytest.mark.parametrize("pat_str", [P4, DROPS, r"\p{Lu}\p{Ll}+|\p{L}+|[^\p{L}]"])
def test_pieces_are_those_of_the_definition_and_of_tiktoken(pat_str: str) -> None:
    enc, runner = own(pat_str), TableRunner(compile_pattern(pat_str))
    assert enc.pattern_engine == "table"
    texts = strings(2, 150, 14)
    for text, wanted in zip(texts, tiktoken_pieces(pat_str, texts)):
        pieces = enc.pieces(text)
        assert [piece.encode() for piece in pieces] == wanted == list(enc.pieces(text.encode())), text
        runner.feed(text)
        ends = [len(text[:end].encode()) for end, dropped in runner.finish() if not dropped]
        assert pieces.offsets[:, 1].tolist() == ends and pieces.offsets.dtype == np.int64


def test_pieces_are_those_of_tokenizers() -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is the oracle here")
    for pat_str in (P3, P4):
        split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pat_str), "isolated")
        enc = own(pat_str)
        for text in strings(3, 300):
            assert list(enc.pieces(text)) == [piece for piece, _ in split.pre_tokenize_str(text)], text


@pytest.mark.parametrize("pat_str", [P4, DROPS])
def test_every_way_to_encode_gives_the_same_ids(pat_str: str, tmp_path) -> None:
    enc, slow = own(pat_str), own(pat_str, engine="reference")
    text = " <|endoftext|>".join(strings(4, 300)) + "  It's 1234 \n\n" * 10_000
    ids = enc.encode_ordinary(text)
    assert ids == slow.encode_ordinary(text)
    assert enc.encode_to_numpy(text, disallowed_special=(), num_threads=2).tolist() == ids
    assert enc.count(text, disallowed_special=()) == len(ids)
    assert enc.encode_batch([text[:999], text], num_threads=2, disallowed_special=())[1] == ids
    allowed = enc.encode(text, allowed_special="all")
    streamed = np.concatenate(list(enc.encode_stream([text[:5000], text[5000:]], allowed_special="all")))
    assert streamed.tolist() == allowed
    assert allowed == slow.encode(text, allowed_special="all")
    path = tmp_path / "text"
    path.write_text(text, newline="")
    enc.encode_file(path, tmp_path / "ids", disallowed_special=(), num_threads=2)
    assert np.fromfile(tmp_path / "ids", np.uint32).tolist() == ids


@pytest.mark.parametrize("pat_str", [P4, DROPS, O200K])
def test_the_two_sides_of_a_cut_split_alone(pat_str: str) -> None:
    pattern = Pattern(compile_pattern(pat_str))
    coder = Coder(streamtok.get_encoding("cl100k_base")._vocab, pattern)
    found = 0
    for text in strings(5, 300):
        data = text.encode()
        at = last_sync_point(pattern, data)
        if at:
            found += 1
            assert coder.split(data[:at]) + [at + end for end in coder.split(data[at:])] == coder.split(data), text
    assert found > 100 and len(cuts(b"ab cd! " * 50_000, 4096, None, None, coder)) > 50


def test_text_that_is_dropped_takes_no_memory_in_a_stream() -> None:
    stream = own(DROPS).stream_encoder()
    for _ in range(300):
        assert not len(stream.feed(" \n" * 5000))
        assert stream.pending <= 2048
    assert stream.feed("a").tolist() == [] and stream.flush().tolist() == own(DROPS).encode("a")


def test_training_counts_the_same_pieces() -> None:
    texts = strings(6, 200)
    wanted: dict[bytes, int] = {}
    for text in texts:
        for piece in own(DROPS).pieces(text.encode()):
            wanted[piece] = wanted.get(piece, 0) + 1
    counter = Counter(Pattern(compile_pattern(DROPS)), None)
    counter.count_all(texts)
    assert counter.distinct == len(wanted) and counter.pieces == sum(wanted.values())


def test_states_of_another_table_or_with_other_bytes_are_refused() -> None:
    one, other = (own(pat_str)._coder for pat_str in (P4, P3))
    stream = one.stream(None, None, False)
    stream.feed("It's 12\n\n  ")
    state = stream.save()
    assert one.stream(None, None, False).load(state) and not other.stream(None, None, False).load(state)
    refused, rng = 0, random.Random(8)
    for _ in range(1500):
        forged = bytearray(state)
        forged[rng.randrange(len(forged))] ^= 1 << rng.randrange(8)
        again = one.stream(None, None, False)
        if again.load(bytes(forged)):
            again.feed("more 1 text's")
            again.flush()
        else:
            refused += 1
    assert refused > 300


def marks_of(table: CompiledPattern) -> int:
    words = struct.unpack(f"<{len(table.ops) // 2}H", table.ops)
    return max((1 + (word & 15) for word in words if word >> 8 in (OP_MOVE, OP_MARK_HERE, OP_MARK_BACK)), default=0)


@pytest.mark.parametrize("pat_str", [P4, DROPS, O200K, r"(?<!x)a+b?|(?s:.)"])
def test_only_the_state_that_the_text_leads_to_is_accepted(pat_str: str) -> None:
    """A state has 1 byte, the identity of the table, the marks, length, memo and number, then the bytes taken.
    With a look at the character in front, other states may have come from another one there."""
    table = compile_pattern(pat_str)
    coder = Coder(streamtok.get_encoding("cl100k_base")._vocab, Pattern(table))
    behind = 1 + 8 + 8 * marks_of(table)
    tried = refused = 0
    for text in ["It's 12\n\n  ", "xaa", "aa", "x aa'l", "A\u0301", "!\n \n", "xa", *strings(12, 30, 9)]:
        stream = coder.stream(None, None, False)
        stream.feed(text)
        state = stream.save()
        length, memo, true, taken = struct.unpack_from("<QIIQ", state, behind)
        if taken or not length:
            continue
        for number in range(table.states):
            forged = bytearray(state)
            struct.pack_into("<I", forged, behind + 12, number)
            loaded = coder.stream(None, None, False).load(bytes(forged))
            assert loaded == (number == true) or (loaded and "(?<" in pat_str), (text, true, number)
            refused += not loaded
            tried += 1
        forged = bytearray(state)
        struct.pack_into("<I", forged, behind + 8, memo % 4 + 1)
        assert not coder.stream(None, None, False).load(bytes(forged))
    assert tried > 2 * (tried - refused) > 10


def test_a_state_of_the_regex_package_is_refused_where_a_table_splits() -> None:
    stream = own(P4).stream_encoder()
    body = b'["", "", null, 0, 0, "", "It"]'
    state = stream.getstate()[:8] + struct.pack("<I", zlib.crc32(body)) + stream.getstate()[12:44] + body
    with pytest.raises(ValueError, match="encode the text again from its beginning"):
        stream.setstate(state)
    assert stream.feed("It's one") is not None and stream.flush().tolist() != []


def damaged(table: CompiledPattern, rng: random.Random) -> CompiledPattern:
    """The table with a few numbers changed: in the entries, the ops, or the classes."""
    name = rng.choice(("entries", "ops", "class_blocks", "class_index", "states", "classes"))
    value = getattr(table, name)
    if isinstance(value, int):
        return table._replace(**{name: rng.choice((0, 1, value - 1, value + 1, 5000))})
    data = bytearray(value)
    for _ in range(rng.randint(1, 4)):
        data[rng.randrange(len(data))] ^= rng.randrange(1, 256)
    return table._replace(**{name: bytes(data)})


def test_damaged_tables_are_refused_or_split_into_pieces_that_cover_the_text() -> None:
    rng, vocab = random.Random(9), streamtok.get_encoding("cl100k_base")._vocab
    table, text = compile_pattern(O200K), "".join(strings(10, 30))
    refused = 0
    for _ in range(200):
        try:
            coder = Coder(vocab, Pattern(damaged(table, rng)))
        except ValueError as error:
            assert "table of a pattern is damaged" in str(error)
            refused += 1
            continue
        spans = np.frombuffer(coder.piece_spans(text), np.int64).reshape(-1, 2)
        assert (spans[:, 0] < spans[:, 1]).all() and (spans[1:, 0] >= spans[:-1, 1]).all()
        coder.encode(text, None, None)
    assert 20 < refused < 200


def test_tables_that_read_outside_are_refused() -> None:
    table = compile_pattern(DROPS)
    entry = struct.pack("<I", table.states)  # no such state
    for wrong in (
        table._replace(entries=entry + table.entries[4:]),
        table._replace(entries=table.entries[:-4]),
        table._replace(ops=b"\1"),
        table._replace(class_index=b"\xff\xff" + table.class_index[2:]),
        table._replace(class_blocks=b"\0" + table.class_blocks[1:]),
        table._replace(table_version=1),
    ):
        with pytest.raises(ValueError, match="table"):
            Pattern(wrong)


def test_pieces_of_wrong_arguments() -> None:
    enc = own(P4)
    with pytest.raises(UnicodeDecodeError, match="position 2"):
        enc.pieces(b"ab\xff")
    with pytest.raises(TypeError, match="expected str or a buffer"):
        enc.pieces(5)  # type: ignore[type-var]
    with pytest.warns(UserWarning, match="no pattern"):
        whole = enc.without_pattern()
    assert len(enc.pieces("")) == 0 and list(whole.pieces("a b")) == ["a b"] and whole.pattern_engine == "none"
    assert streamtok.get_encoding("o200k_base").pattern_engine == "blocks"
    assert own(r"(?<=a.*)b|(?s:.)").pattern_engine == "regex"
