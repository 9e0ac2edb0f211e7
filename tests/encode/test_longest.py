"""Encodings by longest match, against the definition: from the left, the longest token that the text goes on with."""

from __future__ import annotations

import pickle
import random

import oracle
import pytest
from linear import assert_linear, cpu_seconds
from longest_match import ALPHABETS, BYTES, WORDS, longest, random_tokens

import streamtok
from streamtok import Encoding, VocabularyError
from streamtok.native.job import Job


def streamed(rng: random.Random, encoding: Encoding, text: bytes) -> list[int]:
    stream, ids, at = encoding.stream_encoder(), [], 0
    while at < len(text):
        size = rng.choice((1, 2, 7, 100, 3000))
        ids += list(stream.feed(text[at : at + size]))
        at += size
        if rng.random() < 0.1:
            stream = pickle.loads(pickle.dumps(stream))
        elif rng.random() < 0.1:
            stream = stream.copy()
    return ids + list(stream.flush())


@pytest.mark.parametrize("size", [12, 13, 14, 26, 27, 40, 200])
def test_a_token_that_does_not_end_leaves_many_others(size):
    """The text goes on with a long token up to its last byte: all that was read of it then becomes shorter tokens."""
    tokens = BYTES | {b"ab" * size + b"c": 256, b"ba": 257}
    encoding = Encoding.longest_match("test", tokens, special_tokens={}, pat_str=None)
    for end in (b"", b"d", b"c", b"ab"):
        for begun in (b"ab" * size, b"ab" * (2 * size), b"x" + b"ab" * size + b"a"):
            text = begun + end
            assert encoding.encode_ordinary(text.decode()) == longest(tokens, text)
            assert streamed(random.Random(size), encoding, text) == longest(tokens, text)


def test_random_strings_of_many_vocabularies():
    """1,000,000 with the profile "long": whole texts as one call, and cut anywhere in a stream, against the definition
    in C."""
    rng, strings = random.Random(22), 0
    while strings < oracle.RANDOM_STRINGS:
        alphabet = rng.choice(ALPHABETS)
        tokens = random_tokens(rng, alphabet)
        pattern = rng.choice((None, None, WORDS))
        fast, reference = (
            Encoding.longest_match("test", tokens, special_tokens={}, pat_str=pattern, engine=engine)
            for engine in ("fast", "reference")
        )
        texts = ["".join(rng.choices(alphabet, k=rng.choice((1, 5, 20, 60)))) for _ in range(500)]
        ids, starts = reference.encode_ragged(texts)
        again, places = fast.encode_ragged(texts)
        assert ids.tolist() == again.tolist() and starts.tolist() == places.tolist()
        if pattern is None:
            assert longest(tokens, texts[0][:300].encode()) == fast.encode(texts[0][:300])
        assert streamed(rng, fast, texts[1].encode()) == ids[starts[1] : starts[2]].tolist()
        strings += len(texts)


def test_an_id_leaves_as_soon_as_it_is_certain():
    """ "ab" may still become "abc", and nothing goes on behind "abc"; behind "ac" only the c may become more."""
    tokens = BYTES | {b"ab": 300, b"abc": 301, b"cd": 302}
    stream = Encoding.longest_match("test", tokens, special_tokens={}).stream_encoder()
    fed = [(list(stream.feed(bytes([byte]))), stream.pending) for byte in b"abcaccdab"]
    assert fed == [([], 1), ([], 2), ([301], 0), ([], 1), ([97], 1), ([99], 1), ([302], 0), ([], 1), ([], 2)]
    assert list(stream.flush()) == [300]


@pytest.mark.parametrize("pattern", [None, WORDS])
def test_what_waits_is_never_longer_than_the_longest_token(pattern):
    rng = random.Random(3)
    tokens = BYTES | {bytes(rng.choices(b"ab", k=rng.randint(2, 30))): 300 + i for i in range(200)}
    stream = Encoding.longest_match("test", tokens, special_tokens={}, pat_str=pattern).stream_encoder()
    for _ in range(3000):
        stream.feed(bytes(rng.choices(b"ab", k=1)))
        assert stream.pending <= max(map(len, tokens))


