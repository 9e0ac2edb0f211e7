"""Merging: one piece of bytes to ids, by every engine, against tiktoken and the definition."""

from __future__ import annotations

import itertools
import random

import nasty
import numpy as np
import oracle
import pytest
from oracle import PROFILE

import streamtok

ROUNDS = {"default": 6, "ci": 60, "long": 600}[PROFILE]
VOCABULARIES = ("r50k_base", "p50k_base", "cl100k_base", "o200k_base")


def samples(ranks: dict[bytes, int], seed: str, rounds: int = ROUNDS):
    """(family, bytes) of many lengths."""
    rng = random.Random(seed)
    tokens = sorted(ranks, key=ranks.__getitem__)
    for _ in range(rounds):
        for n in (rng.randint(1, 12), rng.randint(1, 130), rng.randint(90, 1500)):
            yield from nasty.families_of_bytes(rng, tokens, n).items()


@pytest.mark.parametrize("name", VOCABULARIES)
def test_piece_of_every_family_is_merged_as_by_tiktoken(name):
    _, ours, theirs = oracle.pair(name)
    reference = oracle.ours(name, "reference")
    for family, piece in samples(ours._mergeable_ranks, name):
        want = theirs._encode_single_piece(piece)
        assert ours._encode_single_piece(piece) == want, (family, piece)
        assert reference._encode_single_piece(piece) == want, (family, piece)


def test_a_long_piece_with_the_first_and_the_last_characters_of_ascii(make_tiny):
    """NUL and the last byte of ASCII are bytes like others where a long piece is cut between tokens."""
    rng = random.Random("bytes")
    for others in (b"\x00", b"\x00\x01", b"\x7f\x00", b"\x01\x7f"):
        letters = [bytes([value]) for value in others + b"ab "]
        ranks = {bytes([value]): value for value in range(256)}
        for _ in range(12):
            ranks.setdefault(rng.choice(list(ranks)[256:] + letters) + rng.choice(letters), len(ranks))
        with pytest.warns(UserWarning, match="no pattern"):
            enc = make_tiny(mergeable_ranks=ranks, special_tokens={}, pat_str=None)
        for _ in range(40):
            piece = b"".join(rng.choices(letters, k=rng.choice((30, 120, 400))))
            want = oracle.encode_piece(piece, ranks)
            assert enc._encode_single_piece(piece) == want == enc.encode_to_numpy(piece).tolist(), piece


def test_piece_in_a_damaged_vocabulary_is_merged_as_by_tiktoken(damaged):
    kind, ours, theirs = damaged
    ranks = oracle.damaged_ranks(kind)
    reference = streamtok.Encoding(
        kind, pat_str=ours._pat_str, mergeable_ranks=ranks, special_tokens={}, engine="reference"
    )
    for family, piece in samples(ranks, kind):
        want = theirs._encode_single_piece(piece)
        assert ours._encode_single_piece(piece) == want, (family, piece)
        assert reference._encode_single_piece(piece) == want, (family, piece)


@pytest.mark.parametrize("kind", ["r50k_base", *oracle.DAMAGED])
def test_short_piece_is_merged_as_by_the_definition(kind):
    ours = oracle.damaged_pair(kind).ours if kind in oracle.DAMAGED else oracle.ours(kind)
    ranks = ours._mergeable_ranks
    for family, piece in samples(ranks, kind, 4):
        if len(piece) < 200:
            assert ours._encode_single_piece(piece) == oracle.encode_piece(piece, ranks), (family, piece)


@pytest.mark.parametrize("kind", ["r50k_base", "cl100k_base", "o200k_base", *oracle.DAMAGED])
def test_every_token_as_a_piece_is_that_token(kind):
    """Also a token that merging its bytes does not give: tiktoken looks the whole piece up first."""
    ours = oracle.damaged_pair(kind).ours if kind in oracle.DAMAGED else oracle.ours(kind)
    ranks = ours._mergeable_ranks
    assert [ours._encode_single_piece(token) for token in ranks] == [[rank] for rank in ranks.values()]


