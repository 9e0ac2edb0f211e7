"""Copies and saved states: a stream goes on from any point, here or in another process; a bad state is refused."""

from __future__ import annotations

import copy
import os
import pathlib
import pickle
import random
import subprocess
import sys
import zlib

import oracle
import pytest
from oracle import streamed

import streamtok

# State kinds: nothing open, short and long pieces, cut characters, watched and held names, remembered points.
TEXTS = [
    "hello world, it's 12345 o'clock\r\n\r\n  and a's",
    "a" * 100 + " b",
    " " * 100 + "\n" + " " * 100 + "x",
    "的" * 60 + "，" + "文" * 60,
    "中" * 30 + "A" * 90 + "b",
    "-=" * 90 + "!\n\n//x",
    "one <|endoftext|> two <|endof three<|fim_pre",
    "😀" * 40 + "\u0301" * 40,
    "AbC'lL HTTPServer'x",
    "base64SGVsbG8gV29ybGQhIFRoaXMgaXMgYmFzZTY0Lg" * 5,
]


def goes_on(stream, rest: bytes) -> list[int]:
    return stream.feed(rest).tolist() + stream.flush().tolist()


WAYS = {
    "copy": lambda stream: stream.copy(),
    "copy.copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda stream: pickle.loads(pickle.dumps(stream)),
    "state": lambda stream: restored(stream),
}


def restored(stream):
    twin = stream.encoding.stream_encoder(**stream._options)
    twin.setstate(stream.getstate())
    return twin


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("options", [{"disallowed_special": ()}, {"allowed_special": "all"}], ids=str)
def test_twin_goes_on_like_the_stream_at_every_cut(family, way, options):
    _, ours, theirs = family
    for text in TEXTS:
        want, data = theirs.encode(text, **options), text.encode()
        stream = ours.stream_encoder(**options)
        left: list[int] = []
        for cut in range(len(data)):
            twin = WAYS[way](stream)
            assert (twin.pending, twin.offset) == (stream.pending, stream.offset)
            assert left + goes_on(twin, data[cut:]) == want, (data[:cut], data[cut:])
            left += stream.feed(data[cut : cut + 1]).tolist()
        assert left + stream.flush().tolist() == want


def test_state_goes_on_in_another_process(family):
    name, ours, theirs = family
    jobs = []
    for text in TEXTS:
        data = text.encode()
        for cut in range(3, len(data), 29):
            stream = ours.stream_encoder(disallowed_special=())
            left = stream.feed(data[:cut]).tolist()
            jobs.append((pickle.dumps(stream), stream.getstate(), data[cut:], left, theirs.encode_ordinary(text)))
    code = f"""
import pickle, sys, streamtok
for pickled, state, rest, left, want in pickle.load(sys.stdin.buffer):
    stream = pickle.loads(pickled)
    other = streamtok.get_encoding({name!r}).stream_encoder(disallowed_special=())
    other.setstate(state)
    for twin in (stream, other):
        assert left + twin.feed(rest).tolist() + twin.flush().tolist() == want, rest
print("well")
"""
    run = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(jobs), capture_output=True, timeout=120)
    assert run.returncode == 0 and run.stdout.strip() == b"well", run.stderr.decode()


def test_pickle_of_an_encoding_that_is_not_registered(make_tiny):
    enc = make_tiny()
    stream = enc.stream_encoder(allowed_special={"<|x|>"}, errors="replace")
    left = stream.feed(b"abcab\xe4\xb8").tolist()
    twin = pickle.loads(pickle.dumps(stream))
    assert twin.encoding is pickle.loads(pickle.dumps(enc))  # another test may have left an equal one
    assert twin.encoding.fingerprint == enc.fingerprint
    text = b"abcab\xe4\xb8\xad<|x|>".decode()
    assert left + goes_on(twin, b"\xad<|x|>") == enc.encode(text, allowed_special={"<|x|>"})


# ==== States that are refused ====


def some_states(ours) -> list:
    found = []
    for text, cut in [(TEXTS[0], 20), (TEXTS[1], 90), (TEXTS[3], 100), (TEXTS[6], 7), (TEXTS[7], 171), (TEXTS[2], 150)]:
        stream = ours.stream_encoder(disallowed_special={"<|fim_prefix|>"}, allowed_special={"<|endoftext|>"})
        stream.feed(text.encode()[:cut])
        found.append(stream)
    stream = stream.copy()
    stream.feed("\ud83d")
    return [*found, stream, ours.stream_encoder(**stream._options)]