@pytest.mark.parametrize("last", [b"", b"b"])
def test_runs_take_linear_time(last):
    """Tokens a, aa, aaaa, ..., and one long one that never comes: a walk back from its end would be quadratic."""
    tokens = BYTES | {b"a" * (1 << k): 300 + k for k in range(1, 10)} | {b"a" * 3000 + b"c": 400, b"aab": 401}
    encoding = Encoding.longest_match("test", tokens, special_tokens={})
    text = b"a" * 4_000_000 + last
    assert encoding.encode_to_numpy(text[-9000:]).tolist() == longest(tokens, text[-9000:])
    assert_linear(lambda n: cpu_seconds(lambda: encoding.count(text[-n:])), len(text))


def test_an_encoding_that_exists_gets_longest_match():
    cl100k = streamtok.get_encoding("cl100k_base")
    encoding = cl100k.with_longest_match()
    ranks = cl100k._mergeable_ranks
    text = "Greed is all you need: unbelievably, tokenization differs. 漢字とかな交じり文 <|endoftext|>"
    ids = encoding.encode_ordinary(text)
    assert encoding.decode(ids) == text and encoding.special_tokens_set == cl100k.special_tokens_set
    reference = Encoding.longest_match(
        "r", ranks, special_tokens=cl100k._special_tokens, pat_str=cl100k._pat_str, engine="reference"
    )
    assert ids == reference.encode_ordinary(text) != cl100k.encode_ordinary(text)
    assert encoding.fingerprint != cl100k.fingerprint


def test_pickles_and_copies():
    tokens = BYTES | {b"ab": 900, b"b c": 300}
    encoding = Encoding.longest_match("test", tokens, special_tokens={"<s>": 1000})
    merged = Encoding("test", pat_str=WORDS, mergeable_ranks=BYTES | {b"ab": 300}, special_tokens={"<s>": 1000})
    for other in (pickle.loads(pickle.dumps(encoding)), encoding.__copy__()):
        assert other.encode("ab c") == [900, 32, 99] and other.fingerprint == encoding.fingerprint
    assert encoding.fingerprint != merged.fingerprint


def world_lines(tokens: dict[bytes, int]) -> list[bytes]:
    """The lines of a file as RWKV's: texts where a token is UTF-8, else bytes."""
    lines = []
    for token, token_id in tokens.items():
        try:
            value: str | bytes = token.decode()
        except UnicodeDecodeError:
            value = token
        lines.append(f"{token_id} {value!r} {len(token)}".encode())
    return lines


def test_the_file_of_a_world_vocabulary(tmp_path):
    tokens = BYTES | {b"it's": 300, b'"a"': 301, "é漢".encode(): 302, b"\xe6\xbc": 303, b"\\n'\"": 304, b" \n": 305}
    path = tmp_path / "world.txt"
    path.write_bytes(b"\n".join([*world_lines(tokens), b""]))
    encoding = Encoding.from_file(path)
    assert encoding._packed.to_dict() == tokens
    text = 'it\'s "a" é漢字\\n\'" \n'
    assert encoding.encode(text) == longest(tokens, text.encode())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"300 'ab' 3", "line 257: b'ab' has 2 bytes, and the line says 3"),
        (b"300 'a' 1", "line 257: b'a' has an id already, 97"),
        (b"97 'ab' 2", "line 257: line 98 has the id 97, too"),
        (b"300 'ab", "line 257: .* is no id, token as Python writes it"),
        (b"300 __import__('os') 2", "is no id"),
        (rb"300 '\x4' 1", "is no id"),
        (rb"300 '\ud800' 3", "a surrogate"),
        (b"4294967295 'ab' 2", "ids go up to"),
        (b"300 '' 0", "an empty token"),
    ],
)
def test_a_damaged_file_of_a_world_vocabulary_is_refused_with_the_line(tmp_path, line, message):
    path = tmp_path / "world.txt"
    path.write_bytes(b"\n".join([*world_lines(BYTES), line, b""]))
    with pytest.raises(VocabularyError, match=message):
        Encoding.from_file(path)
    path.write_bytes(b"\n".join(world_lines(BYTES)))
    with pytest.raises(VocabularyError, match="cut off"):
        Encoding.from_file(path)


