"""One text of a .model of type Unigram on threads: sums in single precision are carried over each cut."""

from __future__ import annotations

import random
from typing import Any

import pytest
from small_models import TEXT
from test_unigram import drifting, opened, piece, trained

from streamtok import Encoding
from streamtok.native.job import Job


def shared(enc: Encoding, texts: list[Any], threads: int, least: int, **options: Any) -> tuple[list[int], int]:
    """The ids by threads, and the cuts."""
    names = enc._matchers_for(options.get("allowed", set()), ())
    coder = enc._coder_for(options.get("errors", "strict"))
    job, counts = (Job(coder, texts, *names, threads, least, counts_only) for counts_only in (False, True))
    job.work(threads - 1)
    counts.work(threads - 1)
    ids = job.array().tolist()
    assert counts.count() == len(ids)
    return ids, job.share_count - 1


def joined_blanks(data: bytes) -> bytes:
    """The same model, in which several blanks are one."""
    assert data.endswith(b"\x18\x01\x20\x00\x28\x01")
    return data[:-3] + b"\x01\x28\x01"


@pytest.mark.parametrize("seed", range(5))
def test_what_rounding_decides_is_as_on_one_thread(tmp_path, seed):
    sentencepiece = pytest.importorskip("sentencepiece", reason="the package sentencepiece is not installed")
    rng = random.Random(seed)
    data, text = drifting(rng)
    data = joined_blanks(data)
    text = text.replace("\n", " ") + "".join(rng.choices("abcdé", k=700)) + " ab" * 2000 + text[: rng.randrange(5000)]
    enc = opened(tmp_path, data)
    ids = sentencepiece.SentencePieceProcessor(model_proto=data).encode(text)
    assert enc.encode_to_numpy(text, num_threads=1).tolist() == ids
    assert enc._coder.is_divisible
    found = 0
    for least in (1, 700, 2000, rng.randint(1, 9000)):
        for given in (text, text.encode()):
            made, cuts = shared(enc, [given], rng.randint(2, 6), least)
            assert made == ids
            found += cuts
    assert found > 100
    half = text.rindex(" ", 0, len(text) // 2)
    assert enc.encode(text[:half]) + enc.encode(text[half:]) != ids or seed in (1, 3, 4)  # so the sums matter


def test_texts_of_languages_and_blanks(tmp_path):
    sentencepiece = pytest.importorskip("sentencepiece", reason="the package sentencepiece is not installed")
    data = trained(sentencepiece)
    enc, rng = opened(tmp_path, data), random.Random(5)
    reference = sentencepiece.SentencePieceProcessor(model_proto=data)
    for _ in range(12):
        parts = [
            rng.choice(TEXT)[:400] + rng.choice([" ", "\n", "  ", "▁", " " * 900, "\u3000", "é\u0301"])
            for _ in range(300)
        ]
        text = "".join(parts)
        ids = reference.encode(text)
        for least in (300, 5000):
            assert shared(enc, [text], 4, least)[0] == ids
        raw = text.encode()
        broken = raw[:9000] + b"\xff\xc3" + raw[9000:]
        made = enc.encode_to_numpy(broken, disallowed_special=(), errors="replace", num_threads=1).tolist()
        assert shared(enc, [broken], 3, 2000, errors="replace")[0] == made


def test_several_texts_and_short_ones(tmp_path):
    data, text = drifting(random.Random(0))
    enc = opened(tmp_path, joined_blanks(data))
    texts = ["", "ab", text[:20_000], "a b", text[:5000], text[100:30_000], ""]
    want = [enc.encode(each) for each in texts]
    for least in (600, 3000, 20_000):
        assert shared(enc, texts, 4, least)[0] == [token for ids in want for token in ids]


def test_where_there_are_no_such_cuts(tmp_path):
    data, _ = drifting(random.Random(0))
    assert not opened(tmp_path, data)._coder.is_divisible  # a blank that begins a text is not as one in it
    data = joined_blanks(data)
    assert opened(tmp_path, data)._coder.is_divisible
    assert not opened(tmp_path, data, engine="reference")._coder.is_divisible
    assert not opened(tmp_path, piece("b▁a", -1.0) + data)._coder.is_divisible  # a token over the border
    assert not opened(tmp_path, piece("b c", 0.0, 4) + data)._coder.is_divisible  # a symbol that holds a blank
    enc = opened(tmp_path, piece("<c>", 0.0, 3) + data)
    text = "ab cd " * 3000 + "<c>" + " ab ab" * 3000
    assert shared(enc, [text], 4, 1000, allowed="all") == (enc.encode(text, allowed_special="all"), 0)
