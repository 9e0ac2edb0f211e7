"""The C library beside the Python package: ids, offsets and texts of every kind of model, with random cuts."""

from __future__ import annotations

import functools
import operator
import random
from itertools import pairwise

import c_calls
import compiled_kinds
import numpy as np
import pytest
from c_calls import Coder, Decoder, Failed, Model, Session, Stream

from streamtok import Encoding

pytest.importorskip("tokenizers", reason="Hugging Face's tokenizers is not installed")
pytest.importorskip("sentencepiece", reason="the package sentencepiece is not installed")

NOT_UTF8, REFUSED, UNKNOWN_ID, UNKNOWN_NAME, NO_TOKEN, UNSUPPORTED = 9, 10, 11, 12, 13, 14
AS_TEXT, ALLOW = 1, 2


@pytest.fixture(scope="module", params=compiled_kinds.KINDS)
def both(request, tmp_path_factory) -> tuple[Encoding, Model]:
    folder = tmp_path_factory.mktemp(request.param)
    encoding = compiled_kinds.KINDS[request.param](folder)
    encoding.compile(folder / "m.stm", words=False)
    return encoding, Model(folder / "m.stm")


def has_ids(encoding: Encoding, text: str) -> bool:
    try:
        encoding.encode(text, disallowed_special=())
    except ValueError:
        return False
    return True


def some_texts(encoding: Encoding, seed: int, count: int) -> list[str]:
    return [text for text in compiled_kinds.texts(seed, count) if has_ids(encoding, text)]


def test_ids_of_whole_texts(both):
    encoding, model = both
    ways = [
        (Coder(model, ALLOW), {"allowed_special": "all"}),
        (Coder(model, AS_TEXT, flags=1), {"disallowed_special": (), "add_special_tokens": True}),
    ]
    for text in some_texts(encoding, 1, 120):
        for coder, options in ways:
            ids = encoding.encode(text, **options)
            assert coder.encode(text.encode()) == ids, text
            assert coder.count(text.encode()) == len(ids)
    pairs = c_calls.pool(), None
    texts = some_texts(encoding, 2, 60)
    wanted = [encoding.encode(text, allowed_special="all") for text in [*texts, texts[-1] * 60]]
    for pool in pairs:
        assert ways[0][0].batch(pool, [text.encode() for text in [*texts, texts[-1] * 60]]) == wanted


def test_special_tokens_are_refused_at_the_same_places(both):
    encoding, model = both
    coder = Coder(model)
    for text in some_texts(encoding, 3, 60):
        stream = encoding.stream_encoder()
        try:
            ids = stream.feed(text).tolist() + stream.flush().tolist()
        except ValueError as error:
            with pytest.raises(Failed) as caught:
                coder.encode(text.encode())
            assert caught.value.status == REFUSED
            assert f"It begins at byte {caught.value.offset} of the stream" in str(error)
        else:
            assert coder.encode(text.encode()) == ids


def test_streams_cut_anywhere(both):
    encoding, model = both
    coder, rng = Coder(model, ALLOW, flags=1), random.Random(4)
    stream = Stream(coder)
    for text in some_texts(encoding, 4, 60):
        data = text.encode()
        cuts = sorted({0, len(data), *(rng.randrange(len(data) + 1) for _ in range(rng.randrange(5)))})
        ids = []
        for a, b in pairwise(cuts):
            ids += stream.feed(data[a:b], rng.randrange(4))
            if rng.random() < 0.3:
                stream = stream.copy()
        ids += stream.flush(rng.randrange(3))
        assert ids == encoding.encode(text, allowed_special="all", add_special_tokens=True), text


def test_sessions_append_and_go_back(both):
    encoding, model = both
    coder, rng = Coder(model, ALLOW), random.Random(5)
    session, text, marks = Session(coder), "", []
    for part in some_texts(encoding, 5, 20):
        part = part[:60]
        if not has_ids(encoding, text + part):
            continue
        before = session.ids()
        keep = session.append(part.encode())
        text += part
        ids = session.ids()
        assert ids == encoding.encode(text, allowed_special="all"), text
        assert ids[:keep] == before[:keep] and (keep in (len(ids), len(before)) or ids[keep] != before[keep])
        if rng.random() < 0.4:
            marks.append((session.mark(), text))
        if marks and rng.random() < 0.3:
            at = rng.randrange(len(marks))
            session.rollback(marks[at][0])
            text, marks = marks[at][1], marks[: at + 1]
            assert session.ids() == encoding.encode(text, allowed_special="all")