def test_facts_of_the_bundled_vocabularies():
    for name in VOCABULARIES:
        vocab = oracle.ours(name)._vocab
        assert vocab.unreachable == 0 and vocab.monotone
    for kind in oracle.DAMAGED:
        assert not oracle.damaged_pair(kind).ours._vocab.monotone


def test_stored_splits_are_those_of_merging(tiny):
    """The bundled files say how each token was made. Without that the core works it out; the ids are the same."""
    for name in ("r50k_base", "o200k_base"):
        bundled = oracle.ours(name)
        worked_out = streamtok.Encoding(
            name, pat_str=bundled._pat_str, mergeable_ranks=bundled._mergeable_ranks, special_tokens={}
        )
        assert bundled._packed.splits is not None and worked_out._packed.splits is None
        rng = random.Random(1)
        for _, piece in samples(bundled._mergeable_ranks, name, 2):
            assert bundled._encode_single_piece(piece) == worked_out._encode_single_piece(piece)
        assert worked_out._vocab.unreachable == 0 and worked_out._vocab.monotone
        text = "".join(rng.choices(nasty.ALPHABET, k=20_000))
        assert bundled.encode_ordinary(text) == worked_out.encode_ordinary(text)


def test_leftmost_of_equal_pairs_goes_first():
    ranks = {bytes([value]): value for value in range(256)} | {b"aa": 256, b"aab": 257, b"ba": 258, b"aaaa": 259}
    enc = streamtok.Encoding("equal", pat_str=r"(?s).+", mergeable_ranks=ranks, special_tokens={})
    for n, letters in itertools.product(range(1, 8), [b"ab"]):
        for piece in map(bytes, itertools.product(letters, repeat=n)):
            assert enc._encode_single_piece(piece) == oracle.encode_piece(piece, ranks), piece


def test_random_small_vocabularies_are_merged_as_by_the_definition():
    """Any set of tokens in any order of ranks."""
    rng = random.Random(7)
    for round in range(15):
        ranks = {bytes([value]): value for value in range(256)}
        tokens = {bytes(rng.choices(b"abc", k=rng.randint(2, 7))) for _ in range(rng.randint(3, 60))}
        numbers = rng.sample(range(256, 1000), len(tokens))
        ranks |= dict(zip(sorted(tokens), numbers))
        made = {"mergeable_ranks": ranks, "special_tokens": {}, "pat_str": streamtok.patterns.CL100K}
        fast, reference = (streamtok.Encoding("small", **made, engine=engine) for engine in ("fast", "reference"))
        for _ in range(150):
            text = "".join(rng.choices("abc", k=rng.randint(1, 90)))
            want = oracle.encode_piece(text.encode(), ranks)
            assert fast._encode_single_piece(text) == want == reference._encode_single_piece(text), (round, text)
            stream = fast.stream_encoder()
            got = oracle.streamed(stream, oracle.random_cuts(rng, text))
            assert got == want, (round, text)


# ==== What merging must be, by definitions ====


def encoding_of(kind: str) -> streamtok.Encoding:
    return oracle.damaged_pair(kind).ours if kind in oracle.DAMAGED else oracle.ours(kind)


def exact_cuts(text: bytes, ranks: dict[bytes, int], longest: int) -> list[int]:
    """The borders that no token spans, by looking at every stretch of the text."""
    spanned: set[int] = set()
    for start in range(len(text)):
        for end in range(start + 2, min(start + longest, len(text)) + 1):
            if text[start:end] in ranks:
                spanned.update(range(start + 1, end))
    return [at for at in range(len(text) + 1) if at not in spanned]


