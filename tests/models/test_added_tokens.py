"""Added tokens with lstrip, rstrip, single_word and normalized beside Hugging Face's tokenizers: in every combination,
in whole texts, in streams cut anywhere, on several threads, and where they lie."""

from __future__ import annotations

import gc
import random

import oracle
import pytest
from linear import assert_linear, cpu_seconds
from small_models import Both, Tokenizer, added, record, refusal

from streamtok import VocabularyError
from streamtok.native import library

SETS = {"default": 30, "ci": 400, "long": 6000}[oracle.PROFILE]
PIECES = [*("<a>", "<b>", "<", "<a", "a", "B", "ab", "_", " ", "  ", "\n", "\u3000"), "E\u0301", "ﬁ", "中", "\u0301"]
NORMALIZERS = [
    None,
    None,
    {"type": "Lowercase"},
    {"type": "NFKC"},
    {"type": "NFD"},
    {"type": "Prepend", "prepend": "_"},
    {"type": "Strip", "strip_left": True, "strip_right": True},
    {"type": "Replace", "pattern": {"String": " "}, "content": "_"},
    {"type": "Sequence", "normalizers": [{"type": "Lowercase"}, {"type": "NFC"}]},
]


def random_model(rng: random.Random, kinds: int = 2) -> tuple[dict, list[str]]:
    """A model, and the texts of its added tokens. kinds: 1, all or none of them normalized."""
    made = record(300, normalizer=rng.choice(NORMALIZERS))
    made["pre_tokenizer"]["add_prefix_space"] = rng.random() < 0.2
    made["added_tokens"] = []
    names = sorted({"".join(rng.choices(PIECES, k=rng.choice((1, 1, 2, 3)))) for _ in range(rng.randrange(1, 5))})
    odds = rng.choice((0.0, 0.5)) if kinds > 1 else rng.choice((0.0, 1.0))
    for name in names:
        flags = {flag: rng.random() < 0.4 for flag in ("lstrip", "rstrip", "single_word", "special")}
        added(made, name, normalized=rng.random() < (odds or 0.0), **flags)
    return made, names


def texts_of(rng: random.Random, names: list[str], count: int) -> list[str]:
    return ["".join(rng.choices(PIECES + names * 3, k=rng.randrange(9))) for _ in range(count)]


def without_failures(reference: Tokenizer, texts: list[str]) -> list[str]:
    """The texts that the reference can encode: it fails where names with lstrip and rstrip meet."""
    kept = []
    for text in texts:
        try:
            reference.encode(text)
        except BaseException as error:  # a panic in Rust is no Exception
            assert "PanicException" in type(error).__name__
        else:
            kept.append(text)
    return kept


def check_places(both: Both, text: str) -> None:
    found = both.reference.encode(text, add_special_tokens=False)
    ids, places = both.enc.encode_with_offsets(text, allowed_special="all")
    assert ids.tolist() == found.ids
    assert places.tolist() == [start for start, _ in found.offsets], text


def models_of(rng: random.Random, folder, count: int, kinds: int = 2):
    """Encodings with random added tokens, beside the reference, and the texts of these; those that are refused are
    left out."""
    refused = 0
    for _ in range(count):
        made, names = random_model(rng, kinds)
        try:
            yield Both.of(folder, made), names
        except VocabularyError as error:
            assert any(words in error.reason for words in ("not certain", "nothing is left", "stand for other bytes"))
            refused += 1
    assert refused <= count // 2


def test_all_flags_together(tmp_path):
    rng = random.Random(7)
    for both, names in models_of(rng, tmp_path, SETS):
        texts = without_failures(both.reference, texts_of(rng, names, 25))
        both.check(texts, rng.randrange(1 << 30))
        both.reference.post_processor = None  # its ByteLevel cuts blanks off
        for text in texts[:6]:
            check_places(both, text)


