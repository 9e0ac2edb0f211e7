"""What a stream refuses: disallowed special tokens, bytes that are not UTF-8. And surrogates, which it replaces.

A feed that raises leaves the stream as it was: each test goes on differently afterwards and compares.
"""

from __future__ import annotations

import random
import re

import oracle
import pytest
from oracle import random_cuts, streamed

NAME = "<|endoftext|>"


def without_offset(message: str) -> str:
    return re.sub(r"It begins at byte \d+ of the stream.*\n", "", message)


# ==== Disallowed special tokens ====


@pytest.mark.parametrize("before", ["", "a", "one two ", "中", "<|", "<", "a" * 100, " " * 90, "<|endof", "\n"])
@pytest.mark.parametrize("after", ["", "b", " c", NAME])
def test_disallowed_name_cut_anywhere_is_refused_with_its_offset(family, before, after):
    _, ours, theirs = family
    data = (before + NAME + after).encode()
    offset = data.index(NAME.encode())
    with pytest.raises(ValueError) as whole:
        theirs.encode(data.decode())
    for cut in range(len(data) + 1):
        stream = ours.stream_encoder()
        with pytest.raises(ValueError, match=f"at byte {offset} of the stream") as caught:
            stream.feed(data[:cut])
            stream.feed(data[cut:])
            stream.flush()
        assert without_offset(str(caught.value)) == str(whole.value)


def test_name_that_ends_the_text_or_is_cut_short_is_text(enc):
    for n in range(1, len(NAME)):
        text = "a" + NAME[:n]
        assert streamed(enc.stream_encoder(), list(text)) == enc.encode_ordinary(text)
        assert streamed(enc.stream_encoder(allowed_special="all"), list(text)) == enc.encode_ordinary(text)
        text = NAME[:n] + NAME[: n + 1] + NAME[:n]
        if NAME not in text:
            assert streamed(enc.stream_encoder(), list(text)) == enc.encode_ordinary(text)
            assert streamed(enc.stream_encoder(allowed_special="all"), list(text)) == enc.encode_ordinary(text)


def test_offset_is_of_the_whole_stream(enc):
    stream = enc.stream_encoder()
    for _ in range(1000):
        stream.feed("hello 中 ")
    with pytest.raises(ValueError, match="at byte 10002 of the stream"):
        stream.feed("é" + NAME)
    stream.flush()
    with pytest.raises(ValueError, match="at byte 3 of the stream"):
        stream.feed("中" + NAME)


@pytest.mark.parametrize("chunks", [["ab"], ["a", "b"], ["xa", "b"]])
def test_a_disallowed_name_inside_what_may_become_a_longer_one_is_refused_at_the_end(make_tiny, chunks):
    """ "ab" is held, since it begins "ab!"; then the text ends, and "b" is in it."""
    enc = make_tiny(special_tokens={"ab!": 1000, "b": 1001})
    stream = enc.stream_encoder(disallowed_special="all")
    for chunk in chunks:
        stream.feed(chunk)
    with pytest.raises(ValueError, match="disallowed special token 'b'"):
        stream.flush()


def test_some_allowed_and_some_disallowed_names_split_across_chunks():
    ours, theirs = oracle.ours("cl100k_base"), oracle.theirs("cl100k_base")
    text = "a<|fim_prefix|>b<|endoftext|> <|endofprompt|>c<|fim_suffix"
    options = {"allowed_special": {"<|fim_prefix|>", "<|endoftext|>"}, "disallowed_special": {"<|fim_middle|>"}}
    want = theirs.encode(text, **options)
    stream = ours.stream_encoder(**options)
    data = text.encode()
    for cut in range(len(data)):
        assert streamed(stream, [data[:cut], data[cut:]]) == want
        middle = data[:cut] + b"<|fim_middle|>"
        with pytest.raises(ValueError, match="fim_middle"):
            streamed(stream, random_cuts(random.Random(cut), middle))
        stream.reset()


def test_names_that_begin_each_other_go_to_the_longest(tiny):
    """<|x|> and <|xy|> differ only near their ends; <|x is a prefix of <|x|>."""
    import streamtok

    special = {"<|x": 1000, "<|x|>": 1001, "<|x|><|y": 1002}
    enc = streamtok.Encoding(
        "nested", pat_str=tiny._pat_str, mergeable_ranks=tiny._mergeable_ranks, special_tokens=special
    )
    for text, want in {
        "<|x": [1000],
        "<|x|>": [1001],
        "<|x|><|": [1001, *b"<|"],
        "<|x|><|x": [1001, 1000],
        "<|x|><|y|>": [1002, *b"|>"],
        "<|x|": [1000, *b"|"],
        "<|x<|x|>": [1000, 1001],
    }.items():
        assert enc.encode(text, allowed_special="all") == want
        for cut in range(len(text)):
            stream = enc.stream_encoder(allowed_special="all")
            assert streamed(stream, [text[:cut], text[cut:]]) == want, text
        assert streamed(enc.stream_encoder(allowed_special="all"), list(text)) == want