@pytest.mark.parametrize("kind", ["cl100k_base", *oracle.DAMAGED])
def test_each_side_of_a_border_that_no_token_spans_is_encoded_as_if_alone(kind):
    ours = encoding_of(kind)
    ranks, rng, cut = ours._mergeable_ranks, random.Random(4), 0
    longest = max(map(len, ranks))
    ranges = [(0x3041, 0x3097), (0xAC00, 0xD7A4), (0x4E00, 0x9FA6), (0x430, 0x450), (0xE01, 0xE3B)]
    for _ in range(300):
        text = "".join(chr(rng.randrange(*rng.choice(ranges))) for _ in range(rng.randint(2, 60))).encode()
        if text in ranks:
            continue
        cuts = exact_cuts(text, ranks, longest)
        want = [token for a, b in itertools.pairwise(cuts) for token in oracle.merge(text[a:b], ranks)]
        assert ours._encode_single_piece(text) == want
        cut += len(cuts) > 2
    assert cut > 200


def last_merges(ranks: dict[bytes, int]) -> dict[tuple[bytes, bytes], bytes]:
    """For each token that merging makes of its own bytes, the two parts that it is made of in the end."""
    pairs = {}
    for token in ranks:
        parts = [token[i : i + 1] for i in range(len(token))]
        while len(parts) > 2:
            neighbours = enumerate(itertools.pairwise(parts))
            best = min(((ranks[a + b], i) for i, (a, b) in neighbours if a + b in ranks), default=None)
            if best is None:
                break
            parts[best[1] : best[1] + 2] = [parts[best[1]] + parts[best[1] + 1]]
        if len(parts) == 2:
            pairs[parts[0], parts[1]] = token
    return pairs


def merge_by_pairs(piece: bytes, pairs: dict[tuple[bytes, bytes], bytes], ranks: dict[bytes, int]) -> list[int]:
    """Merging, where two parts become a token only if they are its pair."""
    parts = [piece[i : i + 1] for i in range(len(piece))]
    while True:
        neighbours = enumerate(itertools.pairwise(parts))
        best = min(((ranks[pairs[pair]], i) for i, pair in neighbours if pair in pairs), default=None)
        if best is None:
            return [ranks[part] for part in parts]
        parts[best[1] : best[1] + 2] = [parts[best[1]] + parts[best[1] + 1]]


@pytest.mark.parametrize("kind", ["r50k_base", *oracle.DAMAGED])
def test_one_pair_for_each_token_is_enough_to_merge_with(kind):
    """Unreachable tokens have none."""
    ours = encoding_of(kind)
    ranks = ours._mergeable_ranks
    pairs = last_merges(ranks)
    assert ours._vocab.unreachable == sum(len(token) > 1 for token in ranks) - len(pairs)
    for family, piece in samples(ranks, kind, 3):
        if piece not in ranks and len(piece) < 200:
            assert ours._encode_single_piece(piece) == merge_by_pairs(piece, pairs, ranks), (family, piece)


# ==== The specifications of ../shared/merge_rules ====


