"""An encoding with a normalizer: ids are those of the normalized text, whole, in streams, by threads and in files."""

from __future__ import annotations

import copy
import itertools
import pickle
import random
import re
from typing import Any

import numpy as np
import oracle
import pytest
from normal_strings import STEPS, random_string, reference

import streamtok
from streamtok import Encoding
from streamtok.native import library

pytest.importorskip("tokenizers")

SPECIAL = {"<|a|>": 200_001, "é\u0301": 200_002, "<|endoftext|>": 200_003}
STRINGS = 40


def encoding(steps: Any, **options: Any) -> Encoding:
    base = oracle.ours("cl100k_base")
    options = {"special_tokens": SPECIAL, **options}
    return Encoding(
        "normalizing", pat_str=base._pat_str, mergeable_ranks=base._mergeable_ranks, normalizer=steps, **options
    )


def wanted(steps: Any, text: str, allowed: set[str]) -> list[int]:
    """Names are cut out first, and what is between them is normalized by tokenizers."""
    normal, encode = reference(steps).normalize_str, oracle.ours("cl100k_base").encode_ordinary
    names = "|".join(map(re.escape, allowed)) or "$^"
    ids: list[int] = []
    for i, part in enumerate(re.split(f"({names})", text)):
        ids += [SPECIAL[part]] if i % 2 else encode(normal(part)) if part else []
    return ids


def text_with_names(rng: random.Random) -> str:
    text = random_string(rng)
    for _ in range(rng.randrange(3)):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(["<|a|>", "é\u0301", "<|", "<|a", "é", "<|endoftext|>"]) + text[at:]
    return text


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("name", STEPS)
def test_ids_whole_and_streamed(name, engine):
    """Streams are copied, saved and loaded on the way."""
    rng = random.Random(name)
    enc = encoding(STEPS[name], engine=engine)
    for _ in range(STRINGS):
        text = text_with_names(rng)
        for allowed in (set(SPECIAL), set(), {"<|a|>"}):
            want = wanted(STEPS[name], text, allowed)
            options: dict[str, Any] = {"allowed_special": allowed, "disallowed_special": ()}
            assert enc.encode(text, **options) == want, ascii(text)
            assert enc.count(text, **options) == len(want)
            stream, got = enc.stream_encoder(**options), []
            whole: Any = text.encode() if rng.random() < 0.5 else text
            for part in oracle.random_cuts(rng, whole):
                got += stream.feed(part).tolist()
                if rng.random() < 0.1:
                    stream = copy.copy(stream)
                elif rng.random() < 0.1:
                    state, stream = stream.getstate(), enc.stream_encoder(**options)
                    stream.setstate(state)
            assert [*got, *stream.flush().tolist()] == want, ascii(text)


def test_damaged_states_of_normalizers_are_refused_or_harmless():
    rng = random.Random(1)
    for name, steps in STEPS.items():
        enc = encoding(steps)
        for text in ("e\u0301\u0323", "aea", " \n ", "X <|a", "\u1100"):
            stream = enc.stream_encoder(allowed_special="all")
            stream.feed("a" + text)
            state = bytearray(stream._stream.save())
            for _ in range(10):
                damaged = bytearray(state)
                damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
                other = enc.stream_encoder(allowed_special="all")
                if other._stream.load(bytes(damaged)):
                    other.feed("e\u0301 aeae")
                    other.flush()
                assert not other._stream.load(bytes(state[: rng.randrange(len(state))])), name


def test_a_state_says_in_two_bits_where_in_a_text_it_is():
    """Behind a name, and behind the first character of a part. Without names, none can have been in front."""
    steps = [("PrependUnless", "▁", True)]
    stream = encoding(steps).stream_encoder(allowed_special="all")
    fresh = stream._stream.save()
    stream.feed("<|a|>")
    (place,) = [at for at, pair in enumerate(zip(fresh, stream._stream.save())) if pair == (0, 1)]
    for special, right in ((SPECIAL, [0, 1, 2, 3]), ({}, [0, 2])):
        enc = encoding(steps, special_tokens=special)
        new = enc.stream_encoder(allowed_special="all")._stream
        state = new.save()
        states = [state[:place] + bytes([number]) + state[place + 1 :] for number in range(256)]
        assert [number for number in range(256) if new.load(states[number])] == right


def test_offsets_are_those_in_the_given_text():
    enc = encoding([("NFKC",), ("Lowercase",)])
    text = "ﬁne E\u0301 <|a|> ①①Å x"
    ids, offsets = enc.encode_with_offsets(text, allowed_special="all")
    tokens = [enc.decode_single_token_bytes(int(token)) for token in ids]
    assert b"".join(tokens).decode() == "fine é <|a|> 11å x"
    assert [(token.decode(), text[at]) for token, at in zip(tokens, offsets)] == [
        ("fine", "ﬁ"),
        (" é", " "),
        (" ", " "),
        ("<|a|>", "<"),
        (" ", " "),
        ("11", "①"),
        ("å", "Å"),
        (" x", " "),
    ]


