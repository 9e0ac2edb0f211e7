"""Decoding on every path: ids in lists and arrays, tokens by slots and without, characters of all widths, threads."""

from __future__ import annotations

import random
import sys

import nasty
import numpy as np
import oracle
import pytest
from odd_ids import of_any_order, of_gaps

MODES = ["replace", "ignore", "strict", "backslashreplace", "surrogateescape"]


def decoded_or_error(decode):
    try:
        return decode()
    except UnicodeDecodeError as error:
        return error.object, error.start, error.end, error.reason


def one_by_one(enc, ids) -> bytes:
    return b"".join([enc.decode_single_token_bytes(token) for token in ids])


def check(enc, rng: random.Random, known: list[int]) -> None:
    """Until the slots of csrc/vocab/slots.h are made, and after that."""
    special = enc._special_token_values
    for size in [0, 1, 2, 15, 16, 17, 60, 61, 200, 201, 255, 256, 1000, 5000, 20_000, 40_000, 100, 3, 0, 1]:
        ids = rng.choices(known, k=size)
        want = one_by_one(enc, ids)
        left = one_by_one(enc, [token for token in ids if token not in special])
        for given in (ids, tuple(ids), np.array(ids, np.uint32), np.array(ids, np.int64)):
            assert enc.decode_bytes(given) == want
            assert enc.decode(given) == want.decode(errors="replace")
            assert enc.decode_bytes(given, skip_special_tokens=True) == left
            assert enc.decode(given, skip_special_tokens=True) == left.decode(errors="replace")
            assert enc.stream_decoder(skip_special_tokens=True).feed(given) == enc.stream_decoder().feed(
                [token for token in ids if token not in special]
            )


def test_bytes_of_ids_are_those_of_each(pair):
    _, ours, _ = pair
    tokens = sorted(ours._mergeable_ranks.values())
    long = [token for data, token in ours._mergeable_ranks.items() if len(data) > 14]
    known = random.Random(1).choices(tokens, k=3000) + long[:200] + tokens[-3:] + list(ours._special_tokens.values())
    check(ours, random.Random(2), known)


@pytest.mark.parametrize("kind", ["gaps", "any order"])
def test_bytes_of_ids_that_are_no_indices(kind, tmp_path):
    enc = of_gaps() if kind == "gaps" else of_any_order(tmp_path)
    known = [enc.encode_single_token(token) for token in enc.token_byte_values()] + list(enc._added_tokens.values())
    check(enc, random.Random(3), known)
    unknown = [token for token in range(enc.n_vocab if kind != "gaps" else 3000) if token not in known]
    for token in (unknown + [2**32 - 1, 0xF0000000, enc.max_token_value + 1])[-5:]:
        for ids in ([token], known[:3000] + [token]):
            with pytest.raises(KeyError, match=str(token)):
                enc.decode(ids)


def test_a_new_vocabulary_has_no_slots_until_they_pay(make_tiny):
    from streamtok.native import library

    enc = make_tiny()
    calls = []
    for _ in range(30):
        before = library.allocation_counts()[1]
        assert enc.decode_bytes(np.arange(100, dtype=np.uint32)) == bytes(range(100))
        calls.append(library.allocation_counts()[1] - before)
    # 267 ids, four units each, of which a call takes 100.
    assert [number for number, size in enumerate(calls) if size] == [10]


@pytest.mark.parametrize("errors", MODES)
def test_text_is_that_of_the_bytes(tiny, errors):
    """Whatever the bytes are; for short texts and for those that the core makes a str of."""
    rng = random.Random(errors)
    for number in range(60):
        size = rng.choice([3, 40, 1024, 1025, 1400, 20_000])
        characters = "".join(rng.choice("aé\xa0\xff中\ud7ff\ue000\uffff😀\U0010ffff") for _ in range(5)) + "a b.\n" * 9
        text = "".join(rng.choices(characters if number % 2 else characters[: rng.randint(1, 5)] + "abc " * 30, k=size))
        data = bytearray(text.encode())
        if number % 3 == 0:
            data[rng.randrange(len(data))] = rng.choice([0, 0x80, 0xC0, 0xED, 0xF4, 0xFF])
        if number % 5 == 0:
            data = data[: -rng.randint(1, 3)]
        ids = list(data) if number % 2 else np.frombuffer(data, np.uint8).astype(np.uint32)
        got = decoded_or_error(lambda ids=ids: tiny.decode(ids, errors))
        want = decoded_or_error(lambda data=data: data.decode(errors=errors))
        assert got == want
        if isinstance(want, str):
            assert sys.getsizeof(got) == sys.getsizeof(want) and hash(got) == hash(want)
        cuts = sorted(rng.choices(range(len(data) + 1), k=3))
        decoder = tiny.stream_decoder(errors)

        def streamed(decoder=decoder, data=data, cuts=cuts):
            return (
                "".join(decoder.feed(list(data[a:b])) for a, b in zip([0, *cuts], [*cuts, len(data)])) + decoder.flush()
            )

        if isinstance(want, str):
            assert streamed() == want
        else:
            with pytest.raises(UnicodeDecodeError):
                streamed()