def test_a_late_token_in_one_that_does_not_count_as_a_word(tmp_path):
    both = Both.of(tmp_path, added(added(record(300), "<a>b", single_word=True), "a>", "<c>", normalized=True))
    both.check(["x<a>b", "<a>b", "<a>bx", "<c><a>b<c>", "a>"])


def test_streams_are_copied_and_restored_anywhere(tmp_path):
    rng = random.Random(8)
    for both, names in models_of(rng, tmp_path, SETS // 4):
        for text in without_failures(both.reference, texts_of(rng, names, 10)):
            stream, ids = both.enc.stream_encoder(allowed_special="all"), []
            for character in text:
                ids += stream.feed(character).tolist()
                other = stream.copy()
                stream = both.enc.stream_encoder(allowed_special="all")
                stream.setstate(other.getstate())
                assert stream.pending == other.pending
            assert ids + stream.flush().tolist() == both.reference.encode(text, add_special_tokens=False).ids, text


def test_a_feed_that_fails_changes_nothing(tmp_path):
    both = Both.of(tmp_path, added(record(300), "<a>", lstrip=True, rstrip=True, single_word=True))
    stream = both.enc.stream_encoder()
    ids = stream.feed("x  <a").tolist()
    state = stream.getstate()
    for broken in (b"> y\xff", b"\xff", b">\xc3("):
        with pytest.raises(UnicodeDecodeError):
            stream.feed(broken)
        assert stream.getstate() == state
    ids += [*stream.feed(">   y").tolist(), *stream.flush().tolist()]
    assert ids == both.reference.encode("x  <a>   y", add_special_tokens=False).ids


@pytest.mark.parametrize("kinds", [1, 2])
def test_long_texts_on_several_threads(tmp_path, kinds):
    """Where the text is cut for them, names and the white space that they take lie on one side."""
    rng = random.Random(9)
    for both, names in models_of(rng, tmp_path, 3, kinds):
        words = [*texts_of(rng, names, 60), *(["hello", " world", ".\n", " x"] * 40)]
        text = "".join(rng.choices(words, k=200_000))[:600_000]
        ids = both.enc.encode_to_numpy(text, allowed_special="all", num_threads=1).tolist()
        assert both.enc.encode_to_numpy(text, allowed_special="all", num_threads=4).tolist() == ids
        assert both.enc.encode_batch([text, "a"], allowed_special="all", num_threads=4)[0] == ids


def test_long_white_space_in_front_of_a_name_takes_linear_time(tmp_path):
    both = Both.of(tmp_path, added(record(300), "<a>", lstrip=True))

    def feed(size: int) -> None:
        stream = both.enc.stream_encoder()
        for _ in range(size // 16):
            assert len(stream.feed(" " * 16)) == 0
        assert stream.feed("<a>x").tolist()[0] == both.enc._added_tokens["<a>"]

    assert_linear(lambda size: cpu_seconds(lambda: feed(size)), 80_000)


def test_what_is_not_certain_is_refused(tmp_path):
    blank = added(added(record(), "<a>", rstrip=True), " ", lstrip=True)
    assert "white space between them is not certain" in refusal(tmp_path, blank)
    same = added(record(normalizer={"type": "Lowercase"}), "<A>", "<a>", normalized=True)
    assert "are the same once they are normalized" in refusal(tmp_path, same)
    nothing = added(record(normalizer={"type": "Strip", "strip_left": True, "strip_right": True}), " ", normalized=True)
    assert "nothing is left of ' '" in refusal(tmp_path, nothing)


SPLITS = [
    {"type": "WhitespaceSplit"},
    {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
]


@pytest.mark.parametrize("steps", [NORMALIZERS[0], *NORMALIZERS[2:4], *NORMALIZERS[6:]])
@pytest.mark.parametrize("split", [SPLITS[1], {"type": "Sequence", "pretokenizers": SPLITS}, "first"])
def test_late_names_in_front_of_a_metaspace(tmp_path, steps, split):
    """As XLM-R's <mask>: it is sought in the normalized text, and what lies between two is marked by itself."""
    vocab = {token: i for i, token in enumerate(["<unk>", *"▁ab_<>AB", "▁a", "ab", "▁ab"])}
    made = record(300, normalizer=steps, decoder={"type": "Fuse"}) | {"added_tokens": []}
    made["model"] |= {"vocab": vocab, "merges": [["▁", "a"], ["a", "b"], ["▁", "ab"]], "unk_token": "<unk>"}
    made["pre_tokenizer"] = {**SPLITS[1], "prepend_scheme": "first"} if split == "first" else split
    added(made, "<a>", lstrip=True, normalized=True, special=True)
    added(added(made, "B", normalized=True), "<b>", rstrip=True)
    if split == "first" and steps is not None:
        assert "prepend_scheme is first" in refusal(tmp_path, made)
        return
    both, rng = Both.of(tmp_path, made), random.Random(12)
    given = without_failures(both.reference, texts_of(rng, ["<a>", "B", "<b>"], 150))
    both.check(given)
    for text in given:
        check_places(both, text)
        stream, ids = both.enc.stream_encoder(allowed_special="all"), []
        for character in text:
            ids += stream.feed(character).tolist()
            state = stream.copy().getstate()
            stream = both.enc.stream_encoder(allowed_special="all")
            stream.setstate(state)
        want = both.reference.encode(text, add_special_tokens=False).ids
        assert ids + stream.flush().tolist() == want, text
        assert both.enc.encode_to_numpy(text * 50, allowed_special="all", num_threads=2).tolist() == (
            both.reference.encode(text * 50, add_special_tokens=False).ids
        )


def test_special_ones_can_be_refused_or_left_as_text(tmp_path):
    both = Both.of(tmp_path, added(record(300), "<a>", special=True, lstrip=True, normalized=True))
    with pytest.raises(ValueError, match="<a>"):
        both.enc.encode("x <a>")
    assert both.enc.decode(both.enc.encode("x <a>", disallowed_special=())) == "x <a>"


def test_dropped_streams_leave_no_memory(tmp_path):
    """Names are held by both cutters: those that are found in the given text, and those in the normalized one."""
    made = record(300, normalizer={"type": "Lowercase"})
    made["added_tokens"] = []
    added(made, "<a>", lstrip=True, rstrip=True)
    enc = Both.of(tmp_path, added(made, "<b>", normalized=True, lstrip=True, rstrip=True)).enc
    text = "AB <B> a <a> b  <b"
    enc.encode(text * 100, allowed_special="all")
    before = None
    for _ in range(3):
        streams = [enc.stream_encoder(allowed_special="all") for _ in range(4)]
        for stream in streams:
            stream.feed(text * 100)
        copies = [stream.copy() for stream in streams]
        del streams, stream, copies
        gc.collect()
        live = library.allocation_counts()[2]
        assert before in (None, live)
        before = live


def test_a_feed_that_fails_leaves_the_stream_as_it_was(tmp_path):
    """Without memory at any moment: its state and all ids are those of a stream that met no failure."""
    rng, failures = random.Random(30), 0
    for both, names in models_of(rng, tmp_path, SETS):
        text = "".join(rng.choices(PIECES + names * 3, k=rng.randrange(12))).encode()
        cut = rng.randrange(len(text) + 1)
        stream, clean = (both.enc.stream_encoder(allowed_special="all") for _ in range(2))
        for part in (text[:cut], text[cut:]):
            before = stream.getstate()
            for number in range(40):
                library.fail_allocations_after(number)
                try:
                    ids = stream.feed(part).tolist()
                except MemoryError:
                    failures += 1
                    library.fail_allocations_after(-1)
                    assert stream.getstate() == before
                else:
                    break
                finally:
                    library.fail_allocations_after(-1)
            else:
                pytest.fail("a feed needs more than 40 allocations")
            assert ids == clean.feed(part).tolist(), (text, cut)
        assert stream.flush().tolist() == clean.flush().tolist(), (text, cut)
    assert failures > SETS