@pytest.mark.shared
@pytest.mark.parametrize("kind", ["r50k_base", "cl100k_base", "dropped", "permuted"])
def test_ids_of_an_endless_piece_leave_no_later_than_by_the_finality_rule(kind):
    """finality.py states which ids may leave after each byte, as tests/stream does by a definition. A short piece is
    held until it ends; once a piece has 300 bytes, the stream is as early as the rule."""
    finality = oracle.shared_module("merge_rules", "finality.py")
    ours = encoding_of(kind)
    ranks = ours._mergeable_ranks
    if kind in oracle.DAMAGED:  # the specification is slow on large vocabularies that are not monotone
        ranks = {token: rank for token, rank in ranks.items() if rank < 8000 or len(token) == 1}
        ours = streamtok.Encoding("cut", pat_str=ours._pat_str, mergeable_ranks=ranks, special_tokens={})
    vocabulary, n = finality.Vocabulary(ranks), 450 if oracle.LONG else 340
    rng = random.Random(3)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = [token.decode() for token in ranks if token.isalpha() and token.isascii()]
    texts = ["a" * n, "ab" * (n // 2), "".join(rng.choices(letters, k=n)), " " * n, "-" * n, "=-" * (n // 2)]
    texts += ["".join(rng.choices(words, k=n))[:n] for _ in range(3)]
    for text in texts:
        rule, stream = finality.Stream(vocabulary), ours.stream_encoder()
        fed, left, due = 0, [], []
        for size in itertools.cycle((1, 2, 5, 17)):
            part = text[fed : fed + size]
            if not part:
                break
            left += stream.feed(part).tolist()
            fed += len(part)
            sure = fed - text.isspace()  # the last white space character may belong to the next piece
            due += rule.push(text[rule.end : sure].encode())
            assert left == due[: len(left)], "earlier than the rule"
            held = fed - len(ours.decode_bytes(due))
            assert fed < 300 or stream.pending <= held, (text[:10], fed)
        due += rule.push(text[rule.end :].encode())
        assert left + stream.flush().tolist() == due + rule.finish() == ours.encode_ordinary(text)


@pytest.mark.shared
@pytest.mark.parametrize("kind", ["cl100k_base", "dropped"])
def test_pieces_fall_apart_at_exact_cuts(kind):
    """exact_cuts.py: at a border that no token spans, each side is encoded as if it were alone."""
    module = oracle.shared_module("merge_rules", "exact_cuts.py")
    ours = encoding_of(kind)
    ranks = ours._mergeable_ranks
    cutter = module.Cutter(ranks)
    rng = random.Random(4)
    ranges = [(0x3041, 0x3097), (0xAC00, 0xD7A4), (0x4E00, 0x9FA6), (0x430, 0x450), (0xE01, 0xE3B)]
    cut = 0
    for _ in range(300):
        text = "".join(chr(rng.randrange(*rng.choice(ranges))) for _ in range(rng.randint(2, 60))).encode()
        atoms = module.atoms(text, cutter.trie_cuts(text))
        cut += len(atoms) > 1
        if text in ranks:
            continue
        want = [i for atom in atoms for i in oracle.merge(atom, ranks)]
        assert ours._encode_single_piece(text) == want
    assert cut > 200


@pytest.mark.shared
@pytest.mark.parametrize("kind", ["r50k_base", "dropped", "permuted"])
def test_ids_are_those_of_the_table_of_pairs(kind):
    """split_table.py: one pair for each token is enough to merge with; unreachable tokens have none."""
    module = oracle.shared_module("merge_rules", "split_table.py")
    ours = encoding_of(kind)
    ranks = ours._mergeable_ranks
    table = module.build(ranks)
    assert ours._vocab.unreachable == len(table.unreachable) and ours._vocab.monotone == table.monotone
    for family, piece in samples(ranks, kind, 3):
        if piece not in ranks:
            assert ours._encode_single_piece(piece) == module.merge_by_table(piece, table), (family, piece)


def test_neighbours_in_a_text_are_compatible_and_others_are_not():
    """compatible(l, r): merging l + r gives just l and r. What stands side by side in some text must be."""
    ours = oracle.ours("r50k_base")
    ids = ours.encode_to_numpy("x" + "abracadabra" * 40 + "qzjx" * 50)
    lengths = [len(token) for token in ours.decode_tokens_bytes(ids)]
    assert sum(lengths) == 1 + 440 + 200
    for left, right in itertools.pairwise(ids.tolist()):
        piece = ours.decode_bytes([left, right])
        assert ours._encode_single_piece(piece) == [left, right]


# ==== encode_spans: used by custom splitters ====


def test_spans_are_encoded_as_pieces(enc):
    from streamtok.native.encode import Coder

    coder = Coder(enc._vocab, "cl100k")
    text = b"hello world, 12345 " + "中文".encode()
    rng = random.Random(1)
    for _ in range(300):
        spans = np.array([sorted((rng.randint(0, len(text)), rng.randint(0, len(text)))) for _ in range(5)], np.int64)
        spans = spans[spans[:, 0] < spans[:, 1]]
        want = [token for a, b in spans.tolist() for token in enc._encode_single_piece(text[a:b])]
        assert coder.encode_spans(text, np.ascontiguousarray(spans)).tolist() == want
    for wrong in ([[-1, 2]], [[3, 2]], [[0, 99]], [[2**40, 2**41]]):
        with pytest.raises(ValueError, match="outside"):
            coder.encode_spans(text, np.array(wrong, np.int64))


# Tokens of 64 bytes and more behind the first window of a long merge: the window is enlarged, its first token becomes
# another one, and the joint with what was merged before must be looked at again.
RULERS = {
    "cl100k_base": (
        "***************************************************================================-*-(),'},</...\"{!!"
        "=============/***************************************************************************::<"
        "########################/********************************================================`);"
        "********************]]><"
    ),
    "o200k_base": (
        "|_()();][_/****************************************************************************}:{"
        '===============)">-------///////////////////////="../../../'
        '################################################.")==========::+\'&"$---------\']=";;;;;;;;;;;;;;;;<>]::::::::'
    ),
}


@pytest.mark.parametrize("name", RULERS)
def test_rulers_longer_than_a_window_join_as_merging_does(name):
    enc = streamtok.get_encoding(name)
    reference = streamtok.Encoding._bundled(
        name, enc._pat_str, enc._vocabulary, enc._special_tokens, None, engine="reference"
    )
    rulers = [*"*=-/#_~.;:<>", "=-", "*/", "//"]
    rng = random.Random(3)
    texts = [RULERS[name]]
    for _ in range(1500):
        texts.append("".join(rng.choice(rulers) * rng.choice((1, 2, 3, 17, 40, 70, 90, 130)) for _ in range(9)))
    for text in texts:
        assert enc.encode_ordinary(text) == reference.encode_ordinary(text), text


@pytest.mark.parametrize("name", oracle.NAMES)
def test_one_byte_over_and_over_is_merged_as_runs(name):
    """Lengths around powers of two, where an odd token is left over, and random ones."""
    enc, reference = oracle.ours(name), oracle.ours(name, "reference")
    rng = random.Random(4)
    for byte in range(256):
        for n in (257, 258, 511, 512, 513, rng.randrange(257, 3000), rng.randrange(257, 3000)):
            piece = bytes([byte]) * n
            assert enc._encode_single_piece(piece) == reference._encode_single_piece(piece), (byte, n)


def test_runs_of_a_damaged_vocabulary():
    for kind in oracle.DAMAGED:
        both = oracle.damaged_pair(kind)
        for text in ("a" * 700, " " * 1001, "-" * 999, "é" * 300):
            assert both.ours.encode_ordinary(text) == both.theirs.encode_ordinary(text), (kind, text[:3])


def repeats(rng: random.Random, tokens: list[bytes]):
    """Pieces that repeat a unit, the last one cut anywhere; often with other text before and behind."""
    letters = b"ab=- \r\n."
    for _ in range(25 * ROUNDS):
        unit = rng.choice((rng.choice(tokens), bytes(rng.choices(letters, k=rng.randint(2, 40)))))[:64]
        n = rng.choice((rng.randint(257, 800), rng.randint(800, 9000)))
        around = [bytes(rng.choices(letters, k=rng.choice((0, 0, 1, 7, 300)))) for _ in range(2)]
        yield around[0] + (unit * n)[:n] + around[1]
    units = [b"\r\n", b" ", b"\n", b"=-", b"-", b"=", b"ab", b"\t ", "的".encode(), "é".encode(), b"#"]
    for _ in range(15 * ROUNDS):  # rulers side by side: the buffer that the first one has enlarged serves the next
        parts = [rng.choice(units) * rng.choice((40, 300, 1300, 2500)) for _ in range(rng.randint(2, 4))]
        yield (
            rng.choice((b"", b"\n", b"x"))
            + rng.choice((b"", b"\n", b" x")).join(parts)
            + rng.choice((b"", b"\n", b"abc"))
        )


@pytest.mark.parametrize("name", [*VOCABULARIES, *oracle.DAMAGED])
def test_unit_over_and_over_is_merged_as_by_the_reference(name):
    """Units of two bytes, as CR LF, or more: a period of tokens is copied, and its two ends have to be right."""
    if name in oracle.DAMAGED:
        enc = oracle.damaged_pair(name).ours
        made = {"pat_str": enc._pat_str, "mergeable_ranks": oracle.damaged_ranks(name), "special_tokens": {}}
        reference = streamtok.Encoding(name, **made, engine="reference")
    else:
        enc, reference = oracle.ours(name), oracle.ours(name, "reference")
    rng = random.Random(name)
    tokens = [token for token in enc._mergeable_ranks if len(token) == 2 or rng.random() < 0.05]
    for piece in repeats(rng, tokens):
        assert enc._encode_single_piece(piece) == reference._encode_single_piece(piece), piece


@pytest.mark.parametrize("name", oracle.FAMILIES)
def test_unit_over_and_over_is_streamed_as_by_the_reference(name):
    """Cut anywhere, in chunks long enough to be merged without their end (2,048 bytes) and short ones."""
    enc, reference = oracle.without_pattern(name), oracle.without_pattern(name, "reference")
    rng = random.Random(name)
    units = ["\r\n", " ", "=-", "ab", "\t ", "的", "é", "na", "-" * 70 + "=", "the quick brown fox "]
    for unit in units * (ROUNDS // 6):
        parts = [rng.choice(units) * rng.randint(0, 2), unit * rng.randint(1000, 6000), rng.choice(units) * 999]
        data = "".join(parts).encode()
        chunks = oracle.random_cuts(rng, data, (1, 100, 2500, 7000))
        assert oracle.streamed(enc.stream_encoder(), chunks) == reference.encode_ordinary(data.decode()), parts


def test_bytes_of_any_rank_begin_words():
    """The lanes look up the tokens of bytes in one way where all are below 256, and in another where one is not."""
    ranks = oracle.ours("r50k_base")._mergeable_ranks
    tokens = sorted((token for token in ranks if b"z" not in token), key=ranks.__getitem__)[:3000]
    late = {token: rank for rank, token in enumerate([*tokens, b"z"])}
    made = {"pat_str": streamtok.patterns.CL100K, "mergeable_ranks": late, "special_tokens": {}}
    enc, reference = (streamtok.Encoding("late", **made, engine=engine) for engine in ("fast", "reference"))
    assert enc._vocab.monotone and late[b"z"] > 255
    rng = random.Random(8)
    for letters in ("etaoinsz", "zyx", "azбщé", "的一z"):
        text = "".join(" " + "".join(rng.choices(letters, k=rng.randint(1, 40))) for _ in range(500))
        assert enc.encode_ordinary(text) == reference.encode_ordinary(text), letters


def merge_many(enc):
    """Words of letters by chance, more than enc has tokens: from then on words begin with pairs."""
    a_to_t = bytes(ord("a") + byte % 20 for byte in range(256))
    letters = random.Random(enc.n_vocab).randbytes(24 * enc.n_vocab).translate(a_to_t).decode()
    enc.encode_ordinary(" ".join(letters[at : at + 12] for at in range(0, len(letters), 12)))


def test_words_begin_with_pairs_that_surely_merge():
    """With ranks in any order a pair may come later than a token that it is a part of: words do not begin with it."""
    rng = random.Random(20)
    fixed = {b"abc": 256, b"cd": 257, b"ab": 258}  # "abcd" is "ab", "cd"; "ab" at once would make "abc" of it
    for round in range(40):
        tokens = {bytes(rng.choices(b"abcd", k=rng.choice((2, 2, 2, 3, 3, 4, 6)))) for _ in range(rng.randint(4, 40))}
        later = dict(zip(sorted(tokens), rng.sample(range(256, 600), len(tokens)))) if round else fixed
        made = {"mergeable_ranks": {bytes([byte]): byte for byte in range(256)} | later, "special_tokens": {}}
        fast, reference = (
            streamtok.Encoding("sure", **made, pat_str=streamtok.patterns.CL100K, engine=engine)
            for engine in ("fast", "reference")
        )
        merge_many(fast)
        words = [" " + "".join(rng.choices("abcdé", (9, 9, 9, 9, 1), k=rng.randint(2, 40))) for _ in range(120)]
        for text in (" abcd", *words[:10], "".join(words)):
            assert fast.encode_ordinary(text) == reference.encode_ordinary(text), (round, text)


@pytest.mark.parametrize("name", oracle.FAMILIES)
def test_words_of_every_length_merge_side_by_side(name):
    """Words of up to 60 bytes are merged side by side; longer ones take other paths."""
    enc, reference = oracle.ours(name), oracle.ours(name, "reference")
    merge_many(enc)
    rng = random.Random(9)
    for alphabet in ("abcdefgh", "etaoinsr", "жбщю", "กขคงจ", "aé", "_", "的一是"):
        words = [" " + "".join(rng.choices(alphabet, k=n)) for n in range(1, 75) for _ in range(4)]
        rng.shuffle(words)
        text = "".join(words)
        assert enc.encode_ordinary(text) == reference.encode_ordinary(text), alphabet


@pytest.mark.parametrize("kind", [*oracle.FAMILIES, *oracle.DAMAGED])
def test_pieces_of_few_runs_are_merged_as_those_of_many(kind):
    """Pieces of up to eight runs of a byte are merged as runs of any length; those with more are not."""
    if kind in oracle.DAMAGED:
        enc, other = oracle.damaged_pair(kind).ours, oracle.damaged_pair(kind).theirs
    else:
        enc, other = oracle.ours(kind), oracle.ours(kind, "reference")
    rng = random.Random(kind)
    for _ in range(150 * ROUNDS):
        alphabet = rng.sample([*b"-=*/#_ .~+<>ab\n\t\xd0\xbe\xe2"], rng.randint(1, 4))
        lengths = rng.choices((1, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 63, 64, 65, 100), k=rng.randint(1, 10))
        piece = b"".join(bytes([rng.choice(alphabet)]) * n for n in lengths)
        assert enc._encode_single_piece(piece) == other._encode_single_piece(piece), piece


def rulers_and_blanks(rng: random.Random) -> list[str]:
    """Spans whose lengths and numbers of ids fit one cache, the other, or neither."""
    spans = []
    for _ in range(400):
        body = rng.choice([" ", "-", "*", "=-", "ж", "\t", "_a", "的", "/", "\n "])
        n = rng.choice(
            [9, 12, 15, 16, 17, 27, 28, 29, 30, 59, 60, 61, 64, 65, 66, 123, 124, 125, 126, rng.randint(1, 140)]
        )
        front, behind = rng.choice(["", "/", "#", " ", "x"]), rng.choice(["", "/", "x", "\n", "}"])
        spans.append(front + (body * n)[: max(1, n - len(front) - len(behind))] + behind)
    return spans


@pytest.mark.parametrize("kind", [*oracle.FAMILIES, *oracle.DAMAGED])
def test_long_spans_that_come_again_have_the_same_ids(kind):
    """There are more of them than the caches hold, so that they evict each other."""
    rng = random.Random(kind)
    if kind in oracle.DAMAGED:
        enc, other = oracle.damaged_pair(kind).ours, oracle.damaged_pair(kind).theirs
    else:
        enc, other = oracle.ours(kind), oracle.ours(kind, "reference")
    for _ in range(ROUNDS):
        spans = rulers_and_blanks(rng)
        text = "".join(rng.choice(["\n", "a", "1", " b"]) + span for span in rng.choices(spans, k=3000))
        assert enc.encode_ordinary(text) == other.encode_ordinary(text)