def test_every_flipped_byte_is_refused(enc):
    for stream in some_states(enc):
        state = stream.getstate()
        target = stream.encoding.stream_encoder(**stream._options)
        target.setstate(state)
        for at in range(len(state)):
            for flip in (1, 0x80, 0xFF):
                wrong = bytearray(state)
                wrong[at] ^= flip
                with pytest.raises(ValueError):
                    target.setstate(bytes(wrong))
        assert target.getstate() == state  # a refused state leaves the stream as it was


def test_every_truncated_or_lengthened_state_is_refused(enc):
    for stream in some_states(enc):
        state = stream.getstate()
        target = stream.encoding.stream_encoder(**stream._options)
        for n in range(len(state)):
            with pytest.raises(ValueError):
                target.setstate(state[:n])
        for more in (b"\0", b"x" * 8, state):
            with pytest.raises(ValueError):
                target.setstate(state + more)


def try_made_up_states() -> None:
    """States that no stream has saved: a crash, a hang, or an undocumented exception is a fault; all else is right."""
    enc = oracle.ours("cl100k_base")
    rng = random.Random(8)
    accepted = refused = 0
    for stream in some_states(enc):
        state = stream.getstate()
        body = state[44:]  # behind magic, checksum and fingerprint
        target = stream.encoding.stream_encoder(**stream._options)
        changes = [(at, value) for at in range(len(body)) for value in (0, 1, 0xFF, 0x80, rng.randrange(256))]
        for at, value in changes:
            wrong = bytearray(body)
            wrong[at] = value
            for length in (len(wrong), rng.randint(0, len(wrong))):
                made = bytes(wrong[:length])
                try:
                    target.setstate(state[:8] + zlib.crc32(made).to_bytes(4, "little") + state[12:44] + made)
                except ValueError:
                    refused += 1
                    continue
                accepted += 1
                try:
                    target.feed("a 中 's" * 20)
                    target.flush()
                except UnicodeDecodeError:
                    target.reset()
                enc.decode_bytes(target.feed("and on").tolist())
                target.reset()
    assert refused > accepted


def test_damage_with_a_right_checksum_is_refused_or_harmless():
    """In another process, because a crash would end it."""
    code = "import test_stream_state; test_stream_state.try_made_up_states()"
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(pathlib.Path(__file__).parent), *sys.path])}
    run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, (run.returncode, run.stderr[-2000:])


def test_state_of_another_encoding_or_other_options_is_refused(enc):
    stream = enc.stream_encoder()
    state = stream.getstate()
    others = [
        oracle.ours("r50k_base").stream_encoder(),
        enc.stream_encoder(errors="replace"),
        enc.stream_encoder(allowed_special="all"),
        enc.stream_encoder(disallowed_special=()),
        oracle.ours("cl100k_base", "reference").stream_encoder(),
    ]
    for other in others:
        other.feed("left as it was")
        pending = other.pending
        with pytest.raises(ValueError, match="another encoding"):
            other.setstate(state)
        assert other.pending == pending
    enc.stream_encoder(copy=True).setstate(state)  # the form of the arrays is no part of the state


def test_state_of_another_version_is_refused(enc):
    state = bytearray(enc.stream_encoder().getstate())
    state[7] += 1
    with pytest.raises(ValueError, match="version"):
        enc.stream_encoder().setstate(bytes(state))


# ==== Context manager, offset, repr, subclasses ====


def test_context_manager_resets_on_leaving(enc):
    with enc.stream_encoder() as stream:
        stream.feed("hello")
        assert stream.pending == 5
    assert stream.pending == 0
    with pytest.raises(OSError), enc.stream_encoder() as stream:
        stream.feed("hello")
        raise OSError
    assert stream.pending == 0 and streamed(stream, ["x"]) == enc.encode("x")


def test_repr_names_the_encoding_and_what_is_pending(enc):
    stream = enc.stream_encoder()
    stream.feed("abc")
    assert repr(stream) == "<StreamEncoder of 'cl100k_base', 3 bytes pending>"
    assert stream.encoding is enc and isinstance(stream, streamtok.StreamEncoder)


def test_a_subclass_may_have_its_own_feed():
    class Counting(streamtok.StreamEncoder):
        def feed(self, chunk):
            return len(super().feed(chunk))

    stream = oracle.ours("cl100k_base").stream_encoder()
    assert Counting(stream.encoding, stream._stream, {}).feed("one two three") == 2
    assert stream.flush().tolist() == oracle.ours("cl100k_base").encode(" three")