def test_offsets(both):
    encoding, model = both
    coder, plain = Coder(model, ALLOW), Coder(model, AS_TEXT, flags=1)
    for text in some_texts(encoding, 6, 60):
        data = text.encode()
        borders = np.append(np.flatnonzero((np.frombuffer(data, np.uint8) & 0xC0) != 0x80), len(data))
        for way, options in (
            (coder, {"allowed_special": "all"}),
            (plain, {"disallowed_special": (), "add_special_tokens": True}),
        ):
            ids, places = encoding.encode_with_offsets(text, **options)
            assert way.offsets(data) == (ids.tolist(), borders[places].tolist()), text


def test_segments(both):
    encoding, model = both
    coder, rng = Coder(model, ALLOW), random.Random(7)
    for text in some_texts(encoding, 7, 60):
        cuts = sorted({0, len(text), *(rng.randrange(len(text) + 1) for _ in range(3))})
        parts = [(text[a:b], rng.randrange(2)) for a, b in pairwise(cuts)]
        given = [(part, "all" if special else ()) for part, special in parts]
        try:
            wanted = encoding.encode_segments(given)
        except ValueError as error:
            assert "no token" in str(error) or "allow the same names in all segments" in str(error)
            with pytest.raises(Failed) as caught:
                coder.segments([(part.encode(), special) for part, special in parts])
            assert caught.value.status in (UNSUPPORTED, NO_TOKEN)
            continue
        ids, starts = coder.segments([(part.encode(), special) for part, special in parts])
        assert ids == wanted.ids.tolist(), parts
        assert starts == (None if wanted.starts is None else wanted.starts.tolist()), parts


def test_texts_of_ids(both):
    encoding, model = both
    rng = random.Random(8)
    known = sorted(
        {token for text in some_texts(encoding, 8, 60) for token in encoding.encode(text, allowed_special="all")}
    )
    known += [token for token in range(min(encoding.n_vocab, 400)) if _is_known(encoding, token)]
    decoders = [(Decoder(model), False), (Decoder(model, 1), True)]
    for _ in range(150):
        ids = [rng.choice(known) for _ in range(rng.randrange(14))]
        assert model.decode(ids, 2) == encoding.decode_bytes(ids), ids
        for number, (decoder, skip) in enumerate(decoders):
            text = encoding.decode(ids, skip_special_tokens=skip).encode()
            assert model.decode(ids, int(skip)) == text, ids
            made, at = b"", 0
            while at < len(ids):
                n = rng.randrange(1, 4)
                made += decoder.feed(ids[at : at + n], rng.randrange(3))
                at += n
                if rng.random() < 0.2:
                    decoder = decoder.copy()
                    decoders[number] = decoder, skip
            assert made + decoder.flush() == text, ids
    with pytest.raises(Failed) as caught:
        model.decode([known[0], 4_000_000_000])
    assert (caught.value.status, caught.value.index) == (UNKNOWN_ID, 1)


def _is_known(encoding: Encoding, token: int) -> bool:
    try:
        encoding.decode_bytes([token])
    except KeyError:
        return False
    return True


def test_stop_strings(both):
    encoding, model = both
    rng = random.Random(9)
    for text in some_texts(encoding, 9, 60):
        ids = encoding.encode(text, disallowed_special=())
        stops = [text[a : a + rng.randrange(1, 4)] for a in (rng.randrange(len(text) + 1) for _ in range(3))]
        stops = [stop for stop in stops if stop and "\ufffd" not in stop]
        python = encoding.batch_decoder(1)
        python.reset(0, stop=stops)
        wanted = "".join(python.feed([0], [token])[0] for token in ids) + python.flush(0)
        decoder = Decoder(model, 0, [stop.encode() for stop in stops])
        made = b"".join(decoder.feed([token]) for token in ids)
        found = decoder.stopped
        assert made + decoder.flush() == wanted.encode(), (text, stops)
        assert found == -1 or stops[found] in encoding.decode(ids)


def test_bytes_that_are_no_utf8(both):
    encoding, model = both
    data = b"ab\xff\xe2\x82 c\xf0\x9f\x98"
    for errors, name in ((1, "replace"), (2, "ignore")):
        try:
            wanted = encoding.encode_to_numpy(data, disallowed_special=(), errors=name).tolist()
        except ValueError:
            continue
        coder = Coder(model, AS_TEXT, errors)
        stream = Stream(coder)
        assert coder.encode(data) == wanted
        assert (
            functools.reduce(operator.iadd, (stream.feed(data[i : i + 1]) for i in range(len(data))), [])
            + stream.flush()
            == wanted
        )
    with pytest.raises(Failed) as caught:
        Coder(model, AS_TEXT).encode(data)
    assert (caught.value.status, caught.value.offset) == (NOT_UTF8, 2)