# ==== UTF-8 ====


@pytest.mark.parametrize("length", [1, 10, 2048, 2049, 70_000])
def test_a_str_behind_a_cut_character_is_refused_with_its_bytes(enc, length):
    text = "é" * length
    stream = enc.stream_encoder()
    stream.feed(b"a\xe4")
    with pytest.raises(UnicodeDecodeError, match="invalid continuation byte at byte 1 of the stream") as caught:
        stream.feed(text)
    mine = caught.value
    assert (mine.object, mine.start, mine.end) == (b"\xe4" + text.encode(), 0, 1)
    assert stream.feed(b"\xb8\xad").tolist() + stream.flush().tolist() == enc.encode("a中")


def test_str_behind_a_cut_character_is_an_error_or_mended(enc):
    """No str can continue a cut character, so that character is a fault."""
    for errors, text in {"replace": "a\ufffdb", "ignore": "ab"}.items():
        assert streamed(enc.stream_encoder(errors=errors), [b"a\xe4\xb8", "b"]) == enc.encode(text)
    stream = enc.stream_encoder()
    ids = stream.feed(b"a\xe4\xb8").tolist()
    with pytest.raises(UnicodeDecodeError, match="at byte 1 of the stream"):
        stream.feed("b")
    assert ids + stream.feed(b"\xad").tolist() + stream.flush().tolist() == enc.encode("a中")


def test_offset_of_a_special_token_counts_the_bytes_that_were_fed(enc):
    """Not the bytes that stand for them after replacing."""
    stream = enc.stream_encoder(errors="replace")
    with pytest.raises(ValueError, match="at byte 2 of the stream"):
        stream.feed(b"\xff\xff" + NAME.encode())
    stream = enc.stream_encoder(errors="ignore")
    stream.feed(b"\xff\xff")
    with pytest.raises(ValueError, match="at byte 2 of the stream"):
        stream.feed(NAME)


def test_repaired_bytes_can_spell_a_special_token(enc):
    """As in the whole decoded text: b"<|end\\xffoftext|>" without its wrong byte is a name."""
    data = b"a<|end\xffoftext|>b"
    want = enc.encode(data.decode("utf-8", "ignore"), allowed_special="all")
    for cut in range(len(data)):
        stream = enc.stream_encoder(errors="ignore", allowed_special="all")
        assert streamed(stream, [data[:cut], data[cut:]]) == want
        with pytest.raises(ValueError, match="disallowed"):
            streamed(enc.stream_encoder(errors="ignore"), [data[:cut], data[cut:]])


# ==== Surrogates ====


def test_high_surrogate_is_pending_until_the_next_chunk(enc):
    stream = enc.stream_encoder()
    assert len(stream.feed("\ud83d")) == 0 and stream.pending == 3
    twin = stream.copy()
    stream.feed("\ude00")
    assert stream.flush().tolist() == enc.encode("😀")
    assert twin.feed(b"x").tolist() + twin.flush().tolist() == enc.encode("\ufffdx")
    with pytest.raises(TypeError):
        twin.feed("\ud83d") is not None and twin.feed(12)
    assert twin.feed("\ude00").tolist() + twin.flush().tolist() == enc.encode("😀")
    stream.feed("\ud83d")
    with pytest.raises(ValueError, match="disallowed"):
        stream.feed("\ude00" + NAME)
    assert stream.feed("\ude00").tolist() + stream.flush().tolist() == enc.encode("😀")


# ==== Arguments ====


def test_what_is_no_text_is_a_type_error_and_changes_nothing(enc):
    stream = enc.stream_encoder()
    ids = stream.feed("hello wor").tolist()
    for wrong in (None, 1, 1.5, ["a"], ("a",), {"a"}, object()):
        with pytest.raises(TypeError, match="expected str or a buffer"):
            stream.feed(wrong)
    with pytest.raises((ValueError, BufferError)):
        stream.feed(memoryview(b"abcdef")[::2])
    assert ids + stream.feed("ld").tolist() + stream.flush().tolist() == enc.encode("hello world")


def test_unknown_errors_mode_is_a_value_error(enc):
    for wrong in ("", "Strict", "surrogateescape", "backslashreplace"):
        with pytest.raises(ValueError, match="strict"):
            enc.stream_encoder(errors=wrong)


def test_disallowed_and_allowed_sets_are_checked(enc):
    with pytest.raises(TypeError):
        enc.stream_encoder(allowed_special={1})
    with pytest.raises(ValueError, match="empty"):
        enc.stream_encoder(disallowed_special={""})
    enc.stream_encoder(allowed_special={"<|no such token|>"})  # as in tiktoken: an unknown name is never found