def test_disallowed_names_and_bad_bytes_are_told_with_their_place_in_the_given_text():
    """And the stream is then as it was."""
    enc = encoding([("NFC",)])
    stream = enc.stream_encoder()
    got = stream.feed("e\u0301e").tolist()
    before = stream.getstate()
    with pytest.raises(ValueError, match=r"<\|a\|>"):
        stream.feed("<|a|>")
    with pytest.raises(UnicodeDecodeError):
        stream.feed(b"ab\xff")
    assert stream.getstate() == before
    got += stream.feed("\u0301.").tolist() + stream.flush().tolist()
    assert got == oracle.ours("cl100k_base").encode("éé.")


@pytest.mark.parametrize("held", ["e", "<|", "  ", "x  ", "\u0301" * 5, "ab" * 3])
def test_a_stream_that_begins_anew_forgets_what_it_held(held):
    enc = encoding([("Strip", True, True), ("Replace", "abc", "q"), ("Prepend", "é"), ("NFC",)])
    stream = enc.stream_encoder(allowed_special="all")
    fresh = stream.getstate()
    for text in ("\u0301a b", "|>c", "c d", "|a|>e"):
        stream.feed(held)
        stream.reset()
        assert stream.getstate() == fresh
        assert stream.feed(text).tolist() + stream.flush().tolist() == enc.encode(text, allowed_special="all")


def test_a_feed_without_memory_leaves_the_stream_as_it_was():
    enc = encoding([("Strip", True, True), ("Replace", "ab", "\u0301"), ("NFKC",)])
    texts = ["  one two three e", "abab\u0323", "a", "b" + "\u0323\u0301" * 30, " " * 50, "x<|a", "|>e", "\u0301" * 40]
    want = wanted(enc._normalizer.steps, "".join(texts), set(SPECIAL))
    failures = 0
    stream, got = enc.stream_encoder(allowed_special="all"), []
    for text in [*texts, None]:
        for number in range(60):
            state = stream._stream.save()
            library.fail_allocations_after(number)
            try:
                ids = stream.flush() if text is None else stream.feed(text)
            except MemoryError:
                library.fail_allocations_after(-1)
                assert stream._stream.save() == state
                failures += 1
            else:
                got += ids.tolist()
                break
            finally:
                library.fail_allocations_after(-1)
        else:
            pytest.fail("a feed needs more than 60 allocations")
    assert got == want and failures > 10


@pytest.mark.parametrize("name", ["NFC", "three", "llama", "both ends"])
def test_threads_give_the_same_ids(name):
    steps = STEPS[name]
    enc, rng = encoding(steps), random.Random(2)
    text = "".join(
        random_string(rng) + rng.choice(["\n", " word and word\n\n", "e", "<|a|>"])
        for _ in range(12_000 if oracle.LONG else 4_000)
    )
    options: dict[str, Any] = {"allowed_special": "all"}
    want = enc.encode_to_numpy(text, **options)
    assert want.tolist() == wanted(steps, text, set(SPECIAL))
    for given in (text, text.encode()):
        np.testing.assert_array_equal(enc.encode_to_numpy(given, num_threads=2, **options), want)
    assert enc.count(text, num_threads=2, **options) == len(want)
    texts = [text[i : i + 9_000] for i in range(0, len(text), 9_000)]
    assert enc.encode_batch(texts, num_threads=2, **options) == [enc.encode(each, **options) for each in texts]
    ids, rows = enc.encode_ragged(texts, num_threads=2, **options)
    assert ids[rows[3] : rows[4]].tolist() == enc.encode(texts[3], **options)


def test_texts_are_cut_between_threads_only_where_no_step_remembers():
    text = "one two\n" * 100_000
    from streamtok.native.job import cuts

    assert cuts(text.encode(), 10_000, None, None, encoding([("NFC",), ("Lowercase",)])._coder_for("strict"))
    for steps in ([("Prepend", "a")], [("Strip", True, False)], [("NFC",), ("Replace", "a", "b")]):
        coder = encoding(steps)._coder_for("strict")
        assert not coder.has_cuts and not cuts(text.encode(), 10_000, None, None, coder)


def test_cuts_lie_in_text_that_normalizes_as_it_stands():
    """Each side by itself gives what the whole gives."""
    from streamtok.native.job import cuts

    rng = random.Random(3)
    enc = encoding([("NFKC",), ("Lowercase",)])
    for _ in range(30):
        data = "".join(
            random_string(rng) + rng.choice(["\n", " a\n", " ab\n\u0301", "\n\nword word"]) for _ in range(60)
        ).encode()
        found = cuts(data, 100, None, None, enc._coder_for("strict"))
        places = [0, *found, len(data)]
        parts = [enc.encode_ordinary(data[a:b].decode()) for a, b in itertools.pairwise(places)]
        assert [token for part in parts for token in part] == enc.encode_ordinary(data.decode())
        assert found