@pytest.mark.parametrize(
    ("tokens", "kind", "message"),
    [
        ({b"a": 1}, VocabularyError, "single bytes are no tokens"),
        (BYTES | {b"": 300}, VocabularyError, "an empty token"),
        (BYTES | {b"ab": 97}, VocabularyError, "both have id 97"),
        (BYTES | {b"ab": -1}, VocabularyError, "the id of b'ab' is -1; ids go from 0"),
        (BYTES | {b"ab": 1.5}, TypeError, "the id of b'ab' is 1.5, a float"),
        (BYTES | {b"a" * 70_000: 300}, VocabularyError, "more than 65535"),
        (BYTES | {"ab": 300}, TypeError, "write it as bytes"),
        (BYTES | {b"ab": 400}, VocabularyError, "400"),
        ([b"a"], TypeError, "give a dict of token bytes to id"),
    ],
)
def test_vocabularies_that_contradict_themselves_are_refused(tokens, kind, message):
    with pytest.raises(kind, match=message):
        Encoding.longest_match("test", tokens, special_tokens={"<s>": 400})


def test_what_longest_match_has_no_form_for_is_refused(tmp_path):
    from streamtok.train import save

    encoding = Encoding.longest_match("test", BYTES | {b"ab": 300}, special_tokens={})
    for path in (tmp_path / "v.tiktoken", tmp_path / "v.json", tmp_path / "folder"):
        with pytest.raises(ValueError, match="longest match"):
            save(encoding, path)
        assert not path.exists()
    with pytest.raises(ValueError, match="longest match"):
        encoding.encode_with_unstable("ab")


