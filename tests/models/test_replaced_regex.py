"""Normalizers that replace what a Regex matches, beside Hugging Face's tokenizers."""

from __future__ import annotations

import pytest
from small_models import Both, added, record, refusal, texts

from streamtok import Encoding


@pytest.mark.parametrize("regex", [r"\s+", "[\n\r]", "[^\x00-\x7f]", "ab", r"\d+", "(?:l)+", r"\."])
@pytest.mark.parametrize("content", ["", " ", "ab"])
def test_replace_of_a_regex(tmp_path, regex, content):
    step = {"type": "Replace", "pattern": {"Regex": regex}, "content": content}
    Both.of(tmp_path, record(normalizer=step)).check(texts(30, 200, "ab", "  "))


MATCHES = ["a|bc", r"\s+?", "(?=a)b", "^a|l$", r" {2,3}|'s", r"\s+(?!\S)", r"(?<=\s)\w+", "中|é|hello", r"a+b?|\n\s*x"]


@pytest.mark.parametrize("regex", MATCHES)
@pytest.mark.parametrize("content", ["", "xy"])
def test_replace_of_what_a_machine_finds(tmp_path, regex, content):
    step = {"type": "Replace", "pattern": {"Regex": regex}, "content": content}
    steps = [{"type": "Strip", "strip_left": True, "strip_right": False}, step, {"type": "NFD"}]
    both = Both.of(tmp_path, record(normalizer={"type": "Sequence", "normalizers": steps}))
    given = texts(31, 150, "bc", "  ", "ab", "\u3000")
    both.check(given)
    for text in given:
        found = both.reference.encode(text, add_special_tokens=False)
        ids, places = both.enc.encode_with_offsets(text)
        assert ids.tolist() == found.ids and places.tolist() == [start for start, _ in found.offsets], text
        restored(both, text)


def restored(both: Both, text: str) -> None:
    """A stream that is saved and restored behind each byte, beside one that is a copy."""
    stream, ids = both.enc.stream_encoder(), []
    for byte in text.encode():
        ids += stream.feed(bytes([byte])).tolist()
        state, other = stream.getstate(), stream.copy()
        assert other.getstate() == state
        stream = both.enc.stream_encoder()
        stream.setstate(state)
        assert stream.pending == other.pending
    assert ids + stream.flush().tolist() == both.reference.encode(text, add_special_tokens=False).ids, text


def test_a_text_without_matches_does_not_wait(tmp_path):
    step = {"type": "Replace", "pattern": {"Regex": "<[a-z]+>|#\\d"}, "content": "x"}
    stream = Both.of(tmp_path, record(normalizer=step)).enc.stream_encoder()
    for _ in range(1000):
        stream.feed("hello there, ")
        assert stream.pending < 16
    assert stream.feed("<" + "a" * 1000).tolist() is not None and stream.pending > 1000


@pytest.mark.parametrize("regex", ["(", "a*", r"(a)\1", "a(?=bc)"])
def test_replace_of_another_regex_is_refused(tmp_path, regex):
    step = {"type": "Replace", "pattern": {"Regex": regex}, "content": "x"}
    assert "Regex" in refusal(tmp_path, record(normalizer=step))


def test_letters_in_front_of_characters(tmp_path):
    """The normalizer ByteLevel: text is GPT-2's letters, which are characters to the model."""
    split = {"type": "Split", "pattern": {"Regex": "Ġ?[a-z]+|Ġ+"}, "behavior": "Isolated", "invert": False}
    made = record(normalizer={"type": "ByteLevel"}, pre_tokenizer=split, added_tokens=[])
    both = Both.of(tmp_path, made)
    given = texts(32, 150, "é中", "\x00")
    both.check(given)
    for text in given:
        found = both.reference.encode(text, add_special_tokens=False)
        ids, places = both.enc.encode_with_offsets(text)
        assert ids.tolist() == found.ids and places.tolist() == [start for start, _ in found.offsets], text


# ==== Patterns in turn that no one table can split by, and what is done to each piece ====

LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
PREFIX = {**LEVEL, "add_prefix_space": True}
PATTERNS = ["[\r\n]", r"\s?[A-Za-zé]+", r"\s?[!-/:-~。\u3000]+", r"\s+$", "[\u0800-\u9fa5]+", r"\p{N}+"]
"""As those of DeepSeek LLM: U+3000 is white space and one of those of the fifth."""

DIVIDED = {
    "six in turn": [*PATTERNS, LEVEL],
    "a blank in front of words": [{"type": "WhitespaceSplit"}, {**PREFIX, "use_regex": True}],
    "a blank in front of pieces": [r"\d", {"type": "Punctuation", "behavior": "Removed"}, PREFIX],
    "a blank in front, and letters apart behind it": [PREFIX, "[a-h]"],
    "a blank in front of the first of two": [PREFIX, {"type": "Digits", "individual_digits": True}],
}


def split(pattern: str) -> dict[str, object]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


@pytest.mark.parametrize("name", DIVIDED)
@pytest.mark.parametrize("normalizer", [None, {"type": "Lowercase"}])
def test_pieces_that_go_on_by_themselves(tmp_path, name, normalizer):
    steps = [split(step) if isinstance(step, str) else step for step in DIVIDED[name]]
    made = record(normalizer=normalizer, pre_tokenizer={"type": "Sequence", "pretokenizers": steps})
    made["added_tokens"] = []
    both = Both.of(tmp_path, added(added(made, "<x>", normalized=True, lstrip=True), "<y>"))
    given = texts(33, 150, "\u3000", " ", "<x>", "<y>", "  ")
    both.check(given)
    slow = Encoding.from_file(both.enc.name, engine="reference")
    for text in given:
        found = both.reference.encode(text, add_special_tokens=False)
        ids, places = both.enc.encode_with_offsets(text, allowed_special="all")
        assert ids.tolist() == found.ids and places.tolist() == [start for start, _ in found.offsets], text
        assert slow.encode(text, allowed_special="all") == found.ids
    for text in given[:40]:
        restored(both, text)
    whole = "".join(given) * 3
    want = both.reference.encode(whole, add_special_tokens=False).ids
    assert both.enc.encode_to_numpy(whole, num_threads=2).tolist() == want
    assert both.enc.encode_batch([whole, "a"], num_threads=2)[0] == want


def test_white_space_of_two_kinds_in_turn(tmp_path):
    """Whether the first piece ends is known behind the run, and no bound of what waits is met."""
    steps = [*map(split, PATTERNS), LEVEL]
    both = Both.of(tmp_path, record(pre_tokenizer={"type": "Sequence", "pretokenizers": steps}))
    for end in ("", "x", "1", "!", "\n"):
        both.check(["a" + " \u3000" * 500 + end])


@pytest.mark.parametrize("steps", [["Whitespace"], ["Digits", "Punctuation"], ["WhitespaceSplit"]])
@pytest.mark.parametrize("is_split", [True, False])
@pytest.mark.parametrize("scheme", ["always", "never"])
def test_a_metaspace_behind_other_steps(tmp_path, steps, is_split, scheme):
    settings = {"Digits": {"individual_digits": True}, "Punctuation": {"behavior": "MergedWithNext"}}
    made = [{"type": name, **settings.get(name, {})} for name in steps]
    made.append({"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": is_split})
    vocab = {token: i for i, token in enumerate(["<unk>", *"▁ab1.", "▁a", "ab", "▁ab"])}
    whole = record(pre_tokenizer={"type": "Sequence", "pretokenizers": made}, decoder={"type": "Fuse"}, added_tokens=[])
    whole["model"] |= {"vocab": vocab, "merges": [["▁", "a"], ["a", "b"], ["▁", "ab"]], "unk_token": "<unk>"}
    both = Both.of(tmp_path, whole)
    given = texts(34, 150, "ab", "▁", "1", " ")
    both.check(given)
    for text in given[:40]:
        restored(both, text)