def test_every_character_at_every_place(tiny):
    """The borders between vectors and single characters."""
    for wide in "é中😀":
        for at in range(70):
            text = "x" * 1000 + "." * at + wide + "y" * (69 - at)
            assert tiny.decode(list(text.encode())) == text


def test_lists_of_other_things_than_ints(tiny):
    class Number(int):
        pass

    class Index:
        def __index__(self) -> int:
            return 99

    for odd in (Number(98), True, np.int64(98), np.uint8(98), Index()):
        value = int(np.array(odd)) if not isinstance(odd, Index) else 99
        for ids in ([97] * 20 + [odd], (odd, 97), [odd] * 300):
            assert tiny.decode_bytes(ids) == bytes([97 if type(each) is int else value for each in ids])


def test_arrays_that_lie_otherwise(tiny):
    ids = np.array([97, 98, 99, 65] * 100, np.uint32)
    want = bytes(ids.tolist())
    swapped = ids.astype(ids.dtype.newbyteorder())
    odd = np.frombuffer(b"x" + ids.tobytes(), np.uint8)[1:].view(np.uint32)
    fixed = ids.copy()
    fixed.flags.writeable = False

    class Mine(np.ndarray):
        pass

    for given in (
        ids,
        swapped,
        odd,
        fixed,
        ids.view(Mine),
        np.repeat(ids, 2)[::2],
        ids[::-1][::-1],
        ids.astype(np.uint64),
    ):
        assert tiny.decode_bytes(given) == want and tiny.decode(given) == want.decode()
        assert tiny.decode_bytes_batch([given] * 3) == [want] * 3


@pytest.mark.parametrize("num_threads", [1, 2, 5])
def test_rows_of_a_batch_are_decoded_as_each(enc, num_threads):
    rng = random.Random(num_threads)
    texts = [*nasty.FIXED[:100], oracle.topics()[:200_000], ""] * 3
    rng.shuffle(texts)
    lists = [enc.encode(text, disallowed_special=()) for text in texts]
    singles = [enc.encode_single_token(bytes([value])) for value in "中".encode()]
    rows = [[], *lists, singles[:2], [*singles[1:], enc.eot_token], singles]
    forms = [
        list,
        tuple,
        lambda row: np.array(row, np.uint32),
        lambda row: np.array(row, np.int64),
        lambda row: (each for each in row),
    ]
    chosen = [rng.choice(forms) for _ in rows]

    def given():
        return [form(row) for form, row in zip(chosen, rows)]

    for skip in (False, True):
        want = [enc.decode_bytes(row, skip_special_tokens=skip) for row in rows]
        assert enc.decode_bytes_batch(given(), num_threads=num_threads, skip_special_tokens=skip) == want
        for errors in MODES[:2]:
            got = enc.decode_batch(given(), errors=errors, num_threads=num_threads, skip_special_tokens=skip)
            assert got == [data.decode(errors=errors) for data in want]
    with pytest.raises(UnicodeDecodeError):
        enc.decode_batch(rows, errors="strict", num_threads=num_threads)


def test_the_first_wrong_row_of_a_batch_is_named(enc):
    for first, kind in (([10**6], KeyError), (["a"], TypeError), ([-1], OverflowError)):
        for last in ([10**7], [None], [2**70]):
            with pytest.raises(kind) as caught:
                enc.decode_batch([[1], [2] * 40, first, [3], last], num_threads=1)
            assert kind is not KeyError or "1000000" in str(caught.value)