def test_tables_of_a_world_vocabulary(tmp_path, monkeypatch):
    monkeypatch.setenv("STREAMTOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("STREAMTOK_TABLES", "found")
    path = tmp_path / "world.txt"
    path.write_bytes(b"\n".join([*world_lines(BYTES | {b"ab": 300, b"aabc": 301, b"b c": 302}), b""]))
    plain, kept, again = (Encoding.from_file(path, cache=cache) for cache in (False, True, False))
    assert plain._vocab.path is None and kept._vocab.path is not None and again._vocab.path is not None
    text = "aab c aabc" * 50
    assert (
        kept.encode(text) == again.encode(text) == plain.encode(text) == longest(plain._packed.to_dict(), text.encode())
    )
    assert kept.fingerprint == plain.fingerprint == pickle.loads(pickle.dumps(kept)).fingerprint


@pytest.mark.parametrize("seed", range(6))
def test_long_texts_without_cuts_are_those_of_the_definition(seed):
    """Their blocks are matched at the same time, each as if a token began at its start: here mostly, never or late is
    it so."""
    rng = random.Random(seed)
    size = rng.choice((2, 5, 30, 200))
    tokens = BYTES | {bytes(rng.choices(b"ab", k=rng.randint(2, size))): 300 + i for i in range(rng.choice((5, 3000)))}
    tokens |= {bytes(pair): 5000 + i for i, pair in enumerate(((97, 97), (97, 98), (98, 97), (98, 98)))}
    if seed < 2:
        tokens = BYTES | {b"aa": 300, b"a" * 200 + b"b": 301}
    fast, slow = (Encoding.longest_match("test", tokens, special_tokens={}, engine=e) for e in ("fast", "reference"))
    texts = [bytes(rng.choices(b"ab", k=rng.randint(15_000, 50_000))) for _ in range(2)]
    texts += [b"a" * 40_001, (b"a" * 199 + b"b") * 200]
    for text in texts:
        ids = slow.encode_to_numpy(text).tolist()
        assert ids == fast.encode_to_numpy(text).tolist() == fast.encode_to_numpy(text, num_threads=3).tolist()
        assert ids == streamed(rng, fast, text)
        stream = fast.stream_encoder()
        assert ids == [
            *stream.feed(text[:7]),
            *stream.feed(text[7:40_000]),
            *stream.feed(text[40_000:]),
            *stream.flush(),
        ]


def vocabulary_without_cuts(rng: random.Random) -> dict[bytes, int]:
    """Any two letters of its texts are a token. Walks from different places fall in with each other soon, late or
    never."""
    if rng.random() < 0.3:
        return BYTES | {b"a" * k: 300 + k for k in range(2, rng.choice((3, 30, 300)))}
    size, count = rng.choice((2, 5, 30, 200)), rng.choice((5, 300, 3000))
    pairs = {bytes(pair): 5000 + i for i, pair in enumerate(((97, 97), (97, 98), (98, 97), (98, 98)))}
    return BYTES | {bytes(rng.choices(b"ab", k=rng.randint(2, size))): 300 + i for i in range(count)} | pairs


@pytest.mark.parametrize("seed", range(8))
def test_threads_share_a_text_without_cuts(seed):
    """Shares begin anywhere, and are joined with what is in front of them. There are shares of a few bytes, shorter
    than tokens, too; special tokens, and bytes that are repaired."""
    rng = random.Random(seed)
    tokens = vocabulary_without_cuts(rng)
    encoding = Encoding.longest_match("test", tokens, special_tokens={"<s>": 9000})
    texts: list[str | bytes] = ["".join(rng.choices("ab", k=size)) for size in (3, 100, 5000, 20_000)]
    texts += ["a" * rng.choice((17, 1000, 20_001)), "é" + "ab" * 300 + "<s>" + "ba" * 2000]
    texts += [texts[2].encode() + b"\xff" * rng.randint(1, 3) + texts[3].encode()]  # type: ignore[union-attr]
    seams = 0
    for allowed in ("all", set()):
        names = encoding._matchers_for(allowed, ())
        want = [
            encoding.encode_to_numpy(text, allowed_special=allowed, disallowed_special=(), errors="replace")
            for text in texts
        ]
        for chosen in [[i] for i in range(len(texts))] + [list(range(len(texts)))]:
            expected = [token for i in chosen for token in want[i].tolist()]
            for least in (1, rng.randint(1, 300), 2048):
                for counts_only in (False, True):
                    job = Job(
                        encoding._coder_for("replace"),
                        [texts[i] for i in chosen],
                        *names,
                        rng.randint(2, 8),
                        least,
                        counts_only,
                    )
                    if not job.share_count:
                        continue
                    job.work(rng.choice((0, 3)))
                    assert (job.count() if counts_only else job.array().tolist()) == (
                        len(expected) if counts_only else expected
                    )
                    seams += job.share_count - 1 if len(chosen) == 1 else 0
    assert seams > 1000


def test_a_seam_is_sought_in_linear_time():
    """Where walks never fall in with each other, what was encoded behind a seam is encoded once more, and no more."""
    encoding = Encoding.longest_match("test", BYTES | {b"a" * k: 300 + k for k in range(2, 300)}, special_tokens={})

    def run(n: int) -> None:
        job = Job(encoding._coder, [b"a" * n], None, None, 8, 4096)
        job.work()
        assert job.share_count > 8 and job.array().tolist() == [599] * (n // 299) + [300 + n % 299]

    assert_linear(lambda n: cpu_seconds(lambda: run(n)), 4_000_003)
