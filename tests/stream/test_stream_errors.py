"""What a stream refuses: disallowed special tokens, bytes that are not UTF-8. And surrogates, which it replaces.

A feed that raises leaves the stream as it was: each test goes on differently afterwards and compares.
"""

from __future__ import annotations

import re

import pytest

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


def test_offset_of_a_special_token_counts_the_bytes_that_were_fed(enc):
    """Not the bytes that stand for them after replacing."""
    stream = enc.stream_encoder(errors="replace")
    with pytest.raises(ValueError, match="at byte 2 of the stream"):
        stream.feed(b"\xff\xff" + NAME.encode())
    stream = enc.stream_encoder(errors="ignore")
    stream.feed(b"\xff\xff")
    with pytest.raises(ValueError, match="at byte 2 of the stream"):
        stream.feed(NAME)