def test_files(tmp_path):
    enc = encoding([("NFC",)])
    text = "e\u0301 cafe\u0301\n" * 2000
    (tmp_path / "text.txt").write_text(text)
    enc.encode_file(tmp_path / "text.txt", tmp_path / "ids.bin", dtype="uint32")
    assert np.fromfile(tmp_path / "ids.bin", np.uint32).tolist() == enc.encode(text)


def test_it_is_another_encoding_and_pickles():
    plain, nfc = encoding(None), encoding([("NFC",)])
    assert plain._normalizer is None and encoding([])._normalizer is None
    assert plain.fingerprint == encoding([]).fingerprint != nfc.fingerprint != encoding([("NFD",)]).fingerprint
    assert pickle.loads(pickle.dumps(nfc)) is nfc
    state = nfc.stream_encoder().getstate()
    with pytest.raises(ValueError):
        plain.stream_encoder().setstate(state)
    twin = Encoding.__new__(Encoding)
    twin.__setstate__(nfc.__getstate__())
    assert twin.encode("e\u0301") == nfc.encode("e\u0301") == plain.encode("é") != plain.encode("e\u0301")
    with pytest.warns(UserWarning):
        assert nfc.without_pattern().encode("e\u0301") == plain.encode("é")


@pytest.mark.filterwarnings("ignore:device='auto' encodes on the CPU:RuntimeWarning")
def test_auto_gives_the_same_ids_with_and_without_a_device():
    enc = encoding([("NFC",)])
    assert enc.encode_to_numpy("e\u0301" * 10, device="auto").tolist() == enc.encode("e\u0301" * 10)


def test_a_pattern_of_the_regex_package_is_refused():
    with pytest.raises(ValueError, match="only patterns that the core splits itself"):
        Encoding(
            "other",
            pat_str=r"a+(?=b+c)|\w|\s",
            mergeable_ranks=oracle.ours("cl100k_base")._mergeable_ranks,
            special_tokens={},
            normalizer=[("NFC",)],
        )


def test_streams_return_ids_before_the_text_ends():
    """A normalizer holds back characters, not pieces."""
    stream = encoding([("NFC",)]).stream_encoder()
    given = sum(len(stream.feed("Some words in a row. ")) for _ in range(100))
    assert given >= 590 and stream.pending < 30


def test_pieces_are_those_of_the_normalized_text():
    enc = encoding([("NFC",), ("Lowercase",)])
    for text in ("Cafe\u0301 AU lait", "Cafe\u0301 AU lait".encode()):
        pieces = enc.pieces(text)
        assert pieces.offsets.tolist() == [[0, 5], [5, 8], [8, 13]]
        made = [piece if isinstance(piece, str) else piece.decode() for piece in pieces]
        assert made == ["café", " au", " lait"]


def test_patterns_that_are_compiled_follow_a_normalizer_too():
    """On one thread and on two, and in streams."""
    base, rng = oracle.ours("cl100k_base"), random.Random(4)
    ranks: Any = base._mergeable_ranks
    options: dict[str, Any] = {"pat_str": r"\p{L}+\p{M}?|\p{N}{1,2}|[^\p{L}\p{N}]", "mergeable_ranks": ranks}
    enc = Encoding("compiled", special_tokens=SPECIAL, normalizer=[("NFKC",)], **options)
    plain = Encoding("plain", special_tokens={}, **options)
    text = "".join(
        random_string(rng) + rng.choice(["\n", " words in a row\n"]) for _ in range(8_000 if oracle.LONG else 4_000)
    )
    want = plain.encode_ordinary(reference([("NFKC",)]).normalize_str(text))
    assert enc.encode(text, disallowed_special=()) == want
    assert enc.encode_to_numpy(text, disallowed_special=(), num_threads=2).tolist() == want
    stream = enc.stream_encoder(disallowed_special=())
    got = [token for part in oracle.random_cuts(rng, text, (5, 500, 5_000)) for token in stream.feed(part).tolist()]
    assert [*got, *stream.flush().tolist()] == want


def test_truncate_with_a_normalizer():
    enc = encoding([("NFC",)])
    text = "cafe\u0301 au lait, e\u0301te\u0301 " * 20
    for n in (0, 1, 5, 40):
        cut = enc.truncate(text, n)
        assert text.startswith(cut) and enc.count(cut) <= n
    assert streamtok.get_encoding("cl100k_base").count(enc.truncate(text, 10)) >= 10
